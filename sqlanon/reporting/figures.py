"""The pictures of a report, by matplotlib.

They are drawn small, so that a phone shows them in the size of a text, and as SVG take their colors from the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sqlanon.comparison import charts
from sqlanon.drawing.svg import HEIGHT, TYPE, WIDTH, Picture, paint, themed
from sqlanon.drawing.theme import DARK, LIGHT, Theme, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sqlanon.reporting.columns import Column
    from sqlanon.reporting.facts import Facts
    from sqlanon.reporting.looked import Private

SHORT = 20
"""Letters of a bar's name."""


def main_figure(facts: Facts, dark: bool = False) -> Figure:
    """The figure of release.plot(): class sizes and what became of each column, side by side."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    theme = DARK if dark else LIGHT
    shown = [picture for picture in pictures(facts) if picture.key in ("sizes", "steps", "loss", "curve")][:2]
    figure = Figure(figsize=(2 * WIDTH, HEIGHT + 0.8), facecolor=theme.paper, layout="constrained")
    FigureCanvasAgg(figure)
    for number, picture in enumerate(shown, 1):
        axes = figure.add_subplot(1, len(shown), number, facecolor=theme.paper)
        paint(axes, theme, picture.draw)
        axes.set_title(picture.title, color=theme.ink, size=TYPE + 1, loc="left")
    lost = f", {facts.loss:.1%} lost" if facts.loss is not None else ""
    title = f"{facts.title}: k = {facts.k} verified{lost}"
    figure.suptitle(title, color=theme.ink, size=TYPE + 2, x=0.01, ha="left", weight="bold")
    return figure


def pictures(facts: Facts) -> list[Picture]:
    """The pictures that there is something to show in, but for the columns' and the comparison's."""
    found = []
    if facts.sizes:
        found.append(_class_sizes(facts))
    if any(column.steps for column in facts.columns):
        found += [_losses(facts), _steps(facts)]
    if facts.curve:
        found.append(_curve(facts))
    return found


def _class_sizes(facts: Facts) -> Picture:
    k, unit = facts.policy.k, "people" if facts.entity else "rows"
    if facts.policy.population is not None:
        k = 1  # no class is too small in itself
    bins = size_bins(facts.sizes, k)
    rows = sum(size * classes for size, classes in facts.sizes)
    smallest, largest = facts.sizes[0][0], facts.sizes[-1][0]
    most, share = max(((name, count / rows) for name, count, _ in bins), key=lambda each: each[1])
    said = (
        f"{sum(classes for _, classes in facts.sizes):,} classes of {_from_to(smallest, largest)} {unit} each. "
        f"Most {unit}, {share:.0%}, are in classes of {most}."
    )

    def draw(axes: Axes, theme: Theme) -> None:
        colours = [theme.colours[1] if is_small else theme.colours[0] for _, _, is_small in bins]
        _columns(axes, [name for name, _, _ in bins], [100 * count / rows for _, count, _ in bins], colours, theme)
        axes.set(xlabel=f"{unit} in the class", ylabel=f"% of {unit}")

    return Picture("sizes", "How many look the same", said, draw)


def _from_to(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def size_bins(sizes: Sequence[tuple[int, int]], k: int) -> list[tuple[str, int, bool]]:
    """The rows in classes below k, of k, and up in steps of about two: a name, rows, and whether they are too few."""
    largest = sizes[-1][0] if sizes else 0
    edges = [1, k, k + 1]
    step = 2 * k
    while edges[-1] <= largest:
        edges.append(step)
        step = step * 2 if str(step)[0] != "2" or step < 20 else int(step * 2.5)
    found = []
    for low, high in pairwise(edges):
        count = sum(size * classes for size, classes in sizes if low <= size < high)
        if (count or low >= k) and low < high:
            found.append((f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}", count, low < k))
    while found and not found[-1][1]:
        found.pop()
    return found


def _losses(facts: Facts) -> Picture:
    columns = [column for column in facts.columns if column.loss is not None]
    worst = max(columns, key=lambda column: column.loss or 0)
    said = (
        f"The column that lost most is {worst.name}, {worst.loss:.1%}. Lower is better; 100% means that a "
        f"column has only *."
    )

    def draw(axes: Axes, theme: Theme) -> None:
        names = [column.name for column in reversed(columns)]
        values = [100 * (column.loss or 0) for column in reversed(columns)]
        axes.barh(range(len(names)), values, color=theme.colours[0], height=0.62)
        axes.set_yticks(range(len(names)), [short(name) for name in names], color=theme.ink)
        for place, value in enumerate(values):
            axes.annotate(
                f"{value:.1f} %",
                (value, place),
                (4, 0),
                textcoords="offset points",
                va="center",
                size=TYPE - 1,
                color=theme.soft,
            )
        axes.set_xlim(0, 1.18 * max(*values, 1))
        axes.grid(False, axis="y")
        axes.set(xlabel="% lost (NCP)")

    return Picture("loss", "What each column lost", said, draw, _tall(len(columns)))


def _steps(facts: Facts) -> Picture:
    columns = [column for column in facts.columns if column.steps]
    told = [f"{c.name} {c.unchanged:.0%}" for c in columns if c.unchanged is not None]
    said = f"Released unchanged: {', '.join(told)}. Fainter colors are coarser values; gray cells are fully suppressed."

    def draw(axes: Axes, theme: Theme) -> None:
        for place, column in enumerate(reversed(columns)):
            left = 0.0
            for step in column.steps:
                colour = theme.grey if step.depth >= 1 else theme.colours[0]
                strength = 1 if step.depth >= 1 else 1 - 0.8 * math.sqrt(step.depth)
                axes.barh(
                    place, 100 * step.share, 0.62, left, color=colour, alpha=strength, edgecolor=theme.paper, lw=0.8
                )
                if step.share >= 0.14:
                    ink = theme.paper if strength > 0.75 and step.depth < 1 else theme.ink
                    middle = left + 50 * step.share
                    text = step.name.partition(" of ")[0]
                    axes.text(middle, place, text, ha="center", va="center", size=TYPE - 2, color=ink)
                left += 100 * step.share
        axes.set_yticks(range(len(columns)), [short(column.name) for column in reversed(columns)], color=theme.ink)
        axes.set_xlim(0, 100)
        axes.grid(False, axis="y")
        axes.set(xlabel="% of cells, from unchanged to fully suppressed")

    return Picture("steps", "Where values ended up", said, draw, _tall(len(columns)))


def _tall(bars: int) -> float:
    return max(HEIGHT, 0.75 + 0.34 * bars)


def _curve(facts: Facts) -> Picture:
    ks, losses, bounds = zip(*facts.curve, strict=True)
    said = f"From {losses[0]:.1%} lost at k = {ks[0]} to {losses[-1]:.1%} at k = {ks[-1]}, by a quick search."
    if facts.loss is not None:
        said += f" This release lost {facts.loss:.1%} at k = {facts.policy.k}."

    def draw(axes: Axes, theme: Theme) -> None:
        if all(bound is not None for bound in bounds):
            floor = [100 * bound for bound in bounds]
            axes.fill_between(ks, floor, 0, color=theme.grid, lw=0)
            axes.plot(ks, floor, color=theme.soft, lw=1, ls=(0, (4, 3)), label="theoretical minimum")
        axes.plot(ks, [100 * loss for loss in losses], color=theme.colours[0], marker="o", ms=4, label="a quick search")
        if facts.loss is not None:
            axes.plot(
                facts.policy.k,
                100 * facts.loss,
                "D",
                color=theme.colours[1],
                ms=7,
                mec=theme.paper,
                label="this release",
            )
        axes.set_xscale("log")
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.set_xticks([], minor=True)
        axes.set_ylim(0)
        axes.set(xlabel="k", ylabel="% lost (GCP)")
        axes.legend(frameon=False, fontsize=TYPE - 1, labelcolor=theme.soft, loc="upper left")

    return Picture("curve", "What another k would cost", said, draw)


def column_picture(column: Column, number: int) -> Picture | None:
    """The distribution of a column, before and after where both are known."""
    if column.bars is None:
        return None
    bars = column.bars
    both = [(name, shares) for name, shares in (("source", bars.before), ("release", bars.after)) if shares is not None]
    said = f"Share of rows in {len(bars.names)} bars, from {bars.names[0]} to {bars.names[-1]}."
    if bars.before is not None and bars.after is not None:
        moved = sum(abs(a - b) for a, b in zip(bars.before, bars.after, strict=True)) / 2
        said += f" The two distributions differ for {moved:.0%} of rows."

    def draw(axes: Axes, theme: Theme) -> None:
        width = 0.8 / len(both)
        for place, (name, shares) in enumerate(both):
            colour = theme.grey if name == "source" and len(both) == 2 else theme.colours[0]
            offset = (place - (len(both) - 1) / 2) * width
            places = [index + offset for index in range(len(shares))]
            axes.bar(places, [100 * share for share in shares], 0.92 * width, color=colour, label=name)
        _names(axes, bars.names, theme)
        axes.set(ylabel="% of rows")
        axes.grid(False, axis="x")
        if len(both) == 2:
            axes.legend(frameon=False, fontsize=TYPE - 1, labelcolor=theme.soft, loc="upper right", ncols=2)
            axes.set_ylim(0, 118 * max(max(shares) for _, shares in both))

    return Picture(f"column-{number}", column.name, said, draw)


def private_pictures(private: Private, number: int, largest: float | None, t: float | None) -> list[Picture]:
    """The share of the most frequent sensitive value per class, and the distance of classes to the table."""
    classes = sum(count for _, count in private.largest)
    alike = sum(count for share, count in private.largest if share >= 1)
    worst = max(share for share, _ in private.largest)
    first = (
        f"Overall the most frequent value has {private.overall:.0%} of the rows; in the worst class {worst:.0%}. "
        f"{alike:,} of {classes:,} classes have only one value."
    )
    second = f"The class that differs most from the table is {max(t for t, _ in private.distances):.2f} away."

    def shares(axes: Axes, theme: Theme) -> None:
        _histogram(axes, private.largest, theme)
        _mark(axes, private.overall, "the table", theme.soft)
        if largest is not None:
            _mark(axes, largest, "allowed", theme.colours[1])
        axes.set(xlabel="share of the most frequent value", ylabel="% of classes")

    def distances(axes: Axes, theme: Theme) -> None:
        _histogram(axes, private.distances, theme)
        if t is not None:
            _mark(axes, t, "allowed", theme.colours[1])
        axes.set(xlabel="distance t to the table", ylabel="% of classes")

    name = private.column
    return [
        Picture(f"largest-{number}", f"{name}: how well the class gives it away", first, shares),
        Picture(f"distance-{number}", f"{name}: how far classes are from the table", second, distances),
    ]


def comparison_svg(facts: Facts) -> tuple[str, str]:
    """The frontier of risk and utility of a comparison that was run, and what it shows in words."""
    assert facts.comparison is not None
    said = charts.describe(facts.comparison, "risk_utility").replace(" The values are in the tables.", "")
    return themed(charts.draw(facts.comparison, "risk_utility"), "picture-frontier", "Risk and utility", said), said


def _histogram(axes: Axes, counted: Sequence[tuple[float, int]], theme: Theme) -> None:
    """Values from 0 to 1 in twenty bins, as percent of all; a value between two is in the lower one, within what is
    allowed."""
    total = sum(count for _, count in counted)
    heights = [0.0] * 20
    for value, count in counted:
        heights[max(0, math.ceil(20 * value - 1e-9) - 1)] += 100 * count / total
    axes.bar([(bin + 0.5) / 20 for bin in range(20)], heights, 0.045, color=theme.colours[0])
    axes.set_xlim(0, 1)
    axes.grid(False, axis="x")


def _mark(axes: Axes, place: float, text: str, colour: str) -> None:
    axes.axvline(place, color=colour, lw=1.2, ls=(0, (4, 3)))
    side = "right" if place > 0.75 else "left"
    axes.annotate(
        f" {text} ", (place, 1), xycoords=("data", "axes fraction"), size=TYPE - 1, color=colour, ha=side, va="bottom"
    )


def _columns(axes: Axes, names: Sequence[str], values: Sequence[float], colours: Any, theme: Theme) -> None:
    axes.bar(range(len(values)), values, 0.82, color=colours)
    _names(axes, names, theme)
    axes.grid(False, axis="x")


def _names(axes: Axes, names: Sequence[str], theme: Theme) -> None:
    """Names below bars, slanted if they would not fit next to each other."""
    texts = [short(name) for name in names]
    is_long = sum(map(len, texts)) > 44
    axes.set_xticks(range(len(texts)), texts)
    axes.set_xlim(-0.6, len(texts) - 0.4)
    if is_long:
        for label in axes.get_xticklabels():
            label.set(rotation=38, ha="right", rotation_mode="anchor", size=TYPE - 1)


def short(name: str) -> str:
    """A name that fits below a bar. A dollar sign is not a formula."""
    return (name if len(name) <= SHORT else f"{name[: SHORT - 1]}…").replace("$", r"\$")
