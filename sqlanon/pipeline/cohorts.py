"""Labels of groups that are given: what the present members of a cohort have, as the pipeline would release it.

All of it is about quasi-identifiers and who is in the source. Nothing here reads a sensitive value.
"""

from __future__ import annotations

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.digests import COHORT, DIGEST
from sqlanon.pipeline.encode import comma, measured_encoding, with_domains
from sqlanon.pipeline.printing import label_steps
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import Cte, name, render, with_ctes

FAR = 0.25
"""Somebody is far from the rest of a cohort if, in some attribute, more than this share of its values are between them
and the cohort's median."""


def labels_sql(reading: Reading) -> str:
    """The query with a row per cohort and its labels, under the names of the release. The source has a column of its
    own that says which cohort a row is a present member of, or NULL."""
    attributes, policy = reading.attributes, reading.policy
    encoding = measured_encoding(reading, [COHORT])
    if policy.represent == "center":
        same = (f"source.{a.value} is not distinct from encoded.{a.value}" for a in attributes)
        given = Cte("members", render("steps/refresh/cohort_members.sql", cohort=COHORT, same=" and ".join(same)))
        groups = Cte("groups", "select distinct group_id from members")
        joins = (f"left join {a.centers} on {a.centers}.group_id = groups.group_id" for a in attributes)
        centers = comma(f"{a.centers}.center as {name(a.output[0])}" for a in attributes)
        steps = [given, groups, *(Cte(a.centers, a.centers_sql) for a in attributes)]
        return with_ctes(
            [*encoding, *steps], f"select groups.group_id as {COHORT}, {centers} from groups {' '.join(joins)}"
        )
    bounds = [f"min({a.domain}.rank) as {a.lo}, max({a.domain}.rank) as {a.hi}" for a in attributes]
    ranges = render(
        "steps/refresh/cohort_ranges.sql",
        cohort=COHORT,
        bounds=comma(bounds),
        source_with_domains=with_domains("source", attributes),
    )
    outputs = comma(
        f"{internal} as {name(output)}"
        for a in attributes
        for internal, output in zip(a.printed, a.output, strict=True)
    )
    steps = [Cte("ranges", ranges, materialized=True), *label_steps(attributes)]
    return with_ctes([*encoding, *steps], f"select group_id as {COHORT}, {outputs} from printed where group_id >= 0")


def far_sql(reading: Reading) -> str:
    """The query for the digests of present members who are far from the rest of their cohort."""
    compared = [a for a in reading.attributes if a.is_range or a.hierarchy is not None]
    if not compared:
        return f"select {DIGEST} from {reading.source.relation} where false"
    ranks = comma(f"{a.domain}.rank as {a.rank}" for a in compared)
    ranked = Cte(
        "ranked",
        f"select source.{DIGEST}, source.{COHORT}, {ranks} from {with_domains('source', compared)} "
        f"where source.{COHORT} is not null",
    )
    apart = (
        f"abs({a.rank} - median({a.rank}) over (partition by {COHORT})) > {FAR} * (select max(rank) from {a.domain})"
        for a in compared
    )
    encoding = measured_encoding(reading, [COHORT, DIGEST])
    return with_ctes([*encoding, ranked], f"select {DIGEST} from ranked qualify {' or '.join(apart)}")


def missing_sql(reading: Reading) -> str:
    """The query with one row: in words, what is wrong with the values of quasi-identifiers, or NULL."""
    conditions = [
        f"when {count}{condition} then {message.replace('{count}', f'({count})')}"
        for attribute in reading.attributes
        for count, condition, message in _guards(attribute, reading.source.shown)
    ]
    if not conditions:
        return "select null"
    return with_ctes(measured_encoding(reading), f"select case {' '.join(conditions)} end from encoded")


def _guards(attribute: Attribute, table: str) -> list[tuple[str, str, str]]:
    """All but the first: a column may hold nothing but NULL."""
    return attribute.guards(table)[1:]
