"""All that the studio takes from the rest of sqlanon, in one place: the public names, the facts of a report, progress.

The other files of the studio import from here only, so that a page can do nothing that a Python program could not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlanon
from sqlanon import samples
from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.releases import stored_releases
from sqlanon.engine.session import DatabaseError, Session
from sqlanon.errors import PAGE, ConflictError, DataError, InterruptedRunError, TimeLimitError, read_in
from sqlanon.policy import toml as tomltext
from sqlanon.policy.options import MAX_UNIQUE
from sqlanon.policy.words import required_text
from sqlanon.reporting.columns import Column
from sqlanon.reporting.facts import Facts, facts_of_release
from sqlanon.reporting.figures import size_bins
from sqlanon.sqltext import literal
from sqlanon.sqltext import name as quoted

SqlanonError = sqlanon.SqlanonError
BrokenPromiseError = sqlanon.BrokenPromiseError
Policy = sqlanon.Policy
Release = sqlanon.Release
Cancelled = (InterruptedRunError, TimeLimitError)
"""What a run that was stopped ends with."""

Heard = Callable[[float, float | None], None]
"""Called with the share of the work that is done and the loss so far, if it is known."""

__all__ = [
    "MAX_UNIQUE",
    "PAGE",
    "BrokenPromiseError",
    "Cancelled",
    "Column",
    "ConflictError",
    "DataError",
    "DatabaseError",
    "Facts",
    "InterruptedRunError",
    "Policy",
    "Release",
    "Session",
    "SqlanonError",
    "Watch",
    "facts_of_release",
    "hierarchy_names",
    "literal",
    "quoted",
    "read_in",
    "release_places",
    "required_text",
    "samples",
    "size_bins",
    "toml_text",
]


class Watch(sqlanon.Run):
    """One run as its owner sees it: what it reports, and a way to stop it from another thread."""

    def __init__(self, heard: Heard) -> None:
        super().__init__(self._hear)
        self._heard = heard

    def _hear(self, method: str, done: int, total: int, facts: dict[str, float]) -> None:
        """Pass a report on."""
        self._heard(done / total if total else 0.0, facts.get("loss"))


def toml_text(options: dict[str, Any], define: dict[str, dict[str, Any]]) -> str:
    """A policy file: the options, then a table for each hierarchy that it defines."""
    text = tomltext.document(options)
    for hierarchy, definition in define.items():
        lines = [f"{tomltext.key(key)} = {tomltext.value(value)}" for key, value in definition.items()]
        text += "\n".join(["", f"[hierarchy.{tomltext.key(hierarchy)}]", *lines]) + "\n"
    return text


def hierarchy_names(con: Session) -> list[str]:
    """The hierarchies of the current database."""
    return [hierarchy.name for hierarchy in Catalog.of(con).hierarchies().known]


def release_places(con: Session) -> dict[str, tuple[str, str]]:
    """The stored releases of the current database: their names, and the schema and table of each."""
    return {stored.name: (stored.schema, stored.table) for stored in stored_releases(Catalog.of(con))}
