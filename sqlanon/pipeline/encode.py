"""From rows to distinct tuples of ranks, as SQL: the first steps of every query.

An engine may keep the rows of these steps in tables of its own and say where they are (`held`): making a release,
proving it and measuring it then encode the source once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.sqltext import Cte, literal, name, render

PART = "is_released"
"""The column of the query's own that says which rows are released, where not all are."""
Held = Mapping[str, str]
"""Step → the table that has its rows."""

NODE = "attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place"
"""What a core sees of a node, in as few bytes as hold it: a column of numbers has as many nodes as values."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a source are called inside a query: `kept` maps those that are released unchanged to their
    names there, `seen` are the ones among them that the core sees, and `trees` those that are trees to it. `hidden`
    ones are needed and not released."""

    kept: Mapping[str, str]
    seen: tuple[str, ...] = ()
    trees: tuple[Attribute, ...] = ()
    hidden: tuple[str, ...] = ()
    entity: str | None = None

    @classmethod
    def of(cls, reading: Reading) -> Columns:
        """The names for a release under the reading's policy."""
        source, policy, sensitive = reading.source, reading.policy, reading.sensitive
        roles = [*policy.sensitive, *policy.keep, *policy.unsafe_keep, *policy.pseudonymize]
        others = source.resolve_names(roles)
        entity = source.resolve_names([policy.entity] if policy.entity is not None else [])
        hidden = [column for column in entity if column not in others]
        kept = {column: f"c{number}" for number, column in enumerate([*others, *hidden], 1)}
        trees = {one.column: one.attribute for one in sensitive if one.attribute is not None and policy.t is not None}
        kept |= {column: tree.value for column, tree in trees.items()}
        seen = [kept[one.column] for one in sensitive] if policy.sees_sensitive else []
        seen += [kept[column] for column in entity]
        return cls(kept, tuple(seen), tuple(trees.values()), tuple(hidden), entity[0] if entity else None)


def encoding(
    reading: Reading, columns: Columns, source: Source | None = None, part: str | None = None, held: Held | None = None
) -> list[Cte]:
    """The steps from the source to tuples of ranks, the sensitive columns' among them that are trees to the core.

    `source` stands for the reading's own where its values were replaced, such as by pseudonyms. `part` is the column
    that says which rows are released.
    """
    read = source or reading.source
    attributes = reading.attributes
    every = (*attributes, *columns.trees)
    coded = [column for column in columns.seen if column not in {tree.value for tree in columns.trees}]
    steps = [
        *_tuples(read, attributes, comma([*(a.value for a in attributes), *columns.seen]), part and PART),
        *(cte for attribute in every for cte in attribute.ctes),
        Cte("nodes", "\nunion all\n".join(f"select {NODE} from {a.nodes}" for a in every)),
        Cte("encoded", encoded_sql(every, coded, is_part=part is not None), materialized=True),
    ]
    return [Cte("source", _source_sql(read, attributes, columns, part), materialized=True), *kept_in(steps, held)]


def kept_in(steps: Sequence[Cte], held: Held | None) -> list[Cte]:
    """The steps, read from where their rows are kept."""
    return [Cte(cte.name, f"from {held[cte.name]}") if held and cte.name in held else cte for cte in steps]


def measured_encoding(reading: Reading, kept: Sequence[str] = (), held: Held | None = None) -> list[Cte]:
    """The same for those who look at quasi-identifiers alone; `kept` are expressions over the source's columns.

    What is held may tell tuples apart by sensitive values too: they are put together again.
    """
    attributes = reading.attributes
    columns = [*(f"{a.read} as {a.value}" for a in attributes), *kept]
    source = Cte("source", f"select {', '.join(columns)} from {reading.source.relation}")
    steps = [cte for attribute in attributes for cte in attribute.ctes]
    if held is None:
        tuples = _tuples(reading.source, attributes, comma(a.value for a in attributes))
        return [source, *tuples, *steps, Cte("encoded", encoded_sql(attributes), materialized=True)]
    counts = ["rows", *(["people"] if reading.source.population is not None else [])]
    summed = comma(f"sum({count})::bigint as {count}" for count in counts)
    together = f"select {comma(a.rank for a in attributes)}, {summed} from {held['encoded']} group by all"
    return [
        source,
        Cte("tuples", f"from {held['encoded']}"),
        *kept_in(steps, held),
        Cte("encoded", together, materialized=True),
    ]


def encoded_sql(attributes: Sequence[Attribute], seen: Sequence[str] = (), is_part: bool = False) -> str:
    """The distinct tuples as ranks, and as codes of other columns that the core sees. `is_part` says that some tuples
    are not released, and are here for their values alone."""
    ranks = [f"{a.domain}.rank" for a in attributes]
    codes = [f"dense_rank() over (order by tuples.{column} nulls last) - 1 as {column}_code" for column in seen]
    columns = [f"{rank} as {a.rank}" for rank, a in zip(ranks, attributes, strict=True)]
    return render(
        "steps/encode/encoded.sql",
        order=", ".join([*ranks, *(f"tuples.{column}" for column in seen)]),
        columns=", ".join([*columns, *codes]),
        tuples_with_domains=with_domains("tuples", attributes),
        is_released="tuples.rows > 0" if is_part else "true",
    )


def with_domains(relation: str, attributes: Iterable[Attribute]) -> str:
    """A relation with the attributes' values, joined to the domains that know their ranks; behind FROM."""
    joins = (
        f"left join {a.domain} on {a.domain}.value is not distinct from {a.key(f'{relation}.{a.value}')}"
        for a in attributes
    )
    return "\n".join([relation, *joins])


def pseudonymized(reading: Reading, key: str | None, part: str | None) -> Source:
    """The source with keyed hashes in the place of what is to be pseudonymized: nothing later sees the values."""
    source = reading.source
    hidden = source.resolve_names(reading.policy.pseudonymize)
    if not hidden:
        return source
    columns = (
        f"sqlanon_pseudonym({literal(key)}, cast({name(column)} as varchar)) as {name(column)}"
        if column in hidden
        else name(column)
        for column in (*source.columns, *([part] if part else []))
    )
    return replace(source, relation=f"(select {comma(columns)} from {source.relation})")


def comma(parts: Iterable[str]) -> str:
    """The parts of a list in SQL."""
    return ", ".join(parts)


def _source_sql(source: Source, attributes: tuple[Attribute, ...], columns: Columns, part: str | None) -> str:
    read = [f"{a.read} as {a.value}" for a in attributes]
    read += [f"{name(column)} as {internal}" for column, internal in columns.kept.items()]
    read += [f"{name(part)} as {PART}"] if part else []
    return f"select\n    {', '.join(read)}\nfrom {source.relation}"


def _tuples(source: Source, attributes: tuple[Attribute, ...], columns: str, part: str | None = None) -> list[Cte]:
    """The steps from rows to distinct tuples: those of the population, too, where the source has one. `part` is the
    column that says which rows count, if not all do."""
    if source.population is None:
        rows = f"count(*) filter (where {part})" if part else "count(*)"
        return [Cte("tuples", render("steps/encode/tuples.sql", columns=columns, rows=rows), materialized=True)]
    found = source.population.resolve_names(a.column for a in attributes)
    read = [f"{name(column)}{a.collation} as {a.value}" for a, column in zip(attributes, found, strict=True)]
    return [
        Cte("population", f"select {', '.join(read)} from {source.population.relation}"),
        Cte("tuples", render("steps/encode/tuples_population.sql", columns=columns), materialized=True),
    ]
