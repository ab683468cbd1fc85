"""What is to be anonymized or checked: a table, view or query, with its columns as the catalog has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from sqlanon.engine.errors import UNFIT
from sqlanon.engine.frames import FRAME, PREFIX
from sqlanon.engine.session import run, temporary
from sqlanon.engine.sources import is_about_a_file, provide_excel, unreadable
from sqlanon.errors import CatalogError, DataError, did_you_mean
from sqlanon.pipeline.source import Source
from sqlanon.sqltext import is_encodable, literal, name, query_or_none, split_name


def resolve(con: duckdb.DuckDBPyConnection, asked: str, hint: str = "") -> Source:
    """The table, view, file or query that a user named. `hint` is added where nothing of that name is found.

    Names are looked up in the catalog, not tried: a query that fails would abort the caller's transaction.
    """
    if asked == FRAME:
        raise CatalogError("The release was made from a frame, which cannot be read again by name. Give the frame")
    if not isinstance(asked, str) or not asked.strip():
        raise CatalogError("The source is empty: give a table's name or a query")
    if ".xlsx" in asked.lower():
        provide_excel(con)
    if (query := query_or_none(asked)) is not None:
        return _query(con, query)
    relation = _place(con, [asked]) or _place(con, split_name(asked) or []) or _file(asked)
    if relation is None:
        tables = run(con, f"select distinct name from ({_TABLES}) where not internal order by name")
        known = [table for (table,) in tables]
        raise CatalogError(f"Table '{asked}' does not exist.{did_you_mean(asked, known)}{hint}")
    try:
        shown = "the frame" if asked.startswith(f"temp.{PREFIX}") else asked
        return Source(relation, shown, _types(con, f"from {relation}"), _is_table(con, relation))
    except duckdb.Error as problem:
        raise CatalogError(f"'{asked}' cannot be read: {unreadable(problem)}") from problem


_TABLES = (
    "select database_name, schema_name, table_name as name, internal from duckdb_tables() "
    "union all select database_name, schema_name, view_name, internal from duckdb_views()"
)


def _place(con: duckdb.DuckDBPyConnection, parts: list[str]) -> str | None:
    """Where a name stands, in full: a bare name could mean one of the planned query's own steps."""
    if not 1 <= len(parts) <= 3:
        return None
    found = run(
        con,
        f"select database_name, schema_name, name from ({_TABLES}) where lower(name) = lower($table) and case "
        "when $first is null then database_name = 'temp' "
        "or (database_name, schema_name) = (current_database(), current_schema()) "
        "when $second is null then (database_name, lower(schema_name)) = (current_database(), lower($first)) "
        "or (lower(database_name), schema_name) = (lower($first), 'main') "
        "else (lower(database_name), lower(schema_name)) = (lower($first), lower($second)) end "
        "order by database_name <> 'temp', database_name <> current_database()",
        {
            "table": parts[-1],
            "first": parts[0] if len(parts) > 1 else None,
            "second": parts[1] if len(parts) > 2 else None,
        },
    )
    return ".".join(map(name, found[0])) if found else None


def _is_table(con: duckdb.DuckDBPyConnection, relation: str) -> bool:
    place = split_name(relation) or []
    return len(place) == 3 and bool(
        run(con, "select 1 from duckdb_tables() where (database_name, schema_name, table_name) = ($1, $2, $3)", place)
    )


def _file(asked: str) -> str | None:
    """A file that DuckDB reads by its name, or several that a pattern matches. A file that is there is no pattern:
    data[1].csv is not data1.csv."""
    if asked.lower().endswith(".xlsx"):
        return f"read_xlsx({literal(asked)})"
    if not re.search(r"\.(csv|tsv|parquet|json|jsonl|ndjson)(\.gz|\.zst)?$", asked.lower()):
        return None
    return literal(re.sub(r"[*?\[]", r"[\g<0>]", asked) if Path(asked).is_file() else asked)


def _query(con: duckdb.DuckDBPyConnection, query: str) -> Source:
    if not is_encodable(query):
        raise CatalogError("The source query has half a character in it (a lone surrogate), which is not valid text")
    try:
        statements = con.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise CatalogError("The source must be one query or a table's name")
        return Source(f"(\n{query}\n)", "the query", _types(con, query))
    except duckdb.Error as problem:
        why = unreadable(problem) if is_about_a_file(problem) or "xlsx" in query else _first_line(problem)
        raise CatalogError(f"The source query does not run: {why}") from problem


def _types(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    return {row[0]: row[1] for row in run(con, f"describe {query}")}


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0]


def split_column(qualified: str) -> tuple[str, str]:
    """The table and the column of `table.column`, `schema.table.column` and so on."""
    parts = split_name(qualified)
    if not parts or len(parts) < 2:
        raise CatalogError(f"'{qualified}' is not a column: write table.column")
    return ".".join(map(name, parts[:-1])), parts[-1]


@contextmanager
def snapshot(con: duckdb.DuckDBPyConnection, asked: str) -> Iterator[Source]:
    """The source as something that reads the same twice: a query's or view's rows are kept in a temporary table."""
    source = resolve(con, asked)
    if source.is_table:
        yield source
        return
    with ExitStack() as stack:
        try:
            snapshot = stack.enter_context(temporary(con, "source", f"from {source.relation}"))
        except UNFIT as problem:  # whose text would show the value
            why = f"a value in it fails ({type(problem).__name__})"
            if is_about_a_file(problem):
                why = unreadable(problem)
            raise DataError(f"The source cannot be read: {why}") from None
        yield Source(snapshot, source.shown, source.types, is_table=True)


def table_names(con: duckdb.DuckDBPyConnection, query: str) -> set[str]:
    """The tables and views that a query reads, by their full names."""
    return con.get_table_names(query, qualified=True)
