"""Making a release: plan, run, verify on the printed values, measure and store, in one transaction or not at all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

from sqlanon import progress
from sqlanon.attributes import attributes_of
from sqlanon.catalog import anon_schema, unwrap
from sqlanon.engine import run, transaction
from sqlanon.errors import (
    BrokenPromiseError,
    CatalogError,
    DataError,
    InterruptedRunError,
    SqlanonError,
    not_one_of,
)
from sqlanon.hierarchy import hierarchies
from sqlanon.measure import measurement, measures_sql
from sqlanon.planner import Plan, plan, proof_sql
from sqlanon.policy import Policy
from sqlanon.sources import Source, resolve
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import names, render, split_name
from sqlanon.version import __version__

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("view", "table")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Release:
    """A verified release: its rows, the proof, and what it cost.

    `proof` holds what was counted on the printed values: k, classes, rows, and l for each sensitive column.
    """

    con: duckdb.DuckDBPyConnection = field(repr=False)
    name: str | None
    table: str
    printed: tuple[str, ...]
    policy: Policy
    proof: dict[str, Any]
    measured: dict[str, float] = field(repr=False)
    sql: str = field(repr=False)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The release as a DuckDB relation."""
        return self.con.sql(f"from {self.table}")

    def df(self) -> pd.DataFrame:
        """The release as a pandas frame."""
        return self.relation().df()

    def metrics(self) -> dict[str, float]:
        """What the release lost, as measured when it was made: gcp, lm, precision and so on."""
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
    with _our_errors(), transaction(raw):
        anon = anon_schema(raw)
        target = _Target.named(raw, anon, name, kind, replace)
        with _steady(raw, source) as found:
            planned = plan(found, policy, attributes_of(found, policy, hierarchies(raw, anon), anon))
            temporary = "temporary " if target.name is None else ""
            run(raw, f"create {temporary}table {target.storage} as {planned.sql}")
            proof = prove(raw, target.storage, planned.printed, policy)
            measured = _measure(raw, planned, target, anon)
        if target.name is not None:
            _register(raw, anon, target, planned, source, proof, measured)
    return Release(raw, name, target.shown, planned.printed, policy, proof, measured, planned.sql)


def drop_release(con: Any, name: str, *, missing_ok: bool = False) -> None:
    """Drop a stored release: its view or table, its rows, and its entry in `anon.releases`."""
    raw = unwrap(con)
    with _our_errors(), transaction(raw):
        anon = anon_schema(raw)
        if not _remove(raw, anon, name) and not missing_ok:
            known = [row[0] for row in run(raw, f"select name from {anon}.releases order by name")]
            raise CatalogError(not_one_of("release", name, known))


def open_release(con: Any, name: str) -> Release:
    """A stored release by its name."""
    raw = unwrap(con)
    anon = anon_schema(raw)
    rows = run(
        raw,
        f"select name, schema_name, printed, policy, proof, metrics from {anon}.releases where lower(name) = lower($1)",
        [name],
    )
    if not rows:
        known = [row[0] for row in run(raw, f"select name from {anon}.releases order by name")]
        raise CatalogError(not_one_of("release", name, known))
    stored, schema, printed, policy, proof, metrics = rows[0]
    table = f"{anon.rsplit('.', 1)[0]}.{quoted(schema)}.{quoted((split_name(stored) or [stored])[-1])}"
    return Release(
        raw, stored, table, tuple(printed), Policy.of(json.loads(policy)), json.loads(proof), json.loads(metrics), ""
    )


def prove(con: duckdb.DuckDBPyConnection, table: str, printed: tuple[str, ...], policy: Policy) -> dict[str, Any]:
    """What holds on the printed values of a table; BrokenPromiseError if that is less than the policy's k."""
    ((smallest, classes, rows),) = run(con, proof_sql(table, printed))
    if smallest is None or smallest < policy.k:
        raise BrokenPromiseError(f"The smallest printed class holds {smallest or 0} rows, k is {policy.k}")
    proof: dict[str, Any] = {"k": smallest, "classes": classes, "rows": int(rows)}
    if policy.sensitive:
        proof["l"] = {
            column: run(
                con,
                render("pipeline/diversity.sql", released=table, printed=names(printed), sensitive=quoted(column)),
            )[0][0]
            for column in policy.sensitive
        }
    return proof


@dataclass(frozen=True)
class _Target:
    """Where a release goes: the table that stores it, and what its readers name."""

    name: str | None
    schema: str
    kind: str
    storage: str
    shown: str

    @classmethod
    def named(
        cls, con: duckdb.DuckDBPyConnection, anon: str, name: str | None, kind: str, replace: bool
    ) -> _Target:
        """The place for a release of this name, free or freed by `replace`."""
        if name is None:
            table = f"temp.{quoted(f'sqlanon_release_{next(_numbers)}')}"
            return cls(None, "main", "table", table, table)
        parts = split_name(name)
        if not parts or len(parts) > 2:
            raise CatalogError(f"'{name}' is no name for a release: write name or schema.name")
        database = anon.rsplit(".", 1)[0]
        ((current, current_schema),) = run(con, "select current_database(), current_schema()")
        home = current_schema if quoted(current) == database else "main"
        schema = parts[0] if len(parts) == 2 else home
        shown = f"{database}.{quoted(schema)}.{quoted(parts[-1])}"
        key = parts[-1] if schema.lower() == "main" else f"{schema}.{parts[-1]}"
        if replace:
            _remove(con, anon, key)
        _refuse_taken(con, database, schema, parts[-1], replace)
        if kind == "table":
            return cls(key, schema, kind, shown, shown)
        used = run(con, "select table_name from duckdb_tables() where schema_name = 'anon'")
        number = 1 + max((int(t[8:]) for (t,) in used if t.startswith("release_") and t[8:].isdigit()), default=0)
        return cls(key, schema, kind, f"{anon}.release_{number}", shown)


def _refuse_taken(con: duckdb.DuckDBPyConnection, database: str, schema: str, table: str, replace: bool) -> None:
    taken = run(
        con,
        "select 1 from (select database_name, schema_name, table_name as name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views()) "
        "where database_name = $1 and lower(schema_name) = lower($2) and lower(name) = lower($3)",
        [database[1:-1].replace('""', '"'), schema, table],
    )
    if taken:
        hint = "it is not a release, so it is not replaced: drop it first" if replace else "drop it or replace it"
        raise CatalogError(f"'{table}' exists already; {hint}")


@contextmanager
def _steady(con: duckdb.DuckDBPyConnection, asked: str) -> Iterator[Source]:
    """The source as something that reads the same twice: a query's rows are kept in a temporary table meanwhile."""
    source = resolve(con, asked)
    if not source.relation.startswith("("):
        yield source
        return
    snapshot = f"temp.{quoted(f'sqlanon_source_{next(_numbers)}')}"
    run(con, f"create temporary table {snapshot} as from {source.relation}")
    yield Source(snapshot, source.shown, source.types)
    run(con, f"drop table {snapshot}")


def _measure(con: duckdb.DuckDBPyConnection, planned: Plan, target: _Target, anon: str) -> dict[str, float]:
    """Measure the stored rows; a named release's parts go into the catalog for anon.utility."""
    parts = measurement(planned.source, planned.attributes, target.storage)
    number = next(_numbers)
    tables = {part: f"temp.sqlanon_{part}_{number}" for part in ("labels", "leaves", "classes")}
    for part, table in tables.items():
        run(con, f"create temporary table {table} as {getattr(parts, part)}")
    rows = run(con, f"select measure, value from ({measures_sql(**tables, k=str(planned.policy.k))})")
    for part, table in tables.items():
        if target.name is not None:
            run(con, f"insert into {anon}.release_{part} by name select $1 as release, * from {table}", [target.name])
        run(con, f"drop table {table}")
    return dict(rows)


def _register(
    con: duckdb.DuckDBPyConnection,
    anon: str,
    target: _Target,
    planned: Plan,
    source: str,
    proof: dict[str, Any],
    measured: dict[str, float],
) -> None:
    if target.kind == "view":
        secure = "secure " if _has_secure_views(con) else ""
        run(con, f"create {secure}view {target.shown} as select {names(planned.columns)} from {target.storage}")
    run(
        con,
        f"insert into {anon}.releases by name select $name as name, $schema as schema_name, $kind as kind, "
        "$storage as storage, $source as source, $printed::varchar[] as printed, $k as k, $policy as policy, "
        "$proof as proof, $metrics as metrics, $rows as rows, $version as sqlanon",
        {
            "name": target.name,
            "schema": target.schema,
            "kind": target.kind,
            "storage": target.storage.split(".", 1)[1],
            "source": source,
            "printed": list(planned.printed),
            "k": planned.policy.k,
            "policy": planned.policy.json(),
            "proof": json.dumps(proof, ensure_ascii=False),
            "metrics": json.dumps(measured),
            "rows": proof["rows"],
            "version": __version__,
        },
    )


def _remove(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Drop a release of this name if there is one."""
    found = run(
        con,
        f"select name, schema_name, kind, storage from {anon}.releases where lower(name) = lower($1)",
        [key],
    )
    database = anon.rsplit(".", 1)[0]
    for stored, schema, kind, storage in found:
        shown = f"{database}.{quoted(schema)}.{quoted((split_name(stored) or [stored])[-1])}"
        if kind == "view":
            run(con, f"drop view if exists {shown}")
        run(con, f"drop table if exists {database}.{storage}")
        for table in ("releases", "release_labels", "release_leaves", "release_classes"):
            column = "name" if table == "releases" else "release"
            run(con, f"delete from {anon}.{table} where {column} = $1", [stored])
    return bool(found)


def _has_secure_views(con: duckdb.DuckDBPyConnection) -> bool:
    """A plain view leaks its table's smallest and largest values through stats(); newer DuckDBs can prevent that."""
    try:
        return bool(con.extract_statements("create secure view v as select 1"))
    except duckdb.ParserException:
        return False


@contextmanager
def _our_errors() -> Iterator[None]:
    """What DuckDB reports of our own making comes out as ours: error() messages, interrupts, a source that is gone."""
    try:
        yield
    except duckdb.InvalidInputException as problem:
        message = str(problem).removeprefix("Invalid Input Error: ")
        if "KeyboardInterrupt" in message:
            raise KeyboardInterrupt from None
        if "Python exception occurred" in message:
            raise
        kind = BrokenPromiseError if message.startswith("A printed class") else DataError
        raise kind(message.splitlines()[0]) from None
    except duckdb.InterruptException:
        raise InterruptedRunError("Interrupted; nothing was stored") from None
    except duckdb.CatalogException as problem:
        raise CatalogError(str(problem).splitlines()[0]) from problem
    except RuntimeError as problem:
        if "interrupted" in str(problem).lower():
            raise KeyboardInterrupt from None
        raise
