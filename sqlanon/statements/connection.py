"""sqlanon.connect(): a DuckDB connection that also understands sqlanon's statements."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from sqlanon.engine.instances import forget
from sqlanon.engine.opening import open_database
from sqlanon.engine.session import Relation, Session, hidden_values
from sqlanon.errors import SQL, SqlanonError, read_in
from sqlanon.install import load
from sqlanon.statements.execute import execute_statement
from sqlanon.statements.parse import Plain, parse


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
    return Connection(raw, is_private=str(path) == ":memory:")


class Connection:
    """DuckDB's connection, `.duckdb`, and sqlanon's statements in execute, sql and query."""

    def __init__(self, con: Session, is_private: bool = False) -> None:
        """A private one, with its cursors, is all that there is of its database."""
        self.duckdb = con
        self._is_private = is_private

    def execute(self, query: Any, parameters: Any = None) -> Connection:
        """Run statements; fetch the last one's rows from the returned connection."""
        for sql in self._run_all_but_plain_last(query, parameters):
            with hidden_values(sql):
                self.duckdb.execute(sql, parameters)
        return self

    def sql(self, query: Any, *, alias: str = "", params: Any = None) -> Relation | None:
        """Run statements; the last one's rows as a relation."""
        relation = None
        for sql in self._run_all_but_plain_last(query, params):
            with hidden_values(sql):
                relation = self.duckdb.sql(sql, alias=alias, params=params)
        return relation

    query = sql

    def _run_all_but_plain_last(self, query: Any, parameters: Any) -> list[Any]:
        """Run what must run here; what remains is for DuckDB: the caller's own text, or the answer of our statement."""
        with read_in(SQL):
            return self._run_ours(query, parameters) if isinstance(query, str) else [query]

    def _run_ours(self, query: str, parameters: Any) -> list[Any]:
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
        if self._is_private:
            forget(self.duckdb)

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
