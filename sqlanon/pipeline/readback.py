"""How much of a table survived: its released labels looked up in the hierarchies, as SQL.

Nothing links a released row to its source row. Where a measure is a sum over rows of something before minus something
after, the two sums are taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from sqlanon.errors import SAID
from sqlanon.families import DECIMAL, FLOAT, WHOLE, distance_sql
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.cells import scale_of, units_sql
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.sqltext import Cte, literal, name, render

_NUMBER = r"-?(?:[0-9.]+(?:e[+-]?[0-9]+)?)"


class Tolerance(Enum):
    """How far a release may be from what its source is now."""

    EXACT = "it is of these rows"
    LACKING = "it may lack rows of the source: they count as suppressed"
    OLDER = "the source has changed since: ranges need not end at a value, and labels nobody has any more are left out"


def box_ctes(
    reading: Reading,
    release: str,
    kept: Sequence[str] = (),
    tolerance: Tolerance = Tolerance.EXACT,
    represent: str = "closure",
    values: Sequence[str] = (),
    left_out: int = 0,
    has_mass: bool = True,
) -> list[Cte]:
    """Steps from a released table to its classes and the ranks that each covers, as its labels say: `boxes`.

    `kept` are expressions over the release's columns and `values` the names among them by which rows that it lacks are
    recognized; `left_out` counts rows that are in neither. How many rows of the source a label covers, its `mass`, is
    for those who ask. A label that means nothing is an error, unless the source has changed since.
    """
    attributes = reading.attributes
    columns = [*(f"{label_sql(a, represent)} as {a.labels}" for a in attributes), *kept, "false as is_left_out"]
    known = attributes if represent == "closure" else ()
    printed = [Cte("printed", f"select {', '.join(columns)} from {release}")]
    if tolerance is Tolerance.LACKING:
        printed = [Cte("printed_rows", printed[0].body), Cte("printed", _with_left_out(attributes, values))]
    if left_out:
        stars = [*(f"'*' as {a.labels}" for a in attributes), *(f"null as {value}" for value in values)]
        gone = f"select {', '.join([*stars, 'true as is_left_out'])} from range({left_out})"
        *earlier, last = printed
        printed = [*earlier, Cte("printed_known", last.body), Cte("printed", f"from printed_known\nunion all\n{gone}")]
    is_older = tolerance is Tolerance.OLDER
    return [
        *printed,
        *(cte for attribute in known for cte in attribute_ctes(attribute, reading.source, is_older, has_mass)),
        Cte("boxes", _boxes_sql(known, label_names(attributes), is_suppressed_sql(attributes)), materialized=True),
    ]


def _with_left_out(attributes: tuple[Attribute, ...], kept: Sequence[str]) -> str:
    stars = [f"'*' as {a.labels}" for a in attributes]
    left_out = render(
        "steps/readback/left_out.sql",
        columns=", ".join([*stars, *kept, "true as is_left_out"]),
        kept=", ".join(kept) or "1 as nothing",
    )
    return f"from printed_rows\nunion all\nfrom (\n{left_out}\n)"


def label_names(attributes: tuple[Attribute, ...]) -> str:
    return ", ".join(a.labels for a in attributes)


def is_suppressed_sql(attributes: tuple[Attribute, ...], prefix: str = "") -> str:
    return " and ".join(f"coalesce({prefix}{a.labels} = '*', false)" for a in attributes)


def known(attribute: Attribute) -> str:
    """The step with its released labels and what each loses."""
    return f"known_{attribute.number}"


def counts(attribute: Attribute) -> str:
    """The step with the rows of the source for each of its ranks."""
    return f"counts_{attribute.number}"


def attribute_ctes(attribute: Attribute, source: Source, is_older: bool = False, has_mass: bool = True) -> list[Cte]:
    """The steps with the rows of the source for each rank, and with the released labels and what each loses."""
    unknown = (
        f"Column '{attribute.column}' has labels that are not a value, range or node of '{source.shown}': "
        f"name its hierarchy, or the source that the table was made from."
    )
    fragments = {
        "labels": f"({_labels_sql(attribute, is_older)})",
        "unknown": "false" if is_older else f"error({literal(SAID + unknown)})",
    }
    if not has_mass:
        return [Cte(known(attribute), render("steps/readback/known_ranks.sql", **fragments), materialized=True)]
    return [
        Cte(counts(attribute), render("steps/readback/counts.sql", rank=attribute.rank), materialized=True),
        Cte(
            known(attribute),
            render("steps/readback/known.sql", **fragments, counts=counts(attribute)),
            materialized=True,
        ),
    ]


def label_sql(attribute: Attribute, represent: str = "closure") -> str:
    """What is released, as text: a pair of typed columns is the range that it stands for."""
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
        return render("steps/readback/read_nodes.sql", **fragments)
    if not attribute.is_snapped:
        return _values_sql(attribute, fragments, is_older)
    drawn = _cells_sql(attribute, fragments)
    if not attribute.may_be_tight:
        return drawn
    # Cells of what is continuous end in a parenthesis, ranges whose ends are values in a bracket.
    tight = _values_sql(attribute, fragments, is_older)
    return (
        f"select * from ({drawn}) where label like '%)'\nunion all by name\n"
        f"select * from ({tight}) where label is null or label not like '%)'"
    )


def _values_sql(attribute: Attribute, fragments: Mapping[str, str], is_older: bool) -> str:
    end = "(.+)" if attribute.family.separator != "-" else f"({_NUMBER})"
    pattern = literal(rf"^\[{end}{attribute.family.separator}{end}\]$")
    ends = render("steps/readback/ends.sql", **fragments, pattern=pattern)
    if is_older:
        places = {place: _place(attribute, place) for place in ("first", "last")}
        ends = render("steps/readback/nearest_ends.sql", **fragments, **places, ends=ends)
    return render("steps/readback/read_values.sql", **fragments, ends=ends)


def _place(attribute: Attribute, end: str) -> str:
    """How far the text of an end lies above the smallest value, as SQL: exact where the column's type can hold it."""
    value, origin = f"try_cast({end} as {attribute.type})", "origin"
    exact = distance_sql(attribute.type, value, origin)
    if attribute.family not in (WHOLE, DECIMAL):
        return exact if attribute.family is not FLOAT else f"try_cast({end} as double)"
    number = f"try_cast({end} as double)"
    if attribute.family is DECIMAL:
        scale = scale_of(attribute.type)
        digits = f"split_part({end}, '.', 1) || rpad(split_part({end}, '.', 2), {scale}, '0')"
        counted = f"try_cast({digits} as hugeint) - {units_sql(origin)}"
        is_plain = f"regexp_full_match({end}, '-?[0-9]+([.][0-9]{{0,{scale}}})?')"
        exact = f"case when {is_plain} then try(cast({counted} as double) / 1e{scale}) end"
        return f"coalesce({exact}, {number} - cast({origin} as double))"
    return f"case when cast({value} as double) = {number} then {exact} else {number} - cast({origin} as double) end"


def _cells_sql(attribute: Attribute, fragments: Mapping[str, str]) -> str:
    end = rf"({_NUMBER}|-?inf)" if attribute.family.separator == "-" else "(.+)"
    return render(
        "steps/readback/read_cells.sql",
        **fragments,
        pattern=literal(rf"^\[{end}{attribute.family.separator}{end}[\])]$"),
        first=_place(attribute, "first_text"),
        last=_place(attribute, "last_text"),
    )


def _boxes_sql(attributes: tuple[Attribute, ...], labels: str, is_suppressed: str) -> str:
    bounds = [f"{known(a)}.lo as {a.lo}, {known(a)}.hi as {a.hi}" for a in attributes]
    return render(
        "steps/readback/boxes.sql",
        bounds=", ".join(bounds) or "null as nothing",
        labels=labels,
        is_suppressed=is_suppressed,
        classes_with_ranks=with_ranks("classes", attributes),
    )


def with_ranks(relation: str, attributes: Sequence[Attribute]) -> str:
    """A relation with released labels, joined to the ranks that they cover; behind FROM."""
    joins = (f"join {known(a)} on {known(a)}.label is not distinct from {relation}.{a.labels}" for a in attributes)
    return "\n".join([relation, *joins])
