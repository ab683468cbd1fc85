"""Stored releases: where each is, what the catalog keeps of it, and how it is dropped with nothing else touched."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import duckdb

from sqlanon.catalog.places import Target, _marked, beside, database_of, key_of, members_of, unquoted
from sqlanon.engine.session import now, run
from sqlanon.errors import CatalogError, not_one_of
from sqlanon.pipeline.measures import PARTS
from sqlanon.pipeline.plan import Plan
from sqlanon.pipeline.promises import GROUP
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import literal, names
from sqlanon.sqltext import name as quoted
from sqlanon.version import __version__


@dataclass(frozen=True)
class Stored:
    """A stored release as the catalog has it."""

    name: str
    schema: str
    table: str
    kind: str
    storage: str
    source: str
    printed: tuple[str, ...]
    policy: Policy
    proof: dict[str, Any]
    metrics: dict[str, float]
    learned: dict[str, Any]
    version: int
    created_at: datetime
    refreshed_at: datetime | None
    held_new: int
    held_deleted: int


@dataclass(frozen=True)
class Version:
    """What one version of a release printed and held: `added` people's rows are new in it, `withdrawn` ones are gone.

    Held are new people who are not printed yet, and deleted ones who still are.
    """

    release: str
    version: int
    rows: int
    added: int = 0
    withdrawn: int = 0
    held_new: int = 0
    held_deleted: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def sql(self) -> str:
        """A query that answers with it as one row."""
        return "select " + ", ".join(f"{literal(value)} as {fact}" for fact, value in asdict(self).items())


def add_version(con: duckdb.DuckDBPyConnection, anon: str, version: Version) -> None:
    """Write a version into the history."""
    run(con, f"insert into {anon}.release_versions by name {version.sql()}, $1 as made_at", [now()])


def stored_releases(con: duckdb.DuckDBPyConnection, anon: str, key: str | None = None) -> list[Stored]:
    """All stored releases, or those of this name: one or none."""
    rows = run(
        con,
        "select name, schema_name, table_name, kind, storage, source, printed, policy, proof, metrics, learned, "
        "coalesce(version, 1), created_at, refreshed_at, coalesce(held_new, 0), coalesce(held_deleted, 0) "
        f"from {anon}.releases where $1 is null or lower(name) = lower($1) order by name",
        [key],
    )
    found = []
    for row in rows:
        name, schema, table, kind, storage, source, printed, policy, proof, metrics, learned, *rest = row
        told = map(json.loads, (proof, metrics, learned))
        what = (source, tuple(printed), Policy.of(json.loads(policy)))
        found.append(Stored(name, schema, table, kind, storage, *what, *told, *rest))
    return found


def stored_release(con: duckdb.DuckDBPyConnection, anon: str, name: str) -> Stored:
    """The stored release of this name, or an error that lists them."""
    found = stored_releases(con, anon, key_of(con, anon, name)[2])
    if not found:
        raise CatalogError(not_one_of("release", name, stored_names(con, anon)))
    return found[0]


def stored_names(con: duckdb.DuckDBPyConnection, anon: str) -> list[str]:
    """The names of all stored releases."""
    return [row[0] for row in run(con, f"select name from {anon}.releases order by name")]


def register(
    con: duckdb.DuckDBPyConnection,
    anon: str,
    target: Target,
    planned: Plan,
    source: str,
    proof: dict[str, Any],
    measured: dict[str, float],
    learned: dict[str, Any],
) -> None:
    """Mark the release, make its view, and write it into the catalog with its first version."""
    mark = f"sqlanon release {uuid.uuid4()}"
    for storage, shown, columns in _tables(planned, target):
        if target.kind == "view":
            secure = "secure " if _has_secure_views(con, unquoted(database_of(anon))) else ""
            # Without its database's name where that is the current one: the file may be renamed or attached as another.
            ((current,),) = run(con, "select current_database()")
            place = storage.removeprefix(f"{quoted(current)}.")
            run(con, f"create {secure}view {shown} as select {names(columns)} from {place}")
        run(con, f"comment on {target.kind} {shown} is {literal(mark)}")
    run(
        con,
        f"insert into {anon}.releases by name select $name as name, $schema as schema_name, $table as table_name, "
        "$mark as mark, $kind as kind, "
        "$storage as storage, $source as source, $printed::varchar[] as printed, $k as k, $policy as policy, "
        "$proof as proof, $metrics as metrics, $learned as learned, $rows as rows, $version as sqlanon, "
        "$now as created_at, 1 as version, 0 as held_new, 0 as held_deleted",
        {
            "name": target.name,
            "schema": target.schema,
            "table": target.table,
            "mark": mark,
            "kind": target.kind,
            "storage": target.storage.removeprefix(f"{database_of(anon)}."),
            "source": source,
            "printed": list(planned.printed),
            "k": planned.policy.k,
            "policy": planned.policy.json(),
            "proof": json.dumps(proof, ensure_ascii=False),
            "metrics": json.dumps(measured),
            "learned": json.dumps(learned),
            "rows": proof["rows"],
            "version": __version__,
            "now": now(),
        },
    )
    assert target.name is not None
    add_version(con, anon, Version(target.name, 1, proof["rows"], proof["rows"]))


def _tables(planned: Plan, target: Target) -> list[tuple[str, str, Sequence[str]]]:
    """The tables of a release: where the rows of each are, what its readers name, and its columns."""
    if (sensitive_table := target.sensitive(planned.policy)) is None:
        return [(target.storage, target.shown, planned.columns)]
    (column,) = planned.source.spelt(planned.policy.sensitive)
    return [
        (target.storage, target.shown, [each for each in planned.columns if each != column]),
        (sensitive_table, beside(target.shown), [GROUP, column, "rows"]),
    ]


def remove(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Drop a release of this name if there is one; what somebody else put in its place stays."""
    found = run(con, f"select name, kind, storage from {anon}.releases where lower(name) = lower($1)", [key])
    places = _marked(con, anon, key)
    for stored, kind, storage in found:
        for place in places:
            run(con, f"drop {kind} {place}")
        if kind == "view":
            for place in (storage, beside(storage), members_of(storage)):
                run(con, f"drop table if exists {database_of(anon)}.{place}")
        run(con, f"delete from {anon}.releases where name = $1", [stored])
        for part in (*PARTS, "members", "versions"):
            run(con, f"delete from {anon}.release_{part} where release = $1", [stored])
    return bool(found)


def _has_secure_views(con: duckdb.DuckDBPyConnection, database: str) -> bool:
    """A plain view leaks its table's smallest and largest values through stats(). DuckDB 2 can prevent that, in memory
    and in files of its own storage version."""
    ((tags,),) = run(con, "select tags from duckdb_databases() where database_name = $1", [database])
    version = (tags or {}).get("storage_version", f"v{duckdb.__version__}")
    return min(int(text.lstrip("v").split(".")[0]) for text in (version, duckdb.__version__)) >= 2
