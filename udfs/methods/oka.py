"""OKA: one pass of k-means with n / k clusters, and then rows move from those that are too large to the others.

Lin, Wei: An Efficient Clustering Method for k-Anonymization, PAIS 2008: the one-pass k-means algorithm, its clustering
stage and its adjustment stage, as they are commonly described; the paper itself was not available. Wang et al. 2022
compare with it.

Time O((E + m) n d / k) for n rows in E distinct tuples with d attributes, m of which are moved, and memory
O((E + n / k) d). Rows that are moved go wherever there is room left, so it loses more than methods that fill one group
after the other.

Decided:
- The center of a cluster is the mean of its numbers and the closest common node of its categories. Numbers differ from
  it by their share of the domain, categories by the NCP of both together. The mean is that of the numbers known; NULL
  and a number differ by 1.
- Seeds are rows drawn without replacement, so two may be alike. All other rows come sorted. Copies of
  a tuple join the same cluster: its center comes no farther from the second by taking in the first.
- In a cluster of more than k rows, the k nearest to its center stay, the lowest tuples among equals. Centers are then
  taken again, and follow each row that joins. The rows to be moved come in random order: each joins the nearest cluster
  with fewer than k rows, and when there is none, the nearest.
- Ties go to the first cluster.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sqlanon.udfs.loops.greedy import HELD, extended
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Floats, Groups, Ints, Numbers, Problem, Tree, exact

PAUSE = 100


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """The clustering stage and the adjustment stage."""
    problem.need_rows(k)
    drawn = np.sort(rng.choice(problem.rows, problem.rows // k, replace=False))
    seeds = np.searchsorted(np.cumsum(problem.counts), drawn, side="right")
    counts = problem.counts - np.bincount(seeds, minlength=len(problem.counts))
    others = np.flatnonzero(counts)
    total = len(others) + problem.rows
    groups = Groups(seeds, np.arange(len(seeds)), np.ones_like(seeds))
    centres, home = Centres(problem, groups), np.zeros_like(others)
    for number, t in enumerate(others.tolist()):
        if number % PAUSE == 0:
            progress(number, total)
        home[number] = centres.from_tuple(t).argmin()
        centres.add(home[number], t, counts[t])
    groups, moved = trimmed(extended(groups, others, home, counts[others]), centres, k)
    moved = rng.permutation(moved)

    centres, home = Centres(problem, groups), np.zeros_like(moved)
    size = np.bincount(groups.group, weights=groups.rows)
    for number, t in enumerate(moved.tolist()):
        if number % PAUSE == 0:
            progress(total - len(moved) + number, total)
        distance, is_short = centres.from_tuple(t), size < k
        if is_short.any():
            distance[~is_short] = np.inf
        home[number] = distance.argmin()
        centres.add(home[number], t, 1)
        size[home[number]] += 1
    progress(total, total)
    return extended(groups, moved, home, np.ones_like(moved))


def trimmed(groups: Groups, centres: Centres, k: int) -> tuple[Groups, Ints]:
    """The k rows of each group that are nearest to its center, and the tuples of all other rows in order."""
    order = np.lexsort((groups.tuple, centres.from_tuples(groups.tuple, groups.group), groups.group))
    tuples, group, rows = groups.tuple[order], groups.group[order], groups.rows[order]
    before = np.cumsum(rows) - rows
    before -= before[np.searchsorted(group, group)]
    stays = np.clip(k - before, 0, rows)
    kept = stays > 0
    return Groups.collect(tuples[kept], group[kept], stays[kept]), np.sort(np.repeat(tuples, rows - stays))


class Centres:
    """The centers of groups, and how far tuples are from them."""

    def __init__(self, problem: Problem, groups: Groups) -> None:
        self.ranks = problem.ranks
        lo, hi, rows = groups.closure(problem)
        self.size = len(rows)
        self.axes: list[NodeAxis | MeanAxis] = []
        for j, (attribute, weight) in enumerate(zip(problem.attributes, problem.weights.tolist(), strict=True)):
            if isinstance(attribute, Tree):
                self.axes.append(NodeAxis(attribute, weight, lo[:, j], hi[:, j]))
            else:
                self.axes.append(MeanAxis(attribute, weight, self.ranks[groups.tuple, j], groups))

    def from_tuple(self, t: int) -> Floats:
        """From a tuple to every center."""
        total = np.zeros(self.size)
        for axis, rank in zip(self.axes, self.ranks[t].tolist(), strict=True):
            total += axis.from_rank(rank)
        return total

    def from_tuples(self, tuples: Ints, group: Ints) -> Floats:
        """From each tuple to the center of its group."""
        columns = zip(self.axes, self.ranks[tuples].T, strict=True)
        return np.asarray(np.sum([axis.from_ranks(ranks, group) for axis, ranks in columns], axis=0))

    def add(self, group: int, t: int, rows: int) -> None:
        """Let a center take in this many rows of a tuple."""
        for axis, rank in zip(self.axes, self.ranks[t].tolist(), strict=True):
            axis.add(group, rank, rows)


class NodeAxis:
    """An attribute with a hierarchy: every group's closest common node."""

    def __init__(self, tree: Tree, weight: float, lo: Ints, hi: Ints) -> None:
        self.tree, self.weight = tree, weight
        self.node = tree.common(lo, hi)
        self.losses = lru_cache(maxsize=max(1, HELD // len(tree.lo)))(self._losses)

    def _losses(self, rank: int) -> Floats:
        return self._together(rank, np.arange(len(self.tree.lo)))

    def _together(self, ranks: Ints | int, nodes: Ints) -> Floats:
        """The loss of ranks together with nodes."""
        lo, hi = np.minimum(self.tree.lo[nodes], ranks), np.maximum(self.tree.hi[nodes], ranks)
        return exact(self.weight * self.tree.loss(lo, hi))

    def from_rank(self, rank: int) -> Floats:
        """From a leaf to every group's node."""
        return self.losses(rank).take(self.node)

    def from_ranks(self, ranks: Ints, group: Ints) -> Floats:
        """From each leaf to the node of its group."""
        return self._together(ranks, self.node[group])

    def add(self, group: int, rank: int, rows: int) -> None:
        """Let a group take in a leaf."""
        lo, hi = self.tree.lo[self.node[group]], self.tree.hi[self.node[group]]
        if not lo <= rank <= hi:
            self.node[group] = self.tree.common(np.minimum(lo, rank), np.maximum(hi, rank))


class MeanAxis:
    """An attribute of numbers: every group's mean, NaN where it has none but NULLs."""

    def __init__(self, numbers: Numbers, weight: float, ranks: Ints, groups: Groups) -> None:
        self.weight = weight
        self.at = exact(numbers.unit)
        at = self.at[ranks]
        known = ~np.isnan(at)
        group, rows = groups.group[known], groups.rows[known]
        size = int(groups.group.max()) + 1
        self.rows, self.sum = np.zeros(size), np.zeros(size)  # bincount would give integers where all are NULL
        np.add.at(self.rows, group, rows)
        np.add.at(self.sum, group, rows * at[known])
        self.mean = np.divide(self.sum, self.rows, out=np.full(size, np.nan), where=self.rows > 0)

    def from_rank(self, rank: int) -> Floats:
        """From a number to every group's mean."""
        return self._apart(self.at[rank], self.mean)

    def from_ranks(self, ranks: Ints, group: Ints) -> Floats:
        """From each number to the mean of its group."""
        return self._apart(self.at[ranks], self.mean[group])

    def _apart(self, at: Floats, mean: Floats) -> Floats:
        apart = np.abs(mean - at)
        return exact(self.weight * np.where(np.isnan(apart), np.isnan(mean) != np.isnan(at), apart))

    def add(self, group: int, rank: int, rows: int) -> None:
        """Let a group take in this many rows of a number."""
        if not np.isnan(self.at[rank]):
            self.rows[group] += rows
            self.sum[group] += rows * self.at[rank]
            self.mean[group] = self.sum[group] / self.rows[group]


METHOD = Method(
    name="oka",
    paper="Lin, Wei: An Efficient Clustering Method for k-Anonymization, PAIS 2008",
    cost="O((E + m) n d / k) time, O((E + n / k) d) memory for n rows, m of them moved, in E distinct tuples",
    use="comparison with methods that fill one group after another, which lose less",
    cluster=cluster,
    block_size=40_000,
    counts_rows=True,
)
