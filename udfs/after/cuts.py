"""Cuts: pools of groups as sheets of entries, ordered and cut in two, and their parts again, where that loses least.

What a step of refine.py tries, all pools of a step at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sqlanon.udfs.problem import Bools, Floats, Ints, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.boxes import Boxes, Singles, Space
from sqlanon.udfs.space.levels import levels

if TYPE_CHECKING:
    from sqlanon.udfs.after.windows import Lattice

CELLS = 1 << 14
"""How many entries of pools are looked at together: they stay in the processor's cache."""
JITTER, PLACE = 12, 20
"""Bits of a random number and of a place, below the key that is sorted by."""
Entries = tuple[Ints, Ints, Ints, Ints]
"""Pool, part, tuple and rows of each entry of a new clustering of pools."""
Reals = npt.NDArray[np.floating[Any]]
GUIDE = "mi"
"""Where the objective looks at sensitive values, what is near is told by this measure."""


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
    """How often the order is made again from the best two parts so far."""
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
        """The plan for what the first cut leaves, with the boxes of this many groups left."""
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


def recut(
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
        self.may_part = bool((self.rows > 1).any())
        """Is there a tuple whose rows may part?"""

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
        for size in (np.full(len(line), k), total - k) if self.may_part else ():
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
