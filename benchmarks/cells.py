"""What the benchmarks share: the tables, a cell in a process of its own, and how results are shown and written.

    python benchmarks/cells.py MODULE FUNCTION JSON

runs one cell and prints its answer as JSON. The scripts call it so, and each cell's peak memory is its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb

import sqlanon
from sqlanon import samples
from sqlanon.udfs.methods import METHODS

Con = duckdb.DuckDBPyConnection
Cell = dict[str, Any]
SIX = ("age", "workclass", "education", "marital-status", "race", "sex")
EIGHT = (*SIX, "native-country", "occupation")
SENSITIVE = "salary-class"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CELL = {"seconds": (9, 2), "CPU s": (8, 2), "MiB": (6, 0)}
"""The columns that `clocked` fills, for a Table."""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that all scripts have."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data", type=Path, default=DATA, help="where adult_30162.csv and adult_hierarchies/ are")
    made.add_argument("--sample", type=int, default=30_162, help="rows to generate where Adult is not there")
    made.add_argument("--timeout", type=float, default=3600, help="seconds that a cell may take")
    made.add_argument("--write", type=Path, metavar="FILE", help="put the results into their section of this file")
    return made


def has_adult(data: Path) -> bool:
    """Is UCI Adult there? Else the project's generator makes rows that are like it."""
    return (data / "adult_30162.csv").exists()


def needs(method: str) -> dict[str, Any]:
    """What a method asks for besides k: one that parts a sensitive column from the others, that column and l."""
    return {"sensitive": ["occupation"], "l": 2} if METHODS[method].is_exact else {}


def columns_of(data: Path, count: int) -> list[str]:
    """The first quasi-identifiers of EIGHT, as the table spells them."""
    return [column if has_adult(data) else column.replace("-", "_") for column in EIGHT[:count]]


def levels(data: Path) -> dict[str, list[tuple[str, ...]]]:
    """The rows of each column's hierarchy: leaf, level 1, ..., top."""
    if has_adult(data):
        files = sorted((data / "adult_hierarchies").glob("*.csv"))
        return {file.stem: [tuple(line.split(";")) for line in file.read_text().splitlines()] for file in files}
    ages = [(str(age), *(str(age // width) for width in (5, 10, 20)), "*") for age in range(17, 91)]
    return {"age": ages, **samples.hierarchy_rows("adult")}


def create_hierarchies(con: Con, data: Path) -> None:
    """The hierarchies of all columns but age, which is a number."""
    for column, rows in levels(data).items():
        if column != "age":
            sqlanon.create_hierarchy(con, column, rows=rows)


def create_adult(data: Path, rows: int, db: str = ":memory:") -> Con:
    """A connection with the table `adult`, from the file or generated, and its hierarchies."""
    con = duckdb.connect(db)
    sqlanon.load(con)
    if con.execute("from duckdb_tables() where table_name = 'adult'").fetchall():
        return con
    if has_adult(data):
        con.execute("create table adult as from read_csv($1, delim=';')", [str(data / "adult_30162.csv")])
    else:
        samples.create(con, "adult", rows=rows)
    create_hierarchies(con, data)
    return con


def group_by_seconds(con: Con, relation: str, quasi: Sequence[str]) -> float:
    """The least time of three that a plain GROUP BY of the columns takes, with its result stored."""
    listed = ", ".join(f'"{column}"' for column in quasi)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        con.execute(
            f"create or replace temp table grouped as select {listed}, count(*) as n from {relation} group by all"
        )
        times.append(time.perf_counter() - start)
    con.execute("drop table grouped")
    return min(times)


@contextmanager
def clocked(found: Cell) -> Iterator[None]:
    """Tell what the block took: seconds, CPU seconds, and the most memory that this process had until its end."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    found |= {"seconds": time.perf_counter() - wall, "CPU s": time.process_time() - cpu, "MiB": peak_memory()}


def peak_memory() -> float:
    """In MiB. Linux's ru_maxrss of a child begins at its parent's, so its own high-water mark is read instead."""
    status = Path("/proc/self/status")
    if status.exists() and (mark := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(mark[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


def run(module: str, function: str, timeout: float, **asked: Any) -> Cell:
    """What the function answers in a process of its own. If it fails, its seconds say why."""
    command = [sys.executable, __file__, module, function, json.dumps(asked, default=str)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"seconds": f"more than {timeout:g} s"}
    if done.returncode < 0:
        return {"seconds": f"killed by signal {-done.returncode}"}
    if done.returncode:
        return {"seconds": done.stderr.strip().splitlines()[-1]}
    answer: Cell = json.loads(done.stdout.splitlines()[-1])
    return answer


class Table:
    """Rows printed as they come, in Markdown. A column has a width and, if it holds numbers, its decimals."""

    def __init__(self, columns: Mapping[str, tuple[int, int | None]]) -> None:
        self.columns = columns
        self.rows: list[Cell] = []
        self.lines: list[str] = []
        self._line([title.rjust(width) if digits is not None else title.ljust(width) for title, width, digits in self])
        self._line(["-" * (width - 1) + (":" if digits is not None else "-") for _, width, digits in self])

    def __iter__(self) -> Iterator[tuple[str, int, int | None]]:
        return ((title, max(width, len(title)), digits) for title, (width, digits) in self.columns.items())

    def add(self, row: Cell) -> None:
        """Keep and print a row; what it lacks stays empty."""
        self.rows.append(row)
        self._line([_shown(row.get(title), width, digits) for title, width, digits in self])

    def _line(self, cells: Sequence[str]) -> None:
        self.lines.append(f"| {' | '.join(cells)} |")
        print(self.lines[-1], flush=True)

    def finished(self) -> list[Cell]:
        """The rows whose cells did not fail."""
        return [row for row in self.rows if not isinstance(row.get("seconds"), str)]


def _shown(value: Any, width: int, digits: int | None) -> str:
    if value is None or isinstance(value, str) or digits is None:
        text = "" if value is None else str(value)
        return text.ljust(width) if digits is None else text.rjust(width)
    return f"{value:>{width},.{digits}f}"


def setting() -> str:
    """When, with what and where: the command, the versions, the machine and how busy it was."""
    files = ("--write", "--data", "--db", "--before")
    skipped = {place + step for place, word in enumerate(sys.argv) for step in (0, 1) if word in files}
    words = [word for place, word in enumerate(sys.argv[1:], 1) if place not in skipped]
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])
    packages = ", ".join(f"{name} {version(name)}" for name in ("sqlanon", "duckdb", "numpy", "pyarrow"))
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    busy = "; others were at work on it, so seconds are too long" if load > 1 else ""
    said = (
        f"`{command}`, {date.today()}: Python {platform.python_version()}, {packages}; {_processor()}, {cores} cores, "
        f"{memory:.0f} GiB, load {load:.1f} at the start{busy}."
    )
    return textwrap.fill(said, 120, break_long_words=False, break_on_hyphens=False)


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", names.read_text()) if names.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def write(file: Path, section: str, *paragraphs: str) -> None:
    """Put the paragraphs between the section's marks in the file, at its end if there are none yet."""
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    text = file.read_text() if file.exists() else ""
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}\n{end}\n".lstrip()
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    file.write_text("\n\n".join([before + begin, *paragraphs, end + after]))


def main() -> None:
    """Run one cell."""
    module, function, asked = sys.argv[1:]
    print(json.dumps(getattr(importlib.import_module(module), function)(**json.loads(asked))))


if __name__ == "__main__":
    main()
