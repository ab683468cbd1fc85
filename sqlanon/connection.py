"""sqlanon.connect(): a DuckDB connection that also understands sqlanon's statements."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from sqlanon.catalog import anon_schema
from sqlanon.errors import PolicyError, SqlanonError
from sqlanon.hierarchy import create_hierarchy, drop_hierarchy
from sqlanon.loading import load
from sqlanon.opening import open_database
from sqlanon.policy import ROLES, Policy
from sqlanon.publish import ABOUT_TYPES
from sqlanon.refreshing import refresh
from sqlanon.release import anonymize, drop_release, open_release
from sqlanon.sources import resolve
from sqlanon.sqltext import fold, literal
from sqlanon.statements import (
    CreateHierarchy,
    CreateRelease,
    DropRelease,
    Plain,
    Publish,
    RefreshRelease,
    Statement,
    parse,
)


def connect(path: str | Path = ":memory:", **config: Any) -> Connection:
    """Open a database with sqlanon loaded. `config` goes to duckdb.connect as its configuration.

    The connection behaves as DuckDB's own and also runs CREATE ANONYMIZED VIEW, CREATE HIERARCHY and their likes.
    """
    read_only = bool(config.pop("read_only", False))
    raw = open_database(path, read_only, config)
    try:
        load(raw)
    except BaseException:
        raw.close()
        raise
    return Connection(raw)


class Connection:
    """DuckDB's connection, `.duckdb`, and sqlanon's statements in execute, sql and query."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.duckdb = con

    def execute(self, query: Any, parameters: Any = None) -> Connection:
        """Run statements; fetch the last one's rows from the returned connection."""
        for sql in self._run_all_but_plain_last(query, parameters):
            self.duckdb.execute(sql, parameters)
        return self

    def sql(self, query: Any, *, alias: str = "", params: Any = None) -> duckdb.DuckDBPyRelation | None:
        """Run statements; the last one's rows as a relation."""
        relation = None
        for sql in self._run_all_but_plain_last(query, params):
            relation = self.duckdb.sql(sql, alias=alias, params=params)
        return relation

    query = sql

    def _run_all_but_plain_last(self, query: Any, parameters: Any) -> list[Any]:
        """Run what must run here; what remains is for DuckDB: the caller's own text, or the answer of our statement."""
        if not isinstance(query, str):
            return [query]
        statements = parse(query)
        if statements == [Plain(query)]:
            return [query]
        if parameters:
            raise SqlanonError("sqlanon's statements take no parameters: write the values into OPTIONS")
        for statement in statements[:-1]:
            answer = execute_statement(self.duckdb, statement)
            self.duckdb.execute(answer).fetchall()
        return [execute_statement(self.duckdb, statements[-1])]

    def cursor(self) -> Connection:
        """A second connection to the same database."""
        cursor = self.duckdb.cursor()
        load(cursor)
        return Connection(cursor)

    def close(self) -> None:
        """Close the connection."""
        self.duckdb.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self.duckdb, attribute)
        if not callable(found):
            return found

        def called(*arguments: Any, **named: Any) -> Any:
            answer = found(*arguments, **named)
            return self if answer is self.duckdb else answer

        return called


def execute_statement(con: duckdb.DuckDBPyConnection, statement: Statement) -> str:
    """Carry out a statement of ours; the SQL that answers it (a plain one's own text)."""
    if isinstance(statement, Plain):
        return statement.sql
    anon = anon_schema(con)
    if isinstance(statement, CreateRelease):
        policy = Policy.of(statement.options)
        _refuse_columns_without_role(con, statement.select, policy)
        release = anonymize(
            con,
            statement.select,
            policy=policy,
            name=statement.name,
            kind=statement.kind,
            replace=statement.replace,
        )
        proof, diversity = release.proof, literal(release.proof.get("l", {}))
        gcp = literal(release.measured.get("gcp"))
        return (
            f"select {literal(release.name)} as release, {proof['rows']} as rows, {proof['classes']} as classes, "
            f"{proof['k']} as k, {diversity}::map(varchar, double) as l, {gcp}::double as gcp"
        )
    if isinstance(statement, DropRelease):
        drop_release(con, statement.name, kind=statement.kind, missing_ok=statement.missing_ok)
        return f"select {literal(statement.name)} as dropped"
    if isinstance(statement, RefreshRelease):
        return refresh(con, statement.name).sql()
    if isinstance(statement, Publish):
        about = open_release(con, statement.name).publish(statement.path, replace=statement.replace)
        facts = ", ".join(f"{literal(about[fact])}::{kind} as {fact}" for fact, kind in ABOUT_TYPES.items())
        return f"select {literal(statement.path)} as published, {facts}"
    if isinstance(statement, CreateHierarchy):
        create_hierarchy(con, statement.name, replace=statement.replace, **statement.arguments)
        found = literal(statement.name.lower())
        return f"select name as hierarchy, kind, height, leaves from {anon}.hierarchies where lower(name) = {found}"
    drop_hierarchy(con, statement.name, missing_ok=statement.missing_ok)
    return f"select {literal(statement.name)} as dropped"


def _refuse_columns_without_role(con: duckdb.DuckDBPyConnection, select: str, policy: Policy) -> None:
    roles = {fold(column) for role in ROLES for column in getattr(policy, role)} | {fold(policy.entity or "")}
    without = [column for column in resolve(con, select).columns if fold(column) not in roles]
    if without:
        listed = ", ".join(f"'{column}'" for column in without)
        raise PolicyError(
            f"{listed} selected without a role: name each in quasi, sensitive or keep, or leave it out of the SELECT"
        )
