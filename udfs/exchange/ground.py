"""The table as compiled code sees it: rows, what boxes lose, and which rows are in a box.

Of each attribute the rows below some ranks are stored as bits, at most `EDGES` such sets, so that the rows of a box are
a few words combined; where an attribute has more ranks than that, they are looked at once more.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.exchange.machine import compiled
from sqlanon.udfs.problem import Floats, Ints, Numbers, Problem, Tree
from sqlanon.udfs.space.costs import Rate, own, rates

TABLE, LINE, NODES, COUNTS = range(4)
"""How an attribute's loss is found: in a table of ranges, by the places of its ranks, by the closest common node, or by
how many rows a range covers."""
MODE, RANKS, NULL, HEIGHT, ROUGH, LOSSES, PATH, LOWEST, HIGHEST, NODE_LOSS, SETS, BELOW = range(12)
"""What is known of an attribute: how its loss is found, how many ranks it has, that of NULL or -1, the height of a tree
or 0, whether it has more ranks than sets of rows, and where in the long arrays it begins: its table or places; the path
to each leaf, the first and the last leaf of each node and what it loses; its sets, and which of them has the rows below
each rank."""
LOOKED_UP = 1 << 16
EDGES = 256
WORD = 64


class Ground(NamedTuple):
    """The rows and their attributes. What belongs to one attribute begins at its place in a long array."""

    ranks: Ints
    value: Ints
    """The combination of sensitive values of each row."""
    share: Floats
    """How frequent each combination is."""
    own: Floats
    """What a row loses in the source, which is not 0 for MI."""
    scale: float
    """What a row loses where everything is covered, on average."""
    whole: Floats
    """What each attribute loses at most."""
    shape: Ints
    reals: Floats
    ints: Ints
    bits: Any


class Long:
    """Arrays one after the other."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.length = 0

    def add(self, array: Any) -> int:
        """Put one more at the end: where it begins."""
        begin = self.length
        self.arrays.append(array)
        self.length += len(array)
        return begin


def ground(problem: Problem, tuples: Ints, combination: Ints, objective: str) -> Ground:
    """The rows of these tuples."""
    measure, value = rates(problem, objective)
    ranks = problem.ranks[tuples]
    reals, ints, bits = Long(), Long(), Long()
    shape = np.zeros((BELOW + 1, len(measure)), np.int64)
    for j, rate in enumerate(measure):
        shape[RANKS, j], shape[NULL, j] = rate.ranks, _null(rate)
        shape[MODE, j], losses = _losses(rate)
        shape[LOSSES, j] = reals.add(losses)
        if isinstance(rate.attribute, Tree):
            tree = rate.attribute
            shape[HEIGHT, j], shape[PATH, j] = tree.height, ints.add(tree.path.ravel())
            shape[LOWEST, j], shape[HIGHEST, j] = ints.add(tree.lo), ints.add(tree.hi)
            shape[NODE_LOSS, j] = reals.add(rate(tree.lo, tree.hi)[:, 0] + shift(rate))
        sets, below = _sets(ranks[:, j], rate.ranks)
        shape[SETS, j], shape[BELOW, j] = bits.add(sets), ints.add(below)
        shape[ROUGH, j] = len(sets) <= rate.ranks
    held = np.bincount(combination[tuples], minlength=int(combination.max()) + 1)
    more = sum(map(shift, measure))
    charged = own(problem, measure, value)[tuples] + more
    whole = more + float(sum(rate(np.array(0), np.array(rate.ranks - 1))[0] for rate in measure))
    return Ground(
        np.ascontiguousarray(ranks),
        combination[tuples],
        held / held.sum(),
        charged,
        max(whole - float(charged.mean()), 1e-12),
        np.array([rate.weight for rate in measure]),
        shape,
        np.concatenate(reals.arrays),
        np.concatenate(ints.arrays),
        np.concatenate(bits.arrays),
    )


def _null(rate: Rate) -> int:
    """The rank of NULL among numbers, or -1."""
    at = rate.attribute.at if isinstance(rate.attribute, Numbers) else np.zeros(0)
    return len(at) - 1 if len(at) and np.isnan(at[-1]) else -1


def _losses(rate: Rate) -> tuple[int, Floats]:
    """How the loss of ranges of ranks is found, and what it is found in."""
    attribute = rate.attribute
    if rate.ranks**2 <= LOOKED_UP:
        every = np.arange(rate.ranks)
        return TABLE, np.asarray(rate(every[:, None], every)[..., 0].ravel() + shift(rate))
    if isinstance(attribute, Tree):
        return NODES, np.zeros(0)
    if rate.is_linear:
        unit = attribute.unit
        return LINE, np.asarray(rate.weight * np.where(np.isnan(unit), 2.0, unit))
    return COUNTS, rate.seen.sum(axis=1).astype(np.float64)


def shift(rate: Rate) -> float:
    """What is added to each loss of an attribute, so that none is below 0: those of MI are logarithms of shares."""
    return rate.weight * math.log2(rate.seen[-1].sum()) if rate.cost == "mi" else 0.0


def _sets(ranks: Ints, size: int) -> tuple[Any, Ints]:
    """Sets of rows as bits, and for each rank which of them has the rows below it, or fewer."""
    if size < EDGES:
        edges = np.arange(size + 1)
    else:
        inner = np.unique(np.quantile(ranks, np.linspace(0, 1, EDGES - 1), method="lower"))
        edges = np.unique(np.concatenate([[0], inner, [size]]))
    words = -(-len(ranks) // WORD)
    sets = np.zeros((len(edges), words * 8), dtype=np.uint8)
    for number, edge in enumerate(edges.tolist()):
        packed = np.packbits(ranks < edge, bitorder="little")
        sets[number, : len(packed)] = packed
    return sets.view(np.uint64), np.searchsorted(edges, np.arange(size + 1), side="right") - 1


@compiled
def range_loss(ground, j, lo, hi):
    """What a range of ranks loses."""
    mode = ground.shape[MODE, j]
    if mode == TABLE:
        return ground.reals[ground.shape[LOSSES, j] + lo * ground.shape[RANKS, j] + hi]
    if mode == NODES:
        return ground.reals[ground.shape[NODE_LOSS, j] + node_of(ground, j, lo, hi)]
    if mode == LINE:
        begin = ground.shape[LOSSES, j]
        return min(ground.reals[begin + hi] - ground.reals[begin + lo], ground.whole[j])
    begin = ground.shape[LOSSES, j]
    if hi == ground.shape[NULL, j] and lo != hi:
        lo = 0
    rows = max(ground.reals[begin + hi + 1] - ground.reals[begin + lo], 1.0)
    return ground.whole[j] * math.log2(rows)


@compiled
def node_of(ground, j, lo, hi):
    """The closest common node of a range in a tree."""
    begin, leaves, node = ground.shape[PATH, j], ground.shape[RANKS, j], 0
    for depth in range(1, ground.shape[HEIGHT, j]):
        one = ground.ints[begin + depth * leaves + lo]
        if one != ground.ints[begin + depth * leaves + hi]:
            break
        node = one
    return node


@compiled
def depth_of(ground, j, lo, hi):
    """How many steps below the top the closest common node of a range is; of a leaf, that of the leaf."""
    begin, leaves, found = ground.shape[PATH, j], ground.shape[RANKS, j], 0
    node = ground.ints[begin + lo]
    for depth in range(1, ground.shape[HEIGHT, j]):
        one = ground.ints[begin + depth * leaves + lo]
        if one != ground.ints[begin + depth * leaves + hi]:
            break
        if one != node:
            found, node = depth, one
    return found


@compiled
def at_depth(ground, j, rank, depth):
    """The range of the node this many steps below the top on the way to a rank."""
    node = ground.ints[ground.shape[PATH, j] + depth * ground.shape[RANKS, j] + rank]
    return ground.ints[ground.shape[LOWEST, j] + node], ground.ints[ground.shape[HIGHEST, j] + node]


@compiled
def box_loss(ground, lo, hi):
    """What a box loses."""
    total = 0.0
    for j in range(len(lo)):
        total += range_loss(ground, j, lo[j], hi[j])
    return total


@compiled
def with_row(ground, lo, hi, row, limit):
    """What a box loses once it covers a row, or something above the limit."""
    total = 0.0
    for j in range(len(lo)):
        rank = ground.ranks[row, j]
        total += range_loss(ground, j, min(lo[j], rank), max(hi[j], rank))
        if total > limit:
            return total
    return total


@compiled
def rows_in(ground, lo, hi, start, words, found, most):
    """Fill `found` with rows of the box, from some word of bits on and around, at most so many: how many."""
    width, count = ground.bits.shape[1], 0
    rough = False
    for j in range(len(lo)):
        rough |= ground.shape[ROUGH, j] != 0
    for j in range(len(lo)):
        below = ground.shape[BELOW, j]
        top = ground.shape[SETS, j] + ground.ints[below + hi[j] + 1]
        if ground.shape[ROUGH, j] and ground.ints[below + hi[j] + 1] == ground.ints[below + hi[j]]:
            top += 1
        high, low = ground.bits[top], ground.bits[ground.shape[SETS, j] + ground.ints[below + lo[j]]]
        if j == 0:
            for word in range(width):
                words[word] = high[word] & ~low[word]
        else:
            for word in range(width):
                words[word] &= high[word] & ~low[word]
    for turn in range(width):
        word = (start + turn) % width
        left = words[word]
        while left:
            lowest = left & (~left + np.uint64(1))
            left ^= lowest
            row = word * WORD + ones(lowest - np.uint64(1))
            if rough and not is_inside(ground, lo, hi, row):
                continue
            if count == most:
                return count
            found[count] = row
            count += 1
    return count


@compiled
def is_inside(ground, lo, hi, row):
    """Is the row in the box?"""
    outside = 0
    for j in range(len(lo)):
        outside += ground.ranks[row, j] < lo[j] or ground.ranks[row, j] > hi[j]
    return outside == 0


@compiled
def ones(x):
    """How many bits are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
