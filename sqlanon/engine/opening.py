"""Opening a database: a file or one in memory, or an error that says why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.engine.errors import sentence
from sqlanon.engine.session import run
from sqlanon.engine.sources import is_sqlite, sqlite_words
from sqlanon.errors import CatalogError, ConflictError, SqlanonError
from sqlanon.sqltext import is_path


def open_database(path: str | Path, read_only: bool, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open a database of DuckDB's, and nothing else: DuckDB 2 reads other files too, into memory, where whatever is
    made at the same time is lost."""
    if not isinstance(path, (str, Path)) or not is_path(path):
        raise CatalogError(f"{path!r} is not the path of a database")
    try:
        con = duckdb.connect(str(path), read_only=read_only, config=config)
    except duckdb.Error as problem:
        raise _not_opened(str(path), problem) from None
    found = run(con, "select path from duckdb_databases() where database_name = current_database()")
    if found == [(None,)] and Path(path).is_file():
        con.close()
        raise CatalogError(f"'{path}' is not a DuckDB database. To read it as a source: FROM '{path}'")
    return con


def _not_opened(path: str, problem: duckdb.Error) -> SqlanonError:
    said = sentence(problem)
    if "Could not set lock" in said:
        holder = re.search(r"\(PID \d+\)", said)
        return ConflictError(
            f"'{path}' is open in another process{f' {holder[0]}' if holder else ''}: close it there and try again; "
            "several processes can have it open only if all of them read"
        )
    if "different configuration" in said:
        return ConflictError(
            f"'{path}' is open in this process with other settings: close it there, or use the same settings"
        )
    if "not a valid DuckDB database" in said or "Is a directory" in said or "in-memory database in read-only" in said:
        return CatalogError(f"'{path}' is not a DuckDB database")
    if is_sqlite(path):
        return CatalogError(sqlite_words(path))
    return CatalogError(f"'{path}' cannot be opened: {said}")


def open_readonly(path: str | Path) -> duckdb.DuckDBPyConnection:
    """Open a database for reading and nothing else: no other file, no network, no extension, no setting changed.

    For programs that pass on SQL which others wrote. Not even the database's own file can be read as bytes. What does
    not fit into memory fails, as there is no disk to spill to.
    """
    if not Path(path).is_file():
        raise CatalogError(f"There is no database '{path}'")
    config: dict[str, Any] = {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
    }
    con = open_database(path, read_only=True, config=config)
    run(con, "set disabled_filesystems = 'LocalFileSystem'")
    run(con, "set lock_configuration = true")
    return con
