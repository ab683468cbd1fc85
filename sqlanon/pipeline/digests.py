"""Who is in a view: digests of its people, by which a later look at the source tells who came, left and changed.

With an identity (a patient number), a person is a salted SHA-256 of it, whatever else changes. Without one, rows have
no lasting number, so people are compared as multisets of what they are: a digest of all values that the policy reads,
equal rows being interchangeable. Values are digested as the types that they had when the view was made, so that a mere
change of type changes nobody. The table is private and keeps no quasi-identifiers; but whoever has the database has the
salt too, and finds out by trying whether a given person is in it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlanon.errors import CatalogError, PolicyError
from sqlanon.families import WHOLE, known_family
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.options import ROLES, ROW_WEIGHT_COLUMN
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, literal, name

OWN = "sqlanon_"
"""How the columns of private tables begin."""
ZONED = "TIMESTAMP WITH TIME ZONE"
DIGEST = "sqlanon_digest"
"""The column by which a person of the source is recognized, see members.py. No released table has it."""
STATE = "sqlanon_state"
"""The digest of a person's quasi-identifiers when their cohort got its label; NULL if they were not in the source."""
ADDED = "sqlanon_added"
"""The column of the version in which a person's row was first released."""
COHORT = "sqlanon_cohort"
"""The column of the people whom somebody was first released with, and never without."""
LEDGER = (DIGEST, ADDED, COHORT, STATE)
PLACE = "sqlanon_place"
"""The number of a row in its source, by which those that are left out are told."""


@dataclass(frozen=True)
class Digests:
    """How the people of a source are distinguished: a salt, the columns that the policy reads, their types, and the
    time zone in which times without one are meant."""

    salt: str
    types: Mapping[str, str]
    time_zone: str | None = None

    @classmethod
    def new(cls, source: Source, policy: Policy, time_zone: str | None = None) -> Digests:
        """Digests for a view of this source, with a salt of its own."""
        used = set(source.resolve_names(read_columns(policy)))
        for column in used:
            if fold(column).startswith(OWN):
                raise PolicyError(
                    f"Columns that begin with {OWN} are reserved for views: rename '{column}' in the source"
                )
        types = {column: kind for column, kind in source.types.items() if column in used}
        return cls(secrets.token_hex(16), types, time_zone)

    def of(self, source: Source, policy: Policy, key: str | None) -> Source:
        """The source's columns that the policy reads, as the types that they had, with the digests of each row, and its
        weight where that is released."""
        casts = {column: self._cast(column, source) for column in self.types}
        columns = [f"{cast} as {name(column)}" for column, cast in casts.items()]
        quasi = self._texts(self._named(policy.quasi), source, policy, key)
        columns += [f"{self.person(source, policy, key)} as {DIGEST}", f"{self._digest(quasi)} as {STATE}"]
        types = {**self.types, DIGEST: "BLOB", STATE: "BLOB"}
        if policy.row_weight:
            columns.append(f"cast(1 as double) as {ROW_WEIGHT_COLUMN}")
            types[ROW_WEIGHT_COLUMN] = "DOUBLE"
        relation = f"(select {', '.join(columns)} from {source.relation})"
        return replace(source, relation=relation, types=types, is_table=False)

    def person(self, source: Source, policy: Policy, key: str | None) -> str:
        """The expression for the digest of a row's person, over the columns of the source that it is made from."""
        return self._digest(self._texts(self.identity(policy) or list(self.types), source, policy, key))

    def identity(self, policy: Policy) -> list[str]:
        """The columns that identify a person."""
        return self._named(policy.identity)

    def check(self, source: Source, release: str) -> None:
        """Raise if the source's columns are no longer those that the view was made from."""
        for column, before in self.types.items():
            (spelt,) = source.resolve_names([column])
            kind = source.types[spelt]
            families = [known_family(each) for each in (before, kind)]
            is_zone = ZONED in (before, kind) and kind != before
            if kind != before and (None in families or families[0] != families[1] or (is_zone and not self.time_zone)):
                raise CatalogError(
                    f"Column '{column}' of '{source.shown}' was {before} when '{release}' was made and is {kind} now: "
                    f"cast it in the source, or make the view again with CREATE OR REPLACE ANONYMIZED VIEW"
                )

    def misfits(self, source: Source, policy: Policy) -> dict[str, str]:
        """Column → the query that counts its values that are not the same in the type that it had."""
        found = {}
        identity = self.identity(policy)
        for column, before in self.types.items():
            (spelt,) = source.resolve_names([column])
            is_number = column in identity and known_family(before) is WHOLE
            if (kind := source.types[spelt]) != before and not is_number:
                back = self._converted(self._cast(column, source), before, kind)
                condition = f"{back} is distinct from {name(spelt)}"
                found[column] = f"select count(*) from {source.relation} where {condition}"
        return found

    def _named(self, asked: tuple[str, ...]) -> list[str]:
        """Columns as they are named here."""
        spelt = {fold(column): column for column in self.types}
        return [spelt[fold(column)] for column in asked]

    def _cast(self, column: str, source: Source) -> str:
        """The column as the type that it had; NULL where a value does not fit."""
        (spelt,) = source.resolve_names([column])
        return self._converted(name(spelt), source.types[spelt], self.types[column])

    def _converted(self, value: str, kind: str, wanted: str) -> str:
        if kind == wanted:
            return value
        if ZONED in (kind, wanted):
            plain = value if kind == ZONED else f"try_cast({value} as timestamp)"
            zoned = f"timezone({literal(self.time_zone)}, {plain})"
            return zoned if wanted == ZONED else f"try_cast({zoned} as {wanted})"
        return f"try_cast({value} as {wanted})"

    def _texts(self, columns: list[str], source: Source, policy: Policy, key: str | None) -> list[str]:
        """The values of columns as text that is the same whatever their types are now."""
        hidden, identity = self._named(policy.pseudonymize), self.identity(policy)
        texts = []
        for column in columns:
            is_number = column in identity and known_family(self.types[column]) is WHOLE  # one number, however wide
            value = name(*source.resolve_names([column])) if is_number else self._cast(column, source)
            texts.append(self._text(column, value, key if column in hidden else None))
        return texts

    def _digest(self, texts: list[str]) -> str:
        parts = (f"coalesce(strlen({text}) || ':' || {text}, '-')" for text in texts)
        return f"unhex(sha256({literal(self.salt)} || {' || '.join(parts)}))"

    def _text(self, column: str, value: str, key: str | None) -> str:
        """A value as text that is the same in every session; a pseudonym in the place of what is hidden."""
        is_zoned = self.types[column] == ZONED
        written = f"cast(epoch_us({value}) as varchar)" if is_zoned else f"cast({value} as varchar)"
        return f"sqlanon_pseudonym({literal(key)}, {written})" if key is not None else written


def read_columns(policy: Policy) -> list[str]:
    """The columns that a policy names, those that identify people first."""
    named = [*policy.identity, *([policy.entity] if policy.entity else [])]
    return list(dict.fromkeys([*named, *(column for role in ROLES for column in getattr(policy, role))]))


def with_digest(policy: Policy) -> Policy:
    """The policy under which digests, and the weight if there is one, pass through to the rows."""
    weight = (ROW_WEIGHT_COLUMN,) if policy.row_weight else ()
    return replace(policy, unsafe_keep=(*policy.unsafe_keep, *weight, DIGEST, STATE), row_weight=False)


def with_places(reading: Reading) -> Reading:
    """What is read, with the number of each row, which passes through to the rows."""
    relation = f"(select *, row_number() over () as {PLACE} from {reading.source.relation})"
    source = replace(reading.source, relation=relation, types={**reading.source.types, PLACE: "BIGINT"}, is_table=False)
    policy = replace(reading.policy, unsafe_keep=(*reading.policy.unsafe_keep, PLACE))
    return replace(reading, source=source, policy=policy)
