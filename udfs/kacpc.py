"""KACPC: groups of k rows around centres that spread from the middle of the table to its edge.

Wang, He, Zhu: Improving Data Utilization of K-anonymity through Clustering Optimization, 2022: the distances
of section 3.2 and Algorithm 1 of section 4.

Time O(n E d / k) and memory O(E d) for n rows in E distinct tuples with d attributes, and a table of leaves ×
leaves for each hierarchy of up to 2,048 leaves. Good at groups of k rows and hardly ever more, and where
the answer must not depend on a seed; the larger k, the faster. Its distances of categories may exceed 100,
where numbers differ by 1 at most, so numbers break ties and do little else.

Decided where the paper is silent or says two things:
- The distance of categories is equations (4) and (5) as printed, with heights counted from the deepest leaf,
  which has 1: a leaf directly under the root of a tree of three levels has height 2.
- NULL is as far from a number as the two ends of the domain: 1. Attributes count by their weights.
- The next centre is the row nearest to all centres so far, as in Algorithm 1; the text leaves out the first
  centre.
- Ties: the lowest rank is the mode, the lowest tuple is the centre or the nearest to it, and a row left over
  joins the first of the nearest centres. Tuples come sorted by rank, so the order of rows does not matter.
- The rows of a tuple may belong to several groups: beside a centre, its copies are rows like all others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Attribute, Floats, Groups, Ints, Numbers, Problem, Tree, exact

TABLE_LEAVES = 2048
PAUSE = 100

Gauge = Callable[[int], Floats]
"""The distance from a rank to every rank of an attribute."""


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """Algorithm 1. Nothing is drawn at random."""
    problem.need_rows(k)
    gauges = [gauge(*pair) for pair in zip(problem.attributes, problem.weights.tolist(), strict=True)]
    table = Table(problem, gauges)
    total = problem.rows // k
    centres, taken = [], []
    for group in range(total):
        if group % PAUSE == 0:
            progress(group, total)
            table.compact()
        centre = table.next_centre() if group else table.first_centre()
        centres.append(table.tuple[centre])
        taken.append(table.take(centre, k))
    where = [np.full(len(tuples), group) for group, (tuples, _) in enumerate(taken)]
    taken.append(table.rest())
    where.append(_nearest_centre(problem, gauges, taken[-1][0], np.array(centres)))
    progress(total, total)
    tuples, rows = (np.concatenate(part) for part in zip(*taken, strict=True))
    return Groups.collect(tuples, np.concatenate(where), rows)


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


def _record_distance(gauges: list[Gauge], one: Ints, others: Ints) -> Floats:
    """DistR (equation 6) from one tuple of ranks to others, which are given attribute by attribute."""
    total = np.zeros(others.shape[1])
    for measure, rank, ranks in zip(gauges, one.tolist(), others, strict=True):
        total += measure(rank).take(ranks)
    return total


def _nearest_centre(problem: Problem, gauges: list[Gauge], tuples: Ints, centres: Ints) -> Ints:
    """The group whose centre is nearest to each tuple."""
    ranks = problem.ranks[centres].T
    nearest = [_record_distance(gauges, problem.ranks[t], ranks).argmin() for t in tuples]
    return np.array(nearest, dtype=np.int64)


class Table:
    """The rows that have no group yet, as tuples with counts, and their summed distance to all centres."""

    def __init__(self, problem: Problem, gauges: list[Gauge]) -> None:
        self.gauges = gauges
        self.ranks = np.ascontiguousarray(problem.ranks.T)
        self.tuple = np.arange(len(problem.counts))
        self.rows = problem.counts.copy()
        self.summed = np.zeros(len(problem.counts))

    def first_centre(self) -> int:
        """The place of the tuple nearest to the most frequent value of every attribute."""
        modes = np.array([np.bincount(ranks, weights=self.rows).argmax() for ranks in self.ranks])
        return int(_record_distance(self.gauges, modes, self.ranks).argmin())

    def next_centre(self) -> int:
        """The place of the tuple nearest to all centres so far."""
        return int(self.summed.argmin())

    def take(self, centre: int, k: int) -> tuple[Ints, Ints]:
        """Remove a centre and its k - 1 nearest rows: which tuples, and how many rows of each."""
        distance = _record_distance(self.gauges, self.ranks[:, centre], self.ranks)
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


METHOD = Method(
    name="kacpc",
    paper="Wang, He, Zhu: Improving Data Utilization of K-anonymity through Clustering Optimization, 2022",
    cost="O(n E d / k) time, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="groups of exactly k rows, the same whatever the seed; fast when k is large",
    cluster=cluster,
)
