"""How much of a table survived: its printed labels looked up in the hierarchies, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.attributes import Attribute, Cte
from sqlanon.planner import with_ctes
from sqlanon.sources import Source
from sqlanon.sqltext import literal, name, names, render

_NO_LABELS = (
    "select '' as attribute, '' as label, 0 as rows, 1.0 as weight, 0.0 as ncp, 0.0 as lm, 0.0 as eloss, "
    "false as is_modified, 0 as level, 1 as height where false"
)
_NUMBER = r"-?(?:[0-9.]+(?:e[+-]?[0-9]+)?)"


@dataclass(frozen=True)
class Measurement:
    """The three relations that every measure is computed from, as queries over the source and the printed table."""

    labels: str
    leaves: str
    classes: str


def measurement(
    source: Source, attributes: tuple[Attribute, ...], release: str, represent: str = "closure"
) -> Measurement:
    """The queries that measure the release, a relation that can stand behind FROM, against its source.

    A centre says nothing of what it covers, so it has no labels to measure, only classes.
    """
    columns = ", ".join(f"{name(a.column)} as {a.value}" for a in attributes)
    ctes = [
        Cte("source", f"select {columns} from {source.relation}"),
        Cte(
            "tuples",
            render("pipeline/tuples.sql", columns=", ".join(a.value for a in attributes)),
            materialized=True,
        ),
        *(cte for attribute in attributes for cte in attribute.ctes),
    ]
    trees = [attribute for attribute in attributes if not attribute.is_range and represent == "closure"]
    measured = attributes if represent == "closure" else ()
    labels = "\nunion all\n".join(_labels_sql(attribute, release) for attribute in measured) or _NO_LABELS
    leaves = "\nunion all\n".join(_leaves_sql(attribute) for attribute in trees) or (
        "select '' as attribute, 0 as level, 1 as height, 0 as rows where false"
    )
    suppressed = [
        f"coalesce(cast({name(a.output[0])} as varchar) = '*', false)"
        if len(a.output) == 1 and not (a.is_range and represent == "center")
        else f"{name(a.output[0])} is null"
        for a in attributes
    ]
    return Measurement(
        labels=with_ctes(ctes, labels),
        leaves=with_ctes(ctes, leaves),
        classes=render(
            "metrics/classes.sql",
            release=release,
            printed=names(column for a in attributes for column in a.output),
            is_suppressed=" and ".join(suppressed),
        ),
    )


def measures_sql(labels: str, leaves: str, classes: str, k: str, beta: str = "0") -> str:
    """The query with a row per measure, over the three relations."""
    return render(
        "metrics/measures.sql",
        labels=labels,
        leaves=leaves,
        classes=classes,
        k=k,
        printed_depth=_depth("printed", beta),
        leaf_depth=_depth("leaf", beta),
    )


def _depth(node: str, beta: str) -> str:
    """Paper 003's weighted distance of a node from the top, as a share of the whole height: WHD(level, 1)."""

    def steps(count: str) -> str:
        return f"coalesce(list_sum(list_transform(range(1, {count}), lambda step: power(step, -({beta})))), 0)"

    return f"({steps(f'{node}.height - {node}.level')} / {steps(f'{node}.height')})"


def _labels_sql(attribute: Attribute, release: str) -> str:
    fragments = {
        "column": literal(attribute.column),
        "weight": literal(attribute.weight),
        "release": release,
        "nodes": attribute.nodes,
        "domain": attribute.domain,
    }
    if not attribute.is_range:
        return render("metrics/labels_nodes.sql", **fragments, label=name(attribute.column))
    if len(attribute.output) == 2:
        printed = render(
            "metrics/printed_columns.sql",
            release=release,
            smallest=name(attribute.output[0]),
            largest=name(attribute.output[1]),
            separator=literal(attribute.family.separator),
        )
    else:
        end = "(.+)" if attribute.family.separator != "-" else f"({_NUMBER})"
        pattern = rf"^\[{end}{attribute.family.separator}{end}\]$"
        printed = render(
            "metrics/printed_text.sql",
            release=release,
            label=name(attribute.column),
            pattern=literal(pattern),
        )
    return render("metrics/labels_values.sql", **fragments, printed=printed)


def _leaves_sql(attribute: Attribute) -> str:
    return render(
        "metrics/leaves.sql",
        column=literal(attribute.column),
        domain=attribute.domain,
        nodes=attribute.nodes,
        key=attribute.key(f"tuples.{attribute.value}"),
    )
