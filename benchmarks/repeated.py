"""The repeated runs of sequential clustering in Tables 2 and 3 of Goldberger & Tassa 2010, kept in repeated.json.

    python benchmarks/repeated.py [--data ../shared/data] [--runs 10] [--tables 2 3] [--minutes 60]

All tables take hours. So every run is kept as soon as it is done, the first run of each cell comes before the second
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

from reproduced import Con, loaded

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
    """A run and what came of it: LM, or the entropy diversity as the mean over classes and over rows; CPU seconds."""

    cell: Cell
    seed: int
    found: dict[str, float]
    seconds: float


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


def run(con: Con, quasi: list[str], cell: Cell, seed: int) -> Repeat:
    """Anonymize as the cell says, in one query, and measure what is released."""
    options = f"method := 'sequential', ending := '{cell.ending}', seed := {seed}"
    if cell.table == 2:
        options += ", cost := 'suppression'"
    else:
        options += f", cost := 'wmi', mi_weight := {cell.weight}, sensitive := ['salary_class']"
    begin = time.process_time()
    con.execute(
        f"create or replace table printed as from anon.anonymize('adult', quasi := {quasi}, k := {cell.k}, {options})"
    )
    seconds = time.process_time() - begin
    return Repeat(cell, seed, _loss(con, quasi) if cell.table == 2 else _diversity(con, quasi), round(seconds, 1))


def _loss(con: Con, quasi: list[str]) -> dict[str, float]:
    """LM of a table in which a text is kept or suppressed: the share of cells that are suppressed."""
    stars = " + ".join(f"""("{column}" = '*')::int""" for column in quasi)
    ((share,),) = con.execute(f"select avg({stars}) / {len(quasi)} from printed").fetchall()
    return {"lm": round(share, 5)}


def _diversity(con: Con, quasi: list[str]) -> dict[str, float]:
    """The entropy of salary_class in bits within a class, as the mean over classes and over rows."""
    labels = ", ".join(f'"{column}"' for column in quasi)
    ((by_class, by_row),) = con.execute(
        "select avg(bits), sum(bits * rows) / sum(rows) from (select entropy(salary_class) as bits, count(*) as rows "
        f"from printed group by {labels})"
    ).fetchall()
    return {"classes": round(by_class, 4), "rows": round(by_row, 4)}


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
    for seed, cell in list(missing(runs, asked.tables, asked.runs)):
        if time.monotonic() - begin > 60 * asked.minutes:
            break
        runs.append(run(con, quasi, cell, seed))
        keep(runs, asked.keep)
        print(runs[-1], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
