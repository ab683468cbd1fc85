"""Making a release: plan, run, verify on the printed values, measure and store, in one transaction or not at all."""

from __future__ import annotations

import itertools
import json
import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from sqlanon import progress, pseudonyms
from sqlanon.attributes import attributes_of, with_ctes
from sqlanon.catalog import anon_schema, unwrap
from sqlanon.engine import await_report, claim_number, instance_of, now, our_errors, run, take_report, transaction
from sqlanon.errors import (
    BrokenPromiseError,
    CatalogError,
    SqlanonError,
    not_one_of,
)
from sqlanon.frames import label, naming, readable
from sqlanon.hierarchy import hierarchies
from sqlanon.measure import PARTS, encoding_ctes, measurement, measures_sql
from sqlanon.models import asked_of, homogeneous_sql, sensitive_of
from sqlanon.planner import Plan, plan
from sqlanon.policy import Policy
from sqlanon.promises import GROUP, Promise, equal_rows, groups_apart, listed_sql, promise_of
from sqlanon.publish import publish
from sqlanon.sources import Source, resolve
from sqlanon.sqltext import fold, literal, names, split_name
from sqlanon.sqltext import name as quoted
from sqlanon.udfs.methods import METHODS
from sqlanon.version import __version__

if TYPE_CHECKING:
    import ibis
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

log = logging.getLogger("sqlanon")

KINDS = ("view", "table")
SENSITIVE = "_sensitive"
"""The ending of the table or view beside a release that holds the sensitive values of its groups."""
FROM_THE_CORE = ("information_distortion", "information_distortion_own", "lower_bound")
"""Measures that need the groups or the tuples, which no printed table tells."""
UNPRINTED = ("left_out", "outside_population")
"""What the proof counts of the source beside what is printed."""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Release:
    """A verified release: its rows, the proof, and what it cost.

    `proof` holds the property that holds and what was counted on the printed values: k, classes, rows, and l for each
    sensitive column. `learned`
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
    frame: Any = field(default=None, repr=False, compare=False)
    """The frame that was anonymized, if it was one. A stored release that is opened again does not know it."""

    @property
    def origin(self) -> Any:
        """What was anonymized: the name or query in `source`, or the frame."""
        return self.source if self.frame is None else self.frame

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The release as a DuckDB relation."""
        return self.con.sql(f"from {self.table}")

    def df(self) -> pd.DataFrame:
        """The release as a pandas frame."""
        with our_errors():
            self._refuse_changed(self.table)
            frame: pd.DataFrame = self.relation().df()
        return frame

    def pl(self) -> pl.DataFrame:
        """The release as a polars frame."""
        _require("polars")
        frame: pl.DataFrame = self.relation().pl()
        return frame

    def arrow(self) -> pa.Table:
        """The release as an Arrow table."""
        return self.relation().to_arrow_table()

    def ibis(self) -> ibis.Table:
        """The release as an ibis table in memory, for expressions on any backend.

        A stored release is also a table of its database: `backend.table("patients_public")`.
        """
        return _require("ibis", "ibis-framework[duckdb]").memtable(self.arrow())

    def metrics(self) -> dict[str, float]:
        """What the release lost, as measured when it was made: gcp, lm, precision and so on.

        Measures of a sensitive column go by their name, or as cm(diagnosis) where there are several such columns.
        """
        return dict(self.measured)

    @property
    def suppressed(self) -> int:
        """How many rows of the source lost everything: printed as * in every quasi-identifier, or left out."""
        rows: int = self.proof["rows"] + self.proof.get("left_out", 0)
        return round(self.measured.get("suppressed", 0) * rows)

    @property
    def sensitive_table(self) -> str | None:
        """Where a stored release of anatomy has its sensitive values: group_id, value and rows."""
        return _beside(self.table) if METHODS[self.policy.method].is_exact and self.name is not None else None

    def verify(self) -> dict[str, Any]:
        """Prove what is printed again, now; raises BrokenPromiseError if the table no longer keeps its promise.

        Where rows have boxes of their own (nonhomogeneous), that takes the source as it was. Where people were counted
        by an entity that is not released, rows are counted instead: there are never fewer.
        """
        with our_errors():
            return self._prove(self._tables)

    def publish(self, path: str | Path, *, replace: bool = False) -> dict[str, Any]:
        """Write the release to a new .duckdb, .parquet or .csv file that holds nothing else, and verify it there.

        Returns what the file says about it, in its table `about` or its key-value metadata; a csv file says nothing.
        """
        proof = self.verify()
        properties = [proof["property"]]
        for model, asked in self.policy.models.items():
            if model != "l":
                properties.append(f"{model} = {asked:g}")
            elif "l-diversity" not in proof["property"]:
                properties.append("l-diversity")
        about = {
            "property": ", ".join(properties),
            "k": self.policy.k,
            "l": self.policy.l,
            "method": self.policy.method,
            "loss": self.measured.get("gcp"),
            "rows": proof["rows"],
            "classes": proof["classes"],
            "suppressed": self.suppressed - proof.get("left_out", 0),
            "left_out": proof.get("left_out", 0),
            "ranges": self.policy.ranges,
            "sqlanon": __version__,
        }
        publish(self.con, self._tables, path, about, proof, self._prove, replace)
        return about

    def report(self, path: str | Path, *, curve: bool | None = None) -> Path:
        """Write all that is to be told of the release to one HTML file, verified again; see sqlanon/reports.py."""
        from sqlanon.reports import report_release

        return report_release(self, path, curve)

    def plot(self, *, dark: bool = False) -> Figure:
        """The main figure of the report: class sizes and what became of each column."""
        from sqlanon.facts import facts_of_release
        from sqlanon.figures import main_figure

        return main_figure(facts_of_release(self, curve=False), dark)

    def __repr__(self) -> str:
        from sqlanon.displays import release_text

        return release_text(self)

    def _repr_html_(self) -> str:
        from sqlanon.displays import release_html

        return release_html(self)

    @property
    def _tables(self) -> dict[str, str]:
        """The tables of the release by their names: one, or two where sensitive values stand apart."""
        own = (split_name(self.name) or [self.name])[-1] if self.name is not None else "release"
        tables = {own: self.table}
        return tables if self.sensitive_table is None else tables | {f"{own}{SENSITIVE}": self.sensitive_table}

    def _refuse_changed(self, table: str) -> None:
        """An error in words where the release's table or view is gone or has other columns."""
        try:
            resolve(self.con, f"from {table}").spelt(self.printed)
        except CatalogError as problem:
            raise CatalogError(f"Release '{self.name}' is not as it was made: {problem}") from None

    def _prove(self, tables: Mapping[str, str]) -> dict[str, Any]:
        """What holds of the release as it stands in these tables."""
        self._refuse_changed(next(iter(tables.values())))
        method = METHODS[self.policy.method]
        if method.is_exact:
            promise = groups_apart()
        elif method.is_homogeneous and self.policy.population is None:
            promise = equal_rows(self.printed, _entity(self.relation().columns, self.policy))
        else:
            with naming(self.con) as named:
                source, anon = resolve(self.con, named(self.origin)), anon_schema(self.con)
                if self.policy.population is not None:
                    source = source.among(resolve(self.con, self.policy.population), self.policy.quasi)
                attributes = attributes_of(source, self.policy, hierarchies(self.con, anon), anon)
                return self._proved(tables, promise_of(self.policy, attributes, source))
        return self._proved(tables, promise)

    def _proved(self, tables: Mapping[str, str], promise: Promise) -> dict[str, Any]:
        table, *beside = tables.values()
        proof = prove(self.con, _whole(table, beside[0] if beside else None, self.policy), promise, self.policy)
        # What is not printed was counted when the source was at hand.
        return proof | {fact: self.proof[fact] for fact in UNPRINTED if fact in self.proof}


def anonymize(
    con: Any,
    source: Any,
    quasi: Any = None,
    k: int | None = None,
    *,
    policy: Policy | None = None,
    name: str | None = None,
    kind: str = "table",
    replace: bool = False,
    key: bytes | None = None,
    **options: Any,
) -> Release:
    """Anonymize a table, query or frame and return the verified release.

    `source` is a table's name, a SELECT, or a frame: pandas, polars, Arrow, ibis or a DuckDB relation. The policy is
    given as options (quasi, k, method, sensitive, keep, hierarchies, weights, ranges, seed and the method's own
    parameters) or as a Policy. With a `name` the release is stored in the database, as a table or as a view over a
    stored table, with an entry in `anon.releases`; without one it lives in a temporary table of this connection.
    `key` is for `pseudonymize`; without one it is that of `sqlanon.set_key` or of the environment.
    """
    given = {option: value for option, value in {"quasi": quasi, "k": k, **options}.items() if value is not None}
    if policy is None:
        policy = Policy.of(given)
    elif given:
        raise SqlanonError(f"Give a policy or its options, not both ({', '.join(given)})")
    if kind not in KINDS:
        raise SqlanonError(not_one_of("kind", kind, KINDS))
    raw, source = unwrap(con), readable(source)
    progress.watch_interrupts()
    if key is not None and not policy.pseudonymize:
        raise SqlanonError("There is a key but nothing to pseudonymize: pseudonymize = ['patient_id']")
    with (
        our_errors(),
        progress.notebook_bar(),
        _key_named(raw, policy, key) as token_of_key,
        naming(raw) as named,
        transaction(raw),
    ):
        anon = anon_schema(raw)
        target = _Target.named(raw, anon, name, kind, replace)
        with _steady(raw, named(source)) as found, _people(raw, policy) as people:
            if people is not None:
                found = found.among(people, policy.quasi)
            token = await_report()
            known = hierarchies(raw, anon)
            attributes = attributes_of(found, policy, known, anon)
            planned = plan(found, policy, attributes, sensitive_of(found, policy, known, anon), token, token_of_key)
            if target.name is not None:
                _remove(raw, anon, target.name)  # the one to replace, or what the catalog remembers of a dropped one
                if target.sensitive(policy):
                    _refuse_taken(raw, _database(anon), target.schema, f"{target.table}{SENSITIVE}", replace)
            proof = _store(raw, planned, target)
            learned = take_report(token)
            if learned.get("trivial"):
                log.warning("l is more than %s can keep in several groups: all rows are in one", policy.method)
            promise = promise_of(policy, planned.attributes, found, entity=_entity(planned.columns, policy))
            proof = proof or prove(raw, _whole(target.storage, target.sensitive(policy), policy), promise, policy)
            if people is not None:
                proof["outside_population"] = _outside(raw, planned)
            if policy.max_suppression is not None:
                ((rows,),) = run(raw, f"select count(*) from {found.relation}")
                proof["left_out"] = rows - proof["rows"]
            if promise.reached is not None and not policy.models:
                _warn_of_homogeneous(raw, target, promise, planned.source.spelt(policy.sensitive), proof)
            measured = _measure(raw, planned, target, anon, learned)
        if target.name is not None:
            _register(raw, anon, target, planned, label(source), proof, measured, learned)
    frame = None if isinstance(source, str) else source
    return Release(
        raw,
        name,
        label(source),
        target.shown,
        planned.printed,
        policy,
        proof,
        measured,
        learned,
        planned.sql,
        frame,
    )


def _require(module: str, package: str | None = None) -> Any:
    """A library that is only needed by those who use it."""
    try:
        return import_module(module)
    except ImportError:
        raise SqlanonError(f"This needs {module}: pip install '{package or module}'") from None


@contextmanager
def _key_named(con: duckdb.DuckDBPyConnection, policy: Policy, key: bytes | None) -> Iterator[str | None]:
    """The token of the key for pseudonyms, if there are to be any."""
    if key is not None:
        with pseudonyms.lent(key) as token:
            yield token
    else:
        yield pseudonyms.token_of(instance_of(con)) if policy.pseudonymize else None


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
    with our_errors(), transaction(raw):
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


def prove(con: duckdb.DuckDBPyConnection, relation: str, promise: Promise, policy: Policy) -> dict[str, Any]:
    """What holds of a printed relation; BrokenPromiseError if that is less than the policy asks for."""
    ((smallest, classes, rows),) = run(con, promise.proof(relation))
    if smallest is None or smallest < policy.k:
        raise BrokenPromiseError(f"{promise.shortfall.format(smallest or 0)}, k is {policy.k}")
    proof: dict[str, Any] = {"property": promise.property, "k": smallest, "classes": classes, "rows": int(rows)}
    if not policy.sensitive or promise.reached is None:
        return proof
    anon = anon_schema(con)
    columns = sensitive_of(resolve(con, f"from {relation}"), policy, hierarchies(con, anon), anon)
    for asked, column in asked_of(policy, columns, promise.measured, promise.entity is not None):
        ((reached,),) = run(con, promise.reached(relation, asked, column))
        if not asked.holds(reached):
            before, after = asked.shortfall
            raise BrokenPromiseError(f"{before}{reached:g}{after.format(column.column)}")
        proof.setdefault(asked.name, {})[column.column] = reached
    return proof


def _warn_of_homogeneous(
    con: duckdb.DuckDBPyConnection, target: _Target, promise: Promise, sensitive: Sequence[str], proof: dict[str, Any]
) -> None:
    """Say how many people's sensitive values can be read off, where nothing was asked to prevent it, and where a stored
    release's classes are named: a log is no place for what they print."""
    for column in sensitive:
        asked = ", ".join(literal(each) for each in (target.name, list(promise.printed), column))
        look = f", see FROM anon.model_violations({asked}, 'distinct_l', 2)" if target.name is not None else ""
        ((classes, rows),) = run(con, homogeneous_sql(target.storage, promise.printed, column))
        if classes:
            log.warning(
                "Nothing is asked of sensitive column '%s', such as l or t: in %s of %s classes, with %s of %s rows, "
                "all have the same value%s",
                column,
                f"{classes:,}",
                f"{proof['classes']:,}",
                f"{rows:,}",
                f"{proof['rows']:,}",
                look,
            )


def _beside(place: str) -> str:
    """The table or view beside this one that holds the sensitive values."""
    return f'{place[:-1]}{SENSITIVE}"' if place.endswith('"') else f"{place}{SENSITIVE}"


def _whole(table: str, sensitive_table: str | None, policy: Policy) -> str:
    """A release as one relation: the sensitive values that stand apart are listed for each row again."""
    if sensitive_table is None:
        return table
    column = quoted(policy.sensitive[0])
    listed = listed_sql(sensitive_table, GROUP, column, "sum(rows)")
    return (
        f"(select shown.*, listed.counts as {column} from {table} as shown "
        f"full join ({listed}) as listed on listed.{GROUP} = shown.{GROUP})"
    )


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
        number = claim_number(con, (int(t[8:]) for (t,) in used if t.startswith("release_") and t[8:].isdigit()))
        return cls(key, schema, table, kind, f"{anon}.release_{number}", shown)

    def sensitive(self, policy: Policy) -> str | None:
        """The table of a stored release's sensitive values, if they stand apart."""
        return _beside(self.storage) if METHODS[policy.method].is_exact and self.name is not None else None


def _entity(columns: Sequence[str], policy: Policy) -> str | None:
    """The entity's column in a release, if it is printed there."""
    return next((column for column in columns if policy.entity and fold(column) == fold(policy.entity)), None)


def _store(con: duckdb.DuckDBPyConnection, planned: Plan, target: _Target) -> dict[str, Any] | None:
    """Make the release's rows: a table, or two where sensitive values stand apart. Where people are counted by an
    entity that is not released, nobody can count them later: the rows are proved with it, and the proof comes back."""
    temporary = "temporary " if target.name is None else ""
    whole = f"temp.{quoted(f'sqlanon_whole_{next(_numbers)}')}"
    if planned.whole is not None:
        run(con, f"create temporary table {whole} as {planned.whole}")
        proof = prove(con, whole, planned.promise, planned.policy)
        run(con, f"create {temporary}table {target.storage} as select {names(planned.columns)} from {whole}")
        run(con, f"drop table {whole}")
        return proof
    if (sensitive_table := target.sensitive(planned.policy)) is None:
        run(con, f"create {temporary}table {target.storage} as {planned.sql}")
        return None
    (column,) = planned.source.spelt(planned.policy.sensitive)
    run(con, f"create temporary table {whole} as {planned.sql}")
    run(con, f"create table {target.storage} as select * exclude ({quoted(column)}) from {whole}")
    entries = f"select {GROUP}, unnest(map_entries(any_value({quoted(column)}))) as entry from {whole} group by {GROUP}"
    run(
        con,
        f"create table {sensitive_table} as select {GROUP}, entry.key as {quoted(column)}, entry.value as rows "
        f"from ({entries}) order by all",
    )
    run(con, f"drop table {whole}")
    return None


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
    return schema, table, _part(table) if fold(schema) == "main" else f"{_part(schema)}.{_part(table)}"


def _part(identifier: str) -> str:
    """The identifier as it can be given again: in quotes where it would be read as another without them."""
    return identifier if split_name(identifier) == [identifier] else quoted(identifier)


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


@contextmanager
def _people(con: duckdb.DuckDBPyConnection, policy: Policy) -> Iterator[Source | None]:
    """The population, if k counts its people, as something that reads the same twice."""
    if policy.population is None:
        yield None
        return
    with _steady(con, policy.population) as people:
        yield people


def _outside(con: duckdb.DuckDBPyConnection, planned: Plan) -> int:
    """How many rows of the source the population has no people for."""
    ctes = encoding_ctes(planned.source, planned.attributes)
    ((rows,),) = run(con, with_ctes(ctes, "select coalesce(sum(outside), 0) from tuples"))
    if rows:
        log.warning("The population lacks %s of the source's rows: they count as people of it, too", f"{rows:,}")
    return int(rows)


def _measure(
    con: duckdb.DuckDBPyConnection, planned: Plan, target: _Target, anon: str, learned: dict[str, Any]
) -> dict[str, float]:
    """Measure the stored rows; a named release's parts go into the catalog for anon.utility."""
    policy = planned.policy
    is_apart = METHODS[policy.method].is_exact  # no row is printed with its sensitive value
    sensitive = [] if is_apart else planned.source.spelt(policy.sensitive)
    may_lack_rows = policy.max_suppression is not None
    ctes = measurement(planned.source, planned.attributes, target.storage, sensitive, policy.represent, may_lack_rows)
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
    mark = f"sqlanon release {uuid.uuid4()}"
    for storage, shown, columns in _tables(planned, target):
        if target.kind == "view":
            secure = "secure " if _has_secure_views(con, _unquoted(_database(anon))) else ""
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


def _tables(planned: Plan, target: _Target) -> list[tuple[str, str, Sequence[str]]]:
    """The tables of a release: where the rows of each are, what its readers name, and its columns."""
    if (sensitive_table := target.sensitive(planned.policy)) is None:
        return [(target.storage, target.shown, planned.columns)]
    (column,) = planned.source.spelt(planned.policy.sensitive)
    return [
        (target.storage, target.shown, [each for each in planned.columns if each != column]),
        (sensitive_table, _beside(target.shown), [GROUP, column, "rows"]),
    ]


def _is_still_there(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
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
        {"database": _unquoted(_database(anon)), "beside": SENSITIVE, "key": key},
    )
    return [f"{_database(anon)}.{quoted(schema)}.{quoted(table)}" for schema, table in found]


def _remove(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Drop a release of this name if there is one; what somebody else put in its place stays."""
    found = run(con, f"select name, kind, storage from {anon}.releases where lower(name) = lower($1)", [key])
    marked = _marked(con, anon, key)
    for stored, kind, storage in found:
        for place in marked:
            run(con, f"drop {kind} {place}")
        if kind == "view":
            for place in (storage, _beside(storage)):
                run(con, f"drop table if exists {_database(anon)}.{place}")
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
