"""What the sections of docs/REPRODUCTION.md are made of: a table, the differences in it, and a database."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

import sqlanon

Con = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Settings:
    """Where the data and the kept runs are, and how long it may take."""

    data: Path
    runs: Path
    seeds: int
    adult_k: tuple[int, ...]


@dataclass(frozen=True)
class Section:
    """A table with what there is to say about it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: str

    def markdown(self) -> str:
        """The section as in docs/REPRODUCTION.md."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = [textwrap.fill(" ".join(part.split()), 120) for part in self.notes.strip().split("\n\n")]
        return "\n\n".join([f"## {self.title}", table, *notes]) + "\n"


def difference(ours: float, printed: float) -> str:
    """Ours less what is printed, as a share of what is printed."""
    percent = 100 * (ours - printed) / abs(printed)
    return "0 %" if abs(percent) < 0.05 else f"{percent:+.1f} %".replace("-", "−")


def line(what: str, printed: float, ours: float, digits: int) -> list[str]:
    """A row of a table with one number of the paper and one of ours."""
    both = [f"{number:.{digits}f}".replace("-", "−") for number in (printed, ours)]
    return [what, *both, difference(float(f"{ours:.{digits}f}"), printed)]


def percent(share: float) -> str:
    """A share as the papers print it."""
    return f"{100 * share:.2f} %"


def loaded() -> Con:
    """A connection with the schema anon."""
    con = duckdb.connect()
    sqlanon.load(con)
    return con


def measured(con: Con, call: str) -> dict[str, float]:
    """What anon.measure says."""
    return dict(con.execute(f"select measure, value from anon.measure({call})").fetchall())
