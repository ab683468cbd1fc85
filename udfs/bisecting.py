"""CB: the table is cut in two, and the parts again, until no part has rows enough for two groups.

He, Chen, Chen, Dong, Wang, Huang: Clustering-Based k-Anonymity, PAKDD 2012: the partitioning algorithm of section 3
(Figure 4) and the splitting algorithm of section 4 (Figure 5). The paper calls it CB.

Time O(r E (d + log E) log(n/k)) if cuts are even, as they are on average, and memory O(E d) for n rows in E distinct
tuples with d attributes and r tries: all groups of a level are cut at once, in blocks of bounded size. Good at large
tables and at large k.

Decided where the paper is silent, says two things or is misprinted:
- reading = 'restarts': every try starts from two random tuples, and the best of r is taken. reading = 'rounds', the
  literal one: only the first try does, and each later one from the centres of the groups before; centres are used
  there only. Restarts are the default, as they lose a fifth less on Adult and find Table 2 every time.
- The first two centres are drawn from the group's distinct quasi-identifiers, each as likely as the others however many
  rows have it; two rows drawn at random lose about a fifth more on Adult with k = 10.
- centre = 'mean': the mean of the numbers, and of the leaf positions in depth-first order, rounded to a leaf (half
  up). centre = 'median': of each attribute, the value in the group with the least summed NCP to its rows, the lowest
  among equals. The mean is that of the known numbers; it is NULL if more than half of the rows are.
- NCP(G1) + NCP(G2) is summed over rows. Attributes count by their share of the weights.
- A tuple goes to the lower of Δ1 and Δ2 with all its rows. Ties are dealt out last, in tuple order: to the first group
  while it has no more than half of all rows, then to the second. That is "to the smaller group" with the same sizes in
  the end, but neighbours stay together; so the order of tuples needs no shuffling.
- Borrowed are the rows with the least Δ1 - Δ2 until there are k, the nearest to the ties in tuple order among equals.
  Only here may the rows of a tuple part, and those of one tuple at most.
- A group is final below 2k rows, and if all its tuples are equal: then it loses nothing.

For l-diversity (real-valued l, each sensitive column by itself):
- Of the tries, only those count whose two groups are l-diverse. A group without such a try is final; the paper's
  loop would never end. No group is made smaller than l rows.
- Every final group is then split by Figure 5: tuples in the order of their sensitive values are dealt out to g parts in
  turn. Its condition must be ">", as in Theorem 3, and g = floor(|T| / max(l, k)): with ceil, Theorem 3 is false (five
  tuples, l = 2, values 0, 0, 1, 1, 2) and parts of about l rows would break k. g is lowered until all parts are
  l-diverse, by more than one at a time where the second or a later sensitive column prevents it; g = 1 always is.
- Who of a value's tuples goes to which part is free. The parts get as many as by turns, but in quasi-identifier order:
  the first part the first ones. The attribute that loses most in the group comes first in that order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.problem import GRAIN, Bools, Floats, Groups, Ints, Numbers, Problem, Tree, exact

from sqlanon.udfs import diversity

TABLE_LEAVES = 2048
PAUSE = 100
STEP = 16
BLOCK = 1 << 18
"""How many tuples times tries are looked at together."""

KEY_BITS = 43
"""Differences of two NCPs are whole grains below 2^41; the group's number comes above them in a key to sort by."""

Coordinates = npt.NDArray[Any]
"""Values of one attribute as its axis takes them: leaves' ranks, or places on the number line."""


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    tries: int = 15,
    reading: str = "restarts",
    centre: str = "mean",
) -> Groups:
    """Figure 4, level by level, and Figure 5 for what is left if l is asked for."""
    problem.need_rows(k)
    diversity.check_legal(problem)
    table = Table(problem, k)
    final: list[Parts] = []
    done, total = 0, problem.rows
    progress(done, total)
    parts = table.whole()
    while parts.count:
        can_split = table.can_split(parts)
        final.append(parts.only(~can_split))
        done += final[-1].total
        parts = parts.only(can_split)
        draws = rng.random((parts.count, tries if reading == "restarts" else 1, 2))
        level: list[Parts] = []
        for begin, end in parts.blocks(BLOCK // draws.shape[1]):
            some, pause = parts.between(begin, end), partial(progress, done, total)
            if reading == "restarts":
                best = _restarts(table, some, draws[begin:end], pause)
            else:
                best = _rounds(table, some, draws[begin:end], pause, tries, centre)
            final.append(some.only(~best.is_split))
            done += final[-1].total
            level.append(best.halves())
        parts = Parts.join(level)
    groups = Parts.join(final)
    if problem.l is not None:
        groups = table.deal_out(groups, progress)
    progress(total, total)
    return Groups.collect(table.tuple[groups.entry], groups.group, groups.rows)


def _restarts(table: Table, parts: Parts, draws: Floats, pause: Callable[[], None]) -> Best:
    """The best cut of each group, all from two random tuples."""
    best = Best(table, parts)
    step = max(1, BLOCK // len(parts.entry))
    for begin in range(0, draws.shape[1], step):
        pause()
        best.offer(Cuts(table, parts, table.random_centres(parts, draws[:, begin : begin + step])))
    return best


def _rounds(table: Table, parts: Parts, draws: Floats, pause: Callable[[], None], tries: int, centre: str) -> Best:
    """The best cut of each group, the first from two random tuples and the others from the centres of the last cut."""
    best = Best(table, parts)
    centres, before = table.random_centres(parts, draws), None
    for _ in range(tries):
        pause()
        cuts = Cuts(table, parts, centres)
        best.offer(cuts)
        taken = cuts.taken(np.zeros(parts.count, dtype=np.int64))
        if before is not None and np.array_equal(taken, before):
            break  # the same again from here on
        before = taken
        halves = parts.with_rows(taken), parts.with_rows(parts.rows - taken)
        centres = [
            tuple(getattr(axis, centre)(axis.x[half.entry], half)[None, :] for half in halves) for axis in table.axes
        ]
    return best


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
        """Ranges of groups with about so many entries together; a larger group is a range of its own."""
        block = (self.first + self.length) // max(1, limit)
        begins = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
        return list(pairwise([*begins, self.count]))

    def with_rows(self, rows: Ints) -> Parts:
        """The same groups with so many rows of each entry, at least one row in each group."""
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
"""Of each attribute, the coordinates of the first and of the second centre: tries × groups."""


class Table:
    """The tuples in quasi-identifier order, with what is asked of their groups."""

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
        quasi = self.quasi[parts.entry]  # in order, so that equal ones are neighbours
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

    def deal_out(self, parts: Parts, progress: Progress) -> Parts:
        """Figure 5 for each group that has rows enough and something to lose."""
        dealt = []
        for group, can_split in enumerate(self.can_split(parts).tolist()):
            if group % PAUSE == 0:
                progress(parts.total, parts.total)
            one = parts.between(group, group + 1)
            dealt.append(self._deal_out(one) if can_split else one)
        return Parts.join(dealt)

    def _deal_out(self, group: Parts) -> Parts:
        """One group as parts that are l-diverse and no smaller than k."""
        assert self.l is not None
        xs = [axis.x[group.entry] for axis in self.axes]
        losses = [float(axis.apart(x.min(), x.max())) for axis, x in zip(self.axes, xs, strict=True)]
        order = np.lexsort([xs[j] for j in np.argsort(losses, kind="stable")])
        entry = np.repeat(group.entry[order], group.rows[order])
        part = deal(self.codes[:, entry], self.l, self.least)
        return Parts.regroup(entry, np.ones_like(entry), part)


def deal(codes: Ints, l: float, least: int) -> Ints:  # noqa: E741
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
            # In turns, but the parts that a value's rows go to are put in order, as the rows are.
            turn = np.arange(size) % parts
            part = turn[np.lexsort((turn, value))]
            if are_diverse(part, np.ones_like(part), columns[1:], l).all():
                return np.asarray(part[by_value.argsort()])
            parts -= parts // STEP  # another column is uneven: no use in trying every number
        parts -= 1
    return np.zeros(size, dtype=np.int64)


def _may_deal(many: Ints, parts: int, l: float) -> bool:  # noqa: E741
    """Are the parts l-diverse that rows with so many of each value are dealt out to in turns?"""
    size = many.sum()
    is_risky = ~diversity.holds(-(-many // parts), size // parts, l)
    part = np.arange(parts)
    end = np.cumsum(many)[is_risky, None] - 1 - part
    held = end // parts - (end - many[is_risky, None]) // parts
    return bool(diversity.holds(held, (size - 1 - part) // parts + 1, l).all())


def are_diverse(group: Ints, rows: Ints, columns: Ints, l: float) -> Bools:  # noqa: E741
    """Is each group 0, 1, 2, ... of rows l-diverse in every sensitive column?"""
    size = np.bincount(group, weights=rows)
    are = np.ones(len(size), dtype=bool)
    for codes in columns:
        width = int(codes.max()) + 1
        found, where = np.unique(group * width + codes, return_inverse=True)
        begins = np.flatnonzero(np.diff(found // width, prepend=-1))
        are &= diversity.holds(np.maximum.reduceat(np.bincount(where, weights=rows), begins), size, l)
    return are


class Cuts:
    """Each group cut in two, for each of some tries: the rows nearest to the first centre, and the others."""

    def __init__(self, table: Table, parts: Parts, centres: Centres) -> None:
        self.parts = parts
        difference = np.zeros((len(centres[0][0]), len(parts.entry)))
        xs = [axis.x[parts.entry] for axis in table.axes]
        for axis, x, pair in zip(table.axes, xs, centres, strict=True):
            one, other = (np.repeat(centre, parts.length, axis=1) for centre in pair)
            difference += axis.apart(one, x)
            difference -= axis.apart(other, x)
        # Sorted by Δ1 - Δ2, the first group is the rows up to some place, whatever was borrowed.
        key = (difference / GRAIN).astype(np.int64) + (parts.group << KEY_BITS)
        self.order = key.argsort(axis=1, kind="stable")
        start = np.arange(len(difference))[:, None] * parts.total + parts.before[parts.first]
        after = np.cumsum(parts.rows[self.order])
        nearer = np.add.reduceat(parts.rows * (difference < 0), parts.first, axis=1)
        not_farther = np.add.reduceat(parts.rows * (difference <= 0), parts.first, axis=1)
        half = np.maximum(nearer, parts.size // 2)
        whole = np.searchsorted(after, start + half, side="right")
        whole_rows = np.append(0, after)[whole] - start
        self.rows = np.clip(np.minimum(not_farther, whole_rows), table.least, parts.size - table.least)
        last = np.searchsorted(after, start + self.rows)
        is_shared = after[last] > start + self.rows
        self.loss = self._loss(table, xs, last + 1, last + 1 - is_shared)

    def _loss(self, table: Table, xs: list[Coordinates], end: Ints, begin: Ints) -> Floats:
        """The NCP of both groups, summed over rows. The first ends before place `end`, the second begins at `begin`."""
        parts = self.parts
        first = np.arange(len(self.order))[:, None] * len(parts.entry) + parts.first
        bounds = np.stack([first, end, begin, first + parts.length], axis=-1).ravel()
        losses = np.zeros((2, *self.rows.shape))
        for axis, x in zip(table.axes, xs, strict=True):
            x = np.append(x[self.order], x[-1])  # for a bound after the last place
            lo, hi = np.minimum.reduceat(x, bounds), np.maximum.reduceat(x, bounds)
            for side in (0, 1):
                losses[side] += axis.apart(lo[2 * side :: 4], hi[2 * side :: 4]).reshape(self.rows.shape)
        return np.asarray(self.rows * losses[0] + (parts.size - self.rows) * losses[1])

    def taken(self, tries: Ints) -> Ints:
        """How many rows of each entry are in the first group, by the given try of each group."""
        parts = self.parts
        sorted_entries = self.order[tries[parts.group], np.arange(len(parts.entry))]
        rows = parts.rows[sorted_entries]
        before = np.cumsum(rows) - rows - np.repeat(parts.before[parts.first], parts.length)
        share = np.repeat(self.rows[tries, np.arange(parts.count)], parts.length)
        taken = np.empty_like(rows)
        taken[sorted_entries] = np.clip(share - before, 0, rows)
        return taken


class Best:
    """The best cut of each group so far: that of least loss, the first among equals, both halves l-diverse."""

    def __init__(self, table: Table, parts: Parts) -> None:
        self.table, self.parts = table, parts
        self.loss = np.full(parts.count, np.inf)
        self.taken = np.zeros_like(parts.rows)

    @property
    def is_split(self) -> Bools:
        """Was a cut found for each group?"""
        return np.asarray(np.isfinite(self.loss))

    def offer(self, cuts: Cuts) -> None:
        """Take what is better."""
        every = np.arange(self.parts.count)
        by_loss = cuts.loss.argsort(axis=0, kind="stable")
        is_open = np.ones(self.parts.count, dtype=bool)
        for tries in by_loss:
            loss = cuts.loss[tries, every]
            is_open &= loss < self.loss
            if not is_open.any():
                break
            taken = cuts.taken(tries)
            better = is_open & self._are_diverse(taken, is_open)
            self.loss[better] = loss[better]
            chosen = np.repeat(better, self.parts.length)
            self.taken[chosen] = taken[chosen]

    def _are_diverse(self, taken: Ints, asked: Bools) -> Bools:
        """Are both halves of each group l-diverse? Where it is not asked, the answer is no."""
        if self.table.l is None:
            return asked
        answer = np.zeros_like(asked)
        inside = np.repeat(asked, self.parts.length)
        some = self.parts.only(asked)
        one, other = some.with_rows(taken[inside]), some.with_rows(some.rows - taken[inside])
        answer[asked] = self.table.are_diverse(one) & self.table.are_diverse(other)
        return answer

    def halves(self) -> Parts:
        """Both halves of each group that was cut, one after the other."""
        parts = self.parts
        cut = np.repeat(self.is_split, parts.length)
        entry, rows, taken, group = parts.entry[cut], parts.rows[cut], self.taken[cut], 2 * parts.group[cut]
        return Parts.regroup(np.tile(entry, 2), np.append(taken, rows - taken), np.append(group, group + 1))


METHOD = Method(
    name="bisecting",
    paper="He, Chen, Chen, Dong, Wang, Huang: Clustering-Based k-Anonymity, PAKDD 2012 (CB)",
    cost="O(r E (d + log E) log(n/k)) time on average, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="large tables: the fastest; keeps l by itself",
    cluster=cluster,
    parameters=(
        Parameter("tries", 15, "how often a group is cut to keep the best cut: the paper's r", low=1, is_whole=True),
        Parameter(
            "reading",
            "restarts",
            "tries all start from two random tuples, or go on in rounds from the last cut's centres",
            choices=("restarts", "rounds"),
        ),
        Parameter(
            "centre",
            "mean",
            "a group's centre in rounds: the mean, or the median of least summed NCP",
            choices=("mean", "median"),
        ),
    ),
    is_l_diverse=True,
)
