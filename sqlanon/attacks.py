"""Attacks on a release, with its source as what the attacker knows: what each got, what chance gives, what is promised.

An attack reads printed labels as the measures do, and finds for each person of the source the printed rows that cover
their values. It succeeds beyond its promise or not; against some attacks k and l promise nothing, and then it is said
how far they get. The numbers are shares and chances; no value is shown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from sqlanon.attributes import Attribute, attributes_of, with_ctes
from sqlanon.catalog import anon_schema, unwrap
from sqlanon.engine import our_errors, run
from sqlanon.errors import DataError, PolicyError
from sqlanon.frames import naming
from sqlanon.hierarchy import hierarchies
from sqlanon.measure import box_ctes, encoding_ctes
from sqlanon.policy import Policy
from sqlanon.release import Release, anonymize, open_release
from sqlanon.sources import Source, resolve
from sqlanon.sqltext import literal, name, render
from sqlanon.udfs.methods import METHODS

CELLS = 4_000_000
"""How many pairs of a tuple and a class are compared at a time."""
FOLDED = 256
"""How many different values of what is released as it is are told apart at most; more share numbers."""
SIGMAS = 3.89
"""Chance alone goes this far once in 10,000 times."""

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Attack:
    """What was tried, how far it got, how far chance alone gets, and what is promised against it.

    The verdict is `holds` where it got no further than promised, `BROKEN` where it did, `open` where it got somewhere
    and nothing is promised, or `not tried`.
    """

    attack: str
    column: str | None
    tried: str
    got: float | None
    chance: float | None
    promise: float | None
    verdict: str


@dataclass(frozen=True)
class Attacks:
    """The attacks on one release."""

    release: str
    rows: tuple[Attack, ...]

    @property
    def holds(self) -> bool:
        """Did no attack get further than what is promised?"""
        return all(row.verdict != "BROKEN" for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"release": self.release, "holds": self.holds, "attacks": [asdict(row) for row in self.rows]}

    def sql(self) -> str:
        """A query that answers with a row per attack."""
        kinds = ("varchar", "varchar", "varchar", "double", "double", "double", "varchar")
        rows = [
            "(" + ", ".join(f"{literal(v)}::{kind}" for v, kind in zip(asdict(row).values(), kinds, strict=True)) + ")"
            for row in self.rows
        ]
        return f'from (values {", ".join(rows)}) as attacks(attack, "column", tried, got, chance, promise, verdict)'


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
    with our_errors(), naming(raw) as named:
        view = _View(raw, _target(raw, named, release, source, options))
        rows = [
            *_linkage(view),
            *(found for column in view.sensitive for found in _sensitive(view, column, knows)),
            _order(view),
            *_ends(view),
            *(_intersection(view, _View(raw, other)) for other in _others(raw, named, view.target, others)),
            *(_minimality(raw, view, column) for column in view.sensitive if view.policy.models),
        ]
    return Attacks(view.target.shown, tuple(rows))


@dataclass(frozen=True)
class _Target:
    """A table to attack, what it was made from and how."""

    relation: str
    shown: str
    source: str
    policy: Policy


def _target(
    con: duckdb.DuckDBPyConnection,
    named: Callable[[Any], str],
    release: Any,
    source: Any,
    options: Mapping[str, Any],
) -> _Target:
    given = {option: value for option, value in options.items() if value is not None}
    if source is not None and not isinstance(release, Release):
        printed = resolve(con, named(release))
        return _Target(printed.relation, printed.shown, named(source), Policy.of(given))
    if source is not None or given:
        listed = ", ".join(["source"] * (source is not None) + list(given))
        raise PolicyError(f"{listed}: a stored release has its own; for another table give source and quasi")
    found = open_release(con, release) if isinstance(release, str) else release
    return _Target(found.table, found.name or "the release", named(found.origin), found.policy)


def _others(
    con: duckdb.DuckDBPyConnection,
    named: Callable[[Any], str],
    target: _Target,
    asked: Sequence[str | Release] | None,
) -> Iterator[_Target]:
    """The other releases of the same source: the ones asked for, or all stored ones that cover what they print."""
    if asked is not None:
        for release in asked:
            other = _target(con, named, release, None, {})
            if other.source != target.source:
                raise PolicyError(f"'{other.shown}' was made from another source than '{target.shown}'")
            yield other
        return
    stored = run(con, f"select name from {anon_schema(con)}.releases where source = $1 order by name", [target.source])
    for (release,) in stored:
        other = _target(con, named, release, None, {})
        if other.relation != target.relation and _covers(other.policy):
            yield other


def _covers(policy: Policy) -> bool:
    """Do its labels cover the values that they stand for?"""
    return policy.represent == "closure" and not METHODS[policy.method].is_exact


class _View:
    """A release as numbers: for each printed row the ranks that it covers, for each person of the source their ranks.

    Values of kept columns are hashes of their text, so that those of the source and of any release compare.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, target: _Target) -> None:
        if not _covers(target.policy):
            raise PolicyError(
                f"'{target.shown}' prints centres or exact values: attacks are for releases whose labels cover values"
            )
        if target.policy.population is not None:
            raise PolicyError(
                f"'{target.shown}' is a k-map: it hides people among its population, and attacks know the source"
            )
        anon = anon_schema(con)
        self.target, self.policy = target, target.policy
        self.source: Source = resolve(con, target.source)
        self.attributes: tuple[Attribute, ...] = attributes_of(self.source, self.policy, hierarchies(con, anon), anon)
        roles = (self.policy.sensitive, self.policy.keep, self.policy.unsafe_keep)
        self.sensitive, *others = (self.source.spelt(role) for role in roles)
        self.kept = [*self.sensitive, *itertools.chain(*others)]
        people, printed = self._read(con)
        self.ranks = np.column_stack([people[a.rank] for a in self.attributes]).astype(np.int64)
        self.lo = np.column_stack([printed[a.lo] for a in self.attributes]).astype(np.int64)
        self.hi = np.column_stack([printed[a.hi] for a in self.attributes]).astype(np.int64)
        self.has_ends = np.column_stack([printed[f"has_ends{a.number}"] for a in self.attributes]).astype(bool)
        self.of_people = {column: people[f"y{number}"] for number, column in enumerate(self.kept, 1)}
        self.of_rows = {column: printed[f"y{number}"] for number, column in enumerate(self.kept, 1)}
        if not len(self.ranks) or not len(self.lo):
            raise DataError(f"'{target.shown}' or its source has no rows: there is nothing to attack")

    def _read(self, con: duckdb.DuckDBPyConnection) -> tuple[dict[str, Any], dict[str, Any]]:
        kept = [f"hash(cast({name(column)} as varchar)) as y{n}" for n, column in enumerate(self.kept, 1)]
        hashes = [f"y{number}" for number in range(1, len(kept) + 1)]
        encoding = encoding_ctes(self.source, self.attributes, ["row_number() over () as place", *kept])
        boxes = box_ctes(self.source, self.attributes, self.target.relation, ["row_number() over () as place", *kept])
        ranks = [f"coalesce({a.domain}.rank, -1) as {a.rank}" for a in self.attributes]
        people = render(
            "risk/people.sql",
            columns=", ".join([*ranks, *hashes]),
            joins="\n".join(
                f"left join {a.domain} on {a.domain}.value is not distinct from {a.key('source.' + a.value)}"
                for a in self.attributes
            ),
        )
        ends = [
            f"known_{a.number}.lo as {a.lo}, known_{a.number}.hi as {a.hi}, "
            f"known_{a.number}.label is distinct from '*' as has_ends{a.number}"
            for a in self.attributes
        ]
        rows = render(
            "risk/covered.sql",
            columns=", ".join([*ends, *hashes]),
            joins="\n".join(
                f"join known_{a.number} on known_{a.number}.label is not distinct from printed.{a.labels}"
                for a in self.attributes
            ),
        )
        return (
            con.execute(with_ctes(encoding, people)).fetchnumpy(),
            con.execute(with_ctes([*encoding, *boxes], rows)).fetchnumpy(),
        )

    @cached_property
    def tuples(self) -> tuple[Codes, Codes]:
        """The distinct tuples of ranks, and which of them each person has."""
        found, which = np.unique(self.ranks, axis=0, return_inverse=True)
        return found, which.reshape(-1)

    @cached_property
    def classes(self) -> tuple[Codes, Codes, Codes, Codes]:
        """The printed classes: their smallest and largest ranks, which of them each row is in, and their rows."""
        ends, which, rows = np.unique(np.hstack([self.lo, self.hi]), axis=0, return_inverse=True, return_counts=True)
        width = self.lo.shape[1]
        return ends[:, :width], ends[:, width:], which.reshape(-1), rows

    def covering(self) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
        """Which classes cover which tuples, as a matrix of 0 and 1 for some tuples at a time."""
        tuples, (lo, hi, _, _) = self.tuples[0], self.classes
        step = max(1, CELLS // len(lo))
        for start in range(0, len(tuples), step):
            part = tuples[start : start + step]
            inside = np.ones((len(part), len(lo)), dtype=bool)
            for j in range(part.shape[1]):
                inside &= (lo[:, j] <= part[:, j, None]) & (part[:, j, None] <= hi[:, j])
            yield slice(start, start + len(part)), inside.astype(np.float32)

    def candidates(self, codes: Codes, values: int) -> Floats:
        """For each person, how many rows with each value cover them; `codes` are the rows' values."""
        tuples, of_person = self.tuples
        counts = _table(self.classes[2], codes, len(self.classes[3]), values).astype(np.float32)
        found = np.empty((len(tuples), values))
        for part, inside in self.covering():
            found[part] = inside @ counts
        return found[of_person]

    @cached_property
    def rows_of_people(self) -> Floats:
        """For each person, how many rows cover them."""
        return self.candidates(np.zeros(len(self.lo), dtype=np.int64), 1)[:, 0]


def _table(rows: Codes, columns: Codes, height: int, width: int, weights: Floats | None = None) -> Floats:
    """How often each pair of numbers occurs, or the sum of its weights."""
    flat = np.bincount(rows * width + columns, weights=weights, minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)


def _coded(*hashes: Any) -> tuple[list[Codes], int]:
    """Several columns' values as numbers from 0, and how many there are; folded where there are very many."""
    found, which = np.unique(np.concatenate(hashes), return_inverse=True)
    codes = which.reshape(-1) % FOLDED
    ends = np.cumsum([len(part) for part in hashes])[:-1]
    return [part.astype(np.int64) for part in np.split(codes, ends)], min(FOLDED, len(found))


def _together(columns: Sequence[Any], length: int) -> Any:
    """One hash for several columns."""
    mixed = np.zeros(length, dtype=np.uint64)
    for column in columns:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + np.asarray(column, dtype=np.uint64)
    return mixed


def _verdict(got: float, promise: float | None, is_open: bool) -> str:
    if promise is None:
        return "open" if is_open else "holds"
    return "BROKEN" if got > promise * (1 + 1e-9) else "holds"


def _linkage(view: _View) -> list[Attack]:
    """A person is one of the rows that cover their values: the chance of picking theirs, worst and mean."""
    rows = view.rows_of_people
    present = rows[rows > 0]
    missing = len(rows) - len(present)
    columns = ", ".join(a.column for a in view.attributes)
    tried = f"{len(rows):,} people sought by {columns} among {len(view.classes[3]):,} classes"
    tried += f"; {missing:,} of them no row covers" if missing else ""
    chance, promise = 1 / len(view.lo), 1 / view.policy.k
    worst, mean = (float(np.max(1 / present)), float(np.mean(1 / present))) if len(present) else (0.0, 0.0)
    return [
        Attack("linkage", None, tried, worst, chance, promise, _verdict(worst, promise, False)),
        Attack(
            "linkage_mean", None, "the same, mean over people", mean, chance, promise, _verdict(mean, promise, False)
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
    def of(cls, view: _View, column: str) -> _Groups:
        """A printed class, or where no class is promised, the rows that cover one person."""
        found, values = np.unique(view.of_rows[column], return_inverse=True)
        values = values.reshape(-1)
        if METHODS[view.policy.method].is_homogeneous:
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


def _promised(policy: Policy) -> tuple[float, int]:
    """The largest share of a class that one sensitive value may have, and how many values there must be. What is
    promised about people says nothing about shares of rows."""
    if policy.entity is not None:
        return 1.0, max(policy.distinct_l or 1, math.ceil(policy.entropy_l or 1))
    share = min(1 / (policy.l or 1), policy.alpha or 1)
    return share, max(math.ceil(1 / share - 1e-9), policy.distinct_l or 1, math.ceil(policy.entropy_l or 1))


def _sensitive(view: _View, column: str, knows: int) -> list[Attack]:
    """Homogeneity: everybody in a class has one value. Background knowledge: the least likely values are ruled out."""
    groups = _Groups.of(view, column)
    sizes, people = groups.sizes, groups.people
    _, counts = np.unique(view.of_rows[column], return_counts=True)
    shares = np.sort(counts / counts.sum())
    certain = float(people[groups.distinct == 1].sum() / people.sum())
    occurring, which = np.unique(sizes, return_inverse=True)
    by_chance = float((shares[:, None] ** occurring).sum(axis=0)[which.reshape(-1)] @ people / people.sum())
    share, values = _promised(view.policy)
    none = 0.0 if values > 1 else None
    found = [
        Attack(
            "homogeneity",
            column,
            f"people of {len(people):,} groups whose rows all have one value of {len(counts):,}",
            certain,
            by_chance,
            none,
            _verdict(certain, none, certain > by_chance),
        )
    ]
    guess = float(groups.best_guess(knows).max())
    before = float(shares[-1] / shares[min(knows, len(shares) - 1) :].sum())
    # The rarest of so many values have no more than their part of a class.
    promise = min(1.0, share * values / (values - knows)) if share < 1 and knows < values else None
    found.append(
        Attack(
            "background_knowledge",
            column,
            f"the best guess in any group, the {knows} least frequent values ruled out",
            guess,
            before,
            promise,
            _verdict(guess, promise, guess > before),
        )
    )
    return found


def _order(view: _View) -> Attack:
    """Do rows stand where the people stand that they may be? The rank correlation of a row's place in the release with
    the mean place in the source of the people that it covers and whose kept values it has.

    Where every class is in one piece the order of the classes tells only what is printed, so that places are compared
    within classes.
    """
    tried = "places of rows in the release against places of people in the source"
    mixed = [
        _together([values[column] for column in view.kept], length)
        for values, length in ((view.of_people, len(view.ranks)), (view.of_rows, len(view.lo)))
    ]
    (of_people, of_rows), values = _coded(*mixed)
    tuples, of_person = view.tuples
    _, _, of_class, rows = view.classes
    places = np.arange(len(of_person), dtype=np.float64)
    there = _table(of_person, of_people, len(tuples), values).astype(np.float32)
    sums = _table(of_person, of_people, len(tuples), values, places)
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
        place, expected = (_centred(values, of_class) for values in (place, expected))
        free -= len(np.unique(of_class))
    if free < 10:
        return Attack("row_order", None, f"{tried}: too few rows", None, None, None, "not tried")
    got = abs(_correlation(place, expected))
    chance = math.tanh(SIGMAS * math.sqrt(1.06 / (free - 3)))
    return Attack("row_order", None, tried, got, chance, chance, _verdict(got, chance, False))


def _centred(values: Floats, group: Codes) -> Floats:
    _, which = np.unique(group, return_inverse=True)
    which = which.reshape(-1)
    centred: Floats = values - (np.bincount(which, values) / np.bincount(which))[which]
    return centred


def _correlation(left: Floats, right: Floats) -> float:
    """Spearman's: of the ranks, ties sharing theirs. 0 where one of them is always the same."""
    ranks = []
    for values in (left, right):
        _, which, counts = np.unique(np.round(values, 6), return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[which.reshape(-1)])
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ends(view: _View) -> list[Attack]:
    """Whose own value does a range show? One who alone has the smallest or largest value that a class prints."""
    found = []
    lo, hi, of_class, _ = view.classes
    first = np.unique(of_class, return_index=True)[1]
    for j, attribute in enumerate(view.attributes):
        if not attribute.is_range:
            continue
        people = np.bincount(view.ranks[:, j].clip(0), minlength=int(hi[:, j].max()) + 1)
        is_exact = view.has_ends[first, j] & (lo[:, j] < hi[:, j]) & (not attribute.is_snapped)
        ends = np.concatenate([lo[is_exact, j], hi[is_exact, j]])
        alone = int(np.count_nonzero(people[ends] == 1))
        shown = len(ends) or 1
        tried = f"{len(ends):,} ends of ranges that are somebody's value; {alone:,} are one person's alone"
        chance = float(np.count_nonzero(people == 1) / people.sum())
        verdict = _verdict(alone / shown, None, alone > 0)
        found.append(Attack("ends_of_ranges", attribute.column, tried, alone / shown, chance, None, verdict))
    return found


def _intersection(view: _View, other: _View) -> Attack:
    """A person is in both releases with the same kept values, so no more rows can be theirs than both have of each.

    Folding values into fewer numbers leaves more rows, so that what is found here can be done.
    """
    common = [column for column in view.kept if column in other.of_rows]
    mixed = [_together([v.of_rows[column] for column in common], len(v.lo)) for v in (view, other)]
    (here, there), values = _coded(*mixed)
    both = np.minimum(view.candidates(here, values), other.candidates(there, values)).sum(axis=1)
    both = both[both > 0.5]
    promise = 1 / min(view.policy.k, other.policy.k)
    got = float(np.max(1 / both)) if len(both) else 0.0
    below = int(np.count_nonzero(both < min(view.policy.k, other.policy.k) - 0.5))
    what = (
        f"rows that cover a person here and in '{other.target.shown}', equal in {', '.join(common) or 'nothing else'}"
    )
    return Attack(
        "intersection",
        None,
        f"{what}; {below:,} people have fewer than k",
        got,
        1 / len(view.lo),
        promise,
        _verdict(got, promise, False),
    )


def _minimality(con: duckdb.DuckDBPyConnection, view: _View, column: str) -> Attack:
    """A class that l alone made so large has a part that would not have been diverse, which tells who has what.

    The attacker runs the method without l, which needs no sensitive values, and finds the groups that a class was
    merged from. Of all ways to deal the class's values to its people, only those count in which some group breaks l
    (Wong, Fu, Wang, Pei: Minimality attack in privacy preserving data publishing, VLDB 2007). Tested where whole groups
    were merged.
    """
    asked = {*view.policy.models, "recursive_c", "t_distance"}
    without = Policy.of({option: value for option, value in view.policy.options().items() if option not in asked})
    l = view.policy.l  # noqa: E741 - the field's own name
    if l is None or len(view.policy.models) > 1 or without.sees_sensitive or without.entity is not None:
        tried = "only for l alone, with a method that looks at sensitive values for nothing else"
        return Attack("minimality", column, tried, None, None, None, "not tried")
    alone = anonymize(con, view.target.source, policy=without)
    before = _View(con, _Target(alone.table, "the same without l", view.target.source, without))
    run(con, f"drop table {alone.table}")
    lo, hi, of_class, rows = view.classes
    part_lo, part_hi, _, part_rows = before.classes
    got, chance, merged = 0.0, 0.0, 0
    _, values = np.unique(view.of_rows[column], return_inverse=True)
    for number in range(len(rows)):
        parts = np.flatnonzero(((lo[number] <= part_lo) & (part_hi <= hi[number])).all(axis=1))
        if len(parts) < 2 or part_rows[parts].sum() != rows[number]:
            continue
        told = _told(values.reshape(-1)[of_class == number], part_rows[parts], l)
        if told is not None:
            merged += 1
            got, chance = max(got, told[0]), max(chance, told[1])
    tried = f"{merged:,} classes that were merged for l alone, from groups that the method makes without it"
    return Attack("minimality", column, tried, got, chance, None, _verdict(got, None, got > 1 / l + 1e-9))


def _told(values: Codes, parts: Codes, l: float) -> tuple[float, float] | None:  # noqa: E741
    """The best guess about a person once some part is known to break l, and the best guess without that; None where
    no part can break it.

    A part breaks l by a value with the chance that dealing out the values gives it more than its share. Two such events
    at once are taken for as many as they are, so the guess is exact where they exclude each other.
    """
    counts = np.unique(values, return_counts=True)[1]
    rows = int(counts.sum())
    chances, shares = [], []
    for part, size in enumerate(parts.tolist()):
        for value, count in enumerate(counts.tolist()):
            drawn = np.arange(math.floor(size / l + 1e-9) + 1, min(size, count) + 1)
            ways = [
                math.comb(count, x) * math.comb(rows - count, size - x) / math.comb(rows, size) for x in drawn.tolist()
            ]
            if not sum(ways):
                continue
            here = float(drawn @ np.array(ways)) / sum(ways)
            others = counts * (size - here) / (rows - count)
            others[value] = here
            share = np.tile((counts - others) / (rows - size), (len(parts), 1))
            share[part] = others / size
            chances.append(sum(ways))
            shares.append(share)
    if not chances:
        return None
    return float(np.average(shares, axis=0, weights=chances).max()), float(counts.max() / rows)
