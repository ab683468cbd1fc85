"""`auto` on tables that it was not tuned on: loss, proven bound, the gap between them, and time.

    python benchmarks/shapes.py [--shapes iris wine] [--efforts fast balanced] [--before TREE] [--write FILE]

Generated tables of other shapes than Adult's, and UCI tables that scikit-learn brings along, with k = 5, seed 0 and
`ranges='text'`. Time is that of the whole call in CPU seconds, once all loops are compiled, and as a ratio to a plain
GROUP BY of the same columns. `--before` names a checkout of an earlier commit, which does the same: loss and time are
then also given as a ratio to its own, and what is worse than the aim (more loss, or more than a fifth more time) is
marked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from cells import Cell, Con, Table, group_by_seconds, parser, run, setting, write

import sqlanon
from sqlanon import samples

EFFORTS = ("fast", "balanced", "best")
K = 5
Columns = dict[str, Any]
Trees = dict[str, list[tuple[str, ...]]]


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    options.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS))
    options.add_argument("--before", type=Path, help="a checkout of an earlier commit, to compare with")
    asked = options.parse_args()
    made = setting()
    table = Table(
        {"table": (24, None), "rows": (7, 0), "columns": (7, 0), "effort": (8, None), "GCP": (7, 4), "bound": (7, 4)}
        | {"gap in %": (8, 1), "CPU s": (7, 2), "GROUP BYs": (9, 0), "loss / before": (8, 3), "CPU / before": (8, 2)}
        | {"aim missed": (10, None), "seconds": (7, 2)}
    )
    for shape in asked.shapes:
        for effort in asked.efforts:
            found = run("shapes", "cell", asked.timeout, shape=shape, effort=effort)
            if asked.before:
                found |= _compared(found, _elsewhere(asked.before, shape, effort, asked.timeout))
            table.add({"table": shape, "effort": effort} | found)
    if asked.write:
        write(asked.write, "shapes", made, "\n".join(table.lines))


def _elsewhere(tree: Path, shape: str, effort: str, timeout: float) -> Cell:
    """The same cell with the package of another checkout."""
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(tree.resolve())
    try:
        return run("shapes", "cell", timeout, shape=shape, effort=effort)
    finally:
        del os.environ["PYTHONPATH"]
        if path is not None:
            os.environ["PYTHONPATH"] = path


def _compared(now: Cell, before: Cell) -> Cell:
    if "GCP" not in now or "GCP" not in before:
        return {}
    loss = now["GCP"] / before["GCP"] if before["GCP"] else 1.0
    seconds = now["CPU s"] / before["CPU s"]
    missed = [aim for aim, is_missed in (("loss", loss > 1.0005), ("time", seconds > 1.2)) if is_missed]
    return {"loss / before": loss, "CPU / before": seconds, "aim missed": ", ".join(missed)}


def cell(shape: str, effort: str) -> Cell:
    """A release of the table, after one of few rows that compiles what is needed."""
    con = duckdb.connect()
    sqlanon.load(con)
    quasi = SHAPES[shape](con)
    con.execute("create table few as from t limit 2000")
    sqlanon.anonymize(con, "few", quasi, K, effort=effort, ranges="text").discard()
    begin = time.process_time()
    release = sqlanon.anonymize(con, "t", quasi, K, effort=effort, seed=0, ranges="text")
    seconds, measured = time.process_time() - begin, release.metrics()
    gcp, bound = measured["gcp"], measured.get("lower_bound")
    ((rows,),) = con.execute("select count(*) from t").fetchall()
    gap = 100 * (gcp / bound - 1) if bound else None
    plain = group_by_seconds(con, "t", quasi)
    return {"rows": rows, "columns": len(quasi), "GCP": gcp, "bound": bound, "gap in %": gap, "CPU s": seconds} | {
        "GROUP BYs": seconds / plain
    }


def _stored(con: Con, columns: Columns, trees: Trees) -> list[str]:
    arrow = pa.table(columns)
    con.register("arrow", arrow)
    con.execute("create table t as from arrow")
    con.unregister("arrow")
    for column, rows in trees.items():
        sqlanon.create_hierarchy(con, column, rows=rows)
    return list(columns)


def _tree(branches: int, depth: int) -> list[tuple[str, ...]]:
    """The leaves of an even tree with what is above them: leaf, ..., top."""
    ways = [np.base_repr(leaf, branches).zfill(depth) for leaf in range(branches**depth)]
    return [tuple(way[: depth - step] or "*" for step in range(depth + 1)) for way in ways]


def _skewed(rng: np.random.Generator, size: int, rows: int) -> Any:
    """Places in a list, some of them often and most of them seldom, in random order."""
    share = 1 / np.arange(1, size + 1) ** rng.uniform(0.6, 1.4)
    return rng.choice(rng.permutation(size), size=rows, p=share / share.sum())


def _mixed(
    con: Con, rows: int, trees: int, flat: int, numbers: int, sizes: tuple[int, int, int], seed: int
) -> list[str]:
    """So many columns with a tree, of some branches and depth, without one, of some values, and of numbers."""
    rng = np.random.default_rng(seed)
    branches, depth, values = sizes
    leaves = _tree(branches, depth)
    hidden = rng.normal(size=rows)
    columns: Columns = {}
    for j in range(trees):
        columns[f"tree_{j}"] = [leaves[place][0] for place in _skewed(rng, len(leaves), rows)]
    for j in range(flat):
        columns[f"flat_{j}"] = [f"v{place}" for place in _skewed(rng, values, rows)]
    for j in range(numbers):
        columns[f"number_{j}"] = np.round(20 * (hidden * rng.uniform(0, 1) + rng.normal(size=rows)), 1)
    return _stored(con, columns, {f"tree_{j}": leaves for j in range(trees)})


def _one_column(con: Con) -> list[str]:
    return _stored(con, {"income": np.round(np.random.default_rng(3).lognormal(10, 0.8, 5000), -1)}, {})


def _generated(con: Con) -> list[str]:
    samples.create(con, "adult", table="t", rows=20_000, seed=5)
    quasi = ["age", "workclass", "education", "marital_status", "race", "sex", "native_country", "occupation"]
    for column, rows in samples.hierarchy_rows("adult").items():
        sqlanon.create_hierarchy(con, column, rows=rows)
    return quasi


def _learning(name: str) -> Callable[[Con], list[str]]:
    def create(con: Con) -> list[str]:
        data = getattr(import_module("sklearn.datasets"), f"load_{name}")().data
        return _stored(con, {f"q{j}": column for j, column in enumerate(data.T) if len(np.unique(column)) > 1}, {})

    return create


SHAPES: dict[str, Callable[[Con], list[str]]] = {
    "one column": _one_column,
    "two numbers": lambda con: _mixed(con, 5000, 0, 0, 2, (2, 1, 1), 11),
    "few large trees": lambda con: _mixed(con, 10_000, 3, 0, 0, (4, 5, 1), 12),
    "many small columns": lambda con: _mixed(con, 5000, 0, 10, 0, (2, 1, 3), 13),
    "twelve columns": lambda con: _mixed(con, 5000, 4, 4, 4, (3, 3, 5), 14),
    "eleven columns, large": lambda con: _mixed(con, 70_000, 4, 4, 3, (4, 3, 6), 15),
    "generated Adult": _generated,
    **{name: _learning(name) for name in ("iris", "wine", "diabetes", "breast_cancer", "digits")},
}
"""Name → what creates the table `t` and its hierarchies, and says its columns."""


if __name__ == "__main__":
    main()
