"""Erasing somebody from a view: their whole cohort is withdrawn for good.

Nothing less is safe: whoever kept an earlier version finds out from the rows that are missing which one was theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import LEFT_OUT, adopt, erase_cohorts, recall
from sqlanon.catalog.places import members_of
from sqlanon.catalog.releases import Stored, Version, stored_release
from sqlanon.catalog.versions import cohorts_of
from sqlanon.engine.instances import key_named
from sqlanon.engine.names import resolve
from sqlanon.engine.session import temporary, transaction, translate_errors, unwrap
from sqlanon.errors import DataError, PolicyError
from sqlanon.pipeline.digests import COHORT, DIGEST, LEDGER
from sqlanon.progress.run import Run
from sqlanon.releases.refresh import refreshed, refuse_unrefreshable
from sqlanon.sqltext import name as quoted

Person = Any
"""The value of a person's identity, or a mapping of its columns to their values where there are several."""


def erase(con: Any, name: str, people: Sequence[Person], *, key: bytes | None = None) -> Version:
    """Erase people from a stored view, by their identities, and refresh it.

    The cohorts that they are in are withdrawn for good, with everybody else in them, and what the catalog keeps of
    their values is deleted. Who is still in the source stays out of the view for ever. Versions that were given out
    before, and other releases, are not changed. `key` is for `pseudonymize`.
    """
    raw = unwrap(con)
    with translate_errors(), Run(), transaction(raw):
        catalog = Catalog.of(raw)
        stored = stored_release(catalog, name)
        refuse_unrefreshable(catalog, stored)
        if not stored.policy.identity:
            raise PolicyError(
                f"View '{stored.name}' has no identity, so nobody can be erased from it: make it again with identity = "
                f"['patient_id'], from a source without them"
            )
        _mark(catalog, stored, [_values(stored, person) for person in people], key)
        version = refreshed(catalog, stored, key)
        _forget(catalog, stored)
        return version


def _values(stored: Stored, person: Person) -> list[Any]:
    """The values of a person's identity, in the order of the policy."""
    columns = stored.policy.identity
    if isinstance(person, Mapping):
        if set(person) != set(columns):
            raise PolicyError(f"Give a person by the columns {', '.join(columns)}")
        return [person[column] for column in columns]
    values = list(person) if isinstance(person, (list, tuple)) else [person]
    if len(values) != len(columns):
        raise PolicyError(f"A person of '{stored.name}' is given by {len(columns)} values: {', '.join(columns)}")
    return values


def _mark(catalog: Catalog, stored: Stored, people: list[list[Any]], key: bytes | None) -> None:
    """Mark the cohorts of these people as erased."""
    if not people:
        raise PolicyError("Nobody is named to be erased")
    adopt(catalog, stored)
    members = members_of(f"{catalog.database}.{stored.storage}")
    with key_named(catalog.con, bool(stored.policy.pseudonymize), key) as token:
        digests = recall(catalog, stored, token)
        assert digests is not None
        named = digests.identity(stored.policy)
        listed = ", ".join(f"cast(null as {digests.types[column]}) as {quoted(column)}" for column in named)
        with temporary(catalog.con, "erased", f"select {listed} where false") as asked:
            for values in people:
                places = ", ".join(f"try_cast(${n} as {digests.types[column]})" for n, column in enumerate(named, 1))
                catalog.run(f"insert into {asked} values ({places})", values)
            person = digests.person(resolve(catalog.con, f"from {asked}"), stored.policy, token)
            found = f"select {COHORT} from {members} where {DIGEST} in (select {person} from {asked})"
            cohorts = [int(cohort) for (cohort,) in catalog.run(found)]
    if len(cohorts) < len(people):
        raise DataError(f"{len(people) - len(cohorts):,} of {len(people):,} people to erase are not in '{stored.name}'")
    erase_cohorts(catalog, stored.name, [cohort for cohort in set(cohorts) if cohort != LEFT_OUT])


def _forget(catalog: Catalog, stored: Stored) -> None:
    """Delete the values of erased rows from the ledger."""
    members = members_of(f"{catalog.database}.{stored.storage}")
    columns = [column for column in resolve(catalog.con, f"from {members}").columns if column not in LEDGER]
    nothing = ", ".join(f"{quoted(column)} = null" for column in columns)
    erased = f"select cohort from ({cohorts_of(catalog, stored.name)}) where is_erased"
    catalog.run(f"update {members} set {nothing} where {COHORT} in ({erased})")
