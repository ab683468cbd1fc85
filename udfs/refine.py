"""Refine: any clustering, with less loss. Groups that are near each other are pooled and cut again.

Ours: a large-neighbourhood search (Shaw, CP 1998) for the loss of paper 000. A step makes disjoint pools of two groups,
now and then of one or three, and offers each a new cut: its tuples are put in the order of how much nearer they are to
one box than to another, and of all places to cut that order in two parts of k rows or more, the best is taken; a part
of 2k rows or more is cut again. A pool whose new groups lose less than its old ones keeps them. Moving a tuple,
swapping tuples, splitting and dissolving a group are all cuts of that kind, and the box of every possible part is a
running minimum and maximum, so that a pool costs no loop.

Time O(E (d + log E)) a step and memory O(E d) for E entries with d attributes. It may stop after any step. The same
seed and number of steps give the same groups; a budget in seconds, for which alone the clock is read, does not.

Decided:
- Pools: the groups are sorted by one random tuple of each at a random level of every attribute, so that near groups are
  close together, and cut into blocks. In each block a costly group and the nearest others, in loss of the union, are a
  pool, several times. This is what keeps a step from looking at all pairs of groups.
- The boxes that order the tuples are drawn for each step from: the two groups as they are; those with some attributes
  of the first narrowed to the value of a random tuple; the union of one to three random tuples against another or
  against nothing.
- A pool of three is cut twice: the first part is the one whose rows gain most, each against a price near the pool's
  mean loss, and the rest is cut between the other two groups.
- The rows of a tuple may part, where a part then has exactly k rows.
- Where l is asked for, a cut counts only if all its groups are l-diverse. Suppressed rows stay suppressed.
- heat > 0 is simulated annealing: a pool also keeps a new cut that loses more, the less likely the more it loses, and
  the best clustering of all is returned. Heat falls with the square of what is left of the budget, and is 0 in its last
  twentieth. It pays on long runs only.
- Without heat and seconds, it stops early after `PATIENCE` steps without any gain.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from sqlanon.udfs.method import Progress
from sqlanon.udfs.peel import levels
from sqlanon.udfs.problem import SUPPRESSED, Attribute, Bools, Floats, Groups, Ints, Problem, Tree

from sqlanon.udfs import diversity

TABLE_LEAVES = 1024
CELLS = 1 << 14
"""How many entries of pools are looked at together: they stay in the processor's cache."""
BLOCK = 32
"""Groups in a block, of which about half are in pools."""
WIDTHS = (2, 2, 2, 2, 2, 2, 3, 3, 3, 1)
"""How many groups a pool has: one of these, drawn for each step."""
PATIENCE = 60
COLD = 0.95
TOTAL = 1000
"""Progress is told in thousandths of the budget."""
GAIN = 1e-9
JITTER, PLACE = 12, 20
"""Bits of a random number and of an entry's place, below the key that entries are sorted by."""

Small = npt.NDArray[np.int32]
Ranks = Ints | Small
Singles = npt.NDArray[np.float32]
Ends = tuple[Small, Small]
"""lo and hi of one attribute."""
Boxes = tuple[list[Small], list[Small]]
"""lo and hi of some boxes, attribute by attribute."""


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
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """The groups after so many steps or seconds, whichever is over first; their loss is never more than before."""
    table = Table(problem)
    is_kept = groups.group != SUPPRESSED
    if not is_kept.any():
        return groups
    state = State.of(table, groups.tuple[is_kept], groups.group[is_kept], groups.rows[is_kept])
    budget = Budget(steps, seconds, clock, begin=clock())
    best, idle, step = state, 0, 0
    while (spent := budget.spent(step)) < 1 and (seconds is not None or heat > 0 or idle < PATIENCE):
        progress(int(spent * TOTAL), TOTAL)
        new = _step(state, k, rng, step, heat * (1 - spent) ** 2 if spent < COLD else 0.0)
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
    width = 1 if step == 0 else int(rng.choice(WIDTHS))
    pools = state.pools(min(width, state.count), rng)
    return state.offer(pools, k, Plan.draw(rng, pools.shape[1]), heat, rng)


class Axis:
    """One attribute: the weighted loss of ranges of its ranks."""

    def __init__(self, attribute: Attribute, weight: float) -> None:
        self.attribute, self.weight = attribute, weight
        self.levels = levels(attribute)
        self.size = len(self.levels[0])
        self.exact: Floats | None = None
        if isinstance(attribute, Tree):
            if self.size <= TABLE_LEAVES:
                every = np.arange(self.size)
                self.exact = self.loss(every[:, None], every).reshape(-1)
                self.square = self.exact.astype(np.float32)
                lo, hi = attribute.lo[:, None], attribute.hi[:, None]
                self.with_leaf = self.loss(np.minimum(lo, every), np.maximum(hi, every)).astype(np.float32).reshape(-1)
                self.row = (attribute.common(every[:, None], every) * self.size).astype(np.int32).reshape(-1)
        else:
            # NULL lies as far beyond the line as the line is long: a range up to it is cut to the line's length.
            self.at = (weight * np.where(np.isnan(attribute.unit), 2.0, attribute.unit)).astype(np.float32)

    def loss(self, lo: Ranks, hi: Ranks) -> Floats:
        """The loss of ranges, in double precision."""
        if self.exact is not None:
            return self.exact.take(lo * self.size + hi)
        return self.weight * self.attribute.loss(np.asarray(lo, np.int64), np.asarray(hi, np.int64))

    def between(self, lo: Small, hi: Small) -> Singles:
        """The loss of ranges, in single precision."""
        if isinstance(self.attribute, Tree):
            if self.exact is None:
                return self.loss(lo, hi).astype(np.float32)
            return self.square.take(lo * np.int32(self.size) + hi)
        return np.asarray(np.minimum(self.at.take(hi) - self.at.take(lo), np.float32(self.weight)))

    def union(self, lo: Small, hi: Small, ranks: Small) -> Singles:
        """The loss of each column's range together with every rank below it, in single precision."""
        if isinstance(self.attribute, Tree):
            if self.exact is None:
                return self.loss(np.minimum(lo, ranks), np.maximum(hi, ranks)).astype(np.float32)
            return self.with_leaf.take(self.row.take(lo * np.int32(self.size) + hi) + ranks)
        at = self.at.take(ranks)
        width = np.maximum(self.at.take(hi), at)
        width -= np.minimum(self.at.take(lo), at)
        return np.minimum(width, np.float32(self.weight), out=width)


class Table:
    """The problem as refining looks at it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.axes = [Axis(*pair) for pair in zip(problem.attributes, problem.weights.tolist(), strict=True)]
        self.ranks = np.ascontiguousarray(problem.ranks.T)
        self.small = self.ranks.astype(np.int32)
        # Keys are differences of two losses: whole numbers of 31 bits with their sign.
        self.scale = np.float64(2**29 / max(float(problem.weights.sum()), 1e-300))


@dataclass(frozen=True)
class State:
    """A clustering: entries in the order of their groups, and the box, size and loss of each group."""

    table: Table
    tuple: Ints
    group: Ints
    rows: Ints
    first: Ints
    length: Ints
    lo: Ints
    hi: Ints
    size: Ints
    loss: Floats

    @classmethod
    def of(cls, table: Table, tuples: Ints, group: Ints, rows: Ints) -> State:
        """Entries in any order; groups are numbered anew, in their order."""
        order = np.argsort(group, kind="stable")
        tuples, group, rows = tuples[order], group[order], rows[order]
        first = np.flatnonzero(np.r_[True, np.diff(group) != 0])
        length = np.diff(np.r_[first, len(group)])
        ranks = table.ranks[:, tuples]
        lo, hi = np.minimum.reduceat(ranks, first, axis=1), np.maximum.reduceat(ranks, first, axis=1)
        loss = np.zeros(len(first))
        for axis, *ends in zip(table.axes, lo, hi, strict=True):
            loss += axis.loss(*ends)
        numbers = np.repeat(np.arange(len(first)), length)
        return cls(table, tuples, numbers, rows, first, length, lo, hi, np.add.reduceat(rows, first), loss)

    @cached_property
    def cost(self) -> float:
        """What all rows lose together."""
        return float(self.loss @ self.size)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.first)

    def pools(self, width: int, rng: np.random.Generator) -> Ints:
        """Disjoint pools of so many groups, near each other and the first one costly: pools × width."""
        if width == 1:
            return np.arange(self.count)[:, None]
        blocks = self._blocks(rng)
        every = np.arange(len(blocks))
        lo, hi, loss = self.lo[:, blocks], self.hi[:, blocks], self.loss[blocks]
        # An exponential race: the first of a block is drawn with probability in proportion to its cost.
        race = np.log(1 - rng.random(blocks.shape)) / (loss * self.size[blocks] + 1e-12)
        pools = []
        for _ in range(max(1, blocks.shape[1] // (2 * width))):
            start = race.argmax(axis=1)
            race[every, start] = -np.inf
            far = -loss
            for axis, low, high in zip(self.table.axes, lo, hi, strict=True):
                ends = low[every, start][:, None], high[every, start][:, None]
                far += 2 * axis.loss(np.minimum(low, ends[0]), np.maximum(high, ends[1]))
            far *= 1 + 0.3 * rng.random(far.shape)
            far[np.isneginf(race)] = np.inf
            near = np.argsort(far, axis=1, kind="stable")[:, : width - 1]
            race[every[:, None], near] = -np.inf
            pools.append(np.hstack([blocks[every, start][:, None], blocks[every[:, None], near]]))
        return np.vstack(pools)

    def _blocks(self, rng: np.random.Generator) -> Ints:
        """The groups in an order in which near ones are often close together: blocks × groups."""
        some = self.tuple[self.first + (rng.random(self.count) * self.length).astype(np.int64)]
        keys = [rng.random(self.count)]
        for j in rng.permutation(len(self.table.axes)):
            codes = self.table.axes[j].levels
            keys.append(codes[rng.integers(len(codes))][self.table.ranks[j, some]])
        order = np.lexsort(keys)
        width = min(BLOCK, self.count)
        count = self.count // width
        start = int(rng.integers(self.count - count * width + 1))
        return order[start : start + count * width].reshape(count, width)

    def offer(self, pools: Ints, k: int, plan: Plan, heat: float, rng: np.random.Generator) -> State:
        """This clustering, or that in which the pools that gain by their new cut, or lose little, have it."""
        count = len(pools)
        number = np.full(self.count, -1)
        number[pools] = np.arange(count)[:, None]
        old = self._parts(number)
        boxes = [(list(self.lo[:, g].astype(np.int32)), list(self.hi[:, g].astype(np.int32))) for g in pools.T]
        before = (self.loss * self.size)[pools].sum(axis=1)
        price = plan.price * before / self.size[pools].sum(axis=1)
        pool, part, tuples, rows = _recut(self.table, old, k, plan, boxes, price, rng)
        ids, part = np.unique(part, return_inverse=True)
        new = State.of(self.table, tuples, part, rows)
        owner = np.empty(len(ids), dtype=np.int64)
        owner[part] = pool
        cost = np.bincount(owner, weights=new.loss * new.size, minlength=count)
        is_better = cost < before - GAIN
        if heat > 0:
            limit = heat * k * float(self.table.problem.weights.mean()) * rng.exponential(size=count)
            is_better |= (cost > before + GAIN) & (cost < before + limit)
        if self.table.problem.l is not None:
            is_better[owner[~new.is_diverse()]] = False
        if not is_better.any():
            return self
        stays = np.ones(self.count, dtype=bool)
        stays[pools[is_better]] = False
        stays, comes = stays[self.group], is_better[pool]
        return State.of(
            self.table,
            np.concatenate([self.tuple[stays], tuples[comes]]),
            np.concatenate([self.group[stays], self.count + part[comes]]),
            np.concatenate([self.rows[stays], rows[comes]]),
        )

    def _parts(self, number: Ints) -> Parts:
        """The pools' entries, those of one tuple added up."""
        pool = number[self.group]
        inside = np.flatnonzero(pool >= 0)
        key = pool[inside] * len(self.table.problem.counts) + self.tuple[inside]
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.r_[True, np.diff(key) != 0])
        pool, tuples = np.divmod(key[first], len(self.table.problem.counts))
        return Parts(pool, tuples, np.add.reduceat(self.rows[inside][order], first))

    def is_diverse(self) -> Bools:
        """Is each group l-diverse?"""
        problem = self.table.problem
        assert problem.sensitive is not None
        assert problem.l is not None
        is_diverse = np.ones(self.count, dtype=bool)
        for codes in problem.sensitive.T:
            values = int(codes.max()) + 1
            pairs, pair = np.unique(self.group * values + codes[self.tuple], return_inverse=True)
            most = np.zeros(self.count)
            np.maximum.at(most, pairs // values, np.bincount(pair, weights=self.rows))
            is_diverse &= diversity.holds(most, self.size, problem.l)
        return is_diverse


@dataclass(frozen=True)
class Plan:
    """How the entries of all pools are ordered in one step."""

    kind: str
    """'groups': by the pool's first two groups; 'tuples': by random tuples."""
    narrowed: int = 0
    """So many random attributes of the first group are narrowed to the value of a tuple."""
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
            return cls("groups", narrowed=int(rng.integers(4)), is_alone=is_alone, rounds=rounds, price=price)
        return cls("tuples", tuples=int(rng.integers(1, 4)), is_alone=is_alone, rounds=rounds, price=price)

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


def _recut(
    table: Table, parts: Parts, k: int, plan: Plan, boxes: list[Boxes], price: Floats, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints, Ints]:
    """Cut every part in two, and its parts again, while they have 2k rows. Pool, part, tuple and rows of each entry."""
    count = len(boxes[0][0][0])
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
            mine = [([lo[home] for lo in box[0]], [hi[home] for hi in box[1]]) for box in boxes]
            halves.append(sheet.halves(sheet.best(plan, mine, price[home], rng), 2 * place))
            place += len(some)
        owner, count = np.repeat(owner[by_length], 2), 2 * len(by_length)
        part, tuples, rows = (np.concatenate([getattr(h, name) for h in halves]) for name in ("part", "tuple", "rows"))
        order = np.argsort(part, kind="stable")
        parts, boxes = Parts(part[order], tuples[order], rows[order]), boxes[1:]
        plan = plan.rest(len(boxes))
    pool, part, tuples, rows = (np.concatenate(column) for column in zip(*done, strict=True))
    return pool, part, tuples, rows


class Sheet:
    """Some parts as columns of one matrix, an entry a row; shorter columns are padded with entries of no rows."""

    def __init__(self, table: Table, parts: Parts, start: Ints, length: Ints, k: int) -> None:
        self.table, self.k, self.length = table, k, length
        row = np.arange(int(length.max()))[:, None]
        is_entry = row < length
        place = np.where(is_entry, start + row, start)
        self.tuple = parts.tuple[place]
        self.rows = np.where(is_entry, parts.rows[place], 0)
        self.ranks = [ranks.take(self.tuple) for ranks in table.small]
        self.column = np.arange(len(length))
        self.is_padded = bool((length < len(row)).any())

    def best(self, plan: Plan, boxes: list[Boxes], price: Floats, rng: np.random.Generator) -> Ints:
        """How many rows of each entry go to the first part in the best cut."""
        one, other = self._boxes(plan, boxes, rng)
        if plan.price:
            return self._cut(one, other, rng, price.astype(np.float32))[1]
        cost, taken, one, other = self._cut(one, other, rng)
        for _ in range(plan.rounds - 1):
            new_cost, new_taken, one, other = self._cut(one, other, rng)
            is_better = new_cost < cost
            cost[is_better], taken[:, is_better] = new_cost[is_better], new_taken[:, is_better]
        return taken

    def halves(self, taken: Ints, base: int) -> Parts:
        """Both parts of every column, numbered from base on."""
        found = []
        for half, rows in enumerate((taken, self.rows - taken)):
            row, column = np.nonzero(rows)
            found.append((base + 2 * column + half, self.tuple[row, column], rows[row, column]))
        return Parts(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def _boxes(self, plan: Plan, boxes: list[Boxes], rng: np.random.Generator) -> tuple[Boxes, Boxes | None]:
        """The two boxes of each column by which its entries are ordered."""
        draws = (rng.random((2 * plan.tuples, len(self.column))) * self.length).astype(np.int64)
        if plan.kind == "tuples" or len(boxes) < 2:
            one, other = self._around(draws[: plan.tuples]), self._around(draws[plan.tuples :])
        else:
            one, other = boxes[0], boxes[1]
            drawn = self._around(draws[:1])[0]
            for _ in range(plan.narrowed):
                which = rng.integers(len(drawn), size=len(self.column))
                narrow = [which == j for j in range(len(drawn))]
                one = (
                    [np.where(*part) for part in zip(narrow, drawn, one[0], strict=True)],
                    [np.where(*part) for part in zip(narrow, drawn, one[1], strict=True)],
                )
        return one, None if plan.is_alone else other

    def _around(self, entries: Ints) -> Boxes:
        """The box around some entries of each column."""
        values = [ranks[entries, self.column] for ranks in self.ranks]
        return [value.min(axis=0) for value in values], [value.max(axis=0) for value in values]

    def _order(self, one: Boxes, other: Boxes | None, rng: np.random.Generator) -> Ints:
        """The places of the entries, those nearest to the first box first and the padding last.

        What is sorted are whole numbers, no two of a column alike: the order is the same on every machine.
        """
        key = np.zeros(self.rows.shape, dtype=np.float32)
        for j, axis in enumerate(self.table.axes):
            key += axis.union(one[0][j], one[1][j], self.ranks[j])
            if other is not None:
                key -= axis.union(other[0][j], other[1][j], self.ranks[j])
        packed = np.rint(key * self.table.scale).astype(np.int64)
        if self.is_padded:
            packed[self.rows == 0] = 2**30
        packed <<= JITTER
        packed |= rng.integers(1 << JITTER, size=packed.shape, dtype=np.int64)
        packed <<= PLACE
        packed |= np.arange(len(packed))[:, None]
        packed = np.ascontiguousarray(packed.T)
        packed.sort(axis=1)
        packed &= (1 << PLACE) - 1
        return np.ascontiguousarray(packed.T)

    def _cut(
        self, one: Boxes, other: Boxes | None, rng: np.random.Generator, price: Singles | None = None
    ) -> tuple[Singles, Ints, Boxes, Boxes]:
        """The best cut of each column in one order: its cost, rows of each entry in the first part, and both boxes.

        Where there is a price, the rest counts for nothing and each row of the first part for so much less.
        """
        column, k = self.column, self.k
        place = self._order(one, other, rng) * len(column) + column
        rows = self.rows.take(place)
        upto = np.cumsum(rows, axis=0)
        total, before = upto[-1], upto - rows
        head, tail, ends = self._losses(place, rows)
        if price is not None:
            head -= price
            tail[:] = 0
        cost = np.full(rows.shape, np.inf, dtype=np.float32)
        cost[:-1] = upto[:-1] * head[:-1] + (total - upto[:-1]) * tail[1:]
        cost[(upto < k) | (total - upto < k)] = np.inf
        last = cost.argmin(axis=0)
        best, share = cost[last, column], rows[last, column]
        # The rows of one tuple may part, so that there are exactly k rows before or after the cut.
        for size in (np.full(len(column), k), total - k):
            split = (upto >= size).argmax(axis=0)
            parted = size * head[split, column] + (total - size) * tail[split, column]
            is_better = (parted < best) & (upto[split, column] > size)
            best = np.where(is_better, parted, best).astype(np.float32)
            last = np.where(is_better, split, last)
            share = np.where(is_better, size - before[split, column], share)
        taken = np.where(np.arange(len(rows))[:, None] < last, rows, 0)
        taken[last, column] = share
        after = np.minimum(last + (share == rows[last, column]), len(rows) - 1)
        boxes = [
            ([lo[at, column] for lo, _ in parts], [hi[at, column] for _, hi in parts])
            for at, parts in ((last, ends[0]), (after, ends[1]))
        ]
        back = np.empty_like(taken)
        back.reshape(-1)[place] = taken
        return best, back, boxes[0], boxes[1]

    def _losses(self, place: Ints, rows: Ints) -> tuple[Singles, Singles, tuple[list[Ends], list[Ends]]]:
        """The loss of all entries up to each one and from each one on, and their boxes."""
        # Running maxima are running minima of the negative ranks: one array, and a loop over its rows, which is several
        # times faster than numpy's accumulate over the first axis.
        count, size = len(self.table.axes), len(rows)
        ahead = np.empty((size, 2, count, len(self.column)), dtype=np.int32)
        for j, ranks in enumerate(self.ranks):
            ahead[:, 0, j] = ranks.take(place)
        np.negative(ahead[:, 0], out=ahead[:, 1])
        behind = ahead.copy()
        if self.is_padded:
            last = np.array([axis.size - 1 for axis in self.table.axes], dtype=np.int32)
            empty, column = np.nonzero(rows == 0)
            behind[empty, 0, :, column], behind[empty, 1, :, column] = last, 0
        for row in range(1, size):
            np.minimum(ahead[row], ahead[row - 1], out=ahead[row])
            np.minimum(behind[-1 - row], behind[-row], out=behind[-1 - row])
        np.negative(ahead[:, 1], out=ahead[:, 1])
        np.negative(behind[:, 1], out=behind[:, 1])
        ends = tuple([(box[:, 0, j], box[:, 1, j]) for j in range(count)] for box in (ahead, behind))
        head, tail = (np.zeros(rows.shape, dtype=np.float32) for _ in range(2))
        for axis, before, after in zip(self.table.axes, *ends, strict=True):
            head += axis.between(*before)
            tail += axis.between(*after)
        return head, tail, (ends[0], ends[1])
