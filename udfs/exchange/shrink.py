"""Shrink: a group's box is narrowed, and the rows left outside trade places with rows inside it.

A row inside with the same sensitive values is always a legal trade; one with others is taken if both groups stay legal.
Where the group can spare it, a row may also just move to the group that it widens least.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from sqlanon.udfs.exchange.ground import (
    at_depth,
    box_loss,
    copy_box,
    depth_of,
    height,
    is_inside,
    is_tree,
    rows_in,
    with_row,
)
from sqlanon.udfs.exchange.memory import (
    ADDED,
    AFTER,
    CHANGED,
    COST,
    FOUND,
    HEAD,
    LOOKS,
    LOSS,
    OF,
    OWN,
    POOL,
    RANK,
    ROWS,
    SEEN,
    SIZE,
    TOUCHED,
    VALUE,
    WIDTH,
    WORDS,
    WORK,
)
from sqlanon.udfs.exchange.place import room_for_row
from sqlanon.udfs.exchange.rules import keeps, would_keep
from sqlanon.udfs.exchange.state import (
    LOOKED_AT,
    SAME,
    begin,
    below,
    box_of,
    change,
    draft,
    finish,
    has_room,
    join,
    leave,
    limit,
    refresh,
    undo,
    uniform,
)
from sqlanon.udfs.space.machine import inner, unit

OUTSIDE = 12
"""At most this many rows are left outside."""
NARROW = 2
"""The narrowed box."""


@inner
def _narrowed(m, row, a):
    """Draft the group's box with one or two attributes narrowed towards the row: whether that is possible."""
    width, box = m[WIDTH], draft(m, NARROW)
    copy_box(m, box_of(m, a), box)
    for _ in range(1 + (uniform(m) < 0.3)):
        wide = 0
        for j in range(width):
            wide += m[box + j] < m[box + width + j]
        if wide == 0:
            return False
        chosen, j = below(m, wide), -1
        while chosen >= 0:
            j += 1
            chosen -= m[box + j] < m[box + width + j]
        rank, lo, hi = m[m[RANK] + row * width + j], m[box + j], m[box + width + j]
        if not is_tree(m, j):
            less = 1 + below(m, max(1, (hi - lo) // 2))
            left = below(m, less + 1)
            m[box + j], m[box + width + j] = min(rank, lo + left), max(rank, hi - (less - left))
            continue
        top = depth_of(m, j, lo, hi)
        if top + 1 >= height(m, j):
            return False
        depth = height(m, j) - 1
        while depth > top + 1 and uniform(m) < 0.8:
            depth -= 1
        first, last = at_depth(m, j, rank, depth)
        m[box + j], m[box + width + j] = max(lo, first), min(hi, last)
    return True


@inner
def _outside(m, a):
    """Pool the group's rows that are not in the box: how many, at most one more than may be."""
    count, row = 0, m[m[HEAD] + a]
    while row >= 0 and count <= OUTSIDE:
        if not is_inside(m, draft(m, NARROW), row):
            m[m[POOL] + count] = row
            count += 1
        row = m[m[AFTER] + row]
    return count


@inner
def _traded(m, x, a, row, inside, loss, most):
    """Trade a row of the group with one inside the box, or move it: what that costs; above `most` nothing was done."""
    best, other = _trade(m, x, a, row, inside, most)
    if would_keep(m, x, a, m[m[VALUE] + row], -1):
        leave(m, x, row)
        goal = room_for_row(m, x, row, best + loss, a, 0.0, 0)
        if goal >= 0:
            cost = x[COST]
            join(m, x, row, goal)
            return cost - loss
        join(m, x, row, a)
    if other < 0:
        return most + 1.0
    b = m[m[OF] + other]
    leave(m, x, row)
    leave(m, x, other)
    join(m, x, row, b)
    join(m, x, other, a)
    return best


@inner
def _trade(m, x, a, row, inside, most):
    """What the cheapest trade costs, and the row to trade with, or -1."""
    m[LOOKS] += 1
    m[WORK] += inside
    best, other, value = most, -1, m[m[VALUE] + row]
    for i in range(inside):
        mate = m[m[FOUND] + i]
        b = m[m[OF] + mate]
        if b == a or b < 0:
            continue
        if m[m[SEEN] + b] != m[LOOKS]:
            m[m[SEEN] + b] = m[LOOKS]
            refresh(m, x, b)
            now, size = x[m[LOSS] + b], m[m[SIZE] + b]
            x[m[ADDED] + b] = size * (with_row(m, x, box_of(m, b), row, now + (best + SAME) / size) - now)
        if x[m[ADDED] + b] >= best:
            continue
        theirs = m[m[VALUE] + mate]
        if theirs == value or (would_keep(m, x, b, theirs, value) and would_keep(m, x, a, value, theirs)):
            best, other = x[m[ADDED] + b], mate
            if best <= 0:
                break
    return best, other


@unit("float64", "float64")
def shrink(m, x, heat):
    """Try the move: what it changed the cost by."""
    row = below(m, m[ROWS])
    a = m[m[OF] + row]
    if x[m[LOSS] + a] - x[m[OWN] + row] <= SAME or not _narrowed(m, row, a):
        return 0.0
    box = draft(m, NARROW)
    loss, size = box_loss(m, x, box), m[m[SIZE] + a]
    if loss >= x[m[LOSS] + a]:
        return 0.0
    outside = _outside(m, a)
    if outside == 0 or outside > OUTSIDE or 2 * outside > size + 2 or not has_room(m, 4 * outside):
        return 0.0
    inside = rows_in(m, x, box, below(m, m[WORDS]), m[FOUND], LOOKED_AT)
    m[WORK] += m[WORDS] + inside
    most = limit(m, heat)
    begin(m)
    cost = -size * (x[m[LOSS] + a] - loss)
    for i in range(outside):
        cost += _traded(m, x, a, m[m[POOL] + i], inside, loss, most - cost)
        if cost > most:
            undo(m, x)
            return 0.0
    gain = change(m, x)
    is_fine = gain <= most and abs(gain) > SAME
    for place in range(m[CHANGED]):
        is_fine = is_fine and keeps(m, x, m[m[TOUCHED] + place])
    if not is_fine:
        undo(m, x)
        return 0.0
    finish(m, x)
    return gain
