"""All versions of a view put together, by somebody who kept them and knows everybody's class in each.

The catalog keeps the labels of every cohort in every version, and the ledger who is in which cohort, so that earlier
versions need not be stored. Quasi-identifiers may have changed since: nobody is looked up by what they are now.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import labels_of, members_of
from sqlanon.catalog.releases import Stored
from sqlanon.catalog.versions import IS_BLANK, VERSION, has_versions, versions_sql
from sqlanon.engine.names import resolve
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import render


@dataclass(frozen=True)
class Together:
    """What is left when all versions of a view are put together: the fewest people whom somebody cannot be told from,
    how many people there are, how many have fewer than k left, and the fewest values of each sensitive column."""

    versions: int
    rows: int | None
    people: int
    below: int
    values: dict[str, int]


def versions_of(catalog: Catalog, stored: Stored) -> int:
    """How many versions of a release are remembered; one if it is not a view whose people were recognized."""
    if stored.kind != "view" or not has_versions(catalog, stored.storage):
        return 1
    place = labels_of(f"{catalog.database}.{stored.storage}")
    ((versions,),) = catalog.run(f"select count(distinct {VERSION}) from {place}")
    return int(versions)


def versions_together(catalog: Catalog, stored: Stored) -> Together | None:
    """All versions of a view; None if it has one, or its members were never recognized."""
    if (versions := versions_of(catalog, stored)) < 2:
        return None
    counted = f"select count(*) as rows from ({histories_sql(catalog, stored)}) group by history"
    facts = f"min(rows), coalesce(sum(rows), 0), coalesce(sum(rows) filter (where rows < {stored.policy.k}), 0)"
    ((rows, people, below),) = catalog.run(f"select {facts} from ({counted})")
    members = resolve(catalog.con, f"from {members_of(f'{catalog.database}.{stored.storage}')}")
    values = {}
    for column in members.resolve_names(stored.policy.sensitive):
        value = f"coalesce('=' || cast(members.{quoted(column)} as varchar), '-') as value"
        left = f"case when not bool_or({IS_BLANK}) then count(distinct value) end as values"
        sql = f"select {left} from ({histories_sql(catalog, stored, value, IS_BLANK)}) group by history"
        ((fewest,),) = catalog.run(f"select coalesce(min(values), 0) from ({sql})")
        values[column] = int(fewest)
    return Together(versions, None if rows is None else int(rows), int(people), int(below), values)


def histories_sql(catalog: Catalog, stored: Stored, *columns: str) -> str:
    """The query for the history of everybody who was ever in a view, with columns of the table of its members."""
    parts = versions_sql(catalog, stored.name, f"{catalog.database}.{stored.storage}", stored.printed, is_erased=False)
    return render("steps/refresh/histories.sql", **parts, columns=", ".join(columns) or "null as nothing")
