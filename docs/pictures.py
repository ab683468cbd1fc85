"""The pictures of docs/algorithms.md: what every method does to the same 80 points, k = 5.

    python docs/pictures.py [--into docs/pictures] [--png]

Needs matplotlib. Each method runs through sqlanon on one seeded table of two numbers. A group is drawn as the box that
covers it, which is what a release prints; a group whose points share a value is a line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import sqlanon
from sqlanon.udfs.methods import METHODS

K = 5
POINTS = 80
# Okabe and Ito's colours, told apart by people who do not see red and green, without the black and the yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "X")
INK, PAPER, PALE = "#222222", "#FFFFFF", "#DDDDDD"
LINE = 0.5
"""The least width of a box, so that a line is seen."""


def main() -> None:
    """Write one picture for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "pictures")
    parser.add_argument("--png", action="store_true", help="PNG, to look at, in place of SVG")
    asked = parser.parse_args()
    mpl.rcParams.update({"svg.hashsalt": "sqlanon", "font.family": "DejaVu Sans", "font.size": 10})
    asked.into.mkdir(parents=True, exist_ok=True)
    con = duckdb.connect()
    sqlanon.load(con)
    points = create(con)
    for method in (name for name, each in METHODS.items() if not each.is_exact):
        figure = draw(con, points, method)
        ending = "png" if asked.png else "svg"
        metadata = None if asked.png else {"Date": None, "Creator": None}
        figure.savefig(asked.into / f"{method}.{ending}", metadata=metadata, facecolor=PAPER, dpi=120)
        plt.close(figure)


def create(con: duckdb.DuckDBPyConnection) -> np.ndarray:
    """The table `people`: two towns, a long street and a few who live alone, as (x, y) of whole numbers."""
    rng = np.random.default_rng(2012)
    towns = [rng.normal((22, 72), (8, 9), (28, 2)), rng.normal((76, 26), (8, 8), (24, 2))]
    along = rng.uniform(0, 1, (18, 1))
    street = np.array([28.0, 12.0]) + along * np.array([55.0, 66.0]) + rng.normal(0, 3, (18, 2))
    alone = rng.uniform(2, 98, (POINTS - 70, 2))
    points = np.clip(np.rint(np.concatenate([*towns, street, alone])), 2, 98).astype(int)
    con.execute("create table people (row integer, x integer, y integer)")
    con.executemany("insert into people values (?, ?, ?)", [(i, *point) for i, point in enumerate(points.tolist())])
    return points


def draw(con: duckdb.DuckDBPyConnection, points: np.ndarray, method: str) -> plt.Figure:
    """The points, and the boxes that the method prints for them."""
    release = sqlanon.anonymize(con, "people", ["x", "y"], K, method=method, ranges="columns", unsafe_keep=["row"])
    classes = con.execute(
        f"select x_min, y_min, x_max, y_max, list(row order by row) from {release.table} group by all order by all"
    ).fetchall()
    figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained", facecolor=PAPER)
    boxes = np.array([box for *box, _ in classes], dtype=float)
    for number, colour in enumerate(colours(boxes)):
        rows = classes[number][-1]
        _box(axes, boxes[number], COLOURS[colour])
        axes.scatter(
            *points[rows].T, s=26, color=COLOURS[colour], marker=MARKERS[colour], edgecolor=INK, lw=0.4, zorder=3
        )
    measured = release.metrics()
    _frame(axes, f"{method}: {len(classes)} groups, GCP {measured['gcp']:.3f}")
    return figure


def _box(axes: Axes, box: np.ndarray, colour: str) -> None:
    low, high = box[:2] - LINE, box[2:] + LINE
    size = high - low
    axes.add_patch(Rectangle(low, *size, facecolor=colour, alpha=0.14, lw=0, zorder=1))
    axes.add_patch(Rectangle(low, *size, facecolor="none", edgecolor=colour, lw=1.3, zorder=2))


def colours(boxes: np.ndarray) -> list[int]:
    """A colour for each box, such that boxes that touch or nearly do differ as far as the colours last."""
    chosen: list[int] = []
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    for number, box in enumerate(boxes):
        gaps = np.maximum(box[:2] - boxes[:number, 2:], boxes[:number, :2] - box[2:]).max(axis=1)
        away = np.hypot(*(middles[:number] - middles[number]).T)
        room = [
            min((gaps[i] * 1000 + away[i] for i, colour in enumerate(chosen) if colour == each), default=1e9)
            for each in range(len(COLOURS))
        ]
        chosen.append(int(np.argmax(room)))
    return chosen


def _frame(axes: Axes, title: str) -> None:
    axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal", xlabel="x", ylabel="y", facecolor=PAPER)
    axes.set_title(title, color=INK, fontsize=12, loc="left")
    axes.grid(color=PALE, lw=0.5, zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)


if __name__ == "__main__":
    main()
