"""Small charts as SVG, in the colors of the report. Styled by classes only, as the pages allow nothing inline.

A chart is a picture of a table that stands below it, so that it is hidden from those who hear the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH = 440
LINE = 26
LABEL = 140


def bars(rows: Sequence[tuple[str, float, str]], most: float = 1.0, kind: str = "s1") -> Markup:
    """Horizontal bars: a name, a share of the longest bar, and what is written behind it."""
    height = LINE * len(rows) + 4
    room = WIDTH - LABEL - 62
    parts = []
    for number, (name, value, said) in enumerate(rows):
        y = LINE * number
        width = max(1.5, room * min(1.0, value / most)) if value > 0 and most else 0
        parts += [
            f'<text class="name" x="{LABEL - 10}" y="{y + 17}" text-anchor="end">{escape(_short(name, 18))}</text>',
            f'<rect class="track" x="{LABEL}" y="{y + 5}" width="{room}" height="16" rx="2"/>',
            f'<rect class="{kind}" x="{LABEL}" y="{y + 5}" width="{width:.1f}" height="16" rx="2"/>',
            f'<text class="value" x="{LABEL + room + 8}" y="{y + 17}">{escape(said)}</text>',
        ]
    return _svg(height, parts)


def columns(rows: Sequence[tuple[str, float, bool]]) -> Markup:
    """Vertical bars: a name, a share, and whether it is marked."""
    height, base = 210, 170
    most = max((value for _, value, _ in rows), default=0) or 1
    step = (WIDTH - 20) / max(1, len(rows))
    parts = [f'<line class="axis" x1="10" x2="{WIDTH - 10}" y1="{base}" y2="{base}"/>']
    for number, (name, value, is_marked) in enumerate(rows):
        x, tall = 10 + step * number, (base - 24) * value / most
        middle = x + step / 2
        parts += [
            f'<rect class="{"s2" if is_marked else "s1"}" x="{x + step * 0.12:.1f}" y="{base - tall:.1f}" '
            f'width="{step * 0.76:.1f}" height="{max(tall, 0.5):.1f}" rx="2"/>',
            _text("value", middle, base - tall - 6, percent(value)),
            _text("name", middle, base + 18, _short(name, 9)),
        ]
    return _svg(height, parts)


def pairs(names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> Markup:
    """A distribution before and after: two bars for each name."""
    height, base = 230, 150
    most = max([*before, *after, 0.0001])
    left_edge = 10 + 4.5 * max([len(_short(name, 14)) for name in names], default=0)  # the first name leans over it
    step = (WIDTH - 10 - left_edge) / max(1, len(names))
    parts = [f'<line class="axis" x1="{left_edge:.1f}" x2="{WIDTH - 10}" y1="{base}" y2="{base}"/>']
    for number, name in enumerate(names):
        x = left_edge + step * number
        for place, (kind, value) in enumerate((("before", before[number]), ("s1", after[number]))):
            tall = (base - 14) * value / most
            left = x + step * (0.12 + 0.38 * place)
            parts.append(
                f'<rect class="{kind}" x="{left:.1f}" y="{base - tall:.1f}" width="{step * 0.34:.1f}" '
                f'height="{max(tall, 0.5):.1f}" rx="1.5"/>'
            )
        middle = x + step / 2
        parts.append(
            f'<text class="name" transform="translate({middle:.1f} {base + 14}) rotate(-35)" text-anchor="end">'
            f"{escape(_short(name, 14))}</text>"
        )
    return _svg(height, parts)


def curve(points: Sequence[tuple[int, float]], here: tuple[int, float] | None) -> Markup:
    """Loss against k, on even steps; this run is marked."""
    height, base, top = 210, 170, 30
    values = [loss for _, loss in points] + ([here[1]] if here else [])
    most = max(values, default=0) or 1
    step = (WIDTH - 70) / max(1, len(points) - 1)
    places = {k: (35 + step * number, base - (base - top) * loss / most) for number, (k, loss) in enumerate(points)}
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places.values())
    parts = [
        f'<line class="axis" x1="15" x2="{WIDTH - 15}" y1="{base}" y2="{base}"/>',
        f'<polyline class="line" points="{line}"/>',
    ]
    for (k, loss), (x, y) in zip(points, places.values(), strict=True):
        marked = base - (base - top) * here[1] / most - 7 if here and here[0] == k else y
        parts += [
            f'<circle class="s1" cx="{x:.1f}" cy="{y:.1f}" r="4"/>',
            _text("value", x, min(y, marked) - 9, percent(loss)),
            _text("name", x, base + 20, f"{k}"),
        ]
    if here and here[0] in places:
        x, y = places[here[0]][0], base - (base - top) * here[1] / most
        parts.append(f'<path class="s2 mark" d="M {x:.1f} {y - 7:.1f} l 7 7 l -7 7 l -7 -7 z"/>')
    return _svg(height, parts)


def percent(share: float | None) -> str:
    """A share as people write it."""
    if share is None:
        return "–"
    shown = 100 * share
    if shown == 0 or shown >= 99.95:
        return f"{shown:.0f} %"
    return f"{shown:.1f} %" if shown >= 0.095 else "< 0.1 %"


def _text(kind: str, x: float, y: float, said: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(said)}</text>'


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _svg(height: int, parts: list[str]) -> Markup:
    return (
        Markup(f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" aria-hidden="true" focusable="false">')
        + Markup("".join(parts))
        + Markup("</svg>")
    )
