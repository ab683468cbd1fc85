"""Prices without a walk, compiled: an ascent over listed boxes, and what nearest rows lose together."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

import numpy as np

from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.machine import inner, loop


@loop
def climb(k, counts, prices, listing, steps, due):
    """Raise all prices by each step, then project them onto all listed boxes that break, in the metric Σ rows · price².

    The boxes come forwards and backwards in turn. A box is looked at when it is due: no sooner than all raises since it
    was last looked at can have broken it. Its members are put in order then, the dearest first, which they mostly are.
    """
    boxes, turns, tuples = len(due), len(steps), len(prices)
    counts, prices, steps, due = bare(counts), bare(prices), bare(steps), bare(due)
    raised, work, member = 0.0, 0, listing.member
    for turn in range(turns):
        for t in range(tuples):
            prices[t] += steps[turn]
        raised += steps[turn]
        for number in range(boxes):
            box = number if turn % 2 == 0 else boxes - 1 - number
            if raised <= due[box]:
                continue
            begin, end = listing.end[box - 1] if box else 0, listing.end[box]
            work += end - begin
            _sort(prices, member, begin, end)
            rows, total, weight, last = 0, 0.0, 0.0, begin
            while rows < k and last < end:
                t = member[last]
                some = min(counts[t], k - rows)
                rows += some
                total += some * prices[t]
                weight += some * some / counts[t]
                last += 1
            over = total - k * listing.loss[box]
            due[box] = raised - min(over, 0.0) / k
            if over <= 0:
                continue
            rows = 0
            for i in range(begin, last):
                t = member[i]
                some = min(counts[t], k - rows)
                rows += some
                prices[t] -= over / weight * some / counts[t]
    for box in range(boxes):
        due[box] -= raised
    return work


@inner
def _sort(prices, member, begin, end):
    """Put the members of a box in order, the dearest first."""
    for i in range(begin + 1, end):
        t, place = member[i], i
        while place > begin and prices[member[place - 1]] < prices[t]:
            member[place] = member[place - 1]
            place -= 1
        member[place] = t


@inner
def _in_tree(grid, j, one, other):
    """What two ranks of an attribute with a tree lose together."""
    if one == other:
        return 0.0
    low, high = min(one, other), max(one, other)
    node = grid.leaf[grid.begin[j] + low]
    while grid.high[node] < high:
        node = grid.parent[node]
    return grid.loss[node]


@inner
def _on_lines(grid, first, last, whole):
    """Write where the values of each tuple begin and end on the lines, side by side, and how long these are; how many
    they are."""
    lines = 0
    for j in range(len(grid.ranks)):
        if grid.is_line[j]:
            whole[lines] = grid.whole[j]
            for t in range(len(first)):
                place = grid.begin[j] + grid.ranks[j, t]
                first[t, lines], last[t, lines] = grid.first[place], grid.last[place]
            lines += 1
    return lines


@loop
def nearest(grid, k, some, prices):
    """What covering each of some tuples and its (k - 1)-th nearest other row loses, on exact lines and trees.

    `some` are indices; their prices are written. O(E d) for each, and less where most are far.
    """
    attributes, size = grid.ranks.shape
    prices = bare(prices)
    first, last, whole = np.empty((size, attributes)), np.empty((size, attributes)), np.empty(attributes)
    lines = _on_lines(grid, first, last, whole)
    top = np.empty(k + 1)
    rows = np.empty(k + 1, np.int64)
    for one in some:
        entries, held = 1, grid.counts[one]
        top[0], rows[0] = 0.0, held
        for t in range(size):
            if t == one:
                continue
            most = top[entries - 1] if held >= k else np.inf
            far = 0.0
            for i in range(lines):
                far += min(max(first[one, i] - last[t, i], first[t, i] - last[one, i], 0.0), whole[i])
            for j in range(attributes):
                if far >= most:
                    break
                if not grid.is_line[j]:
                    far += _in_tree(grid, j, grid.ranks[j, one], grid.ranks[j, t])
            if far >= most:
                continue
            i = entries
            while i > 0 and top[i - 1] > far:
                top[i], rows[i] = top[i - 1], rows[i - 1]
                i -= 1
            top[i], rows[i] = far, grid.counts[t]
            held += grid.counts[t]
            while held - rows[entries] >= k:
                held -= rows[entries]
                entries -= 1
            entries += 1
        prices[one] = top[entries - 1] if held >= k else 0.0
