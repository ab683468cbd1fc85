"""Greedy clustering: what the methods share that gather one group after the other from the rows that are left.

The table of those rows is that of `kacpc`. Here are the ways to choose the row to begin with, to fill a group with the
rows that widen it least, and to deal out the rows that are left in the end. Losses are NCP (He et al. 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np

from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Attribute, Floats, Groups, Ints, Problem, Tree, exact
from sqlanon.udfs.space.gauges import Gauge, Table

HELD = 2**20
"""How many losses of each attribute are kept."""
PAUSE = 100
Reach = Callable[[int, int], Floats]
"""What the range from lo to hi loses in an attribute once a rank has joined it, for every rank."""
Part = tuple[Ints, Ints]
"""A group as it is gathered: which tuples, and how many rows of each."""


def reach(attribute: Attribute, weight: float) -> Reach:
    """The losses of an attribute's ranges, with those kept that were asked for last."""
    every = np.arange(attribute.leaves if isinstance(attribute, Tree) else len(attribute.at))

    @lru_cache(maxsize=max(1, HELD // len(every)))
    def losses(lo: int, hi: int) -> Floats:
        return exact(weight * attribute.loss(np.minimum(lo, every), np.maximum(hi, every)))

    return losses


def reaches(problem: Problem) -> list[Reach]:
    """The losses of every attribute's ranges."""
    return [reach(*pair) for pair in zip(problem.attributes, problem.weights.tolist(), strict=True)]


def pair_gauge(losses: Reach) -> Gauge:
    """Two ranks differ by what both of them together lose."""
    return lambda rank: losses(rank, rank)


def tuple_sums(parts: Iterable[Floats], ranks: Ints) -> Floats:
    """The sum over attributes of a part for each rank, for tuples whose ranks are given attribute by attribute."""
    total = np.zeros(ranks.shape[1])
    for part, column in zip(parts, ranks, strict=True):
        total += part.take(column)
    return total


class Rows(Table):
    """The rows that have no group yet, as tuples with counts."""

    def turns(self, k: int, progress: Progress) -> Iterator[None]:
        """A turn for each group, as long as there are k rows for it. Places hold for one turn."""
        total, turn = int(self.rows.sum()), 0
        while (left := int(self.rows.sum())) >= k:
            if turn % PAUSE == 0:
                progress(total - left, total)
                self.compact()
            yield
            turn += 1
        progress(total, total)

    def draw(self, rng: np.random.Generator) -> int:
        """The place of a row drawn at random."""
        upto = np.cumsum(self.rows)
        return int(np.searchsorted(upto, rng.integers(upto[-1]), side="right"))

    def farthest(self, distance: Floats) -> int:
        """The place with rows that is farthest, and the first of several."""
        return int(np.where(self.rows > 0, distance, -np.inf).argmax())

    def distance(self, ranks: Ints) -> Floats:
        """From a tuple to that of each place."""
        parts = (measure(rank) for measure, rank in zip(self.gauges, ranks.tolist(), strict=True))
        return tuple_sums(parts, self.ranks)


class Fillings(Rows):
    """The rows that have no group yet, for groups that take what widens them least."""

    def __init__(self, problem: Problem) -> None:
        self.reaches = reaches(problem)
        super().__init__(problem, [pair_gauge(losses) for losses in self.reaches])

    def fill(self, seed: int, k: int, is_whole: bool = False) -> Part:
        """Remove a seed and, again and again, the row that adds least to the loss, up to k rows, in this order.

        Rows within the group's closure add least of all: they are taken together, the lowest tuples first. If tuples
        are to stay whole, all rows of a tuple are taken with the first, and there may be more than k.
        """
        lo, hi = self.ranks[:, seed].tolist(), self.ranks[:, seed].tolist()
        price = self.distance(self.ranks[:, seed])
        price[self.rows == 0] = np.inf
        place, need, taken = seed, k, []
        while True:
            own = price[place]
            self._widen(lo, hi, place, price)
            first = int(self.rows[place]) if is_whole else 1
            self.rows[place] -= first
            need -= first
            inside = np.flatnonzero((price == own) & (self.rows > 0))
            held = self.rows[inside]
            before = np.cumsum(held) - held
            rows = np.where(before < need, held, 0) if is_whole else np.clip(need - before, 0, held)
            self.rows[inside] -= rows
            need -= int(rows.sum())
            taken += [([place], [first]), (inside[rows > 0], rows[rows > 0])]
            if need <= 0:
                break
            price[inside] = price[place] = np.inf
            place = int(price.argmin())
        places, counts = (np.concatenate(part) for part in zip(*taken, strict=True))
        return self.tuple[places], counts

    def _widen(self, lo: list[int], hi: list[int], place: int, price: Floats) -> None:
        """Let a group's range take in a place; the price of each place becomes the loss of both together."""
        for j, rank in enumerate(self.ranks[:, place].tolist()):
            if not lo[j] <= rank <= hi[j]:
                before = self.reaches[j](lo[j], hi[j])
                lo[j], hi[j] = min(lo[j], rank), max(hi[j], rank)
                price += (self.reaches[j](lo[j], hi[j]) - before).take(self.ranks[j])


def gathered(parts: list[Part]) -> Groups:
    """The parts as groups, in order."""
    tuples, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Groups.collect(tuples, np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts]), rows)


def deal_out(problem: Problem, groups: Groups, tuples: Ints, rows: Ints) -> Groups:
    """The groups with further rows: tuple by tuple, each joins the group whose total loss it raises least."""
    lo, hi, size = groups.closure(problem)
    loss = _loss(problem, lo, hi)
    home = np.zeros(len(tuples), dtype=np.int64)
    for number, (ranks, more) in enumerate(zip(problem.ranks[tuples], rows.tolist(), strict=True)):
        wider = _loss(problem, np.minimum(lo, ranks), np.maximum(hi, ranks))
        best = int((wider * (size + more) - loss * size).argmin())
        lo[best], hi[best] = np.minimum(lo[best], ranks), np.maximum(hi[best], ranks)
        loss[best] = wider[best]
        size[best] += more
        home[number] = best
    return extended(groups, tuples, home, rows)


def extended(groups: Groups, tuples: Ints, group: Ints, rows: Ints) -> Groups:
    """The groups with further entries."""
    return Groups.collect(np.append(groups.tuple, tuples), np.append(groups.group, group), np.append(groups.rows, rows))


def _loss(problem: Problem, lo: Ints, hi: Ints) -> Floats:
    """What a row loses in each of some groups."""
    columns = zip(problem.attributes, problem.weights.tolist(), lo.T, hi.T, strict=True)
    losses = [exact(weight * attribute.loss(low, high)) for attribute, weight, low, high in columns]
    return np.asarray(np.sum(losses, axis=0))
