"""Tables in a terminal: a line for each row, numbers with separators, and no types."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlanon.engine.session import Relation
from sqlanon.wording import plural, table_text

MOST = 1_000
"""Rows that are shown."""


def table(relation: Relation, empty: str = "none") -> str:
    """A relation's rows as text. Columns that say nothing in any row are left out."""
    rows = relation.fetchall()
    if not rows:
        return empty
    said = [any(row[place] is not None for row in rows) for place in range(len(relation.columns))]
    kept = [place for place, says in enumerate(said) if says]
    header = [relation.columns[place].replace("_", " ") for place in kept]
    text = table_text(header, [[_cell(row[place]) for place in kept] for row in rows[:MOST]])
    return text if len(rows) <= MOST else f"{text}\n... and {plural(len(rows) - MOST, 'more row', 'more rows')}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_cell(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return str(value)
