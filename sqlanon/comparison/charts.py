"""Three charts of a comparison: loss against k, loss against time, and the frontier of risk and utility.

By matplotlib. The best few methods have a color and a marker, distinguished by people
who do not see red and green; the rest are gray, and all are named where they stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from sqlanon.drawing.theme import DARK, LARGE, LIGHT, MEDIUM, SMALL, Theme, require_matplotlib
from sqlanon.pipeline.metrics import OURS, is_lower_better

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from sqlanon.comparison.cells import Cell
    from sqlanon.comparison.comparison import Comparison

HIGHLIGHTED = 5
MARKERS = ("o", "s", "^", "D", "v")
SIDES = ((1, 0), (-1, 0), (0, 1.4), (0, -1.4), (1, 1), (1, -1), (-1, 1), (-1, -1), (0.5, 1.4), (-0.5, 1.4))
REACHES = (9, 14, 20, 27)
"""Where a label may stand next to its point: to which side, and how far in pixels."""


def draw(comparison: Comparison, chart: str, dark: bool = False) -> Figure:
    """One of CHARTS."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    theme = DARK if dark else LIGHT
    figure = Figure(figsize=(9, 5.8), facecolor=theme.paper)
    width = 0.735 if chart == "loss_by_k" else 0.88  # names stand to the right of lines, but among points
    axes = figure.add_axes((0.085, 0.105, width, 0.735), facecolor=theme.paper)
    axes.grid(color=theme.grid, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.soft, length=0, labelsize=MEDIUM)
    axes.tick_params(which="minor", length=0, labelbottom=False, labelleft=False)
    axes.spines[:].set_visible(False)
    FigureCanvasAgg(figure)  # knows the size of text
    said = CHARTS[chart][1](comparison, axes, theme)
    figure.text(0.03, 0.945, CHARTS[chart][0], color=theme.ink, size=LARGE, weight="bold")
    figure.text(0.03, 0.895, f"{comparison.title}. {said}", color=theme.soft, size=MEDIUM)
    axes.xaxis.label.set(color=theme.soft, size=MEDIUM)
    axes.yaxis.label.set(color=theme.soft, size=MEDIUM)
    return figure


def describe(comparison: Comparison, chart: str) -> str:
    """What a chart shows, for those who do not see it."""
    best = highlights(comparison)
    told = f" Best on average: {', '.join(best)}." if best else ""
    return f"{CHARTS[chart][0]}, {comparison.title}.{told} The values are in the tables."


def loss_metric(comparison: Comparison) -> str:
    """The metric that is drawn as loss: the first that is about the data, and gcp where none is."""
    return next((m for m in comparison.metrics if m not in (*OURS, "lower_bound")), "gcp")


def highlights(comparison: Comparison) -> list[str]:
    """The methods that get a color: the best on average among those that promise the same."""
    others = {cell.method for cell in comparison.cells if not cell.has_classes}
    return [m for m in averaged(comparison, loss_metric(comparison)) if m not in others][:HIGHLIGHTED]


def averaged(comparison: Comparison, metric: str) -> list[str]:
    """The methods in the order of their mean over all k; those that miss some k come after those that do not."""
    sign = 1 if is_lower_better(metric) else -1
    values = {method: [value for _, value in _line(comparison, method, metric)] for method in comparison.methods}
    known = [method for method in values if values[method]]
    return sorted(known, key=lambda m: (-len(values[m]), sign * sum(values[m]) / len(values[m])))


def _line(comparison: Comparison, method: str, metric: str) -> list[tuple[int, float]]:
    cells = [c for c in comparison.cells if c.method == method and c.is_done and metric in c.measures]
    return sorted((cell.k, cell.measures[metric]) for cell in cells)


@dataclass(frozen=True)
class _Style:
    """How a method is drawn."""

    name: str
    colour: str
    text: str
    marker: str = "o"
    size: float = 5
    width: float = 1
    order: int = 2
    weight: str = "normal"


def _styles(comparison: Comparison, theme: Theme) -> dict[str, _Style]:
    """The best few in color, the others gray and behind them."""
    others = {cell.method for cell in comparison.cells if not cell.has_classes}
    names = {method: f"{method} †" if method in others else method for method in comparison.methods}
    styles = {method: _Style(names[method], theme.grey, theme.soft) for method in comparison.methods}
    best = highlights(comparison)
    for place, (method, colour, marker) in enumerate(zip(best, theme.colours, MARKERS, strict=False)):
        styles[method] = _Style(method, colour, colour, marker, size=7, width=2.2, order=9 - place, weight="bold")
    return styles


def _loss_by_k(comparison: Comparison, axes: Axes, theme: Theme) -> str:
    metric = loss_metric(comparison)
    styles = _styles(comparison, theme)
    ends: list[tuple[str, float, float]] = []
    values: list[float] = []
    for method, style in styles.items():
        if line := _line(comparison, method, metric):
            ks, losses = zip(*line, strict=True)
            axes.plot(
                ks,
                losses,
                color=style.colour,
                lw=style.width,
                marker=style.marker,
                ms=style.size,
                mec=theme.paper,
                mew=0.8,
                zorder=style.order,
            )
            ends.append((method, ks[-1], losses[-1]))
            values += losses
    axes.set(xlabel="k", ylabel=_axis(metric))
    _scale(axes, comparison.ks, values)
    if metric == "gcp":
        _bound(comparison, axes, theme)
    _end_labels(axes, ends, styles)
    return _finding(comparison, metric)


def _bound(comparison: Comparison, axes: Axes, theme: Theme) -> None:
    """What no k-anonymous release can go below."""
    bounds = {c.k: c.measures["lower_bound"] for c in comparison.cells if "lower_bound" in c.measures}
    line = sorted((k, bound) for k, bound in bounds.items() if bound > 0)
    if not line:
        return
    ks, losses = zip(*line, strict=True)
    axes.fill_between(ks, losses, 0, color=theme.grid, alpha=0.7, lw=0, zorder=1)
    axes.plot(ks, losses, color=theme.soft, lw=1, ls=(0, (4, 3)), zorder=1)
    axes.text(
        0.955,
        0.02,
        "no k-anonymous release can be below the dashed line",
        transform=axes.transAxes,
        ha="right",
        size=SMALL,
        color=theme.soft,
    )


def _loss_by_time(comparison: Comparison, axes: Axes, theme: Theme) -> str:
    metric = loss_metric(comparison)
    k = 10 if 10 in comparison.ks else comparison.ks[len(comparison.ks) // 2]
    cells = [c for c in comparison.cells if c.k == k and c.is_done and metric in c.measures]
    points = [(max(cell.measures["time"], 0.001), cell.measures[metric]) for cell in cells]
    sign = 1 if is_lower_better(metric) else -1
    front = frontier([(seconds, sign * loss) for seconds, loss in points], [cell.has_classes for cell in cells])
    axes.set(xlabel="time of clustering, log scale", ylabel=_axis(metric))
    _log_ticks(axes.xaxis, [seconds for seconds, _ in points], lambda seconds: f"{seconds:g} s")
    _scale(axes, [], [loss for _, loss in points], ratio=3)
    axes.margins(x=0.1)
    styles = _styles(comparison, theme)
    _scatter(axes, [styles[cell.method].name for cell in cells], cells, points, front, styles, theme)
    return f"k = {k}. Methods on the line are not beaten on both speed and loss{_dagger(cells)}"


def _risk_utility(comparison: Comparison, axes: Axes, theme: Theme) -> str:
    cells = [c for c in comparison.cells if {"gcp", "mean_risk"} <= c.measures.keys()]
    points = [(cell.measures["mean_risk"], 1 - cell.measures["gcp"]) for cell in cells]
    front = frontier([(risk, -utility) for risk, utility in points], [True] * len(cells))
    texts = [f"{cell.method} {cell.k}" if index in front else "" for index, cell in enumerate(cells)]
    axes.set(xlabel="risk: mean over rows of 1 / class size, log scale", ylabel="utility: 1 − gcp")
    _log_ticks(axes.xaxis, [risk for risk, _ in points], lambda risk: f"{risk:.2g}")
    axes.margins(x=0.1, y=0.1)
    _scatter(axes, texts, cells, points, front, _styles(comparison, theme), theme)
    return "Points on the line (labeled with k) are not beaten on both risk and utility"


CHARTS: dict[str, tuple[str, Callable[[Comparison, Axes, Theme], str]]] = {
    "loss_by_k": ("Loss against k", _loss_by_k),
    "loss_by_time": ("Loss against time", _loss_by_time),
    "risk_utility": ("Risk and utility", _risk_utility),
}


def _axis(metric: str) -> str:
    return {"gcp": "loss (gcp)", "lm": "loss (lm)"}.get(metric, metric)


def _finding(comparison: Comparison, metric: str) -> str:
    """Which way is better, and who is best if that is one method everywhere."""
    is_lower = is_lower_better(metric)
    known = [c for c in comparison.cells if c.is_done and c.has_classes and metric in c.measures]
    of_k = [[(c.measures[metric], c.method) for c in known if c.k == k] for k in comparison.ks]
    best = {(min if is_lower else max)(cells)[1] for cells in of_k if cells}
    everywhere = f"; the best at every k is {best.pop()}" if len(best) == 1 and len(comparison.ks) > 1 else ""
    return f"{'Lower' if is_lower else 'Higher'} is better{everywhere}{_dagger(comparison.cells)}"


def _dagger(cells: Sequence[Cell]) -> str:
    return "; † makes a different promise" if any(cell.is_done and not cell.has_classes for cell in cells) else ""


def _scale(axes: Axes, ks: Sequence[int], values: Sequence[float], ratio: float = 30) -> None:
    """k in equal ratios, ticks where there are points; losses from 0, or in equal ratios where they differ by more."""
    if ks:
        axes.set_xscale("log")
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.set_xticks([], minor=True)
        axes.margins(x=0.04)
    if values and min(values) > 0 and max(values) > ratio * min(values):
        axes.set_ylabel(f"{axes.get_ylabel()}, log scale")
        _log_ticks(axes.yaxis, values, lambda value: f"{value:g}")
    elif values and min(values) >= 0:
        axes.set_ylim(0, 1.06 * max(values) or 1)


def _log_ticks(axis: Any, values: Sequence[float], text: Callable[[float], str]) -> None:
    """An axis in equal ratios, with about five plain numbers on it."""
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = 0.7 * min(values, default=1), 1.4 * max(values, default=1)
    decades = math.log10(high / low)
    steps = (1, 1.5, 2, 3, 5, 7) if decades < 1.3 else (1, 2, 5) if decades < 1.8 else (1, 3) if decades < 3 else (1,)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [tick for power in exponents for step in steps if low <= (tick := step * 10.0**power) <= high]
    axis.set_ticks(ticks, labels=[text(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def _scatter(
    axes: Axes,
    texts: Sequence[str],
    cells: Sequence[Cell],
    points: Sequence[tuple[float, float]],
    front: Sequence[int],
    styles: dict[str, _Style],
    theme: Theme,
) -> None:
    """The cells as points, those on the frontier stronger and joined, with their texts."""
    for index, (cell, (x, y)) in enumerate(zip(cells, points, strict=True)):
        style = styles[cell.method]
        is_front = index in front
        colour = theme.soft if is_front and style.colour == theme.grey else style.colour
        alpha = 1 if is_front or style.colour == theme.grey else 0.45
        size = style.size + (2 if is_front else 0)
        axes.plot(
            x,
            y,
            style.marker,
            color=colour,
            alpha=alpha,
            ms=size,
            mec=theme.paper,
            mew=0.8,
            zorder=style.order + is_front,
        )
    line = [points[index] for index in front]
    corners = [(after[0], before[1]) for before, after in pairwise(line)]
    path = [point for both in zip_longest(line, corners) for point in both if point is not None]
    if path:
        axes.plot(*zip(*path, strict=True), color=theme.ink, lw=1, alpha=0.6, zorder=1.5)
    _point_labels(axes, texts, points, path, [styles[cell.method] for cell in cells], front)


def frontier(points: Sequence[tuple[float, float]], is_rival: Sequence[bool]) -> list[int]:
    """The points that no rival beats in both, by the first."""
    front: list[int] = []
    for index in sorted(filter(is_rival.__getitem__, range(len(points))), key=points.__getitem__):
        if not front or points[index][1] < points[front[-1]][1]:
            front.append(index)
    return front


def _end_labels(axes: Axes, ends: Sequence[tuple[str, float, float]], styles: dict[str, _Style]) -> None:
    """Names to the right of the lines' ends, moved apart where they would overlap."""
    _freeze(axes)
    figure = axes.figure
    to_pixels = axes.transData.transform
    ends = sorted(ends, key=lambda end: end[2])
    wanted = [float(to_pixels(end[1:])[1]) for end in ends]
    gap = 1.18 * SMALL * figure.dpi / 72
    frame = axes.get_window_extent()
    count = len(ends)
    lowest = [max(place, frame.y0 + number * gap) for number, place in enumerate(wanted)]
    wanted = [min(place, frame.y1 - (count - 1 - number) * gap) for number, place in enumerate(lowest)]
    for (method, x, y), place in zip(ends, spread(wanted, gap), strict=True):
        style = styles[method]
        start = to_pixels((x, y))
        points = 72 / figure.dpi
        axes.annotate(
            style.name,
            (x, y),
            ((frame.x1 + 24 - start[0]) * points, (place - start[1]) * points),
            textcoords="offset points",
            va="center",
            size=SMALL,
            color=style.text,
            weight=style.weight,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": style.colour,
                "lw": 0.6,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
            zorder=style.order,
        )


def _freeze(axes: Axes) -> None:
    """Keep the limits that the axes have now: what is placed by pixels stays there."""
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places at least a gap apart, in the same order, as near to the wanted ones as the least squares allow."""
    blocks: list[tuple[float, int]] = []
    for number, place in enumerate(wanted):
        mean, size = place - number * gap, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    flat = [mean for mean, size in blocks for _ in range(size)]
    return [mean + number * gap for number, mean in enumerate(flat)]


def _point_labels(
    axes: Axes,
    texts: Sequence[str],
    points: Sequence[tuple[float, float]],
    path: Sequence[tuple[float, float]],
    styles: Sequence[_Style],
    front: Sequence[int],
) -> None:
    """Each text next to its point, those on the frontier first, where it covers no point, no line and no other text."""
    from matplotlib.transforms import Bbox

    _freeze(axes)
    pixels = [axes.transData.transform(point) for point in points]
    corners = [axes.transData.transform(point) for point in path]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in pixels]
    taken += [
        Bbox.from_extents(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)).padded(1.5)
        for (x0, y0), (x1, y1) in pairwise(corners)
    ]
    unit = 72 / axes.figure.dpi
    named = [index for index, text in enumerate(texts) if text]
    for index in sorted(named, key=lambda index: (index not in front, -styles[index].order)):
        style = styles[index]
        label = axes.annotate(
            texts[index],
            points[index],
            (0, 0),
            textcoords="offset points",
            size=SMALL,
            color=style.text,
            weight=style.weight,
            zorder=style.order + 2,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": style.text, "lw": 0.6, "shrinkA": 2, "shrinkB": 4},
        )
        size = label.get_window_extent()
        places = [(dx * reach + (dx - 1) / 2 * size.width, dy * reach) for reach in REACHES for dx, dy in SIDES]
        x, y = pixels[index] - (0, size.height / 2)
        boxes = [Bbox.from_bounds(x + right, y + up, size.width, size.height) for right, up in places]
        best = min(range(len(boxes)), key=lambda number: (_overlap(boxes[number], taken, axes), number))
        taken.append(boxes[best])
        label.set_position((places[best][0] * unit, places[best][1] * unit))
        if label.arrow_patch is not None:
            label.arrow_patch.set_visible(best >= len(SIDES))  # a line to the point where it is far


def _overlap(box: Bbox, taken: Sequence[Bbox], axes: Axes) -> float:
    """How much of a box is covered by others or outside of the axes."""
    frame = axes.get_window_extent()
    outside = sum(
        max(0, beyond) for beyond in (frame.x0 - box.x0, box.x1 - frame.x1, frame.y0 - box.y0, box.y1 - frame.y1)
    )
    common = [part for other in taken if (part := box.intersection(box, other)) is not None]
    return float(20 * outside + sum(part.width * part.height for part in common))
