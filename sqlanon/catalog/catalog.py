"""The catalog: schema `anon` of a database, through a connection to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, run
from sqlanon.errors import CatalogError
from sqlanon.hierarchies.hierarchy import Hierarchies, Hierarchy
from sqlanon.hierarchies.rules import Rule
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import name

HINT = "call sqlanon.load(con) first"


@dataclass(frozen=True)
class Catalog:
    """A connection, and where sqlanon's tables are: the quoted name of schema `anon`."""

    con: Session
    schema: str

    @classmethod
    def of(cls, con: Session) -> Catalog:
        """The current database's catalog, or that of the only other database that has one."""
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
        return cls(con, f"{name(found[0][0])}.anon")

    @property
    def database(self) -> str:
        """The quoted name of the database that it is in."""
        return self.schema.removesuffix(".anon")

    def run(self, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement to its end and return its rows."""
        return run(self.con, sql, values)

    def hierarchies(self) -> Hierarchies:
        """All stored hierarchies."""
        entries, nodes = f"{self.schema}.hierarchies", f"{self.schema}.hierarchy_nodes"
        rows = self.run(f"select name, kind, settings from {entries} order by name")
        known = (
            Hierarchy(stored, None if kind == "tree" else Rule.parse(kind, settings)) for stored, kind, settings in rows
        )
        return Hierarchies(tuple(known), entries, nodes)

    def read(self, source: str | Source, policy: Policy, hint: str = "") -> Reading:
        """What a policy reads of a source, by its name or looked up already; `hint` goes with what is not found."""
        found = resolve(self.con, source, hint) if isinstance(source, str) else source
        if policy.population is not None and found.population is None:
            found = found.with_population(resolve(self.con, policy.population, hint), policy.quasi)
        return Reading.of(policy, found, self.hierarchies())
