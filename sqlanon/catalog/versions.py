"""All versions of a view as the catalog has them: its cohorts, and the labels that each had in each version."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import labels_of, members_of
from sqlanon.pipeline.digests import COHORT
from sqlanon.sqltext import literal, name, render

VERSION = "sqlanon_version"
IS_BLANK = "sqlanon_is_blank"


def cohorts_of(catalog: Catalog, release: str) -> str:
    """The query for the cohorts of a view."""
    return f"select * from {catalog.schema}.release_cohorts where release = {literal(release)}"


def versions_sql(
    catalog: Catalog, release: str, storage: str, printed: Sequence[str], is_erased: bool
) -> dict[str, str]:
    """The fragments of queries about all versions of a view: its members, with those who were erased or without, and
    the query for the labels that each had in each version."""
    cohorts = cohorts_of(catalog, release)
    columns = f"row_number() over () as sqlanon_row, members.*, cohorts.is_blank as {IS_BLANK}"
    joined = f"{members_of(storage)} as members join ({cohorts}) as cohorts on cohorts.cohort = members.{COHORT}"
    label = ", ".join(f"cast(labels.{name(column)} as varchar)" for column in printed)
    shown_in = render(
        "steps/refresh/shown_in.sql",
        cohort=COHORT,
        version=VERSION,
        cohorts=cohorts,
        labels=labels_of(storage),
        label=f"[{label}]",
    )
    members = f"select {columns} from {joined} where {str(is_erased).lower()} or not cohorts.is_erased"
    return {"members": members, "shown_in": shown_in}


def has_versions(catalog: Catalog, storage: str) -> bool:
    """Are the labels of all versions kept next to these rows?"""
    known = catalog.run("select table_name from duckdb_tables() where schema_name = 'anon'")
    return (labels_of(storage).rpartition(".")[2],) in known
