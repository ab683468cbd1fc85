"""How easily the people of a table are found again: anon.risk for tables, files and queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlanon import wording
from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.releases import released_columns
from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, run, temporary, translate_errors, unwrap
from sqlanon.errors import PolicyError, option_name
from sqlanon.policy.validation import column_names
from sqlanon.sqltext import literal, names

COUNTS = ("rows", "classes", "smallest_class", "median_class", "largest_class")
"""Measures that are counts; all others are shares."""


class Risk(dict[str, float | None]):
    """The measures by name. It shows itself as counts and percent."""

    @property
    def shown(self) -> list[tuple[str, str]]:
        """A count with separators, a share of rows with their number, any other share as percent."""
        return [(measure, self._shown(measure, value)) for measure, value in self.items()]

    def _shown(self, measure: str, value: float | None) -> str:
        if value is None:
            return "-"
        if measure in COUNTS:
            return f"{value:,.10g}"
        if measure == "unique_rows" or measure.startswith("rows_below"):
            return f"{round(value * (self['rows'] or 0)):,} ({value:.1%})"
        return f"{value:.1%}"

    def __str__(self) -> str:
        return "\n".join(f"{measure:16} {value}" for measure, value in self.shown)

    def _repr_html_(self) -> str:
        return wording.table_html("How easily people can be found again", ("measure", "value"), self.shown)


def risk(
    con: Any,
    source: Any,
    quasi: str | Sequence[str] | None = None,
    *,
    population: Any = None,
    entity: str | None = None,
) -> Risk:
    """The measures of anon.risk by name. Each of source and population is a table, file, query or frame, as printed.

    A stored release knows its quasi-identifiers; of any other table they are to be named. With an `entity`, the column
    that identifies a person, they include how few people share a set of rows.
    """
    raw = unwrap(con)
    if quasi is None and isinstance(source, str):
        quasi = released_columns(raw, source)
    if not quasi:
        raise PolicyError(
            f"{option_name('quasi')} is empty: name the columns that could identify a person. Only of a stored release "
            "are they known"
        )
    quasi = column_names("quasi", quasi)
    anon = Catalog.of(raw).schema
    with (
        translate_errors(),
        registered(raw) as named,
        _columns(raw, named(source), [*quasi, *([entity] if entity is not None else [])]) as table,
        _columns(raw, None if population is None else named(population), quasi) as people,
    ):
        arguments = f"{literal(table)}, {literal(list(quasi))}, population := {literal(people)}"
        arguments += f", entity := {literal(entity)}"
        return Risk(run(raw, f"select measure, value from {anon}.risk({arguments})"))


@contextmanager
def _columns(con: Session, asked: str | None, quasi: Sequence[str]) -> Iterator[str | None]:
    """A name that the macro can read the columns of a table, file or query by; None for none."""
    if asked is None:
        yield None
        return
    found = resolve(con, asked)
    with temporary(con, "risk", f"select {names(found.resolve_names(quasi))} from {found.relation}", "view") as view:
        yield view
