"""Room for rows that have none: the group that a row, or some together, widen least and that stays legal."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from sqlanon.udfs.exchange.ground import with_box, with_row
from sqlanon.udfs.exchange.memory import (
    ALIVE,
    COST,
    GROUPS,
    HELD,
    LOSS,
    SIZE,
    STAMP,
    TICK,
    VALUE,
    VALUES,
    WORK,
    K,
)
from sqlanon.udfs.exchange.rules import keeps, margin, would_keep
from sqlanon.udfs.exchange.state import box_of, refresh
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.space.machine import inner, unit


@inner
def _betters(m, x, g, value, rows):
    """Does a row of this value make a group better that is not legal?"""
    held = m[HELD] + g * m[VALUES]
    now = margin(m, x, held, rows)
    m[held + value] += 1
    then = margin(m, x, held, rows + 1)
    m[held + value] -= 1
    return then > now or (rows < m[K] and then >= -SLACK)


@unit("int64", "int64", "float64", "int64", "float64", "int64")
def room_for_row(m, x, row, most, but, bonus, is_needed):
    """The group that a row adds less than `most` to, and least of all, but for one, or -1; x[COST] is what it adds. One
    that this change made illegal needs rows: it is preferred by the bonus if the row makes it better; and it alone if
    `is_needed`."""
    m[WORK] += m[GROUPS]
    best, chosen, value = most, -1, m[m[VALUE] + row]
    for place in range(m[GROUPS]):
        g = m[m[ALIVE] + place]
        rows = m[m[SIZE] + g]
        is_new = m[m[STAMP] + g] == m[TICK]
        if rows == 0 or g == but or (is_needed and not is_new):
            continue
        refresh(m, x, g)
        reach = best + bonus if is_new else best
        loss = x[m[LOSS] + g]
        if loss >= reach:
            continue
        added = (rows + 1) * with_row(m, x, box_of(m, g), row, (reach + rows * loss) / (rows + 1)) - rows * loss
        if added >= reach:
            continue
        if is_new and not keeps(m, x, g):
            if _betters(m, x, g, value, rows):
                best, chosen = added - bonus, g
        elif added < best and not is_needed and would_keep(m, x, g, -1, value):
            best, chosen = added, g
    x[COST] = best
    return chosen


@unit("int64", "int64", "int64", "float64")
def room_for_unit(m, x, box, count, most):
    """The legal group that rows of this box, which keep all models together, add least to, or -1; x[COST] is
    what they add."""
    m[WORK] += m[GROUPS]
    best, chosen = most, -1
    for place in range(m[GROUPS]):
        g = m[m[ALIVE] + place]
        rows = m[m[SIZE] + g]
        if rows == 0:
            continue
        refresh(m, x, g)
        loss = x[m[LOSS] + g]
        if count * loss >= best or (m[m[STAMP] + g] == m[TICK] and not keeps(m, x, g)):
            continue
        high = (best + rows * loss) / (rows + count)
        added = (rows + count) * with_box(m, x, box_of(m, g), box, high) - rows * loss
        if added < best:
            best, chosen = added, g
    x[COST] = best
    return chosen
