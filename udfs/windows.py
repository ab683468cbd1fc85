"""Windows: the rows of a pool of groups, clustered anew as peel would with a few generalizations of the pool's own.

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
- The best window has the least loss less a share of what its rows lose now: 0, 0.2 or 0.4, drawn for each step. Rows
  that are badly off then come first. On Adult all three together do better than any one.
- Where rows leave, the next windows can be worth more than those that were looked at: such a one is found late.
- Classes are told apart by a hash, and losses are rough: what is found is charged exactly by who asks.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sqlanon.udfs.boxes import Axis, Boxes, Singles, Space
from sqlanon.udfs.costs import Rate
from sqlanon.udfs.problem import Floats, Ints, Numbers
from sqlanon.udfs.scan import scan

GENERALIZATIONS = 120
MIXED, MOVED = 0.15, 0.2
"""How many attributes are as in another group, and how many are a level up or down, or as they were."""
SHARES = (0.0, 0.2, 0.4)

Line = tuple[Singles, Singles, np.float32]
"""Where each rank is on the line, or what each range of ranks loses, and what the whole line does."""


class Lattice:
    """The levels of all attributes, and for every rank the hash and loss of its class there."""

    def __init__(self, ranks: Ints, rates: list[Rate], levels: list[list[Ints]], space: Space, points: Boxes) -> None:
        self.ranks, self.space, self.points = ranks, space, points
        self.small = np.ascontiguousarray(ranks.T, dtype=np.uint32)
        self.levels = [np.array(codes) for codes in levels]
        self.tops = np.array([len(codes) - 1 for codes in levels])
        numbers = [j for j, rate in enumerate(rates) if isinstance(rate.attribute, Numbers)]
        self.lines = {j: _line(rates[j]) for j in numbers or range(len(rates))}
        # One long table of each, in which an attribute begins at a place and its levels are so far apart.
        odd = np.random.default_rng(0).integers(1 << 62, size=len(rates), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self.hashes = np.concatenate(
            [(codes + 1).astype(np.uint64).ravel() * factor for codes, factor in zip(self.levels, odd, strict=True)]
        )
        losses = [_losses(rate, codes) for rate, codes in zip(rates, levels, strict=True)]
        self.losses = np.concatenate([loss.ravel() for loss in losses]).astype(np.float32)
        self.apart = np.array([rate.ranks for rate in rates])
        self.begin = np.cumsum(self.apart * (self.tops + 1)) - self.apart * (self.tops + 1)

    def recut(
        self, pool: Ints, group: Ints, tuples: Ints, price: Floats, k: int, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Ints, Ints]:
        """Cluster every pool anew: pool, part, tuple and rows of each entry.

        Given are single rows, those of a group side by side, with what each loses now; pools have k rows or more.
        """
        line, share = int(rng.choice(list(self.lines))), float(rng.choice(SHARES))
        order = np.lexsort((rng.random(len(pool)), self.ranks[tuples, line], pool))
        nodes = self._nodes(pool, group, tuples, rng)
        size = np.bincount(pool)
        found = self._scan(np.cumsum(size) - size, size, tuples[order], nodes, line, price[order] * share / k, k)
        part = np.full(len(pool), -1)
        part[order] = np.where(found < 0, -1, found * len(size) + pool[order])
        rest = part < 0
        if rest.any():
            part[rest] = self._homes(pool, tuples, part, k)
        key, rows = np.unique(part * len(self.ranks) + tuples, return_counts=True)
        part, tuples = np.divmod(key, len(self.ranks))
        return part % len(size), part, tuples, rows

    def _scan(self, first: Ints, size: Ints, tuples: Ints, nodes: Ints, line: int, worth: Floats, k: int) -> Ints:
        """For each row, which window of its pool it is in, in the order they were taken; -1 for none.

        The pools' rows are side by side from `first` on, in the order of the line."""
        found = np.full(len(tuples), -1)
        ranks, worth = np.ascontiguousarray(self.small[:, tuples]), worth.astype(np.float32)
        start = self.begin + nodes * self.apart
        cores = min(os.cpu_count() or 1, len(size))

        def look(core: int) -> None:
            mine = np.arange(core, len(size), cores)
            tables = (start[mine], self.hashes, self.losses, self.lines[line])
            scan(k, line, first[mine], size[mine], ranks, worth, *tables, found)

        # Nothing is drawn in there, and each pool has rows of its own: however many threads, the answer is the same.
        with ThreadPoolExecutor(cores) as threads:
            list(threads.map(look, range(cores)))
        return found

    def _nodes(self, pool: Ints, group: Ints, tuples: Ints, rng: np.random.Generator) -> Ints:
        """The generalizations of each pool: pools × generalizations × attributes, the top last."""
        first = np.flatnonzero(np.r_[True, np.diff(group) != 0])
        ranks = self.ranks[tuples]
        lo, hi = np.minimum.reduceat(ranks, first), np.maximum.reduceat(ranks, first)
        own = np.stack(
            [(codes[:, lo[:, j]] == codes[:, hi[:, j]]).argmax(axis=0) for j, codes in enumerate(self.levels)], axis=1
        )
        pools = int(pool.max()) + 1
        width = len(first) // pools
        own = own.reshape(pools, width, -1)
        every, shape = np.arange(pools)[:, None], (pools, max(1, GENERALIZATIONS - width))
        drawn, other = (own[every, rng.integers(width, size=shape)] for _ in range(2))
        drawn = np.where(rng.random(drawn.shape) < MIXED, other, drawn)
        drawn = drawn + rng.integers(-1, 2, size=drawn.shape) * (rng.random(drawn.shape) < MOVED)
        top = np.broadcast_to(self.tops, (pools, 1, len(self.tops)))
        return np.concatenate([own, np.clip(drawn, 0, self.tops), top], axis=1)

    def _homes(self, pool: Ints, tuples: Ints, part: Ints, k: int) -> Ints:
        """The part of its pool, of k rows until now, whose loss each row without one raises least."""
        order = np.argsort(part, kind="stable")[np.count_nonzero(part < 0) :]
        first = np.flatnonzero(np.r_[True, np.diff(part[order]) != 0])
        box = self.points.take(tuples[order]).around(first)
        loss = self.space.rough(box)
        rest = np.flatnonzero(part < 0)
        # The parts by pool, and each row beside every part of its own pool.
        parts, owner = part[order[first]], pool[order[first]]
        by_pool = np.argsort(owner, kind="stable")
        count = np.bincount(owner, minlength=int(pool.max()) + 1)
        begin, many = (np.cumsum(count) - count)[pool[rest]], count[pool[rest]]
        place = np.arange(int(many.max()))
        mine = by_pool[np.where(place < many[:, None], begin[:, None] + place, begin[:, None])]
        joint = self.space.rough(box.take(mine) | self.points.take(tuples[rest]).for_lines())
        best = ((joint - loss[mine]) * k + joint).argmin(axis=1)
        return np.asarray(parts[mine[np.arange(len(rest)), best]])


def _line(rate: Rate) -> Line:
    """How the windows of an attribute are measured, roughly where neither a line nor a table can be exact."""
    axis, none = Axis(rate), np.zeros(0, dtype=np.float32)
    if rate.is_linear:
        return axis.at, none, np.float32(rate.weight)
    if axis.exact is not None:
        return none, axis.single[: axis.size**2], np.float32(rate.weight)
    return np.linspace(0, rate.weight, axis.size, dtype=np.float32), none, np.float32(rate.weight)


def _losses(rate: Rate, codes: list[Ints]) -> Floats:
    """What a rank's class loses at each level: levels × ranks."""
    every, losses = np.arange(rate.ranks), []
    for code in codes:
        order = np.argsort(code, kind="stable")
        first = np.flatnonzero(np.r_[True, np.diff(code[order]) != 0])
        lo, hi = np.minimum.reduceat(every[order], first), np.maximum.reduceat(every[order], first)
        losses.append(rate(lo, hi)[..., 0][code])
    return np.array(losses)
