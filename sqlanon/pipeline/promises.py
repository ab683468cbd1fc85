"""What a release promises, as the queries that verify it on what is released.

The query that makes a release and the check of a stored one ask the same. What differs between kinds of release is
declared in policy/kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlanon.errors import SAID, BrokenPromiseError
from sqlanon.pipeline.encode import Held, measured_encoding
from sqlanon.pipeline.models import Asked, Sensitive, Watched
from sqlanon.pipeline.readback import box_ctes
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.kinds import ANATOMY, ENTITIES, HOMOGENEOUS, K_MAP, LINKED, Kind
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, literal, name, names, render, with_ctes
from sqlanon.udfs.models import MODELS

HISTORY = "sqlanon history"
"""The column with all rows of a person, in the query that looks at models; no table has one of this name."""
TIED = (
    "The release shows which rows are one person's, and the number of people who share the rarest set of rows is ",
    "; k is {k}. Set linked = true or pseudonyms = 'class', or do not release {entity}",
)
"""What to say of pseudonyms that tie too much together: before how many people there are, and after."""
GROUP = "group_id"
"""The column that links the two tables of anatomy."""


@dataclass(frozen=True)
class Promise:
    """A property that holds of a release, with a query for each part of it, over any relation that holds the release.

    `proof` answers with one row (smallest, classes, rows), where `smallest` must be k or more; `reached` with what a
    sensitive column reaches of a model, or it is None where nothing is promised of sensitive columns.
    """

    kind: Kind
    printed: tuple[str, ...]
    """The columns that make the classes."""
    proof: Callable[[str], str]
    reached: Callable[[str, Asked, Sensitive], str] | None
    entity: str | None = None
    """The column that tells whom a row is about, where people are counted."""
    is_tied: bool = False
    """Does the release show which rows are one person's, so that sets of rows must be shared by k people too?"""

    def linked(self, released: str) -> str | None:
        """The query that counts people over the set of their rows, where they can be counted: (smallest, ...)."""
        return None if self.entity is None else linked_sql(released, self.printed, self.entity)

    def steps(self, released: str, watched: Watched) -> list[Cte]:
        """The steps `proof` and, for each sensitive column and model that is required of it, `model_1` and so on."""
        steps = [Cte("proof", self.proof(released), materialized=True)]
        if self.is_tied and (linked := self.linked(released)) is not None:
            steps.append(Cte("linked", linked))
        for number, (asked, sensitive) in enumerate(watched, 1):
            assert self.reached is not None
            steps.append(Cte(f"model_{number}", self.reached(released, asked, sensitive)))
        return steps

    @property
    def proofs(self) -> tuple[str, ...]:
        """The steps before those of models: `linked` as well, where rows are tied together."""
        return ("proof", "linked") if self.is_tied else ("proof",)

    def conditions(self, policy: Policy, watched: Watched) -> list[str]:
        """What makes the query fail, where the steps say that less holds than the policy asks for."""
        before, after = self.kind.shortfall.split("{}")
        mark, ending = SAID + BrokenPromiseError.mark, ": nothing is released."
        broken = [
            f"when proof.smallest < {policy.k} then error({literal(mark + before)} || proof.smallest || "
            f"{literal(f'{after}, k is {policy.k}{ending}')})"
        ]
        if self.is_tied:
            broken.append(
                f"when linked.smallest < {policy.k} then error({literal(mark + TIED[0])} || linked.smallest || "
                f"{literal(TIED[1].format(entity=policy.entity, k=policy.k) + ending)})"
            )
        return broken + [
            f"when {asked.broken(f'model_{number}.reached')} then error({literal(mark + asked.shortfall[0])} || "
            f"model_{number}.reached || {literal(asked.shortfall[1].format(sensitive.column) + ending)})"
            for number, (asked, sensitive) in enumerate(watched, 1)
        ]


def promise_of(
    reading: Reading, *, entity: str | None = None, is_encoded: bool = False, held: Held | None = None
) -> Promise:
    """The promise of a release of what is read. `is_encoded` says that the steps up to `encoded` are at hand, `held`
    where their rows are kept, and `entity` which released column tells whom a row is about, if one does."""
    kind = reading.policy.kind
    if kind.reads_source:
        return _covering(kind, reading, is_encoded, held)
    if kind.prints_exact:
        return groups_apart()
    return classes_of(reading.policy, reading.released, entity)


def classes_of(policy: Policy, printed: Sequence[str], entity: str | None) -> Promise:
    """The promise of a release whose rows form classes: linked, of people or, where its `entity` is not released, of
    rows."""
    if entity is None:
        return equal_rows(printed)
    if policy.kind is LINKED:
        return linked_rows(printed, entity)
    return replace(equal_rows(printed, entity), is_tied=policy.ties_rows)


def linked_rows(printed: Sequence[str], entity: str) -> Promise:
    """Linked k-anonymity: every set of rows that a person has is that of k people or more.

    Models that count people look at those who share a set of rows, and the others at each class of rows among them: no
    part of the release that somebody who knows all rows of a person can point at is worse.
    """

    def reached(released: str, asked: Asked, sensitive: Sensitive) -> str:
        whole = render(
            "steps/prove/with_history.sql",
            released=released,
            entity=name(entity),
            fields=_fields(printed),
            history=name(HISTORY),
        )
        classes = [HISTORY] if MODELS[asked.name].counts_people else [HISTORY, *printed]
        return asked.sql(f"({whole})", classes, sensitive, entity)

    return Promise(
        kind=LINKED,
        printed=tuple(printed),
        proof=lambda released: linked_sql(released, printed, entity),
        reached=reached,
        entity=entity,
    )


def linked_sql(released: str, printed: Sequence[str], entity: str) -> str:
    """The query with one row: how many people share the rarest set of rows, classes, rows."""
    return render(LINKED.proof, released=released, printed=names(printed), fields=_fields(printed), entity=name(entity))


def _fields(printed: Sequence[str]) -> str:
    """The fields of a row as struct_pack takes them."""
    return ", ".join(f"q{number} := {name(column)}" for number, column in enumerate(printed, 1))


def equal_rows(printed: Sequence[str], entity: str | None = None) -> Promise:
    """k-anonymity: every class of rows that print the same has k of them, or those of k people with an `entity`."""
    kind = HOMOGENEOUS if entity is None else ENTITIES
    fragments = {"printed": names(printed)} | ({} if entity is None else {"entity": name(entity)})
    return Promise(
        kind=kind,
        printed=tuple(printed),
        proof=lambda released: render(kind.proof, released=released, **fragments),
        reached=lambda released, asked, sensitive: asked.sql(released, printed, sensitive, entity),
        entity=entity,
    )


def mapped_rows(reading: Reading) -> Promise:
    """k-map: every released class covers k people of the source's population, see udfs/evaluate/population.py."""
    return _covering(K_MAP, reading, is_encoded=False, held=None)


def _covering(kind: Kind, reading: Reading, is_encoded: bool, held: Held | None) -> Promise:
    """A promise about the ranks that released labels cover, and the tuples of the source."""
    printed = reading.released

    def proof(released: str) -> str:
        before = [] if is_encoded else measured_encoding(reading, held=held)
        found = render(
            kind.proof,
            lo=", ".join(a.lo for a in reading.attributes),
            hi=", ".join(a.hi for a in reading.attributes),
            ranks=", ".join(a.rank for a in reading.attributes),
        )
        return with_ctes([*before, *box_ctes(reading, released, has_mass=False)], found)

    reached = equal_rows(printed).reached if kind.measures_sensitive else None
    return Promise(kind=kind, printed=printed, proof=proof, reached=reached)


def groups_apart() -> Promise:
    """l-diversity of groups whose quasi-identifiers are exact and whose sensitive values are listed with counts."""
    return Promise(
        kind=ANATOMY,
        printed=(GROUP,),
        proof=lambda released: render(ANATOMY.proof, released=released, printed=names([GROUP])),
        reached=lambda released, asked, sensitive: render(
            "steps/prove/diversity_listed.sql", released=released, sensitive=name(sensitive.column), group=GROUP
        ),
    )


def listed_sql(relation: str, group: str, value: str, rows: str) -> str:
    """The query that lists the sensitive values of each group with their counts, `rows` an aggregate that counts."""
    return render("steps/print/listed.sql", relation=relation, group=group, value=value, rows=rows)
