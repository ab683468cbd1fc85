"""The people of a source and the members of a view, compared: who is new, who has left, who has changed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import adopt, recall
from sqlanon.catalog.places import members_of
from sqlanon.catalog.releases import Stored
from sqlanon.catalog.versions import IS_BLANK, cohorts_of
from sqlanon.engine.names import resolve, snapshot
from sqlanon.engine.session import Session, run, temporary
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, in_words
from sqlanon.pipeline.digests import COHORT, DIGEST, STATE, Digests
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import names, render

HAS_LEFT, IS_NEW, NOW = "sqlanon_has_left", "sqlanon_is_new", "sqlanon_now"
WAS_SHOWN, IS_ERASED = "sqlanon_was_shown", "sqlanon_is_erased"


@dataclass(frozen=True)
class Ledger:
    """The people of the source now and everybody who was ever looked at, in two tables."""

    digests: Digests
    found: Source
    """The source as it is."""
    source: Source
    """What the policy reads of it, as the types that it had, and digests."""
    columns: tuple[str, ...]
    """The columns of the release."""
    people: str
    members: str

    @classmethod
    def read(cls, catalog: Catalog, stored: Stored, key: str | None, stack: ExitStack) -> Ledger:
        """Read the source and compare it with what is stored."""
        con, policy, storage = catalog.con, stored.policy, f"{catalog.database}.{stored.storage}"
        digests = recall(catalog, stored, key)
        if digests is None:
            raise CatalogError(
                f"View '{stored.name}' was made by a version of sqlanon that could not refresh. Use {again(stored)}"
            )
        found = stack.enter_context(snapshot(con, stored.source))
        digests.check(found, stored.name)
        _refuse_misfits(con, found, digests, policy, stored.name)
        source = digests.of(found, policy, key)
        refuse_people(con, source, policy)
        columns = resolve(con, f"from {storage}").columns
        adopt(catalog, stored)
        kept = members_of(storage)
        people = stack.enter_context(
            temporary(
                con,
                "people",
                render(
                    "steps/refresh/people_and_newcomers.sql",
                    people=source.relation,
                    members=kept,
                    digest=DIGEST,
                    is_new=IS_NEW,
                ),
            )
        )
        members = stack.enter_context(temporary(con, "members", _members_sql(catalog, stored, people, kept)))
        if differ(con, storage, f"{members} where {WAS_SHOWN}", columns):
            raise BrokenPromiseError(
                f"The rows of '{stored.name}' are not those that were released: CREATE OR REPLACE ANONYMIZED VIEW"
            )
        return cls(digests, found, replace(source, relation=people), columns, people, members)


def _members_sql(catalog: Catalog, stored: Stored, people: str, kept: str) -> str:
    return render(
        "steps/refresh/members_and_leavers.sql",
        people=people,
        members=kept,
        cohorts=cohorts_of(catalog, stored.name),
        digest=DIGEST,
        cohort=COHORT,
        state=STATE,
        has_left=HAS_LEFT,
        now=NOW,
        is_blank=IS_BLANK,
        was_shown=WAS_SHOWN,
        is_erased=IS_ERASED,
    )


def refuse_people(con: Session, source: Source, policy: Policy) -> None:
    """Raise if people cannot be distinguished, or blank values not from missing ones."""
    if policy.identity:
        nobody = " or ".join(f"{quoted(column)} is null" for column in source.resolve_names(policy.identity))
        ((rows, people, missing),) = run(
            con,
            f"select count(*), count(distinct {DIGEST}), count(*) filter (where {nobody}) from {source.relation}",
        )
        if missing:
            raise DataError(f"identity is NULL in {missing:,} rows of '{source.shown}': leave them out")
        if rows > people:
            raise DataError(
                f"identity must be different in every row, but {rows - people:,} of {rows:,} rows of '{source.shown}' "
                f"repeat one: reduce the source to one row per person, or name more columns"
            )
    if policy.failed == "blank" and policy.sensitive:
        missing = " or ".join(f"{quoted(column)} is null" for column in source.resolve_names(policy.sensitive))
        ((rows,),) = run(con, f"select count(*) from {source.relation} where {missing}")
        if rows:
            raise DataError(
                f"failed = 'blank' releases NULL in place of sensitive values, but {rows:,} rows of '{source.shown}' "
                f"have NULL there: give it a name, coalesce(..., 'unknown')"
            )


def _refuse_misfits(con: Session, source: Source, digests: Digests, policy: Policy, release: str) -> None:
    """Raise if a column's type has changed and values with it."""
    for column, count in digests.misfits(source, policy).items():
        ((rows,),) = run(con, count)
        if rows:
            (spelt,) = source.resolve_names([column])
            raise CatalogError(
                f"Column '{column}' of '{source.shown}' was {digests.types[column]} when '{release}' was made and is "
                f"{source.types[spelt]} now, and {rows:,} values do not fit the former: cast it in the source, or make "
                f"the view again with CREATE OR REPLACE ANONYMIZED VIEW"
            )


def differ(con: Session, one: str, other: str, columns: tuple[str, ...]) -> bool:
    """Have two tables different rows in these columns?"""
    listed = names(columns)
    pairs = ((one, other), (other, one))
    return any(
        run(con, f"select 1 from (select {listed} from {a} except all select {listed} from {b}) limit 1")
        for a, b in pairs
    )


def again(stored: Stored) -> str:
    """How to make the release again."""
    view = ", kind='view'" if stored.kind == "view" else ""
    flags = f"--name {stored.name}{' --view' if view else ''} --replace"
    return in_words(
        python=f"sqlanon.anonymize(con, ..., name={stored.name!r}{view}, replace=True)",
        sql=f"CREATE OR REPLACE ANONYMIZED {stored.kind.upper()} {stored.name}",
        command=f"sqlanon anonymize {flags}",
    )
