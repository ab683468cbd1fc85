"""The query for the lower bounds of what any release under a policy loses."""

from __future__ import annotations

import json

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import comma, encoding
from sqlanon.pipeline.guard import guard_sql
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, literal, render, with_ctes


def plan_bound(source: Source, policy: Policy, attributes: tuple[Attribute, ...]) -> str:
    """The query for the lower bounds of what any release under this policy loses."""
    request = {
        "k": policy.k,
        "models": {},
        "kinds": [attribute.kind for attribute in attributes],
        "weights": [attribute.weight for attribute in attributes],
    }
    ctes = [
        *encoding(source, attributes, {}, []),
        Cte("guard", guard_sql(source, policy, attributes, {})),
        Cte(
            "bounded",
            render(
                "metrics/bounded.sql",
                request=literal(json.dumps(request)),
                ranks=comma(attribute.rank for attribute in attributes),
            ),
            materialized=True,
        ),
    ]
    rows = " union all ".join(
        f"select {literal(bound)} as bound, answer.{bound} as gcp from bounded where "
        "case when answer.error is null then true else error(answer.error) end"
        for bound in ("pair", "box", "gcp")
    )
    return with_ctes(ctes, rows)
