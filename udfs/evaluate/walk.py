"""A walk over all boxes of a table that prices may break, compiled.

Every tuple has a price. A box of k rows or more is broken if the q highest prices of its rows add up to more than q
times what the box loses. The walk goes through the attributes one by one, depth first: a partial box has a node or a
range for the attributes so far and everything for the others. All completions of a partial box have fewer rows and lose
more, so that one that is not broken itself is not gone into. Only boxes that are the closures of their rows are looked
at: they are the intersections of what the tree or line has between two neighboring ranks that occur. The ranges of the
last attribute, if it is an exact line, are looked at from each value on until they are too wide; sums of prices over
all values before one tell of most ranges that they are not broken, without a look at their tuples.

The walk has its own stack, so that it can stop after a quota of work and go on later. Memory O(E d) for E tuples with d
attributes. Work is counted in tuples looked at.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlanon.udfs.evaluate.dearest import TINY, dearest, is_broken, lower, put, rows_of
from sqlanon.udfs.evaluate.fees import over
from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.bare import bare, beginning
from sqlanon.udfs.space.grid import Grid, Small
from sqlanon.udfs.space.machine import inner, loop

DIGIT = 256
"""Ranks are sorted by digits of this base,"""
SHORT = 24
"""short lists by insertion."""
PAIRS = 4096
"""Ranges of stretches that are listed for a partial box, at least."""
LEVELS = 8
"""Levels of prices by which ranges are told to be unbroken without a look at their tuples."""
ROUNDING = 1e-13
"""The share of a sum that is lost in rounding, at most."""
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
    digit: Ints
    open_node: Ints
    open_begin: Ints
    place: Floats
    """Of the values of the exact line in a partial box: where they are,"""
    dear: Floats
    """their highest prices,"""
    reach: Floats
    """where ranges must start that no price from there on can break,"""
    sums: Floats
    """and what the prices before each exceed some levels by."""


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
        np.empty(DIGIT + 1, np.int64),
        np.empty(size + 1, np.int64),
        np.empty(size + 1, np.int64),
        np.empty(size + 1),
        np.empty(size + 1),
        np.empty(size + 1),
        np.empty((size + 1, LEVELS)),
    )


@inner
def _sort(tuples, length, ranks, spare, place):
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
    tuples, ranks, leaf = stack.tuple[j], grid.ranks[j], beginning(grid.leaf, grid.begin[j])
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
def _survey(grid, q, prices, tuples, length, highest, stack):
    """Write down the values of the exact line that occur in a partial box, and sums that bound the prices in ranges of
    them; how many values there are.

    For any level the q dearest rows of a range add up to no more than q times the level and what all of its rows exceed
    it by, which is the difference of two sums over all values before one.
    """
    j = len(grid.ranks) - 1
    ranks, at = grid.ranks[j], beginning(grid.first, grid.begin[j])
    starts, rows, place, dear, sums = stack.open_node, stack.open_begin, stack.place, stack.dear, stack.sums
    found, i = 0, 0
    rows[0] = 0
    for level in range(LEVELS):
        sums[0, level] = 0.0
    while i < length:
        rank = ranks[tuples[i]]
        starts[found], place[found], dear[found], rows[found + 1] = i, at[rank], -np.inf, rows[found]
        for level in range(LEVELS):
            sums[found + 1, level] = sums[found, level]
        while i < length and ranks[tuples[i]] == rank:
            t = tuples[i]
            rows[found + 1] += grid.counts[t]
            some, price = min(grid.counts[t], q), prices[t]
            dear[found] = max(dear[found], price)
            for level in range(LEVELS):
                sums[found + 1, level] += some * max(price - level * highest / LEVELS, 0.0)
            i += 1
        found += 1
    starts[found] = length
    return found


@inner
def _reach(place, dear, values, room, whole, reach):
    """Of each value: where ranges must start, at the least, that no price from here on can break.

    A range is broken only if some price in it exceeds its loss, so that a row matters for no range that starts so far
    before it that its price is reached. NULL, beyond the line, loses the same with all values.
    """
    least = np.inf
    for value in range(values - 1, -1, -1):
        more = dear[value] + room
        least = min(least, -np.inf if place[value] > whole and more > whole else place[value] - more)
        reach[value] = least


@inner
def _is_below(sums, q, low, high, highest, most):
    """Do the sums show that the q dearest rows, from one value to before another, add up to no more than this?"""
    for level in range(LEVELS):  # noqa: SIM110
        if q * level * highest / LEVELS + sums[high, level] - sums[low, level] <= most:
            return True
    return False


@inner
def _ranges(grid, k, q, prices, slack, tuples, length, loss, is_listing, is_shortest, top, listing, stack, fees, quota):
    """Look at the ranges of the exact line, the last attribute, in a partial box; or only at the shortest of k rows.

    Of the ranges from one value on, that is listed which breaks most, or every one that does. How many tuples and
    ranges were looked at: more than the quota if it was given up.
    """
    whole, counts, highest = grid.whole[len(grid.ranks) - 1], grid.counts, 0.0
    starts, rows, place, sums = stack.open_node, stack.open_begin, stack.place, stack.sums
    dear, reach = stack.dear, stack.reach
    for i in range(length):
        highest = max(highest, prices[tuples[i]])
    values = _survey(grid, q, prices, tuples, length, highest, stack)
    _reach(place, dear, values, slack - loss, whole, reach)
    work, due, rounding = length, np.int64(0), ROUNDING * sums[values, 0]
    for low in range(values):
        if rows[values] - rows[low] < k or work > quota:
            break
        if 0 < due < work:  # prices have been lowered since, and it takes no longer than all that was done since
            _survey(grid, q, prices, tuples, length, highest, stack)
            work, due = work + length, np.int64(0)
        begin, until, widest, most, dearest_one = starts[low], 0, 0.0, -q * slack, -np.inf
        for high in range(low, values):
            width = loss + min(place[high] - place[low], whole)
            may = q * width + most + TINY
            work += 1
            if reach[high] >= place[low] and dearest_one <= width - slack:
                break
            dearest_one = max(dearest_one, dear[high])
            if _is_below(sums, q, low, values, highest, may - rounding):
                break
            if rows[high + 1] - rows[low] < k:
                continue
            if not _is_below(sums, q, low, high + 1, highest, may - rounding):
                end = starts[high + 1]
                work += end - begin
                entries, more, lowest = over(grid, k, q, prices, tuples, begin, end, width, top, fees)
                if more > most + TINY and listing.is_every:
                    put(prices, tuples, begin, end, width, lowest, slack, listing)
                elif more > most + TINY and is_listing:
                    until, widest, most = end, width, more
                elif more > most + TINY:
                    lower(prices, tuples, begin, end, width, top, entries, more)
                    due = work + length if due == 0 else due
            if is_shortest:
                break
        if until:
            entries, _, _ = dearest(counts, prices, tuples, begin, until, q, top)
            put(prices, tuples, begin, until, widest, top.price[entries - 1], slack, listing)
    return work


@loop
def walk(grid, k, q, prices, slack, is_listing, stack, top, listing, fees, quota, hopeless):
    """Go on with a walk until it ends, its quota of work is used up or its listing full; how much work was done.

    It is hopeless if the ranges of a single partial box take so much.

    If it is a listing, boxes that are broken or would be at `slack` less loss are written down. Otherwise the prices
    in broken ones are lowered: as prices only fall, no box that was looked at breaks again, and at the end none is.
    """
    prices, last, work = bare(prices), len(grid.ranks) - 1, 0
    while stack.depth[0] >= -1 and work < quota and listing.count[2] == 0:
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
                entries, more, lowest = over(grid, k, q, prices, mine, begin, end, loss, top, fees)
                if is_listing and more > -q * slack:
                    put(prices, mine, begin, end, loss, lowest, slack, listing)
                elif more > 0 and not is_listing:
                    lower(prices, mine, begin, end, loss, top, entries, more)
                continue
            room = highest + slack
            below = stack.tuple[j + 1]
            for i in range(begin, end):
                below[i - begin] = mine[i]
        work += end - begin
        inside = stack.tuple[j + 1]
        _sort(inside, end - begin, grid.ranks[j + 1], stack.spare, stack.digit)
        if j + 1 == last and grid.is_exact:
            for is_shortest in (True, False):
                if is_listing and is_shortest:
                    continue
                done = _ranges(
                    grid, k, q, prices, slack, inside, end - begin, loss, is_listing, is_shortest, top,
                    listing, stack, fees, hopeless,
                )  # fmt: skip
                work += done
                if done > hopeless:
                    stack.depth[0] = HOPELESS
                    break
        else:
            _enter(grid, stack, j + 1, end - begin, loss, room)
    return work
