"""What a hierarchy of a draft is made of: a rule, rows, or one that is stored. It can be opened and edited again."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlanon.studio.facade import SqlanonError

KINDS = {
    "none": "No hierarchy",
    "intervals": "Intervals",
    "prefix": "Prefixes of a code",
    "dates": "Parts of a date",
    "rows": "Table of levels",
    "stored": "A stored hierarchy",
}
MOST_ROWS = 20_000
"""Rows of a table of levels that can be edited on the page."""
DELIMITERS = ("\t", ";", ",", "|")
Rows = list[list[str]]


@dataclass(frozen=True)
class Spec:
    """The kind of a hierarchy and what it takes."""

    kind: str
    widths: tuple[float, ...] = ()
    anchor: float | None = None
    below: float | None = None
    above: float | None = None
    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    name: str | None = None

    @property
    def is_own(self) -> bool:
        """Does the policy define it?"""
        return self.kind not in ("none", "stored")

    def bound(self, prefix: str, column: str) -> str | None:
        """The hierarchy's name in a policy: None asks for none."""
        if self.kind == "none":
            return None
        return self.name if self.kind == "stored" else f"{column}_of_{prefix}"

    def definition(self) -> dict[str, Any]:
        """The arguments of `sqlanon.create_hierarchy`, and of [hierarchy.NAME] in a policy file."""
        if self.kind == "rows":
            return {"rows": [list(row) for row in self.rows]}
        if self.kind != "intervals":
            return {self.kind: True}
        bounds = {"anchor": self.anchor, "below": self.below, "above": self.above}
        return {"intervals": list(self.widths)} | {key: value for key, value in bounds.items() if value is not None}

    @classmethod
    def of(cls, hierarchy: Any, define: Mapping[str, Mapping[str, Any]]) -> Spec:
        """What a policy file says: the name that a column is bound to, and what defines it, if that is there."""
        if not isinstance(hierarchy, str):
            return cls("none")
        made = define.get(hierarchy)
        if made is None:
            return cls("stored", name=hierarchy)
        if "rows" in made:
            return cls("rows", rows=tuple(tuple(map(str, row)) for row in made["rows"]))
        if "intervals" in made:
            bounds = {key: made[key] for key in ("anchor", "below", "above") if key in made}
            return cls("intervals", widths=tuple(made["intervals"]), **bounds)
        return cls("prefix" if made.get("prefix") else "dates" if made.get("dates") else "none")

    def text(self) -> str:
        """The rows as text that can be edited and pasted again."""
        return "\n".join("\t".join(row) for row in self.rows)


def rows_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The rows of pasted text: from a spreadsheet, or as ARX writes them. Empty cells skip a level."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    if not lines:
        raise SqlanonError("The table is empty: paste a row for each value, with its levels beside it")
    if len(lines) > MOST_ROWS:
        raise SqlanonError(f"The table has {len(lines):,} rows; a page takes {MOST_ROWS:,} at most")
    by_delimiter = [_cells(lines, delimiter) for delimiter in DELIMITERS]
    rows = max(by_delimiter, key=lambda found: min(map(len, found)))
    kept = [tuple(cell for cell in row if cell) for row in rows]
    tops = {row[-1] for row in kept if row}
    if len(tops) > 1:
        kept = [(*row, "*") for row in kept]
    return tuple(row for row in kept if row)


def _cells(lines: Sequence[str], delimiter: str) -> Rows:
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)
    return [[cell.strip() for cell in row] for row in reader]


def numbers_of(text: str) -> tuple[float, ...]:
    """The widths of intervals as somebody types them: 5, 10, 20."""
    return tuple(number_of(part) for part in re.split(r"[\s,;]+", text.strip()) if part)


def number_of(text: str) -> float:
    """A number as somebody types it, whole where it is."""
    try:
        number = float(text.strip())
    except ValueError:
        raise SqlanonError("This is not a number; write 5 or 2.5") from None
    if number != number or abs(number) > 1e15:
        raise SqlanonError("This number is too large")
    return int(number) if number == int(number) else number
