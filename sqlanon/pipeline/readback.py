"""How much of a table survived: its printed labels looked up in the hierarchies, as SQL.

Nothing links a printed row to its source row. Where a measure is a sum over rows of something before minus something
after, the two sums are taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.source import Source
from sqlanon.sqltext import Cte, literal, name, render

_NUMBER = r"-?(?:[0-9.]+(?:e[+-]?[0-9]+)?)"


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
        Cte("boxes", _boxes_sql(known, label_names(attributes), is_suppressed_sql(attributes)), materialized=True),
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


def label_names(attributes: tuple[Attribute, ...]) -> str:
    return ", ".join(a.labels for a in attributes)


def is_suppressed_sql(attributes: tuple[Attribute, ...]) -> str:
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
