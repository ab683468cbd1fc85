"""Databases that are loaded once and used by many tests, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb
from sweeping import IS_WHOLE

import sqlanon
from sqlanon.keys import set_instance_key

Con = duckdb.DuckDBPyConnection

LEFT = """
select 'detach ' || database_name, 0 from duckdb_databases() where not internal and database_name <> 'memory'
union all
select 'drop view memory.' || schema_name || '."' || replace(view_name, '"', '""') || '"', 1
from duckdb_views() where not internal and database_name = 'memory' and schema_name in ('main', 'anon')
union all
select 'drop table memory.' || schema_name || '."' || replace(table_name, '"', '""') || '"', 2
from duckdb_tables()
where database_name = 'memory' and (schema_name = 'main' or schema_name = 'anon' and not list_contains($1, table_name))
union all
select 'drop type memory.main."' || replace(type_name, '"', '""') || '"', 3
from duckdb_types() where not internal and database_name = 'memory' and schema_name = 'main'
union all
select 'drop schema memory."' || replace(schema_name, '"', '""') || '" cascade', 4
from duckdb_schemas() where not internal and database_name = 'memory' and schema_name not in ('main', 'anon')
union all
select 'truncate memory.anon.' || table_name, 5
from duckdb_tables() where database_name = 'memory' and schema_name = 'anon' and table_name <> 'version'
    and list_contains($1, table_name) and estimated_size > 0
order by 2
"""
"""A row is a statement that takes away something that a test has left, and when its turn is."""

CONFIG: dict[str, int] = {} if IS_WHOLE else {"threads": 1}
"""The tables of tests have too few rows for a second thread, which only costs time; `make nightly` has them all."""
SETTINGS = "select name, value from duckdb_settings() where scope = 'GLOBAL' order by all"


class Databases:
    """Databases in memory with sqlanon loaded; each is lent to one user at a time, who finds it as new."""

    def __init__(self) -> None:
        self._free: list[Con] = []
        self._tables: list[str] = []
        self._settings: list[tuple[str, str]] = []

    @contextmanager
    def lent(self) -> Iterator[Con]:
        """A connection to a database that nobody else uses."""
        root = self._free.pop() if self._free else self._made()
        connection = root.cursor()
        try:
            yield connection
        finally:
            connection.close()
            if self._is_clean(root):
                self._free.append(root)
            else:
                root.close()

    def close(self) -> None:
        """Close them all."""
        while self._free:
            self._free.pop().close()

    def _made(self) -> Con:
        root = duckdb.connect(config=CONFIG)
        sqlanon.load(root)
        found = root.execute("select table_name from duckdb_tables() where schema_name = 'anon'").fetchall()
        self._tables = [table for (table,) in found]
        self._settings = root.execute(SETTINGS).fetchall()
        return root

    def _is_clean(self, root: Con) -> bool:
        """Take away what was left; whether the database is as new. If a test did something else to it, it is not."""
        with suppress(duckdb.Error):
            left = root.execute(LEFT, [self._tables]).fetchall()
            root.execute(";".join(statement for statement, _ in left) or "select 1")
            ((instance,),) = root.execute("select sqlanon_instance()").fetchall()
            set_instance_key(instance, None)
            return root.execute(SETTINGS).fetchall() == self._settings
        return False
