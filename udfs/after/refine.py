"""Refine: any clustering, with less loss. Groups that are near each other are pooled and cut again.

Ours: a large-neighbourhood search (Shaw, CP 1998) for the loss of paper 000 or another measure of costs.py. A step
makes disjoint pools of two groups, now and then of one or three, and offers each a new cut: its tuples are put in the
order of how much nearer they are to one box than to another, and of all places to cut that order in two parts of k rows
or more, the best is taken; a part of 2k rows or more is cut again. A pool whose new groups lose less than its old ones
keeps them. Moving a tuple, swapping tuples, splitting and dissolving a group are all cuts of that kind, and the box of
every possible part is a running union (see boxes.py), so that a pool costs no loop.

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
- A cut counts only if all its groups keep the models that are asked for. Suppressed rows stay suppressed.
- heat > 0 is simulated annealing: a pool also keeps a new cut that loses more, the less likely the more it loses, and
  the best clustering of all is returned. It may lose heat √k times what a cell loses that tells nothing, on average:
  on Adult, the best heat for k = 10 and 100 is then the same. Heat falls in proportion to what is left of the budget.
  It pays on long runs only.
- With heat, more than half of the steps offer windows (see windows.py) to wider pools. They are what gets a long search
  out of the arrangement of groups that it began with, the wider the pool the better. Without heat, the same time gains
  more by cuts. Groups of 2k rows or more, nearly all of which hold one tuple, are left out of these pools.
- PMI says little about what is near, as a larger box may lose less by it: pools are made by MI, and a pool's tuples are
  ordered by PMI, each for its own sensitive value.
- Without heat and seconds, it stops early after `PATIENCE` steps without any gain.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sqlanon.udfs import legality
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import SUPPRESSED, Bools, Floats, Groups, Ints, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.boxes import Boxes, Singles, Space
from sqlanon.udfs.space.levels import levels

if TYPE_CHECKING:
    from sqlanon.udfs.after.windows import Lattice

GUIDE = "mi"
"""Where the objective looks at sensitive values, what is near is told by this measure."""
CELLS = 1 << 14
"""How many entries of pools are looked at together: they stay in the processor's cache."""
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
"""Progress is told in thousandths of the budget."""
GAIN = 1e-9
KEY = 2**40
"""Groups are sorted by keys up to this, with a random fraction."""
JITTER, PLACE = 12, 20
"""Bits of a random number and of a place, below the key that is sorted by."""
Entries = tuple[Ints, Ints, Ints, Ints]
"""Pool, part, tuple and rows of each entry of a new clustering of pools."""
Reals = npt.NDArray[np.floating[Any]]


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
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """The groups after so many steps or seconds, whichever is over first; their loss is never more than before."""
    table = Table(problem, objective)
    is_kept = groups.group != SUPPRESSED
    if not is_kept.any():
        return groups
    state = State.of(table, groups.group[is_kept], groups.tuple[is_kept], groups.rows[is_kept])
    budget = Budget(steps, seconds, clock, begin=clock())
    best, idle, step = state, 0, 0
    whole = problem.rows * float(problem.weights.sum())
    while (spent := budget.spent(step)) < 1 and (seconds is not None or heat > 0 or idle < PATIENCE):
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
    entries = state.cuts(pools, k, Plan.draw(rng, pools.shape[1]), rng)
    return state.offer(pools, entries, state.limit(pools, k, heat, rng))


class Table:
    """The problem as refining looks at it."""

    def __init__(self, problem: Problem, objective: str) -> None:
        self.problem = problem
        rates, self.value = costs.rates(problem, objective)
        self.space = Space(rates)
        self.points = self.space.points(problem.ranks)
        self.guides = costs.rates(problem, GUIDE)[0] if objective in costs.PRIVATE else rates
        self.guide = Space(self.guides) if objective in costs.PRIVATE else self.space
        self.levels = [levels(attribute) for attribute in problem.attributes]
        self.own = costs.own(problem, rates, self.value)
        self.is_relative = bool(self.own.any())
        lowest, top = np.zeros((1, len(rates)), dtype=np.int64), np.array([[rate.ranks - 1 for rate in rates]])
        everyone = np.bincount(self.value, weights=problem.counts)[None].astype(np.float64)
        whole = float(costs.charges(rates, lowest, top, everyone)[0])
        self.worst = (whole - float(self.own @ problem.counts)) / problem.rows
        """What a row loses on average if nothing is told."""
        # Keys are differences of two losses, of log2(rows) bits at most: whole numbers of 31 bits with their sign.
        self.scale = 2**29 / max(float(problem.weights.sum()) * max(1.0, math.log2(problem.rows)), 1e-300)

    @cached_property
    def lattice(self) -> Lattice:
        """What windows are found with, imported when needed: numba alone takes longer than effort 'fast'."""
        from sqlanon.udfs.after.windows import Lattice

        return Lattice(self.problem.ranks, self.guides, self.levels)


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
    """What they would lose if all were printed as they are: 0 but for MI and PMI."""

    @classmethod
    def of(cls, table: Table, group: Ints, tuples: Ints, rows: Ints) -> State:
        """Entries in any order; groups are numbered anew, in their order."""
        order = np.argsort(group, kind="stable")
        group, tuples, rows = group[order], tuples[order], rows[order]
        first = np.flatnonzero(np.r_[True, np.diff(group) != 0])
        length = np.diff(np.r_[first, len(group)])
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
        """Disjoint pools of so many groups, near each other and the first one costly: pools × width.

        Near means the nearest of a block, and one of so many groups is in a pool.
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
        return _recut(self.table, self._parts(pools), k, plan, boxes, price, rng)

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
        first = np.flatnonzero(np.r_[True, np.diff(key[order]) != 0])
        parted = parted[order]
        held = np.add.reduceat(rows[parted], first)
        rows[parted] = 0
        rows[parted[first]] = held
        return Parts(pool, tuples, rows).only(rows > 0)


def _nearest(far: Singles, count: int) -> Ints:
    """The places of so many of the least numbers of each line, none below 0; of equal ones the first.

    Numbers with their places below them are sorted several times faster than by numpy's stable argsort.
    """
    packed = far.view(np.int32).astype(np.int64) << PLACE
    packed |= np.arange(far.shape[1])
    packed.sort(axis=1)
    return packed[:, :count] & ((1 << PLACE) - 1)


@dataclass(frozen=True)
class Plan:
    """How the entries of all pools are ordered in one step."""

    kind: str
    """'groups': by the pool's first two groups; 'tuples': by random tuples."""
    narrowed: int = 0
    """So many random attributes of the first group are narrowed to the box of the tuples."""
    tuples: int = 1
    """So many random tuples make a box."""
    is_alone: bool = False
    """Is there no second box?"""
    rounds: int = 1
    """How often the order is made anew from the best two parts so far."""
    price: float = 0.0
    """If not 0, the first part is chosen by what its rows gain against this share of the pool's mean loss."""

    @classmethod
    def draw(cls, rng: np.random.Generator, width: int) -> Plan:
        """A random plan. Those for pairs are the ones that gained most per second on Adult, at k = 10 and 100."""
        rounds, is_alone = int(rng.integers(1, 3)), bool(rng.integers(2))
        price = float(rng.uniform(0.7, 1.3)) if width > 2 else 0.0
        if width > 1 and rng.random() < 0.6:
            is_alone &= bool(rng.integers(2))
            return cls("groups", int(rng.integers(4)), int(rng.integers(1, 4)), is_alone, rounds, price)
        return cls("tuples", 0, int(rng.integers(1, 4)), is_alone, rounds, price)

    def rest(self, boxes: int) -> Plan:
        """The plan for what the first cut leaves, with the boxes of so many groups left."""
        if boxes > 1:
            return Plan("groups", rounds=self.rounds)
        return replace(self, kind="tuples", price=0.0)


@dataclass(frozen=True)
class Parts:
    """Entries side by side, `rows` of `tuple` in `part`, in the order of the parts."""

    part: Ints
    tuple: Ints
    rows: Ints

    def only(self, which: Bools) -> Parts:
        """Some of the entries."""
        return Parts(self.part[which], self.tuple[which], self.rows[which])

    @classmethod
    def joined(cls, parts: list[Parts]) -> Parts:
        """Parts one after the other."""
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("part", "tuple", "rows")))


def _recut(
    table: Table, parts: Parts, k: int, plan: Plan, boxes: list[Boxes], price: Floats, rng: np.random.Generator
) -> Entries:
    """Cut every part in two, and its parts again, while they have 2k rows. Pool, part, tuple and rows of each entry."""
    count = len(price)
    owner, base = np.arange(count), 0
    done: list[tuple[Ints, Ints, Ints, Ints]] = []
    while True:
        length = np.bincount(parts.part, minlength=count)
        can_split = (np.bincount(parts.part, weights=parts.rows, minlength=count) >= 2 * k) & (length > 1)
        is_open = can_split[parts.part]
        final = parts.only(~is_open)
        done.append((owner[final.part], base + final.part, final.tuple, final.rows))
        parts = parts.only(is_open)
        if not len(parts.part):
            break
        base += count
        start = np.cumsum(length * can_split) - length * can_split
        by_length = np.flatnonzero(can_split)
        by_length = by_length[np.argsort(length[by_length], kind="stable")]
        halves: list[Parts] = []
        place = 0
        while place < len(by_length):
            some = by_length[place : place + max(1, CELLS // int(length[by_length[place]]))]
            sheet = Sheet(table, parts, start[some], length[some], k)
            home = owner[some]
            mine = [box.take(home) for box in boxes]
            halves.append(sheet.halves(sheet.best(plan, mine, price[home], rng), 2 * place))
            place += len(some)
        owner, count = np.repeat(owner[by_length], 2), 2 * len(by_length)
        parts, boxes = Parts.joined(halves), boxes[1:]
        plan = plan.rest(len(boxes))
    pool, part, tuples, rows = (np.concatenate(column) for column in zip(*done, strict=True))
    return pool, part, tuples, rows


class Sheet:
    """Some parts as lines of one matrix, an entry a place; shorter lines are padded with entries of no rows."""

    def __init__(self, table: Table, parts: Parts, start: Ints, length: Ints, k: int) -> None:
        self.table, self.k, self.length = table, k, length
        place = np.arange(int(length.max()))
        is_entry = place < length[:, None]
        entry = np.where(is_entry, start[:, None] + place, start[:, None])
        self.tuple = parts.tuple.take(entry)
        self.rows = np.where(is_entry, parts.rows.take(entry), 0)
        self.points = table.points.take(self.tuple)
        self.value = table.value.take(self.tuple) if table.space.values > 1 else 0
        self.line = np.arange(len(length))
        self.is_padded = bool((length < len(place)).any())

    def best(self, plan: Plan, boxes: list[Boxes], price: Floats, rng: np.random.Generator) -> Ints:
        """How many rows of each entry go to the first part in the best cut."""
        one, other = self._boxes(plan, boxes, rng)
        if plan.price:
            return self._cut(one, other, rng, price.astype(np.float32))[1]
        cost, taken, one, other = self._cut(one, other, rng)
        for _ in range(plan.rounds - 1):
            new_cost, new_taken, one, other = self._cut(one, other, rng)
            is_better = new_cost < cost
            cost[is_better], taken[is_better] = new_cost[is_better], new_taken[is_better]
        return taken

    def halves(self, taken: Ints, base: int) -> Parts:
        """Both parts of every line, numbered from base on."""
        rows = np.stack([taken, self.rows - taken], axis=1)
        line, half, place = np.nonzero(rows)
        return Parts(base + 2 * line + half, self.tuple[line, place], rows[line, half, place])

    def _boxes(self, plan: Plan, boxes: list[Boxes], rng: np.random.Generator) -> tuple[Boxes, Boxes | None]:
        """The two boxes of each line by which its entries are ordered."""
        draws = (rng.random((2 * plan.tuples, len(self.line))) * self.length).astype(np.int64)
        if plan.kind == "tuples" or len(boxes) < 2:
            one, other = self._around(draws[: plan.tuples]), self._around(draws[plan.tuples :])
        else:
            one, other = boxes[0], boxes[1]
            inner = self._around(draws[: plan.tuples])
            for _ in range(plan.narrowed):
                which = rng.integers(len(self.table.levels), size=len(self.line))
                one = self.table.guide.narrowed(one, inner, which)
        return one, None if plan.is_alone else other

    def _around(self, places: Ints) -> Boxes:
        """The box around some entries of each line."""
        return reduce(or_, (self.table.points.take(self.tuple[self.line, place]) for place in places))

    def _order(self, one: Boxes, other: Boxes | None, rng: np.random.Generator) -> Ints:
        """The places of the entries, those nearest to the first box first and the padding last.

        What is sorted are whole numbers, no two of a line alike: the order is the same on every machine.
        """
        space, value = self.table.space, self.value
        key = space.rough(self.points | one.for_lines(), value)
        if other is not None:
            key -= space.rough(self.points | other.for_lines(), value)
        key *= self.table.scale
        packed = np.rint(key, out=key).astype(np.int64)
        if self.is_padded:
            packed[self.rows == 0] = 2**30
        packed <<= JITTER
        # A hash of the tuple, by another factor every time.
        packed |= (self.tuple * (rng.integers(1 << 62) * 2 + 1)) >> (63 - JITTER) & ((1 << JITTER) - 1)
        packed <<= PLACE
        packed |= np.arange(packed.shape[1])
        packed.sort(axis=1)
        packed &= (1 << PLACE) - 1
        return packed

    def _cut(
        self, one: Boxes, other: Boxes | None, rng: np.random.Generator, price: Singles | None = None
    ) -> tuple[Singles, Ints, Boxes, Boxes]:
        """The best cut of each line in one order: its cost, rows of each entry in the first part, and both boxes.

        Where there is a price, the rest counts for nothing and each row of the first part for so much less.
        """
        line, k, width = self.line, self.k, self.rows.shape[1]
        place = self._order(one, other, rng) + (line * width)[:, None]
        rows = self.rows.take(place)
        upto = np.cumsum(rows, axis=1)
        total, before = upto[:, -1], upto - rows
        boxes = self._running(place, rows)
        head, tail, ahead, behind = self._charges(boxes, place, rows, upto)
        if price is not None:
            head, ahead = head - price[:, None], ahead - upto * price[:, None]
            tail, behind = np.zeros_like(tail), np.zeros_like(behind)
        cost = np.full(rows.shape, np.inf, dtype=np.float32)
        np.add(ahead[:, :-1], behind[:, 1:], out=cost[:, :-1])
        cost[(upto < k) | (upto > (total - k)[:, None])] = np.inf
        last = cost.argmin(axis=1)
        best, share = cost[line, last], rows[line, last]
        # The rows of one tuple may part, so that there are exactly k rows before or after the cut.
        for size in (np.full(len(line), k), total - k):
            split = (upto >= size[:, None]).argmax(axis=1)
            over, under = upto[line, split] - size, size - before[line, split]
            parted = ahead[line, split] - over * head[line, split]
            parted += behind[line, split] - under * tail[line, split]
            is_better = (parted < best) & (over > 0)
            best = np.where(is_better, parted, best).astype(np.float32)
            last = np.where(is_better, split, last)
            share = np.where(is_better, under, share)
        taken = np.where(np.arange(width) < last[:, None], rows, 0)
        taken[line, last] = share
        after = np.minimum(last + (share == rows[line, last]), width - 1)
        running = boxes.flat()
        back = np.empty_like(taken)
        back.reshape(-1)[place] = taken
        start = 2 * width * line
        return best, back, running.take(start + last), running.take(start + 2 * width - 1 - after)

    def _running(self, place: Ints, rows: Ints) -> Boxes:
        """The boxes of all entries up to each one, and of those from the last one back to it: lines × 2 × places."""
        if self.is_padded:
            place = np.where(rows > 0, place, place[self.line, self.length - 1][:, None])
        both = self.points.flat().take(np.stack([place, place[:, ::-1]], axis=1))
        return Boxes(
            np.bitwise_or.accumulate(both.words, axis=-1),
            np.minimum.accumulate(both.lo, axis=-1),
            np.maximum.accumulate(both.hi, axis=-1),
        )

    def _charges(self, boxes: Boxes, place: Ints, rows: Ints, upto: Ints) -> tuple[Reals, Reals, Reals, Reals]:
        """What a row of each entry loses in the box up to it and in that from it on, and what all rows there lose."""
        space = self.table.space
        if space.values == 1:
            loss = space.rough(boxes)
            head, tail = loss[:, 0], loss[:, 1, ::-1]
            return head, tail, upto * head, (upto[:, -1:] - upto + rows) * tail
        value = np.take(self.value, place)
        charged: Reals = np.zeros((4, *rows.shape))
        head, tail, ahead, behind = charged
        for one in range(space.values):
            loss, is_one = space.rough(boxes, one), value == one
            held = np.where(is_one, rows, 0)
            mine = np.cumsum(held, axis=1)
            ahead += mine * loss[:, 0]
            behind += (mine[:, -1:] - mine + held) * loss[:, 1, ::-1]
            head[is_one], tail[is_one] = loss[:, 0][is_one], loss[:, 1, ::-1][is_one]
        return head, tail, ahead, behind
