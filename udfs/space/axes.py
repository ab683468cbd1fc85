"""Attributes as axes that groups are split along, the parts that a table is split into, and l-diverse splits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlanon.udfs import legality
from sqlanon.udfs.method import Progress
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.problem import Bools, Floats, Ints, Numbers, Problem, Tree, exact

TABLE_LEAVES = 2048
STEP = 16
PAUSE = 100
BLOCK = 1 << 18
"""How many tuples times tries are looked at together."""
KEY_BITS = 43
"""Differences of two NCPs are whole grains below 2^41; the group's number comes above them in a key to sort by."""
Coordinates = npt.NDArray[Any]
"""Values of one attribute as its axis takes them: leaves' ranks, or places on the number line."""


@dataclass(frozen=True)
class Parts:
    """Groups side by side: `rows` of the table's tuple `entry`, `length` entries to a group, in the table's order."""

    entry: Ints
    rows: Ints
    length: Ints

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.length)

    @property
    def total(self) -> int:
        """How many rows they have together."""
        return int(self.rows.sum())

    @cached_property
    def first(self) -> Ints:
        """Where each group begins."""
        return np.asarray(np.cumsum(self.length) - self.length)

    @cached_property
    def group(self) -> Ints:
        """The group of each entry."""
        return np.repeat(np.arange(self.count), self.length)

    @cached_property
    def before(self) -> Ints:
        """How many rows come before each entry."""
        return np.asarray(np.cumsum(self.rows) - self.rows)

    @cached_property
    def size(self) -> Ints:
        """How many rows each group has."""
        return self.sums(self.rows)

    def sums(self, values: Ints) -> Ints:
        """The sum over each group."""
        return np.add.reduceat(values, self.first) if self.count else np.zeros(0, dtype=np.int64)

    def only(self, chosen: Bools) -> Parts:
        """Some of the groups."""
        inside = np.repeat(chosen, self.length)
        return Parts(self.entry[inside], self.rows[inside], self.length[chosen])

    def between(self, begin: int, end: int) -> Parts:
        """The groups begin to end - 1."""
        start = int(self.first[begin])
        stop = start + int(self.length[begin:end].sum())
        return Parts(self.entry[start:stop], self.rows[start:stop], self.length[begin:end])

    def blocks(self, limit: int) -> list[tuple[int, int]]:
        """Ranges of groups with about this many entries together; a larger group is a range of its own."""
        block = (self.first + self.length) // max(1, limit)
        begins = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
        return list(pairwise([*begins, self.count]))

    def with_rows(self, rows: Ints) -> Parts:
        """The same groups with this many rows of each entry, at least one row in each group."""
        kept = rows > 0
        return Parts(self.entry[kept], rows[kept], self.sums(kept.astype(np.int64)))

    @classmethod
    def regroup(cls, entry: Ints, rows: Ints, group: Ints) -> Parts:
        """Groups from entries that come in the table's order within each group; ids with no rows vanish."""
        order = np.argsort(group, kind="stable")
        order = order[rows[order] > 0]
        length = np.bincount(group[order])
        return cls(entry[order], rows[order], length[length > 0])

    @classmethod
    def join(cls, several: list[Parts]) -> Parts:
        """All groups of them, in order."""
        none = np.zeros(0, dtype=np.int64)
        return cls(
            *(
                np.concatenate([none, *(getattr(parts, part) for parts in several)])
                for part in ("entry", "rows", "length")
            )
        )


class TreeAxis:
    """One attribute with a hierarchy. The coordinate of a tuple is its leaf's rank."""

    def __init__(self, tree: Tree, weight: float, ranks: Ints) -> None:
        self.tree = tree
        self.x = ranks
        self.node_loss = exact(weight * tree.node_loss)
        self.table: Floats | None = None
        if tree.leaves <= TABLE_LEAVES:
            every = np.arange(tree.leaves)
            self.table = self.node_loss[tree.common(every[:, None], every)].ravel()

    def apart(self, one: Coordinates, other: Coordinates) -> Floats:
        """The NCP of two leaves together, and of all between them."""
        if self.table is None:
            return self.node_loss[self.tree.common(one, other)]
        return self.table.take(one * self.tree.leaves + other)

    def mean(self, x: Coordinates, parts: Parts) -> Coordinates:
        """The leaf at the mean position of each group."""
        return (2 * parts.sums(x * parts.rows) + parts.size) // (2 * parts.size)

    def median(self, x: Coordinates, parts: Parts) -> Coordinates:
        """The leaf of each group with the least summed NCP; no leaf outside the group could have less."""
        summed = np.zeros(len(x))
        rows = [self._rows_below(node, parts) for node in self.tree.path[:, x]]
        for node, above, below in zip(self.tree.path[:-1, x], rows[:-1], rows[1:], strict=True):
            summed += (above - below) * self.node_loss[node]
        return x[_least(summed, x, parts)]

    def _rows_below(self, node: Ints, parts: Parts) -> Floats:
        """How many rows of its group are below the node of each entry."""
        _, where = np.unique(parts.group * len(self.tree.lo) + node, return_inverse=True)
        return np.asarray(np.bincount(where, weights=parts.rows)[where], dtype=np.float64)


class NumberAxis:
    """One attribute of numbers. The coordinate is the number's place on the line, whose length is the weight.

    NULL lies as far beyond the line as the line is long: distances to it are cut to the line's length.
    """

    def __init__(self, numbers: Numbers, weight: float, ranks: Ints) -> None:
        self.most = float(exact(np.array(weight)))
        self.has_null = bool(np.isnan(numbers.unit).any())
        self.x: Floats = np.where(np.isnan(numbers.unit), 2 * self.most, exact(weight * numbers.unit))[ranks]

    def apart(self, one: Coordinates, other: Coordinates) -> Floats:
        """The NCP of two numbers together, and of all between them."""
        distance: Floats = np.abs(one - other)
        return np.minimum(distance, self.most) if self.has_null else distance

    def mean(self, x: Coordinates, parts: Parts) -> Coordinates:
        """The mean of the known numbers of each group, or NULL."""
        known = parts.rows * (x <= self.most)
        many = parts.sums(known)
        mean = exact(np.add.reduceat(known * x, parts.first) / np.maximum(many, 1))
        return np.where(2 * many >= parts.size, mean, 2 * self.most)

    def median(self, x: Coordinates, parts: Parts) -> Coordinates:
        """The number of each group, or NULL, with the least summed NCP."""
        order = np.lexsort((x, parts.group))
        at, rows = x[order], parts.rows[order]
        is_known = at <= self.most
        known, moment = rows * is_known, rows * is_known * at
        all_known, all_moment = (np.repeat(np.add.reduceat(v, parts.first), parts.length) for v in (known, moment))
        below, moment_below = _running(known, parts), _running(moment, parts)
        summed = at * (2 * below - all_known) + all_moment - 2 * moment_below
        summed += self.most * (np.repeat(parts.size, parts.length) - all_known)
        return at[_least(np.where(is_known, summed, self.most * all_known), at, parts)]


def _running(values: Floats | Ints, parts: Parts) -> Floats:
    """The sums of each group up to and with each entry."""
    summed = np.cumsum(values, dtype=np.float64)
    return np.asarray(summed - np.repeat((summed - values)[parts.first], parts.length))


def _least(summed: Floats, x: Coordinates, parts: Parts) -> Ints:
    """The entry of each group with the least sum, and among equals with the least x."""
    return np.lexsort((x, summed, parts.group))[parts.first]


Axis = TreeAxis | NumberAxis


Centres = list[tuple[Coordinates, Coordinates]]
"""Of each attribute, the coordinates of the first and of the second center: tries × groups."""


class Table:
    """The tuples in quasi-identifier order, with what is required of their groups."""

    def __init__(self, problem: Problem, k: int) -> None:
        self.tuple = np.lexsort(problem.ranks.T[::-1])
        self.counts = problem.counts[self.tuple]
        ranks = problem.ranks[self.tuple]
        self.quasi = np.cumsum(np.r_[False, (ranks[1:] != ranks[:-1]).any(axis=1)])
        shares = (problem.weights / (problem.weights.sum() or 1.0)).tolist()
        self.axes: list[Axis] = [
            TreeAxis(attribute, share, column) if isinstance(attribute, Tree) else NumberAxis(attribute, share, column)
            for attribute, share, column in zip(problem.attributes, shares, ranks.T.copy(), strict=True)
        ]
        self.l = problem.l
        self.least = k if problem.l is None else max(k, math.ceil(problem.l - SLACK))
        codes = problem.sensitive if problem.l is not None and problem.sensitive is not None else ranks[:, :0]
        self.codes = codes[self.tuple].T.copy()

    def whole(self) -> Parts:
        """All rows in one group."""
        return Parts(np.arange(len(self.counts)), self.counts, np.array([len(self.counts)]))

    def can_split(self, parts: Parts) -> Bools:
        """Has each group rows enough for two groups, and two different tuples?"""
        quasi = self.quasi[parts.entry]
        return np.asarray(
            (parts.size >= 2 * self.least) & (quasi[parts.first] != quasi[parts.first + parts.length - 1])
        )

    def random_centres(self, parts: Parts, draws: Floats) -> Centres:
        """Two different quasi-identifiers for each group and try, by two numbers in [0, 1) for each."""
        quasi = self.quasi[parts.entry]  # in order, so that equal ones are neighbors
        is_new = np.diff(quasi, prepend=-1) != 0
        is_new[parts.first] = True
        distinct = parts.entry[is_new]
        many = parts.sums(is_new.astype(np.int64))
        one = (draws[:, :, 0].T * many).astype(np.int64)
        other = (draws[:, :, 1].T * (many - 1)).astype(np.int64)
        other += other >= one
        first = np.cumsum(many) - many
        return [(axis.x[distinct[first + one]], axis.x[distinct[first + other]]) for axis in self.axes]

    def are_diverse(self, parts: Parts) -> Bools:
        """Is each group l-diverse?"""
        assert self.l is not None
        return are_diverse(parts.group, parts.rows, self.codes[:, parts.entry], self.l)

    def deal_out(self, parts: Parts, progress: Progress, in_turns: bool = False) -> Parts:
        """Figure 5 for each group that has rows enough and something to lose; neighbors to the same part, or in turns
        as printed."""
        dealt = []
        for group, can_split in enumerate(self.can_split(parts).tolist()):
            if group % PAUSE == 0:
                progress(parts.total, parts.total)
            one = parts.between(group, group + 1)
            dealt.append(self._deal_out(one, in_turns) if can_split else one)
        return Parts.join(dealt)

    def _deal_out(self, group: Parts, in_turns: bool) -> Parts:
        """One group as parts that are l-diverse and no smaller than k."""
        assert self.l is not None
        xs = [axis.x[group.entry] for axis in self.axes]
        losses = [float(axis.apart(x.min(), x.max())) for axis, x in zip(self.axes, xs, strict=True)]
        order = np.lexsort([xs[j] for j in np.argsort(losses, kind="stable")])
        entry = np.repeat(group.entry[order], group.rows[order])
        part = deal(self.codes[:, entry], self.l, self.least, in_turns)
        return Parts.regroup(entry, np.ones_like(entry), part)


def deal(codes: Ints, l: float, least: int, in_turns: bool = False) -> Ints:  # noqa: E741
    """The splitting algorithm (Figure 5, corrected): the part of each row.

    The rows come in quasi-identifier order, with their codes as sensitive columns × rows.
    """
    size, parts = codes.shape[1], codes.shape[1] // least
    # The first column is dealt out evenly, the others about so: first the one with the most frequent value.
    codes = codes[np.argsort([-np.bincount(column).max() for column in codes], kind="stable")]
    by_value = np.lexsort(codes[::-1])
    columns = codes[:, by_value]
    value = np.cumsum(np.r_[False, (columns[:, 1:] != columns[:, :-1]).any(axis=0)])
    many = np.bincount(columns[0])
    while parts > 1:
        if _may_deal(many, parts, l):
            # In turns; where neighbors should stay together, the parts that a value's rows go to are put in order, as
            # the rows are.
            turn = np.arange(size) % parts
            part = turn if in_turns else turn[np.lexsort((turn, value))]
            if are_diverse(part, np.ones_like(part), columns[1:], l).all():
                return np.asarray(part[by_value.argsort()])
            parts -= parts // STEP  # another column is uneven: no use in trying every number
        parts -= 1
    return np.zeros(size, dtype=np.int64)


def _may_deal(many: Ints, parts: int, l: float) -> bool:  # noqa: E741
    """Are the parts l-diverse that rows with this many of each value are dealt out to in turns?"""
    size = many.sum()
    is_risky = ~legality.holds(-(-many // parts), size // parts, l)
    part = np.arange(parts)
    end = np.cumsum(many)[is_risky, None] - 1 - part
    held = end // parts - (end - many[is_risky, None]) // parts
    return bool(legality.holds(held, (size - 1 - part) // parts + 1, l).all())


def are_diverse(group: Ints, rows: Ints, columns: Ints, l: float) -> Bools:  # noqa: E741
    """Is each group 0, 1, 2, ... of rows l-diverse in every sensitive column?"""
    size = np.bincount(group, weights=rows)
    are = np.ones(len(size), dtype=bool)
    for codes in columns:
        width = int(codes.max()) + 1
        found, where = np.unique(group * width + codes, return_inverse=True)
        begins = np.flatnonzero(np.diff(found // width, prepend=-1))
        are &= legality.holds(np.maximum.reduceat(np.bincount(where, weights=rows), begins), size, l)
    return are
