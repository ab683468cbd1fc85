"""Windows: the rows of a pool of groups, clustered anew as peel would with a few generalizations of the pool's own.

Ours. One attribute, the line, stays exact; all others are generalized. A pool's generalizations are those of its
groups' boxes, and these again with some attributes a level up or down or as in another group. Each puts the pool's rows
in the order of their classes and of the line within: every k rows in succession that share a class are a window, which
costs the class's loss and that of its stretch of the line. The best window of all becomes a group and leaves, until
fewer than k rows are left; each of these joins the group whose loss it raises least. So a group is found at once whose
rows come from many others, where cuts would have to climb over worse clusterings to get there.

Time O(w M R + M R (d + log R)) and memory O(M R) for a pool of w groups and R rows, and M generalizations of d
attributes.

Decided:
- The line is a number, drawn for each step; any attribute where there is no number.
- The best window has the least loss less a share of what its rows lose now: 0, 0.2 or 0.4, drawn for each step. Rows
  that are badly off then come first. On Adult all three together do better than any one.
- Classes are told apart by a hash, and their losses have 16 bits: what is found is charged exactly by who asks.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sqlanon.udfs.boxes import Axis, Boxes, Space
from sqlanon.udfs.costs import Rate
from sqlanon.udfs.problem import Bools, Floats, Ints, Numbers

CELLS = 1 << 15
"""How many places of rows in all generalizations of all pools are looked at together."""
GENERALIZATIONS = 40
MIXED, MOVED = 0.15, 0.2
"""How many attributes are as in another group, and how many are a level up or down, or as they were."""
SHARES = (0.0, 0.2, 0.4)
LOSS, PLACE = 16, 16
"""Bits of a class's loss and of a row's place in its pool, below the hash of the class."""
MOST = 1 << PLACE
"""Pools have no more rows than this."""


class Lattice:
    """The levels of all attributes, and for every rank the hash and loss of its class there."""

    def __init__(self, ranks: Ints, rates: list[Rate], levels: list[list[Ints]], space: Space, points: Boxes) -> None:
        self.ranks, self.space, self.points = ranks, space, points
        self.levels = [np.array(codes) for codes in levels]
        self.tops = np.array([len(codes) - 1 for codes in levels])
        self.axes = [Axis(rate) for rate in rates]
        numbers = [j for j, rate in enumerate(rates) if isinstance(rate.attribute, Numbers)]
        self.lines = numbers or list(range(len(rates)))
        losses = [_losses(rate, codes) for rate, codes in zip(rates, levels, strict=True)]
        least = [loss.min() for loss in losses]
        span = sum(float(loss.max()) - low for loss, low in zip(losses, least, strict=True))
        self.unit = max(span, 1e-300) / ((1 << LOSS) - len(rates) - 1)
        odd = np.random.default_rng(0).integers(1 << 62, size=len(rates)) * 2 + 1
        self.packed = [
            (codes * factor << (LOSS + PLACE)) + (np.rint((loss - low) / self.unit).astype(np.int64) << PLACE)
            for codes, factor, loss, low in zip(self.levels, odd, losses, least, strict=True)
        ]

    def recut(
        self, pool: Ints, group: Ints, tuples: Ints, price: Floats, k: int, rng: np.random.Generator
    ) -> tuple[Ints, Ints, Ints, Ints]:
        """Cluster every pool anew: pool, part, tuple and rows of each entry.

        Given are single rows, those of a group side by side, with what each loses now; pools have k rows or more.
        """
        line, share = int(rng.choice(self.lines)), float(rng.choice(SHARES))
        # In the order of the line, a row's place in its pool tells where it is on the line.
        size = np.bincount(pool)
        mixed = np.lexsort((rng.random(len(pool)), self.ranks[tuples, line], pool))
        first = np.cumsum(size) - size
        nodes = self._nodes(pool, group, tuples, line, rng)
        part = np.full(len(pool), -1)
        by_size = np.argsort(size, kind="stable")
        sheets, done = [], 0
        while done < len(by_size):
            sheets.append(by_size[done : done + max(1, CELLS // int(size[by_size[done]] * nodes.shape[1]))])
            done += len(sheets[-1])

        def look(some: Ints) -> None:
            place = np.arange(int(size[some].max()))
            is_row = place < size[some][:, None]
            row = mixed[np.where(is_row, first[some][:, None] + place, first[some][:, None])]
            sheet = Sheet(self, nodes[some], tuples[row], is_row, line)
            found = sheet.windows(k, price[row] * share)
            part[row[is_row]] = np.where(found < 0, -1, found * len(size) + some[:, None])[is_row]

        # Nothing is drawn in there, and each sheet has rows of its own: however many threads, the answer is the same.
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(look, sheets))
        rest = part < 0
        if rest.any():
            part[rest] = self._homes(pool, tuples, part, k)
        key, rows = np.unique(part * len(self.ranks) + tuples, return_counts=True)
        part, tuples = np.divmod(key, len(self.ranks))
        return part % len(size), part, tuples, rows

    def _nodes(self, pool: Ints, group: Ints, tuples: Ints, line: int, rng: np.random.Generator) -> Ints:
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


def _losses(rate: Rate, codes: list[Ints]) -> Floats:
    """What a rank's class loses at each level: levels × ranks."""
    every, losses = np.arange(rate.ranks), []
    for code in codes:
        order = np.argsort(code, kind="stable")
        first = np.flatnonzero(np.r_[True, np.diff(code[order]) != 0])
        lo, hi = np.minimum.reduceat(every[order], first), np.maximum.reduceat(every[order], first)
        losses.append(rate(lo, hi)[..., 0][code])
    return np.array(losses)


class Sheet:
    """The rows of some pools in the order of the classes of each generalization: pools × generalizations × places."""

    def __init__(self, lattice: Lattice, nodes: Ints, tuples: Ints, is_row: Bools, line: int) -> None:
        self.axis, self.at, self.is_row = lattice.axes[line], lattice.ranks[tuples, line].astype(np.int32), is_row
        pools, width = tuples.shape
        every, place = np.arange(pools)[:, None], np.arange(width)
        # One number a row is sorted: its class's hash and loss, and its place in the pool.
        key = np.zeros((pools, nodes.shape[1], width), dtype=np.int64)
        for j, packed in enumerate(lattice.packed):
            if j != line:
                key += packed[:, lattice.ranks[tuples, j]][nodes[:, :, j], every]
        key += place
        # A place without a row is a class of its own and has no window.
        np.copyto(key, (1 << 62) + (place << (LOSS + PLACE)) + place, where=~is_row[:, None])
        key.sort(axis=-1)
        self.row = (key & (MOST - 1)) + (every * width)[..., None]
        key >>= PLACE
        self.loss = (key & ((1 << LOSS) - 1)).astype(np.float32) * np.float32(lattice.unit)
        # Only what is next to each other is compared: 32 bits of hash and loss are enough.
        self.kind = (key ^ (key >> LOSS)).astype(np.int32)

    def windows(self, k: int, worth: Floats) -> Ints:
        """For each row, which window of its pool it is in, in the order they were taken; -1 for none."""
        found = np.where(self.is_row, -1, -2)
        row, loss, kind = self.row, self.loss, self.kind
        each = (worth / k).astype(np.float32) if worth.any() else None
        number = 0
        while row.size and row.shape[-1] >= k:
            at = self.at.take(row)
            cost = self.axis.rough(at[..., : -k + 1], at[..., k - 1 :])
            cost += loss[..., k - 1 :]
            if each is not None:
                upto = np.cumsum(each.take(row), axis=-1)
                cost -= upto[..., k - 1 :]
                cost[..., 1:] += upto[..., :-k]
            cost[kind[..., k - 1 :] != kind[..., : -k + 1]] = np.inf
            flat = cost.reshape(len(row), -1)
            best, every = flat.argmin(axis=1), np.arange(len(row))
            line, start = np.divmod(best, cost.shape[-1])
            is_open = np.isfinite(flat[every, best])
            if not is_open.all():
                row, loss, kind = row[is_open], loss[is_open], kind[is_open]
                line, start, every = line[is_open], start[is_open], every[: len(row)]
            found.reshape(-1)[row[every[:, None], line[:, None], start[:, None] + np.arange(k)]] = number
            number += 1
            stays = np.flatnonzero(found.reshape(-1).take(row) < 0)
            shape = (*row.shape[:2], row.shape[2] - k)
            row, loss, kind = (part.reshape(-1).take(stays).reshape(shape) for part in (row, loss, kind))
        return found
