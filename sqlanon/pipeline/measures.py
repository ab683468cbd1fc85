"""What a release lost, as SQL: every measure from a few relations about its released labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import Held, measured_encoding
from sqlanon.pipeline.metrics import described_sql
from sqlanon.pipeline.readback import Tolerance, box_ctes, counts, is_suppressed_sql, known, label_names
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import Cte, literal, name, render

_EMPTY = {
    "labels": "attribute, label, rows, weight, ncp, lm, eloss, is_modified, level, height, mass",
    "leaves": "attribute, level, height, rows, logarithms",
    "diversities": "sensitive, off_majority, mean_entropy, least_entropy, least_frequency",
    "information": "attribute, sensitive, prior, original, printed",
    "others": "measure, value",
}
PARTS = ("labels", "leaves", "classes", "diversities", "information", "others")
"""The relations that every measure is computed from."""


def measurement(
    reading: Reading,
    release: str,
    sensitive: Sequence[str] = (),
    tolerance: Tolerance = Tolerance.LACKING,
    represent: str = "closure",
    held: Held | None = None,
    left_out: int = 0,
) -> list[Cte]:
    """Steps that end in PARTS, for a release that can stand behind FROM, against its source. Rows that were `left_out`
    and are not in the source count as suppressed.

    A center says nothing of what it covers, so of such a release only classes and diversities are measured.
    """
    attributes = reading.attributes
    values = {f"y{number}": column for number, column in enumerate(sensitive, 1)}
    kept = [f"{name(column)} as {value}" for value, column in values.items()]
    is_closure = represent == "closure"
    sizes = " * ".join(f"cast(boxes.{a.hi} - boxes.{a.lo} + 1 as double)" for a in attributes) if is_closure else "null"
    divergence = render(
        "steps/measure/divergence.sql",
        lo=", ".join(a.lo for a in attributes),
        hi=", ".join(a.hi for a in attributes),
        ranks=", ".join(a.rank for a in attributes),
    )
    queries = {
        "labels": [f"select * exclude (lo, hi) from {known(a)}" for a in attributes],
        "leaves": [leaves_sql(a) for a in attributes],
        "information": [_information_sql(attributes, value, column) for value, column in values.items()],
        "others": [f"select 'kl_divergence' as measure, divergence as value from ({divergence})"],
    }
    if not is_closure:
        queries = {part: [] for part in queries}
    queries["classes"] = [render("steps/measure/classes.sql", combinations=sizes)]
    queries["diversities"] = [
        render(
            "steps/measure/diversities.sql",
            sensitive=literal(column),
            value=value,
            labels=label_names(attributes),
            is_suppressed=is_suppressed_sql(attributes),
        )
        for value, column in values.items()
    ]
    return [
        *measured_encoding(reading, kept, held),
        *box_ctes(reading, release, kept, tolerance, represent, tuple(values), left_out),
        *(Cte(part, _union(queries[part]) or empty_sql(part), bool(queries[part])) for part in PARTS),
    ]


def measures_sql(
    parts: Mapping[str, str], k: str, beta: str = "0", mi_weight: str = "0.5", has_sensitive: bool = True
) -> str:
    """The query with a row per measure, over the relations that stand for PARTS. Without sensitive columns, DuckDB need
    not plan what looks at them."""
    depths = {"printed_depth": _depth("printed", beta), "leaf_depth": _depth("leaf", beta)}
    measured = render("steps/measure/measures.sql", **parts, k=k, **depths)
    if not has_sensitive:
        return measured
    of_columns = render("steps/measure/measures_of_columns.sql", **parts, mi_weight=mi_weight)
    return f"with measured as (\n{measured}\n)\nfrom measured\nunion all\nfrom (\n{of_columns}\n)"


def described(measured: str) -> str:
    """The same with what there is to tell about each measure."""
    return render("steps/measure/described.sql", measured=measured, about=described_sql())


def empty_sql(part: str) -> str:
    """The query for a part of which nothing is known."""
    return f"select {', '.join(f'null as {column}' for column in _EMPTY[part].split(', '))} where false"


def leaves_sql(attribute: Attribute) -> str:
    """The query with a row per level at which leaves of an attribute stand."""
    kind = "values" if attribute.is_range else "nodes"
    fragments = {"column": literal(attribute.column), "counts": counts(attribute), "nodes": attribute.nodes}
    return render(f"steps/measure/leaves_{kind}.sql", **fragments)


def _information_sql(attributes: Sequence[Attribute], value: str, sensitive: str) -> str:
    joint = [
        render(
            "steps/measure/joint.sql",
            column=literal(attribute.column),
            quasi=attribute.value,
            value=value,
            domain=attribute.domain,
            key=attribute.key("counted.quasi"),
        )
        for attribute in attributes
    ]
    told = [
        f"select {literal(a.column)} as attribute, {a.labels} as label, {value} as value, count(*) as rows "
        "from printed group by all"
        for a in attributes
    ]
    found = render(
        "steps/measure/information.sql",
        joint=_union(joint),
        told=_union(told),
        known=_union([f"select attribute, label, lo, hi, mass from {known(a)}" for a in attributes]),
        sensitive=literal(sensitive),
    )
    return f"from ({found}\n)"


def _union(queries: Sequence[str]) -> str:
    return "\nunion all\n".join(queries)


def _depth(node: str, beta: str) -> str:
    """The weighted distance of Li et al. 2006 of a node from the top, as a share of the whole height: WHD(level, 1)."""

    def steps(count: str) -> str:
        if beta == "0":  # every step weighs the same
            return f"greatest({count} - 1, 0)"
        return f"coalesce(list_sum(list_transform(range(1, {count}), lambda step: power(step, -({beta})))), 0)"

    return f"({steps(f'{node}.height - {node}.level')} / {steps(f'{node}.height')})"
