"""From rows to distinct tuples of ranks, as SQL: the first steps of every query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, literal, name, render


def encoded_sql(attributes: Sequence[Attribute], seen: Sequence[str] = (), is_part: bool = False) -> str:
    """The distinct tuples as ranks, and as codes of other columns that the core sees. `is_part` says that some tuples
    only lend their values."""
    ranks = [f"{a.domain}.rank" for a in attributes]
    codes = [f"dense_rank() over (order by tuples.{column} nulls last) - 1 as {column}_code" for column in seen]
    columns = [f"{rank} as {a.rank}" for rank, a in zip(ranks, attributes, strict=True)]
    return render(
        "pipeline/encoded.sql",
        order=", ".join([*ranks, *(f"tuples.{column}" for column in seen)]),
        columns=", ".join([*columns, *codes]),
        joins="\n".join(
            f"left join {a.domain} on {a.domain}.value is not distinct from {a.key('tuples.' + a.value)}"
            for a in attributes
        ),
        part="where tuples.rows > 0" if is_part else "",
    )


PART = "is_released"
"""The column of the query's own that says which rows are released, where not all are."""


def pseudonymized(source: Source, policy: Policy, key: str | None, part: str | None) -> Source:
    """The source with keyed hashes in the place of what is to be pseudonymized: nothing later sees the values."""
    hidden = source.spelt(policy.pseudonymize)
    if not hidden:
        return source
    columns = (
        f"sqlanon_pseudonym({literal(key)}, cast({name(column)} as varchar)) as {name(column)}"
        if column in hidden
        else name(column)
        for column in (*source.columns, *([part] if part else []))
    )
    return replace(source, relation=f"(select {comma(columns)} from {source.relation})")


def encoding(
    source: Source,
    attributes: tuple[Attribute, ...],
    kept: dict[str, str],
    seen: list[str],
    trees: tuple[Attribute, ...] = (),
    part: str | None = None,
) -> list[Cte]:
    """The steps from the source to tuples of ranks, the sensitive columns' among them that are trees to the core."""
    columns = comma([*(a.value for a in attributes), *seen])
    coded = [column for column in seen if column not in {tree.value for tree in trees}]
    every = (*attributes, *trees)
    return [
        Cte("source", _source_sql(source, attributes, kept, part), materialized=True),
        *tuples_ctes(source, attributes, columns, part and PART),
        *(cte for attribute in every for cte in attribute.ctes),
        Cte("nodes", "\nunion all\n".join(f"select * from {a.nodes}" for a in every), materialized=True),
        Cte("encoded", encoded_sql(every, coded, is_part=part is not None), materialized=True),
    ]


def comma(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _source_sql(source: Source, attributes: tuple[Attribute, ...], kept: dict[str, str], part: str | None) -> str:
    columns = [f"{a.read} as {a.value}" for a in attributes]
    columns += [f"{name(column)} as {internal}" for column, internal in kept.items()]
    columns += [f"{name(part)} as {PART}"] if part else []
    return f"select\n    {', '.join(columns)}\nfrom {source.relation}"


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
