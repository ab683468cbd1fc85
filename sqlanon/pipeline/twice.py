"""One query that makes a release twice: rows that are left out would tell their values by the domain that grids, levels
and groups depend on, so that it is made again without them."""

from __future__ import annotations

from dataclasses import replace

from sqlanon.pipeline.digests import PLACE
from sqlanon.pipeline.plan import plan
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import Cte, names, with_ctes

PLACED, DRAWN = "sqlanon_placed", "sqlanon_drawn"
"""The rows of the source with their numbers, and the rows of the first release."""


def release_sql(reading: Reading, run: str | None = None, key: str | None = None) -> str:
    """The query for a release: where rows may be suppressed, of all rows, and again of those that are not left out.

    The second one's guard lets nothing through if none was: what the first one released is the answer then.
    """
    source, policy = reading.source, reading.policy
    if policy.max_suppression is None:
        return plan(reading, run, key).sql
    numbered = replace(source, relation=PLACED, types={**source.types, PLACE: "BIGINT"})
    passing = replace(policy, unsafe_keep=(*policy.unsafe_keep, PLACE))
    first = plan(replace(reading, source=numbered, policy=passing), run, key)
    is_whole = f"(select count(*) from {DRAWN}) = (select count(*) from {PLACED})"
    left = f"(select * exclude ({PLACE}) from {PLACED} where {PLACE} in (select {PLACE} from {DRAWN}))"
    rest = replace(reading, source=replace(source, relation=left), policy=replace(policy, max_suppression=None))
    second = plan(rest, run, key)
    steps = (_only_if(step, f"not {is_whole}") if step.name == "guard" else step for step in second.steps)
    columns = names(column for column in first.columns if column != PLACE)
    again = Cte("sqlanon_again", with_ctes(steps, second.body), materialized=True)
    placed = f"select *, row_number() over () as {PLACE} from {source.relation}"
    before = [Cte(PLACED, placed, materialized=True), Cte(DRAWN, first.sql, materialized=True), again]
    answer = f"select {columns} from {DRAWN} where {is_whole}\nunion all\nselect {columns} from {again.name}"
    return with_ctes(before, f"from (\n{answer}\n)\norder by sqlanon_shuffle(1)")


def _only_if(step: Cte, condition: str) -> Cte:
    """The step, without rows where the condition does not hold."""
    return replace(step, body=f"select * from (\n{step.body}\n) where {condition}")
