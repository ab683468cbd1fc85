"""Making a release: plan, run, verify on the printed values, measure and store, in one transaction or not at all."""

from __future__ import annotations

import itertools
import json
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

from sqlanon import progress
from sqlanon.attributes import attributes_of
from sqlanon.catalog import anon_schema, unwrap
from sqlanon.engine import await_report, now, our_errors, run, take_report, transaction
from sqlanon.errors import (
    BrokenPromiseError,
    CatalogError,
    SqlanonError,
    not_one_of,
)
from sqlanon.hierarchy import hierarchies
from sqlanon.measure import PARTS, measurement, measures_sql
from sqlanon.planner import Plan, diversity_sql, plan, proof_sql, with_ctes
from sqlanon.policy import Policy
from sqlanon.sources import Source, resolve
from sqlanon.sqltext import fold, literal, names, split_name
from sqlanon.sqltext import name as quoted
from sqlanon.version import __version__

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger("sqlanon")

KINDS = ("view", "table")
FROM_THE_CORE = ("information_distortion", "information_distortion_own", "lower_bound")
"""Measures that need the groups or the tuples, which no printed table tells."""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Release:
    """A verified release: its rows, the proof, and what it cost.

    `proof` holds what was counted on the printed values: k, classes, rows, and l for each sensitive column. `learned`
    holds what the method found out beside the groups, such as the feature weights of wfcmeans.
    """

    con: duckdb.DuckDBPyConnection = field(repr=False)
    name: str | None
    source: str
    table: str
    printed: tuple[str, ...]
    policy: Policy
    proof: dict[str, Any]
    measured: dict[str, float] = field(repr=False)
    learned: dict[str, Any] = field(repr=False)
    sql: str = field(repr=False)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The release as a DuckDB relation."""
        return self.con.sql(f"from {self.table}")

    def df(self) -> pd.DataFrame:
        """The release as a pandas frame."""
        frame: pd.DataFrame = self.relation().df()
        return frame

    def metrics(self) -> dict[str, float]:
        """What the release lost, as measured when it was made: gcp, lm, precision and so on.

        Measures of a sensitive column go by their name, or as cm(diagnosis) where there are several such columns.
        """
        return dict(self.measured)

    def verify(self) -> dict[str, Any]:
        """Count the printed classes again, now; raises BrokenPromiseError if the table no longer holds its k."""
        return prove(self.con, self.table, self.printed, self.policy)


def anonymize(
    con: Any,
    source: str,
    quasi: Any = None,
    k: int | None = None,
    *,
    policy: Policy | None = None,
    name: str | None = None,
    kind: str = "table",
    replace: bool = False,
    **options: Any,
) -> Release:
    """Anonymize a table or query and return the verified release.

    `source` is a table's name or a SELECT. The policy is given as options (quasi, k, method, sensitive, keep,
    hierarchies, weights, ranges, seed and the method's own parameters) or as a Policy. With a `name` the release is
    stored in the database, as a table or as a view over a stored table, with an entry in `anon.releases`; without one
    it lives in a temporary table of this connection.
    """
    given = {option: value for option, value in {"quasi": quasi, "k": k, **options}.items() if value is not None}
    if policy is None:
        policy = Policy.of(given)
    elif given:
        raise SqlanonError(f"Give a policy or its options, not both ({', '.join(given)})")
    if kind not in KINDS:
        raise SqlanonError(not_one_of("kind", kind, KINDS))
    raw = unwrap(con)
    progress.watch_interrupts()
    with our_errors(), transaction(raw):
        anon = anon_schema(raw)
        target = _Target.named(raw, anon, name, kind, replace)
        with _steady(raw, source) as found:
            token = await_report()
            planned = plan(found, policy, attributes_of(found, policy, hierarchies(raw, anon), anon), token)
            if target.name is not None:
                _remove(raw, anon, target.name)  # the one to replace, or what the catalog remembers of a dropped one
            temporary = "temporary " if target.name is None else ""
            run(raw, f"create {temporary}table {target.storage} as {planned.sql}")
            learned = take_report(token)
            if learned.get("trivial"):
                log.warning("l is more than %s can keep in several groups: all rows are in one", policy.method)
            proof = prove(raw, target.storage, planned.printed, policy)
            measured = _measure(raw, planned, target, anon, learned)
        if target.name is not None:
            _register(raw, anon, target, planned, source, proof, measured, learned)
    return Release(raw, name, source, target.shown, planned.printed, policy, proof, measured, learned, planned.sql)


def drop_release(con: Any, name: str, *, kind: str | None = None, missing_ok: bool = False) -> None:
    """Drop a stored release: its view or table, its rows, and its entry in `anon.releases`."""
    raw = unwrap(con)
    with our_errors(), transaction(raw):
        anon = anon_schema(raw)
        key = _key(raw, anon, name)[2]
        stored = run(raw, f"select kind from {anon}.releases where lower(name) = lower($1)", [key])
        if stored and kind not in (None, stored[0][0]):
            raise CatalogError(f"Release '{name}' is a {stored[0][0]}: DROP ANONYMIZED {stored[0][0].upper()} {name}")
        if not _remove(raw, anon, key) and not missing_ok:
            raise CatalogError(not_one_of("release", name, _stored_names(raw, anon)))


def open_release(con: Any, name: str) -> Release:
    """A stored release by its name."""
    raw = unwrap(con)
    anon = anon_schema(raw)
    schema, table, key = _key(raw, anon, name)
    rows = run(
        raw,
        "select name, source, printed, policy, proof, metrics, learned "
        f"from {anon}.releases where lower(name) = lower($1)",
        [key],
    )
    if not rows:
        raise CatalogError(not_one_of("release", name, _stored_names(raw, anon)))
    stored, source, printed, policy, *parts = rows[0]
    shown = f"{_database(anon)}.{quoted(schema)}.{quoted(table)}"
    proof, metrics, learned = (json.loads(part) for part in parts)
    return Release(
        raw, stored, source, shown, tuple(printed), Policy.of(json.loads(policy)), proof, metrics, learned, sql=""
    )


def prove(con: duckdb.DuckDBPyConnection, table: str, printed: tuple[str, ...], policy: Policy) -> dict[str, Any]:
    """What holds on the printed values of a table; BrokenPromiseError if that is less than the policy asks for."""
    ((smallest, classes, rows),) = run(con, proof_sql(table, printed))
    if smallest is None or smallest < policy.k:
        raise BrokenPromiseError(f"The smallest printed class holds {smallest or 0} rows, k is {policy.k}")
    proof: dict[str, Any] = {"k": smallest, "classes": classes, "rows": int(rows)}
    if policy.sensitive:
        proof["l"] = {column: run(con, diversity_sql(table, printed, column))[0][0] for column in policy.sensitive}
        for column, diversity in proof["l"].items():
            if policy.l is not None and diversity < policy.l - 1e-9:
                raise BrokenPromiseError(
                    f"A printed class is only {diversity:g}-diverse in {column}, l is {policy.l:g}"
                )
    return proof


@dataclass(frozen=True)
class _Target:
    """Where a release goes: the table that stores it, and what its readers name."""

    name: str | None
    schema: str
    table: str
    kind: str
    storage: str
    shown: str

    @classmethod
    def named(cls, con: duckdb.DuckDBPyConnection, anon: str, name: str | None, kind: str, replace: bool) -> _Target:
        """The place for a release of this name, free or freed by `replace`."""
        if name is None:
            table = f"temp.{quoted(f'sqlanon_release_{next(_numbers)}')}"
            return cls(None, "main", table, "table", table, table)
        schema, table, key = _key(con, anon, name)
        database = _database(anon)
        shown = f"{database}.{quoted(schema)}.{quoted(table)}"
        if not (replace and _is_still_there(con, anon, key)):
            _refuse_taken(con, database, schema, table, replace)
        if kind == "table":
            return cls(key, schema, table, kind, shown, shown)
        used = run(con, "select table_name from duckdb_tables() where schema_name = 'anon'")
        number = 1 + max((int(t[8:]) for (t,) in used if t.startswith("release_") and t[8:].isdigit()), default=0)
        return cls(key, schema, table, kind, f"{anon}.release_{number}", shown)


def _database(anon: str) -> str:
    """The quoted database that the schema `anon` is in."""
    return anon.removesuffix(".anon")


def _unquoted(identifier: str) -> str:
    return identifier[1:-1].replace('""', '"')


def _key(con: duckdb.DuckDBPyConnection, anon: str, name: str) -> tuple[str, str, str]:
    """A release's schema, its table or view there, and its name in the catalog: main's go by their own."""
    parts = split_name(name)
    if not parts or len(parts) > 2:
        raise CatalogError(f"'{name}' is no name for a release: write name or schema.name")
    ((current, current_schema),) = run(con, "select current_database(), current_schema()")
    home = current_schema if quoted(current) == _database(anon) else "main"
    schema, table = (parts[0] if len(parts) == 2 else home), parts[-1]
    is_plain = fold(schema) == "main" and "." not in table
    return schema, table, table if is_plain else f"{_part(schema)}.{_part(table)}"


def _part(identifier: str) -> str:
    return quoted(identifier) if "." in identifier or '"' in identifier else identifier


def _stored_names(con: duckdb.DuckDBPyConnection, anon: str) -> list[str]:
    return [row[0] for row in run(con, f"select name from {anon}.releases order by name")]


def _refuse_taken(con: duckdb.DuckDBPyConnection, database: str, schema: str, table: str, replace: bool) -> None:
    taken = run(
        con,
        "select 1 from (select database_name, schema_name, table_name as name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views()) "
        "where database_name = $1 and lower(schema_name) = lower($2) and lower(name) = lower($3)",
        [_unquoted(database), schema, table],
    )
    if taken:
        hint = "it is not a release, so it is not replaced: drop it first" if replace else "drop it or replace it"
        raise CatalogError(f"'{table}' exists already; {hint}")


@contextmanager
def _steady(con: duckdb.DuckDBPyConnection, asked: str) -> Iterator[Source]:
    """The source as something that reads the same twice: a query's or view's rows are kept in a temporary table."""
    source = resolve(con, asked)
    if source.is_table:
        yield source
        return
    snapshot = f"temp.{quoted(f'sqlanon_source_{next(_numbers)}')}"
    run(con, f"create temporary table {snapshot} as from {source.relation}")
    try:
        yield Source(snapshot, source.shown, source.types, is_table=True)
    except BaseException:
        with suppress(duckdb.Error):  # an aborted transaction drops it anyway
            run(con, f"drop table {snapshot}")
        raise
    run(con, f"drop table {snapshot}")


def _measure(
    con: duckdb.DuckDBPyConnection, planned: Plan, target: _Target, anon: str, learned: dict[str, Any]
) -> dict[str, float]:
    """Measure the stored rows; a named release's parts go into the catalog for anon.utility."""
    policy = planned.policy
    sensitive = planned.source.spelt(policy.sensitive)
    ctes = measurement(planned.source, planned.attributes, target.storage, sensitive, policy.represent)
    number = next(_numbers)
    every = f"temp.sqlanon_measured_{number}"
    lists = ", ".join(f"(select list(entry) from {part} as entry) as {part}" for part in PARTS)
    run(con, f"create temporary table {every} as {with_ctes(ctes, f'select {lists}')}")
    parts = {part: f"(select unnest({part}, recursive := true) from {every})" for part in PARTS}
    told = [f"({literal(m)}, {literal(learned[m])})" for m in FROM_THE_CORE if m in learned]
    if told:
        parts["others"] = f"(from {parts['others']} union all values {', '.join(told)})"
    rows = run(con, f'select measure, "column", value from ({measures_sql(parts, str(policy.k))})')
    if target.name is not None:
        for part, relation in parts.items():
            run(
                con, f"insert into {anon}.release_{part} by name select $1 as release, * from {relation}", [target.name]
            )
    run(con, f"drop table {every}")
    single = len(policy.sensitive) == 1
    return {
        measure if column is None or single else f"{measure}({column})": value
        for measure, column, value in rows
        if value is not None
    }


def _register(
    con: duckdb.DuckDBPyConnection,
    anon: str,
    target: _Target,
    planned: Plan,
    source: str,
    proof: dict[str, Any],
    measured: dict[str, float],
    learned: dict[str, Any],
) -> None:
    if target.kind == "view":
        secure = "secure " if _has_secure_views(con, _unquoted(_database(anon))) else ""
        # Without its database's name where that is the current one: the file may be renamed or attached as another.
        ((current,),) = run(con, "select current_database()")
        storage = target.storage.removeprefix(f"{quoted(current)}.")
        run(con, f"create {secure}view {target.shown} as select {names(planned.columns)} from {storage}")
    mark = f"sqlanon release {uuid.uuid4()}"
    run(con, f"comment on {target.kind} {target.shown} is {literal(mark)}")
    run(
        con,
        f"insert into {anon}.releases by name select $name as name, $schema as schema_name, $table as table_name, "
        "$mark as mark, $kind as kind, "
        "$storage as storage, $source as source, $printed::varchar[] as printed, $k as k, $policy as policy, "
        "$proof as proof, $metrics as metrics, $learned as learned, $rows as rows, $version as sqlanon, "
        "$now as created_at",
        {
            "name": target.name,
            "schema": target.schema,
            "table": target.table,
            "mark": mark,
            "kind": target.kind,
            "storage": target.storage.removeprefix(f"{_database(anon)}."),
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


def _is_still_there(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Is the release of this name stored, and is what has its name now still the release? It carries a mark."""
    return bool(
        run(
            con,
            f"select 1 from {anon}.releases as made join (select schema_name, table_name, comment from duckdb_tables() "
            "where database_name = $database union all "
            "select schema_name, view_name, comment from duckdb_views() where database_name = $database) as found "
            "using (schema_name, table_name) where lower(made.name) = lower($key) and found.comment = made.mark",
            {"database": _unquoted(_database(anon)), "key": key},
        )
    )


def _remove(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Drop a release of this name if there is one; what somebody else put in its place stays."""
    found = run(
        con,
        f"select name, schema_name, table_name, kind, storage from {anon}.releases where lower(name) = lower($1)",
        [key],
    )
    database = _database(anon)
    is_still_there = _is_still_there(con, anon, key)
    for stored, schema, table, kind, storage in found:
        if is_still_there:
            run(con, f"drop {kind} {database}.{quoted(schema)}.{quoted(table)}")
        if kind == "view":
            run(con, f"drop table if exists {database}.{storage}")
        run(con, f"delete from {anon}.releases where name = $1", [stored])
        for part in PARTS:
            run(con, f"delete from {anon}.release_{part} where release = $1", [stored])
    return bool(found)


def _has_secure_views(con: duckdb.DuckDBPyConnection, database: str) -> bool:
    """A plain view leaks its table's smallest and largest values through stats(). DuckDB 2 can prevent that, in memory
    and in files of its own storage version."""
    ((tags,),) = run(con, "select tags from duckdb_databases() where database_name = $1", [database])
    version = (tags or {}).get("storage_version", f"v{duckdb.__version__}")
    return min(int(text.lstrip("v").split(".")[0]) for text in (version, duckdb.__version__)) >= 2
