"""The runs of this session: made in memory, measured, kept to be compared, stored or published."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.studio.background import Job
from sqlanon.studio.draft import Draft
from sqlanon.studio.facade import MAX_UNIQUE, DatabaseError, Facts, Policy, Release, Session, facts_of_release, quoted
from sqlanon.studio.looking import Profile
from sqlanon.studio.workspace import Source, Workspace

KEPT = 8
"""Runs of a source whose rows are kept in memory."""
KEPT_ROWS = 3_000_000
"""Rows that the runs of a source keep in memory together, but for the last two runs."""
PATIENT = 3600.0


@dataclass(eq=False)
class Result:
    """A run that ended well: the release in memory, and what is to be told of it."""

    number: int
    draft: Draft
    release: Release = field(repr=False)
    facts: Facts = field(repr=False)
    spans: dict[str, float]
    """Of columns that are released as ranges: the largest value less the smallest."""
    seconds: float
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    published: list[Path] = field(default_factory=list, repr=False)
    """The files that were written of it, the newest last."""

    @property
    def policy(self) -> Policy:
        return self.release.policy

    def close(self) -> None:
        """Drop its rows."""
        with self.lock, suppress(DatabaseError):
            self.release.con.close()


class Runs:
    """The results of one source, the newest last."""

    def __init__(self) -> None:
        self._results: OrderedDict[int, Result] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, draft: Draft, release: Release, facts: Facts, spans: dict[str, float], seconds: float) -> Result:
        """Keep a result; the oldest is dropped where there are too many."""
        with self._lock:
            result = Result(next(self._numbers), draft, release, facts, spans, seconds)
            self._results[result.number] = result
            dropped = []
            while len(self._results) > KEPT or (len(self._results) > 2 and self._rows > KEPT_ROWS):
                dropped.append(self._results.popitem(last=False)[1])
        for old in dropped:
            old.close()
        return result

    @property
    def _rows(self) -> int:
        return sum(result.facts.rows for result in self._results.values())

    def __iter__(self) -> Any:
        return iter(list(self._results.values()))

    def find(self, number: int | None) -> Result | None:
        """The result of a number, or the newest."""
        results = dict(self._results)
        if number is not None:
            return results.get(number)
        return results[max(results)] if results else None


class Shelf:
    """The hierarchies of drafts in a working database: each definition has a name that never means another one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> set[str]:
        return set(self._known)

    def bind(self, con: Session, draft: Draft, prefix: str) -> Policy:
        """The policy of a draft with all its hierarchies there."""
        draft.policy(prefix)
        options = draft.options(prefix)
        for column in draft.quasi:
            spec = draft.spec(column)
            if spec.is_own:
                options["hierarchies"][column] = self._place(con, str(spec.bound(prefix, column)), spec.definition())
        return Policy.of(options)

    def _place(self, con: Session, wanted: str, definition: dict[str, Any]) -> str:
        text = repr(definition)
        with self._lock:
            for number in itertools.count(1):
                name = wanted if number == 1 else f"{wanted}_{number}"
                if name not in self._known:
                    sqlanon.create_hierarchy(con, name, **definition, replace=True)
                    self._known[name] = text
                if self._known[name] == text:
                    return name
        raise AssertionError


def make(job: Job, source: Source, draft: Draft, prefix: str, shelf: Shelf, runs: Runs, profile: Profile) -> Result:
    """Anonymize in memory, verify and measure."""
    workspace = source.workspace
    with workspace.gate.reading(PATIENT):
        con = workspace.con.duckdb.cursor()
        try:
            job.connection = con
            policy = shelf.bind(con, draft, prefix)
            job.step = "Anonymizing"
            with job.watch:
                release = sqlanon.anonymize(con, source.asked, policy=policy)
            job.check()
            job.step, job.share = "Verified. Measuring", 1.0
            facts = facts_of_release(release, curve=False)
            spans = {column: _span(con, source, column) for column in draft.quasi if profile.column(column).is_ranged}
            job.check()
        except BaseException:
            con.close()
            raise
    return runs.add(draft, release, facts, spans, job.seconds)


def _span(con: Session, source: Source, column: str) -> float:
    """How far a column's values reach, of dates in days."""
    kinds = dict(con.execute(f"select typeof({quoted(column)}), 1 from {source.relation} limit 1").fetchall())
    is_date = any(kind == "DATE" or kind.startswith("TIMESTAMP") for kind in kinds)
    ends = f"max({quoted(column)}), min({quoted(column)})"
    asked = "select epoch(a) - epoch(b)" if is_date else "select a::double - b::double"
    ((span,),) = con.execute(f"{asked} from (select {ends} from {source.relation}) as t(a, b)").fetchall()
    return float(span or 0) / (86_400 if is_date else 1)


@dataclass(frozen=True)
class Wanted:
    """A release to be stored: its name, as what, and whether one of that name is replaced."""

    name: str
    kind: str
    is_replacing: bool


def store(job: Job, source: Source, result: Result, prefix: str, wanted: Wanted) -> Release:
    """Store a run in its own database, verified there, in one transaction: a table has the very rows of the run. A view
    must know who is in it, and is made there."""
    workspace, draft = source.workspace, result.draft
    job.step = "Waiting for the database"
    with workspace.writing(f"storing '{wanted.name}'", job.check) as con:
        job.connection = con.duckdb
        for hierarchy, definition in draft.define(prefix).items():
            sqlanon.create_hierarchy(con, hierarchy, **definition, replace=True)
        policy = draft.policy(prefix)
        if wanted.kind == "table":
            job.step = "Storing the rows and verifying them"
            with job.watch, result.lock:
                return sqlanon.store_release(
                    con,
                    result.release,
                    wanted.name,
                    source=source.stored_as,
                    policy=policy,
                    replace=wanted.is_replacing,
                )
        job.step = "Anonymizing in the database"
        with job.watch:
            return sqlanon.anonymize(
                con,
                source.stored_as,
                policy=policy,
                name=wanted.name,
                kind=wanted.kind,
                replace=wanted.is_replacing,
            )


def publish(job: Job, source: Source, result: Result, path: Path, is_confirmed: bool) -> dict[str, Any]:
    """Write the release to a file that holds nothing else, read back and verified."""
    job.step = f"Writing {path.name}"
    with source.workspace.gate.reading(PATIENT), result.lock:
        job.connection = result.release.con
        allowed = 1.0 if is_confirmed else MAX_UNIQUE
        about = result.release.publish(path, replace=is_confirmed, max_unique=allowed)
        result.published.append(path)
        return about


def report(job: Job, source: Source, result: Result, path: Path) -> Path:
    """Write the report, with the SHA-256 of the file that was published last."""
    job.step = f"Writing {path.name}"
    with source.workspace.gate.reading(PATIENT), result.lock, job.watch:
        job.connection = result.release.con
        there = [file for file in result.published if file.is_file()]
        return result.release.report(path, published=there[-1] if there else None)
