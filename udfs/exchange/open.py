"""Open: a new group in the box of a badly placed row, with rows that lose most where they are.

The box begins at the row and is widened attribute by attribute until a legal group fits into it. Groups that lose rows
and become illegal are filled again, or dissolved: their rows go to legal groups, each to the one that it widens least.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from sqlanon.udfs.exchange.ground import HEIGHT, RANKS, at_depth, box_loss, depth_of, range_loss, rows_in, with_row
from sqlanon.udfs.exchange.machine import compiled, inlined, sort
from sqlanon.udfs.exchange.rules import margin
from sqlanon.udfs.exchange.split import SAME, limit
from sqlanon.udfs.exchange.state import (
    AFTER,
    ALIVE,
    CHANGED,
    FOUND,
    GROUPS,
    HEAD,
    HI,
    LO,
    LOOKED_AT,
    LOSS,
    NONE,
    OF,
    ORDER,
    ROWS,
    SIDE,
    SIZE,
    STALE,
    STAMP,
    TICK,
    TOUCHED,
    WORK,
    begin,
    below,
    change,
    finish,
    found,
    has_room,
    is_legal,
    join,
    keeps,
    leave,
    refresh,
    undo,
    would_keep,
)
from sqlanon.udfs.linked.profiles import uniform
from sqlanon.udfs.models import SLACK

WIDER = 60
"""How often a box may be widened."""
ROUNDS = 6
POOLED = 200
"""Rows that may be without a group at a time."""
NOISE = 0.2


@compiled
def openings(ground, rules, k, state, desk, heat, steps):
    """Try the move some times: what that changed the cost by."""
    total = 0.0
    for _ in range(steps):
        total += _open_group(ground, rules, k, state, desk, heat)
    return total


@inlined
def _open_group(ground, rules, k, state, desk, heat):
    """Try the move: what it changed the cost by."""
    row = _badly_placed(ground, state)
    if row < 0:
        return 0.0
    a = state.rows[OF, row]
    before = state.reals[LOSS, a]
    inside = _box(ground, rules, k, state, desk, row, before * (0.85 + 0.3 * uniform(state.random)))
    if inside == 0:
        return 0.0
    loss = box_loss(ground, desk.box[0, 2], desk.box[1, 2])
    chosen = _chosen(ground, rules, k, state, desk, row, inside, loss)
    gain = 0.0
    for i in range(chosen):
        gain += state.reals[LOSS, state.rows[OF, desk.ints[ROWS, i]]] - loss
    if chosen == 0 or gain <= 0 or not has_room(state, 20 * (POOLED + chosen)):
        return 0.0
    most = limit(state, heat)
    begin(state)
    g = found(state)
    for i in range(chosen):
        leave(ground, state, desk.ints[ROWS, i])
        join(ground, state, desk.ints[ROWS, i], g)
    _more(ground, rules, k, state, desk, g, inside, loss)
    if not _settled(ground, rules, k, state, desk, a, most, before):
        undo(ground, state)
        return 0.0
    cost = change(ground, state)
    if cost > most or abs(cost) < SAME:
        undo(ground, state)
        return 0.0
    finish(ground, state)
    return cost


@inlined
def _badly_placed(ground, state):
    """A row that loses something, or -1."""
    for _ in range(30):
        row = below(state, state.rows.shape[1])
        g = state.rows[OF, row]
        if g >= 0 and state.reals[LOSS, g] - ground.own[row] > SAME:
            return row
    return -1


@inlined
def _box(ground, rules, k, state, desk, row, most):
    """Put a box around the row on the desk that a legal group fits into and that loses less than `most`, with its rows
    and the values that such a group may have: how many rows, or 0."""
    lo, hi = desk.box[0, 2], desk.box[1, 2]
    for j in range(len(lo)):
        lo[j] = hi[j] = ground.ranks[row, j]
    if uniform(state.random) < 0.33:
        mate = state.ints[HEAD, state.rows[OF, row]]
        for _ in range(1 + below(state, 3)):
            for _ in range(below(state, 8)):
                mate = (
                    state.rows[AFTER, mate] if state.rows[AFTER, mate] >= 0 else state.ints[HEAD, state.rows[OF, row]]
                )
            if with_row(ground, lo, hi, mate, most) < most:
                for j in range(len(lo)):
                    rank = ground.ranks[mate, j]
                    lo[j], hi[j] = min(lo[j], rank), max(hi[j], rank)
    for j in range(len(lo)):
        desk.key[j] = uniform(state.random) * uniform(state.random) + 0.01
        if ground.shape[HEIGHT, j]:
            lo[j], hi[j] = at_depth(ground, j, lo[j], depth_of(ground, j, lo[j], hi[j]))
    for _ in range(WIDER):
        count = rows_in(ground, lo, hi, below(state, len(desk.words)), desk.words, desk.ints[FOUND], LOOKED_AT)
        state.numbers[WORK] += len(desk.words) + 2 * count + desk.held.shape[1]
        if count >= k and _fits(ground, rules, k, desk, count):
            return count
        if not _widened(ground, state, desk) or box_loss(ground, lo, hi) >= most:
            return 0
    return 0


@inlined
def _widened(ground, state, desk):
    """Widen the box by a node or some numbers of one attribute: whether that is possible."""
    lo, hi = desk.box[0, 2], desk.box[1, 2]
    best, chosen, low, high = np.inf, -1, 0, 0
    for j in range(len(lo)):
        if ground.shape[HEIGHT, j] == 0:
            more = 1 + below(state, 3)
            left = below(state, more + 1)
            first, last = max(0, lo[j] - left), min(ground.shape[RANKS, j] - 1, hi[j] + more - left)
        else:
            depth = depth_of(ground, j, lo[j], hi[j])
            first, last = at_depth(ground, j, lo[j], depth)
            while depth > 0 and first == lo[j] and last == hi[j]:
                depth -= 1
                first, last = at_depth(ground, j, lo[j], depth)
        if first == lo[j] and last == hi[j]:
            continue
        added = range_loss(ground, j, first, last) - range_loss(ground, j, lo[j], hi[j])
        score = (added + 0.003 * ground.scale) * (0.2 + uniform(state.random)) / desk.key[j]
        if score < best:
            best, chosen, low, high = score, j, first, last
    if chosen < 0:
        return False
    lo[chosen], hi[chosen] = low, high
    return True


@inlined
def _fits(ground, rules, k, desk, count):
    """Can k rows or some more of these be a legal group? If so, desk.held[3] says how many of each value."""
    there, plan = desk.held[2], desk.held[3]
    there[:] = 0
    for i in range(count):
        there[ground.value[desk.ints[FOUND, i]]] += 1
    # As the table has them, as far as there are enough,
    total = 0
    for value in range(len(there)):
        plan[value] = min(there[value], int(k * ground.share[value] + 0.5))
        total += plan[value]
    if _leveled(rules, k, desk, there, plan, total):
        return True
    # or all as equally frequent as possible.
    plan[:] = 0
    return _leveled(rules, k, desk, there, plan, np.int64(0))


@compiled
def _leveled(rules, k, desk, there, plan, total):
    """Add to the plan where it has least until it has k rows: whether it is legal then."""
    level = 0
    while total < k:
        level += 1
        for value in range(len(there)):
            if plan[value] < level and plan[value] < there[value] and total < k:
                plan[value] += 1
                total += 1
        if level > k:
            break
    return is_legal(rules, k, plan, total, desk)


@inlined
def _chosen(ground, rules, k, state, desk, row, inside, loss):
    """Put rows on the desk that are to be the new group, those that lose most first, within the plan or as near to it
    as models require: how many."""
    a, own = state.rows[OF, row], 0.3 * uniform(state.random) * state.reals[LOSS, state.rows[OF, row]]
    for i in range(inside):
        mate = desk.ints[FOUND, i]
        worth = state.reals[LOSS, state.rows[OF, mate]] + NOISE * max(loss, SAME) * (uniform(state.random) - 0.5)
        if state.rows[OF, mate] == a:
            worth += own
        desk.key[i] = -worth if mate != row else -np.inf
    sort(desk.ints[ORDER], desk.key, inside)
    state.numbers[WORK] += 12 * inside
    held, plan, count = desk.held[2], desk.held[3], 0
    held[:] = 0
    desk.ints[SIDE, :inside] = 0
    is_planned = uniform(state.random) < 0.75
    for turn in range(2):
        for place in range(inside):
            i = desk.ints[ORDER, place]
            value = ground.value[desk.ints[FOUND, i]]
            if count < k and desk.ints[SIDE, i] == 0 and (turn == 1 or not is_planned or held[value] < plan[value]):
                desk.ints[SIDE, i] = 1
                held[value] += 1
                count += 1
    # Exchange rows until the models hold: at the latest when all is as planned.
    while not is_legal(rules, k, held, count, desk):
        state.numbers[WORK] += inside + desk.held.shape[1]
        new, old = -1, -1
        for place in range(inside):
            i = desk.ints[ORDER, place]
            value = ground.value[desk.ints[FOUND, i]]
            if desk.ints[SIDE, i] == 0 and new < 0 and held[value] < plan[value]:
                new = i
            if desk.ints[SIDE, i] == 1 and held[value] > plan[value]:
                old = i
        if new < 0:
            return 0
        desk.ints[SIDE, new] = 1
        held[ground.value[desk.ints[FOUND, new]]] += 1
        if old >= 0:
            desk.ints[SIDE, old] = 0
            held[ground.value[desk.ints[FOUND, old]]] -= 1
        else:
            count += 1
    total = 0
    for place in range(inside):
        i = desk.ints[ORDER, place]
        if desk.ints[SIDE, i] == 1:
            desk.ints[ROWS, total] = desk.ints[FOUND, i]
            total += 1
    return total


@inlined
def _more(ground, rules, k, state, desk, g, inside, loss):
    """Let more rows of the box join, up to 2k, where they gain and nothing breaks."""
    for i in range(inside):
        row = desk.ints[FOUND, i]
        b, value = state.rows[OF, row], ground.value[row]
        if state.ints[SIZE, g] >= 2 * k:
            return
        if b == g or state.reals[LOSS, b] <= loss:
            continue
        if not would_keep(rules, k, state, g, NONE, value, desk):
            continue
        if keeps(rules, k, state, b, desk) and not would_keep(rules, k, state, b, value, NONE, desk):
            continue
        leave(ground, state, row)
        join(ground, state, row, g)


@inlined
def _settled(ground, rules, k, state, desk, a, most, before):
    """Put all in order: whether every group is legal again and the change costs at most `most`."""
    bonus, count = 0.5 * before * uniform(state.random), 0
    if state.ints[SIZE, a] and not keeps(rules, k, state, a, desk):
        count = _dissolve(ground, state, desk, a, np.int64(0))
    for _ in range(ROUNDS):
        cost = change(ground, state)
        if count > POOLED or cost > most:
            return False
        if not _placed(ground, rules, k, state, desk, count, most, cost, bonus, before):
            return False
        count, bonus = 0, 0.0
        for place in range(state.numbers[CHANGED]):
            g = state.ints[TOUCHED, place]
            if state.ints[SIZE, g] and not keeps(rules, k, state, g, desk):
                count = _dissolve(ground, state, desk, g, count)
        if count == 0:
            return True
    return False


@compiled
def _dissolve(ground, state, desk, g, count):
    """Take all rows of a group out, to the end of those on the desk: how many these are then."""
    while state.ints[HEAD, g] >= 0 and count <= POOLED:
        row = state.ints[HEAD, g]
        leave(ground, state, row)
        desk.ints[ROWS, count] = row
        count += 1
    return count


@inlined
def _placed(ground, rules, k, state, desk, count, most, cost, bonus, before):
    """Give each row on the desk a group, rare values first: whether that costs no more than allowed."""
    held = desk.held[2]
    held[:] = 0
    for i in range(count):
        value = ground.value[desk.ints[ROWS, i]]
        held[value] += 1
        desk.key[i] = ground.share[value] + 1e-9 * uniform(state.random)
    if count >= k and is_legal(rules, k, held, count, desk):
        _box_of(ground, desk, count)
        loss = box_loss(ground, desk.box[0, 3], desk.box[1, 3])
        if loss < 1.3 * before and cost + count * loss <= most:
            g = found(state)
            for i in range(count):
                join(ground, state, desk.ints[ROWS, i], g)
            return True
    sort(desk.ints[ORDER], desk.key, count)
    for turn in range(count):
        row = desk.ints[ROWS, desk.ints[ORDER, turn]]
        g = _place(ground, rules, k, state, desk, row, most - cost, bonus)
        if g < 0:
            return False
        cost -= state.ints[SIZE, g] * state.reals[LOSS, g]
        join(ground, state, row, g)
        cost += state.ints[SIZE, g] * state.reals[LOSS, g]
        if cost > most:
            return False
    return True


@inlined
def _box_of(ground, desk, count):
    """Put the box of the rows on the desk there, too."""
    for j in range(desk.box.shape[2]):
        desk.box[0, 3, j], desk.box[1, 3, j] = ground.ranks[desk.ints[ROWS, 0], j], ground.ranks[desk.ints[ROWS, 0], j]
        for i in range(1, count):
            rank = ground.ranks[desk.ints[ROWS, i], j]
            desk.box[0, 3, j], desk.box[1, 3, j] = min(desk.box[0, 3, j], rank), max(desk.box[1, 3, j], rank)


@inlined
def _place(ground, rules, k, state, desk, row, most, bonus):
    """The group that a row adds least to and that stays legal, or -1. One that this change made illegal needs rows: it
    is preferred by the bonus if the row makes it better."""
    state.numbers[WORK] += state.numbers[GROUPS]
    best, chosen, value = most + SAME, NONE, ground.value[row]
    for place in range(state.numbers[GROUPS]):
        g = state.ints[ALIVE, place]
        rows = state.ints[SIZE, g]
        if rows == 0:
            continue
        if state.ints[STALE, g]:
            refresh(ground, state, g)
        is_new = state.ints[STAMP, g] == state.numbers[TICK]
        reach = best + bonus if is_new else best
        if state.reals[LOSS, g] >= reach:
            continue
        high = (reach + rows * state.reals[LOSS, g]) / (rows + 1)
        added = (rows + 1) * with_row(ground, state.box[LO, g], state.box[HI, g], row, high) - rows * state.reals[
            LOSS, g
        ]
        if added >= reach:
            continue
        if is_new and not keeps(rules, k, state, g, desk):
            now = margin(rules, state.held[g], rows, desk.margin)
            state.held[g, value] += 1
            then = margin(rules, state.held[g], rows + 1, desk.margin)
            state.held[g, value] -= 1
            if then > now or (rows < k and then >= -SLACK):
                best, chosen = added - bonus, g
        elif added < best and would_keep(rules, k, state, g, NONE, value, desk):
            best, chosen = added, g
    return chosen
