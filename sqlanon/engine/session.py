"""A connection in use: running statements, temporary tables, transactions, and errors in our own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextlib import suppress as ignoring
from datetime import UTC, datetime
from typing import Any

import duckdb

from sqlanon.engine.errors import KINDS, UNFIT, is_said, translated
from sqlanon.errors import CatalogError
from sqlanon.sqltext import Cte, fresh_name, name, with_ctes

Session = duckdb.DuckDBPyConnection
"""A connection in use. Packages above the engine know it by this name alone."""
Relation = duckdb.DuckDBPyRelation
"""A query that DuckDB has not run yet."""
USES_ANON = re.compile(r"\banon\W{0,3}\.", re.IGNORECASE)
"""How a query looks that calls a macro of ours."""
DatabaseError = duckdb.Error
"""Whatever DuckDB reports, for those who must go on after it."""


def run(con: duckdb.DuckDBPyConnection, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
    """Run a statement to its end and return its rows: a result that is left open blocks the caller's connection."""
    return con.execute(sql, values).fetchall()


@contextmanager
def temporary(con: duckdb.DuckDBPyConnection, what: str, sql: str, kind: str = "table") -> Iterator[str]:
    """A temporary table, or view, of a query's rows, which is gone afterwards."""
    place = _place(what)
    run(con, f"create temporary {kind} {place} as {sql}")
    try:
        yield place
    finally:
        _drop(con, [place], kind)


def _place(what: str) -> str:
    return f"temp.main.{name(fresh_name(what))}"  # DuckDB 1 takes temp alone for a schema


def _drop(con: duckdb.DuckDBPyConnection, places: Iterable[str], kind: str) -> None:
    if statements := "; ".join(f"drop {kind} {place}" for place in places):
        with ignoring(duckdb.Error):  # an aborted transaction drops them anyway
            run(con, statements)


@contextmanager
def keep_steps(con: duckdb.DuckDBPyConnection, steps: Sequence[Cte]) -> Iterator[tuple[dict[str, str], list[str]]]:
    """The rows of a query's first steps, each in a temporary table: where they are, and the statements that made them.

    The first step, the source, is not kept: it reads the same twice.
    """
    source, *others = steps
    held: dict[str, str] = {}
    statements: list[str] = []
    known = [Cte(source.name, source.body)]
    try:
        for step in others:
            if not step.materialized:
                known.append(step)
                continue
            sql = with_ctes(known, f"from (\n{step.body}\n)")
            place = _place(step.name)
            statements.append(f"create temporary table {place} as {sql}")
            run(con, statements[-1])
            held[step.name] = place
            known.append(Cte(step.name, f"from {place}"))
        yield held, statements
    finally:
        _drop(con, held.values(), "table")


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing; inside a transaction that the caller opened, all or nothing is the caller's to decide."""
    if is_in_transaction(con):
        yield
        return
    try:  # whatever comes from here on, an interrupt right after BEGIN too, leaves nothing open
        try:
            run(con, "begin transaction")
            yield
            run(con, "commit")
        except BaseException:
            _roll_back(con)
            raise
    except BaseException:
        _roll_back(con)  # once more: an interrupt may have come on the way to the first
        raise


def _roll_back(con: duckdb.DuckDBPyConnection) -> None:
    """End the transaction, if there still is one: a fatal error or a failed COMMIT has ended it already."""
    with ignoring(duckdb.Error):
        run(con, "rollback")


def is_in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Has the caller a transaction open? Two statements then share its id. Trying BEGIN would abort it."""
    return run(con, "select txid_current()") == run(con, "select txid_current()")


@contextmanager
def numeric_faults(fault: type[Exception]) -> Iterator[None]:
    """A number that overflows or cannot be computed in here is a fault of ours, raised as this; its text may show a
    value, so only its kind is named."""
    try:
        yield
    except UNFIT as problem:
        raise fault(type(problem).__name__) from None


@contextmanager
def translate_errors() -> Iterator[None]:
    """What DuckDB reports and the user can mend comes out as ours. DuckDB's own text may show a person's value, so it
    is taken out of DuckDB's error too, which stays the context of ours."""
    try:
        yield
    except (duckdb.Error, RuntimeError) as problem:
        if (ours := translated(problem)) is None:
            raise
        problem.args = (type(problem).__name__,)
        raise ours from None


@contextmanager
def hidden_values(sql: Any) -> Iterator[None]:
    """A value that fails inside a query of schema anon's macros is not shown. Other queries are DuckDB's own affair,
    and so is what our own macros say."""
    try:
        yield
    except tuple(KINDS) as problem:
        is_of_data = isinstance(sql, str) and USES_ANON.search(sql) and not is_said(problem)
        if not is_of_data or (ours := translated(problem)) is None:
            raise
        problem.args = (type(problem).__name__,)
        raise ours from None


def now() -> datetime:
    """The time, UTC, as the catalog stores it."""
    return datetime.now(UTC).replace(tzinfo=None)


def unwrap(con: Any) -> duckdb.DuckDBPyConnection:
    """The DuckDB connection behind whatever the caller holds: sqlanon.connect()'s, ibis', dbt's or DuckDB's own."""
    inner = con
    for attribute in ("duckdb", "con", "_cursor"):
        if not isinstance(inner, duckdb.DuckDBPyConnection):
            inner = getattr(inner, attribute, inner)
    if not isinstance(inner, duckdb.DuckDBPyConnection):
        raise CatalogError(f"Expected a duckdb connection, got {type(con).__name__}: sqlanon.connect() opens one")
    return inner


def current_database(con: duckdb.DuckDBPyConnection) -> str:
    """The database that unqualified names are looked up in."""
    return str(run(con, "select current_database()")[0][0])


def has_secure_views(con: duckdb.DuckDBPyConnection, database: str) -> bool:
    """Can views hide what they stand over? A plain one leaks its table's smallest and largest values through stats().
    DuckDB 2 can prevent that, in memory and in files of its own storage version."""
    ((tags,),) = run(con, "select tags from duckdb_databases() where database_name = $1", [database])
    version = (tags or {}).get("storage_version", f"v{duckdb.__version__}")
    return min(int(text.lstrip("v").split(".")[0]) for text in (version, duckdb.__version__)) >= 2


def is_readonly(con: duckdb.DuckDBPyConnection, database: str) -> bool:
    """Is the database open for reading only?"""
    rows = run(con, "select readonly from duckdb_databases() where database_name = $1", [database])
    return bool(rows and rows[0][0])
