"""Search: any clustering, with less loss, by moves that open a box where prices say that there is something to gain.

Ours: a large-neighborhood search (Shaw, CP 1998) with simulated annealing (Kirkpatrick et al., Science 1983), guided
by the prices of evaluate/prices.py. A row that loses more than its price is badly placed. A move takes such a row and a
box around it that is nearly tight, and makes a group there of k rows, those first that lose much and have high prices,
and of more where they gain. Groups that are left with fewer than k rows are dissolved; their rows are grouped again by
nearly tight boxes, and the rest joins the groups whose loss it raises least. A move is given up as soon as it loses
more than the heat allows: before rows are grouped again if it does so at their prices, less than which no groups of
theirs lose, and before they join others if it does so at what it cost to house each of them when that was last tried.

Time O(G d + k) a move for G groups and d attributes, and much less, as only groups on the shelves of a row are looked
at (shelves.py) and most are given up early; memory O(n + G k) for n rows. Work is counted in groups, boxes and members
looked at, so that the same seed gives the same groups on every machine.

Decided:
- Losses are those of a box: by MI and PMI, or with models, see refine.py.
- Rows are taken from groups that are in the box for the most part, more or less so by chance: a move that breaks few
  groups displaces few rows, which matters the more the larger k is.
- A group has at most 2 k + 64 different tuples. A larger one is cut along the order of the ranks first, which loses
  nothing.
- Heat is in units of the mean price of k rows, to a power, and falls geometrically; see `HEAT`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sqlanon.udfs.after import moves
from sqlanon.udfs.after.draft import Boxes, Clusters, Draft, Owners
from sqlanon.udfs.after.shelves import shelves_of
from sqlanon.udfs.evaluate.prices import Certificate, near_boxes
from sqlanon.udfs.method import THOUSANDTHS, Progress
from sqlanon.udfs.problem import SUPPRESSED, Groups, Ints, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.grid import grid_of
from sqlanon.udfs.space.records import Recorded

NEAR = 0.25
"""Boxes that lack so much of being tight, in mean prices, are opened; at 0, those by which the prices were found."""
HEAT = 1.5
"""What a move may lose at first, on average, in mean prices of a row, times the root of k / 10."""
COLD = 0.03
"""The share of the heat that is left at the end."""
BREADTH = 3.0
"""How much sooner rows are taken whose whole group is in the box, at most, in losses of the box."""
NOISE = 0.5
"""How much chance there is in the order in which rows are taken, as a share of a box's loss."""
KEPT = 0.1
"""The groups are written down, if they are the best so far, once in this share of the work."""
CHUNK = 64
"""Moves at the same heat, between two reports of progress."""
ROOM = 64


def search(
    problem: Problem,
    groups: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    certificate: Certificate,
    *,
    objective: str = "ncp",
    work: int = 10_000_000,
    heat: float = HEAT,
    near: float = NEAR,
    each: float = np.inf,
    seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """The best groups that were seen in this much work, or in these seconds if they are given. They never lose more
    than the groups before."""
    begin, is_kept = clock(), groups.group != SUPPRESSED
    state = State(problem, groups, is_kept, k, certificate, objective, near, each)
    least, found, share, due = state.loss, groups, 0.0, 0.0
    if not len(state.boxes.loss) or least <= 0:
        return groups
    while share < 1:
        progress(int(share * THOUSANDTHS), THOUSANDTHS, **({"loss": state.share} if objective == "ncp" else {}))
        state.anneal(heat * COLD**share, rng)
        share = state.work / max(work, 1) if seconds is None else (clock() - begin) / max(seconds, 1e-9)
        if share >= min(due, 1) and state.loss < least:
            least, found, due = state.loss, state.groups(groups, is_kept), share + KEPT
    progress(THOUSANDTHS, THOUSANDTHS)
    return found


class State:
    """A clustering under way, as the compiled moves see it."""

    def __init__(
        self,
        problem: Problem,
        groups: Groups,
        is_kept: Ints,
        k: int,
        certificate: Certificate,
        objective: str,
        near: float,
        each: float,
    ) -> None:
        self.problem, self.k = problem, k
        self.grid = grid_of(problem, objective)
        self.prices = certificate.prices
        self.unit = float(self.prices @ problem.counts) / problem.rows
        self.boxes = _boxes(problem, k, certificate, objective, near * self.unit, each)
        tuples, rows = groups.tuple[is_kept], groups.rows[is_kept]
        group = _narrowed(problem, groups.group[is_kept], tuples, rows, k)
        self.owners = _owners(problem, tuples, rows, group)
        self.clusters, self.draft = _clusters(problem, tuples, rows, group, k, len(self.boxes.loss))
        before = costs.excess(problem, groups, objective) / problem.rows
        count = int(self.draft.used[1])
        self.shelves = shelves_of(self.grid, k, before, count, len(self.clusters.length))
        moves.close_all(self.grid, self.clusters, self.shelves, count)
        seen = (self.clusters, self.owners, self.boxes, self.shelves, self.draft)
        self.records = Recorded(self.grid), tuple(map(Recorded, seen))

    @property
    def loss(self) -> float:
        """What all rows lose together."""
        used = self.clusters.length > 0
        return float(self.clusters.size[used] @ self.clusters.loss[used])

    @property
    def share(self) -> float:
        """The loss as a share of that of everything."""
        return self.loss / (self.problem.rows * float(self.problem.weights.sum()))

    @property
    def work(self) -> int:
        """How many groups, boxes and members were looked at."""
        return int(self.draft.numbers[3])

    def anneal(self, heat: float, rng: np.random.Generator) -> None:
        """Some moves at this heat."""
        heat *= self.unit * np.sqrt(self.k / 10)
        random = rng.integers(1 << 63, size=1, dtype=np.uint64)
        grid, state = self.records
        moves.anneal(grid, self.k, self.prices, *state, CHUNK, heat, NOISE, BREADTH, random)

    def groups(self, before: Groups, is_kept: Ints) -> Groups:
        """The clustering, with the rows that were suppressed before."""
        clusters = self.clusters
        used = np.flatnonzero(clusters.length)
        inside = np.arange(clusters.tuple.shape[1]) < clusters.length[used][:, None]
        number = np.repeat(np.arange(len(used)), clusters.length[used])
        return Groups.collect(
            np.concatenate([clusters.tuple[used][inside], before.tuple[~is_kept]]),
            np.concatenate([number, before.group[~is_kept]]),
            np.concatenate([clusters.rows[used][inside], before.rows[~is_kept]]),
            before.report,
        )


def _narrowed(problem: Problem, group: Ints, tuples: Ints, rows: Ints, k: int) -> Ints:
    """New numbers of groups; those of too many tuples are cut into parts of k rows or more, in the order of ranks."""
    number = np.unique(group, return_inverse=True)[1]
    wide = np.flatnonzero(np.bincount(number) > 2 * k + ROOM)
    for g in wide.tolist():
        mine = np.flatnonzero(number == g)
        mine = mine[np.lexsort(problem.ranks[tuples[mine]].T)]
        held = np.cumsum(rows[mine])
        part = np.minimum((held - rows[mine]) // k, max(held[-1] // k - 1, 0))
        # The rows of a part may be fewer than k where a tuple of many rows begins in it: it joins the one before.
        enough = np.bincount(part, weights=rows[mine]) >= k
        part = np.maximum(np.cumsum(enough)[part] - 1, 0)
        number[mine[part > 0]] = number.max() + part[part > 0]
    return np.unique(number, return_inverse=True)[1]


def _owners(problem: Problem, tuples: Ints, rows: Ints, group: Ints) -> Owners:
    size = len(problem.counts)
    held = np.bincount(tuples, weights=rows, minlength=size).astype(np.int64)
    begin = np.cumsum(held) - held
    order = np.lexsort((group, tuples))
    count = np.bincount(tuples, minlength=size)
    place = begin[tuples[order]] + np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    owner, some = np.zeros(held.sum(), np.int32), np.zeros(held.sum(), np.int32)
    owner[place], some[place] = group[order], rows[order]
    return Owners(begin, count, owner, some, np.repeat(np.arange(size, dtype=np.int32), held), int(held.sum()))


def _clusters(problem: Problem, tuples: Ints, rows: Ints, group: Ints, k: int, boxes: int) -> tuple[Clusters, Draft]:
    count, width, size = int(group.max()) + 1, len(problem.attributes), len(problem.counts)
    most = max(2 * k + ROOM, int(np.bincount(group).max()))
    room = max(count, int(rows.sum()) // k) + moves.SLOTS
    clusters = _empty(room, most, width)
    order = np.argsort(group, kind="stable")
    length = np.bincount(group)
    place = np.arange(len(order)) - np.repeat(np.cumsum(length) - length, length)
    clusters.tuple[group[order], place], clusters.rows[group[order], place] = tuples[order], rows[order]
    clusters.length[:count] = length
    clusters.size[:count] = np.bincount(group, weights=rows)
    draft = Draft(
        _empty(moves.SLOTS, most, width),
        np.zeros(moves.SLOTS, np.int64),
        np.zeros(moves.SLOTS, np.bool_),
        slot=np.zeros(room, np.int64),
        group_mark=np.zeros(room, np.int64),
        held=np.zeros(room, np.int64),
        held_mark=np.zeros(room, np.int64),
        loose=np.zeros(size, np.int32),
        loose_tuples=np.zeros(size, np.int64),
        box_mark=np.zeros(boxes, np.int64),
        box_score=np.zeros(boxes),
        box_list=np.zeros(boxes, np.int64),
        offer_tuple=np.zeros(moves.OFFERS, np.int64),
        offer_group=np.zeros(moves.OFFERS, np.int64),
        offer_rows=np.zeros(moves.OFFERS, np.int64),
        offer_key=np.zeros(moves.OFFERS),
        offer_order=np.zeros(moves.OFFERS, np.int64),
        key=np.zeros(size),
        guess=np.zeros(size),
        numbers=np.zeros(4, np.int64),
        vacant=np.arange(room)[::-1].copy(),
        used=np.array([room - count, count]),
    )
    return clusters, draft


def _empty(room: int, most: int, width: int) -> Clusters:
    """Room for so many groups."""
    return Clusters(
        np.zeros((room, most), np.int32),
        np.zeros((room, most), np.int32),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room),
        np.zeros((room, width), np.int32),
        np.zeros((room, width), np.int32),
    )


def _boxes(problem: Problem, k: int, certificate: Certificate, objective: str, slack: float, each: float) -> Boxes:
    """The nearly tight boxes, at most `each` times as many as there are tuples, and which of them hold each tuple."""
    listing = near_boxes(problem, k, certificate, objective, slack, each)
    length = np.diff(listing.end, prepend=0)
    box = np.repeat(np.arange(len(length)), length)
    order = np.argsort(listing.member, kind="stable")
    first = np.append(0, np.cumsum(np.bincount(listing.member, minlength=len(problem.counts))))
    return Boxes(listing.loss, listing.end, listing.member, first, box[order].astype(np.int32))
