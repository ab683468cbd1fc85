"""The schema `anon` itself: which version a database has, and making or upgrading it."""

from __future__ import annotations

from sqlanon.engine.session import Session, is_readonly, run, transaction
from sqlanon.errors import CatalogError
from sqlanon.pipeline.macros import schema_sql
from sqlanon.sqltext import name, text
from sqlanon.version import SCHEMA_VERSION, __version__

UPGRADES = {version: text(f"catalog/upgrades/from_{version}.sql") for version in (2, 3, 4)}
"""From a schema version to the SQL that makes it the next one, where new tables and macros alone do not."""


def make_schema(con: Session, database: str) -> None:
    """Make the schema in the current database, or bring it up to this version; nothing is done if it is there."""
    found = schema_version(con, database)
    if found == (SCHEMA_VERSION, __version__):
        return
    if found and found[0] > SCHEMA_VERSION:
        raise CatalogError(
            f"Database '{database}' was written by a newer sqlanon ({found[1]}, schema {found[0]}); "
            f"this is {__version__}, schema {SCHEMA_VERSION}: upgrade it with pip install -U sqlanon"
        )
    if is_readonly(con, database):
        raise CatalogError(
            f"Database '{database}' is read-only and has no sqlanon {__version__} in it: open it for writing, "
            f"or attach it to an in-memory database and load sqlanon there"
        )
    with transaction(con):
        for version in range(found[0] if found else SCHEMA_VERSION, SCHEMA_VERSION):
            if version in UPGRADES:
                run(con, UPGRADES[version])
        for sql in schema_sql():
            run(con, sql)
        run(con, "delete from anon.version")
        run(con, "insert into anon.version values ($1, $2)", [SCHEMA_VERSION, __version__])


def schema_version(con: Session, database: str) -> tuple[int, str] | None:
    """The version of the schema `anon`; None where there is none yet; an error where it is somebody else's."""
    objects = {
        row[0]
        for row in run(
            con,
            "select table_name from duckdb_tables() where database_name = $1 and schema_name = 'anon' "
            "union all select view_name from duckdb_views() where database_name = $1 and schema_name = 'anon'",
            [database],
        )
    }
    if "version" in objects and "hierarchy_nodes" in objects:
        rows = run(con, f"select schema_version, sqlanon from {name(database)}.anon.version")
        return (rows[0][0], rows[0][1]) if rows else (0, "unknown")
    if objects:
        raise CatalogError(
            f"Schema 'anon' of database '{database}' has tables that are not sqlanon's ({', '.join(sorted(objects))}): "
            f"rename that schema or load sqlanon into another database"
        )
    return None
