"""Prices without a walk, compiled: an ascent over listed boxes, and what nearest rows lose together."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

import numpy as np

from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.machine import inner, loop


@loop
def climb(k, counts, prices, listing, fees, first, region, steps, due, used):
    """Raise all prices by each step and lower all fees, then project them onto all listed boxes that break, in the
    metric Σ rows · price² + Σ groups · fee² / k. The regions of box b are `region[first[b] : first[b + 1]]`.

    The boxes come forwards and backwards in turn. A box is looked at when it is due: no sooner than all raises since it
    was last looked at can have broken it. Its members are put in order then, the dearest first, which they mostly are.
    """
    boxes, turns, tuples, regions = len(due), len(steps), len(prices), len(fees.low)
    counts, prices, steps, due = bare(counts), bare(prices), bare(steps), bare(due)
    first, region, used = bare(first), bare(region), bare(used)
    raised, work, member = 0.0, 0, listing.member
    for turn in range(turns):
        for t in range(tuples):
            prices[t] += steps[turn]
        for r in range(regions):
            fees.amount[r] = max(0.0, fees.amount[r] - k * steps[turn])
        raised += steps[turn]
        for number in range(boxes):
            box = number if turn % 2 == 0 else boxes - 1 - number
            if raised <= due[box]:
                continue
            begin, end = listing.end[box - 1] if box else 0, listing.end[box]
            work += end - begin
            _sort(prices, member, begin, end)
            loss, allowed, weight = listing.loss[box], 0.0, 0.0
            for place in range(first[box], first[box + 1]):
                allowed += fees.amount[region[place]]
                weight += k / fees.most[region[place]]
            most = 2 * k - 1 if allowed > 0 else k
            rows, over, last = 0, -allowed, begin
            while rows < most and last < end:
                t = member[last]
                some = min(counts[t], most - rows)
                if prices[t] <= loss:
                    some = min(some, k - rows)
                    if some <= 0:
                        break
                rows += some
                over += some * (prices[t] - loss)
                weight += some * some / counts[t]
                last += 1
            reach = k if first[box] == first[box + 1] else 2 * k + k * (first[box + 1] - first[box])
            due[box] = raised - min(over, 0.0) / reach
            if over <= 0:
                continue
            part, rows = over / weight, 0
            used[box] += part
            for i in range(begin, last):
                t = member[i]
                some = min(counts[t], most - rows)
                if prices[t] <= loss:
                    some = min(some, k - rows)
                rows += some
                prices[t] -= part * some / counts[t]
            for place in range(first[box], first[box + 1]):
                fees.amount[region[place]] += part * k / fees.most[region[place]]
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
def _on_lines(grid, ratio, first, last, whole):
    """Write where the values of each tuple begin and end on the lines, side by side, and how long these are, all times
    the ratio; how many they are."""
    lines = 0
    for j in range(len(grid.ranks)):
        if grid.is_line[j]:
            whole[lines] = ratio[j] * grid.whole[j]
            for t in range(len(first)):
                place = grid.begin[j] + grid.ranks[j, t]
                first[t, lines], last[t, lines] = ratio[j] * grid.first[place], ratio[j] * grid.last[place]
            lines += 1
    return lines


@loop
def nearest(grid, k, some, prices, ratio, is_mean):
    """What covering each of some tuples and its (k - 1)-th nearest other row loses, on exact lines and trees; or the
    mean for the k - 1 nearest. An attribute that is a line counts `ratio` times.

    `some` are indices; their prices are written. O(E d) for each, and less where most are far.
    """
    attributes, size = grid.ranks.shape
    prices, ratio = bare(prices), bare(ratio)
    first, last, whole = np.empty((size, attributes)), np.empty((size, attributes)), np.empty(attributes)
    lines = _on_lines(grid, ratio, first, last, whole)
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
        if is_mean and held >= k:
            total, rest = 0.0, k
            for i in range(entries):
                total += top[i] * min(rows[i], rest)
                rest -= min(rows[i], rest)
            prices[one] = total / (k - 1)
