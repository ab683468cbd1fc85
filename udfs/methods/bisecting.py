"""CB: the table is cut in two, and the parts again, until no part has rows enough for two groups.

He, Chen, Chen, Dong, Wang, Huang: Clustering-Based k-Anonymity, PAKDD 2012: the partitioning algorithm of section 3
(Figure 4) and the splitting algorithm of section 4 (Figure 5). The paper calls it CB.

Time O(r E (d + log E) log(n/k)) if cuts are even, as they are on average, and memory O(E d) for n rows in E distinct
tuples with d attributes and r tries: all groups of a level are cut at once, in blocks of bounded size. Good at large
tables and at large k.

Decided where the paper is silent, says two things or is misprinted:
- reading = 'restarts': every try starts from two random tuples, and the best of r is taken. reading = 'rounds', the
  literal one: only the first try does, and each later one from the centers of the groups before; centers are used
  there only. Restarts are the default, as they lose a fifth less on Adult and find Table 2 every time.
- The first two centers are drawn from the group's distinct quasi-identifiers, each as likely as the others however many
  rows have it; two rows drawn at random lose about a fifth more on Adult with k = 10.
- centre = 'mean': the mean of the numbers, and of the leaf positions in depth-first order, rounded to a leaf (half
  up). centre = 'median': of each attribute, the value in the group with the least summed NCP to its rows, the lowest
  among equals. The mean is that of the known numbers; it is NULL if more than half of the rows are.
- NCP(G1) + NCP(G2) is summed over rows. Attributes count by their share of the weights.
- A tuple goes to the lower of Δ1 and Δ2 with all its rows. Ties are dealt out last, in tuple order: to the first group
  while it has no more than half of all rows, then to the second. That is "to the smaller group" with the same sizes in
  the end, but neighbors stay together; so the order of tuples needs no shuffling.
- Borrowed are the rows with the least Δ1 - Δ2 until there are k, the nearest to the ties in tuple order among equals.
  Only here may the rows of a tuple part, and those of one tuple at most.
- A group is final below 2k rows, and if all its tuples are equal: then it loses nothing.

For l-diversity (real-valued l, each sensitive column by itself):
- Of the tries, only those count whose two groups are l-diverse. A group without such a try is final; the paper's
  loop would never end. No group is made smaller than l rows. halves = 'printed' takes the best of all tries, as the
  paper does, and a group is final if its two groups are not l-diverse: often at once, and then it loses twice as much.
- Every final group is then split by Figure 5: tuples in the order of their sensitive values are dealt out to g parts in
  turn. Its condition must be ">", as in Theorem 3, and g = floor(|T| / max(l, k)): with ceil, Theorem 3 is false (five
  tuples, l = 2, values 0, 0, 1, 1, 2) and parts of about l rows would break k. g is lowered until all parts are
  l-diverse, by more than one at a time where the second or a later sensitive column prevents it; g = 1 always is.
- Which of a value's tuples goes to which part is arbitrary. The parts get as many as by turns, but in quasi-identifier
  order: the first part the first ones. The attribute that loses most in the group comes first in that order.
  dealing = 'printed' deals each value's tuples in turns, as Figure 5 prints it, so that every part covers the group.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import GRAIN, Bools, Floats, Groups, Ints, Problem
from sqlanon.udfs.space.axes import BLOCK, KEY_BITS, Centres, Coordinates, Parts, Table


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    tries: int = 15,
    reading: str = "restarts",
    centre: str = "mean",
    dealing: str = "near",
    halves: str = "diverse",
) -> Groups:
    """Figure 4, level by level, and Figure 5 for what is left if l is required."""
    problem.need_rows(k)
    legality.check_legal(problem)
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
            best = Best(table, some, must_be_diverse=halves == "diverse")
            if reading == "restarts":
                _restarts(table, best, draws[begin:end], pause)
            else:
                _rounds(table, best, draws[begin:end], pause, tries, centre)
            final.append(some.only(~best.is_split))
            done += final[-1].total
            level.append(best.halves())
        parts = Parts.join(level)
    groups = Parts.join(final)
    if problem.l is not None:
        groups = table.deal_out(groups, progress, in_turns=dealing == "printed")
    progress(total, total)
    return Groups.collect(table.tuple[groups.entry], groups.group, groups.rows)


def _restarts(table: Table, best: Best, draws: Floats, pause: Callable[[], None]) -> None:
    """Find the best cut of each group, all from two random tuples."""
    parts = best.parts
    step = max(1, BLOCK // len(parts.entry))
    for begin in range(0, draws.shape[1], step):
        pause()
        best.offer(Cuts(table, parts, table.random_centres(parts, draws[:, begin : begin + step])))


def _rounds(table: Table, best: Best, draws: Floats, pause: Callable[[], None], tries: int, centre: str) -> None:
    """Find the best cut of each group, the first from two random tuples and the others from the centers of the last."""
    parts = best.parts
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


class Cuts:
    """Each group cut in two, for each of some tries: the rows nearest to the first center, and the others."""

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
    """The best cut of each group so far: that of least loss, the first among equals. Both halves must be l-diverse, of
    every cut that counts or, if it is not so, of the best."""

    def __init__(self, table: Table, parts: Parts, must_be_diverse: bool) -> None:
        self.table, self.parts, self.must_be_diverse = table, parts, must_be_diverse
        self.loss = np.full(parts.count, np.inf)
        self.taken = np.zeros_like(parts.rows)

    @property
    def is_split(self) -> Bools:
        """Was a cut found for each group, into l-diverse halves?"""
        is_cut = np.asarray(np.isfinite(self.loss))
        return is_cut if self.must_be_diverse else self._are_diverse(self.taken, is_cut)

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
            better = is_open & self._are_diverse(taken, is_open) if self.must_be_diverse else is_open
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
    use="large tables: the fastest; enforces l itself",
    cluster=cluster,
    parameters=(
        Parameter("tries", 15, "how often a group is cut to keep the best cut: the paper's r", low=1, is_whole=True),
        Parameter(
            "reading",
            "restarts",
            "tries all start from two random tuples, or continue in rounds from the last cut's centers",
            choices=("restarts", "rounds"),
        ),
        Parameter(
            "centre",
            "mean",
            "a group's center in rounds: the mean, or the median with the smallest sum of NCP",
            choices=("mean", "median"),
        ),
        Parameter(
            "dealing",
            "near",
            "with l, neighbors of one value go to the same part, or tuples are dealt in turns as the paper prints it",
            choices=("near", "printed"),
        ),
        Parameter(
            "halves",
            "diverse",
            "with l, only cuts into l-diverse halves count, or the best of all cuts does, and a group is final if its "
            "halves are not l-diverse, as the paper prints it",
            choices=("diverse", "printed"),
        ),
    ),
    is_l_diverse=True,
)
