"""The cells of a grid that snapped ranges end on, as SQL."""

from __future__ import annotations

from sqlanon.families import DATE, TIMESTAMP, TypeFamily
from sqlanon.policy.grid import UNITS, Width
from sqlanon.sqltext import render


def closing(family: TypeFamily) -> str:
    """The bracket behind a range: whole numbers and dates print the last one, whatever is continuous prints where the
    next cell begins."""
    return "]" if family.is_whole or family is DATE else ")"


def cells_sql(domain: str, family: TypeFamily, width: Width | None) -> str:
    """The query that gives each value the two ends of its cell."""
    if family in (DATE, TIMESTAMP):
        given = "null" if width is None else f"interval '{UNITS.get(str(width)) or f'{width} days'}'"
        last, shortest = ("cast(next as date) - 1", "7") if family is DATE else ("next", "0")
        return render("steps/encode/cells_dates.sql", domain=domain, width=given, last=last, shortest=shortest)
    file = "steps/encode/cells_whole.sql" if family.is_whole else "steps/encode/cells_numbers.sql"
    return render(file, domain=domain, width="null" if width is None else repr(width))
