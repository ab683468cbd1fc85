"""Peel: from the finest full-domain generalization to the coarsest, every combination with k rows leaves as a group.

A full-domain generalization takes every attribute to one of its levels: a tree to a level of its nodes, numbers to bins
of one width. All of them are listed, in the order of what they cost the table's rows on average (by NCP, He et al.
2012, or another measure of costs.py), and each looks at the tuples that are still there: a class of k rows or more that
keeps all models becomes a group and leaves. Groups are released as their closures, so a group costs what its members
need and no more. Ours: full-domain generalization is Samarati's (TKDE 2001), giving each class its own level is what
makes it local.

Time O(s E d) for s generalizations of E distinct tuples with d attributes, and less as tuples leave; memory O(E h) for
h levels of all attributes together. Good at any size and at large k, and as a start for `refine`: it is nothing but one
GROUP BY after another.

Decided:
- Numbers have the levels "value", bins of one width after the other, and "any". Widths grow from twice the median
  distance of neighbors, but no less than 1/64 of the line, by the factor 2^(1/f), and every width comes with f
  places for its first edge. f is the largest of 0.5, 1, 2, 3 and 4 with which the lattice has no more than `steps`
  generalizations. NULL has a bin of its own at all levels but "any".
- A lattice of more than `steps` generalizations even so is sampled, evenly where it can be listed; otherwise a share
  of the way to the top is drawn for every step, and each attribute's level around it. The top is always the last step.
- Steps of equal cost come in the order of their levels, the first attribute's first.
- A class by all attributes is part of one by a few of them. So attributes come in bundles, and what a bundle's classes
  are at a combination of its levels is remembered: most steps find that too few tuples are in large ones everywhere.
- Rows left at the top, fewer than k or breaking a model, join the group whose loss they raise least, as one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sqlanon.udfs import legality
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Bools, Floats, Groups, Ints, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.costs import Rate
from sqlanon.udfs.space.levels import Codes, fitting_lattice, level_losses

LISTED = 2**22
"""Lattices up to this size are listed, larger ones are only drawn from."""
STORED = 2**23
"""Hashes that bundles of attributes keep at most: each one for each tuple and each combination of its levels."""
COMBINED = 128
"""Combinations of levels that a bundle of several attributes has at most."""
GROWN = 1.1
"""A class is tested again for its models only where it has grown so much since it broke one."""
PAUSES = 100
"""How often progress is reported."""
KEY = 2**62
"""The largest number of classes that are distinguished by one number."""
NOBODY: Ints = np.zeros(0, dtype=np.int64)
Hashes = npt.NDArray[np.uint32]
Bundled = tuple[Hashes, Bools, bool]
"""For each tuple the hash of its class, and whether that may have k rows; and whether any may."""
OBJECTIVE = Parameter(
    "objective", "ncp", "the measure to minimize; pmi looks at the first sensitive column", choices=costs.OBJECTIVES
)


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    objective: str = "ncp",
    steps: int = 20_000,
) -> Groups:
    """Walk down the list of generalizations. Only a lattice larger than `steps` is drawn from at random."""
    problem.need_rows(k)
    legality.check_legal(problem)
    lattice = fitting_lattice(problem.attributes, steps)
    rates, value = costs.rates(problem, objective)
    columns = zip(rates, lattice, problem.ranks.T, strict=True)
    order = walk([level_losses(*column, value, problem.counts) for column in columns], steps, rng)
    table = Table(problem, lattice)
    pause = max(1, len(order) // PAUSES)
    for number, step in enumerate(order):
        if number % pause == 0:
            progress(number, len(order))
        table.peel(step.tolist(), k)
        if not table.left:
            break
    progress(len(order), len(order))
    return table.groups(rates, value)


def walk(losses: list[Floats], steps: int, rng: np.random.Generator) -> Ints:
    """The generalizations (steps × attributes, each its level), the cheapest first and the top last."""
    sizes = np.array([len(loss) for loss in losses])
    total = math.prod(sizes.tolist())
    if total > LISTED:
        share = rng.random((steps, 1))
        drawn = rng.binomial(sizes - 1, share).astype(np.int16)  # unique takes several times its memory
        found = np.unique(np.vstack([drawn, (sizes - 1).astype(np.int16)]), axis=0)
    else:
        some = np.arange(total) if total <= steps else np.sort(rng.permutation(total - 1)[: steps - 1])
        found = np.stack(np.unravel_index(np.union1d(some, total - 1), sizes), axis=1)
    cost = sum(loss[level] for loss, level in zip(losses, found.T, strict=True))
    cost = np.round(cost, 9)  # equal sums of different parts are ties on every machine
    is_top = (found == sizes - 1).all(axis=1)
    return np.asarray(found[np.lexsort((cost, is_top))])


def bundles(classes: list[list[int]], most: int) -> list[tuple[int, ...]]:
    """The attributes in bundles, those with most classes at their levels first, as they tell most tuples apart. A
    bundle of several has no more combinations of levels than this."""
    found: list[list[int]] = []
    product = 0
    for j in sorted(range(len(classes)), key=lambda j: -max(classes[j])):
        product *= len(classes[j])
        if not found or product > most:
            found.append([])
            product = len(classes[j])
        found[-1].append(j)
    return [tuple(bundle) for bundle in found]


def _buckets(hashes: Hashes, rows: Floats) -> tuple[Ints, Floats]:
    """The bucket of each tuple by its hash, and the rows of each bucket; there are two to four times as many buckets as
    tuples."""
    bits = min(31, max(4, len(hashes).bit_length() + 1))
    places = (hashes >> np.uint32(32 - bits)).astype(np.int64)
    return places, np.asarray(np.bincount(places, weights=rows, minlength=1 << bits), dtype=np.float64)


class Table:
    """The tuples that have no group yet, and the group of those that have."""

    def __init__(self, problem: Problem, lattice: list[list[Codes]]) -> None:
        self.problem = problem
        self.group = np.full(len(problem.counts), -1)
        self.count = 0
        self.tuple = np.arange(len(problem.counts))
        self.rows = problem.counts.astype(np.float64)
        self.broke = np.zeros(len(problem.counts))
        """How many rows the largest class of each tuple had that broke a model."""
        self.left = len(self.tuple)
        self.lattice = lattice
        self.ranks = np.ascontiguousarray(problem.ranks.T)
        # A class's hash is the sum of one random number per attribute, times the class there.
        drawn = np.random.default_rng(0).integers(2**31, size=len(lattice), dtype=np.uint32)
        self.factors = drawn * np.uint32(2) + np.uint32(1)
        self.classes = [[int(code.max(initial=0)) + 1 for code in codes] for codes in lattice]
        self.share = STORED // max(1, len(lattice))
        self.bundles = bundles(self.classes, min(COMBINED, self.share // max(1, self.left)))
        self.seen: list[dict[tuple[int, ...], Bundled]] = [{} for _ in self.bundles]
        """For each bundle what was found at the levels that have been looked at."""

    def peel(self, step: list[int], k: int) -> None:
        """Give a group to every class that is large enough at this generalization."""
        some = self._crowded(step, k)
        if not some.size:
            return
        key = self._classes(step, some)
        is_group = np.bincount(key, weights=self.rows[some]) >= k
        if self.problem.models:
            is_group = self._legal(key, some, is_group)
        leaves = is_group[key]
        if not leaves.any():
            return
        number = np.cumsum(is_group) - 1 + self.count
        self.group[self.tuple[some[leaves]]] = number[key[leaves]]
        self.count += int(is_group.sum())
        self.rows[some[leaves]] = 0
        self.left -= int(leaves.sum())
        if 8 * self.left < 7 * len(self.tuple):
            self._compact()

    def _crowded(self, step: list[int], k: int) -> Ints:
        """The tuples whose class may be large enough: those in a bucket with k rows, whatever else is in there.

        Most steps find few groups or none. Adding up rows in buckets, in time O(E), spares sorting all tuples by class.
        """
        parts = []
        for number in range(len(self.bundles)):
            parts.append(self._bundled(number, step, k))
            if not parts[-1][2]:
                return NOBODY
        may_be = parts[0][1]
        for _, is_crowded, _ in parts[1:]:
            may_be = may_be & is_crowded
        some = np.flatnonzero(may_be)
        if 2 * len(some) > len(may_be):  # to pick them would take longer than to look at all
            return self._in_large_buckets([hashes for hashes, *_ in parts], self.rows, self.broke, k)
        if not some.size:
            return some
        picked = [hashes[some] for hashes, *_ in parts]
        return np.asarray(some[self._in_large_buckets(picked, self.rows[some], self.broke[some], k)])

    def _in_large_buckets(self, hashes: list[Hashes], weights: Floats, broke: Floats, k: int) -> Ints:
        """The places of the tuples whose bucket, by the sum of their hashes, has k rows or more."""
        bucket = hashes[0]
        for one in hashes[1:]:
            bucket = bucket + one
        places, rows = _buckets(bucket, weights)
        is_crowded = rows >= k
        if self.problem.models:
            is_ready = np.zeros(len(rows), dtype=bool)
            is_ready[places[rows[places] > GROWN * broke]] = True
            is_crowded &= is_ready
        if not is_crowded.any():
            return NOBODY
        return np.flatnonzero(is_crowded[places] & (weights > 0))

    def _bundled(self, number: int, step: list[int], k: int) -> Bundled:
        """By the attributes of one bundle at the levels of this step: the hash of each tuple, and whether its class may
        have k rows. By more attributes it has no more, and later no more either, as rows only leave."""
        bundle, seen = self.bundles[number], self.seen[number]
        levels = tuple([step[j] for j in bundle])
        found = seen.get(levels)
        if found is None:
            hashes = np.zeros(len(self.tuple), dtype=np.uint32)
            for j, level in zip(bundle, levels, strict=True):
                hashes += self.lattice[j][level][self.ranks[j]].astype(np.uint32) * self.factors[j]
            places, rows = _buckets(hashes, self.rows)
            is_crowded = (rows >= k)[places] & (self.rows > 0)
            found = hashes, is_crowded, bool(is_crowded.any())
            if len(seen) * len(self.tuple) < self.share:
                seen[levels] = found
        return found

    def _legal(self, key: Ints, some: Ints, is_large: Bools) -> Bools:
        """Which of the large classes keep all models? Tuples in the others wait for a class that is larger."""
        inside = is_large[key]
        key, some = key[inside], some[inside]
        is_legal = is_large.copy()
        legal = legality.are_legal(self.problem, self.tuple[some], key, self.rows[some].astype(np.int64))
        is_legal[: len(legal)] &= legal
        rows = np.bincount(key, weights=self.rows[some])
        self.broke[some] = np.where(legal[key], 0, np.maximum(self.broke[some], rows[key]))
        return is_legal

    def _classes(self, step: list[int], some: Ints) -> Ints:
        """The class of each of some tuples, numbered in the order of the attributes' classes."""
        key, size = np.zeros(len(some), dtype=np.int64), 1
        for codes, ranks, level, sizes in zip(self.lattice, self.ranks, step, self.classes, strict=True):
            classes = sizes[level]
            if size > KEY // classes:
                key = np.unique(key, return_inverse=True)[1]
                size = len(some)
            key = key * classes + codes[level][ranks[some]]
            size *= classes
        return np.unique(key, return_inverse=True)[1]

    def _compact(self) -> None:
        """Forget the tuples that have a group; the order stays."""
        left = np.flatnonzero(self.rows)
        self.tuple, self.rows, self.broke = self.tuple[left], self.rows[left], self.broke[left]
        self.ranks = np.ascontiguousarray(self.ranks[:, left])
        for seen in self.seen:
            for levels, (hashes, is_crowded, is_any) in seen.items():
                seen[levels] = hashes[left], is_crowded[left], is_any

    def groups(self, rates: list[Rate], value: Ints) -> Groups:
        """The groups, with those rows that found none in the one whose loss they raise least."""
        if self.left:
            rest = self.group < 0
            self.group[rest] = self._home(rest, rates, value) if self.count else 0
        return Groups.collect(np.arange(len(self.group)), self.group, self.problem.counts)

    def _home(self, rest: Bools, rates: list[Rate], value: Ints) -> int:
        """The group whose loss the rest raises least, for the rows of both."""
        inside = Groups.collect(np.flatnonzero(~rest), self.group[~rest], self.problem.counts[~rest])
        lo, hi, _ = inside.closure(self.problem)
        mass = np.zeros((self.count, rates[0].values))
        np.add.at(mass, (inside.group, value[inside.tuple]), inside.rows)
        more = np.bincount(value[rest], weights=self.problem.counts[rest], minlength=rates[0].values)
        ranks = self.problem.ranks[rest]
        low, high = np.minimum(lo, ranks.min(axis=0)), np.maximum(hi, ranks.max(axis=0))
        added = costs.charges(rates, low, high, mass + more) - costs.charges(rates, lo, hi, mass)
        return int(np.round(added, 9).argmin())


METHOD = Method(
    name="peel",
    paper="full-domain generalizations (Samarati, TKDE 2001) walked from the finest to the coarsest, class by class",
    cost="O(s E d) time, O(E h) memory for s steps over E distinct tuples with d attributes of h levels",
    use="large tables and large k; the start of auto",
    cluster=cluster,
    parameters=(
        OBJECTIVE,
        Parameter("steps", 20_000, "the maximum number of generalizations to try", low=1, is_whole=True),
    ),
    is_diverse=True,
    block_size=1_000_000,
)
