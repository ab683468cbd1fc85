"""Where a release stands: the table or view that its readers name, and the tables that store its rows."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from sqlanon.engine.frames import FRAME
from sqlanon.engine.instances import claim_number
from sqlanon.engine.session import run
from sqlanon.errors import CatalogError
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, fresh_name, split_name
from sqlanon.sqltext import name as quoted
from sqlanon.udfs.methods import METHODS

SENSITIVE = "_sensitive"
"""The ending of the table or view beside a release that holds the sensitive values of its groups."""
MEMBERS = "_members"
"""The ending of the private table beside a view's rows that says who is in it, see members.py."""


@dataclass(frozen=True)
class Target:
    """Where a release goes: the table that stores it, and what its readers name."""

    name: str | None
    schema: str
    table: str
    kind: str
    storage: str
    shown: str

    @classmethod
    def named(cls, con: duckdb.DuckDBPyConnection, anon: str, name: str | None, kind: str, replace: bool) -> Target:
        """The place for a release of this name, free or freed by `replace`."""
        if name is None:
            table = f"temp.main.{quoted(fresh_name('release'))}"
            return cls(None, "main", table, "table", table, table)
        schema, table, key = key_of(con, anon, name)
        database = database_of(anon)
        shown = f"{database}.{quoted(schema)}.{quoted(table)}"
        if not (replace and is_still_there(con, anon, key)):
            refuse_taken(con, database, schema, table, replace)
        if kind == "table":
            return cls(key, schema, table, kind, shown, shown)
        used = run(con, "select table_name from duckdb_tables() where schema_name = 'anon'")
        number = claim_number(con, (int(t[8:]) for (t,) in used if t.startswith("release_") and t[8:].isdigit()))
        return cls(key, schema, table, kind, f"{anon}.release_{number}", shown)

    def sensitive(self, policy: Policy) -> str | None:
        """The table of a stored release's sensitive values, if they stand apart."""
        return beside(self.storage) if METHODS[policy.method].is_exact and self.name is not None else None

    def members(self, policy: Policy) -> str | None:
        """The private table that says who is in a view, if it can be refreshed."""
        return members_of(self.storage) if self.kind == "view" and not unrefreshable(policy) else None


def unrefreshable(policy: Policy, source: str = "") -> str | None:
    """Why a release under this policy cannot be added to, if it cannot."""
    if source == FRAME:
        return "it was made from a frame, which cannot be read again"
    if not METHODS[policy.method].is_homogeneous:
        return f"its groups, of {policy.method}, cannot be added to"
    if policy.population is not None:
        return "it is a k-map, whose classes may be single rows"
    if policy.entity is not None:
        return "it counts people who have several rows, and those of one person may come in several versions"
    return None


def database_of(anon: str) -> str:
    """The quoted database that the schema `anon` is in."""
    return anon.removesuffix(".anon")


def unquoted(identifier: str) -> str:
    """An identifier without its quotes."""
    return identifier[1:-1].replace('""', '"')


def key_of(con: duckdb.DuckDBPyConnection, anon: str, name: str) -> tuple[str, str, str]:
    """A release's schema, its table or view there, and its name in the catalog: main's go by their own."""
    parts = split_name(name)
    if not parts or len(parts) > 2:
        raise CatalogError(f"'{name}' is no name for a release: write name or schema.name")
    ((current, current_schema),) = run(con, "select current_database(), current_schema()")
    home = current_schema if quoted(current) == database_of(anon) else "main"
    schema, table = (parts[0] if len(parts) == 2 else home), parts[-1]
    return schema, table, _part(table) if fold(schema) == "main" else f"{_part(schema)}.{_part(table)}"


def _part(identifier: str) -> str:
    """The identifier as it can be given again: in quotes where it would be read as another without them."""
    return identifier if split_name(identifier) == [identifier] else quoted(identifier)


def refuse_taken(con: duckdb.DuckDBPyConnection, database: str, schema: str, table: str, replace: bool) -> None:
    """Raise if the name belongs to something else."""
    taken = run(
        con,
        "select 1 from (select database_name, schema_name, table_name as name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views()) "
        "where database_name = $1 and lower(schema_name) = lower($2) and lower(name) = lower($3)",
        [unquoted(database), schema, table],
    )
    if taken:
        hint = "it is not a release, so it is not replaced: drop it first" if replace else "drop it or replace it"
        raise CatalogError(f"'{table}' exists already; {hint}")


def beside(place: str) -> str:
    """The table or view beside this one that holds the sensitive values."""
    return f'{place[:-1]}{SENSITIVE}"' if place.endswith('"') else f"{place}{SENSITIVE}"


def members_of(storage: str) -> str:
    """The table beside a view's rows that says who is in it."""
    return f"{storage}{MEMBERS}"


def is_still_there(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> bool:
    """Is the release of this name stored, and is what has its name now still the release? It carries a mark."""
    return bool(_marked(con, anon, key))


def _marked(con: duckdb.DuckDBPyConnection, anon: str, key: str) -> list[str]:
    """What carries the mark of the release of this name: its table or view and the one beside it, still so named."""
    found = run(
        con,
        "select found.schema_name, found.table_name from (select schema_name, table_name, comment from duckdb_tables() "
        "where database_name = $database union all "
        "select schema_name, view_name, comment from duckdb_views() where database_name = $database) as found "
        f"join {anon}.releases as made on made.schema_name = found.schema_name and made.mark = found.comment "
        "and found.table_name in (made.table_name, made.table_name || $beside) where lower(made.name) = lower($key)",
        {"database": unquoted(database_of(anon)), "beside": SENSITIVE, "key": key},
    )
    return [f"{database_of(anon)}.{quoted(schema)}.{quoted(table)}" for schema, table in found]
