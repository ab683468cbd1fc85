"""KACA: every class that is too small joins its nearest class.

Li, Wong, Fu, Pei: Achieving k-Anonymity by Clustering in Attribute Hierarchical Structures, DaWaK 2006: the
distortion of section 3, the distances of section 4 and Algorithm 1 of section 5.

Time O(E² d) and memory O(E d) for E distinct tuples with d attributes, and a table of nodes × nodes for each
hierarchy of up to 2,048 nodes. Good at tables in which many rows already have k equals: a class of k rows or
more is left alone until a small one needs some of it, so frequent tuples are released unchanged.

Decided where the paper is silent:
- The weight between levels j and j - 1 is 1/(j - 1)^beta: beta = 0 is the paper's uniform weights, beta ≥ 1
  its height weights. In a tree with leaves at several depths, all are measured by the height of the whole
  tree.
- A range of numbers is distorted by its share of the domain, and a wider range costs the difference. Numbers
  together with NULL are distorted by 1. Attributes count by their weights.
- The stub of a large class is made of its members nearest to the small class's tuple (Definition 9), the
  lowest tuple first among equals; the distance that chooses the class is taken from its current tuple.
- The tuple of a class is the closest common generalization of its members, so a trunk may become more
  specific. A merged class or trunk whose tuple is that of another class is merged with it.
- Small classes are drawn uniformly. Of classes equally near, the first wins: classes start in tuple order, a
  merged class takes the place of the one it joined, and a class that took a stub keeps its own.
- Outliers (end of section 5): a class is suppressed when joining its nearest class would cost the rows
  concerned, on average, more than the share `threshold` of all they can lose. Fewer than k suppressed rows
  could not hide among themselves: they are generalized after all, as if there were no threshold.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import SUPPRESSED, Bools, Floats, Groups, Ints, Numbers, Problem, Tree, exact
from sqlanon.udfs.space.levels import level_weights

TABLE_NODES = 2048
PAUSE = 100
Members = dict[int, int]
"""How many rows of which tuples belong to a class."""


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    beta: float = 0.0,
    threshold: float | None = None,
) -> Groups:
    """Algorithm 1, with outliers suppressed where a threshold is given."""
    problem.need_rows(k)
    classes = Classes(problem, beta)
    limit = math.inf if threshold is None else threshold * float(problem.weights.sum())
    _generalise(classes, k, rng, progress, limit)
    if 0 < sum(sum(classes.members[slot].values()) for slot in classes.suppressed()) < k:
        classes.readmit()
        _generalise(classes, k, rng, progress, math.inf)
    return classes.groups()


def _generalise(classes: Classes, k: int, rng: np.random.Generator, progress: Progress, limit: float) -> None:
    """Join or suppress small classes, one at a time, until none is left."""
    total, step = int((classes.size < k).sum()), 0
    progress(0, total)
    while (small := np.flatnonzero(classes.size < k)).size:
        one = int(small[rng.integers(small.size)])
        distance = classes.distances(one, k)
        nearest = int(distance.argmin())
        together = classes.size[one] + classes.size[nearest]
        if distance[nearest] > limit * (together if together < 2 * k else k) or distance[nearest] == math.inf:
            classes.suppress(one)
        elif together < 2 * k:
            classes.absorb(one, nearest)
        else:
            classes.take_stub(one, nearest, k)
        step += 1
        if step % PAUSE == 0:
            progress(total - small.size, total, classes=len(classes.slots), small=small.size)
            classes.compact()
    progress(total, total)


class TreeAxis:
    """One attribute with a hierarchy: the node of every class, and what nodes keep of a value."""

    def __init__(self, tree: Tree, weight: float, beta: float, ranks: Ints) -> None:
        self.tree = tree
        self.node = tree.leaf[ranks]
        self.path: list[list[int]] = tree.path.tolist()
        self.keeps = exact(weight * level_weights(tree.height, beta)[tree.height - 1 - tree.level])
        self.rank_keeps = self.keeps[tree.leaf]
        self.table: Floats | None = None
        if len(tree.lo) <= TABLE_NODES:
            every = np.arange(len(tree.lo))
            self.table = self._joint(every[:, None], every)

    def value(self, lo: int, hi: int) -> int:
        """The closest common node of the leaves lo to hi."""
        node = 0
        for step in self.path:
            if step[lo] != step[hi]:
                break
            node = step[lo]
        return node

    def put(self, slot: int, value: int) -> float:
        """Give a class a node; the answer is what it keeps."""
        self.node[slot] = value
        return float(self.keeps[value])

    def shared(self, slot: int) -> Floats:
        """What a class would keep together with each class."""
        return self._shared(slot, self.node)

    def shared_with(self, slot: int, ranks: Ints) -> Floats:
        """What a class would keep together with each of some leaves."""
        return self._shared(slot, self.tree.leaf[ranks])

    def _shared(self, slot: int, nodes: Ints) -> Floats:
        own = self.node[slot]
        return self._joint(own, nodes) if self.table is None else self.table[own].take(nodes)

    def _joint(self, one: Ints, other: Ints) -> Floats:
        lo, hi = self.tree.lo, self.tree.hi
        return self.keeps[self.tree.common(np.minimum(lo[one], lo[other]), np.maximum(hi[one], hi[other]))]

    def compact(self, filled: Bools) -> None:
        """Drop the classes that are not marked."""
        self.node = self.node[filled]


class NumberAxis:
    """One attribute of numbers: the range of every class. What it keeps is minus its distortion."""

    def __init__(self, numbers: Numbers, weight: float, ranks: Ints) -> None:
        self.most = float(exact(np.array(weight)))
        # NULL lies as far beyond the line as the line is long: a range up to it is cut to the line's length.
        self.at = np.where(np.isnan(numbers.unit), 2 * self.most, exact(weight * numbers.unit))
        self.has_null = bool(np.isnan(numbers.unit).any())
        self.rank_keeps = np.zeros(len(self.at))
        self.lo, self.hi = self.at[ranks], self.at[ranks]

    def value(self, lo: int, hi: int) -> tuple[int, int]:
        """The range itself."""
        return lo, hi

    def put(self, slot: int, value: tuple[int, int]) -> float:
        """Give a class a range; the answer is what it keeps."""
        lo, hi = self.at[list(value)]
        self.lo[slot], self.hi[slot] = lo, hi
        return float(max(lo - hi, -self.most))

    def shared(self, slot: int) -> Floats:
        """What a class would keep together with each class."""
        return self._shared(slot, self.lo, self.hi)

    def shared_with(self, slot: int, ranks: Ints) -> Floats:
        """What a class would keep together with each of some numbers."""
        return self._shared(slot, self.at[ranks], self.at[ranks])

    def _shared(self, slot: int, lo: Floats, hi: Floats) -> Floats:
        keeps: Floats = np.minimum(lo, self.lo[slot]) - np.maximum(hi, self.hi[slot])
        return np.maximum(keeps, -self.most) if self.has_null else keeps

    def compact(self, filled: Bools) -> None:
        """Drop the classes that are not marked."""
        self.lo, self.hi = self.lo[filled], self.hi[filled]


class Classes:
    """The equivalence classes, each in a slot, with its size, its members and what its tuple keeps.

    An empty slot and that of a suppressed class have infinite size and keep infinitely much: they are never
    small, and infinitely far from every class. A suppressed class still has its members.
    """

    def __init__(self, problem: Problem, beta: float) -> None:
        self.ranks = problem.ranks
        self.axes: list[TreeAxis | NumberAxis] = []
        self.tuple_keeps = np.zeros(len(self.ranks))
        columns = zip(problem.attributes, problem.weights.tolist(), problem.ranks.T, strict=True)
        for attribute, weight, ranks in columns:
            if isinstance(attribute, Tree):
                self.axes.append(TreeAxis(attribute, weight, beta, ranks))
            else:
                self.axes.append(NumberAxis(attribute, weight, ranks))
            self.tuple_keeps += self.axes[-1].rank_keeps[ranks]
        self.size = problem.counts.astype(np.float64)
        self.keeps = self.tuple_keeps.copy()
        self.members: list[Members] = [{t: rows} for t, rows in enumerate(problem.counts.tolist())]
        self.keys = [self._key(ranks, ranks) for ranks in self.ranks.tolist()]
        self.slots = {key: slot for slot, key in enumerate(self.keys)}

    def distances(self, one: int, k: int) -> Floats:
        """Definition 10 from a small class to each class, of which only the stub counts if there is one."""
        shared = self.axes[0].shared(one)
        for axis in self.axes[1:]:
            shared += axis.shared(one)
        rows = self.size[one]
        counted = np.where(self.size < 2 * k - rows, self.size, k - rows)
        distance: Floats = rows * (self.keeps[one] - shared) + counted * (self.keeps - shared)
        distance[one] = math.inf
        return distance

    def absorb(self, one: int, other: int) -> None:
        """Join two classes, in the place of the second."""
        self._settle(other, _union(self._leave(one), self._leave(other)))

    def take_stub(self, one: int, other: int, k: int) -> None:
        """Fill a small class up to k rows from another one (Definition 11)."""
        stub, trunk = self._cut(one, other, k - int(self.size[one]))
        self._leave(other)
        self._settle(one, _union(self._leave(one), stub))
        self._settle(other, trunk)

    def suppress(self, one: int) -> None:
        """Set a class aside."""
        self.members[one] = self._leave(one)

    def suppressed(self) -> list[int]:
        """The slots of the classes set aside."""
        return [slot for slot in np.flatnonzero(np.isinf(self.size)).tolist() if self.members[slot]]

    def readmit(self) -> None:
        """Bring back the classes set aside."""
        for slot in self.suppressed():
            self._settle(slot, self.members[slot])

    def compact(self) -> None:
        """Close the gaps, in the same order, when an eighth of the slots has no class."""
        if 8 * len(self.slots) > 7 * len(self.members):
            return
        filled = np.array([bool(members) for members in self.members])
        self.size, self.keeps = self.size[filled], self.keeps[filled]
        self.keys = [key for key, members in zip(self.keys, self.members, strict=True) if members]
        self.members = [members for members in self.members if members]
        for axis in self.axes:
            axis.compact(filled)
        moved = np.cumsum(filled) - 1
        self.slots = {key: int(moved[slot]) for key, slot in self.slots.items()}

    def groups(self) -> Groups:
        """The classes as groups, in order."""
        ids = np.cumsum(np.isfinite(self.size)) - 1
        ids[self.suppressed()] = SUPPRESSED
        entries = [
            (t, group, rows)
            for group, members in zip(ids.tolist(), self.members, strict=True)
            for t, rows in members.items()
        ]
        tuples, group_ids, rows_each = zip(*entries, strict=True)
        return Groups.collect(tuples, group_ids, rows_each)

    def _key(self, lo: list[int], hi: list[int]) -> tuple[Any, ...]:
        return tuple([axis.value(*ends) for axis, *ends in zip(self.axes, lo, hi, strict=True)])

    def _cut(self, one: int, other: int, rows: int) -> tuple[Members, Members]:
        """The stub of this many rows, nearest to the first class, and the trunk of the second class."""
        trunk = self.members[other]
        nearest = np.array(sorted(trunk))
        if len(nearest) > 1:
            distance = self.tuple_keeps[nearest]
            for axis, ranks in zip(self.axes, self.ranks[nearest].T, strict=True):
                distance -= 2 * axis.shared_with(one, ranks)
            nearest = nearest[distance.argsort(kind="stable")]
        stub: Members = {}
        for t in nearest.tolist():
            stub[t] = min(rows, trunk[t])
            rows -= stub[t]
            if stub[t] == trunk[t]:
                del trunk[t]
            else:
                trunk[t] -= stub[t]
            if not rows:
                break
        return stub, trunk

    def _leave(self, slot: int) -> Members:
        """Empty a slot."""
        members, self.members[slot] = self.members[slot], {}
        del self.slots[self.keys[slot]]
        self.size[slot] = self.keeps[slot] = math.inf
        return members

    def _settle(self, slot: int, members: Members) -> None:
        """Let a free slot hold a class, unless a class with the same tuple exists: that takes the members."""
        ranks = self.ranks[list(members)]
        lo, hi = ranks.min(axis=0).tolist(), ranks.max(axis=0).tolist()
        key = self._key(lo, hi)
        home = self.slots.setdefault(key, slot)
        if home == slot:
            self.members[slot], self.keys[slot] = members, key
            self.size[slot] = sum(members.values())
            self.keeps[slot] = sum([axis.put(slot, part) for axis, part in zip(self.axes, key, strict=True)])
        else:
            self.members[slot] = {}
            self.size[home] += sum(members.values())
            self.members[home] = _union(self.members[home], members)


def _union(one: Members, other: Members) -> Members:
    """The members of both, added to the larger of the two."""
    if len(one) < len(other):
        one, other = other, one
    for t, rows in other.items():
        one[t] = one.get(t, 0) + rows
    return one


METHOD = Method(
    name="kaca",
    paper="Li, Wong, Fu, Pei: Achieving k-Anonymity by Clustering in Attribute Hierarchical Structures, DaWaK 2006",
    cost="O(E² d) time, O(E d) memory for E distinct tuples with d attributes",
    use="many frequent tuples, which it releases unchanged; outliers can be suppressed",
    cluster=cluster,
    parameters=(
        Parameter("beta", 0.0, "a step up from level j weighs 1/(j - 1)^beta; 0: all steps weigh the same", high=10.0),
        Parameter("threshold", None, "suppress a class if merging it costs more than this share", high=1.0),
    ),
)
