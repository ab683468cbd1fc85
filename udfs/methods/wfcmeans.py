"""WF-C-means: k-means that learns how much each attribute should count, and then merges what is too small.

Chiu, Tsai: A k-Anonymity Clustering Method for Effective Data Privacy Preservation, ADMA 2007: the iterations of
section 2.1 (figure 2) and the class merging of section 2.2 (figure 3).

Time O(E C d) for each iteration, E distinct tuples with d attributes and C = n / k classes; far less where categories
tell most classes apart. Memory O((E + C) d) and blocks of a fixed size. Good at tables of numbers whose classes are
printed as their centers. Attributes with few values win the weights: one that is alike within every class, such as
sex, takes nearly all. Its classes vary in size and range, so that closures lose more than with the other methods.

Decided where the paper is silent or misprinted:
- Categories, the paper's future work: the dissimilarity of a value and a center is the distance WHD from the value up
  to their common node (its reference [10], our kaca; beta as there). The center is the value of the class of least
  summed dissimilarity, the first leaf among equals.
- Numbers are scaled to [0, 1], or taken as they are with scale = 'raw', which is the paper's. NULL differs from every
  number as the two ends of the domain do. A class has the center NULL if that is better than the mean of its numbers.
- The weights of the problem multiply the learned ones in distances; they do not change what is learned.
- Distances that differ by rounding only are ties, and go to the lowest class; classes are in the order they are drawn.
- A class without records keeps its center, and may win records again; in the end it is dropped.
- Where e_n is 0, it is taken as 1e-9 (e_n + f_n). Where f_n is 0 for all attributes, the weights stay as they are.
- The memberships need not settle, for each change of weights is a new problem: `iterations` is the most there are.
- All classes below k are merged at once, each into the one of k or more nearest by equation (17). There is one:
  C = n / k classes below k would have fewer than n records.
- Equation (18) should divide by the sum of the sizes: it is then the mean of all members.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Floats, Groups, Ints, Numbers, Problem, Tree, exact
from sqlanon.udfs.space.levels import level_weights

BLOCK = 2**20
"""How many distances are held at a time."""
PAUSE = 2**24
"""After this many distances the user is heard."""
TABLE_LEAVES = 512
SPARSE = 1 / 8
"""Pairs are taken one by one while they are fewer than this share of all, and by a matrix product otherwise."""
FLOOR = 1e-9
SAME = 1e-12
"""Distances this close, in proportion, are ties."""
POINT = 1e-18
"""So are squared differences below this share of the squared domain."""


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    scale: str = "minmax",
    iterations: int = 100,
    beta: float = 0.0,
) -> Groups:
    """Figures 2 and 3. The report holds the learned weights and the information distortion S of equation (4)."""
    problem.need_rows(k)
    table = Table(problem, scale, beta)
    rows = rng.choice(problem.rows, problem.rows // k, replace=False)
    centres = table.records.take(np.searchsorted(np.cumsum(problem.counts), rows, side="right"))
    weights = np.full(len(problem.attributes), 1 / len(problem.attributes))
    home: Ints | None = None
    step, is_settled = 0, False

    def pause() -> None:
        progress(step, iterations)

    while step < iterations and not is_settled:
        before, home = home, table.nearest(table.records, centres, weights, home, pause)
        centres = table.update(home, centres)
        weights = table.adjust(home, centres, weights)
        moves = len(home) if before is None else int((home != before).sum())
        is_settled = moves == 0
        step += 1
        progress(step, iterations, iterations=step, moves=moves)
    assert home is not None
    home = np.unique(table.merge(home, centres, weights, k, pause), return_inverse=True)[1]
    progress(iterations, iterations)
    report = {
        "weights": weights.tolist(),
        "iterations": step,
        "is_settled": is_settled,
        "information_distortion_own": table.distortion(home, weights),
    }
    return Groups.collect(np.arange(len(home)), home, problem.counts, report)


@dataclass(frozen=True)
class Points:
    """Records or centers: positions of numbers (NaN for NULL) and leaves of categories, points × attributes."""

    at: Floats
    leaf: Ints

    def take(self, places: Ints) -> Points:
        """Some of the points."""
        return Points(self.at[places], self.leaf[places])

    @cached_property
    def order(self) -> Ints:
        """The places of the points such that those with the same categories, of one kind, are together."""
        return np.lexsort(self.leaf.T[::-1]) if self.leaf.size else np.arange(len(self.leaf))

    @cached_property
    def kind(self) -> Ints:
        """The kind of each point, in that order."""
        is_new = (np.diff(self.leaf[self.order], axis=0) != 0).any(axis=1)
        return np.concatenate([[0], np.cumsum(is_new)])

    @cached_property
    def sizes(self) -> Ints:
        """How many points each kind has."""
        return np.bincount(self.kind)

    @cached_property
    def kinds(self) -> Ints:
        """The categories of each kind."""
        return self.leaf[self.order][np.cumsum(self.sizes) - 1]


class Line:
    """Equation (3) for positions on a scaled line, where NULL is at 1 from all numbers."""

    @staticmethod
    def dissimilarity(one: Floats, other: Floats) -> Floats:
        """Between positions."""
        squared: Floats = (one - other) ** 2
        lost = np.isnan(squared)
        if lost.any():
            squared[lost] = np.where(np.isnan(one) & np.isnan(other), 0.0, 1.0)[lost]
        return squared

    @staticmethod
    def centres(at: Floats, home: Ints, counts: Floats, size: int) -> Floats:
        """Equation (7), or NULL where that is nearer to the class's values in sum."""
        is_null = np.isnan(at)
        numbers = np.bincount(home, np.where(is_null, 0.0, counts), size)
        sums = np.bincount(home, counts * np.where(is_null, 0.0, at), size)
        means: Floats = np.divide(sums, numbers, out=np.full(size, np.nan), where=numbers > 0)
        if is_null.any():
            off = np.bincount(home, counts * Line.dissimilarity(at, means[home]), size)
            means[numbers < off * (1 - SAME)] = np.nan
        return means


class Hierarchy:
    """The dissimilarity of categories."""

    def __init__(self, tree: Tree, beta: float) -> None:
        self.tree = tree
        self.keeps = exact(level_weights(tree.height, beta)[tree.height - 1 - tree.level])
        self.table: Floats | None = None
        if tree.leaves <= TABLE_LEAVES:
            leaves = np.arange(tree.leaves)
            self.table = self._up(leaves[:, None], leaves)

    def dissimilarity(self, one: Ints, other: Ints) -> Floats:
        """From leaves up to what they have in common with others."""
        return self._up(one, other) if self.table is None else self.table[one, other]

    def outer(self, some: Ints, others: Ints, weight: float) -> Floats:
        """From each of some leaves to each of some others, times a weight."""
        if self.table is None:
            return weight * self._up(some[:, None], others)
        return np.asarray((weight * self.table[some]).take(others, axis=1))

    def _up(self, one: Ints, other: Ints) -> Floats:
        return self.keeps[self.tree.leaf[one]] - self.keeps[self.tree.common(one, other)]

    def centres(self, leaf: Ints, home: Ints, counts: Floats, size: int) -> Ints:
        """The leaf of each class from which its values differ least in sum, 0 for a class without values.

        Least dissimilar is what keeps most: each value keeps what its common node with the center does, that is
        the steps down to it, so a node on the way to the center adds its step for every value below it.
        """
        kept = np.zeros(len(leaf))
        for above, below in pairwise(self.tree.path):
            node = below[leaf]
            kept += _totals(home * len(self.keeps) + node, counts) * (self.keeps[node] - self.keeps[above[leaf]])
        order = np.lexsort((leaf, -kept, home))
        first = order[np.diff(home[order], prepend=-1) != 0]
        centres = np.zeros(size, dtype=np.int64)
        centres[home[first]] = leaf[first]
        return centres


class Search:
    """The classes nearest to points.

    First by categories, for all points of a kind and all centers of a kind at once: no class is the nearest that is
    farther by them alone than another one is altogether. Then by numbers, with a matrix product where that leaves
    many classes; of the few that are left now, the distances are taken again without its rounding errors.
    """

    def __init__(self, centres: Points, hierarchies: list[Hierarchy], by_number: Floats, by_tree: Floats) -> None:
        self.centres, self.hierarchies, self.by_number, self.by_tree = centres, hierarchies, by_number, by_tree
        self.size, self.reach = len(centres.leaf), float(by_number.sum())
        self.kind_of: Ints = np.empty(self.size, dtype=np.int64)
        self.kind_of[centres.order] = centres.kind
        self.first = np.cumsum(centres.sizes) - centres.sizes
        self.columns = _columns(centres.at, by_number)

    def __call__(self, at: Floats, kind: Ints, kinds: Ints, guess: Ints | None) -> Ints:
        """The class nearest to each point, given by its numbers and its kind, and kinds by their categories."""
        base = np.zeros((len(kinds), len(self.centres.kinds)))
        for hierarchy, weight, some, others in zip(
            self.hierarchies, self.by_tree, kinds.T, self.centres.kinds.T, strict=True
        ):
            base += hierarchy.outer(some, others, weight)
        if guess is None:
            guess = self.centres.order[self.first[base.argmin(axis=1)]][kind]
        limit = np.zeros(len(kinds))
        np.maximum.at(limit, kind, self._distances(base, kind, at, guess))
        is_near = base <= (limit * (1 + SAME) + POINT * self.reach)[:, None]
        length = np.asarray(is_near @ self.centres.sizes)
        if self.reach and length[kind].sum() > SPARSE * len(kind) * self.size:
            row, column = self._by_product(base, kind, at)
        else:
            other = np.flatnonzero(is_near) % len(self.first)
            near = self.centres.order[_ranges(self.first[other], self.centres.sizes[other])]
            row = np.repeat(np.arange(len(kind)), length[kind])
            column = near[_ranges((np.cumsum(length) - length)[kind], length[kind])]
        return _lowest(row, column, self._distances(base, kind[row], at[row], column), POINT * self.reach)

    def _distances(self, base: Floats, kind: Ints, at: Floats, column: Ints) -> Floats:
        """From points to one class each."""
        distance = base[kind, self.kind_of[column]]
        for weight, positions, others in zip(self.by_number, at.T, self.centres.at.T, strict=True):
            distance += weight * Line.dissimilarity(positions, others[column])
        return distance

    def _by_product(self, base: Floats, kind: Ints, at: Floats) -> tuple[Ints, Ints]:
        """The points, in order, with the classes that may be their nearest."""
        distance = base[kind].take(self.kind_of, axis=1) + _rows(at) @ self.columns
        least = distance.min(axis=1)
        is_near = distance <= (least + SAME * (np.abs(least) + self.reach))[:, None]
        row, column = np.divmod(np.flatnonzero(is_near), self.size)
        return row, column


class Table:
    """The records, and what the iterations ask about them."""

    def __init__(self, problem: Problem, scale: str, beta: float) -> None:
        numbers = [(j, a) for j, a in enumerate(problem.attributes) if isinstance(a, Numbers)]
        trees = [(j, a) for j, a in enumerate(problem.attributes) if isinstance(a, Tree)]
        self.numbers, self.trees = [j for j, _ in numbers], [j for j, _ in trees]
        self.hierarchies = [Hierarchy(tree, beta) for _, tree in trees]
        at: Floats = np.empty((len(problem.ranks), len(numbers)))
        for column, (j, line) in enumerate(numbers):
            at[:, column] = line.unit[problem.ranks[:, j]]
        self.records = Points(at, problem.ranks[:, self.trees])
        self.counts = problem.counts.astype(np.float64)
        # A raw difference is the scaled one times the span. All are divided by the longest, lest squares overflow.
        spans = np.ones(len(problem.attributes))
        if scale == "raw":
            spans[self.numbers] = [min(line.span, 1e300) or 1.0 for _, line in numbers]
        self.longest = float(spans.max())
        self.importance = problem.weights * (spans / self.longest) ** 2
        self.middle = self._centres(np.zeros(len(self.counts), dtype=np.int64), 1)

    def nearest(
        self, points: Points, centres: Points, weights: Floats, guess: Ints | None, pause: Callable[[], None]
    ) -> Ints:
        """Equation (6): the class nearest to each point, the lowest of several. A good guess saves time."""
        weights = weights * self.importance
        search = Search(centres, self.hierarchies, weights[self.numbers], weights[self.trees])
        home: Ints = np.empty(len(points.leaf), dtype=np.int64)
        stride = max(16, BLOCK // search.size)
        for start in range(0, len(home), stride):
            if start * search.size % PAUSE < stride * search.size:
                pause()
            places, kind = points.order[start : start + stride], points.kind[start : start + stride]
            kinds = points.kinds[kind[0] : kind[-1] + 1]
            home[places] = search(points.at[places], kind - kind[0], kinds, None if guess is None else guess[places])
        return home

    def update(self, home: Ints, centres: Points) -> Points:
        """Equation (7): the centers of the classes. A class without records keeps the one it has."""
        size = len(centres.leaf)
        has_records = (np.bincount(home, minlength=size) > 0)[:, None]
        found = self._centres(home, size)
        return Points(np.where(has_records, found.at, centres.at), np.where(has_records, found.leaf, centres.leaf))

    def adjust(self, home: Ints, centres: Points, weights: Floats) -> Floats:
        """Equation (16): the weights half way to the shares of f_n / e_n."""
        sizes = np.bincount(home, self.counts, len(centres.leaf)).astype(np.float64)
        within = self._sums(self.counts, self.records, centres.take(home))
        between = self._sums(sizes, centres, self.middle)
        between[between < POINT * sizes.sum()] = 0.0
        floor = np.maximum(within, FLOOR * (within + between))
        margin = np.divide(between, floor, out=np.zeros(len(floor)), where=floor > 0)
        if margin.sum() > 0:
            weights = weights + margin / margin.sum()
        return np.asarray(weights / weights.sum())

    def merge(self, home: Ints, centres: Points, weights: Floats, k: int, pause: Callable[[], None]) -> Ints:
        """Figure 3: the classes of the records once those below k have joined others."""
        sizes = np.bincount(home, self.counts, len(centres.leaf)).astype(np.float64)
        legal, illegal = np.flatnonzero(sizes >= k), np.flatnonzero((sizes > 0) & (sizes < k))
        target = np.arange(len(sizes))
        if illegal.size:
            target[illegal] = legal[self.nearest(centres.take(illegal), centres.take(legal), weights, None, pause)]
        return target[home]

    def distortion(self, home: Ints, weights: Floats) -> float:
        """Equation (4) when every record is released as the center of its class."""
        within = self._sums(self.counts, self.records, self._centres(home, int(home.max()) + 1).take(home))
        return float(within @ (weights * self.importance)) * self.longest * self.longest

    def _centres(self, home: Ints, size: int) -> Points:
        at: Floats = np.empty((size, len(self.numbers)))
        leaf: Ints = np.empty((size, len(self.trees)), dtype=np.int64)
        for column, positions in enumerate(self.records.at.T):
            at[:, column] = Line.centres(positions, home, self.counts, size)
        for column, hierarchy in enumerate(self.hierarchies):
            leaf[:, column] = hierarchy.centres(self.records.leaf[:, column], home, self.counts, size)
        return Points(at, leaf)

    def _sums(self, times: Floats, some: Points, others: Points) -> Floats:
        """The dissimilarities of points, pair by pair and this many times each, summed for each attribute."""
        total: Floats = np.empty(len(self.importance))
        total[self.numbers] = times @ Line.dissimilarity(some.at, others.at)
        for column, (j, hierarchy) in enumerate(zip(self.trees, self.hierarchies, strict=True)):
            total[j] = times @ hierarchy.dissimilarity(some.leaf[:, column], others.leaf[:, column])
        return total


def _rows(at: Floats) -> Floats:
    """Points as rows of a matrix whose product with the columns of centers is their distance by numbers."""
    is_null = np.isnan(at)
    known = np.where(is_null, 0.0, at)
    return np.concatenate([known, known**2, ~is_null, is_null], axis=1)


def _columns(at: Floats, weights: Floats) -> Floats:
    """Centers as columns: x² - 2xa + a² where both are known, 1 where one is."""
    is_null = np.isnan(at)
    known = np.where(is_null, 0.0, at)
    parts = (-2 * known, ~is_null, np.where(is_null, 1.0, known**2), ~is_null)
    return np.ascontiguousarray(np.concatenate([part * weights for part in parts], axis=1).T)


def _ranges(first: Ints, length: Ints) -> Ints:
    """The numbers from each first one on, this many of each."""
    after = np.cumsum(length)
    return np.asarray(np.arange(after[-1]) + np.repeat(first - (after - length), length))


def _lowest(row: Ints, column: Ints, distance: Floats, slack: float) -> Ints:
    """The lowest column in each row in which the distance is the least, but for rounding."""
    start = np.flatnonzero(np.diff(row, prepend=-1))
    least = np.minimum.reduceat(distance, start) * (1 + SAME) + slack
    return np.asarray(np.minimum.reduceat(np.where(distance <= least[row], column, column.max()), start))


def _totals(key: Ints, counts: Floats) -> Floats:
    """The sum of the counts of all entries with the same key, for each entry."""
    if int(key.max()) > BLOCK:
        key = np.unique(key, return_inverse=True)[1]
    return np.asarray(np.bincount(key, counts)[key])


METHOD = Method(
    name="wfcmeans",
    paper="Chiu, Tsai: A k-Anonymity Clustering Method for Effective Data Privacy Preservation, ADMA 2007",
    cost="O(E n d / k) time for each iteration, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="numbers released as class centers; learns and reports how much each attribute matters",
    cluster=cluster,
    parameters=(
        Parameter("scale", "minmax", "numbers scaled to [0, 1], or raw as in the paper", choices=("minmax", "raw")),
        Parameter("iterations", 100, "the maximum number of iterations", low=1.0, is_whole=True),
        Parameter("beta", 0.0, "a step up from level j weighs 1/(j - 1)^beta; 0: all steps weigh the same", high=10.0),
    ),
)
