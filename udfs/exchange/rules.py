"""The models as compiled code sees them: from how many rows of a group have each combination of sensitive values.

A combination is that of all sensitive columns. Where others may know all columns but one (strict), a model is asked of
each set of rows that are alike in the others; a cell is one value of its column in such a context. Margins have the
sign of those of models.py, and their value too where that helps a search: a value that is missing for delta, or a
recursive l that is not reached, is measured by how much is missing.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sqlanon.udfs.exchange.machine import compiled, inlined
from sqlanon.udfs.models import SLACK, Closeness, Delta, EnhancedBeta, Model, OrderedCloseness, RecursiveL
from sqlanon.udfs.problem import Floats, Ints, Problem

SHARE, DISTINCT, ENTROPY, RECURSIVE, CLOSE, ORDERED, BASIC, ENHANCED, DELTA = range(9)
KINDS = {"alpha": SHARE, "l": SHARE, "distinct_l": DISTINCT, "entropy_l": ENTROPY, "basic_beta": BASIC}


KIND, CELLS, DIRECT, VALUES, LEVELS = range(5)
"""Of a model: its kind, how many cells there are, whether every combination is one cell and all are of one context, how
many values the column has, and the levels of its hierarchy."""
ASKED, C = range(2)
CELL, CODE, CONTEXT = range(3)
"""The cell of each combination; the code and the context of each cell."""


class Rules(NamedTuple):
    """What is asked by each model, and how combinations are its cells."""

    ints: Ints
    reals: Floats
    cell: Ints
    """CELL, CODE or CONTEXT × models × combinations or cells"""
    expected: Floats
    node: Ints
    """models × levels × values"""
    node_share: Floats


def combinations(problem: Problem) -> Ints:
    """The combination of sensitive values of each tuple."""
    assert problem.sensitive is not None
    codes = problem.sensitive[:, problem.columns]
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)


def rules(problem: Problem, combination: Ints) -> Rules:
    """The problem's models."""
    models, count = problem.models, int(combination.max()) + 1
    values = max(len(model.expected) for model in models)
    depth = max([len(model.levels) for model in models if isinstance(model, Closeness)], default=0)
    found = Rules(
        np.zeros((LEVELS + 1, len(models)), np.int64),
        np.ones((C + 1, len(models))),
        np.zeros((3, len(models), max(count, values)), np.int64),
        np.zeros((len(models), values)),
        np.zeros((len(models), depth, values), np.int64),
        np.zeros((len(models), depth, values)),
    )
    for i, model in enumerate(models):
        _fill(problem, combination, model, found, i)
    return found


def _fill(problem: Problem, combination: Ints, model: Model, found: Rules, i: int) -> None:
    kinds = problem.kinds[model.column]
    cells, values = len(kinds.code), len(model.expected)
    found.reals[ASKED, i] = 1 / model.asked if model.name == "l" else model.asked
    if isinstance(model, RecursiveL):
        found.reals[C, i] = model.c
    found.cell[CELL, i, combination] = kinds.of_tuple
    found.cell[CODE, i, :cells], found.cell[CONTEXT, i, :cells] = kinds.code, kinds.context
    count = int(combination.max()) + 1
    is_same = cells == count and np.array_equal(found.cell[CELL, i, :count], np.arange(count))
    found.expected[i, :values] = model.expected
    levels = model.levels if isinstance(model, Closeness) else ()
    found.ints[:, i] = _kind(model), cells, is_same and kinds.context[-1] == 0, values, len(levels)
    for level, codes in enumerate(levels):
        found.node[i, level, : len(codes)] = codes
        shares = np.bincount(codes, weights=model.expected)
        found.node_share[i, level, : len(shares)] = shares


def _kind(model: Model) -> int:
    for kind, number in ((OrderedCloseness, ORDERED), (Closeness, CLOSE), (RecursiveL, RECURSIVE), (Delta, DELTA)):
        if isinstance(model, kind):
            return number
    return ENHANCED if isinstance(model, EnhancedBeta) else KINDS[model.name]


@compiled
def margin(rules, held, rows, desk):
    """By how much a group keeps its models, of all the one that it keeps least; below 0 it breaks one. `held` has the
    rows of each combination, and `desk` room for as many cells."""
    least = np.inf
    if rows == 0:
        return -np.inf
    for i in range(rules.ints.shape[1]):
        cells = rules.ints[CELLS, i]
        cell_rows = held
        if not rules.ints[DIRECT, i]:
            cell_rows = desk[0]
            for cell in range(cells):
                cell_rows[cell] = 0
            for combination in range(len(held)):
                if held[combination]:
                    cell_rows[rules.cell[CELL, i, combination]] += held[combination]
        begin = 0
        while begin < cells:
            end, total = cells, rows
            if not rules.ints[DIRECT, i]:
                end, total = begin, 0
                while end < cells and rules.cell[CONTEXT, i, end] == rules.cell[CONTEXT, i, begin]:
                    total += cell_rows[end]
                    end += 1
            if total:
                least = min(least, _of_class(rules, i, cell_rows, begin, end, total, desk[1]))
            begin = end
    return least


@inlined
def _of_class(rules, i, held, begin, end, rows, desk):
    """The margin of one model for the cells of one context."""
    kind, asked = rules.ints[KIND, i], rules.reals[ASKED, i]
    if kind == SHARE:
        most = 0
        for cell in range(begin, end):
            most = max(most, held[cell])
        return asked - most / rows
    if kind == DISTINCT:
        distinct = 0
        for cell in range(begin, end):
            distinct += held[cell] > 0
        return distinct - asked
    if kind == ENTROPY:
        total = 0.0
        for cell in range(begin, end):
            if held[cell]:
                total -= held[cell] / rows * math.log(held[cell] / rows)
        return math.exp(total) - asked
    if kind == RECURSIVE:
        return _recursive(held, begin, end, rows, int(asked), rules.reals[C, i], desk)
    if kind == CLOSE:
        return asked - _apart(rules, i, held, begin, end, rows, desk)
    if kind == ORDERED:
        return asked - _moved(rules, i, held, begin, end, rows)
    return _likeness(rules, i, held, begin, end, rows)


@inlined
def _recursive(held, begin, end, rows, l, c, desk):  # noqa: E741
    """By how much the l-th most frequent value and all rarer ones outweigh the first, as a share of the rows."""
    for cell in range(begin, end):
        desk[cell - begin] = held[cell]
    most, rest = 0, rows
    for turn in range(l):
        best = 0
        for cell in range(1, end - begin):
            if desk[cell] > desk[best]:
                best = cell
        if turn == 0:
            most = desk[best]
        if turn < l - 1:
            rest -= desk[best]
            desk[best] = 0
    is_kept = most < c * rest - SLACK
    return (c * rest - most) / rows if is_kept else (c * rest - most) / rows - 1e-6


@inlined
def _apart(rules, i, held, begin, end, rows, desk):
    """The distance of t where values are apart, or leaves of a hierarchy."""
    total = 0.0
    for level in range(rules.ints[LEVELS, i]):
        for value in range(rules.ints[VALUES, i]):
            desk[value] = 0
        for cell in range(begin, end):
            desk[rules.node[i, level, rules.cell[CODE, i, cell]]] += held[cell]
        for node in range(rules.ints[VALUES, i]):
            more = desk[node] / rows - rules.node_share[i, level, node]
            if more > 0 and desk[node]:
                total += more
    return total / max(rules.ints[LEVELS, i], 1)


@inlined
def _moved(rules, i, held, begin, end, rows):
    """The distance of t where values are in a row."""
    total, mine, table, cell = 0.0, 0.0, 0.0, begin
    for value in range(rules.ints[VALUES, i]):
        if cell < end and rules.cell[CODE, i, cell] == value:
            mine += held[cell] / rows
            cell += 1
        table += rules.expected[i, value]
        total += abs(mine - table)
    return total / max(rules.ints[VALUES, i] - 1, 1)


@inlined
def _likeness(rules, i, held, begin, end, rows):
    """The margins of beta and delta: how much more or less frequent a value is than in the table."""
    kind, asked = rules.ints[KIND, i], rules.reals[ASKED, i]
    gain, excess, factor, lacks = -np.inf, -np.inf, 0.0, 0
    for value in range(rules.ints[VALUES, i]):
        lacks += rules.expected[i, value] > 0
    for cell in range(begin, end):
        if held[cell] == 0:
            continue
        lacks -= 1
        expected = rules.expected[i, rules.cell[CODE, i, cell]]
        ratio = held[cell] / rows / expected
        gain = max(gain, ratio - 1)
        excess = max(excess, ratio - 1 + math.log(expected))
        factor = max(factor, abs(math.log(ratio)))
    if kind == DELTA:
        return -1.0 - lacks if lacks else asked - factor
    if kind == ENHANCED and excess > SLACK:
        return -excess
    return asked - gain
