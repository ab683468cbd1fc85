"""Proving a release on what is released."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.names import resolve
from sqlanon.errors import BrokenPromiseError, in_words, option
from sqlanon.pipeline.models import asked_of, homogeneous_sql, sensitive_of
from sqlanon.pipeline.promises import GROUP, TIED, Promise, listed_sql
from sqlanon.pipeline.proof import Proof
from sqlanon.policy.policy import Policy
from sqlanon.privacy.verdict import possible_l
from sqlanon.sqltext import fold, literal
from sqlanon.sqltext import name as quoted

log = logging.getLogger("sqlanon")


def prove(catalog: Catalog, relation: str, promise: Promise, policy: Policy) -> Proof:
    """What holds of a released relation; BrokenPromiseError if that is less than the policy asks for."""
    ((smallest, classes, rows),) = catalog.run(promise.proof(relation))
    if smallest is None or smallest < policy.k:
        raise BrokenPromiseError(f"{promise.kind.shortfall.format(smallest or 0)}, k is {policy.k}")
    linked_k = None
    if (linked := promise.linked(relation)) is not None:
        ((linked_k, _, _),) = catalog.run(linked)
        if promise.is_tied and linked_k < policy.k:
            raise BrokenPromiseError(f"{TIED[0]}{linked_k}{TIED[1].format(entity=policy.entity, k=policy.k)}")
    models: dict[str, dict[str, float | None]] = {}
    if policy.sensitive and promise.reached is not None:
        found = resolve(catalog.con, f"from {relation}")
        columns = sensitive_of(found, policy, catalog.hierarchies())
        for asked, column in asked_of(policy, columns, promise.kind.measured, promise.entity is not None):
            ((reached,),) = catalog.run(promise.reached(_with_values(relation, policy), asked, column))
            if not asked.holds(reached):
                before, after = asked.shortfall
                raise BrokenPromiseError(f"{before}{reached:g}{after.format(column.column)}")
            models.setdefault(asked.name, {})[column.column] = reached
    return Proof(promise.kind.property, smallest, classes, int(rows), models, linked_k=linked_k)


def _with_values(relation: str, policy: Policy) -> str:
    """The rows with sensitive values: where some may be blank, NULL is not a value and says nothing about anybody."""
    if policy.failed != "blank":
        return relation
    there = " or ".join(f"{quoted(column)} is not null" for column in policy.sensitive)
    return f"(select * from {relation} where {there})"


def warn_of_homogeneous(
    catalog: Catalog, release: str | None, table: str, promise: Promise, sensitive: Sequence[str], proof: Proof
) -> None:
    """Say how many people's sensitive values can be read off, where nothing was asked to prevent it, and where a stored
    release's classes are named: a log is not the place for their values."""
    for column in sensitive:
        asked = ", ".join(literal(argument) for argument in (release, list(promise.printed), column))
        query = f"FROM anon.model_violations({asked}, 'distinct_l', 2)"
        look = in_words(python=f'con.sql("{query}")', sql=query, command=f"sqlanon shell: {query}")
        look = f". To see them: {look}" if release is not None else ""
        ((classes, rows, overall),) = catalog.run(homogeneous_sql(table, promise.printed, column))
        say_homogeneous(column, classes, rows, overall, proof, look)


def say_homogeneous(column: str, classes: int, rows: int, overall: float, proof: Proof, look: str = "") -> None:
    """Warn of classes in which everybody has the same value, if there are any, and say what prevents it where a value
    has this share of all rows."""
    if classes:
        possible = possible_l(overall)
        mend = option("l", possible) if possible is not None else f"leave out '{column}', which hardly differs"
        log.warning(
            "No l or t is set for sensitive column '%s': in %s of %s classes (%s of %s rows) "
            "everyone has the same value%s",
            column,
            f"{classes:,}",
            f"{proof.classes:,}",
            f"{rows:,}",
            f"{proof.rows:,}",
            f"{look}. To prevent this: {mend}",
        )


def with_sensitive(table: str, sensitive_table: str | None, policy: Policy) -> str:
    """A release as one relation: the sensitive values that stand apart are listed for each row again."""
    if sensitive_table is None:
        return table
    column = quoted(policy.sensitive[0])
    listed = listed_sql(sensitive_table, GROUP, column, "sum(rows)")
    return (
        f"(select shown.*, listed.counts as {column} from {table} as shown "
        f"full join ({listed}) as listed on listed.{GROUP} = shown.{GROUP})"
    )


def entity_of(columns: Sequence[str], policy: Policy) -> str | None:
    """The entity's column in a release, if it is released there and tells people apart in all of it."""
    if policy.pseudonyms == "class":
        return None
    return next((column for column in columns if policy.entity and fold(column) == fold(policy.entity)), None)
