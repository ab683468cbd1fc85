"""Releases of one source put together: two that hide everybody among k need not do so together.

Whoever knows somebody's quasi-identifiers looks them up in every release; only rows that agree in what is released as
it is can be theirs in all of them. Tested with the source as it is now.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.history import any_publication, is_published
from sqlanon.catalog.places import is_still_there
from sqlanon.catalog.releases import Stored, stored_releases
from sqlanon.engine.names import resolve, snapshot
from sqlanon.engine.session import temporary, translate_errors, unwrap
from sqlanon.errors import BrokenPromiseError, CatalogError, SqlanonError, call, option
from sqlanon.pipeline.encode import Held
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.policy.validation import column_names
from sqlanon.privacy.covering import Covering, Printed, aligned, left_of, together
from sqlanon.releases.others import Kin, Other, place_of
from sqlanon.releases.versions import versions_together
from sqlanon.sqltext import answer_sql, fold

log = logging.getLogger("sqlanon")
UNKNOWN = ("not tried", "undecided")
"""The verdicts that say that it is not known whether k holds."""
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
    apart: tuple[str, ...] = ()
    """The other stored releases, which were not taken for releases of the same people."""

    @property
    def holds(self) -> bool:
        """Does every combination leave everybody among k?"""
        return not any(found.is_broken for found in self.combinations)

    @property
    def is_tried(self) -> bool:
        """Could every combination be tried and decided?"""
        return all(found.verdict not in UNKNOWN for found in self.combinations)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        listed = [asdict(found) for found in self.combinations]
        return {"source": self.source, "holds": self.holds, "combinations": listed, "apart": list(self.apart)}

    @property
    def unmatched(self) -> str | None:
        """In words, what was not compared; None if everything was."""
        if not self.apart:
            return None
        return (
            f"not taken for releases of the same people: {', '.join(self.apart)}. They read other tables, and a copy "
            "is recognized by columns of the same names. Where columns were renamed, audit a view that has both names"
        )

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
    """Put all releases of the people of a table together, in pairs and all, and say what is left of k.

    `source` is a table's name or the query that releases were made from. Releases of the same people are those that
    read the same tables, those whose people are recognized in a copy, and published ones that were dropped or replaced:
    of these labels and counts are known. `files` are releases that are stored elsewhere, each with its
    quasi-identifiers; their other columns that the source has too are taken for kept ones. With `strict`, a combination
    that is broken or could not be decided raises BrokenPromiseError. `hint` is added to the error where there is no
    such table.
    """
    raw = unwrap(con)
    with translate_errors():
        resolve(raw, source, hint)
        catalog = Catalog.of(raw)
        with snapshot(raw, source) as people:
            kin = Kin(catalog, source, people)
            others, apart = list(kin.releases()), tuple(kin.strangers())
            asked = {other.called: other.policy.k for other in others}
            coverings = {other.called: other.seen(catalog, people) for other in others}
            for file, quasi in (files or {}).items():
                target = _elsewhere(catalog, file, quasi, people)
                asked[file] = max(asked.values(), default=2)
                coverings[file] = tried(catalog, target)
            own = tuple(
                found
                for other in others
                if other.stored is not None and (found := _versions(catalog, other.stored)) is not None
            )
            every = (*own, *(combined(names, coverings, asked) for names in _sets(coverings)))
            audited = Audit(source, every, apart)
    if strict and not (audited.holds and audited.is_tried):
        failed = [one for one in audited.combinations if one.verdict != "holds"]
        listed = "; ".join(f"{' + '.join(one.releases)}: {one.verdict}" for one in failed)
        raise BrokenPromiseError(f"Releases of '{source}' put together: {listed}")
    return audited


def _sets(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Each pair, and all of them if they are more."""
    every = tuple(names)
    return [*itertools.combinations(every, 2), *([every] if len(every) > 2 else [])]


def _elsewhere(catalog: Catalog, file: str, quasi: Sequence[str], people: Source) -> Printed:
    """A release that is stored elsewhere, as a table to try."""
    there = resolve(catalog.con, file)
    named = set(map(fold, column_names("quasi", quasi)))
    shared = [column for column in people.columns if fold(column) in set(map(fold, there.columns)) - named]
    policy = Policy.of({"quasi": quasi, "unsafe_keep": shared})
    return Printed(there.relation, file, "", policy, Tolerance.OLDER, people)


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
    """Warn if a release together with others of the same people breaks k, or may; raise if the policy is strict.

    `reading` is what the release was made from, which reads the same twice, and `held` where it is kept. `before` is
    a release of the same name that was published and is being replaced.
    """
    policy, shown = reading.policy, name or "the release"
    kin = Kin(catalog, source, reading.source)

    def own(base: Source) -> Covering | str:
        target = Printed(relation, shown, source, policy, Tolerance.OLDER, base)
        return tried(catalog, target, *((reading, held) if base is kin.people else ()))

    for message in _messages(kin, _beside(kin, name, before), shown, own, policy.k, policy.strict):
        if policy.strict:
            raise BrokenPromiseError(f"{message}. {option('strict')} is set, so nothing was stored")
        log.warning("%s. For details: %s", message, call("audit", source))


def check_publication(
    catalog: Catalog, name: str | None, relation: str, source: str, asked: str, policy: Policy, is_strict: bool
) -> None:
    """Warn if a release that is about to be published breaks k together with what was published of the same people, or
    may; raise if that is strict. `asked` is its source as it can be read now."""
    if not any_publication(catalog):
        return
    shown = name or "the release"
    found = []
    try:
        with snapshot(catalog.con, asked) as people:
            kin = Kin(catalog, asked, people)
            others = list(_beside(kin, name, None))
            itself = next((one for one in kin.releases() if one.stored and one.stored.name == name), None)

            def own(base: Source) -> Covering | str:
                target = Printed(relation, shown, source, policy, Tolerance.OLDER, base)
                return tried(catalog, target) if itself is None else itself.seen(catalog, base)

            out = (other for other in others if other.stored is None or is_published(catalog, other.stored.name))
            found = list(_messages(kin, out, shown, own, policy.k, is_strict))
    except CatalogError as problem:
        found = [f"'{shown}' cannot be tried together with what was published before ({problem})"]
    for message in found:
        if is_strict:
            raise BrokenPromiseError(f"{message}. {option('strict')} is set, so nothing was published")
        log.warning("%s. For details: %s", message, call("audit", source))


def _messages(
    kin: Kin, others: Iterable[Other], shown: str, own: Callable[[Source], Covering | str], k: int, is_strict: bool
) -> Iterator[str]:
    """What a release, by what it looks like to somebody who knows the people of a source, breaks together with each of
    the others, or may."""
    seen: dict[str, Covering | str] = {}
    for other in others:
        base = kin.shared(other.source)
        if base.relation not in seen:
            seen[base.relation] = own(base)
        coverings = {shown: seen[base.relation], other.called: other.seen(kin.catalog, base)}
        asked = {shown: k, other.called: other.policy.k}
        found = combined((shown, other.called), coverings if is_strict else _sampled(coverings), asked)
        if found.verdict != "holds":
            yield _warning(found, shown, other.called)


def _beside(kin: Kin, name: str | None, before: Predecessor | None) -> Iterator[Other]:
    """The releases to try together with one of this name: not itself; its predecessor by the rows that it had."""
    if before is not None:
        stored = before.stored
        target = Printed(before.relation, stored.name, "", stored.policy, Tolerance.OLDER)
        called = f"{stored.name}, as published before,"
        yield Other(
            called, stored.policy, stored.source, lambda people: Covering(kin.catalog, replace(target, people=people))
        )
    for other in kin.releases():
        is_itself = other.stored is not None and other.stored.name == name
        is_before = other.gone is not None and before is not None and other.gone.created_at == before.stored.created_at
        if not is_itself and not is_before:
            yield other


def _warning(found: Combination, shown: str, called: str) -> str:
    """What two releases do together, or that it is not known."""
    if found.verdict == "not tried":
        return f"'{shown}' cannot be tried together with '{called}' of the same people ({found.note})"
    left = f"{found.people_below_k:,} of {found.people:,} people with fewer than k = {found.k} rows"
    if found.is_broken:
        return f"Together with '{called}' of the same people, '{shown}' leaves {left}, somebody with {found.k_together}"
    return f"Together with '{called}' of the same people, '{shown}' may leave {left} ({found.note})"


def predecessor(catalog: Catalog, name: str | None, stack: ExitStack) -> Predecessor | None:
    """The published release of this name that is about to be replaced, its rows kept until the end."""
    if name is None or not is_published(catalog, name) or not is_still_there(catalog, name):
        return None
    (stored,) = stored_releases(catalog, name)
    rows = stack.enter_context(temporary(catalog.con, "before", f"from {place_of(catalog, stored)}"))
    return Predecessor(stored, rows)


def tried(
    catalog: Catalog, target: Printed, reading: Reading | None = None, held: Held | None = None
) -> Covering | str:
    """The release as an attacker sees it, or why it cannot be tried."""
    try:
        return Covering(catalog, target, reading, held)
    except SqlanonError as problem:
        return str(problem)


def _sampled(found: dict[str, Covering | str]) -> dict[str, Covering | str]:
    """The releases with as many people as can be compared in a moment."""
    coverings = {name: view for name, view in found.items() if isinstance(view, Covering)}
    people = min((len(view.ranks) for view in coverings.values()), default=0)
    most = min((WORK // len(view.classes[3]) for view in coverings.values()), default=0)
    if people <= most or any(view.is_counted for view in coverings.values()):
        return found
    chosen = np.sort(np.random.default_rng().choice(people, most, replace=False))
    return found | {name: view.only(chosen) for name, view in coverings.items()}


def combined(names: tuple[str, ...], found: dict[str, Covering | str], asked: dict[str, int]) -> Combination:
    """Some releases put together, as each is seen or why it cannot be, with the k that each promises."""
    k = min(asked[name] for name in names)
    coverings = aligned([view for name in names if isinstance(view := found[name], Covering)])
    notes = [f"'{name}': {problem}" for name in names if isinstance(problem := found[name], str)]
    if notes:
        return Combination(names, k, None, 0, 0, {}, "not tried", "; ".join(notes))
    if any(view.is_counted for view in coverings):
        return _counted(names, coverings, k)
    common = [column for column in coverings[0].of_rows if all(column in view.of_rows for view in coverings)]
    rows = left_of(coverings, common).sum(axis=1)
    is_in_all = rows > 0.5
    note = _missing(int(np.count_nonzero(~is_in_all)))
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
    return Combination(names, k, int(rows.min()) if len(rows) else None, len(rows), below, values, verdict, note)


def _missing(people: int) -> str | None:
    """What is said of people of the source whom no rows with the same values cover in all releases."""
    if not people:
        return None
    has, are = ("person has", "is") if people == 1 else ("people have", "are")
    why = "no row with the same values in all of them (blank, left out or changed)"
    return f"{people:,} {has} {why} and {are} not counted"


def _counted(names: tuple[str, ...], coverings: Sequence[Covering], k: int) -> Combination:
    """Releases of which labels and counts are known, and not all values. A person is left with a row of each of those
    whom the same classes cover in all of them; how many more there are would take the values."""
    is_in_all = np.ones(len(coverings[0].ranks), dtype=bool)
    for view in coverings:
        is_in_all &= view.rows_of_people > 0.5
    mixed = together([np.asarray(view.lookalikes).astype(np.uint64) for view in coverings], len(is_in_all))[is_in_all]
    _, which, alike = np.unique(mixed, return_inverse=True, return_counts=True)
    rows = alike[which.reshape(-1)]
    below = int(np.count_nonzero(rows < k))
    note = (
        "labels and counts were combined, with the table as it is now, because values of what is gone were not kept: "
        "k_together is how many people the same classes cover, and at least as many rows are left. Name its file to "
        "compare values"
    )
    fewest = int(rows.min()) if len(rows) else None
    return Combination(names, k, fewest, len(rows), below, {}, "undecided" if below else "holds", note)
