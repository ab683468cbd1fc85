"""Windows: the rows of a pool of groups, clustered again as peel would with a few generalizations of the pool's own.

Ours. One attribute, the line, stays exact; all others are generalized. A pool's generalizations are those of its
groups' boxes, and these again with some attributes a level up or down or as in another group. In each, every k rows of
a class in succession on the line are a window, which costs the class's loss and that of its stretch of the line. The
best window of all becomes a group and leaves, until there is none; each row that is left joins the group whose loss it
raises least. So a group is found at once whose rows come from many others, where cuts would have to climb over worse
clusterings to get there.

Time O(M R d) and memory O(M R) for a pool of R rows and M generalizations of d attributes: a generalization is looked
at again only when its best window, as it was, would be the next.

Decided:
- The line is a number, drawn for each step; any attribute where there is no number.
- The best window has the least loss less a share of what its rows lose now: 0, 0.2 or 0.4, drawn for each try. Rows
  that are badly off then come first. On Adult all three together do better than any one.
- A pool is tried a few times, and the first clustering that may be kept is offered. To look for the best windows of all
  boxes instead of those of a few generalizations gains more in one try, and less in many: they end in the same groups.
- Where rows leave, the next windows can be worth more than those that were looked at: such a one is found late.
- Classes are distinguished by a hash, and losses are rough where a line is neither of numbers nor short enough for a
  table: what is found is charged exactly by who asks.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from sqlanon.udfs.after.scan import Drawing, Levels, Lines, propose, room_for
from sqlanon.udfs.problem import Floats, Ints, Numbers
from sqlanon.udfs.space.boxes import Axis
from sqlanon.udfs.space.costs import Rate
from sqlanon.udfs.space.levels import Codes, class_losses

DRAWING = Drawing(tries=3, generalizations=60, mixed=0.15, moved=0.07, shares=np.array([0.0, 0.2, 0.4]), choices=3)
"""Of a generalization this many attributes are as in another group, and this many are a level up, and as many down."""


class Lattice:
    """The levels of all attributes, and which of them are lines."""

    def __init__(self, ranks: Ints, rates: list[Rate], levels: list[list[Codes]]) -> None:
        self.ranks = ranks
        self.small = np.ascontiguousarray(ranks.T, dtype=np.uint32)
        numbers = [j for j, rate in enumerate(rates) if isinstance(rate.attribute, Numbers)]
        self.choices = numbers or list(range(len(rates)))
        odd = np.random.default_rng(0).integers(1 << 62, size=len(rates), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        codes = [np.array(code, dtype=np.int64) for code in levels]
        apart, depth = np.array([rate.ranks for rate in rates]), np.array([len(code) for code in codes])
        self.levels = Levels(
            np.concatenate([(code + 1).astype(np.uint64).ravel() * by for code, by in zip(codes, odd, strict=True)]),
            np.concatenate([code.ravel() for code in codes]),
            np.concatenate([class_losses(rate, code).ravel() for rate, code in zip(rates, levels, strict=True)]),
            np.cumsum(apart * depth) - apart * depth,
            apart,
            depth,
        )
        self.lines = _lines(rates, self.choices)

    def recut(
        self, pool: Ints, group: Ints, tuples: Ints, price: Floats, limit: Floats, k: int, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Ints, Ints]:
        """Some pools clustered again, so that they lose no more than their limit more: pool, part, tuple and rows.

        Given are single rows, those of a group side by side and all groups of a pool, with what each row loses now.
        """
        line = int(rng.choice(self.choices))
        # By pool and rank, in random order where both are the same; no two numbers are, and one sort is enough.
        key = pool * self.levels.apart[line] + self.ranks[tuples, line]
        order = np.argsort(key * len(pool) + rng.permutation(len(pool)))
        size = np.bincount(pool)
        found = np.full(len(pool), -1)
        first = np.cumsum(size) - size
        ranks, price = np.ascontiguousarray(self.small[:, tuples[order]]), price[order]
        inner = (group - group[first][pool])[order]
        seeds = rng.integers(1 << 63, size=len(size), dtype=np.uint64)
        most = int(np.max(size)) // k
        cores = min(os.cpu_count() or 1, len(size))

        def look(core: int) -> None:
            mine = np.arange(core, len(size), cores)
            pools = (first[mine], size[mine], len(mine), ranks, inner, price, limit[mine], seeds[mine])
            room = room_for(int(size[mine].max()), most, self.levels, DRAWING)
            propose(k, line, *pools, self.levels, self.lines, DRAWING, room, found)

        # A pool has rows and a seed of its own: however many threads, the answer is the same.
        others = [_threads().submit(look, core) for core in range(1, cores)]
        look(0)
        for other in others:
            other.result()
        some = order[found >= 0]
        part = found[found >= 0] * len(size) + pool[some]
        key, rows = np.unique(part * len(self.ranks) + tuples[some], return_counts=True)
        part, tuples = np.divmod(key, len(self.ranks))
        return part % len(size), part, tuples, rows


@cache
def _threads() -> ThreadPoolExecutor:
    """Kept for all steps: to start threads takes as long as a step."""
    return ThreadPoolExecutor(os.cpu_count())


def _lines(rates: list[Rate], lines: list[int]) -> Lines:
    """What ranges of ranks lose on these attributes; rough for one that is none of numbers and too long for a table."""
    places, tables = [np.zeros(0)], [np.zeros(0)]
    begin, size, whole = np.zeros(len(rates), np.int64), np.zeros(len(rates), np.int64), np.full(len(rates), -1.0)
    for j in lines:
        rate, axis = rates[j], Axis(rates[j])
        whole[j] = rate.weight
        if not rate.is_linear and axis.table is not None:
            begin[j], size[j] = sum(map(len, tables)), axis.size
            tables.append(axis.table)
        else:
            begin[j] = sum(map(len, places))
            places.append(axis.at.astype(np.float64) if rate.is_linear else np.linspace(0, rate.weight, axis.size))
    return Lines(np.concatenate(places), np.concatenate(tables), begin, size, whole)
