"""Refreshing a view: its source has grown and shrunk, and whoever compares two versions must find nobody alone.

The rows of one released class that were added in one version are a cohort. Rows already released keep their labels and
cohorts. New people are anonymized among themselves by the same policy, so that their cohorts have k rows and keep every
model on their own; who cannot be is held back until more have come. Deleted people are withdrawn from a cohort
together, if they and those who stay are each as good as a cohort, or nobody stays; otherwise their rows are held.

Why not pool classes until enough have left? Sensitive values are released unchanged. Say that somebody leaves a class
with the values a, b, c and somebody one with d, e, f, and that their rest is released as one class of b, c, e, f: then
a has left the first class and d the second, whatever the label. So a class is parted into those who left and those who
stay, or it is left as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import recall
from sqlanon.catalog.places import is_still_there, members_of, unrefreshable
from sqlanon.catalog.releases import (
    Stored,
    Version,
    add_version,
    labels_without_rows,
    stored_release,
    update,
)
from sqlanon.engine.instances import enlist, key_named
from sqlanon.engine.names import resolve, snapshot
from sqlanon.engine.patience import patient
from sqlanon.engine.session import Session, run, temporary, transaction, translate_errors, unwrap
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, HierarchyError, PolicyError, in_words
from sqlanon.pipeline.digests import ADDED, DIGEST, Digests, with_digest
from sqlanon.pipeline.models import asked_of
from sqlanon.pipeline.plan import plan
from sqlanon.pipeline.promises import equal_rows
from sqlanon.pipeline.proof import Proof
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import prove
from sqlanon.progress.run import Run
from sqlanon.releases.combinations import check_combinations
from sqlanon.releases.measuring import measure
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import names, render
from sqlanon.udfs.models import RELATIVE

log = logging.getLogger("sqlanon")
COHORT, HAS_LEFT, IS_NEW, PLACE = "sqlanon_cohort", "sqlanon_has_left", "sqlanon_is_new", "sqlanon_place"
EVERYBODY, IS_ADDED = "sqlanon_everybody", "sqlanon_is_added"


@patient
def refresh(con: Any, name: str, *, key: bytes | None = None) -> Version:
    """Bring a stored view up to its source: in one transaction, verified, or not at all.

    Rows already released keep their labels; new people are released in groups of their own, and who would not have k
    others of them is held back; deleted ones are withdrawn or held, as the policy's `deleted` says. `key` is for
    `pseudonymize`, and must be that of the view. Returns the version: what was added, withdrawn and held. Where nothing
    that is released changes, the version is the old one. While another connection changes the same, it waits.
    """
    raw = unwrap(con)
    with translate_errors(), Run(), transaction(raw):
        catalog = Catalog.of(raw)
        stored = stored_release(catalog, name)
        _refuse(catalog, stored)
        if key is not None and not stored.policy.pseudonymize:
            raise PolicyError(f"There is a key, but '{stored.name}' has no pseudonyms")
        with key_named(raw, bool(stored.policy.pseudonymize), key) as token, ExitStack() as stack:
            return _Refresh.of(catalog, stored, token, stack).run()


def _refuse(catalog: Catalog, stored: Stored) -> None:
    """Raise if the release is not one that can be refreshed."""
    again = _again(stored)
    if stored.kind != "view":
        raise CatalogError(
            f"Release '{stored.name}' is a table, which is a snapshot. Make a view instead, or use {again}"
        )
    if (reason := unrefreshable(stored.policy, stored.source)) is not None:
        raise CatalogError(f"Release '{stored.name}' cannot be refreshed, because {reason}. Use {again}")
    if not is_still_there(catalog, stored.name):
        raise CatalogError(f"What is called '{stored.name}' now is not the release: {_dropping(stored.name)}")


def _dropping(name: str) -> str:
    """How to forget the release."""
    sql = f"DROP ANONYMIZED VIEW {name}"
    return in_words(python=f"sqlanon.drop_release(con, {name!r})", sql=sql, command=f"{sql} in sqlanon shell")


def _again(stored: Stored) -> str:
    """How to make the release anew."""
    view = ", kind='view'" if stored.kind == "view" else ""
    flags = f"--name {stored.name}{' --view' if view else ''} --replace"
    return in_words(
        python=f"sqlanon.anonymize(con, ..., name={stored.name!r}{view}, replace=True)",
        sql=f"CREATE OR REPLACE ANONYMIZED {stored.kind.upper()} {stored.name}",
        command=f"sqlanon anonymize {flags}",
    )


@dataclass(frozen=True)
class _Refresh:
    """One refresh: the people of the source and the members of the release, each knowing who came and who left."""

    catalog: Catalog
    stored: Stored
    key: str | None
    stack: ExitStack
    digests: Digests
    whole: Source
    source: Source
    """What the policy reads of it, and digests."""
    reading: Reading
    columns: tuple[str, ...]
    """The columns of the release."""
    people: str
    members: str

    @classmethod
    def of(cls, catalog: Catalog, stored: Stored, key: str | None, stack: ExitStack) -> _Refresh:
        """Read the source and compare it with what is stored."""
        con, policy, storage = catalog.con, stored.policy, f"{catalog.database}.{stored.storage}"
        digests = recall(catalog, stored, key)
        if digests is None:
            raise CatalogError(
                f"View '{stored.name}' was made by a version of sqlanon that could not refresh. Use {_again(stored)}"
            )
        found = stack.enter_context(snapshot(con, stored.source))
        digests.check(found, stored.name)
        source = digests.of(found, policy, key)
        columns = resolve(con, f"from {storage}").columns
        alike = [IS_NEW, *source.resolve_names(policy.sensitive)]
        kept = members_of(storage)
        if _differ(con, storage, kept, columns):
            raise BrokenPromiseError(
                f"The rows of '{stored.name}' are not those that were released. Use {_again(stored)}"
            )
        people = render(
            "steps/refresh/people_and_newcomers.sql",
            people=source.relation,
            members=kept,
            alike=names(alike),
            digest=DIGEST,
            is_new=IS_NEW,
            place=PLACE,
        )
        people = stack.enter_context(temporary(con, "people", people))
        members = render(
            "steps/refresh/members_and_leavers.sql",
            people=people,
            members=kept,
            printed=names(stored.printed),
            digest=DIGEST,
            added=ADDED,
            cohort=COHORT,
            has_left=HAS_LEFT,
        )
        return cls(
            catalog,
            stored,
            key,
            stack,
            digests,
            found,
            replace(source, relation=people),
            catalog.read(found, policy),
            columns,
            people,
            stack.enter_context(temporary(con, "members", members)),
        )

    @property
    def con(self) -> Session:
        """The connection."""
        return self.catalog.con

    @property
    def policy(self) -> Policy:
        """What the release is asked to be."""
        return self.stored.policy

    def run(self) -> Version:
        """Decide, print, verify and store."""
        added = self._added()
        withdrawn = self._withdrawn(added)
        for additions, withdrawals in self._attempts(added, withdrawn):
            rows = self.stack.enter_context(temporary(self.con, "rows", self._rows(additions, withdrawals)))
            try:
                proof = self._prove(rows)
                break
            except BrokenPromiseError:
                if not set(RELATIVE) & set(self.policy.models) or (additions, withdrawals) == (None, None):
                    raise
        if (additions, withdrawals) != (added, withdrawn):
            log.warning(
                "More of the people who were added to or removed from '%s' are held, because otherwise a model "
                "would break",
                self.stored.name,
            )
        return self._store(rows, proof)

    def _attempts(self, added: str | None, withdrawn: str | None) -> Iterator[tuple[str | None, str | None]]:
        """What to change, and what less of it if that breaks a model that looks at the whole release."""
        tried = []
        for attempt in ((added, withdrawn), (added, None), (None, withdrawn), (None, None)):
            if attempt not in tried:
                tried.append(attempt)
                yield attempt

    def _added(self) -> str | None:
        """The rows of those new people who can be released, as a table; None if nobody can."""
        most = self._most_alike()
        if most is None:
            return None
        is_added = f"({IS_NEW} and {PLACE} <= {most})"
        columns = names(self.source.columns)
        people = replace(self.source, relation=f"(select {columns}, {is_added} as {IS_ADDED} from {self.people})")
        reading = replace(self.reading, policy=with_digest(self.policy), source=people)
        planned = plan(reading, enlist(self.con, Run.active()), self.key, part=IS_ADDED)
        return self.stack.enter_context(temporary(self.con, "added", planned.sql))

    def _most_alike(self) -> int | None:
        """How many new people with the same sensitive values may be released, so that all together keep the models: as
        many as possible, since models are only ever kept better by fewer of the most frequent; None if none will do."""
        ((largest,),) = run(self.con, f"select coalesce(max({PLACE}), 0) from {self.people} where {IS_NEW}")
        low, high = 0, int(largest)
        if high and self._is_enough(high):
            return high
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if self._keeps_models(middle) else (low, middle)
        return low if low and self._is_enough(low) else None

    def _is_enough(self, most: int) -> bool:
        new = f"select count(*) from {self.people} where {IS_NEW} and {PLACE} <= {most}"
        return bool(run(self.con, new)[0][0] >= self.policy.k) and self._keeps_models(most)

    def _keeps_models(self, most: int) -> bool:
        """Do the new people, this many of each kind at most, keep the models as one class?"""
        new = f"(select *, 0 as {EVERYBODY} from {self.people} where {IS_NEW} and {PLACE} <= {most})"
        return all(
            asked.holds(run(self.con, asked.sql(new, [EVERYBODY], column))[0][0])
            for asked, column in asked_of(self.policy, self.reading.sensitive)
        )

    def _withdrawn(self, added: str | None) -> str | None:
        """The cohorts from which those who left are withdrawn, as a table; None if there are none.

        None of a class that is added to in the same version: rows that come could stand for ones that go, so that a
        comparison would show fewer than k of either.
        """
        if self.policy.deleted == "hold":
            return None
        parts = [COHORT, HAS_LEFT]
        broken = [
            f"select q1 as cohort from (\n{asked.classes_sql(self.members, parts, column)}\n) "
            f"where {asked.broken('reached')}"
            for asked, column in asked_of(self.policy, self.reading.sensitive)
        ]
        if added is not None:
            same = (f"added.{quoted(c)} is not distinct from members.{quoted(c)}" for c in self.stored.printed)
            broken.append(
                f"select members.{COHORT} as cohort from {self.members} as members "
                f"join (select distinct {names(self.stored.printed)} from {added}) as added on {' and '.join(same)}"
            )
        sql = render(
            "steps/refresh/withdrawable.sql",
            members=self.members,
            cohort=COHORT,
            has_left=HAS_LEFT,
            k=str(self.policy.k),
            broken=" union all ".join(broken) or "select null as cohort where false",
        )
        withdrawn = self.stack.enter_context(temporary(self.con, "withdrawn", sql))
        return withdrawn if run(self.con, f"select 1 from {withdrawn} limit 1") else None

    def _rows(self, added: str | None, withdrawn: str | None) -> str:
        """The query for the members that the release is to have."""
        kept = f"{DIGEST}, {ADDED}, {HAS_LEFT}, {names(self.columns)}"
        stay = f"select {kept} from {self.members}"
        if withdrawn is not None:
            stay += f" where not ({HAS_LEFT} and {COHORT} in (from {withdrawn}))"
        if added is None:
            return stay
        version = self.stored.version + 1
        return f"{stay} union all select {DIGEST}, {version}, false, {names(self.columns)} from {added}"

    def _prove(self, rows: str) -> Proof:
        """What holds of the release, and of each cohort by itself."""
        if not run(self.con, f"select 1 from {rows} limit 1"):
            raise DataError(
                f"Nobody in '{self.stored.name}' is still in its source: DROP ANONYMIZED VIEW {self.stored.name}"
            )
        proof = prove(self.catalog, rows, equal_rows(self.stored.printed), self.policy)
        options = {option: value for option, value in self.policy.options().items() if option not in RELATIVE}
        prove(self.catalog, rows, equal_rows([*self.stored.printed, ADDED]), Policy.of(options))
        return proof

    def _store(self, rows: str, proof: Proof) -> Version:
        con, stored = self.con, self.stored
        storage, columns = f"{self.catalog.database}.{stored.storage}", names(self.columns)
        version = self._counted(rows)
        if version.version != stored.version:
            run(con, f"delete from {storage}")
            run(con, f"insert into {storage} select {columns} from {rows} order by sqlanon_shuffle({ADDED}::bigint)")
            members = members_of(storage)
            run(con, f"delete from {members}")
            run(con, f"insert into {members} select {DIGEST}, {ADDED}, {columns} from {rows} order by {DIGEST}")
            if (
                _differ(con, storage, members, self.columns)
                or prove(self.catalog, storage, equal_rows(stored.printed), stored.policy) != proof
            ):
                raise BrokenPromiseError("A released class is not what was verified; nothing was stored")
            reading = replace(self.reading, source=self.whole)
            check_combinations(self.catalog, stored.name, storage, stored.source, reading)
            add_version(self.catalog, version)
        update(self.catalog, version, proof, self._measure(rows))
        return version

    def _counted(self, rows: str) -> Version:
        """What these rows change, and who is held."""
        before, version = self.stored.version, self.stored.version + 1
        ((new,), (members,)) = (
            run(self.con, f"select count(*) filter (where {IS_NEW}) from {self.people}")[0],
            run(self.con, f"select count(*) from {self.members}")[0],
        )
        facts = f"count(*), count(*) filter (where {ADDED} = {version}), count(*) filter (where {HAS_LEFT})"
        ((total, added, held),) = run(self.con, f"select {facts} from {rows}")
        withdrawn = members - (total - added)
        is_new = added or withdrawn
        return Version(self.stored.name, version if is_new else before, total, added, withdrawn, new - added, held)

    def _measure(self, rows: str) -> dict[str, float]:
        """Measure the rows of people who are in the source, against those people."""
        columns = names(self.digests.types)
        copy = f"row_number() over (partition by {DIGEST}) as sqlanon_copy"
        released = f"select {DIGEST}, {copy} from {rows} where not {HAS_LEFT}"
        present = (
            f"select {columns} from (select *, {copy} from {self.people}) as people join ({released}) as released "
            f"on released.{DIGEST} = people.{DIGEST} and released.sqlanon_copy = people.sqlanon_copy"
        )
        source = self.stack.enter_context(temporary(self.con, "released", present))
        there = Source(source, self.source.shown, self.digests.types, is_table=True)
        measured = measure(
            self.catalog,
            replace(self.reading, source=there),
            f"(select {names(self.columns)} from {rows} where not {HAS_LEFT})",
            self.stored.name,
            {},
            Tolerance.OLDER,
        ).measures
        ((people,),) = run(self.con, f"select count(*) from {source}")
        unknown = labels_without_rows(self.catalog, self.stored.name, people)
        if unknown:
            raise HierarchyError(
                f"Column '{unknown[0]}' of '{self.stored.name}' has labels that its hierarchy no longer has: "
                f"use {_again(self.stored)}, or bring the hierarchy back"
            )
        return measured


def _differ(con: Session, one: str, other: str, columns: Sequence[str]) -> bool:
    """Have two tables different rows in these columns?"""
    listed = names(columns)
    pairs = ((one, other), (other, one))
    return any(
        run(con, f"select 1 from (select {listed} from {a} except all select {listed} from {b}) limit 1")
        for a, b in pairs
    )
