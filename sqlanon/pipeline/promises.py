"""What a release promises, as the queries that verify it on what is printed.

Most methods print classes of k equal rows. Two do not: `nonhomogeneous` gives every row a box of its own, and `anatomy`
prints values as they are with the sensitive ones apart. Here is all that is different about their promises; the query
that makes a release and the check of a stored one ask the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import encoding_ctes
from sqlanon.pipeline.models import Asked, Sensitive, Watched
from sqlanon.pipeline.readback import box_ctes
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, literal, name, names, render, with_ctes
from sqlanon.udfs.methods import METHODS

GROUP = "group_id"
"""The column that links the two tables of anatomy."""


@dataclass(frozen=True)
class Promise:
    """A property that holds of a release, with a query for each part of it, over any relation that holds the release.

    `proof` answers with one row (smallest, classes, rows), where `smallest` must be k or more; `reached` with what a
    sensitive column reaches of a model, or it is None where nothing is promised of sensitive columns.
    """

    property: str
    printed: tuple[str, ...]
    """The columns that make the classes."""
    shortfall: str
    """What is too little in a broken one, with {} for how much there is."""
    proof: Callable[[str], str]
    reached: Callable[[str, Asked, Sensitive], str] | None
    measured: tuple[str, ...] = ("l", "t")
    """The models that are measured whether or not they are asked for."""
    entity: str | None = None
    """The column that tells whom a row is about, where people are counted."""

    def steps(self, released: str, watched: Watched) -> list[Cte]:
        """The steps `proof` and, for each sensitive column and model that is asked of it, `model_1` and so on."""
        steps = [Cte("proof", self.proof(released), materialized=True)]
        for number, (asked, sensitive) in enumerate(watched, 1):
            assert self.reached is not None
            steps.append(Cte(f"model_{number}", self.reached(released, asked, sensitive)))
        return steps

    def conditions(self, policy: Policy, watched: Watched) -> list[str]:
        """What makes the query fail, where the steps say that less holds than the policy asks for."""
        before, after = self.shortfall.split("{}")
        ending = ": nothing is released."
        broken = [
            f"when proof.smallest < {policy.k} then error({literal(before)} || proof.smallest || "
            f"{literal(f'{after}, k is {policy.k}{ending}')})"
        ]
        return broken + [
            f"when {asked.broken(f'model_{number}.reached')} then error({literal(asked.shortfall[0])} || "
            f"model_{number}.reached || {literal(asked.shortfall[1].format(sensitive.column) + ending)})"
            for number, (asked, sensitive) in enumerate(watched, 1)
        ]


def promise_of(
    policy: Policy,
    attributes: tuple[Attribute, ...],
    source: Source,
    is_encoded: bool = False,
    entity: str | None = None,
) -> Promise:
    """The promise of a release under this policy. `is_encoded` says that the steps up to `encoded` are at hand, and
    `entity` which of its columns tells whom a row is about, if one does."""
    method = METHODS[policy.method]
    if method.is_exact:
        return groups_apart()
    if policy.population is not None:
        return mapped_rows(attributes, source, is_encoded)
    if method.is_homogeneous:
        return equal_rows([column for attribute in attributes for column in attribute.output], entity)
    return matched_rows(attributes, source, is_encoded)


def equal_rows(printed: Sequence[str], entity: str | None = None) -> Promise:
    """k-anonymity: every class of rows that print the same has k of them, or those of k people with an `entity`."""
    return Promise(
        property="k-anonymity" if entity is None else "k-anonymity of entities",
        printed=tuple(printed),
        shortfall=f"A printed class holds only {{}} {'rows' if entity is None else 'entities'}",
        proof=lambda released: proof_sql(released, printed, entity),
        reached=lambda released, asked, sensitive: asked.sql(released, printed, sensitive, entity),
        entity=entity,
    )


def mapped_rows(attributes: tuple[Attribute, ...], source: Source, is_encoded: bool) -> Promise:
    """k-map: every printed class covers k people of the source's population, see udfs/kmap.py."""
    printed = [column for attribute in attributes for column in attribute.output]
    return replace(
        equal_rows(printed),
        property="k-map",
        shortfall="A printed class covers only {} people of the population",
        proof=lambda released: _covering_sql("pipeline/proof_population.sql", attributes, source, is_encoded, released),
    )


def _covering_sql(file: str, attributes: tuple[Attribute, ...], source: Source, is_encoded: bool, released: str) -> str:
    """A query over the ranks that printed classes cover, and the tuples of the source."""
    before = [] if is_encoded else encoding_ctes(source, attributes)
    found = render(
        file,
        lo=", ".join(a.lo for a in attributes),
        hi=", ".join(a.hi for a in attributes),
        ranks=", ".join(a.rank for a in attributes),
    )
    return with_ctes([*before, *box_ctes(source, attributes, released)], found)


def matched_rows(attributes: tuple[Attribute, ...], source: Source, is_encoded: bool) -> Promise:
    """Every record may stand behind k rows and every row for k records, see udfs/matches.py."""
    return Promise(
        property="non-homogeneous k-anonymity",
        printed=tuple(column for attribute in attributes for column in attribute.output),
        shortfall="A printed row may stand for only {} records, or a record behind so few rows",
        proof=lambda released: _covering_sql("pipeline/proof_matches.sql", attributes, source, is_encoded, released),
        reached=None,
    )


def groups_apart() -> Promise:
    """l-diversity of groups whose quasi-identifiers are exact and whose sensitive values are listed with counts."""
    return Promise(
        property="l-diversity of groups (anatomy)",
        printed=(GROUP,),
        shortfall="A printed group holds only {} rows",
        proof=lambda released: proof_sql(released, [GROUP]),
        reached=lambda released, asked, sensitive: render(
            "pipeline/diversity_listed.sql", released=released, sensitive=name(sensitive.column), group=GROUP
        ),
        measured=("l",),
    )


def proof_sql(released: str, printed: Sequence[str], entity: str | None = None) -> str:
    """The query that counts the printed classes."""
    if entity is not None:
        return render("pipeline/proof_people.sql", released=released, printed=names(printed), entity=name(entity))
    return render("pipeline/proof.sql", released=released, printed=names(printed))


def listed_sql(relation: str, group: str, value: str, rows: str) -> str:
    """The query that lists the sensitive values of each group with their counts, `rows` an aggregate that counts."""
    return render("pipeline/listed.sql", relation=relation, group=group, value=value, rows=rows)
