"""The repeated runs of sequential clustering in Tables 2 and 3 of Goldberger & Tassa 2010, kept in repeated.json.

    python benchmarks/repeated.py [--data ../shared/data] [--runs 10] [--tables 2 3] [--minutes 60]

The core is called by itself, because no release shows its clusters: those that are released alike are one class. All
tables take hours. So every run is kept as soon as it is done, the first run of each cell comes before the second
of any, and a script that is stopped goes on where it was. benchmarks/reproduce.py reads the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np
from reproduced import Con, loaded

from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Floats, Groups, Ints, Problem, Tree

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILE = Path(__file__).with_suffix(".json")
TABLE_2 = {
    10: (0.298, 0.302),
    20: (0.338, 0.340),
    30: (0.361, 0.364),
    40: (0.378, 0.380),
    50: (0.390, 0.394),
    75: (0.416, 0.419),
    100: (0.433, 0.439),
}
"""k → the smallest and the average LM of ten runs."""
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
TABLE_3 = {
    50: (0.07, 0.14, 0.31, 0.51, 0.54),
    75: (0.08, 0.14, 0.32, 0.51, 0.56),
    100: (0.08, 0.15, 0.34, 0.54, 0.58),
}
"""k → the average entropy diversity for each of WEIGHTS."""


@dataclass(frozen=True)
class Cell:
    """What is run: a table of the paper, k, and the ending or the weight of MI."""

    table: int
    k: int
    ending: str = "paper"
    weight: float | None = None


@dataclass(frozen=True)
class Repeat:
    """A run and what came of it: LM, and the entropy diversity as the mean over clusters, classes and rows; CPU seconds
    of the clustering, if they were taken."""

    cell: Cell
    seed: int
    found: dict[str, float]
    seconds: float | None


def cells(tables: list[int]) -> list[Cell]:
    """All cells of these tables, those first that take less time: the larger k, the fewer clusters."""
    second = [Cell(2, k, ending) for k in TABLE_2 for ending in ("paper", "better")]
    third = [Cell(3, k, weight=weight) for k in TABLE_3 for weight in WEIGHTS]
    return sorted((cell for cell in second + third if cell.table in tables), key=lambda cell: (cell.table, -cell.k))


def kept(file: Path = FILE) -> list[Repeat]:
    """The runs so far."""
    stored = json.loads(file.read_text()) if file.exists() else []
    return [Repeat(Cell(**run.pop("cell")), **run) for run in stored]


def keep(runs: list[Repeat], file: Path = FILE) -> None:
    """A line for each run, in order."""
    order = sorted(runs, key=lambda run: (*map(str, astuple(run.cell)), run.seed))
    file.write_text("[\n" + ",\n".join(json.dumps(asdict(run)) for run in order) + "\n]\n")


def adult_45222(con: Con, data: Path) -> list[str]:
    """The table of the paper, all columns as text: without a hierarchy, a text is kept or suppressed."""
    con.execute(
        "create or replace table adult as select cast(columns(* exclude salary_class) as varchar), salary_class "
        "from read_csv($1)",
        [str(data / "adult_45222.csv")],
    )
    return [column for column in con.table("adult").columns if column != "salary_class"]


def problem_of(con: Con, quasi: list[str], has_codes: bool) -> Problem:
    """The table as a core sees it: flat trees, and the codes of salary_class if they are asked for."""
    columns = [con.execute(f'select "{column}" from adult').fetchnumpy()[column].astype(str) for column in quasi]
    domains, ranks = zip(*(np.unique(column, return_inverse=True) for column in columns), strict=True)
    salaries = con.execute("select salary_class from adult").fetchnumpy()["salary_class"].astype(str)
    codes = [np.unique(salaries, return_inverse=True)[1]] if has_codes else []
    rows, counts = np.unique(np.column_stack([*ranks, *codes]), axis=0, return_counts=True)
    sensitive = np.ascontiguousarray(rows[:, len(quasi) :]) if has_codes else None
    trees = tuple(_flat(len(domain)) for domain in domains)
    return Problem(np.ascontiguousarray(rows[:, : len(quasi)]), counts, trees, np.ones(len(quasi)), sensitive)


def _flat(leaves: int) -> Tree:
    every = np.arange(leaves)
    return Tree(np.r_[0, every], np.r_[leaves - 1, every], np.r_[1, np.zeros(leaves, dtype=np.int64)])


def run(problem: Problem, cell: Cell, seed: int) -> Repeat:
    """Cluster as the cell says, and measure the clusters."""
    method = METHODS["sequential"]
    cost = {"cost": "suppression"} if cell.table == 2 else {"cost": "wmi", "mi_weight": cell.weight}
    parameters = method.check(cost | {"ending": cell.ending})
    begin = time.process_time()
    groups = method.cluster(problem, cell.k, np.random.default_rng(seed), lambda *_, **__: None, **parameters)
    seconds = time.process_time() - begin
    lo, hi, rows = groups.closure(problem)
    is_gone = lo != hi
    found = {"lm": float(is_gone.mean(axis=1) @ rows / rows.sum())}
    if problem.sensitive is not None:
        found |= _diversity(problem, groups, np.where(is_gone, -1, lo))
    return Repeat(cell, seed, {measure: round(value, 4) for measure, value in found.items()}, round(seconds, 1))


def _diversity(problem: Problem, groups: Groups, labels: Ints) -> dict[str, float]:
    """The entropy of salary_class in bits: the mean over clusters, over classes, which are clusters that are released
    alike, and over rows."""
    assert problem.sensitive is not None
    held = np.zeros((len(labels), 2))
    np.add.at(held, (groups.group, problem.sensitive[groups.tuple, 0]), groups.rows)
    alike = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
    classes = np.zeros((alike.max() + 1, 2))
    np.add.at(classes, alike, held)
    bits = _entropy(classes)
    return {
        "clusters": float(_entropy(held).mean()),
        "classes": float(bits.mean()),
        "rows": float(bits @ classes.sum(axis=1) / classes.sum()),
    }


def _entropy(held: Floats) -> Floats:
    share = held / held.sum(axis=1, keepdims=True)
    return np.asarray(-(share * np.log2(np.maximum(share, 1e-300))).sum(axis=1))


def missing(runs: list[Repeat], tables: list[int], count: int) -> Iterator[tuple[int, Cell]]:
    """What is not kept yet, one run of every cell after the other; the better ending needs one."""
    done = {(run.cell, run.seed) for run in runs}
    for seed in range(count):
        for cell in cells(tables):
            if (cell, seed) not in done and (cell.ending == "paper" or seed == 0):
                yield seed, cell


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=int, default=10, help="runs of each cell; the paper's are 10")
    parser.add_argument("--tables", type=int, nargs="+", choices=(2, 3), default=[2, 3])
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after this time")
    parser.add_argument("--keep", type=Path, default=FILE, help="where runs are kept")
    asked = parser.parse_args()
    con, runs, begin = loaded(), kept(asked.keep), time.monotonic()
    quasi = adult_45222(con, asked.data)
    problems = {table: problem_of(con, quasi, has_codes=table == 3) for table in asked.tables}
    for seed, cell in list(missing(runs, asked.tables, asked.runs)):
        if time.monotonic() - begin > 60 * asked.minutes:
            break
        runs.append(run(problems[cell.table], cell, seed))
        keep(runs, asked.keep)
        print(runs[-1], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
