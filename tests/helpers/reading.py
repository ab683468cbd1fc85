"""What a database holds, read in the plainest way."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb

Con = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]


def rows(con: Any, sql: str, values: Any = None) -> list[Row]:
    found: list[Row] = con.execute(sql, values).fetchall()
    return found


def value(con: Any, sql: str, values: Any = None) -> Any:
    ((found,),) = rows(con, sql, values)
    return found


def everything(con: Any) -> dict[str, Any]:
    """All tables and views, temporary ones too, with their definitions and rows."""
    found = rows(
        con,
        "select database_name, schema_name, table_name, sql from duckdb_tables() union all "
        "select database_name, schema_name, view_name, sql from duckdb_views() where not internal order by all",
    )
    content: dict[str, Any] = {}
    for *place, sql in found:
        if place[2].startswith(("release_history", "publications")):
            continue  # which remember what is gone
        table = ".".join('"' + part.replace('"', '""') + '"' for part in place)
        content[table] = sql, Counter(map(repr, rows(con, f"select columns(*)::varchar from {table}")))
    return content


def storage(con: Any) -> str:
    """The table behind the only view that was released."""
    tables = "select 'anon.' || table_name from duckdb_tables() where schema_name = 'anon'"
    return str(value(con, tables + " and regexp_full_match(table_name, 'release_[0-9]+')"))
