"""What is to be anonymized or checked: a table, view or query, with its columns as the catalog has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.engine.errors import kind_of, told
from sqlanon.engine.frames import FRAME, PREFIX
from sqlanon.engine.session import run, temporary
from sqlanon.engine.sources import (
    file_of,
    is_about_a_file,
    is_sqlite,
    provide_reader,
    refuse_missing,
    refuse_one_column,
    refuse_other_kind,
    refuse_wide,
    sqlite_words,
    unreadable,
)
from sqlanon.errors import CatalogError, DataError, did_you_mean
from sqlanon.pipeline.source import Source
from sqlanon.sqltext import is_encodable, literal, name, query_or_none, split_name

HINT = "Read it with try_cast, try_strptime or a filter in the source query, which leave out what does not fit"


def resolve(con: duckdb.DuckDBPyConnection, asked: str, hint: str = "") -> Source:
    """The table, view, file or query that a user named. `hint` is added where nothing of that name is found.

    Names are looked up in the catalog, not tried: a query that fails would abort the caller's transaction.
    """
    if asked == FRAME:
        raise CatalogError("The release was made from a frame, which cannot be read again by name. Give the frame")
    if not isinstance(asked, str) or not asked.strip():
        raise CatalogError("The source is empty: give a table's name or a query")
    provide_reader(con, asked)
    if (query := query_or_none(asked)) is not None:
        return _query(con, query)
    found = _found(con, [asked]) or _found(con, split_name(asked) or [])
    relation, is_table = found or (_file(asked), False)
    if relation is None:
        tables = run(
            con, f"select distinct name from ({_TABLES}) where not internal and schema_name <> 'anon' order by name"
        )
        known = [table for (table,) in tables]
        if is_sqlite(asked):
            raise CatalogError(sqlite_words(asked))
        refuse_other_kind(asked)
        raise CatalogError(f"Table '{asked}' does not exist.{did_you_mean(asked, known)}{hint}")
    try:
        shown = "the frame" if asked.startswith(f"temp.{PREFIX}") else asked
        types = _types(con, f"from {relation}")
        refuse_one_column(asked, list(types))
        _refuse_title(con, relation, asked, types)
        return Source(relation, shown, types, is_table)
    except duckdb.Error as problem:
        said = _why(problem, asked)
    raise CatalogError(f"'{asked}' cannot be read: {said}")


_TABLES = (
    "select database_name, schema_name, table_name as name, internal, true as is_table from duckdb_tables() "
    "union all select database_name, schema_name, view_name, internal, false from duckdb_views()"
)
_STANDS = {
    1: "(database_name = 'temp' or database_name = current_database() and schema_name = current_schema())",
    2: "(database_name = current_database() and lower(schema_name) = lower($2) "
    "or lower(database_name) = lower($2) and schema_name = 'main')",
    3: "lower(database_name) = lower($2) and lower(schema_name) = lower($3)",
}
"""Where a name may stand, by how many parts it has."""


def _found(con: duckdb.DuckDBPyConnection, parts: list[str]) -> tuple[str, bool] | None:
    """Where a name stands, in full, as a bare name could mean a step of the planned query; and is it a table?"""
    if len(parts) not in _STANDS:
        return None
    found = run(
        con,
        f"select database_name, schema_name, name, is_table, current_database() from ({_TABLES}) "
        f"where lower(name) = lower($1) and {_STANDS[len(parts)]}",
        [parts[-1], *parts[:-1]],
    )
    if not found:
        return None
    *place, is_table, _ = min(found, key=lambda row: (row[0] != "temp", row[0] != row[-1]))
    return ".".join(map(name, place)), is_table


def _place(con: duckdb.DuckDBPyConnection, parts: list[str]) -> str | None:
    """Where a name stands, in full."""
    found = _found(con, parts)
    return found and found[0]


def _file(asked: str) -> str | None:
    """A file that DuckDB reads by its name, or several that a pattern matches. A file that is there is no pattern:
    data[1].csv is not data1.csv."""
    if not re.search(r"\.(xlsx|(csv|tsv|parquet|json|jsonl|ndjson)(\.gz|\.zst)?)$", asked.lower()):
        return None
    refuse_missing(asked)
    refuse_wide(asked)
    if asked.lower().endswith(".xlsx"):
        return f"read_xlsx({literal(asked)})"
    return literal(re.sub(r"[*?\[]", r"[\g<0>]", asked) if Path(asked).is_file() else asked)


def _query(con: duckdb.DuckDBPyConnection, query: str) -> Source:
    if not is_encodable(query):
        raise CatalogError("The source query has half a character in it (a lone surrogate), which is not valid text")
    file = file_of(query)
    if file is not None:
        refuse_missing(file)
        refuse_wide(file, is_named="encoding = " in query)
    try:
        statements = con.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise CatalogError("The source must be one query or a table's name")
        types = _types(con, query)
        if file is not None:
            refuse_one_column(file, list(types))
            _refuse_title(con, f"(\n{query}\n)", file, types)
        return Source(f"(\n{query}\n)", file or "the query", types)
    except duckdb.Error as problem:
        said = _why(problem, file)
    raise CatalogError(f"The source query does not run: {said}" if file is None else f"'{file}' cannot be read: {said}")


def _refuse_title(con: duckdb.DuckDBPyConnection, relation: str, file: str, columns: Iterable[str]) -> None:
    """Raise if the only row of a sheet that DuckDB found is its title: it reads to the first empty row."""
    if not file.lower().endswith(".xlsx") or run(con, f"select 1 from {relation} limit 1"):
        return
    names = ", ".join(f"'{column}'" for column in columns)
    raise CatalogError(
        f"'{file}' was read as the names of columns ({names}) without rows, because a sheet is read to its first empty "
        f"row. If the table begins further down, name its cells: FROM "
        f"read_xlsx({literal(file)}, range = 'A3:F1000')"
    )


def _types(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    return {row[0]: row[1] for row in run(con, f"describe {query}")}


def _why(problem: Exception, file: str | None) -> str:
    """Why a source cannot be read, in words that show no value."""
    is_file = is_about_a_file(problem) or any(sign in str(problem).lower() for sign in ("xlsx", "excel"))
    return unreadable(problem, file) if is_file else told(problem)


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
    with temporary_of(con, "source", source, "*") as snapshot:
        yield Source(snapshot, source.shown, source.types, is_table=True)


@contextmanager
def temporary_of(con: duckdb.DuckDBPyConnection, what: str, source: Source, columns: str) -> Iterator[str]:
    """A temporary table of a source's columns. If a value cannot be read, the error says in which column."""
    with ExitStack() as stack:
        try:
            place = stack.enter_context(temporary(con, what, f"select {columns} from {source.relation}"))
        except duckdb.Error as problem:
            if (kind := unreadable(problem) if is_about_a_file(problem) else kind_of(problem)) is None:
                raise
            hint = "" if is_about_a_file(problem) else f". {HINT}"
        else:
            yield place
            return
    raise DataError(f"The source cannot be read{_failing(con, source)}: {kind}{hint}")


def refuse_unreadable(con: duckdb.DuckDBPyConnection, source: Source, columns: Iterable[str]) -> None:
    """Raise, naming the column, if the values of a query, view or file cannot be read. Where the query runs on a plain
    connection of DuckDB's, its own error would show the value."""
    if source.is_table:
        return
    counts = ", ".join(f"count({name(column)})" for column in columns)
    try:
        run(con, f"select {counts} from {source.relation}")
        return
    except duckdb.Error as problem:
        if (kind := unreadable(problem) if is_about_a_file(problem) else kind_of(problem)) is None:
            raise
        hint = "" if is_about_a_file(problem) else f". {HINT}"
    raise DataError(f"The source cannot be read{_failing(con, source)}: {kind}{hint}")


def _failing(con: duckdb.DuckDBPyConnection, source: Source) -> str:
    """Which columns fail when they are read alone; nothing if all do, as then the fault is elsewhere in the query.

    Tried on a second connection, as the caller's transaction may be aborted by now.
    """
    failing = []
    with con.cursor() as cursor:
        for column in source.columns:
            try:
                run(cursor, f"select count({name(column)}) from {source.relation}")
            except duckdb.Error:
                failing.append(column)
    listed = ", ".join(f"'{column}'" for column in failing)
    return f" in column {listed}" if 0 < len(failing) < len(source.columns) else ""


def table_names(con: duckdb.DuckDBPyConnection, query: str) -> set[str]:
    """The tables, views and files that stand in the text of a query."""
    # get_table_names of DuckDB fails on USING, which aborts the caller's transaction.
    ((tree,),) = run(con, "select cast(json_serialize_sql($1) as varchar)", [query])
    found: set[str] = set()
    waiting: list[Any] = [json.loads(tree)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") == "BASE_TABLE":
                place = [str(part.get(key) or "") for key in ("catalog_name", "schema_name", "table_name")]
                is_file = _file(place[-1]) is not None and _place(con, [place[-1]]) is None
                found.add(place[-1] if is_file else ".".join(name(word) for word in place if word))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return {table for table in found if _file(table) or _place(con, split_name(table) or [])}


def base_tables(con: duckdb.DuckDBPyConnection, asked: str) -> set[str]:
    """The tables that a table, view or query reads, in full: views are followed to what they stand over."""
    query = query_or_none(asked)
    waiting = [asked] if query is None else sorted(table_names(con, query))
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        place = resolve(con, waiting.pop()).relation
        if place in seen:
            continue
        seen.add(place)
        behind = _view_query(con, place)
        if behind is None:
            found.add(place)
        else:
            waiting += sorted(table_names(con, behind))
    return found


def _view_query(con: duckdb.DuckDBPyConnection, relation: str) -> str | None:
    """The query of a view, or None if it is none."""
    rows = run(
        con,
        "select sql from duckdb_views() where (database_name, schema_name, view_name) = ($1, $2, $3)",
        [*(split_name(relation) or []), None, None, None][:3],
    )
    stated = re.search(r"\bAS\s+(.*)$", rows[0][0], re.IGNORECASE | re.DOTALL) if rows and rows[0][0] else None
    return stated[1].rstrip().rstrip(";") if stated else None
