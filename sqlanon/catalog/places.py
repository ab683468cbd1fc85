"""Where a release stands: the table or view that its readers name, and the tables that store its rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.frames import FRAME
from sqlanon.engine.instances import claim_number
from sqlanon.errors import CatalogError, in_words, replacing
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, fresh_name, split_name
from sqlanon.sqltext import name as quoted

SENSITIVE = "_sensitive"
"""The ending of the table or view next to a release that holds the sensitive values of its groups."""
MEMBERS = "_members"
"""The ending of the private table next to a view's rows that says who is in it, see members.py."""
LABELS = "_labels"
"""The ending of the private table next to a view's rows that has the labels of its cohorts in every version."""


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
    def named(cls, catalog: Catalog, name: str | None, kind: str, replace: bool) -> Target:
        """The place for a release of this name, free or freed by `replace`."""
        if name is None:
            table = f"temp.main.{quoted(fresh_name('release'))}"
            return cls(None, "main", table, "table", table, table)
        schema, table, key = key_of(catalog, name)
        _refuse_elsewhere(catalog, schema, name)
        shown = f"{catalog.database}.{quoted(schema)}.{quoted(table)}"
        if not (replace and is_still_there(catalog, key)):
            refuse_taken(catalog, schema, table, replace, f"ANONYMIZED {kind.upper()}")
        if kind == "table":
            return cls(key, schema, table, kind, shown, shown)
        used = catalog.run("select table_name from duckdb_tables() where schema_name = 'anon'")
        taken = (int(t[8:]) for (t,) in used if t.startswith("release_") and t[8:].isdigit())
        number = claim_number(catalog.con, taken)
        return cls(key, schema, table, kind, f"{catalog.schema}.release_{number}", shown)

    def sensitive(self, policy: Policy) -> str | None:
        """The table of a stored release's sensitive values, if they stand apart."""
        return sensitive_place(self.storage) if policy.kind.prints_exact and self.name is not None else None

    def members(self, policy: Policy) -> str | None:
        """The private table that says who is in a view, if it can be refreshed."""
        return members_of(self.storage) if self.kind == "view" and not unrefreshable(policy) else None


def unrefreshable(policy: Policy, source: str = "") -> str | None:
    """Why a release under this policy cannot be added to, if it cannot."""
    if source == FRAME:
        return "it was made from a frame, which cannot be read again"
    if policy.limits:
        return "rows that come later might not keep its limits"
    reason = policy.kind.unrefreshable
    return None if reason is None else reason.format(method=policy.method)


def unquoted(identifier: str) -> str:
    """An identifier without its quotes."""
    return identifier[1:-1].replace('""', '"')


def key_of(catalog: Catalog, name: str) -> tuple[str, str, str]:
    """A release's schema, its table or view there, and its name in the catalog: main's go by their own."""
    parts = split_name(name)
    if not parts or len(parts) > 2 or not name.isprintable():
        raise CatalogError(f"{name!r} is not a name for a release: write name or schema.name")
    ((current, current_schema),) = catalog.run("select current_database(), current_schema()")
    home = current_schema if quoted(current) == catalog.database else "main"
    schema, table = (parts[0] if len(parts) == 2 else home), parts[-1]
    return schema, table, _part(table) if fold(schema) == "main" else f"{_part(schema)}.{_part(table)}"


def _refuse_elsewhere(catalog: Catalog, schema: str, asked: str) -> None:
    """Raise if a release is to go into a schema that is not there, or that is another database."""
    known = (
        "select 1 from duckdb_schemas() where database_name = $1 and lower(schema_name) = lower($2)",
        "select 1 from duckdb_databases() where database_name <> $1 and lower(database_name) = lower($2)",
    )
    database = unquoted(catalog.database)
    if catalog.run(known[0], [database, schema]):
        return
    if catalog.run(known[1], [database, schema]):
        raise CatalogError(
            f"'{schema}' is another database than '{database}', where releases are stored. Write the rows there: "
            + in_words(
                python=f"sqlanon.anonymize(...).relation().create({asked!r})",
                sql=f"CREATE TABLE {asked} AS FROM anon.anonymize(...)",
                command=f"sqlanon shell, then CREATE TABLE {asked} AS FROM anon.anonymize(...)",
            )
        )
    raise CatalogError(f"There is no schema '{schema}' for '{asked}': CREATE SCHEMA {quoted(schema)} first")


def _part(identifier: str) -> str:
    """The identifier as it can be given again: in quotes where it would be read as another without them."""
    return identifier if split_name(identifier) == [identifier] else quoted(identifier)


def refuse_taken(catalog: Catalog, schema: str, table: str, replace: bool, kind: str = "ANONYMIZED TABLE") -> None:
    """Raise if the name belongs to something else."""
    taken = catalog.run(
        "select 1 from (select database_name, schema_name, table_name as name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views()) "
        "where database_name = $1 and lower(schema_name) = lower($2) and lower(name) = lower($3)",
        [unquoted(catalog.database), schema, table],
    )
    if taken:
        hint = (
            "it is not a release, so it is not replaced: drop it first"
            if replace
            else f"drop it, or use {replacing(kind)}"
        )
        raise CatalogError(f"'{table}' already exists; {hint}")


def sensitive_place(place: str) -> str:
    """The table or view next to this one that holds the sensitive values."""
    return f'{place[:-1]}{SENSITIVE}"' if place.endswith('"') else f"{place}{SENSITIVE}"


def members_of(storage: str) -> str:
    """The table next to a view's rows that says who is in it."""
    return f"{storage}{MEMBERS}"


def labels_of(storage: str) -> str:
    """The table next to a view's rows that has the labels of its cohorts in every version."""
    return f"{storage}{LABELS}"


def is_still_there(catalog: Catalog, key: str) -> bool:
    """Is the release of this name stored, and is what has its name now still the release? It carries a mark."""
    return bool(marked(catalog, key))


def marked(catalog: Catalog, key: str) -> list[str]:
    """What carries the mark of the release of this name: its table or view and the one next to it, still so named."""
    found = catalog.run(
        "select found.schema_name, found.table_name from (select schema_name, table_name, comment from duckdb_tables() "
        "where database_name = $database union all "
        "select schema_name, view_name, comment from duckdb_views() where database_name = $database) as found "
        f"join {catalog.schema}.releases as made on made.schema_name = found.schema_name and made.mark = found.comment "
        "and found.table_name in (made.table_name, made.table_name || $apart) where lower(made.name) = lower($key)",
        {"database": unquoted(catalog.database), "apart": SENSITIVE, "key": key},
    )
    return [f"{catalog.database}.{quoted(schema)}.{quoted(table)}" for schema, table in found]
