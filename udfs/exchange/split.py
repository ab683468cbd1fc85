"""Re-split: two groups that are near each other, or one that is large, are cut anew at a random node or number.

A part that breaks a model is mended: of the values whose move raises its margin, the row goes over that widens the
other part least. Of some tries the cheapest is offered.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from sqlanon.udfs.exchange.ground import HEIGHT, at_depth, box_loss, depth_of, range_loss, with_row
from sqlanon.udfs.exchange.machine import compiled, inlined
from sqlanon.udfs.exchange.rules import margin
from sqlanon.udfs.exchange.state import (
    AFTER,
    ALIVE,
    BEST,
    FAR,
    GOOD,
    GROUPS,
    HEAD,
    HI,
    LO,
    LOSS,
    NONE,
    OF,
    ROWS,
    SIDE,
    SIZE,
    SIZES,
    WORK,
    begin,
    below,
    finish,
    found,
    has_room,
    is_legal,
    join,
    leave,
)
from sqlanon.udfs.linked.profiles import uniform
from sqlanon.udfs.models import SLACK

TRIES, FEW = 8, 3
"""How many cuts are tried, and in a pool of more than `SOME` rows."""
SOME = 200
LARGE = 6000
"""A group of more rows is cut alone."""
MENDED = 60
"""Rows that may move to mend a part."""
LISTED = 64
"""Values whose move is tried; of more, some."""
SAME = 1e-9


@compiled
def limit(state, heat):
    """How much more a change may cost: nothing at heat 0, and on average the heat elsewhere."""
    return -heat * math.log(1e-12 + uniform(state.random)) if heat > 0 else -SAME


@compiled
def resplits(ground, rules, k, state, desk, heat, steps):
    """Try the move some times: what that changed the cost by."""
    total = 0.0
    for _ in range(steps):
        total += _resplit(ground, rules, k, state, desk, heat)
    return total


@inlined
def _resplit(ground, rules, k, state, desk, heat):
    """Try the move: what it changed the cost by."""
    row = below(state, state.rows.shape[1])
    a = state.rows[OF, row]
    if a < 0 or state.reals[LOSS, a] - ground.own[row] <= SAME:
        return 0.0
    is_alone = uniform(state.random) < 0.3
    if state.ints[SIZE, a] < 2 * k:
        is_alone = False
    if state.ints[SIZE, a] > LARGE:
        is_alone = True
    b = NONE if is_alone else _near(ground, state, a)
    if b < 0 and not is_alone:
        return 0.0
    count = _pooled(state, a, b, desk)
    old = state.ints[SIZE, a] * state.reals[LOSS, a]
    if b >= 0:
        old += state.ints[SIZE, b] * state.reals[LOSS, b]
    best = np.inf
    if b >= 0 and count < 3 * k:
        best = _as_one(ground, desk, count)
    for _ in range(TRIES if count <= SOME else FEW):
        state.numbers[WORK] += 4 * count
        cost = _cut(ground, rules, k, state, desk, count)
        if cost < best:
            best = cost
            for i in range(count):
                desk.ints[BEST, i] = desk.ints[SIDE, i]
    gain = best - old
    if not gain <= limit(state, heat) or abs(gain) < SAME or not has_room(state, count):
        return 0.0
    _apply(ground, state, desk, count, a, b)
    return gain


@inlined
def _near(ground, state, a):
    """A group whose union with this one costs little, or -1."""
    best, chosen = np.inf, NONE
    state.numbers[WORK] += state.numbers[GROUPS]
    for place in range(state.numbers[GROUPS]):
        b = state.ints[ALIVE, place]
        if b == a or state.ints[SIZE, b] > LARGE // 2:
            continue
        noise = 0.3 + uniform(state.random)
        cut = best / noise - 0.02 * ground.scale
        union, rows = 0.0, state.ints[SIZE, a] + state.ints[SIZE, b]
        most = (cut + state.ints[SIZE, a] * state.reals[LOSS, a] + state.ints[SIZE, b] * state.reals[LOSS, b]) / rows
        for j in range(state.box.shape[2]):
            union += range_loss(
                ground, j, min(state.box[LO, a, j], state.box[LO, b, j]), max(state.box[HI, a, j], state.box[HI, b, j])
            )
            if union > most:
                break
        if union <= most:
            added = (
                rows * union - state.ints[SIZE, a] * state.reals[LOSS, a] - state.ints[SIZE, b] * state.reals[LOSS, b]
            )
            far = (added + 0.02 * ground.scale) * noise
            if far < best:
                best, chosen = far, b
    return chosen


@inlined
def _pooled(state, a, b, desk):
    """Put the rows of both groups on the desk: how many."""
    count = 0
    for turn in range(2):
        g = a if turn == 0 else b
        row = state.ints[HEAD, g] if g >= 0 else -1
        while row >= 0:
            desk.ints[ROWS, count] = row
            count += 1
            row = state.rows[AFTER, row]
    return count


@inlined
def _as_one(ground, desk, count):
    """What the pool costs as one group."""
    desk.ints[SIDE, :count] = 0
    desk.ints[BEST, :count] = 0
    _boxes(ground, desk, count)
    return count * box_loss(ground, desk.box[0, 0], desk.box[1, 0])


@compiled
def _boxes(ground, desk, count):
    """The boxes of both parts."""
    desk.box[0, :2] = FAR
    desk.box[1, :2] = -1
    for i in range(count):
        side, row = desk.ints[SIDE, i], desk.ints[ROWS, i]
        for j in range(desk.box.shape[2]):
            rank = ground.ranks[row, j]
            desk.box[0, side, j], desk.box[1, side, j] = (
                min(desk.box[0, side, j], rank),
                max(desk.box[1, side, j], rank),
            )


@inlined
def _cut(ground, rules, k, state, desk, count):
    """Cut the pool once: what both parts cost, infinity if they cannot be mended."""
    desk.ints[SIDE, :count] = 0
    _boxes(ground, desk, count)
    wide = 0
    for j in range(desk.box.shape[2]):
        wide += desk.box[0, 0, j] < desk.box[1, 0, j]
    if wide == 0:
        return np.inf
    chosen, j = below(state, wide), -1
    while chosen >= 0:
        j += 1
        chosen -= desk.box[0, 0, j] < desk.box[1, 0, j]
    lo, hi = _edge(
        ground, state, j, ground.ranks[desk.ints[ROWS, below(state, count)], j], desk.box[0, 0, j], desk.box[1, 0, j]
    )
    desk.held[:2] = 0
    first = 0
    for i in range(count):
        rank = ground.ranks[desk.ints[ROWS, i], j]
        desk.ints[SIDE, i] = 0 if lo <= rank <= hi else 1
        first += desk.ints[SIDE, i] == 0
        desk.held[desk.ints[SIDE, i], ground.value[desk.ints[ROWS, i]]] += 1
    if first in (0, count):
        return np.inf
    _boxes(ground, desk, count)
    gives = uniform(state.random) < 0.5
    sizes = desk.held[SIZES]
    sizes[0], sizes[1] = first, count - first
    for turn in range(2):
        part = np.int64(turn)
        is_mended = _mend(ground, rules, k, state, desk, count, sizes, part, gives)
        if not is_mended and not _mend(ground, rules, k, state, desk, count, sizes, part, not gives):
            return np.inf
    if not is_legal(rules, k, desk.held[0], sizes[0], desk):
        return np.inf
    _boxes(ground, desk, count)
    return sizes[0] * box_loss(ground, desk.box[0, 0], desk.box[1, 0]) + sizes[1] * box_loss(
        ground, desk.box[0, 1], desk.box[1, 1]
    )


@inlined
def _edge(ground, state, j, rank, lo, hi):
    """A range of attribute j within [lo, hi] that holds the rank: a node of a tree, or numbers up to it or from it."""
    if ground.shape[HEIGHT, j] == 0:
        return (lo, rank) if uniform(state.random) < 0.5 else (rank, hi)
    top = depth_of(ground, j, lo, hi)
    depth = ground.shape[HEIGHT, j] - 1
    while depth > top + 1 and uniform(state.random) < 0.85:
        depth -= 1
    return at_depth(ground, j, rank, max(depth, top + 1) if top + 1 < ground.shape[HEIGHT, j] else top)


@compiled
def _mend(ground, rules, k, state, desk, count, sizes, part, gives):
    """Move rows until the part is legal: whether that was possible."""
    for _ in range(MENDED):
        if is_legal(rules, k, desk.held[part], sizes[part], desk):
            return True
        giver = part if gives else 1 - part
        if sizes[part] == 0 or sizes[1 - part] == 0 or (gives and sizes[part] < k):
            return False
        if not _helpful(rules, k, state, desk, sizes, part, gives):
            return False
        state.numbers[WORK] += count + min(desk.held.shape[1], LISTED) * desk.held.shape[1]
        best, chosen = np.inf, -1
        lo, hi = desk.box[0, 1 - giver], desk.box[1, 1 - giver]
        for i in range(count):
            if desk.ints[SIDE, i] == giver and desk.held[GOOD, ground.value[desk.ints[ROWS, i]]]:
                loss = with_row(ground, lo, hi, desk.ints[ROWS, i], best) + 1e-4 * ground.scale * uniform(state.random)
                if loss < best:
                    best, chosen = loss, i
        if chosen < 0:
            return False
        row = desk.ints[ROWS, chosen]
        desk.ints[SIDE, chosen] = 1 - giver
        for j in range(len(lo)):
            rank = ground.ranks[row, j]
            lo[j], hi[j] = min(lo[j], rank), max(hi[j], rank)
        desk.held[giver, ground.value[row]] -= 1
        desk.held[1 - giver, ground.value[row]] += 1
        sizes[giver] -= 1
        sizes[1 - giver] += 1
    return False


@inlined
def _helpful(rules, k, state, desk, sizes, part, gives):
    """Mark the values whose move makes the part better: whether there is one."""
    values = desk.held.shape[1]
    step = -1 if gives else 1
    giver = part if gives else 1 - part
    now = margin(rules, desk.held[part], sizes[part], desk.margin)
    is_small, some, tried = sizes[part] < k, False, 0
    start = below(state, values) if values > LISTED else 0
    desk.held[GOOD, :] = 0
    for turn in range(values):
        value = (start + turn) % values
        if desk.held[giver, value] == 0:
            continue
        tried += 1
        if tried > LISTED:
            break
        desk.held[part, value] += step
        then = margin(rules, desk.held[part], sizes[part] + step, desk.margin)
        desk.held[part, value] -= step
        if then > now + 1e-12 or (is_small and (then >= -SLACK or then >= now - 1e-12)):
            desk.held[GOOD, value] = 1
            some = True
    return some


@inlined
def _apply(ground, state, desk, count, a, b):
    """Make the best cut of the pool real."""
    begin(state)
    has_other = False
    for i in range(count):
        has_other |= desk.ints[BEST, i] == 1
    if b < 0 and has_other:
        b = found(state)
    for i in range(count):
        row, goal = desk.ints[ROWS, i], a if desk.ints[BEST, i] == 0 else b
        if state.rows[OF, row] != goal:
            leave(ground, state, row)
            join(ground, state, row, goal)
    finish(ground, state)
