"""Refine: any clustering, with less loss. Groups that are near each other are pooled and cut again.

Our own: a large-neighborhood search (Shaw, CP 1998) for the loss of He et al. 2012 or another measure of costs.py. A
step makes disjoint pools of two groups, now and then of one or three, and offers each a new cut: its tuples are put in
the order of how much nearer they are to one box than to another, and of all places to cut that order in two parts of k
rows or more, the best is taken; a part of 2k rows or more is cut again. A pool whose new groups lose less than its old
ones keeps them. Moving a tuple, swapping tuples, splitting and dissolving a group are all cuts of that kind, and the
box of every possible part is a running union (see boxes.py), so that a pool costs no loop.

Time O(E (d + log E)) a step and memory O(E d) for E entries with d attributes; by PMI, E d is times the number of
sensitive values. It may stop after any step. The same
seed and number of steps give the same groups; a budget in seconds, for which alone the clock is read, does not.

Decided:
- Pools: the groups are sorted by one random tuple of each at a random level of every attribute, so that near groups are
  close together, and cut into blocks. In each block a costly group and the nearest others, in loss of the union, are a
  pool, several times. This is what keeps a step from looking at all pairs of groups.
- The boxes that order the tuples are drawn for each step from: the two groups as they are; those with some attributes
  of the first narrowed to those of one to three random tuples; the union of one to three random tuples against another
  or against nothing.
- A pool of three is cut twice: the first part is the one whose rows gain most, each against a price near the pool's
  mean loss, and the rest is cut between the other two groups.
- The rows of a tuple may part, where a part then has exactly k rows.
- A cut counts only if all its groups keep the models that are required. Suppressed rows stay suppressed.
- heat > 0 is simulated annealing: a pool also keeps a new cut that loses more, the less likely the more it loses, and
  the best clustering of all is returned. It may lose heat √k times what a cell loses that tells nothing, on average:
  on Adult, the best heat for k = 10 and 100 is then the same. Heat falls in proportion to what is left of the budget.
  It pays on long runs only.
- With heat, more than half of the steps offer windows (see windows.py) to wider pools. They are what gets a long search
  out of the arrangement of groups that it began with, the wider the pool the better. Without heat, the same time gains
  more by cuts. Groups of 2k rows or more, nearly all of which hold one tuple, are left out of these pools.
- PMI says little about what is near, as a larger box may lose less by it: pools are made by MI, and a pool's tuples are
  ordered by PMI, each for its own sensitive value.
- Without heat and seconds, it stops early after `PATIENCE` steps without any gain. It stops at once where no groups can
  lose less: at a loss that is proven to be the least, and where the rows are too few for two groups.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.after.cuts import PLACE, Entries, Parts, Plan, Table, recut
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import SUPPRESSED, Bools, Floats, Groups, Ints, Problem
from sqlanon.udfs.space.boxes import Boxes, Singles

if TYPE_CHECKING:
    pass

BLOCK, WIDE_BLOCK = 64, 512
"""Groups in a block. Of those of cuts about half are in pools, of those of windows a quarter: the others are far."""
WIDTHS = (2, 2, 2, 2, 2, 2, 3, 3, 3, 1)
"""How many groups a pool has: one of these, drawn for each step."""
WINDOWS = 0.6
"""So many steps of a search with heat offer windows instead of cuts."""
WIDER = (4, 8, 12, 16, 24)
"""How many groups a pool of windows has."""
NOISE = 0.3
"""How much farther, at most, a group may seem than it is: pools then differ from step to step."""
PATIENCE = 60
TOTAL = 1000
"""Progress is reported in thousandths of the budget."""
GAIN = 1e-9
KEY = 2**40
"""Groups are sorted by keys up to this, with a random fraction."""


def refine(
    problem: Problem,
    groups: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    steps: int | None = 100,
    seconds: float | None = None,
    heat: float = 0.0,
    objective: str = "ncp",
    least: float = -np.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """The groups after this many steps or seconds, whichever is over first; their loss is never more than before.

    No groups lose less than `least` together, as far as is known.
    """
    is_kept = groups.group != SUPPRESSED
    if not is_kept.any() or groups.rows[is_kept].sum() < 2 * k:
        return groups
    table = Table(problem, objective)
    state = State.of(table, groups.group[is_kept], groups.tuple[is_kept], groups.rows[is_kept])
    budget = Budget(steps, seconds, clock, begin=clock())
    best, idle, step = state, 0, 0
    whole = problem.rows * float(problem.weights.sum())
    while (spent := budget.spent(step)) < 1 and best.cost > least + GAIN:
        if idle == PATIENCE and not heat and seconds is None:
            break
        facts = {"loss": best.cost / whole} if objective == "ncp" else {}
        progress(int(spent * TOTAL), TOTAL, **facts)
        new = _step(state, k, rng, step, heat * (1 - spent))
        idle = idle + 1 if new is state else 0
        state, step = new, step + 1
        if state.cost < best.cost:
            best = state
    progress(TOTAL, TOTAL)
    rest = ~is_kept
    return Groups.collect(
        np.concatenate([best.tuple, groups.tuple[rest]]),
        np.concatenate([best.group, groups.group[rest]]),
        np.concatenate([best.rows, groups.rows[rest]]),
        groups.report,
    )


@dataclass(frozen=True)
class Budget:
    """Steps, seconds or both."""

    steps: int | None
    seconds: float | None
    clock: Callable[[], float]
    begin: float

    def spent(self, step: int) -> float:
        """The share that is used up before this step."""
        share = 0.0 if self.steps is None else step / max(self.steps, 1e-9)
        if self.seconds is not None:
            share = max(share, (self.clock() - self.begin) / max(self.seconds, 1e-9))
        return min(share, 1.0)


def _step(state: State, k: int, rng: np.random.Generator, step: int, heat: float) -> State:
    """Offer one new cut to each of some disjoint pools."""
    if heat > 0 and k > 1 and rng.random() < WINDOWS:
        pools = state.pools(min(int(rng.choice(WIDER)), state.count), rng, WIDE_BLOCK, 4)
        pools = pools[(state.size[pools] < 2 * k).all(axis=1)]
        limit = state.limit(pools, k, heat, rng)
        return state.offer(pools, state.windows(pools, k, limit, rng), limit) if len(pools) else state
    width = 1 if step == 0 else int(rng.choice(WIDTHS))
    pools = state.pools(min(width, state.count), rng)
    plan = Plan.draw(rng, pools.shape[1])
    if pools.shape[1] == 1 and not heat and (state.size < 2 * k).all():
        return state  # no group can be parted
    entries = state.cuts(pools, k, plan, rng)
    return state.offer(pools, entries, state.limit(pools, k, heat, rng))


@dataclass(frozen=True)
class State:
    """A clustering: entries in the order of their groups, and what is known of each group."""

    table: Table
    tuple: Ints
    rows: Ints
    length: Ints
    """How many entries a group has."""
    box: Boxes
    size: Ints
    charge: Floats
    """What a group's rows lose together."""
    least: Floats
    """What they would lose if all were released unchanged: 0 but for MI and PMI."""

    @classmethod
    def of(cls, table: Table, group: Ints, tuples: Ints, rows: Ints) -> State:
        """Entries in any order; groups are numbered again, in their order."""
        order = np.argsort(group, kind="stable")
        group, tuples, rows = group[order], tuples[order], rows[order]
        first = _starts(group)
        length = np.empty_like(first)
        np.subtract(first[1:], first[:-1], out=length[:-1])
        length[-1] = len(group) - first[-1]
        box, size = table.points.take(tuples).around(first), np.add.reduceat(rows, first)
        values = table.space.values
        if values == 1:
            charge = table.space.loss(box) * size
        else:
            place = np.repeat(np.arange(len(first)), length) * values + table.value[tuples]
            mass = np.bincount(place, weights=rows, minlength=len(first) * values).reshape(-1, values)
            charge = np.sum([table.space.loss(box, value) * mass[:, value] for value in range(values)], axis=0)
        least = np.add.reduceat(table.own[tuples] * rows, first) if table.is_relative else np.zeros(len(first))
        return cls(table, tuples, rows, length, box, size, charge, least)

    def only(self, which: Bools) -> State:
        """Some of the groups."""
        inside, groups = np.repeat(which, self.length), np.flatnonzero(which)
        return State(
            self.table,
            self.tuple[inside],
            self.rows[inside],
            self.length[groups],
            self.box.take(groups),
            self.size[groups],
            self.charge[groups],
            self.least[groups],
        )

    def __add__(self, other: State) -> State:
        """Both clusterings, that of other tuples last."""
        names = ("tuple", "rows", "length", "size", "charge", "least")
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return State(self.table, box=Boxes.joined([self.box, other.box]), **both)

    @cached_property
    def cost(self) -> float:
        """What all rows lose together."""
        return float(self.charge.sum())

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.length)

    @property
    def group(self) -> Ints:
        """The group of each entry."""
        return np.repeat(np.arange(self.count), self.length)

    @property
    def first(self) -> Ints:
        """The first entry of each group."""
        return np.cumsum(self.length) - self.length

    def pools(self, width: int, rng: np.random.Generator, block: int = BLOCK, one_of: int = 2) -> Ints:
        """Disjoint pools of this many groups, near each other and the first one costly: pools × width.

        Near means the nearest of a block, and one of this many groups is in a pool.
        """
        if width == 1:
            return np.arange(self.count)[:, None]
        blocks, guide = self._blocks(rng, block), self.table.guide
        every = np.arange(len(blocks))
        box = self.box.take(blocks)
        loss = guide.rough(box)
        # An exponential race: the first of a block is drawn with probability in proportion to its cost.
        race = np.log(1 - rng.random(blocks.shape)) / np.maximum((self.charge - self.least)[blocks], 1e-12)
        pools = []
        for _ in range(max(1, blocks.shape[1] // (one_of * width))):
            start = race.argmax(axis=1)
            race[every, start] = -np.inf
            far = 2 * guide.rough(box | self.box.take(blocks[every, start][:, None])) - loss
            far *= 1 + NOISE * rng.random(far.shape)
            far[np.isneginf(race)] = np.inf
            near = _nearest(far, width - 1)
            race[every[:, None], near] = -np.inf
            pools.append(np.hstack([blocks[every, start][:, None], blocks[every[:, None], near]]))
        return np.vstack(pools)

    def _blocks(self, rng: np.random.Generator, most: int) -> Ints:
        """The groups in an order in which near ones are often close together: blocks × groups."""
        some = self.tuple[self.first + (rng.random(self.count) * self.length).astype(np.int64)]
        key, size = np.zeros(self.count, dtype=np.int64), 1
        for j in rng.permutation(len(self.table.levels)).tolist():
            codes = self.table.levels[j][rng.integers(len(self.table.levels[j]))]
            classes = int(codes.max()) + 1
            if size * classes > KEY:
                break
            key, size = key * classes + codes.take(self.table.problem.ranks[some, j]), size * classes
        order = np.argsort(key + rng.random(self.count), kind="stable")
        width = min(most, self.count)
        count = self.count // width
        start = int(rng.integers(self.count - count * width + 1))
        return order[start : start + count * width].reshape(count, width)

    def cuts(self, pools: Ints, k: int, plan: Plan, rng: np.random.Generator) -> Entries:
        """A new cut of each pool."""
        boxes = [self.box.take(groups) for groups in pools.T]
        before = self.charge[pools].sum(axis=1)
        price = before + (plan.price - 1) * (before - self.least[pools].sum(axis=1))
        price /= self.size[pools].sum(axis=1)
        return recut(self.table, self._parts(pools), k, plan, boxes, price, rng)

    def windows(self, pools: Ints, k: int, limit: Floats, rng: np.random.Generator) -> Entries:
        """Windows of the pools that lose no more by them than their limit; by PMI, which they do not know, of all."""
        if self.table.guide is not self.table.space:
            limit = np.full(len(pools), np.inf)
        groups = pools.ravel()
        place, length = self._places(groups), self.length[groups]
        row = np.repeat(np.arange(len(place)), self.rows[place])
        group = np.repeat(np.arange(len(groups)), length)[row]
        price = ((self.charge - self.least) / self.size)[groups]
        pool = group // pools.shape[1]
        return self.table.lattice.recut(pool, group, self.tuple[place][row], price[group], limit, k, rng)

    def limit(self, pools: Ints, k: int, heat: float, rng: np.random.Generator) -> Floats:
        """How much more than now each pool may lose in a new clustering."""
        if not heat:
            return np.zeros(len(pools))
        return heat * math.sqrt(k) * self.table.worst / len(self.table.levels) * rng.exponential(size=len(pools))

    def offer(self, pools: Ints, entries: Entries, limit: Floats) -> State:
        """This clustering, or that in which the pools that gain by their new groups, or lose little, have them.

        Pools without entries stay as they are.
        """
        pool, part, tuples, rows = entries
        if not len(pool):
            return self
        before = self.charge[pools].sum(axis=1)
        new = State.of(self.table, part, tuples, rows)
        owner = np.full(int(part.max()) + 1, -1)
        owner[part] = pool
        owner = owner[owner >= 0]
        cost = np.full(len(pools), np.inf)
        cost[owner] = 0.0
        np.add.at(cost, owner, new.charge)
        is_better = (cost < before - GAIN) | ((cost > before + GAIN) & (cost < before + limit))
        if self.table.problem.models:
            is_better[owner[~legality.are_legal(self.table.problem, new.tuple, new.group, new.rows)]] = False
        if not is_better.any():
            return self
        stays = np.ones(self.count, dtype=bool)
        stays[pools[is_better]] = False
        return self.only(stays) + new.only(is_better[owner])

    def _places(self, groups: Ints) -> Ints:
        """The places of the groups' entries, one group after the other."""
        length = self.length[groups]
        return np.repeat(self.first[groups] - np.cumsum(length) + length, length) + np.arange(length.sum())

    def _parts(self, pools: Ints) -> Parts:
        """The pools' entries, those of one tuple added up."""
        groups = pools.ravel()
        place = self._places(groups)
        pool = np.repeat(np.repeat(np.arange(len(pools)), pools.shape[1]), self.length[groups])
        tuples, rows = self.tuple[place], self.rows[place]
        # Only a tuple whose rows have parted can be in a pool twice.
        counts = self.table.problem.counts
        parted = np.flatnonzero(rows < counts[tuples])
        if not len(parted):
            return Parts(pool, tuples, rows)
        key = pool[parted] * len(counts) + tuples[parted]
        order = np.argsort(key, kind="stable")
        first = _starts(key[order])
        parted = parted[order]
        held = np.add.reduceat(rows[parted], first)
        rows[parted] = 0
        rows[parted[first]] = held
        return Parts(pool, tuples, rows).only(rows > 0)


def _starts(ordered: Ints) -> Ints:
    """Where each number of an ordered array stands first."""
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def _nearest(far: Singles, count: int) -> Ints:
    """The places of this many of the least numbers of each line, none below 0; of equal ones the first.

    Numbers with their places below them are sorted several times faster than by numpy's stable argsort.
    """
    packed = far.view(np.int32).astype(np.int64) << PLACE
    packed |= np.arange(far.shape[1])
    packed.sort(axis=1)
    return packed[:, :count] & ((1 << PLACE) - 1)
