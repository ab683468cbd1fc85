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
- Rows left at the top, fewer than k or breaking a model, join the group whose loss they raise least, as one.
"""

from __future__ import annotations

import math

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Bools, Floats, Groups, Ints, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.costs import Rate
from sqlanon.udfs.space.levels import fitting_lattice, level_losses

LISTED = 2**22
"""Lattices up to this size are listed, larger ones are only drawn from."""
STORED = 8
"""Attributes of up to this many levels have their hashes stored by tuple, the others by rank."""
GROWN = 1.1
"""A class is tested again for its models only where it has grown so much since it broke one."""
PAUSES = 100
"""How often progress is reported."""
KEY = 2**62
"""The largest number of classes that are distinguished by one number."""
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
    for number, step in enumerate(order.tolist()):
        if number % pause == 0:
            progress(number, len(order))
        table.peel(step, k)
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
        found = np.unique(np.vstack([rng.binomial(sizes - 1, share), sizes - 1]), axis=0)
    else:
        some = np.arange(total) if total <= steps else np.sort(rng.permutation(total - 1)[: steps - 1])
        found = np.stack(np.unravel_index(np.union1d(some, total - 1), sizes), axis=1)
    cost = sum(loss[level] for loss, level in zip(losses, found.T, strict=True))
    cost = np.round(cost, 9)  # equal sums of different parts are ties on every machine
    is_top = (found == sizes - 1).all(axis=1)
    return np.asarray(found[np.lexsort((cost, is_top))])


class Table:
    """The tuples that have no group yet, and the group of those that have."""

    def __init__(self, problem: Problem, lattice: list[list[Ints]]) -> None:
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
        odd = np.random.default_rng(0).integers(2**63, size=len(lattice), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self.hashes = [
            [code.astype(np.uint64) * factor for code in codes] for codes, factor in zip(lattice, odd, strict=True)
        ]
        self.is_stored = [len(codes) <= STORED for codes in lattice]
        for j in np.flatnonzero(self.is_stored):
            self.hashes[j] = [code[self.ranks[j]] for code in self.hashes[j]]

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
        bits = max(4, len(self.tuple).bit_length() + 1)
        bucket = np.zeros(len(self.tuple), dtype=np.uint64)
        for j, level in enumerate(step):
            code = self.hashes[j][level]
            bucket += code if self.is_stored[j] else code[self.ranks[j]]
        bucket >>= np.uint64(64 - bits)
        places = bucket.view(np.int64)
        rows = np.bincount(places, weights=self.rows, minlength=1 << bits)
        is_crowded = rows >= k
        if self.problem.models:
            is_ready = np.zeros(len(rows), dtype=bool)
            is_ready[places[rows[places] > GROWN * self.broke]] = True
            is_crowded &= is_ready
        return np.flatnonzero(is_crowded[places] & (self.rows > 0))

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
        for codes, ranks, level in zip(self.lattice, self.ranks, step, strict=True):
            classes = int(codes[level].max()) + 1
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
        for j in np.flatnonzero(self.is_stored):
            self.hashes[j] = [code[left] for code in self.hashes[j]]

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
