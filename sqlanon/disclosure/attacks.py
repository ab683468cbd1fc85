"""Attacks on a release, with its source as what the attacker knows: what each got, what chance gives, what is promised.

An attack reads released labels as the measures do, and finds for each person of the source the released rows that cover
their values. It succeeds beyond its promise or not; against some attacks k and l promise nothing, and then it is said
how far they get. The numbers are shares and chances; no value is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import key_of
from sqlanon.catalog.releases import stored_releases
from sqlanon.disclosure.attacked import Attack, Attacks, verdict_of
from sqlanon.disclosure.counting import centered, correlation, revealed
from sqlanon.disclosure.dealing import exchange
from sqlanon.disclosure.linked import known_rows
from sqlanon.disclosure.warned import repairs, signing, warnings_of
from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, translate_errors, unwrap
from sqlanon.errors import PolicyError
from sqlanon.pipeline.readback import Tolerance
from sqlanon.policy.policy import Policy
from sqlanon.privacy.covering import Codes, Covering, Floats, Printed, coded, table, together
from sqlanon.privacy.verdict import next_step, publishing
from sqlanon.releases.combinations import combined, tried
from sqlanon.releases.making import anonymize
from sqlanon.releases.others import Kin, place_of
from sqlanon.releases.release import Release, open_release
from sqlanon.releases.versions import versions_together

SIGMAS = 3.89
"""Chance alone goes this far once in 10,000 times."""


def attack(
    con: Any,
    release: Any,
    *,
    source: Any = None,
    others: Sequence[str | Release] | None = None,
    knows: int = 1,
    **options: Any,
) -> Attacks:
    """Attack a release and say what came of it.

    `release` is a stored release's name or a Release, or any table, file, query or frame together with the `source`
    it was made from and its policy as options: quasi, k, sensitive, l, keep, hierarchies, ranges. `others` are more
    releases of the same source to intersect it with; by default the stored ones. `knows` is how many values of a
    sensitive column the attacker can rule out for a person.
    """
    if isinstance(knows, bool) or not isinstance(knows, int) or knows < 0:
        raise PolicyError(f"knows is {knows!r}; it must be a whole number of 0 or more")
    raw = unwrap(con)
    with translate_errors(), registered(raw) as named:
        catalog = Catalog.of(raw)
        view = Covering(catalog, _target(raw, named, release, source, options))
        rows = [
            *_linkage(view),
            *(found for column in view.sensitive for found in _sensitive(view, column, knows)),
            _order(view),
            *_ends(view),
            *(
                Attack(**each.told, verdict=verdict_of(each.got, each.promise, each.is_open))
                for each in known_rows(view)
            ),
            *_versions(catalog, release if source is None else None, view),
            *(_with_other(view, called, other) for called, other in _others(catalog, named, view, others)),
            *(_minimality(catalog, view, column) for column in view.sensitive if view.policy.models),
            *([_dealing(catalog, view)] if view.policy.models else []),
        ]
        warned = warnings_of(view, rows)
    name = release if isinstance(release, str) else getattr(release, "name", None)
    otherwise = publishing(name) if source is None else signing(view.policy)
    broken = {row.attack for row in rows if row.verdict == "BROKEN"}
    then = next_step(not broken, warned, otherwise, repairs(broken))
    return Attacks(view.target.shown, tuple(rows), warned, then)


def _target(
    con: Session,
    named: Callable[[Any], str],
    release: Any,
    source: Any,
    options: Mapping[str, Any],
) -> Printed:
    given = {option: value for option, value in options.items() if value is not None}
    if source is not None and not isinstance(release, Release):
        printed = resolve(con, named(release))
        return Printed(printed.relation, printed.shown, named(source), Policy.of(given))
    if source is not None or given:
        listed = ", ".join(["source"] * (source is not None) + list(given))
        raise PolicyError(f"{listed}: a stored release already has these; give source and quasi only for another table")
    found = open_release(con, release) if isinstance(release, str) else release
    return Printed(found.table, found.name or "the release", named(found.origin), found.policy, Tolerance.OLDER)


def _others(
    catalog: Catalog,
    named: Callable[[Any], str],
    view: Covering,
    asked: Sequence[str | Release] | None,
) -> Iterator[tuple[str, Covering | str]]:
    """The other releases of the same people, each as an attacker sees it or why not: the ones asked for, or all."""
    con, target = catalog.con, view.target
    for release in asked or ():
        other = _target(con, named, release, None, {})
        if other.source != target.source:
            raise PolicyError(f"'{other.shown}' was not made from the same source as '{target.shown}'")
        yield other.shown, tried(catalog, other)
    if asked is None:
        for kin in Kin(catalog, target.source, view.source).releases():
            if kin.stored is None or place_of(catalog, kin.stored) != target.relation:
                yield kin.called, kin.seen(catalog, view.source)


def _linkage(view: Covering) -> list[Attack]:
    """A person is one of the rows that cover their values: the chance of picking theirs, worst and mean."""
    rows = view.rows_of_people
    present = rows[rows > 0]
    missing = len(rows) - len(present)
    columns = ", ".join(a.column for a in view.attributes)
    tried = f"{len(rows):,} people looked up by {columns} in {len(view.classes[3]):,} classes"
    tried += f"; no row covers {missing:,} of them" if missing else ""
    chance, promise = 1 / len(view.lo), 1 / view.policy.k
    worst, mean = (float(np.max(1 / present)), float(np.mean(1 / present))) if len(present) else (0.0, 0.0)
    return [
        Attack("linkage", None, tried, worst, chance, promise, verdict_of(worst, promise, False)),
        Attack(
            "linkage_mean", None, "the same, mean over people", mean, chance, promise, verdict_of(mean, promise, False)
        ),
    ]


@dataclass(frozen=True)
class _Groups:
    """Values of a sensitive column by group: a row for each value of each group, sorted by group and count."""

    group: Codes
    count: Codes
    people: Codes
    """How many people each group speaks of."""

    @classmethod
    def of(cls, view: Covering, column: str) -> _Groups:
        """A released class, or where no class is promised, the rows that cover one person."""
        found, values = np.unique(view.of_rows[column], return_inverse=True)
        values = values.reshape(-1)
        if view.policy.kind.has_classes:
            keys, count = np.unique(view.classes[2] * len(found) + values, return_counts=True)
            group, people = keys // len(found), view.classes[3]
        else:
            counts = np.rint(view.candidates(values, len(found))).astype(np.int64)
            group, value = np.nonzero(counts)
            count, people = counts[group, value], np.ones(len(counts), dtype=np.int64)
        order = np.lexsort((count, group))
        return cls(group[order], count[order], people)

    @property
    def sizes(self) -> Codes:
        """Rows by group."""
        return np.bincount(self.group, weights=self.count, minlength=len(self.people)).astype(np.int64)

    @property
    def distinct(self) -> Codes:
        """Values by group."""
        return np.bincount(self.group, minlength=len(self.people))

    def best_guess(self, excluded: int) -> Floats:
        """By group, the share of the most frequent value once the least frequent ones are ruled out."""
        distinct = self.distinct
        starts = np.cumsum(distinct) - distinct
        place = np.arange(len(self.group)) - starts[self.group]
        ruled_out = place < np.minimum(excluded, distinct - 1)[self.group]
        left = self.sizes - np.bincount(self.group[ruled_out], self.count[ruled_out], minlength=len(self.people))
        most = np.zeros(len(self.people))
        np.maximum.at(most, self.group, self.count)
        guesses: Floats = most / np.maximum(left, 1)
        return guesses


def _promised(policy: Policy, column: str) -> tuple[float, int]:
    """The largest share of a class that one value of a sensitive column may have, and how many values there must be.
    What is promised about people says nothing about shares of rows."""
    models = ("l", "alpha", "distinct_l", "entropy_l")
    diverse, alpha, distinct, entropy = (policy.required(model, column) or 1 for model in models)
    values = max(int(distinct), math.ceil(entropy))
    if policy.entity is not None:
        return 1.0, values
    share = min(1 / diverse, alpha)
    return share, max(math.ceil(1 / share - 1e-9), values)


def _sensitive(view: Covering, column: str, knows: int) -> list[Attack]:
    """Homogeneity: everybody in a class has one value. Background knowledge: the least likely values are ruled out."""
    groups = _Groups.of(view, column)
    sizes, people = groups.sizes, groups.people
    _, counts = np.unique(view.of_rows[column], return_counts=True)
    shares = np.sort(counts / counts.sum())
    certain = float(people[groups.distinct == 1].sum() / people.sum())
    occurring, which = np.unique(sizes, return_inverse=True)
    by_chance = float((shares[:, None] ** occurring).sum(axis=0)[which.reshape(-1)] @ people / people.sum())
    share, values = _promised(view.policy, column)
    none = 0.0 if values > 1 else None
    found = [
        Attack(
            "homogeneity",
            column,
            f"people of {len(people):,} groups in which all rows have the same value of {len(counts):,}",
            certain,
            by_chance,
            none,
            verdict_of(certain, none, certain > by_chance),
        )
    ]
    guess = float(groups.best_guess(knows).max())
    before = float(shares[-1] / shares[min(knows, len(shares) - 1) :].sum())
    # The rarest of this many values have no more than their part of a class.
    promise = min(1.0, share * values / (values - knows)) if share < 1 and knows < values else None
    found.append(
        Attack(
            "background_knowledge",
            column,
            f"the best guess in any group, with the {knows} least frequent values ruled out",
            guess,
            before,
            promise,
            verdict_of(guess, promise, guess > before),
        )
    )
    return found


def _order(view: Covering) -> Attack:
    """Do rows stand where the people stand that they may be? The rank correlation of a row's place in the release with
    the mean place in the source of the people that it covers and whose kept values it has.

    Where every class is in one piece the order of the classes tells only what is released, so that places are compared
    within classes.
    """
    tried = "places of rows in the release against places of people in the source"
    mixed = [
        together([values[column] for column in view.kept], length)
        for values, length in ((view.of_people, len(view.ranks)), (view.of_rows, len(view.lo)))
    ]
    (of_people, of_rows), values = coded(*mixed)
    tuples, of_person = view.tuples
    _, _, of_class, rows = view.classes
    places = np.arange(len(of_person), dtype=np.float64)
    there = table(of_person, of_people, len(tuples), values).astype(np.float32)
    sums = table(of_person, of_people, len(tuples), values, places)
    people, total = np.zeros((len(rows), values)), np.zeros((len(rows), values))
    for part, inside in view.covering():
        people += inside.T @ there[part]
        total += inside.T @ sums[part]
    expected = (total / np.maximum(people, 1))[of_class, of_rows]
    known = people[of_class, of_rows] > 0.5
    place = np.flatnonzero(known).astype(np.float64)
    expected, of_class = expected[known], of_class[known]
    free = len(place)
    if np.count_nonzero(np.diff(of_class)) + 1 == len(np.unique(of_class)):
        place, expected = (centered(values, of_class) for values in (place, expected))
        free -= len(np.unique(of_class))
    if free < 10:
        return Attack("row_order", None, f"{tried}: too few rows", None, None, None, "not tried")
    got = abs(correlation(place, expected))
    chance = math.tanh(SIGMAS * math.sqrt(1.06 / (free - 3)))
    return Attack("row_order", None, tried, got, chance, chance, verdict_of(got, chance, False))


def _ends(view: Covering) -> list[Attack]:
    """Whose own value does a range show? One who alone has the smallest or largest value that a class prints."""
    found = []
    lo, hi, of_class, _ = view.classes
    first = np.unique(of_class, return_index=True)[1]
    for j, attribute in enumerate(view.attributes):
        if not attribute.is_range:
            continue
        people = np.bincount(view.ranks[:, j].clip(0), minlength=int(hi[:, j].max()) + 1)
        is_exact = view.has_ends[first, j] & (lo[:, j] < hi[:, j])
        ends = np.concatenate([lo[is_exact, j], hi[is_exact, j]])
        alone = int(np.count_nonzero(people[ends] == 1))
        shown = len(ends) or 1
        tried = f"{len(ends):,} ends of ranges that are somebody's value; {alone:,} belong to one person only"
        chance = float(np.count_nonzero(people == 1) / people.sum())
        verdict = verdict_of(alone / shown, None, alone > 0)
        found.append(Attack("ends_of_ranges", attribute.column, tried, alone / shown, chance, None, verdict))
    return found


def _versions(catalog: Catalog, release: Any, view: Covering) -> list[Attack]:
    """Whoever kept every version of a refreshed view: the people whom somebody cannot be told from in any of them."""
    name = release if isinstance(release, str) else getattr(release, "name", None)
    stored = stored_releases(catalog, key_of(catalog, name)[2]) if name is not None else []
    found = versions_together(catalog, stored[0]) if stored else None
    if found is None or not found.rows:
        return []
    promise, chance = 1 / view.policy.k, 1 / max(found.people, 1)
    tried = f"{found.versions} versions put together, with the class of each of {found.people:,} people in all of them"
    tried += f"; {found.below:,} people have fewer than k"
    attacks = [
        Attack("versions", None, tried, 1 / found.rows, chance, promise, verdict_of(1 / found.rows, promise, True))
    ]
    for column, values in found.values.items():
        none = 0.0 if _promised(view.policy, column)[1] > 1 else None
        sure = 1.0 if values == 1 else 0.0
        said = f"the fewest values that all versions leave to somebody: {values:,}"
        attacks.append(Attack("versions", column, said, sure, None, none, verdict_of(sure, none, values == 1)))
    return attacks


def _with_other(view: Covering, called: str, other: Covering | str) -> Attack:
    """The release intersected with another one, or why that cannot be tried. A person is in both with the same kept
    values, so no more rows can be theirs than both have of each."""
    if isinstance(other, str):
        told = f"'{called}' of the same people could not be tried: {other}"
        return Attack("intersection", None, told, None, None, None, "not tried", called)
    names = ("", called)
    found = combined(names, {"": view, called: other}, {"": view.policy.k, called: other.policy.k})
    if found.verdict == "undecided":
        told = f"'{called}' of the same people could not be decided: {found.note}"
        return Attack("intersection", None, told, None, None, None, "not tried", called)
    common = ", ".join(column for column in view.of_rows if column in other.of_rows) or "nothing else"
    told = f"rows that cover a person here and in '{called}', equal in {common}"
    promise, got = 1 / found.k, 1 / found.k_together if found.k_together else 0.0
    return Attack(
        "intersection",
        None,
        f"{told}; {found.people_below_k:,} people have fewer than k",
        got,
        1 / len(view.lo),
        promise,
        verdict_of(got, promise, False),
        called,
    )


def _minimality(catalog: Catalog, view: Covering, column: str) -> Attack:
    """A class that l alone made so large has a part that would not have been diverse, which tells who has what.

    The attacker runs the method without l, which needs no sensitive values, and finds the groups that a class was
    merged from. Of all ways to deal the class's values to its people, only those count in which some group breaks l
    (Wong, Fu, Wang, Pei: Minimality attack in privacy preserving data publishing, VLDB 2007). Tested where whole groups
    were merged.
    """
    asked = {*view.policy.models, "recursive_c", "t_distance"}
    without = Policy.of({option: value for option, value in view.policy.options().items() if option not in asked})
    l = view.policy.required("l", column)  # noqa: E741 - the field's own name
    if l is None or len(view.policy.models) > 1 or without.sees_sensitive or without.entity is not None:
        tried = "only if l is the only model and the method uses sensitive values for nothing else"
        return Attack("minimality", column, tried, None, None, None, "not tried")
    alone = anonymize(catalog.con, view.target.source, policy=without)
    before = Covering(catalog, Printed(alone.table, "the same without l", view.target.source, without))
    alone.discard()
    lo, hi, of_class, rows = view.classes
    part_lo, part_hi, _, part_rows = before.classes
    got, chance, merged = 0.0, 0.0, 0
    _, values = np.unique(view.of_rows[column], return_inverse=True)
    for number in range(len(rows)):
        parts = np.flatnonzero(((lo[number] <= part_lo) & (part_hi <= hi[number])).all(axis=1))
        if len(parts) < 2 or part_rows[parts].sum() != rows[number]:
            continue
        told = revealed(values.reshape(-1)[of_class == number], part_rows[parts], l)
        if told is not None:
            merged += 1
            got, chance = max(got, told[0]), max(chance, told[1])
    tried = f"{merged:,} classes that were merged only because of l, from the groups that the method makes without l"
    return Attack("minimality", column, tried, got, chance, None, verdict_of(got, None, got > 1 / l + 1e-9))


def _dealing(catalog: Catalog, view: Covering) -> Attack:
    """The program is run on guesses; see dealing.py. Only blind forming promises that this tells nothing."""
    found = exchange(catalog, view)
    if found.why is not None:
        return Attack("dealing", None, found.why, None, None, None, "not tried")
    promise = found.chance if view.policy.seed is None and view.policy.forming == "blind" else None
    tried = f"{found.made} guesses, in which two people of a class exchange values, ruled out by running the policy"
    if not found.made:
        tried = "the policy was run again on the same rows; it gave other releases, so no guess can be checked by it"
    verdict = "holds" if not found.are_too_many else "open" if promise is None else "BROKEN"
    return Attack("dealing", None, tried, found.got, found.chance, promise, verdict)
