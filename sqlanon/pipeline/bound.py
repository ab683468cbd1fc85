"""The query for the lower bounds of what any release under a policy loses."""

from __future__ import annotations

from sqlanon.pipeline.encode import Columns, comma, encoding
from sqlanon.pipeline.guard import guard_sql
from sqlanon.pipeline.plan import codes_sql, request_of
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import Cte, literal, render, with_ctes


def plan_bound(reading: Reading, run: str | None = None) -> str:
    """The query: one row with the bound and how it was found."""
    attributes, columns = reading.attributes, Columns.of(reading)
    ctes = [
        *encoding(reading, columns),
        Cte("guard", guard_sql(reading, columns)),
        Cte(
            "bounded",
            render(
                "steps/measure/bounded.sql",
                request=literal(request_of(reading, run).json()),
                ranks=comma(attribute.rank for attribute in attributes),
                codes=codes_sql(columns),
            ),
            materialized=True,
        ),
    ]
    is_right = "case when answer.error is null then true else error('sqlanon: ' || answer.error) end"
    return with_ctes(ctes, f"select answer.gcp as gcp, answer.how as how from bounded where {is_right}")
