"""Rows that move, one at a time, to the cluster where they cost least: the loop of sequential clustering that numba
compiles.

A row is compared with every cluster that could take it for less than what its own would save, and with each only until
that is settled: what a cluster would be charged begins with what it is charged now, and every attribute in which the
row lies outside adds to that. So of thousands of clusters few are looked at in more than two attributes.

Rates are multiples of GRAIN (see problem.py), so that sums below EXACT have no rounding error and a comparison is the
same in whatever order they are taken. Where a cluster's charge can be more, a comparison that is nearly a tie is made
again with the whole sum.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.loops.charged import LINE, TABLE, TREE, above, line_more, logs_more, logs_rate, range_rate
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.machine import inner, loop

EPSILON = 1e-12
EXACT = 4096.0
NEAR = 1e-6
BLOCK = 64


class Rows(NamedTuple):
    """The rows, sorted by tuple, and what does not change about them."""

    total: int
    tuple: Ints
    ranks: Any
    value: Ints
    codes: Ints
    code_begin: Ints
    l: float  # noqa: E741
    rises: bool
    """Is a wider range never charged less?"""
    peak: float
    """The most that a row is charged."""


class State(NamedTuple):
    """The clusters: linked rows; first rank, last rank and node of each attribute; what is counted and charged."""

    place: Ints
    next: Ints
    previous: Ints
    head: Ints
    box: Any
    size: Ints
    mass: Floats
    level: Floats
    charge: Floats
    least: Floats
    """What a row of a sensitive value adds to a cluster at least, values × clusters."""
    often: Ints
    most: Ints
    spare: Floats
    clock: Ints
    changed: Ints
    """How many moves there were, and after how many of them a cluster changed last."""
    recent: Ints
    """The same of the clusters of each block."""
    left: Floats
    left_at: Ints
    """What a row less would change in the charge of its cluster, and when that was found."""
    left_node: Ints
    left_box: Any
    answer: Floats
    asked: Ints
    asker: Ints
    """What a row of each tuple adds at least, when that was asked, and from which cluster, which did not count."""


@inner
def remaining(axes, rows, state, c, row, node, box):
    """What a cluster covers of each attribute without a row, as long as it has another: nodes, first and last ranks."""
    ranks, tuples, after, head = rows.ranks, rows.tuple, state.next, state.head[c]
    kind, begin, leaf = axes.kind, axes.begin, axes.leaf
    first, last, parent = axes.first, axes.last, axes.parent
    for j in range(ranks.shape[1]):
        rank, low, high = ranks[tuples[row], j], state.box[c, j, 0], state.box[c, j, 1]
        node[j], box[j, 0], box[j, 1] = state.box[c, j, 2], low, high
        if low == high or (kind[j] != TREE and low < rank < high):
            continue
        other, left, lo, hi = head, -1, high, low
        while other >= 0 and left != node[j] and (lo != low or hi != high):
            if other != row:
                rank = ranks[tuples[other], j]
                if kind[j] != TREE:
                    lo, hi = min(lo, rank), max(hi, rank)
                elif left < 0:
                    left = leaf[begin[j] + rank]
                else:
                    left = above(first, last, parent, left, rank)
            other = after[other]
        if kind[j] == TREE:
            node[j], box[j, 0], box[j, 1] = left, first[left], last[left]
        else:
            box[j, 0], box[j, 1] = lo, hi


@inner
def cover(axes, state, c, j, node, lo, hi):
    """Let a cluster cover another range of an attribute."""
    for v in range(state.level.shape[1]):
        before = range_rate(axes, j, state.box[c, j, 2], state.box[c, j, 0], state.box[c, j, 1], v)
        state.level[c, v] += range_rate(axes, j, node, lo, hi, v) - before
    state.box[c, j, 0], state.box[c, j, 1], state.box[c, j, 2] = lo, hi, node


@inner
def most_often(state, c, begin, end):
    """How many rows of a cluster have the most frequent of some codes."""
    most = np.int64(0)
    for code in range(begin, end):
        most = max(most, state.often[c, code])
    return most


@inner
def count(rows, state, t, c, by):
    """One row of a tuple more or less."""
    state.size[c] += by
    state.mass[c, rows.value[t]] += by
    for q in range(rows.codes.shape[1]):
        begin, end = rows.code_begin[q], rows.code_begin[q + 1]
        state.often[c, begin + rows.codes[t, q]] += by
        state.most[c, q] = most_often(state, c, begin, end)


@inner
def put(axes, rows, state, row, c):
    """Add a row to a cluster."""
    t, head = rows.tuple[row], state.head[c]
    for j in range(rows.ranks.shape[1]):
        rank = rows.ranks[t, j]
        if head < 0:
            if axes.kind[j] == TREE:
                state.box[c, j, 2] = axes.leaf[axes.begin[j] + rank]
            state.box[c, j, 0], state.box[c, j, 1] = rank, rank
            for v in range(state.level.shape[1]):
                state.level[c, v] += range_rate(axes, j, state.box[c, j, 2], rank, rank, v)
        elif rank < state.box[c, j, 0] or rank > state.box[c, j, 1]:
            if axes.kind[j] == TREE:
                node = above(axes.first, axes.last, axes.parent, state.box[c, j, 2], rank)
                cover(axes, state, c, j, node, axes.first[node], axes.last[node])
            else:
                cover(axes, state, c, j, 0, min(rank, state.box[c, j, 0]), max(rank, state.box[c, j, 1]))
    state.place[row], state.next[row], state.previous[row] = c, head, -1
    if head >= 0:
        state.previous[head] = row
    state.head[c] = row
    count(rows, state, t, c, 1)


@inner
def take(axes, rows, state, row, c):
    """Remove a row from its cluster."""
    if state.size[c] > 1:
        node, box = state.left_node, state.left_box
        remaining(axes, rows, state, c, row, node, box)
        for j in range(rows.ranks.shape[1]):
            if box[j, 0] != state.box[c, j, 0] or box[j, 1] != state.box[c, j, 1]:
                cover(axes, state, c, j, node[j], box[j, 0], box[j, 1])
    before, after = state.previous[row], state.next[row]
    if before >= 0:
        state.next[before] = after
    else:
        state.head[c] = after
    if after >= 0:
        state.previous[after] = before
    count(rows, state, rows.tuple[row], c, -1)


@inner
def slack(rows, state, c):
    """By how much what is added to a cluster may be rounded: not at all if it is small."""
    return 0.0 if (state.size[c] + 1) * rows.peak < EXACT else NEAR


@inner
def settle(axes, rows, state, c):
    """What a cluster is charged, and what a row would add at least, after a change."""
    values = state.level.shape[1]
    state.charge[c] = 0.0
    for v in range(values):
        state.charge[c] += state.level[c, v] * state.mass[c, v]
        state.least[v, c] = state.level[c, v] - slack(rows, state, c) if state.size[c] else np.inf
    if rows.rises or not state.size[c]:
        return
    for j in range(state.box.shape[1]):
        node, saved = state.box[c, j, 2], state.spare
        for v in range(values):
            saved[v] = 0.0
        if axes.kind[j] == TREE:
            up = node
            while up != axes.parent[up]:
                up = axes.parent[up]
                gain = 0.0
                for v in range(values):
                    gain += (axes.rate[up, v] - axes.rate[node, v]) * state.mass[c, v]
                for v in range(values):
                    saved[v] = min(saved[v], gain + axes.rate[up, v] - axes.rate[node, v])
        else:  # a wider range is charged no less for MI, and for PMI no less than nothing
            gain, low, high = 0.0, state.box[c, j, 0], state.box[c, j, 1]
            given = axes.unit, axes.seen, axes.total, axes.logs, axes.whole, axes.weight[j], axes.begin[j], low, high
            for v in range(values):
                saved[v] = min(0.0, logs_rate(*given, v, axes.share, 0.0) - range_rate(axes, j, 0, low, high, v))
                gain += saved[v] * state.mass[c, v]
            for v in range(values):
                saved[v] += gain
        for v in range(values):
            state.least[v, c] += saved[v]


@loop
def gather(axes, rows, state, order, first, stop):
    """Put rows into the clusters that `state.place` names, from the first of them on."""
    rest = len(order)
    order = bare(order)
    for i in range(rest):
        row = order[i]
        put(axes, rows, state, row, state.place[row])
    for c in range(first, stop):
        settle(axes, rows, state, c)


@inner
def departure(axes, rows, state, row, c):
    """What a row less would change in the charge of its cluster, which has another."""
    values, left = state.level.shape[1], state.spare
    for v in range(values):
        left[v] = state.level[c, v]
    node, box = state.left_node, state.left_box
    remaining(axes, rows, state, c, row, node, box)
    for j in range(rows.ranks.shape[1]):
        lo, hi = box[j, 0], box[j, 1]
        if lo != state.box[c, j, 0] or hi != state.box[c, j, 1]:
            for v in range(values):
                left[v] += range_rate(axes, j, node[j], lo, hi, v)
                left[v] -= range_rate(axes, j, state.box[c, j, 2], state.box[c, j, 0], state.box[c, j, 1], v)
    charge = -left[rows.value[rows.tuple[row]]]
    for v in range(values):
        charge += left[v] * state.mass[c, v]
    return charge - state.charge[c]


@inner
def may_leave(rows, state, t, c):
    """Is the cluster l-diverse without a row of the tuple?"""
    left = state.size[c] - 1
    for q in range(rows.codes.shape[1]):
        if left and state.most[c, q] * rows.l > left + SLACK:
            code = rows.code_begin[q] + rows.codes[t, q]
            state.often[c, code] -= 1
            most = most_often(state, c, rows.code_begin[q], rows.code_begin[q + 1])
            state.often[c, code] += 1
            if most * rows.l > left + SLACK:
                return False
    return True


@inner
def may_join(rows, state, t, c):
    """Is the cluster l-diverse with a row of the tuple?"""
    for q in range(rows.codes.shape[1]):
        often = state.often[c, rows.code_begin[q] + rows.codes[t, q]] + 1
        if max(state.most[c, q], often) * rows.l > state.size[c] + 1 + SLACK:
            return False
    return True


@inner
def nearest(axes, rows, state, row, home, best):
    """The first of the clusters but `home` to whose charge a row adds least, or -1 if that is not less than `best`; and
    what it adds. Clusters that have not changed since they were all too expensive still are."""
    t, values, width = rows.tuple[row], state.level.shape[1], rows.ranks.shape[1]
    value = rows.value[t]
    least, changed, mass, ranks, found = state.least[value], state.changed, state.mass, rows.ranks[t], -1
    kind, begin, weight, unit = axes.kind, axes.begin, axes.weight, axes.unit
    rate, first, last, parent = axes.rate, axes.first, axes.last, axes.parent
    seen, total, logs, whole = axes.seen, axes.total, axes.logs, axes.whole
    table, start, side = axes.table, axes.start, axes.side
    box, since = state.box, state.asked[t] if state.answer[t] >= best else -1
    asker, count = state.asker[t], len(state.level)
    for block in range(-2, (count + BLOCK - 1) // BLOCK):
        if block < 0:  # first the clusters of the rows before and after, which are often copies or alike
            begin_c = state.place[max(row - 1, 0) if block == -1 else min(row + 1, rows.total - 1)]
            end_c, after = begin_c + 1, -1
        else:
            begin_c, end_c, after = block * BLOCK, min(block * BLOCK + BLOCK, count), since
            if state.recent[block] <= since and block != asker // BLOCK:
                continue
        for c in range(begin_c, end_c):
            if least[c] > best or (changed[c] <= after and c != asker) or c in (home, found):
                continue
            bound, limit, j = least[c], best if c > found else np.nextafter(best, np.inf), 0  # of equals, the first
            while j < width and bound < limit:
                rank, low, high = ranks[j], box[c, j, 0], box[c, j, 1]
                if rank < low or rank > high:
                    node = up = np.int64(state.box[c, j, 2])
                    if kind[j] == TREE:
                        up = above(first, last, parent, node, rank)
                    for v in range(values):
                        if kind[j] == TREE:
                            more = rate[up, v] - rate[node, v]
                        elif kind[j] == LINE:
                            lo, hi = min(rank, low), max(rank, high)
                            more = line_more(unit, weight[j], begin[j], low, high, lo, hi)
                        elif kind[j] == TABLE:
                            lo, hi = min(rank, low), max(rank, high)
                            more = table[start[j] + lo * side[j] + hi, v] - table[start[j] + low * side[j] + high, v]
                        else:
                            lo, hi = min(rank, low), max(rank, high)
                            more = logs_more(
                                unit, seen, total, logs, whole, weight[j], begin[j], axes.share, low, high, lo, hi, v
                            )
                        bound += more * (mass[c, v] + (v == value))
                j += 1
            if bound < limit:
                near = slack(rows, state, c)
                change = bound - least[c] + state.level[c, value]
                if near and change - near < limit:
                    change = arrival(axes, rows, state, t, c)
                if change < limit and may_join(rows, state, t, c):
                    best, found = change, c
    state.answer[t], state.asked[t], state.asker[t] = best, state.clock[0], home
    return found, best


@inner
def arrival(axes, rows, state, t, c):
    """What a row of the tuple would add to the charge of a cluster."""
    change = -state.charge[c]
    for v in range(state.level.shape[1]):
        level = state.level[c, v]
        for j in range(rows.ranks.shape[1]):
            rank, low, high = rows.ranks[t, j], state.box[c, j, 0], state.box[c, j, 1]
            if rank < low or rank > high:
                node = up = np.int64(state.box[c, j, 2])
                if axes.kind[j] == TREE:
                    up = above(axes.first, axes.last, axes.parent, node, rank)
                level += range_rate(axes, j, up, min(rank, low), max(rank, high), v)
                level -= range_rate(axes, j, node, low, high, v)
        change += level * (state.mass[c, v] + (v == rows.value[t]))
    return change


@loop
def sweep(axes, rows, state, line, end, floor, begin, stop):
    """Steps 4 to 13 of Algorithm 2 for the rows line[begin:stop]: how many moved, and where the next one is.

    A cluster of `floor` rows or fewer keeps them. A row that stays ends its run: up to `end` are copies of it, which
    would find the same.
    """
    line, end = bare(line), bare(end)
    moved, step = 0, begin
    while step < stop:
        row = line[step]
        t, c = rows.tuple[row], state.place[row]
        found, saved, best = -1, 0.0, np.inf
        if state.size[c] > floor and may_leave(rows, state, t, c):
            if state.size[c] > 1:
                if state.changed[c] > state.left_at[row]:
                    state.left[row], state.left_at[row] = departure(axes, rows, state, row, c), state.clock[0]
                saved = state.left[row]
                best = -saved
            found, best = nearest(axes, rows, state, row, c, best)
        if found >= 0 and (state.size[c] == 1 or best + saved < -EPSILON):
            take(axes, rows, state, row, c)
            put(axes, rows, state, row, found)
            settle(axes, rows, state, c)
            settle(axes, rows, state, found)
            state.clock[0] += 1
            state.changed[c] = state.changed[found] = state.clock[0]
            state.recent[c // BLOCK] = state.recent[found // BLOCK] = state.clock[0]
            moved += 1
            step += 1
        else:
            step = end[step]
    return moved, step


@loop
def apart(axes, rows, state, one, added):
    """What uniting a cluster with each other one adds to the charge."""
    added, values, level = bare(added), state.level.shape[1], state.spare
    kind, begin, weight, unit = axes.kind, axes.begin, axes.weight, axes.unit
    rate, first, last, parent = axes.rate, axes.first, axes.last, axes.parent
    seen, total, logs, whole = axes.seen, axes.total, axes.logs, axes.whole
    table, start, side = axes.table, axes.start, axes.side
    for c in range(len(state.level)):
        for v in range(values):
            level[v] = state.level[c, v]
        for j in range(state.box.shape[1]):
            low, high = state.box[c, j, 0], state.box[c, j, 1]
            lo, hi = min(low, state.box[one, j, 0]), max(high, state.box[one, j, 1])
            if lo < low or hi > high:
                node = up = np.int64(state.box[c, j, 2])
                if kind[j] == TREE:
                    up = above(first, last, parent, above(first, last, parent, node, lo), hi)
                for v in range(values):
                    if kind[j] == TREE:
                        level[v] += rate[up, v] - rate[node, v]
                    elif kind[j] == LINE:
                        level[v] += line_more(unit, weight[j], begin[j], low, high, lo, hi)
                    elif kind[j] == TABLE:
                        level[v] += table[start[j] + lo * side[j] + hi, v] - table[start[j] + low * side[j] + high, v]
                    else:
                        level[v] += logs_more(
                            unit, seen, total, logs, whole, weight[j], begin[j], axes.share, low, high, lo, hi, v
                        )
        added[c] = -state.charge[c] - state.charge[one]
        for v in range(values):
            added[c] += level[v] * (state.mass[c, v] + state.mass[one, v])
