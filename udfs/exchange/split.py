"""Re-split: two groups that are near each other, or one that is large, are cut anew at a random node or number.

A part that breaks a model is mended: of the values whose move raises its margin, the row goes over that widens the
other part least. Of some tries the cheapest is offered.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from sqlanon.udfs.exchange.ground import (
    at_depth,
    box_loss,
    depth_of,
    height,
    is_tree,
    start_box,
    widen,
    with_box,
    with_row,
)
from sqlanon.udfs.exchange.memory import (
    AFTER,
    ALIVE,
    BEST,
    GOOD,
    GROUPS,
    HEAD,
    LOSS,
    OF,
    OWN,
    PART,
    PARTS,
    POOL,
    RANK,
    ROWS,
    SCALE,
    SIDE,
    SIZE,
    VALUE,
    VALUES,
    WIDTH,
    WORK,
    K,
)
from sqlanon.udfs.exchange.rules import is_legal, margin
from sqlanon.udfs.exchange.state import (
    SAME,
    begin,
    below,
    box_of,
    draft,
    finish,
    found,
    has_room,
    join,
    leave,
    limit,
    uniform,
)
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.space.machine import inner, unit

TRIES, FEW = 8, 3
"""How many cuts are tried, and in a pool of more than `SOME` rows."""
SOME = 1000
LARGE = 6000
"""A group of more rows is cut alone."""
MENDED = 60
"""Rows that may move to mend a part."""
LISTED = 64
"""Values whose move is tried; of more, some."""
UNION = 2
"""The box of the pool; those of both parts are the first ones."""


@inner
def _near(m, x, a):
    """A group whose union with this one costs little, or -1."""
    best, chosen, mine = np.inf, -1, m[m[SIZE] + a]
    m[WORK] += m[GROUPS]
    for place in range(m[GROUPS]):
        b = m[m[ALIVE] + place]
        theirs = m[m[SIZE] + b]
        if b == a or theirs > LARGE // 2 or x[m[LOSS] + b] <= SAME:
            continue
        noise, now = 0.3 + uniform(m), mine * x[m[LOSS] + a] + theirs * x[m[LOSS] + b]
        most = (best / noise - 0.02 * x[SCALE] + now) / (mine + theirs)
        union = with_box(m, x, box_of(m, a), box_of(m, b), most)
        if union <= most:
            best, chosen = ((mine + theirs) * union - now + 0.02 * x[SCALE]) * noise, b
    return chosen


@inner
def _pooled(m, g, count):
    """Put the rows of a group after those that are pooled, and into the box of the pool: how many these are then."""
    row = m[m[HEAD] + g]
    while row >= 0:
        if count == 0:
            start_box(m, draft(m, UNION), row)
        widen(m, draft(m, UNION), row)
        m[m[POOL] + count] = row
        count += 1
        row = m[m[AFTER] + row]
    return count


@inner
def _cut(m, x, count):
    """Cut the pool once: what both parts cost, infinity if they cannot be mended."""
    width, values, union = m[WIDTH], m[VALUES], draft(m, UNION)
    wide = 0
    for j in range(width):
        wide += m[union + j] < m[union + width + j]
    if wide == 0:
        return np.inf
    chosen, j = below(m, wide), -1
    while chosen >= 0:
        j += 1
        chosen -= m[union + j] < m[union + width + j]
    at = m[RANK] + m[m[POOL] + below(m, count)] * width + j
    lo, hi = _edge(m, j, m[at], m[union + j], m[union + width + j])
    for value in range(2 * values):
        m[m[PART] + value] = 0
    parts = m[PARTS]
    m[parts] = m[parts + 1] = 0
    for i in range(count):
        row = m[m[POOL] + i]
        rank = m[m[RANK] + row * width + j]
        side = 0 if lo <= rank <= hi else 1
        m[m[SIDE] + i] = side
        _count(m, row, side, 1)
    if m[parts] == 0 or m[parts + 1] == 0:
        return np.inf
    _boxes(m, count)
    gives = uniform(m) < 0.5
    for part in range(2):
        if not _mended(m, x, count, part, gives) and not _mended(m, x, count, part, not gives):
            return np.inf
    if not is_legal(m, x, m[PART], m[parts]):
        return np.inf
    _boxes(m, count)
    return m[parts] * box_loss(m, x, draft(m, 0)) + m[parts + 1] * box_loss(m, x, draft(m, 1))


@inner
def _count(m, row, side, step):
    """Count a row to a part, or no longer."""
    m[m[PARTS] + side] += step
    m[m[PART] + side * m[VALUES] + m[m[VALUE] + row]] += step


@inner
def _boxes(m, count):
    """The boxes of both parts."""
    seen = 0
    for i in range(count):
        side, row = m[m[SIDE] + i], m[m[POOL] + i]
        if not seen & (side + 1):
            seen |= side + 1
            start_box(m, draft(m, side), row)
        else:
            widen(m, draft(m, side), row)


@inner
def _edge(m, j, rank, lo, hi):
    """A range of attribute j within [lo, hi] that holds the rank: a node of a tree, or numbers up to it or from it."""
    if not is_tree(m, j):
        return (lo, rank) if uniform(m) < 0.5 else (rank, hi)
    top = depth_of(m, j, lo, hi)
    depth = height(m, j) - 1
    while depth > top + 1 and uniform(m) < 0.85:
        depth -= 1
    return at_depth(m, j, rank, max(depth, top + 1) if top + 1 < height(m, j) else top)


@inner
def _mended(m, x, count, part, gives):
    """Move rows until the part is legal: whether that was possible."""
    giver = part if gives else 1 - part
    taker = 1 - giver
    for _ in range(MENDED):
        size = m[m[PARTS] + part]
        if is_legal(m, x, m[PART] + part * m[VALUES], size):
            return True
        if size == 0 or m[m[PARTS] + 1 - part] == 0 or (gives and size < m[K]):
            return False
        if not _helped(m, x, part, giver):
            return False
        m[WORK] += (count + min(m[VALUES], LISTED) * m[VALUES]) // 2
        best, chosen = np.inf, -1
        for i in range(count):
            row = m[m[POOL] + i]
            if m[m[SIDE] + i] == giver and m[m[GOOD] + m[m[VALUE] + row]]:
                loss = with_row(m, x, draft(m, taker), row, best) + 1e-4 * x[SCALE] * uniform(m)
                if loss < best:
                    best, chosen = loss, i
        if chosen < 0:
            return False
        row = m[m[POOL] + chosen]
        m[m[SIDE] + chosen] = taker
        widen(m, draft(m, taker), row)
        _count(m, row, giver, -1)
        _count(m, row, taker, 1)
    return False


@inner
def _helped(m, x, part, giver):
    """Mark the values whose move makes the part better: whether there is one, and such moves may be enough."""
    values, size = m[VALUES], m[m[PARTS] + part]
    step = -1 if giver == part else 1
    held, theirs = m[PART] + part * values, m[PART] + giver * values
    now = margin(m, x, held, size)
    is_small, some, tried, most = size < m[K], False, 0, now
    start = below(m, values) if values > LISTED else 0
    for value in range(values):
        m[m[GOOD] + value] = 0
    for turn in range(values):
        value = start + turn if start + turn < values else start + turn - values
        if m[theirs + value] == 0:
            continue
        tried += 1
        if tried > LISTED:
            break
        m[held + value] += step
        then = margin(m, x, held, size + step)
        m[held + value] -= step
        if then > now + 1e-12 or (is_small and (then >= -SLACK or then >= now - 1e-12)):
            m[m[GOOD] + value] = 1
            most = max(most, then)
            some = True
    return some and (is_small or now + 2 * MENDED * (most - now) >= 0)


@inner
def _apply(m, x, count, a, b):
    """Make the best cut of the pool real."""
    begin(m)
    has_other = False
    for i in range(count):
        has_other |= m[m[BEST] + i] == 1
    if b < 0 and has_other:
        b = found(m, x)
    for i in range(count):
        row, goal = m[m[POOL] + i], a if m[m[BEST] + i] == 0 else b
        if m[m[OF] + row] != goal:
            leave(m, x, row)
            join(m, x, row, goal)
    finish(m, x)


@unit("float64", "float64")
def resplit(m, x, heat):
    """Try the move: what it changed the cost by."""
    row = below(m, m[ROWS])
    a = m[m[OF] + row]
    if x[m[LOSS] + a] - x[m[OWN] + row] <= SAME:
        return 0.0
    size = m[m[SIZE] + a]
    is_alone = size > LARGE or (size >= 2 * m[K] and uniform(m) < 0.3)
    b = -1 if is_alone else _near(m, x, a)
    if b < 0 and not is_alone:
        return 0.0
    old = size * x[m[LOSS] + a]
    count = _pooled(m, a, 0)
    if b >= 0:
        old += m[m[SIZE] + b] * x[m[LOSS] + b]
        count = _pooled(m, b, count)
    best = np.inf
    if b >= 0 and count < 3 * m[K]:
        best = count * box_loss(m, x, draft(m, UNION))
        for i in range(count):
            m[m[BEST] + i] = 0
    for _ in range(TRIES if count <= SOME else FEW):
        m[WORK] += 4 * count
        cost = _cut(m, x, count)
        if cost < best:
            best = cost
            for i in range(count):
                m[m[BEST] + i] = m[m[SIDE] + i]
    gain = best - old
    if not gain <= limit(m, heat) or abs(gain) < SAME or not has_room(m, count):
        return 0.0
    _apply(m, x, count, a, b)
    return gain
