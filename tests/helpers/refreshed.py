"""People who come and go, and a view of them that is refreshed."""

from __future__ import annotations

from typing import Any

from reading import Con, Row

import sqlanon

OPTIONS: dict[str, Any] = {"quasi": ["age", "zip"], "k": 3, "sensitive": ["illness"], "method": "mondrian"}


def add(con: Con, people: list[Row]) -> None:
    for person in people:
        con.execute("insert into people values (?, ?, ?)", person)


def remove(con: Con, person: Row) -> None:
    """One of those who are equal."""
    where = "age is not distinct from $1 and zip is not distinct from $2 and illness is not distinct from $3"
    con.execute(f"delete from people where rowid = (select min(rowid) from people where {where})", person)


def make(con: Con, **options: Any) -> sqlanon.Release:
    return sqlanon.anonymize(con, "people", **(OPTIONS | {"name": "pub", "kind": "view"} | options))


def counts(version: sqlanon.Version) -> tuple[int, int, int, int]:
    return version.added, version.withdrawn, version.held_new, version.held_deleted


SIX = [(20, "a", "flu"), (21, "a", "gout"), (22, "a", "flu"), (60, "b", "gout"), (61, "b", "flu"), (62, "b", "gout")]
