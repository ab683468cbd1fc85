"""Where sqlanon keeps its tables: the schema `anon` of a database."""

from __future__ import annotations

import duckdb

from sqlanon.engine.session import run
from sqlanon.errors import CatalogError
from sqlanon.sqltext import name

HINT = "call sqlanon.load(con) first"


def anon_schema(con: duckdb.DuckDBPyConnection) -> str:
    """The quoted schema `anon`: the current database's, or that of the only other database that has one."""
    found = run(
        con,
        "select database_name, database_name = current_database() from duckdb_tables() "
        "where schema_name = 'anon' and table_name = 'hierarchy_nodes' order by 2 desc, 1",
    )
    if not found:
        raise CatalogError(f"sqlanon is not loaded here: {HINT}")
    if not found[0][1] and len(found) > 1:
        listed = ", ".join(database for database, _ in found)
        raise CatalogError(f"Several databases have sqlanon loaded ({listed}): USE one of them")
    return f"{name(found[0][0])}.anon"
