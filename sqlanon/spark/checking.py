"""Does a Spark DataFrame hold what it promises, whoever made it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlanon.errors import PolicyError, option_name
from sqlanon.pipeline.models import asked_of, required_of
from sqlanon.pipeline.promises import equal_rows
from sqlanon.policy.policy import Policy
from sqlanon.privacy.checking import Check
from sqlanon.spark import asking
from sqlanon.spark.desk import Desk, desk_of
from sqlanon.spark.encoding import column, named
from sqlanon.spark.failures import in_our_words
from sqlanon.spark.proving import linked, one_row, reached, viewed
from sqlanon.sqltext import name, names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check(
    df: DataFrame,
    quasi: Sequence[str],
    k: int = 5,
    *,
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    **models: Any,
) -> Check:
    """Check a DataFrame as it is released: the smallest class, and what sensitive columns reach.

    Models are required by the options of a policy: l = 2, t = 0.2, several = 'separate' and so on. With an `entity`,
    such as a patient's number that the table has, k, l and alpha count people instead of rows. `hierarchies` says how
    those of sensitive columns are made, for the hierarchical distance of t.
    """
    if models.get("linked"):
        raise PolicyError(f"{option_name('linked')} is not available on Spark: {asking.REFUSED['linked']}")
    given = {"quasi": quasi, "sensitive": sensitive, "entity": entity, **models}
    asked = asking.asked_of(None, given, hierarchies, None)
    policy = asked.policy
    found = named(df, policy)
    roles = [*policy.quasi, *policy.sensitive, *([policy.entity] if policy.entity is not None else [])]
    rows = df.select(*(column(one) for one in found.resolve_names(roles)))

    def counted() -> Check:
        zone = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
        with desk_of(policy, asked.define, rows.limit(0).toArrow(), zone) as desk:
            return _counted(rows, k, policy, desk)

    return in_our_words("checking the table", counted)


def _counted(rows: DataFrame, k: int, policy: Policy, desk: Desk) -> Check:
    source = desk.reading.source
    (entity,) = source.resolve_names([policy.entity]) if policy.entity is not None else (None,)
    promise = equal_rows(source.resolve_names(policy.quasi), entity)
    with viewed(rows) as view:
        smallest, classes, count = one_row(rows, promise.proof(view))
        size = "count(*)" if entity is None else f"count(distinct {name(entity)})"
        small = f"select 1 as one from {view} group by {names(promise.printed)} having {size} < {int(k)}"
        (violations,) = one_row(rows, f"select count(*) as classes from ({small})")
        found: dict[str, dict[str, float | None]] = {}
        for asked, one in asked_of(policy, desk.reading.sensitive, promise.kind.measured):
            value = reached(rows, view, promise, asked, one, desk) if count else None
            found.setdefault(asked.name, {})[one.column] = value
        linked_k = linked(rows, promise.printed, entity) if entity is not None and count else None
    asked_by = required_of(policy, desk.reading.sensitive)
    return Check(int(count or 0), classes, smallest, k, violations, found, asked_by, linked_k, policy.linked)
