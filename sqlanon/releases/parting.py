"""Parting cohorts: those who left, or moved far, from those who did not, where that is safe whoever they are.

Who is away is known to everybody, and what their rows are is not. So a cohort is parted only if every part of that size
would keep k and the models, by the values that are released already. A real part is never looked at: that one was
parted, or not, then says nothing about anybody's value.
"""

from __future__ import annotations

from dataclasses import replace

from sqlanon.catalog.versions import IS_BLANK
from sqlanon.pipeline.digests import COHORT
from sqlanon.pipeline.models import Sensitive, asked_of
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.policy import Policy
from sqlanon.releases.ledger import IS_ERASED
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import render
from sqlanon.udfs.models import RELATIVE

AWAY = "sqlanon_away"


def may_part(policy: Policy) -> bool:
    """Can the worst part be told from the released values? Not where classes are compared with the whole release, nor
    where several sensitive columns are known to the attacker in turn."""
    if set(RELATIVE) & set(policy.models):
        return False
    return not policy.models or len(policy.sensitive) < 2 or policy.several == "separate"


def parted_sql(reading: Reading, members: str) -> str:
    """The query for the cohorts that are parted into those who are away and the others."""
    broken = []
    for asked, column in asked_of(reading.policy, reading.sensitive):
        worst = render(
            "steps/refresh/most_concentrated.sql",
            members=members,
            cohort=COHORT,
            value=quoted(column.column),
            away=AWAY,
            is_blank=IS_BLANK,
            is_erased=IS_ERASED,
        )
        alone: Sensitive = replace(column, known=())
        reached = asked.classes_sql(f"({worst})", [COHORT, "sqlanon_part"], alone)
        broken.append(f"select q1 as cohort from (\n{reached}\n) where {asked.broken('reached')}")
    return render(
        "steps/refresh/parted.sql",
        members=members,
        cohort=COHORT,
        away=AWAY,
        is_erased=IS_ERASED,
        k=str(reading.policy.k),
        broken=" union all ".join(broken) or "select null as cohort where false",
    )
