"""The pictures of docs/BENCHMARKS.md, in the style of docs/pictures.py. The scripts draw them with --write.

A colour is one maker (auto, ARX, anjana, ...) and a marker one of its settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
from cells import Cell
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatter

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))
from pictures import COLOURS, INK, MARKERS, PALE, PAPER

LOSS = "GCP, lower is better"
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
