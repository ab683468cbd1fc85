"""Suppression where it pays: a few rows are given up, and those that were with them lose less.

Ours, a step after any method. A suppressed row loses everything, so that it pays only for what others gain: an outlier
that goes lets its group shrink, or its group dissolves, the other rows each joining the group where they add least.
A step is a number of rounds. A round looks at both offers of every group and takes those that gain most for each row
given up, as long as rows may be given up and none of the groups involved has changed in this round.

Time O(r c g d) for r rounds, c tuples in groups that lose more than a suppressed row does (no other can gain), g groups
and d attributes; memory O(g d). No more than `PAIRS` tuples and groups are compared in a round, those of the costliest
groups first. Nothing is drawn at random.

Decided:
- Rows of one group that are equal in all quasi-identifiers go together, whatever their sensitive values: whether two
  people were given up must not tell that they have the same one.
- What is left of a group, and what others join, must keep k and all models; an offer that breaks one is not taken.
- Loss is NCP, whatever the method keeps low.
- Suppressed rows that are fewer than k, or break a model as a class of their own, cannot be released: see `settle`.
  With models that compare with the table (t, beta, delta) they would change what is compared with, so that then none is
  suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import LEFT_OUT, SUPPRESSED, Floats, Groups, Ints, Problem

ROUNDS = 10
PAIRS = 1 << 24
CHUNK = 1 << 18
"""Pairs of a tuple and a group that are looked at together."""
GAIN = 1e-9
TIE = 6
"""Decimals by which offers are compared: fewer than those of the sums that they come from, so that a tie is one."""


def allowed(problem: Problem, share: float) -> int:
    """How many rows are this share of all."""
    return math.floor(share * problem.rows + 1e-9)


def suppress(problem: Problem, groups: Groups, k: int, share: float, progress: Progress) -> Groups:
    """The groups with at most this share of all rows suppressed, those that are already included."""
    state = State(problem, groups, k)
    left = allowed(problem, share) - int(groups.rows[groups.group < 0].sum())
    for turn in range(ROUNDS):
        progress(turn, ROUNDS)
        taken = state.round(left)
        left -= taken
        if not taken:
            break
    progress(ROUNDS, ROUNDS)
    found = state.groups()
    is_relative = any(model.is_relative for model in problem.models)
    return groups if is_relative and not may_print_suppressed(problem, found, k) else found


def settle(problem: Problem, groups: Groups, k: int) -> Groups:
    """Suppressed rows that cannot be released as a class of their own are left out."""
    if may_print_suppressed(problem, groups, k):
        return groups
    group = np.where(groups.group == SUPPRESSED, LEFT_OUT, groups.group)
    return Groups.collect(groups.tuple, group, groups.rows, groups.report, groups.box, groups.levels)


def may_print_suppressed(problem: Problem, groups: Groups, k: int) -> bool:
    """Are the suppressed rows none, or a class that keeps k and all models?"""
    gone = np.flatnonzero(groups.group == SUPPRESSED)
    if not gone.size:
        return True
    tuples, rows = groups.tuple[gone], groups.rows[gone]
    return bool(rows.sum() >= k and legality.are_legal(problem, tuples, np.zeros_like(gone), rows).all())


def without(group: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """The box of each entry's group without the entry, its own where it is alone. Entries are in the order of groups.

    Where an entry is at an end, the next one's rank is there.
    """
    first = np.flatnonzero(np.diff(group, prepend=-1))
    length = np.diff(first, append=len(group))
    if not len(first):
        return ranks, ranks
    lo = np.repeat(np.minimum.reduceat(ranks, first), length, axis=0)
    hi = np.repeat(np.maximum.reduceat(ranks, first), length, axis=0)
    lowest, last = first[length > 1], (first + length)[length > 1] - 1
    for j in range(ranks.shape[1]):
        order = np.lexsort((ranks[:, j], group))
        lo[order[lowest], j] = ranks[order[lowest + 1], j]
        hi[order[last], j] = ranks[order[last - 1], j]
    return lo, hi


@dataclass(frozen=True)
class Offer:
    """What could be done with a group: some entries are suppressed, and where all go, others move to other groups."""

    gain: float
    suppressed: int
    group: int
    gone: Ints
    moved: Ints
    to: Ints

    @property
    def key(self) -> tuple[float, int, int]:
        """The best first: what a suppressed row gains, rounded so that what should be a tie is one."""
        return -round(self.gain / self.suppressed, TIE), self.group, int(self.gone[0])


class State:
    """The entries of a clustering with their groups, which change, and the boxes of those groups.

    An entry is all rows of a group that are equal in their ranks, whatever their sensitive values.
    """

    def __init__(self, problem: Problem, groups: Groups, k: int) -> None:
        self.problem, self.k, self.before = problem, k, groups
        merged, place = problem.merged()
        units, self.unit = np.unique(np.stack([groups.group, place[groups.tuple]]), axis=1, return_inverse=True)
        self.unit = self.unit.reshape(-1)
        self.group = units[0].copy()
        self.rows = np.bincount(self.unit, weights=groups.rows, minlength=units.shape[1]).astype(np.int64)
        self.ranks = merged.ranks[units[1]]
        self.whole = float(problem.weights.sum())
        """What a suppressed row loses."""

    def groups(self) -> Groups:
        """The clustering, its groups numbered again."""
        kept = self.group >= 0
        number = self.group.copy()
        number[kept] = np.unique(self.group[kept], return_inverse=True)[1]
        return Groups.collect(self.before.tuple, number[self.unit], self.before.rows, self.before.report)

    def round(self, left: int) -> int:
        """Take the best offers, of this many rows at most, and say how many rows they suppressed."""
        if left <= 0:
            return 0
        self._measure()
        touched: set[int] = set()
        taken = 0
        for offer in sorted(self.offers(), key=lambda offer: offer.key):
            involved = {offer.group, *offer.to.tolist()}
            if taken + offer.suppressed > left or involved & touched:
                continue
            if self._take(offer):
                touched |= involved
                taken += offer.suppressed
        return taken

    def _measure(self) -> None:
        kept = self.group >= 0
        ids, place = np.unique(self.group[kept], return_inverse=True)
        self.group[kept] = place
        self.size = np.bincount(place, weights=self.rows[kept], minlength=len(ids)).astype(np.int64)
        width = self.ranks.shape[1]
        self.lo: Ints = np.full((len(ids), width), np.iinfo(np.int64).max)
        self.hi: Ints = np.full((len(ids), width), -1)
        np.minimum.at(self.lo, place, self.ranks[kept])
        np.maximum.at(self.hi, place, self.ranks[kept])
        self.loss = self.problem.loss(self.lo, self.hi)
        self.cost = self.loss * self.size

    def offers(self) -> Iterator[Offer]:
        """What could be done with each group that loses more than a suppressed row does."""
        entries = np.flatnonzero((self.group >= 0) & (self.cost > self.whole + GAIN)[self.group])
        entries = entries[np.lexsort((entries, self.group[entries]))]
        yield from self._shrinking(entries)
        if len(self.size) > 1:
            yield from self._dissolving(entries)

    def _shrinking(self, entries: Ints) -> Iterator[Offer]:
        """Of each group the one entry whose loss gains most per row, if k rows are left."""
        group, rows = self.group[entries], self.rows[entries]
        rest = self.size[group] - rows
        may_go = rest >= self.k
        lo, hi = without(group, self.ranks[entries])
        after = self.problem.loss(lo[may_go], hi[may_go])
        entries, group, rows, rest = entries[may_go], group[may_go], rows[may_go], rest[may_go]
        gain = self.cost[group] - rest * after - rows * self.whole
        order = np.lexsort((entries, -np.round(gain / rows, TIE), group))
        first = order[np.diff(group[order], prepend=-1) != 0]
        nobody = np.empty(0, dtype=np.int64)
        for one in first[gain[first] > GAIN].tolist():
            yield Offer(float(gain[one]), int(rows[one]), int(group[one]), entries[one : one + 1], nobody, nobody)

    def _dissolving(self, entries: Ints) -> Iterator[Offer]:
        """Every entry of a group joins the other one where it adds least, or is suppressed where that costs less."""
        group = self.group[entries]
        ids, first, length = np.unique(group, return_index=True, return_counts=True)
        costliest = np.lexsort((ids, -np.round(self.cost[ids], 9)))
        fit = np.cumsum(length[costliest]) * len(self.size) <= PAIRS
        for one in costliest[fit].tolist():
            mine = entries[first[one] : first[one] + length[one]]
            added, to = self._nearest(mine, int(ids[one]))
            alone = self.rows[mine] * self.whole
            is_gone = added > alone + GAIN
            gain = float(self.cost[ids[one]] - np.minimum(added, alone).sum())
            if gain > GAIN and is_gone.any():
                gone, moved = mine[is_gone], mine[~is_gone]
                yield Offer(gain, int(self.rows[gone].sum()), int(ids[one]), gone, moved, to[~is_gone])

    def _nearest(self, entries: Ints, own: int) -> tuple[Floats, Ints]:
        """What each entry adds to the loss of the group where it adds least, and that group."""
        parts = []
        for some in np.array_split(entries, max(1, len(entries) * len(self.size) // CHUNK)):
            ranks, rows = self.ranks[some][:, None], self.rows[some][:, None]
            loss = self.problem.loss(np.minimum(self.lo, ranks), np.maximum(self.hi, ranks))
            added = np.round(loss * (self.size + rows) - self.cost, 9)
            added[:, own] = np.inf
            to = added.argmin(axis=1)
            parts.append((added[np.arange(len(some)), to], to))
        return np.concatenate([added for added, _ in parts]), np.concatenate([to for _, to in parts])

    def _take(self, offer: Offer) -> bool:
        """Do as offered if that gains with all its moves together, and keeps k and all models."""
        group = self.group.copy()
        group[offer.gone] = SUPPRESSED
        group[offer.moved] = offer.to
        involved = np.unique(np.append(offer.to, offer.group))
        inside = np.flatnonzero(np.isin(group, involved))
        gain = self.cost[involved].sum() - offer.suppressed * self.whole
        for one in np.unique(group[inside]).tolist():
            mine = inside[group[inside] == one]
            box = self.ranks[mine].min(axis=0), self.ranks[mine].max(axis=0)
            gain -= float(self.problem.loss(*box)) * self.rows[mine].sum()
        if gain <= GAIN or not self._are_legal(group, inside):
            return False
        self.group = group
        return True

    def _are_legal(self, group: Ints, inside: Ints) -> bool:
        place = np.full(len(group), -1)
        place[inside] = np.unique(group[inside], return_inverse=True)[1]
        of_entry = place[self.unit]
        mine = of_entry >= 0
        tuples, rows = self.before.tuple[mine], self.before.rows[mine]
        return bool(
            (np.bincount(of_entry[mine], weights=rows) >= self.k).all()
            and legality.are_legal(self.problem, tuples, of_entry[mine], rows).all()
        )
