"""Open: a new group in the box of a badly placed row, with rows that lose most where they are.

The box begins at the row and is widened attribute by attribute until a legal group fits into it. Groups that lose rows
and become illegal are filled again, or dissolved: their rows go to legal groups, each to the one that it widens least.
Where there are two values, a row of the rarer one goes together with the rows of the other that are nearest to it, as
many as the models allow or a little less: any group stays legal with such a unit.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from sqlanon.udfs.exchange.ground import (
    KNOWN,
    RANKS,
    at_depth,
    box_loss,
    depth_of,
    is_tree,
    range_loss,
    rows_in,
    start_box,
    widen,
    with_row,
)
from sqlanon.udfs.exchange.memory import (
    AFTER,
    CHANGED,
    COST,
    FEWEST,
    FOUND,
    HEAD,
    KEY,
    LOSS,
    MINOR,
    MOST,
    OF,
    ORDER,
    OWN,
    PLAN,
    POOL,
    REST,
    ROWS,
    SCALE,
    SHAPE,
    SHARE,
    SIDE,
    SIZE,
    THERE,
    TOUCHED,
    VALUE,
    VALUES,
    WIDTH,
    WORDS,
    WORK,
    K,
)
from sqlanon.udfs.exchange.place import room_for_row, room_for_unit
from sqlanon.udfs.exchange.rules import is_legal, keeps, would_keep
from sqlanon.udfs.exchange.state import (
    LOOKED_AT,
    SAME,
    begin,
    below,
    change,
    draft,
    finish,
    found,
    has_room,
    join,
    leave,
    limit,
    sort,
    undo,
    uniform,
)
from sqlanon.udfs.space.machine import inner, unit

WIDER = 60
"""How often a box may be widened."""
ROUNDS = 6
POOLED = 200
"""Rows that may be without a group at a time."""
NOISE = 0.2
NEW, GATHERED = 2, 3
"""The box of the new group, and that of rows that have none."""


@inner
def _badly_placed(m, x):
    """A row that loses something, or -1."""
    for _ in range(30):
        row = below(m, m[ROWS])
        if x[m[LOSS] + m[m[OF] + row]] - x[m[OWN] + row] > SAME:
            return row
    return -1


@inner
def _box(m, x, row, most):
    """Draft a box around the row that a legal group fits into and that loses less than `most`, find its rows, and plan
    the values that such a group may have: how many rows there are, or 0."""
    width, box, head = m[WIDTH], draft(m, NEW), m[m[HEAD] + m[m[OF] + row]]
    start_box(m, box, row)
    if uniform(m) < 0.33:
        mate = head
        for _ in range(1 + below(m, 3)):
            for _ in range(below(m, 8)):
                mate = m[m[AFTER] + mate] if m[m[AFTER] + mate] >= 0 else head
            if with_row(m, x, box, mate, most) < most:
                widen(m, box, mate)
    for j in range(width):
        x[m[KEY] + j] = uniform(m) * uniform(m) + 0.01
        if is_tree(m, j):
            lo, hi = m[box + j], m[box + width + j]
            m[box + j], m[box + width + j] = at_depth(m, j, lo, depth_of(m, j, lo, hi))
    for _ in range(WIDER):
        count = rows_in(m, x, box, below(m, m[WORDS]), m[FOUND], LOOKED_AT)
        m[WORK] += m[WORDS] + 2 * count + m[VALUES]
        if count >= m[K] and _fits(m, x, count):
            return count
        if not _widened(m, x) or box_loss(m, x, box) >= most:
            return 0
    return 0


@inner
def _widened(m, x):
    """Widen the box by a node or some numbers of one attribute: whether that is possible."""
    width, box = m[WIDTH], draft(m, NEW)
    best, chosen, low, high = np.inf, -1, 0, 0
    for j in range(width):
        lo, hi = m[box + j], m[box + width + j]
        if is_tree(m, j):
            depth = depth_of(m, j, lo, hi)
            first, last = at_depth(m, j, lo, depth)
            while depth > 0 and first == lo and last == hi:
                depth -= 1
                first, last = at_depth(m, j, lo, depth)
        else:
            more = 1 + below(m, 3)
            left = below(m, more + 1)
            first, last = max(0, lo - left), min(m[m[SHAPE] + KNOWN * j + RANKS] - 1, hi + more - left)
        if first == lo and last == hi:
            continue
        added = range_loss(m, x, j, first, last) - range_loss(m, x, j, lo, hi)
        score = (added + 0.003 * x[SCALE]) * (0.2 + uniform(m)) / x[m[KEY] + j]
        if score < best:
            best, chosen, low, high = score, j, first, last
    if chosen < 0:
        return False
    m[box + chosen], m[box + width + chosen] = low, high
    return True


@inner
def _fits(m, x, count):
    """Can k rows or some more of those found be a legal group? If so, the plan says how many of each value."""
    there, plan, total = m[THERE], m[PLAN], 0
    for value in range(m[VALUES]):
        m[there + value] = 0
    for i in range(count):
        m[there + m[m[VALUE] + m[m[FOUND] + i]]] += 1
    # As the table has them, as far as there are enough,
    for value in range(m[VALUES]):
        m[plan + value] = min(m[there + value], int(m[K] * x[m[SHARE] + value] + 0.5))
        total += m[plan + value]
    if _leveled(m, x, total):
        return True
    # or all as equally frequent as possible.
    for value in range(m[VALUES]):
        m[plan + value] = 0
    return _leveled(m, x, 0)


@inner
def _leveled(m, x, total):
    """Add to the plan where it has least until it has k rows: whether it is legal then."""
    there, plan, level = m[THERE], m[PLAN], 0
    while total < m[K] and level < m[K]:
        level += 1
        for value in range(m[VALUES]):
            if m[plan + value] < level and m[plan + value] < m[there + value] and total < m[K]:
                m[plan + value] += 1
                total += 1
    return is_legal(m, x, plan, total)


@inner
def _chosen(m, x, row, inside, loss):
    """Pool rows that are to be the new group, those that lose most first, within the plan or as near to it as models
    require: how many."""
    a, found_, side = m[m[OF] + row], m[FOUND], m[SIDE]
    own = 0.3 * uniform(m) * x[m[LOSS] + a]
    for i in range(inside):
        mate = m[found_ + i]
        g = m[m[OF] + mate]
        worth = x[m[LOSS] + g] + NOISE * max(loss, SAME) * (uniform(m) - 0.5) + (own if g == a else 0.0)
        x[m[KEY] + i] = -worth if mate != row else -np.inf
        m[side + i] = 0
    sort(m, x, inside)
    m[WORK] += 12 * inside
    held, plan, count, order = m[THERE], m[PLAN], 0, m[ORDER]
    for value in range(m[VALUES]):
        m[held + value] = 0
    is_planned = uniform(m) < 0.75
    for turn in range(2):
        for place in range(inside):
            i = m[order + place]
            value = m[m[VALUE] + m[found_ + i]]
            is_wanted = turn == 1 or not is_planned or m[held + value] < m[plan + value]
            if count < m[K] and m[side + i] == 0 and is_wanted:
                m[side + i] = 1
                m[held + value] += 1
                count += 1
    if not _exchanged(m, x, inside, count):
        return 0
    total = 0
    for place in range(inside):
        i = m[order + place]
        if m[side + i]:
            m[m[POOL] + total] = m[found_ + i]
            total += 1
    return total


@inner
def _exchanged(m, x, inside, count):
    """Exchange rows until the models hold, at the latest when all is as planned: whether they do."""
    held, plan, side = m[THERE], m[PLAN], m[SIDE]
    while not is_legal(m, x, held, count):
        m[WORK] += inside + m[VALUES]
        new, old = -1, -1
        for place in range(inside):
            i = m[m[ORDER] + place]
            value = m[m[VALUE] + m[m[FOUND] + i]]
            if m[side + i] == 0 and new < 0 and m[held + value] < m[plan + value]:
                new = i
            if m[side + i] == 1 and m[held + value] > m[plan + value]:
                old = i
        if new < 0:
            return False
        m[side + new] = 1
        m[held + m[m[VALUE] + m[m[FOUND] + new]]] += 1
        if old >= 0:
            m[side + old] = 0
            m[held + m[m[VALUE] + m[m[FOUND] + old]]] -= 1
        else:
            count += 1
    return True


@inner
def _more(m, x, g, inside, loss):
    """Let more rows of the box join, up to 2k, where they gain and nothing breaks."""
    for i in range(inside):
        row = m[m[FOUND] + i]
        b, value = m[m[OF] + row], m[m[VALUE] + row]
        if m[m[SIZE] + g] >= 2 * m[K]:
            return
        if b == g or x[m[LOSS] + b] <= loss or not would_keep(m, x, g, -1, value):
            continue
        if keeps(m, x, b) and not would_keep(m, x, b, value, -1):
            continue
        leave(m, x, row)
        join(m, x, row, g)


@inner
def _settled(m, x, a, most, before):
    """Put all in order: whether every group is legal again and the change costs at most `most`."""
    bonus, count = 0.5 * before * uniform(m), 0
    if m[m[SIZE] + a] and not keeps(m, x, a):
        count = _dissolved(m, x, a, 0)
    for _ in range(ROUNDS):
        cost = change(m, x)
        if count > POOLED or cost > most:
            return False
        if not _placed(m, x, count, most, cost, bonus, before):
            return False
        count, bonus = 0, 0.0
        for place in range(m[CHANGED]):
            g = m[m[TOUCHED] + place]
            if m[m[SIZE] + g] and not keeps(m, x, g):
                count = _dissolved(m, x, g, count)
        if count == 0:
            return True
    return False


@inner
def _dissolved(m, x, g, count):
    """Take all rows of a group out, to the end of those that are pooled: how many these are then."""
    while m[m[HEAD] + g] >= 0 and count <= POOLED:
        row = m[m[HEAD] + g]
        leave(m, x, row)
        m[m[POOL] + count] = row
        count += 1
    return count


@inner
def _placed(m, x, count, most, cost, bonus, before):
    """Give each row of the pool a group, rare values first: whether that costs no more than allowed."""
    if count == 0:
        return True
    held = m[THERE]
    for value in range(m[VALUES]):
        m[held + value] = 0
    box = draft(m, GATHERED)
    start_box(m, box, m[m[POOL]])
    for i in range(count):
        row = m[m[POOL] + i]
        widen(m, box, row)
        m[held + m[m[VALUE] + row]] += 1
        x[m[KEY] + i] = x[m[SHARE] + m[m[VALUE] + row]] + 1e-9 * uniform(m)
    loss = box_loss(m, x, box)
    if loss < 1.3 * before and cost + count * loss <= most and is_legal(m, x, held, count):
        g = found(m, x)
        for i in range(count):
            join(m, x, m[m[POOL] + i], g)
        return True
    sort(m, x, count)
    for turn in range(count):
        m[m[REST] + turn] = m[m[POOL] + m[m[ORDER] + turn]]
    if m[MOST] and uniform(m) < 0.8:
        count, cost = _singly(m, x, count, most, cost, bonus, True)
        count, cost = _in_units(m, x, count, most, cost)
    count, cost = _singly(m, x, count, most, cost, bonus, False)
    return count == 0 and cost <= most


@inner
def _singly(m, x, count, most, cost, bonus, is_needed):
    """Find room for each row of the rest, in groups that need it alone or in any: how many rows are left, and what all
    costs then."""
    left, rest = 0, m[REST]
    for i in range(count):
        row = m[rest + i]
        g = -1
        if cost <= most and (is_needed or left == 0):
            g = room_for_row(m, x, row, most - cost + SAME, -1, bonus, is_needed)
        if g < 0:
            m[rest + left] = row
            left += 1
            continue
        cost -= m[m[SIZE] + g] * x[m[LOSS] + g]
        join(m, x, row, g)
        cost += m[m[SIZE] + g] * x[m[LOSS] + g]
    return left, cost


@inner
def _in_units(m, x, count, most, cost):
    """Find room for rows of the rarer value, each with its share of the others: how many rows are left, and what all
    costs then."""
    rest, box = m[REST], draft(m, GATHERED)
    minor = 0
    for i in range(count):  # the rare ones to the front
        row = m[rest + i]
        if m[m[VALUE] + row] == m[MINOR]:
            m[rest + i], m[rest + minor] = m[rest + minor], row
            minor += 1
    left, end = 0, count
    for i in range(minor):
        row, others = m[rest + i], end - minor
        with_it = min(-(-others // (minor - i)), m[MOST])
        if with_it < m[FEWEST] or with_it > others or cost > most:
            m[rest + left] = row
            left += 1
            continue
        start_box(m, box, row)
        for _ in range(with_it):
            best, chosen = np.inf, minor
            for place in range(minor, end):
                loss = with_row(m, x, box, m[rest + place], best)
                if loss < best:
                    best, chosen = loss, place
            end -= 1
            m[rest + chosen], m[rest + end] = m[rest + end], m[rest + chosen]
            widen(m, box, m[rest + end])
        m[WORK] += with_it * (end - minor)
        g = room_for_unit(m, x, box, with_it + 1, most - cost + SAME)
        if g < 0:
            return count, most + 1.0
        join(m, x, row, g)
        for place in range(end, end + with_it):
            join(m, x, m[rest + place], g)
        cost += x[COST]
    for place in range(minor, end):
        m[rest + left] = m[rest + place]
        left += 1
    return left, cost


@unit("float64", "float64")
def open_group(m, x, heat):
    """Try the move: what it changed the cost by."""
    row = _badly_placed(m, x)
    if row < 0:
        return 0.0
    a = m[m[OF] + row]
    before = x[m[LOSS] + a]
    inside = _box(m, x, row, before * (0.85 + 0.3 * uniform(m)))
    if inside == 0:
        return 0.0
    loss = box_loss(m, x, draft(m, NEW))
    chosen = _chosen(m, x, row, inside, loss)
    gain = 0.0
    for i in range(chosen):
        gain += x[m[LOSS] + m[m[OF] + m[m[POOL] + i]]] - loss
    if gain <= 0 or not has_room(m, 20 * (POOLED + chosen)):
        return 0.0
    most = limit(m, heat)
    begin(m)
    g = found(m, x)
    for i in range(chosen):
        leave(m, x, m[m[POOL] + i])
        join(m, x, m[m[POOL] + i], g)
    _more(m, x, g, inside, loss)
    cost = most + 1.0
    if _settled(m, x, a, most, before):
        cost = change(m, x)
    if cost > most or abs(cost) < SAME:
        undo(m, x)
        return 0.0
    finish(m, x)
    return cost
