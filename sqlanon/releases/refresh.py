"""Refreshing a view: its source has changed, and whoever keeps all versions must not learn more from that.

A cohort, the people whom one version first released as one class, is an atom for ever: nobody joins it, nobody is put
into another one. After it was formed, every decision is one that the attacker could make himself, from
quasi-identifiers, from who is in the source, and from what is released already:

- a cohort is parted only if every conceivable part of that size would keep k and the models (parting.py);
- the label of a whole cohort follows the quasi-identifiers of its present members, or is kept;
- a cohort is withdrawn when nobody of it is in the source, and comes back when somebody is;
- sensitive values stay those of the first time.

One thing must look at values that nobody has seen: whether new people may be released. It is asked once of all who wait
(newcomers.py). Kenthapadi, Mishra and Nissim 2005 call this simulatable auditing.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import LEFT_OUT, keep_labels, replace_cohorts
from sqlanon.catalog.people import remember_people
from sqlanon.catalog.places import is_still_there, members_of, unrefreshable
from sqlanon.catalog.releases import (
    Stored,
    Version,
    add_version,
    forget,
    labels_without_rows,
    stored_release,
    update,
)
from sqlanon.catalog.versions import IS_BLANK
from sqlanon.engine.instances import key_named
from sqlanon.engine.patience import patient
from sqlanon.engine.session import Session, run, temporary, transaction, translate_errors, unwrap
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, HierarchyError, PolicyError, in_words
from sqlanon.pipeline.cohorts import far_sql, labels_sql, missing_sql
from sqlanon.pipeline.digests import ADDED, COHORT, DIGEST, STATE, read_columns
from sqlanon.pipeline.measures import PARTS
from sqlanon.pipeline.promises import equal_rows
from sqlanon.pipeline.proof import Proof
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.options import ROW_WEIGHT_COLUMN
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import prove
from sqlanon.progress.run import Run
from sqlanon.releases.batches import batch_size
from sqlanon.releases.combinations import check_combinations
from sqlanon.releases.ledger import HAS_LEFT, IS_ERASED, IS_NEW, NOW, WAS_SHOWN, Ledger, again, differ
from sqlanon.releases.measuring import measure
from sqlanon.releases.newcomers import Newcomers
from sqlanon.releases.parting import AWAY, may_part, parted_sql
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import names
from sqlanon.udfs.models import RELATIVE

log = logging.getLogger("sqlanon")
IS_SHOWN, PARENT = "sqlanon_is_shown", "sqlanon_parent"


@patient
def refresh(con: Any, name: str, *, key: bytes | None = None) -> Version:
    """Bring a stored view up to its source: in one transaction, verified, or not at all.

    People who were released together stay together: labels follow the present members of a cohort, new people are added
    in cohorts of their own, all who wait or none, and who left is withdrawn or held, as the policy's `changed`, `batch`
    and `deleted` say. `key` is for `pseudonymize`, and must be that of the view. Returns the version: what was added,
    withdrawn and held. Where nothing that is released changes, the version is the old one. While another connection
    changes the same, it waits.
    """
    raw = unwrap(con)
    with translate_errors(), Run(), transaction(raw):
        catalog = Catalog.of(raw)
        stored = stored_release(catalog, name)
        return refreshed(catalog, stored, key)


def refreshed(catalog: Catalog, stored: Stored, key: bytes | None) -> Version:
    """Refresh a view inside the caller's transaction."""
    refuse_unrefreshable(catalog, stored)
    if key is not None and not stored.policy.pseudonymize:
        raise PolicyError(f"There is a key, but '{stored.name}' has no pseudonyms")
    with key_named(catalog.con, bool(stored.policy.pseudonymize), key) as token, ExitStack() as stack:
        ledger = Ledger.read(catalog, stored, token, stack)
        reading = catalog.read(ledger.source, stored.policy)
        return _Refresh(catalog, stored, token, stack, ledger, reading).run()


def refuse_unrefreshable(catalog: Catalog, stored: Stored) -> None:
    """Raise if the release is not one that can be refreshed."""
    made_again = again(stored)
    if stored.kind != "view":
        raise CatalogError(
            f"Release '{stored.name}' is a table, which is a snapshot. Make a view instead, or use {made_again}"
        )
    if (reason := unrefreshable(stored.policy, stored.source)) is not None:
        raise CatalogError(f"Release '{stored.name}' cannot be refreshed, because {reason}. Use {made_again}")
    if not is_still_there(catalog, stored.name):
        raise CatalogError(f"What is called '{stored.name}' now is not the release: {_dropping(stored.name)}")


def _dropping(name: str) -> str:
    """How to forget the release."""
    sql = f"DROP ANONYMIZED VIEW {name}"
    return in_words(python=f"sqlanon.drop_release(con, {name!r})", sql=sql, command=f"{sql} in sqlanon shell")


@dataclass(frozen=True)
class _Refresh:
    """One refresh: the people of the source, the ledger, and what becomes of each cohort."""

    catalog: Catalog
    stored: Stored
    key: str | None
    stack: ExitStack
    ledger: Ledger
    reading: Reading

    @property
    def con(self) -> Session:
        """The connection."""
        return self.catalog.con

    @property
    def policy(self) -> Policy:
        """What the release is asked to be."""
        return self.stored.policy

    @property
    def follows(self) -> bool:
        """Do labels follow the members?"""
        return bool(self.policy.identity) and self.policy.changed == "follow"

    @cached_property
    def newcomers(self) -> Newcomers:
        """Those who wait."""
        return Newcomers(self.catalog, self.stored, self.ledger, self.reading, self.key, self.stack)

    def run(self) -> Version:
        """Decide, label, verify and store."""
        members = self._parted()
        labels = self._labels(members)
        old = self._old(members, labels)
        rows, proof, note = self._with_newcomers(old)
        return self._store(rows, proof, labels, note)

    def _table(self, what: str, sql: str) -> str:
        """A table for the time of the refresh."""
        return self.stack.enter_context(temporary(self.con, what, sql))

    def _parted(self) -> str:
        """The members, with the cohorts that are parted in two; who is away has a new cohort and its parent."""
        members = self.ledger.members
        away = []
        if may_part(self.policy) and self.policy.deleted == "withdraw":
            away.append(HAS_LEFT)
        if may_part(self.policy) and self.follows:
            moved = (
                f"select {COHORT} from {members} where not {IS_ERASED} group by {COHORT} "
                f"having bool_or({STATE} is distinct from {NOW}) and not bool_or({HAS_LEFT})"
            )
            self._refuse_missing()
            far = self._table("far", far_sql(self._cohorts_of_people(members, moved)))
            away.append(f"{DIGEST} in (from {far})")
        flagged = self._table("flagged", f"select *, {' or '.join(away) or 'false'} as {AWAY} from {members}")
        parted = self._table("parted", parted_sql(self.reading, flagged))
        last = f"(select max({COHORT}) from {members})"
        numbered = f"select {COHORT} as parent, {last} + row_number() over (order by {COHORT}) as child from {parted}"
        sql = (
            f"select flagged.* exclude ({AWAY}) replace (coalesce(child, {COHORT}) as {COHORT}), parent as {PARENT} "
            f"from {flagged} as flagged left join ({numbered}) as numbered on {AWAY} and parent = {COHORT}"
        )
        return self._table("cohorts", sql)

    def _refuse_missing(self) -> None:
        """Raise if a hierarchy lacks values that the source has."""
        ((problem,),) = run(self.con, missing_sql(self.reading))
        if problem is not None:
            raise DataError(problem)

    def _cohorts_of_people(self, members: str, cohorts: str) -> Reading:
        """What is read, where each person has the cohort they are in, if it is one of these."""
        listed = f"select {DIGEST}, {COHORT} from {members} where not {HAS_LEFT} and {COHORT} in ({cohorts})"
        people = (
            f"(select people.*, {COHORT} from {self.ledger.people} as people left join ({listed}) using ({DIGEST}))"
        )
        return replace(self.reading, source=replace(self.reading.source, relation=people))

    def _labels(self, members: str) -> str | None:
        """The labels of cohorts whose members have changed, left or returned, as a table."""
        if not self.follows:
            return None
        stale = (
            f"select {COHORT} from {members} where not {IS_ERASED} group by {COHORT} "
            f"having bool_or(not {HAS_LEFT}) and (bool_or({STATE} is distinct from {NOW}) or bool_or({PARENT} is not "
            f"null) or {COHORT} in (select {PARENT} from {members}))"
        )
        return self._table("labels", labels_sql(self._cohorts_of_people(members, stale)))

    def _old(self, members: str, labels: str | None) -> str:
        """The members as they are to be: cohorts shown or not, labels, weights."""
        present = f"bool_or(not {HAS_LEFT}) over (partition by {COHORT})"
        rows = self._table("old", self._old_sql(members, labels, "true" if self.policy.deleted == "hold" else present))
        if set(RELATIVE) & set(self.policy.models):
            try:
                self._prove(rows)
            except BrokenPromiseError:
                log.warning("No cohort of '%s' is withdrawn, because otherwise a model would break", self.stored.name)
                return self._table("old", self._old_sql(members, labels, "true"))
        return rows

    def _old_sql(self, members: str, labels: str | None, is_shown: str) -> str:
        printed = self.stored.printed if labels is not None else ()
        present = f"avg(cast(not {HAS_LEFT} as integer)) over (partition by {COHORT})"
        given = {
            column: f"case when labels.{COHORT} is null then members.{quoted(column)} else labels.{quoted(column)} end"
            for column in printed
        }
        if self.policy.row_weight:
            given[ROW_WEIGHT_COLUMN] = f"round({present}, 3)"
        columns = (
            f"{given[column]} as {quoted(column)}" if column in given else f"members.{quoted(column)}"
            for column in self.ledger.columns
        )
        facts = f"{DIGEST}, {ADDED}, members.{COHORT}, {NOW} as {STATE}, {HAS_LEFT}, {IS_BLANK}, {WAS_SHOWN}"
        join = f"left join {labels} as labels on labels.{COHORT} = members.{COHORT}" if labels is not None else ""
        shown = f"not {IS_ERASED} and {is_shown.replace(COHORT, f'members.{COHORT}')} as {IS_SHOWN}"
        text = f"select {facts}, {IS_ERASED}, {PARENT}, {shown}, {', '.join(columns)} from {members} as members {join}"
        return text.replace(f"(partition by {COHORT})", f"(partition by members.{COHORT})")

    def _with_newcomers(self, old: str) -> tuple[str, Proof, str | None]:
        """The whole ledger with those who are added, proved, and why nobody is where that is not for their number."""
        waiting, note = self.newcomers.count(), None
        sensitive = self.reading.source.resolve_names(self.policy.sensitive)
        storage = f"{self.catalog.database}.{self.stored.storage}"
        if not waiting or waiting < batch_size(self.con, self.policy, storage, sensitive):
            return old, self._prove(old), None
        if (note := self.newcomers.refused()) is not None:
            log.warning("Nobody is added to '%s': %s", self.stored.name, note)
            return old, self._prove(old), note
        if self.newcomers.keep_models():
            rows = self._table("rows", self._joined_sql(old, self.newcomers.form(), is_blank=False))
            try:
                return rows, self._prove(rows), None
            except BrokenPromiseError:
                if not set(RELATIVE) & set(self.policy.models):
                    raise
        log.warning("New people of '%s' break a model all together; they are not looked at again", self.stored.name)
        blank = self.newcomers.form_blank() if self.policy.failed == "blank" else None
        rows = self._table("rows", self._joined_sql(old, blank, is_blank=True))
        return rows, self._prove(rows), None

    def _joined_sql(self, old: str, added: str | None, is_blank: bool) -> str:
        """The query for the ledger with new cohorts, and those of the new people who are not in them left out."""
        version, columns = self.stored.version + 1, names(self.ledger.columns)
        queries = [f"select * from {old}"]
        if added is not None:
            cohort = (
                f"(select coalesce(max({COHORT}), 0) from {old}) + dense_rank() over (order by "
                f"{names(self.stored.printed)})"
            )
            facts = f"{DIGEST}, {version}, {cohort}, {STATE}, false, {str(is_blank).lower()}, false, false, null, true"
            queries.append(f"select {facts}, {columns} from {added}")
        copy = f"row_number() over (partition by {DIGEST})"
        known = f"select {DIGEST}, {copy} as copy from {added}" if added else f"select null as {DIGEST}, 0 as copy"
        nothing = "".join(", null" for _ in self.ledger.columns)
        facts = f"new.{DIGEST}, {version}, {LEFT_OUT}, {STATE}, false, false, false, true, null, false{nothing}"
        new = f"(select *, {copy} as copy from {self.ledger.people} where {IS_NEW}) as new"
        same = f"known.{DIGEST} = new.{DIGEST} and known.copy = new.copy"
        queries.append(f"select {facts} from {new} anti join ({known}) as known on {same}")
        return " union all ".join(queries)

    def _prove(self, ledger: str) -> Proof:
        """What holds of the rows that are shown, and of each cohort by itself."""
        rows = f"(select * from {ledger} where {IS_SHOWN})"
        if not run(self.con, f"select 1 from {rows} limit 1"):
            raise DataError(
                f"Nobody in '{self.stored.name}' is still in its source: DROP ANONYMIZED VIEW {self.stored.name}"
            )
        proof = prove(self.catalog, rows, equal_rows(self.stored.printed), self.policy)
        options = {option: value for option, value in self.policy.options().items() if option not in RELATIVE}
        prove(self.catalog, rows, equal_rows([COHORT]), Policy.of(options))
        return proof

    def _store(self, ledger: str, proof: Proof, labels: str | None, note: str | None) -> Version:
        con, stored = self.con, self.stored
        storage, columns = f"{self.catalog.database}.{stored.storage}", names(self.ledger.columns)
        shown = f"(select * from {ledger} where {IS_SHOWN})"
        is_new = differ(con, storage, shown, self.ledger.columns)
        version = self._counted(ledger, labels, is_new, note)
        if is_new:
            run(con, f"delete from {storage}")
            run(con, f"insert into {storage} select {columns} from {shown} order by sqlanon_shuffle({ADDED}::bigint)")
        members = members_of(storage)
        run(con, f"delete from {members}")
        listed = f"{DIGEST}, {ADDED}, {COHORT}, {STATE}"
        run(con, f"insert into {members} by name select {listed}, {columns} from {ledger} order by {DIGEST}")
        self._store_cohorts(ledger, version)
        if is_new:
            if (
                differ(con, storage, shown, self.ledger.columns)
                or prove(self.catalog, storage, equal_rows(stored.printed), stored.policy) != proof
            ):
                raise BrokenPromiseError("A released class is not what was verified; nothing was stored")
            reading = replace(self.reading, source=self.ledger.found)
            check_combinations(self.catalog, stored.name, storage, stored.source, reading)
            keep_labels(self.catalog, storage, shown, version.version, stored.printed)
            forget(self.catalog, stored.name, ("people",))
            remember_people(self.catalog, stored.name, self.ledger.found, read_columns(self.policy))
            add_version(self.catalog, version)
        update(self.catalog, version, proof, self._measure(ledger))
        return version

    def _store_cohorts(self, ledger: str, version: Version) -> None:
        found = (
            f"select {COHORT} as cohort, any_value({PARENT}) as parent, count(*) as people, "
            f"bool_or({IS_BLANK}) as is_blank, bool_or({IS_SHOWN}) as is_shown, bool_or({IS_ERASED}) as is_erased "
            f"from {ledger} where {COHORT} <> {LEFT_OUT} group by {COHORT}"
        )
        replace_cohorts(self.catalog, self.stored.name, version.version, found)

    def _counted(self, ledger: str, labels: str | None, is_new: bool, note: str | None) -> Version:
        """What becomes of the rows, and who is held."""
        before, version = self.stored.version, self.stored.version + 1
        is_added = f"{ADDED} = {version}"
        facts = {
            "rows": IS_SHOWN,
            "added": f"{IS_SHOWN} and {is_added}",
            "withdrawn": f"{WAS_SHOWN} and not {IS_SHOWN}",
            "held_new": "false",
            "held_deleted": f"{IS_SHOWN} and {HAS_LEFT}",
            "returned": f"{IS_SHOWN} and not {WAS_SHOWN} and not {is_added}",
            "left_out": f"{IS_ERASED} and not {HAS_LEFT}",
            "blank": f"{IS_SHOWN} and {IS_BLANK}",
        }
        counted = ", ".join(f"count(*) filter (where {fact})" for fact in facts.values())
        found = dict(zip(facts, run(self.con, f"select {counted} from {ledger}")[0], strict=True))
        ((decided,),) = run(
            self.con, f"select (select count(*) from {ledger}) - (select count(*) from {self.ledger.members})"
        )
        found["held_new"] = self.newcomers.count() - decided
        parted = f"select count(distinct {COHORT}) from {ledger} where {PARENT} is not null"
        found["parted"] = run(self.con, parted)[0][0]
        if labels is not None:
            found["relabeled"] = self._relabeled(labels)
        found["outdated"] = self._outdated(ledger)
        return Version(self.stored.name, version if is_new else before, **found, note=note)

    def _relabeled(self, labels: str) -> int:
        """How many cohorts have other labels than before."""
        same = " and ".join(f"labels.{quoted(c)} is not distinct from members.{quoted(c)}" for c in self.stored.printed)
        sql = (
            f"select count(distinct members.{COHORT}) from {self.ledger.members} as members join {labels} as labels "
            f"on labels.{COHORT} = members.{COHORT} where {WAS_SHOWN} and not ({same})"
        )
        return int(run(self.con, sql)[0][0])

    def _outdated(self, ledger: str) -> int:
        """How many people's sensitive values are no longer those released."""
        sensitive = self.reading.source.resolve_names(self.policy.sensitive)
        if not self.policy.identity or not sensitive:
            return 0
        other = " or ".join(f"people.{quoted(c)} is distinct from released.{quoted(c)}" for c in sensitive)
        sql = (
            f"select count(*) from {self.ledger.people} as people join {ledger} as released using ({DIGEST}) "
            f"where {IS_SHOWN} and not {IS_BLANK} and ({other})"
        )
        return int(run(self.con, sql)[0][0])

    def _measure(self, ledger: str) -> dict[str, float]:
        """Measure the rows of people who are in the source, against those people."""
        columns = names(self.ledger.digests.types)
        copy = f"row_number() over (partition by {DIGEST}) as sqlanon_copy"
        released = f"select {DIGEST}, {copy} from {ledger} where {IS_SHOWN} and not {HAS_LEFT}"
        present = (
            f"select {columns} from (select *, {copy} from {self.ledger.people}) as people join ({released}) as "
            f"released on released.{DIGEST} = people.{DIGEST} and released.sqlanon_copy = people.sqlanon_copy"
        )
        source = self._table("released", present)
        there = Source(source, self.ledger.source.shown, self.ledger.digests.types, is_table=True)
        forget(self.catalog, self.stored.name, PARTS)
        measured = measure(
            self.catalog,
            replace(self.reading, source=there),
            f"(select {names(self.ledger.columns)} from {ledger} where {IS_SHOWN} and not {HAS_LEFT})",
            self.stored.name,
            {},
            Tolerance.OLDER,
        ).measures
        ((people,),) = run(self.con, f"select count(*) from {source}")
        unknown = labels_without_rows(self.catalog, self.stored.name, people)
        if self.policy.identity and self.policy.changed == "keep":  # a label may cover nobody who is there now
            stored = {a.column for a in self.reading.attributes if a.is_stored}
            unknown = [column for column in unknown if column in stored]
        if unknown:
            raise HierarchyError(
                f"Column '{unknown[0]}' of '{self.stored.name}' has labels that its hierarchy no longer has: "
                f"use {again(self.stored)}, or bring the hierarchy back"
            )
        return measured
