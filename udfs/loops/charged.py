"""What a row is charged in a cluster that covers a range, for loops that numba compiles: the rates of space/costs.py,
bit for bit.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlanon.udfs.problem import GRAIN, Floats, Ints
from sqlanon.udfs.space.machine import inner

TREE, LINE, TABLE, LOGS = range(4)
"""How a range is charged: by its node; by the share of the line that it covers; by the rows that it covers, looked up
in a table of all ranges or computed."""


class Axes(NamedTuple):
    """What ranges are charged, in long arrays for all attributes; one has a place for each rank and one more."""

    kind: Ints
    begin: Ints
    """Where an attribute begins."""
    leaf: Ints
    """The node of each rank."""
    parent: Ints
    first: Ints
    last: Ints
    rate: Floats
    """Of nodes: what is above them, their first and last rank, and what a row of each sensitive value is charged."""
    unit: Floats
    seen: Ints
    total: Ints
    """Of numbers: the place of each rank on the line, and how many rows of each sensitive value, and in all, are below
    it."""
    logs: Floats
    """The logarithms of numbers of rows,"""
    whole: float
    """and of that of all rows."""
    table: Floats
    start: Ints
    side: Ints
    """What all ranges of an attribute are charged, from `start` on, and how many ranks it has."""
    weight: Floats
    share: float
    """The weights of the attributes, and that of MI."""


@inner
def line_rate(unit, weight, lo, hi):
    """What a row is charged for a range of a line; numbers with NULL, or of no line, for all of it."""
    if lo == hi:
        return 0.0
    width = unit[hi] - unit[lo]
    return np.rint(weight * (1.0 if np.isnan(width) else width) / GRAIN) * GRAIN


@inner
def logs_rate(unit, seen, total, logs, whole, weight, begin, lo, hi, v, mi, pmi):
    """What a row of a sensitive value is charged for a range by the rows that it covers."""
    first, last = begin + lo, begin + hi + 1
    if lo != hi and np.isnan(unit[begin + hi]):  # numbers with NULL
        first = begin
    within = logs[max(total[last] - total[first], 1)]
    rate = within - whole
    if mi < 1:
        rate = mi * rate + pmi * (within - logs[max(seen[last, v] - seen[first, v], 1)])
    return np.rint(weight * rate / GRAIN) * GRAIN


@inner
def range_rate(axes, j, node, lo, hi, v):
    """What a row of a sensitive value is charged for a node, or for a range of a number."""
    kind = axes.kind[j]
    if kind == TREE:
        return axes.rate[node, v]
    begin, weight = axes.begin[j], axes.weight[j]
    if kind == LINE:
        return line_rate(axes.unit, weight, begin + lo, begin + hi)
    if kind == TABLE:
        return axes.table[axes.start[j] + lo * axes.side[j] + hi, v]
    share, given = axes.share, (axes.unit, axes.seen, axes.total, axes.logs, axes.whole, weight, begin)
    return logs_rate(*given, lo, hi, v, share, 1.0 - share)


@inner
def line_more(unit, weight, begin, low, high, lo, hi):
    """What [lo, hi] is charged more than [low, high]."""
    return line_rate(unit, weight, begin + lo, begin + hi) - line_rate(unit, weight, begin + low, begin + high)


@inner
def logs_more(unit, seen, total, logs, whole, weight, begin, share, low, high, lo, hi, v):
    """What [lo, hi] is charged more than [low, high]."""
    more = logs_rate(unit, seen, total, logs, whole, weight, begin, lo, hi, v, share, 1.0 - share)
    return more - logs_rate(unit, seen, total, logs, whole, weight, begin, low, high, v, share, 1.0 - share)


@inner
def above(first, last, parent, node, rank):
    """The lowest node above this one, or itself, that covers the rank."""
    while rank < first[node] or rank > last[node]:
        node = parent[node]
    return node
