"""Storing a release: its rows as a table, or as two where sensitive values stand apart or people are recognized."""

from __future__ import annotations

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import Target, members_of
from sqlanon.engine.session import temporary
from sqlanon.pipeline.digests import ADDED, COHORT, DIGEST, STATE
from sqlanon.pipeline.plan import Plan
from sqlanon.pipeline.promises import GROUP
from sqlanon.pipeline.proof import Proof
from sqlanon.privacy.proof import prove
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import names


def store(catalog: Catalog, planned: Plan, target: Target, columns: tuple[str, ...]) -> Proof | None:
    """Make the release's rows, with these columns.

    Where people are counted by an entity that is not released, nobody can count them later: the rows are proved with
    it, and the proof comes back.
    """
    policy = planned.reading.policy
    kind = "temporary table" if target.name is None else "table"
    apart, members = target.sensitive(policy), target.members(policy)
    if apart is None and members is None and not planned.hidden:
        catalog.run(f"create {kind} {target.storage} as {planned.sql}")
        return None
    with temporary(catalog.con, "whole", planned.sql) as rows:
        if apart is not None:
            _store_apart(catalog, planned, target.storage, apart, rows)
        else:
            catalog.run(f"create {kind} {target.storage} as select {names(columns)} from {rows}")
        if members is not None:
            cohort = f"dense_rank() over (order by {names(planned.printed)}) as {COHORT}"
            listed = f"{DIGEST}, 1 as {ADDED}, {cohort}, {STATE}, {names(columns)}"
            catalog.run(f"create table {members_of(target.storage)} as select {listed} from {rows} order by {DIGEST}")
        return prove(catalog, rows, planned.promise, policy) if planned.hidden else None


def _store_apart(catalog: Catalog, planned: Plan, storage: str, apart: str, rows: str) -> None:
    reading = planned.reading
    (column,) = reading.source.resolve_names(reading.policy.sensitive)
    catalog.run(f"create table {storage} as select * exclude ({quoted(column)}) from {rows}")
    entries = f"select {GROUP}, unnest(map_entries(any_value({quoted(column)}))) as entry from {rows} group by {GROUP}"
    catalog.run(
        f"create table {apart} as select {GROUP}, entry.key as {quoted(column)}, entry.value as rows "
        f"from ({entries}) order by all"
    )
