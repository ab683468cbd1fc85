"""Shrink: a group's box is narrowed, and the rows left outside trade places with rows inside it.

A row inside with the same sensitive values is always a legal trade; one with others is taken if both groups stay legal.
Where the group can spare it, a row may also just move to the group that it widens least.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from sqlanon.udfs.exchange.ground import HEIGHT, at_depth, box_loss, depth_of, is_inside, rows_in, with_row
from sqlanon.udfs.exchange.machine import compiled, inlined
from sqlanon.udfs.exchange.split import SAME, limit
from sqlanon.udfs.exchange.state import (
    ADDED,
    AFTER,
    ALIVE,
    CHANGED,
    FOUND,
    GROUPS,
    HEAD,
    HI,
    LO,
    LOOKED_AT,
    LOOKS,
    LOSS,
    NONE,
    OF,
    ROWS,
    SEEN,
    SIZE,
    STALE,
    TOUCHED,
    WORK,
    begin,
    below,
    change,
    finish,
    has_room,
    join,
    keeps,
    leave,
    refresh,
    undo,
    would_keep,
)
from sqlanon.udfs.linked.profiles import uniform

OUTSIDE = 12
"""At most this many rows are left outside."""


@compiled
def shrinks(ground, rules, k, state, desk, heat, steps):
    """Try the move some times: what that changed the cost by."""
    total = 0.0
    for _ in range(steps):
        total += _shrink(ground, rules, k, state, desk, heat)
    return total


@inlined
def _shrink(ground, rules, k, state, desk, heat):
    """Try the move: what it changed the cost by."""
    row = below(state, state.rows.shape[1])
    a = state.rows[OF, row]
    if a < 0 or state.reals[LOSS, a] - ground.own[row] <= SAME or not _narrowed(ground, state, desk, row, a):
        return 0.0
    lo, hi = desk.box[0, 2], desk.box[1, 2]
    loss = box_loss(ground, lo, hi)
    if loss >= state.reals[LOSS, a]:
        return 0.0
    outside = _outside(ground, state, desk, a)
    if outside == 0 or outside > OUTSIDE or 2 * outside > state.ints[SIZE, a] + 2 or not has_room(state, 4 * outside):
        return 0.0
    inside = rows_in(ground, lo, hi, below(state, len(desk.words)), desk.words, desk.ints[FOUND], LOOKED_AT)
    state.numbers[WORK] += len(desk.words) + inside
    most = limit(state, heat)
    begin(state)
    cost = -state.ints[SIZE, a] * (state.reals[LOSS, a] - loss)
    for i in range(outside):
        added = _traded(ground, rules, k, state, desk, a, desk.ints[ROWS, i], inside, loss, most - cost)
        cost += added
        if cost > most:
            undo(ground, state)
            return 0.0
    gain = change(ground, state)
    is_fine = gain <= most and abs(gain) > SAME
    for place in range(state.numbers[CHANGED]):
        is_fine = is_fine and keeps(rules, k, state, state.ints[TOUCHED, place], desk)
    if not is_fine:
        undo(ground, state)
        return 0.0
    finish(ground, state)
    return gain


@inlined
def _narrowed(ground, state, desk, row, a):
    """Put the group's box on the desk, one or two attributes of it narrowed towards the row: whether that is
    possible."""
    lo, hi = desk.box[0, 2], desk.box[1, 2]
    for j in range(len(lo)):
        lo[j], hi[j] = state.box[LO, a, j], state.box[HI, a, j]
    for _ in range(1 + (uniform(state.random) < 0.3)):
        wide = 0
        for j in range(len(lo)):
            wide += lo[j] < hi[j]
        if wide == 0:
            return False
        chosen, j = below(state, wide), -1
        while chosen >= 0:
            j += 1
            chosen -= lo[j] < hi[j]
        rank = ground.ranks[row, j]
        if ground.shape[HEIGHT, j] == 0:
            less = 1 + below(state, max(1, (hi[j] - lo[j]) // 2))
            left = below(state, less + 1)
            lo[j], hi[j] = min(rank, lo[j] + left), max(rank, hi[j] - (less - left))
            continue
        top = depth_of(ground, j, lo[j], hi[j])
        if top + 1 >= ground.shape[HEIGHT, j]:
            return False
        depth = ground.shape[HEIGHT, j] - 1
        while depth > top + 1 and uniform(state.random) < 0.8:
            depth -= 1
        first, last = at_depth(ground, j, rank, depth)
        lo[j], hi[j] = max(lo[j], first), min(hi[j], last)
    return True


@inlined
def _outside(ground, state, desk, a):
    """Put the group's rows that are not in the box on the desk: how many, at most one more than may be."""
    count, row = 0, state.ints[HEAD, a]
    while row >= 0 and count <= OUTSIDE:
        if not is_inside(ground, desk.box[0, 2], desk.box[1, 2], row):
            desk.ints[ROWS, count] = row
            count += 1
        row = state.rows[AFTER, row]
    return count


@inlined
def _traded(ground, rules, k, state, desk, a, row, inside, loss, most):
    """Trade a row of the group with one inside the box, or move it: what that costs; above `most` nothing was done."""
    state.numbers[LOOKS] += 1
    state.numbers[WORK] += inside + state.numbers[GROUPS]
    tick, value = state.numbers[LOOKS], ground.value[row]
    best, other = most, NONE
    for i in range(inside):
        mate = desk.ints[FOUND, i]
        b = state.rows[OF, mate]
        if b == a or b < 0:
            continue
        if state.ints[SEEN, b] != tick:
            state.ints[SEEN, b] = tick
            if state.ints[STALE, b]:
                refresh(ground, state, b)
            high = state.reals[LOSS, b] + (best + SAME) / state.ints[SIZE, b]
            state.reals[ADDED, b] = state.ints[SIZE, b] * (
                with_row(ground, state.box[LO, b], state.box[HI, b], row, high) - state.reals[LOSS, b]
            )
        if state.reals[ADDED, b] >= best:
            continue
        theirs = ground.value[mate]
        if theirs == value or (
            would_keep(rules, k, state, b, theirs, value, desk) and would_keep(rules, k, state, a, value, theirs, desk)
        ):
            best, other = state.reals[ADDED, b], mate
            if best <= 0:
                break
    goal = NONE
    if would_keep(rules, k, state, a, value, NONE, desk):
        for place in range(state.numbers[GROUPS]):
            b = state.ints[ALIVE, place]
            if b == a or state.reals[LOSS, b] - loss >= best:
                continue
            if state.ints[STALE, b]:
                refresh(ground, state, b)
            rows = state.ints[SIZE, b]
            high = (best + loss + rows * state.reals[LOSS, b]) / (rows + 1)
            added = (
                (rows + 1) * with_row(ground, state.box[LO, b], state.box[HI, b], row, high)
                - rows * state.reals[LOSS, b]
                - loss
            )
            if added < best and would_keep(rules, k, state, b, NONE, value, desk):
                best, goal = added, b
    if goal >= 0:
        leave(ground, state, row)
        join(ground, state, row, goal)
    elif other >= 0:
        b = state.rows[OF, other]
        leave(ground, state, row)
        leave(ground, state, other)
        join(ground, state, row, b)
        join(ground, state, other, a)
    else:
        return most + 1.0
    return best
