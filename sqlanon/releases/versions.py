"""All versions of a view put together, by somebody who kept them and knows everybody's class in each.

The catalog keeps the labels of every cohort in every version, and the ledger who is in which cohort, so that earlier
versions need not be stored. Quasi-identifiers may have changed since: nobody is looked up by what they are now.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import VERSION, cohorts_of
from sqlanon.catalog.places import labels_of, members_of
from sqlanon.catalog.releases import Stored
from sqlanon.engine.names import resolve
from sqlanon.pipeline.digests import COHORT
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


def versions_together(catalog: Catalog, stored: Stored) -> Together | None:
    """All versions of a view; None if it has one, or its members were never recognized."""
    storage = f"{catalog.database}.{stored.storage}"
    known = {table for (table,) in catalog.run("select table_name from duckdb_tables() where schema_name = 'anon'")}
    if stored.kind != "view" or labels_of(stored.storage).rpartition(".")[2] not in known:
        return None
    ((versions,),) = catalog.run(f"select count(distinct {VERSION}) from {labels_of(storage)}")
    if versions < 2:
        return None
    facts = f"min(rows), coalesce(sum(rows), 0), coalesce(sum(rows) filter (where rows < {stored.policy.k}), 0)"
    ((rows, people, below),) = catalog.run(f"select {facts} from ({_histories_sql(catalog, stored, 'null')})")
    columns = resolve(catalog.con, f"from {members_of(storage)}").resolve_names(stored.policy.sensitive)
    values = {}
    for column in columns:
        value = f"coalesce('=' || cast({quoted(column)} as varchar), '-')"
        ((fewest,),) = catalog.run(f"select coalesce(min(values), 0) from ({_histories_sql(catalog, stored, value)})")
        values[column] = int(fewest)
    return Together(int(versions), None if rows is None else int(rows), int(people), int(below), values)


def _histories_sql(catalog: Catalog, stored: Stored, value: str) -> str:
    storage = f"{catalog.database}.{stored.storage}"
    cohorts = cohorts_of(catalog, stored.name)
    joined = f"{members_of(storage)} join ({cohorts}) as cohorts on cohorts.cohort = {COHORT}"
    facts = f"{COHORT}, {value} as sqlanon_value, is_blank as sqlanon_is_blank"
    members = f"(select row_number() over () as sqlanon_row, {facts} from {joined} where not is_erased)"
    label = ", ".join(f"cast(labels.{quoted(column)} as varchar)" for column in stored.printed)
    return render(
        "steps/refresh/histories.sql",
        cohort=COHORT,
        version=VERSION,
        members=members,
        cohorts=cohorts,
        labels=labels_of(storage),
        label=f"[{label}]",
    )
