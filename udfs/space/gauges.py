"""Distances between records of Wang, He & Zhu 2022, and the table of rows that have no group yet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sqlanon.udfs.problem import Attribute, Floats, Ints, Numbers, Problem, Tree, exact

TABLE_LEAVES = 2048
Gauge = Callable[[int], Floats]
"""The distance from a rank to every rank of an attribute."""


def gauge(attribute: Attribute, weight: float) -> Gauge:
    """How to measure an attribute: equation (3) for numbers, (5) for categories, by a table if small."""
    if isinstance(attribute, Tree):
        ranks = np.arange(attribute.leaves)
        if attribute.leaves > TABLE_LEAVES:
            return lambda rank: exact(weight * category_distance(attribute, ranks[rank], ranks))
        table = exact(weight * category_distance(attribute, ranks[:, None], ranks))
        return lambda rank: table[rank]
    return lambda rank: exact(weight * number_distance(attribute, rank))


def number_distance(numbers: Numbers, rank: int) -> Floats:
    """DistN (equation 3) from one number to all, where NULL is as far from them as the ends of the domain."""
    distance: Floats = np.abs(numbers.unit - numbers.unit[rank])
    distance[np.isnan(distance)] = 1.0
    distance[rank] = 0.0
    return distance


def category_distance(tree: Tree, one: Ints, other: Ints) -> Floats:
    """DistC (equations 4 and 5) between leaves."""
    common = tree.common(one, other)
    height = tree.level[common] + 1
    wide = (tree.hi - tree.lo + 1)[common] / tree.leaves

    def up(leaf: Ints) -> Floats:
        steps = tree.level[common] - tree.level[tree.leaf[leaf]]
        return np.asarray((height * steps) ** (height / tree.height) * wide)

    return up(one) * up(other)


def record_distance(gauges: list[Gauge], one: Ints, others: Ints) -> Floats:
    """DistR (equation 6) from one tuple of ranks to others, which are given attribute by attribute."""
    total = np.zeros(others.shape[1])
    for measure, rank, ranks in zip(gauges, one.tolist(), others, strict=True):
        total += measure(rank).take(ranks)
    return total


class Table:
    """The rows that have no group yet, as tuples with counts, and their summed distance to all centers."""

    def __init__(self, problem: Problem, gauges: list[Gauge]) -> None:
        self.gauges = gauges
        self.ranks = np.ascontiguousarray(problem.ranks.T)
        self.tuple = np.arange(len(problem.counts))
        self.rows = problem.counts.copy()
        self.summed = np.zeros(len(problem.counts))

    def first_centre(self) -> int:
        """The place of the tuple nearest to the most frequent value of every attribute."""
        modes = np.array([np.bincount(ranks, weights=self.rows).argmax() for ranks in self.ranks])
        return int(record_distance(self.gauges, modes, self.ranks).argmin())

    def next_centre(self) -> int:
        """The place of the tuple nearest to all centers so far."""
        return int(self.summed.argmin())

    def take(self, centre: int, k: int) -> tuple[Ints, Ints]:
        """Remove a center and its k - 1 nearest rows: which tuples, and how many rows of each."""
        distance = record_distance(self.gauges, self.ranks[:, centre], self.ranks)
        self.summed += distance
        self.rows[centre] -= 1
        distance[self.rows == 0] = np.inf
        nearest = _smallest(distance, k - 1)
        before = np.cumsum(self.rows[nearest]) - self.rows[nearest]
        rows = np.clip(k - 1 - before, 0, self.rows[nearest])
        self.rows[nearest] -= rows
        places = np.append(nearest[rows > 0], centre)
        self.summed[places[self.rows[places] == 0]] = np.inf
        return self.tuple[places], np.append(rows[rows > 0], 1)

    def rest(self) -> tuple[Ints, Ints]:
        """The tuples that still have rows without a group, and how many."""
        return self.tuple[self.rows > 0], self.rows[self.rows > 0]

    def compact(self) -> None:
        """Forget the tuples of which no rows are left; the order stays."""
        left = self.rows > 0
        self.ranks = np.ascontiguousarray(self.ranks[:, left])
        self.tuple, self.rows, self.summed = self.tuple[left], self.rows[left], self.summed[left]


def _smallest(values: Floats, count: int) -> Ints:
    """The places of at least the `count` smallest values, smallest and then first ones first."""
    places = np.arange(len(values))
    if 0 < count < len(values):
        places = np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
    return places[values[places].argsort(kind="stable")]
