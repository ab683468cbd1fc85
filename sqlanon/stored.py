"""Stored releases: where each is, what the catalog keeps of it, and how it is dropped with nothing else touched."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import duckdb

from sqlanon.attributes import Attribute, with_ctes
from sqlanon.engine import claim_number, now, run
from sqlanon.errors import CatalogError, not_one_of
from sqlanon.frames import FRAME
from sqlanon.measure import PARTS, measurement, measures_sql
from sqlanon.planner import Plan
from sqlanon.policy import Policy
from sqlanon.promises import GROUP
from sqlanon.proving import prove
from sqlanon.sources import Source
from sqlanon.sqltext import fold, literal, names, split_name
from sqlanon.sqltext import name as quoted
from sqlanon.udfs.methods import METHODS
from sqlanon.version import __version__

SENSITIVE = "_sensitive"
"""The ending of the table or view beside a release that holds the sensitive values of its groups."""
MEMBERS = "_members"
"""The ending of the private table beside a view's rows that says who is in it, see members.py."""
FROM_THE_CORE = ("information_distortion", "information_distortion_own", "lower_bound")
"""Measures that need the groups or the tuples, which no printed table tells."""
DIGEST = "sqlanon_digest"
"""The column by which a person of the source is recognized, see members.py. No released table has it."""
ADDED = "sqlanon_added"
"""The column of the version in which a person's row was first printed."""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Target:
    """Where a release goes: the table that stores it, and what its readers name."""

    name: str | None
    schema: str
    table: str
    kind: str
    storage: str
    shown: str

    @classmethod
    def named(cls, con: duckdb.DuckDBPyConnection, anon: str, name: str | None, kind: str, replace: bool) -> Target:
        """The place for a release of this name, free or freed by `replace`."""
        if name is None:
            table = f"temp.{quoted(f'sqlanon_release_{next(_numbers)}')}"
            return cls(None, "main", table, "table", table, table)
        schema, table, key = key_of(con, anon, name)
        database = database_of(anon)
        shown = f"{database}.{quoted(schema)}.{quoted(table)}"
        if not (replace and is_still_there(con, anon, key)):
            refuse_taken(con, database, schema, table, replace)
        if kind == "table":
            return cls(key, schema, table, kind, shown, shown)
        used = run(con, "select table_name from duckdb_tables() where schema_name = 'anon'")
        number = claim_number(con, (int(t[8:]) for (t,) in used if t.startswith("release_") and t[8:].isdigit()))
        return cls(key, schema, table, kind, f"{anon}.release_{number}", shown)

    def sensitive(self, policy: Policy) -> str | None:
        """The table of a stored release's sensitive values, if they stand apart."""
        return beside(self.storage) if METHODS[policy.method].is_exact and self.name is not None else None

    def members(self, policy: Policy) -> str | None:
        """The private table that says who is in a view, if it can be refreshed."""
        return members_of(self.storage) if self.kind == "view" and not unrefreshable(policy) else None


def unrefreshable(policy: Policy, source: str = "") -> str | None:
    """Why a release under this policy cannot be added to, if it cannot."""
    if source == FRAME:
        return "it was made from a frame, which cannot be read again"
    if not METHODS[policy.method].is_homogeneous:
        return f"its groups, of {policy.method}, cannot be added to"
    if policy.population is not None:
        return "it is a k-map, whose classes may be single rows"
    if policy.entity is not None:
        return "it counts people who have several rows, and those of one person may come in several versions"
    return None


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


def database_of(anon: str) -> str:
    """The quoted database that the schema `anon` is in."""
    return anon.removesuffix(".anon")


def unquoted(identifier: str) -> str:
    """An identifier without its quotes."""
    return identifier[1:-1].replace('""', '"')


def key_of(con: duckdb.DuckDBPyConnection, anon: str, name: str) -> tuple[str, str, str]:
    """A release's schema, its table or view there, and its name in the catalog: main's go by their own."""
    parts = split_name(name)
    if not parts or len(parts) > 2:
        raise CatalogError(f"'{name}' is no name for a release: write name or schema.name")
    ((current, current_schema),) = run(con, "select current_database(), current_schema()")
    home = current_schema if quoted(current) == database_of(anon) else "main"
    schema, table = (parts[0] if len(parts) == 2 else home), parts[-1]
    return schema, table, _part(table) if fold(schema) == "main" else f"{_part(schema)}.{_part(table)}"


def _part(identifier: str) -> str:
    """The identifier as it can be given again: in quotes where it would be read as another without them."""
    return identifier if split_name(identifier) == [identifier] else quoted(identifier)


def stored_names(con: duckdb.DuckDBPyConnection, anon: str) -> list[str]:
    """The names of all stored releases."""
    return [row[0] for row in run(con, f"select name from {anon}.releases order by name")]


def refuse_taken(con: duckdb.DuckDBPyConnection, database: str, schema: str, table: str, replace: bool) -> None:
    """Raise if the name belongs to something else."""
    taken = run(
        con,
        "select 1 from (select database_name, schema_name, table_name as name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views()) "
        "where database_name = $1 and lower(schema_name) = lower($2) and lower(name) = lower($3)",
        [unquoted(database), schema, table],
    )
    if taken:
        hint = "it is not a release, so it is not replaced: drop it first" if replace else "drop it or replace it"
        raise CatalogError(f"'{table}' exists already; {hint}")


def beside(place: str) -> str:
    """The table or view beside this one that holds the sensitive values."""
    return f'{place[:-1]}{SENSITIVE}"' if place.endswith('"') else f"{place}{SENSITIVE}"


def members_of(storage: str) -> str:
    """The table beside a view's rows that says who is in it."""
    return f"{storage}{MEMBERS}"


def store(
    con: duckdb.DuckDBPyConnection, planned: Plan, target: Target, recognized: Plan | None
) -> dict[str, Any] | None:
    """Make the release's rows: a table; or two, where sensitive values stand apart or people are `recognized`, by a
    plan with their digests. Where people are counted by an entity that is not released, nobody can count them later:
    the rows are proved with it, and the proof comes back."""
    temporary = "temporary " if target.name is None else ""
    sensitive_table, proof = target.sensitive(planned.policy), None
    if recognized is None and planned.whole is None and sensitive_table is None:
        run(con, f"create {temporary}table {target.storage} as {planned.sql}")
        return None
    whole = f"temp.{quoted(f'sqlanon_whole_{next(_numbers)}')}"
    sql = recognized.sql if recognized is not None else planned.whole or planned.sql
    run(con, f"create temporary table {whole} as {sql}")
    if sensitive_table is not None:
        _store_apart(con, planned, target.storage, sensitive_table, whole)
    else:
        run(con, f"create {temporary}table {target.storage} as select {names(planned.columns)} from {whole}")
    if planned.whole is not None:
        proof = prove(con, whole, planned.promise, planned.policy)
    if recognized is not None:
        listed = f"{DIGEST}, 1 as {ADDED}, {names(planned.columns)}"
        run(con, f"create table {members_of(target.storage)} as select {listed} from {whole} order by {DIGEST}")
    run(con, f"drop table {whole}")
    return proof


def _store_apart(con: duckdb.DuckDBPyConnection, planned: Plan, storage: str, sensitive_table: str, whole: str) -> None:
    (column,) = planned.source.spelt(planned.policy.sensitive)
    run(con, f"create table {storage} as select * exclude ({quoted(column)}) from {whole}")
    entries = f"select {GROUP}, unnest(map_entries(any_value({quoted(column)}))) as entry from {whole} group by {GROUP}"
    run(
        con,
        f"create table {sensitive_table} as select {GROUP}, entry.key as {quoted(column)}, entry.value as rows "
        f"from ({entries}) order by all",
    )


def measure(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    policy: Policy,
    attributes: tuple[Attribute, ...],
    relation: str,
    name: str | None,
    anon: str,
    learned: Mapping[str, Any],
    is_older: bool = False,
) -> dict[str, float]:
    """Measure the rows of a release; a named one's parts go into the catalog for anon.utility. `is_older` says that the
    source has changed since some of them were printed, and is here only the people whose rows they are."""
    is_apart = METHODS[policy.method].is_exact  # no row is printed with its sensitive value
    sensitive = [] if is_apart else source.spelt(policy.sensitive)
    may_lack_rows = policy.max_suppression is not None and not is_older
    ctes = measurement(source, attributes, relation, sensitive, policy.represent, may_lack_rows, is_older)
    number = next(_numbers)
    every = f"temp.sqlanon_measured_{number}"
    lists = ", ".join(f"(select list(entry) from {part} as entry) as {part}" for part in PARTS)
    run(con, f"create temporary table {every} as {with_ctes(ctes, f'select {lists}')}")
    parts = {part: f"(select unnest({part}, recursive := true) from {every})" for part in PARTS}
    told = [f"({literal(m)}, {literal(learned[m])})" for m in FROM_THE_CORE if m in learned]
    if told:
        parts["others"] = f"(from {parts['others']} union all values {', '.join(told)})"
    rows = run(con, f'select measure, "column", value from ({measures_sql(parts, str(policy.k))})')
    if name is not None:
        for part, measured in parts.items():
            run(con, f"delete from {anon}.release_{part} where release = $1", [name])
            run(con, f"insert into {anon}.release_{part} by name select $1 as release, * from {measured}", [name])
    run(con, f"drop table {every}")
    single = len(policy.sensitive) == 1
    return {
        measure if column is None or single else f"{measure}({column})": value
        for measure, column, value in rows
        if value is not None
    }


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


def is_still_there(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Is the release of this name stored, and is what has its name now still the release? It carries a mark."""
    return bool(_marked(con, anon, key))


def _marked(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> list[str]:
    """What carries the mark of the release of this name: its table or view and the one beside it, still so named."""
    found = run(
        con,
        "select found.schema_name, found.table_name from (select schema_name, table_name, comment from duckdb_tables() "
        "where database_name = $database union all "
        "select schema_name, view_name, comment from duckdb_views() where database_name = $database) as found "
        f"join {anon}.releases as made on made.schema_name = found.schema_name and made.mark = found.comment "
        "and found.table_name in (made.table_name, made.table_name || $beside) where lower(made.name) = lower($key)",
        {"database": unquoted(database_of(anon)), "beside": SENSITIVE, "key": key},
    )
    return [f"{database_of(anon)}.{quoted(schema)}.{quoted(table)}" for schema, table in found]


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
