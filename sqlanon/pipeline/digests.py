"""Who is in a view: digests of its people's values, by which a later look at the source tells who came and who left.

Rows of a source have no lasting number and a release carries no key, so people are compared as multisets of what they
are: equal rows are interchangeable. Each view has a private table with a salted SHA-256, for each of
them, of the values that the policy reads. It is never published and keeps no values of people who were deleted; but
whoever has the database has the salt too, and finds out by trying whether somebody with given values is in it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlanon.errors import CatalogError, PolicyError
from sqlanon.families import known_family
from sqlanon.pipeline.source import Source
from sqlanon.policy.options import ROLES
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, literal, name

OWN = "sqlanon_"
"""How the columns of private tables begin."""
ZONED = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True)
class Digests:
    """How the people of a source are distinguished: a salt, the columns that the policy reads, and their types."""

    salt: str
    types: Mapping[str, str]

    @classmethod
    def new(cls, source: Source, policy: Policy) -> Digests:
        """Digests for a view of this source, with a salt of its own."""
        asked = [column for role in ROLES for column in getattr(policy, role)]
        used = set(source.resolve_names(asked))
        for column in used:
            if fold(column).startswith(OWN):
                raise PolicyError(
                    f"Columns that begin with {OWN} are reserved for views: rename '{column}' in the source"
                )
        return cls(secrets.token_hex(16), {column: kind for column, kind in source.types.items() if column in used})

    def of(self, source: Source, policy: Policy, key: str | None) -> Source:
        """The source's columns that the policy reads, and the digest of each row."""
        hidden = source.resolve_names(policy.pseudonymize)
        texts = (_text(column, kind, key if column in hidden else None) for column, kind in self.types.items())
        parts = (f"coalesce(strlen({text}) || ':' || {text}, '-')" for text in texts)
        digest = f"unhex(sha256({literal(self.salt)} || {' || '.join(parts)}))"
        columns = ", ".join(map(name, self.types))
        return replace(
            source,
            relation=f"(select {columns}, {digest} as {DIGEST} from {source.relation})",
            types={**self.types, DIGEST: "BLOB"},
        )

    def check(self, source: Source, release: str) -> None:
        """Raise if the source's columns are no longer those that the view was made from."""
        for column, before in self.types.items():
            (spelt,) = source.resolve_names([column])
            kind = source.types[spelt]
            families = [known_family(each) for each in (before, kind)]
            if kind != before and (None in families or families[0] != families[1]):
                raise CatalogError(
                    f"Column '{column}' of '{source.shown}' was {before} when '{release}' was made and is {kind} now: "
                    f"cast it in the source, or make the view again with CREATE OR REPLACE ANONYMIZED VIEW"
                )


def with_digest(policy: Policy) -> Policy:
    """The policy under which digests pass through to the rows."""
    return replace(policy, unsafe_keep=(*policy.unsafe_keep, DIGEST))


def _text(column: str, kind: str, key: str | None) -> str:
    """A value as text that is the same in every session; a pseudonym in the place of what is hidden."""
    written = f"cast(epoch_us({name(column)}) as varchar)" if kind == ZONED else f"cast({name(column)} as varchar)"
    return f"sqlanon_pseudonym({literal(key)}, {written})" if key is not None else written


DIGEST = "sqlanon_digest"
"""The column by which a person of the source is recognized, see members.py. No released table has it."""
ADDED = "sqlanon_added"
"""The column of the version in which a person's row was first printed."""
