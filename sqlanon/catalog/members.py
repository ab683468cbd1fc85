"""Who is in a view: the digests of its people, the cohorts that they are in, and the salt and key check that go with
them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import labels_of, members_of
from sqlanon.catalog.releases import Stored
from sqlanon.catalog.versions import VERSION, cohorts_of
from sqlanon.engine.names import resolve
from sqlanon.engine.session import temporary
from sqlanon.errors import PolicyError
from sqlanon.pipeline.digests import ADDED, COHORT, DIGEST, LEDGER, STATE, Digests
from sqlanon.sqltext import literal, names, render

LEFT_OUT = 0
"""The cohort of those who are never released."""


def remember(
    catalog: Catalog, release: str, digests: Digests, key: str | None, storage: str, printed: Sequence[str], people: str
) -> None:
    """Write into the catalog how the people of a view are recognized, and its first cohorts; of the `people` of its
    source those who are not among its members are left out for good."""
    members = members_of(storage)
    catalog.run(
        f"insert into {catalog.schema}.release_members by name select $1 as release, $2 as salt, $3 as columns, "
        f"{_key_check(digests.salt, key)} as key_check, $4 as time_zone",
        [release, digests.salt, json.dumps(dict(digests.types), ensure_ascii=False), digests.time_zone],
    )
    catalog.run(
        f"insert into {members} by name "
        + render("steps/refresh/not_members.sql", people=people, members=members, digest=DIGEST, state=STATE)
    )
    catalog.run(f"update {members} set {ADDED} = 1, {COHORT} = {LEFT_OUT} where {COHORT} is null")
    _list_cohorts(catalog, release, members)
    _start_labels(catalog, storage, 1, printed)


def _list_cohorts(catalog: Catalog, release: str, members: str) -> None:
    """List the cohorts of a view that are released."""
    catalog.run(
        f"insert into {catalog.schema}.release_cohorts by name select $1 as release, {COHORT} as cohort, "
        f"null as parent, any_value({ADDED}) as born, count(*) as people, false as is_blank, true as is_shown, "
        f"false as is_erased from {members} where {COHORT} <> {LEFT_OUT} group by {COHORT}",
        [release],
    )


def replace_cohorts(catalog: Catalog, release: str, version: int, found: str) -> None:
    """List the cohorts of a view as they are now; what was there keeps its parent and the version it was born in."""
    place = f"{catalog.schema}.release_cohorts"
    sql = (
        f"select {literal(release)} as release, found.cohort, coalesce(found.parent, known.parent) as parent, "
        f"coalesce(known.born, {version}) as born, found.people, found.is_blank, found.is_shown, found.is_erased "
        f"from ({found}) as found left join ({cohorts_of(catalog, release)}) as known using (cohort)"
    )
    with temporary(catalog.con, "listed", sql) as table:
        catalog.run(f"delete from {place} where release = $1", [release])
        catalog.run(f"insert into {place} by name from {table}")


def erase_cohorts(catalog: Catalog, release: str, cohorts: Sequence[int]) -> None:
    """Mark cohorts as withdrawn for good."""
    catalog.run(
        f"update {catalog.schema}.release_cohorts set is_erased = true "
        "where release = $1 and list_contains($2::bigint[], cohort)",
        [release, list(cohorts)],
    )


def _start_labels(catalog: Catalog, storage: str, version: int, printed: Sequence[str]) -> None:
    """Make the table that has the labels of cohorts in every version, from this one on."""
    catalog.run(f"create table {labels_of(storage)} as {_labels_sql(members_of(storage), version, printed)}")


def keep_labels(catalog: Catalog, storage: str, rows: str, version: int, printed: Sequence[str]) -> None:
    """Add the labels of a version, which has these rows."""
    catalog.run(f"insert into {labels_of(storage)} by name {_labels_sql(rows, version, printed)}")


def _labels_sql(rows: str, version: int, printed: Sequence[str]) -> str:
    labels = names(printed)
    return f"select distinct {version} as {VERSION}, {COHORT}, {labels} from {rows} where {COHORT} <> {LEFT_OUT}"


def adopt(catalog: Catalog, stored: Stored) -> None:
    """Make cohorts of the members of a view that was made before there were any: the rows of one class that were added
    in one version."""
    members = members_of(f"{catalog.database}.{stored.storage}")
    columns = resolve(catalog.con, f"from {members}").columns
    if COHORT in columns:
        return
    printed = names([*stored.printed, ADDED])
    rest = names(column for column in columns if column not in LEDGER)
    catalog.run(
        f"create or replace table {members} as select {DIGEST}, {ADDED}, dense_rank() over (order by {printed}) "
        f"as {COHORT}, cast(null as blob) as {STATE}, {rest} from {members} order by {DIGEST}"
    )
    _list_cohorts(catalog, stored.name, members)
    _start_labels(catalog, f"{catalog.database}.{stored.storage}", stored.version, stored.printed)


def recall(catalog: Catalog, stored: Stored, key: str | None) -> Digests | None:
    """How the people of a stored view are recognized; None where that was not kept."""
    found = catalog.run(
        f"select salt, columns, key_check, time_zone from {catalog.schema}.release_members where release = $1",
        [stored.name],
    )
    if not found:
        return None
    salt, columns, key_check, time_zone = found[0]
    if key is not None and catalog.run(f"select {_key_check(salt, key)}") != [(key_check,)]:
        raise PolicyError(
            f"The key is not the one that '{stored.name}' was made with, so its pseudonyms would not match"
        )
    return Digests(salt, json.loads(columns), time_zone)


def _key_check(salt: str, key: str | None) -> str:
    """What tells one key from another, as SQL."""
    return f"sqlanon_pseudonym({literal(key)}, {literal(salt)})" if key is not None else "null"
