"""Groups as compiled code changes them: rows leave and join, and all that was changed can be taken back.

The rows of a group are a chain. A group's box grows with each row that joins, and is found again when it is asked for
after a row at its edge has left. `begin` opens a change, `change` says what it costs, and `undo` or `finish` ends it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from sqlanon.udfs.exchange.ground import box_loss, copy_box, start_box, widen
from sqlanon.udfs.exchange.memory import (
    ADDED,
    AFTER,
    ALIVE,
    BEFORE,
    BEST,
    BOX,
    CHANGED,
    DRAFT,
    FOUND,
    FREE,
    GOOD,
    GROUPS,
    HEAD,
    HELD,
    KEY,
    LOG,
    LOG_FROM,
    LOGGED,
    LOSS,
    OF,
    OLD_BOX,
    OLD_LOSS,
    OLD_SIZE,
    OLD_STALE,
    ORDER,
    PART,
    PARTS,
    PLAN,
    POOL,
    RANDOM,
    RANK,
    REST,
    ROOM,
    ROWS,
    SEEN,
    SIDE,
    SIZE,
    SPARES,
    STALE,
    STAMP,
    THERE,
    TICK,
    TOUCHED,
    VALUE,
    VALUES,
    WHERE,
    WIDTH,
    Memory,
)
from sqlanon.udfs.problem import Ints
from sqlanon.udfs.space.machine import GOLDEN, drawn, inner, unit

SPARE = 64
"""Groups beyond those that fit, while rows are under way."""
LOOKED_AT = 1000
"""Rows of a box that are looked at."""
SAME = 1e-9
STEP = np.int64(np.uint64(GOLDEN).astype(np.int64))


def lay_groups(memory: Memory, group: Ints, value: Ints, k: int) -> None:
    """Put the rows into groups 0, 1, 2, ... as numbered, with room for all that there may be. What they lose is not
    known yet."""
    header = memory.header
    rows, width, values, groups = int(header[ROWS]), int(header[WIDTH]), int(header[VALUES]), int(group.max()) + 1
    most = max(groups, rows // max(k, 1)) + SPARE
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    last = np.append(first[1:], rows) - 1
    after, before, head, size = np.full(rows, -1), np.full(rows, -1), np.full(most, -1), np.zeros(most, dtype=np.int64)
    after[order[:-1]], before[order[1:]] = order[1:], order[:-1]
    after[order[last]], before[order[first]] = -1, -1
    head[:groups], size[:groups] = order[first], last - first + 1
    every = np.arange(most)
    for name, array in ((OF, group), (AFTER, after), (BEFORE, before), (HEAD, head), (SIZE, size)):
        memory.put(name, array)
    memory.put(STALE, (every < groups).astype(np.int64))
    memory.put(WHERE, np.where(every < groups, every, -1))
    memory.put(ALIVE, every)
    memory.put(FREE, np.roll(every, -groups))
    memory.put(HELD, np.bincount(group * values + value, minlength=most * values))
    header[[GROUPS, SPARES, ROOM]] = groups, most - groups, 4 * rows + 10_000
    memory.room(most, STAMP, SEEN, TOUCHED, OLD_SIZE, OLD_STALE)
    memory.room(2 * most * width, BOX, OLD_BOX)
    memory.room(int(header[ROOM]), LOG, LOG_FROM)
    memory.room(max(rows, 2), POOL, FOUND, SIDE, BEST, ORDER, REST)
    memory.room(values, THERE, PLAN, GOOD)
    memory.room(2 * values, PART)
    memory.room(2, PARTS)
    memory.room(8 * width, DRAFT)
    for name, length in ((LOSS, most), (OLD_LOSS, most), (ADDED, most), (KEY, max(rows, width))):
        memory.put(name, np.zeros(length))


@inner
def uniform(m):
    """A random number from 0 to 1, without 1."""
    m[RANDOM] += STEP
    return drawn(np.uint64(m[RANDOM]))


@inner
def below(m, count):
    """A random number below the count."""
    return min(int(uniform(m) * count), count - 1)


@inner
def limit(m, heat):
    """How much more a change may cost: nothing at heat 0, and on average the heat elsewhere."""
    return -heat * math.log(1e-12 + uniform(m)) if heat > 0 else -SAME


@unit("int64", "int64")
def sort(m, x, count):
    """Fill the order with the places of so many keys, the least first: how many."""
    order, key = m[ORDER], m[KEY]
    for i in range(count):
        m[order + i] = i
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            mine, j = m[order + i], i
            mine_key = x[key + mine]
            while j >= gap and x[key + m[order + j - gap]] > mine_key:
                m[order + j] = m[order + j - gap]
                j -= gap
            m[order + j] = mine
        gap //= 3
    return count


@inner
def draft(m, number):
    """The place of one of four boxes to work in."""
    return m[DRAFT] + 2 * number * m[WIDTH]


@inner
def box_of(m, g):
    """The place of a group's box."""
    return m[BOX] + 2 * g * m[WIDTH]


@inner
def refresh(m, x, g):
    """Find the group's box again, if a row at its edge has left."""
    if not m[m[STALE] + g]:
        return
    m[m[STALE] + g] = 0
    row, box = m[m[HEAD] + g], box_of(m, g)
    if row < 0:
        x[m[LOSS] + g] = 0.0
        return
    start_box(m, box, row)
    while row >= 0:
        widen(m, box, row)
        row = m[m[AFTER] + row]
    x[m[LOSS] + g] = box_loss(m, x, box)


@inner
def begin(m):
    """Open a change."""
    m[TICK] += 1
    m[CHANGED] = 0
    m[LOGGED] = 0


@inner
def touch(m, x, g):
    """Remember what the group is now, if that is not yet known."""
    if m[m[STAMP] + g] == m[TICK]:
        return
    m[m[STAMP] + g] = m[TICK]
    place = m[CHANGED]
    m[m[TOUCHED] + place] = g
    copy_box(m, box_of(m, g), m[OLD_BOX] + 2 * place * m[WIDTH])
    x[m[OLD_LOSS] + place], m[m[OLD_SIZE] + place] = x[m[LOSS] + g], m[m[SIZE] + g]
    m[m[OLD_STALE] + place] = m[m[STALE] + g]
    m[CHANGED] += 1


@inner
def _log(m, row):
    m[m[LOG] + m[LOGGED]] = row
    m[m[LOG_FROM] + m[LOGGED]] = m[m[OF] + row]
    m[LOGGED] += 1


@inner
def _unchain(m, row):
    g, before, after = m[m[OF] + row], m[m[BEFORE] + row], m[m[AFTER] + row]
    if before >= 0:
        m[m[AFTER] + before] = after
    else:
        m[m[HEAD] + g] = after
    if after >= 0:
        m[m[BEFORE] + after] = before
    m[m[HELD] + g * m[VALUES] + m[m[VALUE] + row]] -= 1
    m[m[SIZE] + g] -= 1
    m[m[OF] + row] = -1


@inner
def _chain(m, row, g):
    first = m[m[HEAD] + g]
    m[m[BEFORE] + row], m[m[AFTER] + row] = -1, first
    if first >= 0:
        m[m[BEFORE] + first] = row
    m[m[HEAD] + g] = row
    m[m[HELD] + g * m[VALUES] + m[m[VALUE] + row]] += 1
    m[m[SIZE] + g] += 1
    m[m[OF] + row] = g


@unit("int64", "int64")
def leave(m, x, row):
    """Take a row out of its group: which that is."""
    g, width = m[m[OF] + row], m[WIDTH]
    touch(m, x, g)
    _log(m, row)
    _unchain(m, row)
    box = box_of(m, g)
    for j in range(width):
        rank = m[m[RANK] + row * width + j]
        if rank == m[box + j] or rank == m[box + width + j]:
            m[m[STALE] + g] = 1
    return g


@unit("int64", "int64", "int64")
def join(m, x, row, g):
    """Put a row that is under way into a group: how many rows that has now."""
    touch(m, x, g)
    _log(m, row)
    _chain(m, row, g)
    box = box_of(m, g)
    if m[m[SIZE] + g] == 1:
        start_box(m, box, row)
        m[m[STALE] + g] = 0
    else:
        widen(m, box, row)
    if not m[m[STALE] + g]:
        x[m[LOSS] + g] = box_loss(m, x, box)
    return m[m[SIZE] + g]


@inner
def has_room(m, rows):
    """May this many more rows move in this change?"""
    return m[LOGGED] + 2 * rows < m[ROOM] and m[SPARES] > 2


@inner
def found(m, x):
    """The number of a new, empty group."""
    m[SPARES] -= 1
    g = m[m[FREE] + m[SPARES]]
    m[m[WHERE] + g] = m[GROUPS]
    m[m[ALIVE] + m[GROUPS]] = g
    m[GROUPS] += 1
    x[m[LOSS] + g], m[m[STALE] + g] = 0.0, 0
    touch(m, x, g)
    return g


@inner
def _close(m):
    """Groups without rows are free again."""
    for place in range(m[CHANGED]):
        g = m[m[TOUCHED] + place]
        if m[m[SIZE] + g] == 0 and m[m[WHERE] + g] >= 0:
            m[GROUPS] -= 1
            last = m[m[ALIVE] + m[GROUPS]]
            m[m[ALIVE] + m[m[WHERE] + g]], m[m[WHERE] + last] = last, m[m[WHERE] + g]
            m[m[WHERE] + g] = -1
            m[m[FREE] + m[SPARES]] = g
            m[SPARES] += 1
    begin(m)


@unit("int64")
def undo(m, x):
    """Take the change back: how many groups there are then."""
    for step in range(m[LOGGED] - 1, -1, -1):
        row, g = m[m[LOG] + step], m[m[LOG_FROM] + step]
        if m[m[OF] + row] >= 0:
            _unchain(m, row)
        if g >= 0:
            _chain(m, row, g)
    for place in range(m[CHANGED]):
        g = m[m[TOUCHED] + place]
        copy_box(m, m[OLD_BOX] + 2 * place * m[WIDTH], box_of(m, g))
        x[m[LOSS] + g], m[m[STALE] + g] = x[m[OLD_LOSS] + place], m[m[OLD_STALE] + place]
    _close(m)
    return m[GROUPS]


@unit("float64")
def change(m, x):
    """What the change costs, rows under way not counted."""
    total = 0.0
    for place in range(m[CHANGED]):
        g = m[m[TOUCHED] + place]
        refresh(m, x, g)
        total += m[m[SIZE] + g] * x[m[LOSS] + g] - m[m[OLD_SIZE] + place] * x[m[OLD_LOSS] + place]
    return total


@inner
def finish(m, x):
    """Keep the change."""
    change(m, x)
    _close(m)
