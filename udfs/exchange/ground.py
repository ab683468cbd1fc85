"""The table as compiled code sees it: rows, what boxes lose, and which rows are in a box.

Of each attribute the rows below some ranks are stored as bits, at most `EDGES` such sets, so that the rows of a box are
a few words combined; where an attribute has more ranks than that, they are looked at once more.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sqlanon.udfs.exchange.memory import OWN, RANK, ROWS, SET, SHAPE, SHARE, VALUE, VALUES, WHOLE, WIDTH, WORDS, Memory
from sqlanon.udfs.problem import Floats, Ints, Numbers, Problem, Tree
from sqlanon.udfs.space.costs import Rate, own, rates
from sqlanon.udfs.space.machine import inner, unit

TABLE, LINE, NODES, COUNTS = range(4)
"""How an attribute's loss is found: in a table of ranges, by the places of its ranks, by the closest common node, or by
how many rows a range covers."""
MODE, RANKS, NULL, HEIGHT, ROUGH, LOSSES, PATH, LOWEST, HIGHEST, NODE_LOSS, SETS, BELOW, KNOWN = range(13)
"""What is known of an attribute: how its loss is found, how many ranks it has, that of NULL or -1, the height of a tree
or 0, whether it has more ranks than sets of rows, and where this begins: its table or places; the path to each leaf,
the first and the last leaf of each node and what it loses; its sets, and which of them has the rows below each rank.
That many things are known."""
LOOKED_UP = 1 << 16
EDGES = 256
WORD = 64


def lay_ground(memory: Memory, problem: Problem, tuples: Ints, combination: Ints, objective: str) -> float:
    """Put the rows of these tuples into memory: what a row loses at most, more or less."""
    measure, value = rates(problem, objective)
    ranks = problem.ranks[tuples]
    shape = np.zeros((len(measure), KNOWN), np.int64)
    for j, rate in enumerate(measure):
        shape[j, RANKS], shape[j, NULL] = rate.ranks, _null(rate)
        shape[j, MODE], losses = _losses(rate)
        shape[j, LOSSES] = memory.add(losses)
        if isinstance(rate.attribute, Tree):
            tree = rate.attribute
            shape[j, HEIGHT], shape[j, PATH] = tree.height, memory.add(tree.path)
            shape[j, LOWEST], shape[j, HIGHEST] = memory.add(tree.lo), memory.add(tree.hi)
            shape[j, NODE_LOSS] = memory.add(rate(tree.lo, tree.hi)[:, 0] + shift(rate))
        sets, below = _sets(ranks[:, j], rate.ranks)
        shape[j, SETS], shape[j, BELOW] = memory.add(sets), memory.add(below)
        shape[j, ROUGH] = len(sets) <= rate.ranks
    held = np.bincount(combination[tuples], minlength=int(combination.max()) + 1)
    more = sum(map(shift, measure))
    charged = own(problem, measure, value)[tuples] + more
    whole = more + float(sum(rate(np.array(0), np.array(rate.ranks - 1))[0] for rate in measure))
    memory.header[[ROWS, WIDTH, VALUES, WORDS]] = len(tuples), len(measure), len(held), -(-len(tuples) // WORD)
    memory.put(SHAPE, shape)
    memory.put(RANK, ranks)
    memory.put(VALUE, combination[tuples])
    memory.put(SHARE, held / held.sum())
    memory.put(OWN, charged)
    memory.put(WHOLE, np.array([rate.weight for rate in measure], dtype=np.float64))
    memory.room(int(memory.header[WORDS]), SET)
    return max(whole - float(charged.mean()), 1e-12)


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
        inner_edges = np.unique(np.quantile(ranks, np.linspace(0, 1, EDGES - 1), method="lower"))
        edges = np.unique(np.concatenate([[0], inner_edges, [size]]))
    words = -(-len(ranks) // WORD)
    sets = np.zeros((len(edges), words * 8), dtype=np.uint8)
    for number, edge in enumerate(edges.tolist()):
        packed = np.packbits(ranks < edge, bitorder="little")
        sets[number, : len(packed)] = packed
    return sets.view(np.int64), np.searchsorted(edges, np.arange(size + 1), side="right") - 1


@inner
def range_loss(m, x, j, lo, hi):
    """What a range of ranks loses."""
    at = m[SHAPE] + KNOWN * j
    mode, begin = m[at + MODE], m[at + LOSSES]
    if mode == TABLE:
        return x[begin + lo * m[at + RANKS] + hi]
    if mode == NODES:
        return x[m[at + NODE_LOSS] + node_of(m, j, lo, hi)]
    if mode == LINE:
        return min(x[begin + hi] - x[begin + lo], x[m[WHOLE] + j])
    if hi == m[at + NULL] and lo != hi:
        lo = 0
    return x[m[WHOLE] + j] * math.log2(max(x[begin + hi + 1] - x[begin + lo], 1.0))


@inner
def node_of(m, j, lo, hi):
    """The closest common node of a range in a tree."""
    at = m[SHAPE] + KNOWN * j
    begin, leaves, node = m[at + PATH], m[at + RANKS], 0
    for depth in range(1, m[at + HEIGHT]):
        one = m[begin + depth * leaves + lo]
        if one != m[begin + depth * leaves + hi]:
            break
        node = one
    return node


@inner
def depth_of(m, j, lo, hi):
    """How many steps below the top the closest common node of a range is; of a leaf, that of the leaf."""
    at = m[SHAPE] + KNOWN * j
    begin, leaves, found = m[at + PATH], m[at + RANKS], 0
    node = m[begin + lo]
    for depth in range(1, m[at + HEIGHT]):
        one = m[begin + depth * leaves + lo]
        if one != m[begin + depth * leaves + hi]:
            break
        if one != node:
            found, node = depth, one
    return found


@inner
def at_depth(m, j, rank, depth):
    """The range of the node this many steps below the top on the way to a rank."""
    at = m[SHAPE] + KNOWN * j
    node = m[m[at + PATH] + depth * m[at + RANKS] + rank]
    return m[m[at + LOWEST] + node], m[m[at + HIGHEST] + node]


@inner
def is_tree(m, j):
    """Has the attribute a hierarchy?"""
    return m[m[SHAPE] + KNOWN * j + HEIGHT] > 0


@inner
def height(m, j):
    """The levels of an attribute's tree."""
    return m[m[SHAPE] + KNOWN * j + HEIGHT]


@inner
def box_loss(m, x, box):
    """What a box loses."""
    total, width = 0.0, m[WIDTH]
    for j in range(width):
        total += range_loss(m, x, j, m[box + j], m[box + width + j])
    return total


@inner
def with_row(m, x, box, row, limit):
    """What a box loses once it covers a row, or something above the limit."""
    total, width = 0.0, m[WIDTH]
    for j in range(width):
        rank = m[m[RANK] + row * width + j]
        total += range_loss(m, x, j, min(m[box + j], rank), max(m[box + width + j], rank))
        if total > limit:
            return total
    return total


@inner
def with_box(m, x, box, other, limit):
    """What a box loses once it covers another, or something above the limit."""
    total, width = 0.0, m[WIDTH]
    for j in range(width):
        high = max(m[box + width + j], m[other + width + j])
        total += range_loss(m, x, j, min(m[box + j], m[other + j]), high)
        if total > limit:
            return total
    return total


@inner
def start_box(m, box, row):
    """Let a box be that of a row."""
    width = m[WIDTH]
    for j in range(width):
        m[box + j] = m[box + width + j] = m[m[RANK] + row * width + j]


@inner
def widen(m, box, row):
    """Let a box cover a row."""
    width = m[WIDTH]
    for j in range(width):
        rank = m[m[RANK] + row * width + j]
        if rank < m[box + j]:
            m[box + j] = rank
        if rank > m[box + width + j]:
            m[box + width + j] = rank


@inner
def copy_box(m, box, to):
    """Copy a box."""
    for i in range(2 * m[WIDTH]):
        m[to + i] = m[box + i]


@inner
def is_inside(m, box, row):
    """Is the row in the box?"""
    width = m[WIDTH]
    for j in range(width):
        rank = m[m[RANK] + row * width + j]
        if rank < m[box + j] or rank > m[box + width + j]:
            return False
    return True


@inner
def ones(x):
    """How many bits are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@unit("int64", "int64", "int64", "int64", "int64")
def rows_in(m, x, box, start, found, most):
    """Write the rows of the box to `found`, from some word of bits on and around, at most so many: how many."""
    width, words, count, is_rough = m[WIDTH], m[WORDS], 0, False
    into = m[SET]
    for j in range(width):
        at = m[SHAPE] + KNOWN * j
        below = m[at + BELOW]
        last, first = m[below + m[box + width + j] + 1], m[below + m[box + j]]
        if m[at + ROUGH]:
            is_rough = True
            last += last == m[below + m[box + width + j]]
        high, low = m[at + SETS] + last * words, m[at + SETS] + first * words
        for word in range(words):
            both = m[high + word] & ~m[low + word]
            m[into + word] = both if j == 0 else m[into + word] & both
    for turn in range(words):
        word = start + turn
        if word >= words:
            word -= words
        left = m[into + word]
        while left:
            lowest = left & -left
            left ^= lowest
            row = word * WORD + ones(np.uint64(lowest) - np.uint64(1))
            if is_rough and not is_inside(m, box, row):
                continue
            if count == most:
                return count
            m[found + count] = row
            count += 1
    return count
