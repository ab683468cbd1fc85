"""Storing a release: its rows as a table, or as two where sensitive values stand apart or people are recognized."""

from __future__ import annotations

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import Target, members_of
from sqlanon.engine.session import temporary
from sqlanon.errors import BrokenPromiseError
from sqlanon.pipeline.digests import ADDED, COHORT, DIGEST, STATE
from sqlanon.pipeline.plan import Plan
from sqlanon.pipeline.promises import GROUP, TIED, equal_rows
from sqlanon.pipeline.proof import Proof
from sqlanon.privacy.proof import prove
from sqlanon.sqltext import literal, names, render
from sqlanon.sqltext import name as quoted


def store(
    catalog: Catalog, planned: Plan, target: Target, columns: tuple[str, ...], key: str | None = None
) -> Proof | None:
    """Make the release's rows, with these columns; `key` is that of pseudonyms.

    Where people are counted by an entity that is not released, nobody can count them later: the rows are proved with
    it, and the proof comes back.
    """
    policy = planned.reading.policy
    kind = "temporary table" if target.name is None else "table"
    apart, members = target.sensitive(policy), target.members(policy)
    is_fresh = policy.pseudonyms == "class"
    if apart is None and members is None and not planned.hidden and not is_fresh:
        catalog.run(f"create {kind} {target.storage} as {planned.sql}")
        return None
    with temporary(catalog.con, "whole", planned.sql) as rows:
        if apart is not None:
            _store_apart(catalog, planned, target.storage, apart, rows)
        else:
            listed = _fresh(planned, rows, columns, key) if is_fresh else f"select {names(columns)} from {rows}"
            catalog.run(f"create {kind} {target.storage} as {listed}")
        if members is not None:
            cohort = f"dense_rank() over (order by {names(planned.printed)}) as {COHORT}"
            listed = f"{DIGEST}, 1 as {ADDED}, {cohort}, {STATE}, {names(columns)}"
            catalog.run(f"create table {members_of(target.storage)} as select {listed} from {rows} order by {DIGEST}")
        proof = prove(catalog, rows, planned.promise, policy) if planned.hidden or is_fresh else None
        if is_fresh:
            _refuse_tied(catalog, planned, target.storage)
        return proof


def _fresh(planned: Plan, rows: str, columns: tuple[str, ...], key: str | None) -> str:
    """The query for the rows with pseudonyms that do not tie classes together."""
    (entity,) = planned.reading.source.resolve_names([str(planned.reading.policy.entity)])
    labels = [f"coalesce(cast({quoted(column)} as varchar), '')" for column in planned.printed]
    return render(
        "steps/print/fresh_pseudonyms.sql",
        rows=rows,
        columns=names(columns),
        entity=quoted(entity),
        labels=names(planned.printed),
        text=" || chr(0) || ".join([quoted(entity), *labels]),
        key=literal(key),
        k=str(planned.reading.policy.k),
    )


def _refuse_tied(catalog: Catalog, planned: Plan, storage: str) -> None:
    """Raise if a pseudonym ties rows together that fewer than k pseudonyms have."""
    policy = planned.reading.policy
    released = equal_rows(planned.printed, planned.promise.entity).linked(storage)
    assert released is not None
    ((least, _, _),) = catalog.run(released)
    if least < policy.k:
        raise BrokenPromiseError(f"{TIED[0]}{least}{TIED[1].format(entity=policy.entity, k=policy.k)}")


def _store_apart(catalog: Catalog, planned: Plan, storage: str, apart: str, rows: str) -> None:
    reading = planned.reading
    (column,) = reading.source.resolve_names(reading.policy.sensitive)
    catalog.run(f"create table {storage} as select * exclude ({quoted(column)}) from {rows}")
    entries = f"select {GROUP}, unnest(map_entries(any_value({quoted(column)}))) as entry from {rows} group by {GROUP}"
    catalog.run(
        f"create table {apart} as select {GROUP}, entry.key as {quoted(column)}, entry.value as rows "
        f"from ({entries}) order by all"
    )
