"""How much of a table survived: its printed labels looked up in the hierarchies, as SQL.

Nothing links a printed row to its source row. Where a measure is a sum over rows of something before minus something
after, the two sums are taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlanon.attributes import Attribute, Cte, encoded_sql
from sqlanon.sources import Source
from sqlanon.sqltext import literal, name, render

_NUMBER = r"-?(?:[0-9.]+(?:e[+-]?[0-9]+)?)"
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
    source: Source,
    attributes: tuple[Attribute, ...],
    release: str,
    sensitive: Sequence[str] = (),
    represent: str = "closure",
    may_lack_rows: bool = True,
    is_older: bool = False,
) -> list[Cte]:
    """Steps that end in PARTS, for a release that can stand behind FROM, against its source.

    Rows of the source that the release lacks count as suppressed, if it `may_lack_rows`. `is_older` as for `box_ctes`.

    A centre says nothing of what it covers, so of such a release only classes and diversities are measured.
    """
    values = {f"y{number}": column for number, column in enumerate(sensitive, 1)}
    kept = [f"{name(column)} as {value}" for value, column in values.items()]
    is_closure = represent == "closure"
    sizes = " * ".join(f"(boxes.{a.hi} - boxes.{a.lo} + 1.0)" for a in attributes) if is_closure else "null"
    divergence = render(
        "metrics/divergence.sql",
        lo=", ".join(a.lo for a in attributes),
        hi=", ".join(a.hi for a in attributes),
        ranks=", ".join(a.rank for a in attributes),
    )
    queries = {
        "labels": [f"select * exclude (lo, hi) from {known(a)}" for a in attributes],
        "leaves": [_leaves_sql(a) for a in attributes],
        "information": [_information_sql(a, value, values[value]) for a in attributes for value in values],
        "others": [f"select 'kl_divergence' as measure, divergence as value from ({divergence})"],
    }
    if not is_closure:
        queries = {part: [] for part in queries}
    queries["classes"] = [render("metrics/classes.sql", combinations=sizes)]
    queries["diversities"] = [
        render(
            "metrics/diversities.sql",
            sensitive=literal(column),
            value=value,
            labels=_labels(attributes),
            is_suppressed=_is_suppressed(attributes),
        )
        for value, column in values.items()
    ]
    return [
        *encoding_ctes(source, attributes, kept),
        *box_ctes(source, attributes, release, kept, represent, tuple(values) if may_lack_rows else None, is_older),
        *(Cte(part, "\nunion all\n".join(queries[part]) or _empty(part)) for part in PARTS),
    ]


def encoding_ctes(source: Source, attributes: tuple[Attribute, ...], kept: Sequence[str] = ()) -> list[Cte]:
    """Steps from the source to its distinct tuples as ranks: `encoded`."""
    columns = [*(f"{a.read} as {a.value}" for a in attributes), *kept]
    return [
        Cte("source", f"select {', '.join(columns)} from {source.relation}"),
        *tuples_ctes(source, attributes, ", ".join(a.value for a in attributes)),
        *(cte for attribute in attributes for cte in attribute.ctes),
        Cte("encoded", encoded_sql(attributes), materialized=True),
    ]


def tuples_ctes(source: Source, attributes: tuple[Attribute, ...], columns: str, part: str | None = None) -> list[Cte]:
    """The steps from rows to distinct tuples: those of the population, too, where the source has one. `part` is the
    column that says which rows count, if not all do."""
    if source.population is None:
        rows = f"count(*) filter (where {part})" if part else "count(*)"
        return [Cte("tuples", render("pipeline/tuples.sql", columns=columns, rows=rows), materialized=True)]
    spelt = source.population.spelt(a.column for a in attributes)
    read = [f"{name(column)}{a.collation} as {a.value}" for a, column in zip(attributes, spelt, strict=True)]
    return [
        Cte("population", f"select {', '.join(read)} from {source.population.relation}"),
        Cte("tuples", render("pipeline/tuples_population.sql", columns=columns), materialized=True),
    ]


def box_ctes(
    source: Source,
    attributes: tuple[Attribute, ...],
    release: str,
    kept: Sequence[str] = (),
    represent: str = "closure",
    lacking: Sequence[str] | None = None,
    is_older: bool = False,
) -> list[Cte]:
    """Steps from a printed table to its classes and the ranks that each covers, as its labels say: `boxes`.

    With `lacking`, the kept columns' names, rows that the table lacks are in the class of suppressed ones. A label that
    means nothing is an error; unless the release `is_older` than what the source is now, which may have lost values:
    then ranges need not end at one, and a label that nobody has any more is left out.
    """
    columns = [*(f"{_label(a, represent)} as {a.labels}" for a in attributes), *kept, "false as is_left_out"]
    known = attributes if represent == "closure" else ()
    printed = [Cte("printed", f"select {', '.join(columns)} from {release}")]
    if lacking is not None:
        printed = [Cte("printed_rows", printed[0].body), Cte("printed", _with_left_out(attributes, lacking))]
    return [
        *printed,
        *(cte for attribute in known for cte in _attribute_ctes(attribute, source, is_older)),
        Cte("boxes", _boxes_sql(known, _labels(attributes), _is_suppressed(attributes)), materialized=True),
    ]


def _with_left_out(attributes: tuple[Attribute, ...], kept: Sequence[str]) -> str:
    stars = ", ".join(f"'*' as {a.labels}" for a in attributes)
    left_out = render(
        "metrics/left_out.sql",
        stars=stars,
        values="".join(f"{column}, " for column in kept),
        kept=", ".join(kept) or "1 as nothing",
    )
    return f"from printed_rows\nunion all\nfrom (\n{left_out}\n)"


def measures_sql(parts: Mapping[str, str], k: str, beta: str = "0", mi_weight: str = "0.5") -> str:
    """The query with a row per measure, over the relations that stand for PARTS."""
    return render(
        "metrics/measures.sql",
        **parts,
        k=k,
        mi_weight=mi_weight,
        printed_depth=_depth("printed", beta),
        leaf_depth=_depth("leaf", beta),
    )


def _empty(part: str) -> str:
    return f"select {', '.join(f'null as {column}' for column in _EMPTY[part].split(', '))} where false"


def _labels(attributes: tuple[Attribute, ...]) -> str:
    return ", ".join(a.labels for a in attributes)


def _is_suppressed(attributes: tuple[Attribute, ...]) -> str:
    return " and ".join(f"coalesce({a.labels} = '*', false)" for a in attributes)


def known(attribute: Attribute) -> str:
    """The step with its printed labels and what each loses."""
    return f"known_{attribute.number}"


def counts(attribute: Attribute) -> str:
    """The step with the rows of the source for each of its ranks."""
    return f"counts_{attribute.number}"


def _attribute_ctes(attribute: Attribute, source: Source, is_older: bool) -> list[Cte]:
    fragments = {"domain": attribute.domain, "key": attribute.key(f"tuples.{attribute.value}")}
    unknown = (
        f"Column '{attribute.column}' prints labels that are no value, range or node of '{source.shown}': "
        f"name its hierarchy, or the source that the table was made from."
    )
    return [
        Cte(counts(attribute), render("metrics/counts.sql", **fragments), materialized=True),
        Cte(
            known(attribute),
            render(
                "metrics/known.sql",
                labels=f"({_labels_sql(attribute, is_older)})",
                counts=counts(attribute),
                unknown="false" if is_older else f"error({literal(unknown)})",
            ),
            materialized=True,
        ),
    ]


def _label(attribute: Attribute, represent: str) -> str:
    """What is printed, as text: a pair of typed columns is the range that it stands for."""
    first = name(attribute.output[0])
    if represent == "center" and attribute.is_range:
        return f"coalesce(cast({first} as varchar), '*')"
    if len(attribute.output) == 1:
        return f"cast({first} as varchar)"
    last = name(attribute.output[1])
    return (
        f"case when {first} is null then '*' when {first} = {last} then cast({first} as varchar) "
        f"else '[' || {first} || {literal(attribute.family.separator)} || {last} || ']' end"
    )


def _labels_sql(attribute: Attribute, is_older: bool) -> str:
    fragments = {
        "column": literal(attribute.column),
        "weight": literal(attribute.weight),
        "label": attribute.labels,
        "nodes": attribute.nodes,
        "domain": attribute.domain,
    }
    if not attribute.is_range:
        return render("metrics/labels_nodes.sql", **fragments)
    if attribute.is_snapped:
        return _cells_sql(attribute, fragments)
    end = "(.+)" if attribute.family.separator != "-" else f"({_NUMBER})"
    return render(
        "metrics/labels_values.sql",
        **fragments,
        pattern=literal(rf"^\[{end}{attribute.family.separator}{end}\]$"),
        first=_place(attribute, "first") if is_older else "cast(null as double)",
        last=_place(attribute, "last") if is_older else "cast(null as double)",
    )


def _place(attribute: Attribute, end: str) -> str:
    """Where the text of an end lies on the number line, as SQL."""
    is_number = attribute.family.separator == "-"
    return f"try_cast({end} as double)" if is_number else f"epoch(try_cast({end} as {attribute.type}))"


def _cells_sql(attribute: Attribute, fragments: Mapping[str, str]) -> str:
    end = rf"({_NUMBER}|-?inf)" if attribute.family.separator == "-" else "(.+)"
    return render(
        "metrics/labels_cells.sql",
        **fragments,
        pattern=literal(rf"^\[{end}{attribute.family.separator}{end}[\])]$"),
        first=_place(attribute, "first_text"),
        last=_place(attribute, "last_text"),
    )


def _leaves_sql(attribute: Attribute) -> str:
    kind = "values" if attribute.is_range else "nodes"
    fragments = {"column": literal(attribute.column), "counts": counts(attribute), "nodes": attribute.nodes}
    return render(f"metrics/leaves_{kind}.sql", **fragments)


def _boxes_sql(attributes: tuple[Attribute, ...], labels: str, is_suppressed: str) -> str:
    bounds = [f"{known(a)}.lo as {a.lo}, {known(a)}.hi as {a.hi}" for a in attributes]
    return render(
        "metrics/boxes.sql",
        bounds=", ".join(bounds) or "null as nothing",
        labels=labels,
        is_suppressed=is_suppressed,
        joins="\n".join(
            f"join {known(a)} on {known(a)}.label is not distinct from classes.{a.labels}" for a in attributes
        ),
    )


def _information_sql(attribute: Attribute, value: str, sensitive: str) -> str:
    joint = render(
        "metrics/joint.sql",
        quasi=attribute.value,
        value=value,
        domain=attribute.domain,
        key=attribute.key("counted.quasi"),
    )
    return (
        "from ("
        + render(
            "metrics/information.sql",
            joint=joint,
            column=literal(attribute.column),
            sensitive=literal(sensitive),
            label=attribute.labels,
            value=value,
            known=known(attribute),
        )
        + "\n)"
    )


def _depth(node: str, beta: str) -> str:
    """Paper 003's weighted distance of a node from the top, as a share of the whole height: WHD(level, 1)."""

    def steps(count: str) -> str:
        return f"coalesce(list_sum(list_transform(range(1, {count}), lambda step: power(step, -({beta})))), 0)"

    return f"({steps(f'{node}.height - {node}.level')} / {steps(f'{node}.height')})"
