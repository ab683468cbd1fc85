"""Releases of one source put together: two that hide everybody among k need not do so together.

Whoever knows somebody's quasi-identifiers looks them up in every release; only rows that agree in what is released as
it is can be theirs in all of them. Tested with the source as it is now.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.history import is_published, published_before
from sqlanon.catalog.places import is_still_there
from sqlanon.catalog.releases import Stored, stored_releases
from sqlanon.engine.frames import FRAME
from sqlanon.engine.names import base_tables, resolve
from sqlanon.engine.session import DatabaseError, temporary, translate_errors, unwrap
from sqlanon.errors import BrokenPromiseError, SqlanonError, call, option
from sqlanon.pipeline.encode import Held
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.policy import Policy
from sqlanon.privacy.covering import Covering, Printed, left_of
from sqlanon.releases.versions import versions_together
from sqlanon.sqltext import answer_sql, fold
from sqlanon.sqltext import name as quoted

log = logging.getLogger("sqlanon")
WORK = 20_000_000
"""Pairs of a person and a class that are compared unasked, when a release is made; beyond, people are sampled."""


@dataclass(frozen=True)
class Combination:
    """Some releases put together. `k` is the smallest that one of them promises, `k_together` the fewest rows that
    somebody is left with, `people_below_k` how many are left with fewer than k of this many `people` who are in all of
    them, and `values_left` the fewest values that are left of each sensitive column for somebody."""

    releases: tuple[str, ...]
    k: int
    k_together: int | None
    people: int
    people_below_k: int
    values_left: dict[str, int]
    verdict: str
    note: str | None = None

    @property
    def is_broken(self) -> bool:
        """Is somebody left with fewer than k rows?"""
        return self.verdict == "BROKEN"


@dataclass(frozen=True)
class Audit:
    """The stored releases of one source: all versions of each that has several, each pair, and then all together."""

    source: str
    combinations: tuple[Combination, ...]

    @property
    def holds(self) -> bool:
        """Does every combination leave everybody among k?"""
        return not any(found.is_broken for found in self.combinations)

    @property
    def is_tried(self) -> bool:
        """Could every combination be tried?"""
        return all(found.verdict != "not tried" for found in self.combinations)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"source": self.source, "holds": self.holds, "combinations": [asdict(c) for c in self.combinations]}

    def sql(self) -> str:
        """A query that answers with a row per combination."""
        return answer_sql(TYPES, (list(asdict(found).values()) for found in self.combinations))


@dataclass(frozen=True)
class Predecessor:
    """A published release that another of its name replaces: what the catalog knew of it, and where its rows are."""

    stored: Stored
    relation: str


TYPES = {
    "releases": "varchar[]",
    "k": "bigint",
    "k_together": "bigint",
    "people": "bigint",
    "people_below_k": "bigint",
    "values_left": "map(varchar, bigint)",
    "verdict": "varchar",
    "note": "varchar",
}


def audit(
    con: Any, source: str, *, files: Mapping[str, Sequence[str]] | None = None, strict: bool = False, hint: str = ""
) -> Audit:
    """Put all stored releases that read a table together, in pairs and all, and say what is left of k.

    `source` is a table's name or the query that releases were made from. `files` are releases that are stored
    elsewhere, each with its quasi-identifiers; their other columns that the source has too are taken for kept ones.
    Published releases that were dropped or replaced are named, but cannot be tried: their values were not kept. With
    `strict`, a combination that is broken or could not be tried raises BrokenPromiseError. `hint` is added to the error
    where there is no such table.
    """
    raw = unwrap(con)
    with translate_errors():
        resolve(raw, source, hint)
        catalog = Catalog.of(raw)
        coverings: dict[str, Covering | str] = {}
        asked: dict[str, int] = {}
        for stored in _readers(catalog, source):
            asked[stored.name] = stored.policy.k
            coverings[stored.name] = _covering(catalog, _printed(catalog, stored, source))
        for file, quasi in (files or {}).items():
            coverings[file] = _covering(catalog, _elsewhere(catalog, file, quasi, source))
            asked[file] = max(asked.values(), default=2)
        sets: list[tuple[str, ...]] = list(itertools.combinations(coverings, 2))
        if len(coverings) > 2:
            sets.append(tuple(coverings))
        own = tuple(found for stored in _readers(catalog, source) if (found := _versions(catalog, stored)) is not None)
        gone = _gone(catalog, source, coverings, asked)
        audited = Audit(source, (*own, *(_combined(names, coverings, asked) for names in sets), *gone))
    if strict and not (audited.holds and audited.is_tried):
        failed = [one for one in audited.combinations if one.verdict != "holds"]
        listed = "; ".join(f"{' + '.join(one.releases)}: {one.verdict}" for one in failed)
        raise BrokenPromiseError(f"Releases of '{source}' put together: {listed}")
    return audited


def _elsewhere(catalog: Catalog, file: str, quasi: Sequence[str], source: str) -> Printed:
    """A release that is stored elsewhere, as a table to try."""
    there, known = resolve(catalog.con, file), resolve(catalog.con, source)
    named = set(map(fold, quasi))
    shared = [column for column in known.columns if fold(column) in set(map(fold, there.columns)) - named]
    policy = Policy.of({"quasi": list(quasi), "unsafe_keep": shared})
    return Printed(there.relation, file, source, policy, Tolerance.OLDER)


def _gone(
    catalog: Catalog, source: str, coverings: Mapping[str, Covering | str], asked: Mapping[str, int]
) -> Iterator[Combination]:
    """Published releases that are gone, with each that is there: somebody still has the file."""
    tables = _tables(catalog, source)
    for name, k, made_from, ended in published_before(catalog):
        if not tables & _tables(catalog, made_from):
            continue
        note = f"'{name}' was published and is gone since {ended:%Y-%m-%d}; its values were not kept. Name its file"
        for other in coverings:
            yield Combination((other, name), min(k, asked[other]), None, 0, 0, {}, "not tried", note)


def _versions(catalog: Catalog, stored: Stored) -> Combination | None:
    """All versions of one release put together, if it has several."""
    found = versions_together(catalog, stored)
    if found is None:
        return None
    verdict, note = "BROKEN" if found.below else "holds", f"{found.versions} versions"
    facts = (found.rows, found.people, found.below, found.values, verdict, note)
    return Combination((stored.name,), stored.policy.k, *facts)


def check_combinations(
    catalog: Catalog,
    name: str | None,
    relation: str,
    source: str,
    reading: Reading,
    held: Held | None = None,
    before: Predecessor | None = None,
) -> None:
    """Warn if a release together with the stored ones of the same source breaks k; raise if the policy is strict.

    `reading` is what the release was made from, which reads the same twice, and `held` where it is kept. `before` is
    a release of the same name that was published and is being replaced.
    """
    policy, shown = reading.policy, name or "the release"
    people = f"from {reading.source.relation}"
    own: dict[str, Covering | str] = {}
    others = [(stored, stored.name, _place(catalog, stored)) for stored in _readers(catalog, source)]
    if before is not None:
        others.append((before.stored, f"{before.stored.name}, as published before,", before.relation))
    for stored, called, place in others:
        if stored.name == name and (before is None or place != before.relation):
            continue
        base = people if stored.source == source else _shared(catalog, source, stored.source) or people
        if base not in own:
            target = Printed(relation, shown, base, policy, Tolerance.OLDER)
            own[base] = _covering(catalog, target, *((reading, held) if base == people else ()))
        other = Printed(place, called, base, stored.policy, Tolerance.OLDER)
        coverings = {shown: own[base], called: _covering(catalog, other)}
        asked = {shown: policy.k, called: stored.policy.k}
        found = _combined((shown, called), coverings if policy.strict else _sampled(coverings), asked)
        if policy.strict and found.verdict == "not tried":
            raise BrokenPromiseError(
                f"'{shown}' cannot be tried together with '{called}' of the same source ({found.note}). "
                "strict is set, so nothing was stored"
            )
        if not found.is_broken:
            continue
        message = (
            f"Together with '{called}' of the same source, '{shown}' leaves {found.people_below_k:,} of "
            f"{found.people:,} people with fewer than k = {found.k} rows, somebody with {found.k_together}"
        )
        if policy.strict:
            raise BrokenPromiseError(f"{message}. {option('strict')} is set, so nothing was stored")
        log.warning("%s. For details: %s", message, call("audit", source))


def _readers(catalog: Catalog, source: str) -> list[Stored]:
    """The stored releases that read what this source reads."""
    tables = _tables(catalog, source)
    return [stored for stored in stored_releases(catalog) if tables & _tables(catalog, stored.source)]


def _tables(catalog: Catalog, source: str) -> set[str]:
    """The tables that a source reads, in full and behind any views, or itself where that cannot be told; none where it
    was a frame."""
    if source == FRAME:
        return set()
    try:
        return base_tables(catalog.con, source) or {source}
    except (SqlanonError, DatabaseError):
        return {source}


def _shared(catalog: Catalog, source: str, other: str) -> str | None:
    """A query for the people of two sources: the only table that both read, if there is one."""
    tables = _tables(catalog, source) | _tables(catalog, other)
    return f"from {next(iter(tables))}" if len(tables) == 1 else None


def _place(catalog: Catalog, stored: Stored) -> str:
    return f"{catalog.database}.{quoted(stored.schema)}.{quoted(stored.table)}"


def predecessor(catalog: Catalog, name: str | None, stack: ExitStack) -> Predecessor | None:
    """The published release of this name that is about to be replaced, its rows kept until the end."""
    if name is None or not is_published(catalog, name) or not is_still_there(catalog, name):
        return None
    (stored,) = stored_releases(catalog, name)
    return Predecessor(stored, stack.enter_context(temporary(catalog.con, "before", f"from {_place(catalog, stored)}")))


def _printed(catalog: Catalog, stored: Stored, source: str) -> Printed:
    return Printed(_place(catalog, stored), stored.name, source, stored.policy, Tolerance.OLDER)


def _covering(
    catalog: Catalog, target: Printed, reading: Reading | None = None, held: Held | None = None
) -> Covering | str:
    """The release as an attacker sees it, or why it cannot be tried."""
    try:
        resolve(catalog.con, f"from {target.relation}")
        return Covering(catalog, target, reading, held)
    except SqlanonError as problem:
        return str(problem)


def _sampled(found: dict[str, Covering | str]) -> dict[str, Covering | str]:
    """The releases with as many people as can be compared in a moment."""
    coverings = {name: view for name, view in found.items() if isinstance(view, Covering)}
    people = min((len(view.ranks) for view in coverings.values()), default=0)
    most = min((WORK // len(view.classes[3]) for view in coverings.values()), default=0)
    if people <= most:
        return found
    chosen = np.sort(np.random.default_rng().choice(people, most, replace=False))
    return found | {name: view.only(chosen) for name, view in coverings.items()}


def _combined(names: tuple[str, ...], found: dict[str, Covering | str], asked: dict[str, int]) -> Combination:
    k = min(asked[name] for name in names)
    coverings = [view for name in names if isinstance(view := found[name], Covering)]
    notes = [f"'{name}': {problem}" for name in names if isinstance(problem := found[name], str)]
    if notes:
        return Combination(names, k, None, 0, 0, {}, "not tried", "; ".join(notes))
    common = [column for column in coverings[0].of_rows if all(column in view.of_rows for view in coverings)]
    rows = left_of(coverings, common).sum(axis=1)
    is_in_all = rows > 0.5
    rows = np.rint(rows[is_in_all]).astype(np.int64)
    values = {
        column: int(
            (left_of(coverings, [column])[is_in_all] > 0.5).sum(axis=1).min(initial=0 if not len(rows) else 2**31)
        )
        for column in coverings[0].sensitive
        if all(column in view.sensitive for view in coverings)
    }
    below = int(np.count_nonzero(rows < k))
    verdict = "BROKEN" if below else "holds"
    return Combination(names, k, int(rows.min()) if len(rows) else None, len(rows), below, values, verdict)
