"""The pictures of docs/BENCHMARKS.md, in the style of docs/pictures.py. The scripts draw them with --write.

A colour is one maker (auto, ARX, anjana, ...) and a marker one of its settings.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from cells import Cell
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatter

from sqlanon.comparison.charts import spread

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))
from pictures import COLOURS, INK, MARKERS, PALE, PAPER

LOSS = "GCP, lower is better"
BELOW = "no k-anonymous release can be here"
MAKERS = ("auto", "ARX 3.9.2", "anjana", "anonypy", "lower bound")
mpl.rcParams.update({"svg.hashsalt": "sqlanon", "font.family": "DejaVu Sans", "font.size": 10})


def loss_by_k(rows: Sequence[Cell], folder: Path) -> None:
    """GCP against k."""
    _panels([row for row in rows if "GCP" in row], "k", folder / "bench_loss_by_k.svg")


def loss_by_time(rows: Sequence[Cell], folder: Path) -> None:
    """GCP against seconds at k = 10, or at the least k, of all whose time was taken."""
    timed = [row for row in rows if "seconds" in row and row["by"] != "lower bound"]
    k = min((row["k"] for row in timed), key=lambda k: (k != 10, k))
    _panels([row for row in timed if row["k"] == k], "seconds", folder / "bench_loss_by_time.svg", f", k = {k}")


def frontier(losses: Mapping[tuple[str, int], float], folder: Path) -> None:
    """GCP against k of everybody, by (name, k): ours and ARX in color, the area below the bound filled."""
    figure, axes = plt.subplots(figsize=(9.6, 6.4), layout="constrained", facecolor=PAPER)
    _frame(axes, "Adult, six columns: how much a release loses, and how little it could", "k", LOSS)
    ends = []
    for by in _unique(name for name, _ in losses):
        ks, values = zip(*sorted((k, value) for (name, k), value in losses.items() if name == by), strict=True)
        color, width = _stroke(by)
        axes.plot(ks, values, color=color, lw=width, marker="o", markersize=1.5 + 1.5 * width, zorder=2 + width)
        ends.append((values[-1], by, ks[-1], color, width))
        if by == "lower bound":
            axes.fill_between(ks, values, min(losses.values()) / 1.6, color=PALE, lw=0, zorder=1)
            axes.text(0.68, 0.2, BELOW, transform=axes.transAxes, color=INK, fontsize=11, ha="center")
    every = sorted({k for _, k in losses})
    axes.set(ylim=(min(losses.values()) / 1.6, 1), xticks=every, yticks=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1))
    axes.minorticks_off()
    ends.sort()
    low, high = (math.log(limit) for limit in axes.get_ylim())
    wanted = [(math.log(end[0]) - low) / (high - low) for end in ends]
    for (value, by, k, color, width), place in zip(ends, spread(wanted, 0.031), strict=True):
        axes.annotate(
            by,
            (k, value),
            (1.03, place),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=color if width > 1 else INK,
            weight="bold" if width > 2 else "normal",
            arrowprops={"arrowstyle": "-", "color": PALE, "lw": 0.7, "shrinkA": 1, "shrinkB": 3},
            annotation_clip=False,
        )
    _save(figure, folder / "frontier.svg")


def _stroke(by: str) -> tuple[str, float]:
    """The color and width of a line: the bound and what is compared stand out."""
    if by == "lower bound":
        return INK, 2.6
    maker = by.partition(",")[0]
    if maker not in MAKERS:
        return "#AAAAAA", 0.9
    return COLOURS[MAKERS.index(maker)], 2.4 if by in ("auto, best", "ARX 3.9.2, finest") else 1.4


def time_by_rows(rows: Sequence[Cell], folder: Path) -> None:
    """Seconds against rows, both logarithmic: the slope is the exponent of growth."""
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained", facecolor=PAPER)
    _draw(
        axes, [row | {"by": row["method"]} for row in rows], "rows", "seconds", _unique(row["method"] for row in rows)
    )
    _frame(axes, "Generated rows, six columns", "rows", "seconds")
    axes.legend(frameon=False)
    _save(figure, folder / "bench_time_by_rows.svg")


def _panels(rows: Sequence[Cell], x: str, file: Path, more: str = "") -> None:
    """A panel for each number of columns, with one legend."""
    widths = sorted({row["columns"] for row in rows})
    size = (4.6 * len(widths) + 2.4, 4.4)
    figure, panels = plt.subplots(1, len(widths), figsize=size, layout="constrained", facecolor=PAPER, squeeze=False)
    for axes, columns in zip(panels[0], widths, strict=True):
        _draw(axes, [row for row in rows if row["columns"] == columns], x, "GCP", MAKERS)
        _frame(axes, f"Adult, {columns} columns{more}", x, LOSS)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    _save(figure, file)


def _draw(axes: Axes, rows: Sequence[Cell], x: str, y: str, makers: Sequence[str]) -> None:
    series = _unique(row["by"] for row in rows)
    for by in series:
        maker = by.partition(",")[0]
        variant = [other for other in series if other.partition(",")[0] == maker].index(by)
        points = sorted((row[x], row[y]) for row in rows if row["by"] == by)
        axes.plot(
            *zip(*points, strict=True),
            label=by,
            color=INK if maker == "lower bound" else COLOURS[makers.index(maker) % len(COLOURS)],
            marker=MARKERS[variant % len(MARKERS)],
            linestyle=":" if maker == "lower bound" else "-",
            lw=1.3,
            markersize=5,
        )


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _frame(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y, facecolor=PAPER)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")
        axis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))
    axes.set_title(title, color=INK, fontsize=12, loc="left")
    axes.grid(color=PALE, lw=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)


def _save(figure: plt.Figure, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None, "Creator": None}, facecolor=PAPER)
    plt.close(figure)
