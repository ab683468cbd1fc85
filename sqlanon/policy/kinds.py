"""Kinds of release: what each promises, how it is proved and stored, and what can be done with it.

A policy has one kind. Everything that differs between kinds is declared here; the rest of the package asks
`policy.kind` and never a method's flags.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlanon.udfs.methods import METHODS
from sqlanon.wording import listed

if TYPE_CHECKING:
    from sqlanon.policy.policy import Policy


@dataclass(frozen=True)
class Kind:
    """One kind of release. Sentences have {k}, {quasi} and {sensitive} where the policy's own go."""

    name: str
    property: str
    """What is proved, as a proof names it."""
    sentence: str
    """What holds, for people."""
    aim: str
    """What the policy asks for, for people."""
    shortfall: str
    """What is too little in a broken release, with {} for how much there is."""
    proof: str
    """The step of sql/ that proves it."""
    reads_source: bool = False
    """Does the proof compare the release with its source?"""
    has_classes: bool = True
    """Do rows that print the same form classes, which are counted?"""
    prints_exact: bool = False
    """Are quasi-identifiers released unchanged, with the sensitive values in a table of their own?"""
    drops_rows: bool = False
    """Are rows left out even if max_suppression does not allow for it?"""
    counts: str = "rows"
    """What makes up k: rows, entities, or the people of a population."""
    measures_sensitive: bool = True
    """Can anything be said of the sensitive values of a class?"""
    measured: tuple[str, ...] = ("l", "t")
    """The models that are measured whether or not they are required."""
    unrefreshable: str | None = None
    """Why new rows cannot be added to it, if they cannot; {method} is the policy's."""
    unattackable: str | None = None
    """Why attacks that know the source say nothing about it, if they do not; {} is the release."""
    note: str = ""
    """What a comparison says of it where others promise classes of k rows."""

    def claim(self, policy: Policy, k: int) -> str:
        """The property that holds, as one sentence."""
        return self.sentence.format(k=k, quasi=listed(policy.quasi), sensitive=listed(policy.sensitive))

    def asks(self, policy: Policy) -> str:
        """What the policy asks for, as one sentence."""
        return self.aim.format(k=policy.k, quasi=listed(policy.quasi), sensitive=listed(policy.sensitive))


HOMOGENEOUS = Kind(
    name="homogeneous",
    property="k-anonymity",
    sentence="Every row is one of at least {k} that look the same in {quasi}.",
    aim="They are made coarser until every combination is shared by {k} rows or more (k = {k}).",
    shortfall="A released class has only {} rows",
    proof="steps/prove/proof.sql",
)
ENTITIES = replace(
    HOMOGENEOUS,
    name="entities",
    property="k-anonymity of entities, row by row",
    sentence="Every row is one of those of at least {k} people that look the same in {quasi}.",
    aim="They are made coarser until every combination is shared by {k} people or more (k = {k}), row by row.",
    shortfall="A released class has only {} entities",
    proof="steps/prove/proof_people.sql",
    counts="entities",
    unrefreshable="it counts people who have several rows, and one person's rows may be added in different versions",
)
LINKED = replace(
    ENTITIES,
    name="linked entities",
    property="linked k-anonymity of entities",
    sentence="Every person is one of at least {k} whose rows, all together, look the same in {quasi}.",
    aim="They are made coarser, and some rows are dropped, until every person's set of rows is shared by {k} people or "
    "more (linked k = {k}).",
    shortfall="The number of people who share the rarest set of released rows is {}",
    proof="steps/prove/proof_linked.sql",
    drops_rows=True,
    unrefreshable="it is linked: it groups people by all of their rows, so that one more row changes a person's group",
)
K_MAP = replace(
    HOMOGENEOUS,
    name="k-map",
    property="k-map",
    sentence="Every released combination of {quasi} covers at least {k} people of the population.",
    aim="They are made coarser until every combination covers {k} people of a population or more (k-map).",
    shortfall="A released class covers only {} people of the population",
    proof="steps/prove/proof_population.sql",
    reads_source=True,
    counts="people",
    unrefreshable="it is a k-map, whose classes may be single rows",
    unattackable="'{}' is a k-map. It protects people within its population, and attacks assume that the source is "
    "known",
)
OWN_BOXES = Kind(
    name="own boxes",
    property="non-homogeneous k-anonymity",
    sentence="Every record matches at least {k} rows, and every row at least {k} records, in {quasi}.",
    aim="They are made coarser until every row could be {k} people or more (k = {k}).",
    shortfall="A released row matches only {} records, or a record matches only that many rows",
    proof="steps/prove/proof_matches.sql",
    reads_source=True,
    has_classes=False,
    measures_sensitive=False,
    unrefreshable="its groups, of {method}, cannot be added to",
    note="a different promise: each row has k matches",
)
ANATOMY = Kind(
    name="anatomy",
    property="l-diversity of groups (anatomy)",
    sentence=(
        "Nobody can know which of the values of {sensitive} in a group of at least {k} rows belongs to which person."
    ),
    aim="They are released unchanged; the sensitive values are released separately, by groups.",
    shortfall="A released group has only {} rows",
    proof="steps/prove/proof.sql",
    has_classes=False,
    prints_exact=True,
    measured=("l",),
    unrefreshable="its groups, of {method}, cannot be added to",
    unattackable="'{}' releases centers or exact values. Attacks need a release whose labels cover values",
    note="a different promise: exact values, with the sensitive ones in a separate table",
)
KINDS = (HOMOGENEOUS, ENTITIES, LINKED, K_MAP, OWN_BOXES, ANATOMY)


def kind_of(method: str, population: str | None = None, entity: str | None = None, is_linked: bool = False) -> Kind:
    """The kind of a release by this method, with or without a population and an entity, linked or row by row."""
    core = METHODS[method]
    if core.is_exact:
        return ANATOMY
    if population is not None:
        return K_MAP
    if not core.is_homogeneous:
        return OWN_BOXES
    if entity is None:
        return HOMOGENEOUS
    return LINKED if is_linked else ENTITIES
