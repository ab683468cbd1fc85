"""Every method on Adult with six and eight columns, and the claims that the papers make of each other.

    python benchmarks/comparison.py [--k 5 10 50 100] [--columns 6 8] [--db FILE] [--timeout 600] [--write FILE]

The cells are kept in the database file, if one is named: a grid that was interrupted goes on there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import matplotlib as mpl
from cells import Con, Table, columns_of, create_adult, parser, setting, write

import sqlanon
from sqlanon.comparison.cells import Cell
from sqlanon.comparison.compare import Comparison

METRICS = ("gcp", "lm", "precision", "distortion_ratio", "average_class_size", "mean_risk", "time")
DIMENSIONS = (2, 3, 4, 5, 6, 8)
"""How many columns non-homogeneous generalization and bisecting are compared on."""


def main() -> None:
    """Print the grids and the claims."""
    options = parser(__doc__)
    options.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    options.add_argument("--columns", type=int, nargs="+", choices=(6, 8), default=[6, 8])
    options.add_argument("--db", default=":memory:", help="a database file that keeps the cells")
    options.set_defaults(timeout=600)
    asked = options.parse_args()
    made = setting()
    con = create_adult(asked.data, asked.sample, asked.db)
    grids = {columns: grid(con, asked.data, columns, asked.k, asked.timeout) for columns in asked.columns}
    table = claims(con, asked.data, grids[min(grids)], asked.timeout)
    if asked.write:
        mpl.rcParams["svg.hashsalt"] = "sqlanon"  # the same picture for the same figures
        folder = asked.write.parent / "pictures"
        for columns, compared in grids.items():
            for chart in ("loss_by_k", "loss_by_time", "risk_utility"):
                figure = compared.plot(chart)
                figure.savefig(folder / f"compare_{chart}_{columns}.svg", metadata={"Date": None})
            write(asked.write, f"{columns} columns", made, shown(compared))
        write(asked.write, "claims", made, "\n".join(table.lines))


def grid(con: Con, data: Path, columns: int, ks: Sequence[int], timeout: float) -> Comparison:
    """All methods at every k."""
    compared = sqlanon.compare(con, "adult", columns_of(data, columns), ks, metrics=METRICS, timeout=timeout)
    print(compared, flush=True)
    return compared


def shown(compared: Comparison) -> str:
    """GCP by method and k, with the seconds at the least k, best first by the mean; in Markdown."""
    cells = {(cell.method, cell.k): cell for cell in compared.cells}

    def loss(method: str, k: int) -> str:
        cell = cells[method, k]
        return f"{cell.measures['gcp']:.4f}" if cell.is_done else cell.status

    def average(method: str) -> float:
        done = [cells[method, k].measures["gcp"] for k in compared.ks if cells[method, k].is_done]
        return mean(done) if len(done) == len(compared.ks) else float("inf")

    head = ["method", *(f"GCP, k = {k}" for k in compared.ks), *(f"seconds, k = {k}" for k in compared.ks), ""]
    lines = [head, ["---", *("---:" for _ in head[1:-1]), "---"]]
    for method in sorted(compared.methods, key=lambda m: (not cells[m, compared.ks[0]].has_classes, average(m))):
        seconds = [cells[method, k].seconds for k in compared.ks]
        times = ["" if spent is None else f"{spent:.1f}" for spent in seconds]
        note = cells[method, compared.ks[0]].note
        lines.append([f"`{method}`", *(loss(method, k) for k in compared.ks), *times, note])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def claims(con: Con, data: Path, compared: Comparison, timeout: float) -> Table:
    """What the papers claim about each other, and what holds here."""
    table = Table({"claim": (60, None), "k": (4, None), "said": (12, None), "here": (12, None), "holds": (5, None)})
    cells = {(cell.method, cell.k): cell for cell in compared.cells if cell.is_done}
    ratio = Ratio(table, cells, compared.ks)
    ratio.add("Li et al. 2006: Incognito's distortion to KACA's", "distortion_ratio", "incognito", "kaca", 5.57)
    ratio.add("Wang et al. 2022: KACPC's precision to IKAC's", "precision", "kacpc", "ikac", 1.207)
    ratio.add("Wang et al. 2022: KACPC's precision to OKA's", "precision", "kacpc", "oka", 1.3)
    ratio.add("Goldberger & Tassa 2010: Mondrian's LM to sequential's", "lm", "mondrian", "sequential", 1.0)
    ratio.add("Goldberger & Tassa 2010: Hilbert's LM to sequential's", "lm", "hilbert", "sequential", 1.0)
    for count in DIMENSIONS:
        quasi, methods = columns_of(data, count), ["nonhomogeneous", "bisecting"]
        both = sqlanon.compare(con, "adult", quasi, 10, methods=methods, timeout=timeout, partition="mondrian")
        found = {(cell.method, cell.k): cell for cell in both.cells if cell.is_done}
        claim = f"He et al. 2012: NH's GCP to CB's with {count} columns; CB loses less with more than 3"
        Ratio(table, found, [10]).add(claim, "gcp", "nonhomogeneous", "bisecting", 1.0, count > 3)
    return table


class Ratio:
    """Claims about the ratio of one method's measure to another's."""

    def __init__(self, table: Table, cells: dict[tuple[str, int], Cell], ks: Sequence[int]) -> None:
        self.table, self.cells, self.ks = table, cells, ks

    def add(self, claim: str, measure: str, one: str, other: str, said: float, is_more: bool = True) -> None:
        """A row for every k at which both were measured, and one for the mean."""
        found = {
            k: self.cells[one, k].measures[measure] / self.cells[other, k].measures[measure]
            for k in self.ks
            if (one, k) in self.cells and (other, k) in self.cells
        }
        shown: dict[int | str, float] = found | ({"mean": mean(found.values())} if len(found) > 1 else {})
        for k, value in shown.items():
            holds = value >= said if is_more else value <= said
            row = {
                "said": f"{'≥' if is_more else '≤'} {said:g}",
                "here": f"{value:.2f}",
                "holds": "yes" if holds else "no",
            }
            self.table.add({"claim": claim, "k": k, **row})


if __name__ == "__main__":
    main()
