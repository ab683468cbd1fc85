"""Groups as compiled code changes them: rows leave and join, and all that was changed can be taken back.

The rows of a group are a chain. A group's box grows with each row that joins, and is found again when it is asked for
after a row at its edge has left. `begin` opens a change, `change` says what it costs, and `undo` or `finish` ends it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.exchange.ground import Ground, box_loss
from sqlanon.udfs.exchange.machine import compiled, inlined
from sqlanon.udfs.exchange.rules import Rules, margin
from sqlanon.udfs.linked.profiles import uniform
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.problem import Floats, Ints

OF, AFTER, BEFORE = range(3)
"""Of a row: its group, -1 while it is under way, and its neighbors in the chain."""
HEAD, SIZE, STALE, STAMP, SEEN, WHERE, ALIVE, FREE, TOUCHED, OLD_SIZE, OLD_STALE = range(11)
"""Of a group: its first row, how many rows it has, whether its box must be found again, the change that touched it
last, when it was last looked at, and its place among those alive. By place: the groups that are alive, those that are
free, and those that the change has touched with what they were."""
LO, HI, OLD_LO, OLD_HI = range(4)
LOSS, OLD_LOSS, ADDED = range(3)
GROUPS, SPARES, TICK, CHANGED, LOGGED, LOOKS, WORK = range(7)
"""How many groups are alive and free, the number of the change, how many groups it has touched, how many steps are
logged, how often groups were looked at, and the work that was done, about 10 ns each."""
GOOD, SIZES = 4, 5
"""Which values are good to move, and the sizes of two parts."""
ROWS, FOUND, SIDE, BEST, ORDER = range(5)
FAR = 1 << 30
NONE = np.int64(-1)
"""No row, no group, no value. Not a plain -1, for which functions would be compiled once more."""
SPARE = 64
"""Groups beyond those that fit, while rows are under way."""
LOOKED_AT = 1000
"""Rows of a box that are looked at."""


class State(NamedTuple):
    """The groups, and the rows in them. Few arrays, as each makes the compiler slower."""

    rows: Ints
    ints: Ints
    reals: Floats
    box: Ints
    """The smallest and largest rank of each group and attribute, and what they were."""
    held: Ints
    """The rows of each combination of sensitive values: groups × combinations."""
    log: Ints
    """The rows that have moved, and from where."""
    numbers: Ints
    random: Any


class Desk(NamedTuple):
    """Room to work in."""

    margin: Ints
    ints: Ints
    key: Floats
    held: Ints
    """Rows of each combination: of two parts, of what is there and of what is planned."""
    box: Ints
    words: Any


def empty(ground: Ground, rules: Rules, k: int, groups: int, seed: int) -> tuple[State, Desk]:
    """No groups yet, and room for all that may be."""
    rows, width = ground.ranks.shape
    most = max(groups, rows // max(k, 1)) + SPARE
    values = len(ground.share)
    state = State(
        np.full((3, rows), -1),
        np.full((OLD_STALE + 1, most), -1),
        np.zeros((3, most)),
        np.zeros((4, most, width), np.int64),
        np.zeros((most, values), np.int64),
        np.zeros((2, 4 * rows + 10_000), np.int64),
        np.zeros(WORK + 1, np.int64),
        np.array([seed | 1], np.uint64),
    )
    state.ints[[SIZE, STALE]] = 0
    state.ints[FREE] = np.arange(most)[::-1]
    state.numbers[SPARES] = most
    desk = Desk(
        np.zeros((2, max(rules.cell.shape[2], values)), np.int64),
        np.zeros((5, max(rows, 2)), np.int64),
        np.zeros(max(rows, width)),
        np.zeros((6, max(values, 2)), np.int64),
        np.zeros((2, 4, width), np.int64),
        np.zeros(ground.bits.shape[1], np.uint64),
    )
    return state, desk


@compiled
def below(state, count):
    """A random number below the count."""
    return min(int(uniform(state.random) * count), count - 1)


@compiled
def is_legal(rules, k, held, rows, desk):
    """Has a group k rows, and keeps all models?"""
    return rows >= k and margin(rules, held, rows, desk.margin) >= -SLACK


@compiled
def keeps(rules, k, state, g, desk):
    """Is this group legal?"""
    return is_legal(rules, k, state.held[g], state.ints[SIZE, g], desk)


@compiled
def would_keep(rules, k, state, g, gone, new, desk):
    """Is the group legal without a row of one value and with one of another? -1 stands for none."""
    rows = state.ints[SIZE, g]
    if gone >= 0:
        state.held[g, gone] -= 1
        rows -= 1
    if new >= 0:
        state.held[g, new] += 1
        rows += 1
    found = is_legal(rules, k, state.held[g], rows, desk)
    if gone >= 0:
        state.held[g, gone] += 1
    if new >= 0:
        state.held[g, new] -= 1
    return found


@compiled
def refresh(ground, state, g):
    """Find the group's box again."""
    state.ints[STALE, g] = 0
    for j in range(state.box.shape[2]):
        state.box[LO, g, j], state.box[HI, g, j] = FAR, -1
    row = state.ints[HEAD, g]
    while row >= 0:
        for j in range(state.box.shape[2]):
            rank = ground.ranks[row, j]
            state.box[LO, g, j], state.box[HI, g, j] = min(state.box[LO, g, j], rank), max(state.box[HI, g, j], rank)
        row = state.rows[AFTER, row]
    state.reals[LOSS, g] = 0.0 if state.ints[SIZE, g] == 0 else box_loss(ground, state.box[LO, g], state.box[HI, g])


@inlined
def begin(state):
    """Open a change."""
    state.numbers[TICK] += 1
    state.numbers[CHANGED] = 0
    state.numbers[LOGGED] = 0


@compiled
def touch(state, g):
    """Remember what the group is now, if that is not yet known."""
    if state.ints[STAMP, g] == state.numbers[TICK]:
        return
    state.ints[STAMP, g] = state.numbers[TICK]
    place = state.numbers[CHANGED]
    state.ints[TOUCHED, place] = g
    for j in range(state.box.shape[2]):
        state.box[OLD_LO, place, j], state.box[OLD_HI, place, j] = state.box[LO, g, j], state.box[HI, g, j]
    state.reals[OLD_LOSS, place], state.ints[OLD_SIZE, place] = state.reals[LOSS, g], state.ints[SIZE, g]
    state.ints[OLD_STALE, place] = state.ints[STALE, g]
    state.numbers[CHANGED] += 1


@inlined
def _log(state, row):
    state.log[0, state.numbers[LOGGED]] = row
    state.log[1, state.numbers[LOGGED]] = state.rows[OF, row]
    state.numbers[LOGGED] += 1


@compiled
def _unchain(ground, state, row):
    g = state.rows[OF, row]
    if state.rows[BEFORE, row] >= 0:
        state.rows[AFTER, state.rows[BEFORE, row]] = state.rows[AFTER, row]
    else:
        state.ints[HEAD, g] = state.rows[AFTER, row]
    if state.rows[AFTER, row] >= 0:
        state.rows[BEFORE, state.rows[AFTER, row]] = state.rows[BEFORE, row]
    state.held[g, ground.value[row]] -= 1
    state.ints[SIZE, g] -= 1
    state.rows[OF, row] = -1


@compiled
def _chain(ground, state, row, g):
    first = state.ints[HEAD, g]
    state.rows[BEFORE, row], state.rows[AFTER, row] = -1, first
    if first >= 0:
        state.rows[BEFORE, first] = row
    state.ints[HEAD, g] = row
    state.held[g, ground.value[row]] += 1
    state.ints[SIZE, g] += 1
    state.rows[OF, row] = g


@compiled
def leave(ground, state, row):
    """Take a row out of its group."""
    g = state.rows[OF, row]
    touch(state, g)
    _log(state, row)
    _unchain(ground, state, row)
    for j in range(state.box.shape[2]):
        rank = ground.ranks[row, j]
        if rank == state.box[LO, g, j] or rank == state.box[HI, g, j]:
            state.ints[STALE, g] = 1


@compiled
def join(ground, state, row, g):
    """Put a row that is under way into a group."""
    touch(state, g)
    _log(state, row)
    _chain(ground, state, row, g)
    if state.ints[SIZE, g] == 1:
        refresh(ground, state, g)
        return
    for j in range(state.box.shape[2]):
        rank = ground.ranks[row, j]
        state.box[LO, g, j], state.box[HI, g, j] = min(state.box[LO, g, j], rank), max(state.box[HI, g, j], rank)
    if not state.ints[STALE, g]:
        state.reals[LOSS, g] = box_loss(ground, state.box[LO, g], state.box[HI, g])


@inlined
def has_room(state, rows):
    """May this many more rows move in this change?"""
    return state.numbers[LOGGED] + 2 * rows < state.log.shape[1] and state.numbers[SPARES] > 2


@compiled
def found(state):
    """The number of a new, empty group."""
    state.numbers[SPARES] -= 1
    g = state.ints[FREE, state.numbers[SPARES]]
    state.ints[WHERE, g] = state.numbers[GROUPS]
    state.ints[ALIVE, state.numbers[GROUPS]] = g
    state.numbers[GROUPS] += 1
    state.reals[LOSS, g], state.ints[STALE, g] = 0.0, 0
    touch(state, g)
    return g


@compiled
def _close(state):
    """Groups without rows are free again."""
    for place in range(state.numbers[CHANGED]):
        g = state.ints[TOUCHED, place]
        if state.ints[SIZE, g] == 0 and state.ints[WHERE, g] >= 0:
            state.numbers[GROUPS] -= 1
            last = state.ints[ALIVE, state.numbers[GROUPS]]
            state.ints[ALIVE, state.ints[WHERE, g]], state.ints[WHERE, last] = last, state.ints[WHERE, g]
            state.ints[WHERE, g] = -1
            state.ints[FREE, state.numbers[SPARES]] = g
            state.numbers[SPARES] += 1
    state.numbers[TICK] += 1
    state.numbers[CHANGED] = 0
    state.numbers[LOGGED] = 0


@compiled
def undo(ground, state):
    """Take the change back."""
    for step in range(state.numbers[LOGGED] - 1, -1, -1):
        row = state.log[0, step]
        if state.rows[OF, row] >= 0:
            _unchain(ground, state, row)
        if state.log[1, step] >= 0:
            _chain(ground, state, row, state.log[1, step])
    for place in range(state.numbers[CHANGED]):
        g = state.ints[TOUCHED, place]
        for j in range(state.box.shape[2]):
            state.box[LO, g, j], state.box[HI, g, j] = state.box[OLD_LO, place, j], state.box[OLD_HI, place, j]
        state.reals[LOSS, g], state.ints[STALE, g] = state.reals[OLD_LOSS, place], state.ints[OLD_STALE, place]
    _close(state)


@compiled
def change(ground, state):
    """What the change costs, rows under way not counted."""
    total = 0.0
    for place in range(state.numbers[CHANGED]):
        g = state.ints[TOUCHED, place]
        if state.ints[STALE, g]:
            refresh(ground, state, g)
        total += state.ints[SIZE, g] * state.reals[LOSS, g] - state.ints[OLD_SIZE, place] * state.reals[OLD_LOSS, place]
    return total


@compiled
def finish(ground, state):
    """Keep the change."""
    change(ground, state)
    _close(state)
