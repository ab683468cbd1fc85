"""A walk over all boxes of a table that prices may break, compiled.

Every tuple has a price. A box of k rows or more is broken if the q highest prices of its rows add up to more than q
times what the box loses. The walk goes through the attributes one by one, depth first: a partial box has a node or a
range for the attributes so far and everything for the others. All completions of a partial box have fewer rows and lose
more, so that one that is not broken itself is not gone into. Only boxes that are the closures of their rows are looked
at: they are the intersections of what the tree or line has between two neighboring ranks that occur. The ranges of the
last attribute, if it is an exact line, are looked at from each value on until they are too wide.

The walk has its own stack, so that it can stop after a quota of work and go on later. Memory O(E d) for E tuples with d
attributes. Work is counted in tuples looked at.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlanon.udfs.evaluate.dearest import TINY, dearest, is_broken, lower, offer, put, rows_of
from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.grid import Grid, Small
from sqlanon.udfs.space.machine import compiled, inner

DIGIT = 256
"""Ranks are sorted by digits of this base,"""
SHORT = 24
"""short lists by insertion."""
PAIRS = 4096
"""Ranges of stretches that are listed for a partial box, at least."""
OVER = -2
"""The depth of a walk that has ended."""
HOPELESS = -3
"""The depth of a walk that met a partial box with too many ranges."""


class Stack(NamedTuple):
    """Where a walk stands: for every attribute the tuples of the partial box, in its order, and boxes to go into."""

    depth: Ints
    """A single number: the attribute that the walk is at; -1 before it begins, `OVER` at its end."""
    tuple: Small
    length: Ints
    begin: Small
    """The boxes to go into: tuples from `begin` to `end`,"""
    end: Small
    loss: Floats
    """and what they lose with the attributes before."""
    count: Ints
    """How many boxes there are,"""
    next: Ints
    """and which is the next."""
    spare: Small
    open_node: Ints
    open_begin: Ints
    reach: Floats


def start(grid: Grid, prices: Floats) -> Stack:
    """A stack before the first step of a walk. Dear tuples come first, which finds the dearest of a box sooner."""
    attributes, size = grid.ranks.shape
    shape = (attributes, 2 * size + PAIRS)
    tuples = np.empty((attributes, size), np.int32)
    tuples[0] = np.argsort(-prices, kind="stable")
    return Stack(
        np.full(1, -1),
        tuples,
        np.zeros(attributes, np.int64),
        np.empty(shape, np.int32),
        np.empty(shape, np.int32),
        np.empty(shape),
        np.zeros(attributes, np.int64),
        np.zeros(attributes, np.int64),
        np.empty(size, np.int32),
        np.empty(size + 1, np.int64),
        np.empty(size + 1, np.int64),
        np.empty(size),
    )


@inner
def _sort(tuples, length, ranks, spare):
    """Put the tuples in the order of their ranks."""
    most = 0
    for i in range(length):
        most = max(most, ranks[tuples[i]])
    if length <= SHORT and length <= most:
        for i in range(1, length):
            t, j = tuples[i], i
            while j > 0 and ranks[tuples[j - 1]] > ranks[t]:
                tuples[j] = tuples[j - 1]
                j -= 1
            tuples[j] = t
        return
    digits = min(DIGIT, most + 1)
    place = np.empty(digits + 1, np.int64)
    shift = 0
    while True:
        for digit in range(digits + 1):
            place[digit] = 0
        for i in range(length):
            place[((ranks[tuples[i]] >> shift) & (DIGIT - 1)) + 1] += 1
        for digit in range(digits):
            place[digit + 1] += place[digit]
        for i in range(length):
            digit = (ranks[tuples[i]] >> shift) & (DIGIT - 1)
            spare[place[digit]] = tuples[i]
            place[digit] += 1
        for i in range(length):
            tuples[i] = spare[i]
        shift += 8
        if most >> shift == 0:
            break


@inner
def _enter(grid, stack, j, length, loss, room):
    """List the boxes of attribute j to go into, in a partial box of so many tuples, that lose less than `room`."""
    stack.length[j] = length
    if grid.is_line[j]:
        _list_ranges(grid, stack, j, loss, room)
    else:
        _list_nodes(grid, stack, j, loss, room)
    stack.next[j] = 0
    stack.depth[0] = j


@inner
def _list_nodes(grid, stack, j, loss, room):
    """The nodes of a tree that are closest common nodes of some tuples, children before parents."""
    tuples, ranks, leaf = stack.tuple[j], grid.ranks[j], grid.leaf[grid.begin[j] :]
    length, i, found, opened = stack.length[j], 0, 0, 0
    while i <= length:
        rank = ranks[tuples[i]] if i < length else -1
        node, begin = np.int64(-1), np.int64(-1)
        while opened > 0 and (i == length or grid.high[stack.open_node[opened - 1]] < rank):
            opened -= 1
            node, begin = stack.open_node[opened], stack.open_begin[opened]
            if loss + grid.loss[node] < room:
                stack.begin[j, found], stack.end[j, found] = begin, i
                stack.loss[j, found] = loss + grid.loss[node]
                found += 1
        if i == length:
            break
        if node >= 0:
            while grid.high[node] < rank:
                node = grid.parent[node]
            if opened == 0 or stack.open_node[opened - 1] != node:
                stack.open_node[opened], stack.open_begin[opened] = node, begin
                opened += 1
        stack.open_node[opened], stack.open_begin[opened] = leaf[rank], i
        opened += 1
        while i < length and ranks[tuples[i]] == rank:
            i += 1
    stack.count[j] = found


@inner
def _list_ranges(grid, stack, j, loss, room):
    """The ranges of stretches; where there are too many, the one of all, at no loss, stands for them."""
    tuples, ranks, length, begin = stack.tuple[j], grid.ranks[j], stack.length[j], grid.begin[j]
    found, i, most = 0, 0, stack.begin.shape[1]
    while i < length:
        low = begin + ranks[tuples[i]]
        after, e = i, i
        while e < length:
            rank = ranks[tuples[e]]
            width = 0.0 if begin + rank == low else grid.first[begin + rank] - grid.last[low]
            width = max(0.0, min(width, grid.whole[j]))
            if loss + width >= room:
                break
            while e < length and ranks[tuples[e]] == rank:
                e += 1
            after = e if after == i else after
            if found == most:
                stack.begin[j, 0], stack.end[j, 0], stack.loss[j, 0], stack.count[j] = 0, length, loss, 1
                return
            stack.begin[j, found], stack.end[j, found], stack.loss[j, found] = i, e, loss + width
            found += 1
        i = after if after > i else length
    stack.count[j] = found


@inner
def _holds(top, entries, ranks, rank):
    """Is a tuple of this rank among the dearest?"""
    is_there = False
    for i in range(entries):
        is_there |= ranks[top.tuple[i]] == rank
    return is_there


@inner
def _reaches(grid, prices, slack, tuples, length, loss, reach):
    """Of each tuple in the order of the line: where ranges must start, at the least, that none from here on can break.

    A range is broken only if some price in it exceeds its loss, so that a tuple matters for no range that starts so far
    before it that the price is reached.
    """
    j = len(grid.ranks) - 1
    ranks, at, whole = grid.ranks[j], grid.first[grid.begin[j] :], grid.whole[j]
    least = np.inf
    for i in range(length - 1, -1, -1):
        t = tuples[i]
        room, place = prices[t] - loss + slack, at[ranks[t]]
        # NULL, beyond the line, loses the same with all values.
        least = min(least, -np.inf if place > whole and room > whole else place - room)
        reach[i] = least


@inner
def _ranges(grid, k, q, prices, slack, tuples, length, loss, is_listing, is_shortest, top, listing, reach, quota):
    """Look at the ranges of the exact line, the last attribute, in a partial box; or only at the shortest of k rows.

    How many tuples were looked at: more than the quota if it was given up.
    """
    j = len(grid.ranks) - 1
    ranks, at, whole = grid.ranks[j], grid.first[grid.begin[j] :], grid.whole[j]
    counts, listed = grid.counts, top.price
    work, i = length, np.int64(0)
    while i < length and work <= quota:
        low, e, after = ranks[tuples[i]], i, i
        entries, held, total, rows = np.int64(0), np.int64(0), 0.0, 0
        while e < length:
            rank = ranks[tuples[e]]
            width = loss + min(at[rank] - at[low], whole)
            if reach[e] >= at[low] and (entries == 0 or listed[0] <= width - slack):
                break
            before, legal = total, rows >= k
            if legal and is_shortest:
                break
            while e < length and ranks[tuples[e]] == rank:
                t = tuples[e]
                rows += counts[t]
                if held < q or prices[t] > listed[entries - 1]:
                    entries, held, gained = offer(top, entries, held, q, prices[t], t, counts[t])
                    total += gained
                e += 1
            after = e if rank == low else after
            # A range whose new rows are not among the dearest is no tighter than the one before.
            if rows < k or (legal and total == before) or total <= q * (width - slack) + TINY:
                continue
            if is_listing:
                if _holds(top, entries, ranks, low):
                    put(prices, tuples, i, e, width, listed[entries - 1], slack, listing)
            else:
                lower(prices, tuples, i, e, width, top, entries, q, total)
                entries, held, total = dearest(counts, prices, tuples, i, e, q, top)
                work += e - i
        work += e - i
        i = after if after > i else _next(tuples, ranks, i, length)
    return work


@inner
def _next(tuples, ranks, i, length):
    """The first tuple after those of the same rank."""
    e = i
    while e < length and ranks[tuples[e]] == ranks[tuples[i]]:
        e += 1
    return e


@compiled
def walk(grid, k, q, prices, slack, is_listing, stack, top, listing, quota, hopeless):
    """Go on with a walk until it ends or its quota of work is used up; how much work was done.

    It is hopeless if the ranges of a single partial box take so much.

    If it is a listing, boxes that are broken or would be at `slack` less loss are written down. Otherwise the prices
    in broken ones are lowered: as prices only fall, no box that was looked at breaks again, and at the end none is.
    """
    last, work = len(grid.ranks) - 1, 0
    while stack.depth[0] >= -1 and work < quota:
        j = stack.depth[0]
        if j < 0:
            begin, end, loss, room = 0, grid.ranks.shape[1], 0.0, np.inf
            stack.depth[0] = OVER
        else:
            if stack.next[j] == stack.count[j]:
                stack.depth[0] = j - 1 if j > 0 else OVER
                continue
            place = stack.next[j]
            stack.next[j] += 1
            begin, end, loss = np.int64(stack.begin[j, place]), np.int64(stack.end[j, place]), stack.loss[j, place]
            mine = stack.tuple[j]
            work += end - begin
            if rows_of(grid.counts, mine, begin, end, k) < k:
                continue
            may_break, highest = is_broken(grid.counts, prices, mine, begin, end, q, loss - slack, top)
            if not may_break:
                continue
            if j == last:
                entries, _, total = dearest(grid.counts, prices, mine, begin, end, q, top)
                if is_listing:
                    put(prices, mine, begin, end, loss, top.price[entries - 1], slack, listing)
                elif total > q * loss:
                    lower(prices, mine, begin, end, loss, top, entries, q, total)
                continue
            room = highest + slack
            below = stack.tuple[j + 1]
            for i in range(begin, end):
                below[i - begin] = mine[i]
        work += end - begin
        inside = stack.tuple[j + 1]
        _sort(inside, end - begin, grid.ranks[j + 1], stack.spare)
        if j + 1 == last and grid.is_exact:
            for is_shortest in (True, False):
                if is_listing and is_shortest:
                    continue
                _reaches(grid, prices, slack, inside, end - begin, loss, stack.reach)
                done = _ranges(
                    grid, k, q, prices, slack, inside, end - begin, loss, is_listing, is_shortest, top, listing,
                    stack.reach, hopeless,
                )  # fmt: skip
                work += done
                if done > hopeless:
                    stack.depth[0] = HOPELESS
                    break
        else:
            _enter(grid, stack, j + 1, end - begin, loss, room)
    return work
