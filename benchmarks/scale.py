"""Time, peak memory and loss on large tables: as rows grow, by method, by kind of table, and beyond memory.

    python benchmarks/scale.py [growth methods tables large memory] [--rows ...] [--methods ...] [--write FILE]

growth   100,000 to 3 million generated rows, and the exponent with which time grows
methods  every method on a million generated rows
tables   a million rows of eight columns: `independent`, each column of Adult drawn on its own, and `resampled`, rows of
         Adult drawn with replacement
large    10 million generated rows
memory   10 million generated rows in a Parquet file and in a database file, under DuckDB's `memory_limit`

Rows are made beforehand and stored in a temporary folder; `input MiB` is what all their columns take as Arrow. A cell
reads them into memory, except in the part memory, where they stay in the file; then the clock starts. Each cell runs in
a process of its own.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from cells import (
    CELL,
    Cell,
    Table,
    clocked,
    columns_of,
    create_adult,
    create_hierarchies,
    group_by_seconds,
    needs,
    parser,
    run,
    setting,
    write,
)
from peers import is_installed

import sqlanon
from sqlanon import samples
from sqlanon.udfs.methods import METHODS

NOWHERE = Path("generated")
"""Where Adult is not: the generator's own tables have its hierarchies."""
ARX = {"independent": {"GCP": 0.0303, "seconds": 56.0, "MiB": 2560.0}, "resampled": {"GCP": 0.0096, "seconds": 2.8}}
"""What ARX 3.9.2 took and lost on a million rows drawn in the same way, in earlier runs that are not repeated here."""


@dataclass(frozen=True)
class Part:
    """What a part runs unless the options say otherwise."""

    rows: tuple[int, ...]
    tables: tuple[str, ...] = ("generated",)
    methods: tuple[str, ...] = ("auto",)
    columns: int = 6
    sources: tuple[str, ...] = ("memory",)


PARTS = {
    "growth": Part((100_000, 300_000, 1_000_000, 3_000_000)),
    "methods": Part((1_000_000,), methods=tuple(METHODS)),
    "tables": Part((1_000_000,), tables=("independent", "resampled"), columns=8),
    "large": Part((10_000_000,)),
    "memory": Part((10_000_000,), sources=("parquet", "database")),
}


def main() -> None:
    """Print a table for each part."""
    options = parser(__doc__)
    options.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)} (default: all)")
    options.add_argument("--rows", type=int, nargs="+")
    options.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD")
    options.add_argument("--columns", type=int, choices=range(1, 9), metavar="1..8")
    options.add_argument("--k", type=int, default=10)
    options.add_argument("--effort", choices=("fast", "balanced", "best"), help="of auto")
    options.add_argument("--memory-limit", default="500MB", help="DuckDB's, in the part memory")
    asked = options.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        options.error(f"no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        sizes: dict[Path, float] = {}
        for part in asked.parts or PARTS:
            _run_part(part, asked, Path(folder), sizes)


def _run_part(name: str, asked: Any, folder: Path, sizes: dict[Path, float]) -> None:
    """Print the part's table; `sizes` has the files that are made already, with the MiB of their columns in memory."""
    part, made = PARTS[name], setting()
    columns = asked.columns or part.columns
    print(f"\n{name}: {columns} columns, k = {asked.k}")
    table = Table(
        {"table": (11, None), "rows": (10, 0), "input MiB": (9, 0), "source": (8, None), "method": (13, None), **CELL}
        | {"/ GROUP BY": (10, 0), "GCP": (7, 4)}
    )
    for kind in part.tables:
        for rows in asked.rows or part.rows:
            file = folder / f"{kind}_{rows}.parquet"
            if file not in sizes:
                given = {"kind": kind, "rows": rows, "data": asked.data, "sample": asked.sample, "file": file}
                answer = run("scale", "make", asked.timeout, **given)
                if "seconds" in answer:
                    raise SystemExit(f"{file.name} was not made: {answer['seconds']}")
                sizes[file] = answer["MiB"]
            for source in part.sources:
                limit = asked.memory_limit if source != "memory" else None
                for method in asked.methods or part.methods:
                    given = {"columns": columns, "k": asked.k, "method": method, "source": source, "limit": limit}
                    effort = asked.effort if method == "auto" else None
                    data = NOWHERE if kind == "generated" else asked.data
                    found = run("scale", "cell", asked.timeout, data=data, file=file, effort=effort, **given)
                    table.add(
                        {
                            "table": kind,
                            "rows": rows,
                            "input MiB": sizes[file],
                            "source": source,
                            "method": method,
                            **found,
                        }
                    )
            if kind in ARX and (rows, columns, asked.k) == (1_000_000, 8, 10):
                table.add({"table": kind, "rows": rows, "source": "memory", "method": "ARX 3.9.2", **ARX[kind]})
    notes = []
    if name == "growth":
        notes += [text for method in asked.methods or part.methods if (text := growth(table.finished(), method))]
    if name == "memory":
        notes.append(f"memory_limit = '{asked.memory_limit}'; MiB is the whole process, with Python and numpy.")
    print(*notes, sep="\n", flush=True)
    if asked.write:
        write(asked.write, f"scale {name}", made, "\n".join(table.lines), *notes)
        if name == "growth" and table.finished() and is_installed("matplotlib"):
            import plots

            plots.time_by_rows(table.finished(), asked.write.parent / "pictures")


def growth(rows: list[Cell], method: str) -> str | None:
    """A sentence with the exponent of time in rows, where a method ran on several sizes."""
    found = [row for row in rows if row["method"] == method]
    if len({row["rows"] for row in found}) < 2:
        return None
    sizes = np.log([row["rows"] for row in found])
    wall, cpu = (np.polyfit(sizes, np.log([row[time] for row in found]), 1)[0] for time in ("seconds", "CPU s"))
    return f"{method}: time grows as rows to the power of {wall:.2f} (CPU time: {cpu:.2f})."


def make(kind: str, rows: int, data: str, sample: int, file: str) -> Cell:
    """Store a table as Parquet and in a database file beside it; how many MiB its columns take as Arrow."""
    if kind == "generated":
        con = duckdb.connect()
        samples.create(con, "adult", table="people", rows=rows)
    else:
        con = create_adult(Path(data), sample)
        adult = con.table("adult").to_arrow_table()
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, len(adult), rows)
        people = adult.take(drawn)
        if kind == "independent":
            for place, column in enumerate(adult.column_names):
                people = people.set_column(place, column, adult[column].take(rng.integers(0, len(adult), rows)))
        con.execute("create table people as from people")
    con.execute(f"copy people to '{file}' (format parquet)")
    con.execute(f"attach '{Path(file).with_suffix('.duckdb')}' as stored")
    con.execute("create table stored.people as from people")
    return {"MiB": con.table("people").to_arrow_table().nbytes / 2**20}


def cell(
    data: str,
    file: str,
    columns: int,
    k: int,
    method: str,
    source: str,
    limit: str | None,
    effort: str | None,
) -> Cell:
    """One method on one table, from the table in memory or in its file to a verified and measured release."""
    con = duckdb.connect(str(Path(file).with_suffix(".duckdb")) if source == "database" else ":memory:")
    if limit:
        con.execute(f"set memory_limit = '{limit}'")
        con.execute(f"set temp_directory = '{file}.spill'")
    sqlanon.load(con)
    create_hierarchies(con, Path(data))
    if source == "memory":
        con.execute(f"create table people as from '{file}'")
    people = file if source == "parquet" else "people"
    quasi = columns_of(Path(data), columns)
    plain = group_by_seconds(con, f"'{file}'" if source == "parquet" else "people", quasi)
    found: Cell = {}
    with clocked(found):
        release = sqlanon.anonymize(con, people, quasi, k, method=method, effort=effort, **needs(method))
    return found | {"/ GROUP BY": found["seconds"] / plain, "GCP": release.metrics()["gcp"]}


if __name__ == "__main__":
    main()
