"""The models as compiled code sees them: from how many rows of a group have each combination of sensitive values.

A combination is that of all sensitive columns. Where others may know all columns but one (strict), a model is asked of
each set of rows that are alike in the others; a cell is one value of its column in such a context. Margins have the
sign of those of models.py, and their value too where that helps a search: a value that is missing for delta, or a
recursive l that is not reached, is measured by how much is missing.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from sqlanon.udfs.exchange.memory import (
    CELLS,
    FEWEST,
    HELD,
    MINOR,
    MODELS,
    MOST,
    RULES,
    SIZE,
    VALUES,
    XLOGX,
    K,
    Memory,
)
from sqlanon.udfs.legality import band
from sqlanon.udfs.models import SLACK, Closeness, Delta, EnhancedBeta, Model, OrderedCloseness, RecursiveL
from sqlanon.udfs.problem import Ints, Problem
from sqlanon.udfs.space.machine import inner, unit

PORTION, DISTINCT, ENTROPY, RECURSIVE, EQUAL, LEVELED, ORDERED, BASIC, ENHANCED, DELTA = range(10)
KINDS = {"alpha": PORTION, "l": PORTION, "distinct_l": DISTINCT, "entropy_l": ENTROPY, "basic_beta": BASIC}
KIND, COUNT, DIRECT, CODES, LEVELS, CELL, CODE, CONTEXT, NODE, ASKED, EXPECTED, NODE_SHARE, TOLD = range(13)
"""What is told of a model: its kind, how many cells there are, whether every combination is one cell and all are of one
context, how many values the column has, the levels of its hierarchy, and where this begins: the cell of each
combination, the code and the context of each cell, the node of each code on each level; what is asked, with c after it;
the table's share of each code, and of each node. That many things are told."""


def lay_rules(memory: Memory, problem: Problem, combination: Ints) -> None:
    """Put the problem's models into memory."""
    count = int(combination.max()) + 1
    told = np.array([_told(memory, problem, combination, count, model) for model in problem.models])
    rows = np.arange(problem.rows + 1, dtype=np.float64)
    memory.header[MODELS] = len(problem.models)
    memory.put(RULES, told)
    memory.put(XLOGX, rows * np.log(np.maximum(rows, 1)))
    memory.room(2 * max(count, int(told[:, COUNT].max()), int(told[:, CODES].max())), CELLS)


def lay_units(memory: Memory, problem: Problem, combination: Ints) -> None:
    """Say how many rows of the more frequent value may go with one of the rarer, if there are two values."""
    if int(combination.max()) != 1:
        return
    held = np.bincount(combination, problem.counts)
    bands = [found for column in problem.columns if (found := band(problem, column)) is not None]
    if not bands:
        return
    # Only the column that has two values tells them apart, and a combination has the number of its value there.
    low, high = (1 - bands[0][1], 1 - bands[0][0]) if held[0] < held[1] else bands[0]
    few, many = (1 - high) / high, (1 - low) / max(low, 1 / problem.rows)
    memory.header[[MINOR, FEWEST, MOST]] = int(held[0] >= held[1]), math.ceil(few - SLACK), math.floor(many + SLACK)


def _told(memory: Memory, problem: Problem, combination: Ints, count: int, model: Model) -> list[int]:
    kinds = problem.kinds[model.column]
    cells = np.zeros(count, dtype=np.int64)
    cells[combination] = kinds.of_tuple
    is_same = len(kinds.code) == count and np.array_equal(cells, np.arange(count)) and kinds.context[-1] == 0
    codes = len(model.expected)
    levels = np.array(model.levels if isinstance(model, Closeness) else np.zeros((0, codes)), dtype=np.int64)
    shares = np.array([np.bincount(nodes, model.expected, codes) for nodes in levels], dtype=np.float64)
    asked = 1 / model.asked if model.name == "l" else model.asked
    c = model.c if isinstance(model, RecursiveL) else 1.0
    return [
        _kind(model),
        len(kinds.code),
        int(is_same),
        codes,
        len(levels),
        memory.add(cells),
        memory.add(kinds.code),
        memory.add(kinds.context),
        memory.add(levels),
        memory.add(np.array([asked, c, math.log(max(asked, SLACK))])),
        memory.add(np.asarray(model.expected, dtype=np.float64)),
        memory.add(shares),
    ]


def _kind(model: Model) -> int:
    values = np.arange(len(model.expected))
    if isinstance(model, Closeness) and len(model.levels) == 1 and np.array_equal(model.levels[0], values):
        return EQUAL
    for kind, number in ((OrderedCloseness, ORDERED), (Closeness, LEVELED), (RecursiveL, RECURSIVE), (Delta, DELTA)):
        if isinstance(model, kind):
            return number
    return ENHANCED if isinstance(model, EnhancedBeta) else KINDS[model.name]


@inner
def _in_cells(m, rule, held):
    """Count the rows of each cell of a model: where they stand."""
    into = m[CELLS]
    for cell in range(m[rule + COUNT]):
        m[into + cell] = 0
    for combination in range(m[VALUES]):
        if m[held + combination]:
            m[into + m[m[rule + CELL] + combination]] += m[held + combination]
    return into


@inner
def _of_class(m, x, rule, held, begin, end, rows):
    """The margin of one model for the cells of one context."""
    kind, asked = m[rule + KIND], x[m[rule + ASKED]]
    if kind == PORTION:
        most = 0
        for cell in range(begin, end):
            most = max(most, m[held + cell])
        return asked - most / rows
    if kind == DISTINCT:
        distinct = 0
        for cell in range(begin, end):
            distinct += m[held + cell] > 0
        return distinct - asked
    if kind == ENTROPY:
        total = x[m[XLOGX] + rows]
        for cell in range(begin, end):
            total -= x[m[XLOGX] + m[held + cell]]
        return asked * (total / rows - x[m[rule + ASKED] + 2])
    if kind == EQUAL:
        total = 0.0
        for cell in range(begin, end):
            total += max(0.0, m[held + cell] - rows * x[m[rule + EXPECTED] + m[m[rule + CODE] + cell]])
        return asked - total / rows
    if kind == LEVELED:
        return asked - _apart(m, x, rule, held, begin, end, rows)
    if kind == ORDERED:
        return asked - _moved(m, x, rule, held, begin, end, rows)
    if kind == RECURSIVE:
        return _recursive(m, x, rule, held, begin, end, rows)
    return _likeness(m, x, rule, held, begin, end, rows)


@inner
def _recursive(m, x, rule, held, begin, end, rows):
    """By how much the l-th most frequent value and all rarer ones outweigh the first, as a share of the rows."""
    places, c, left = int(x[m[rule + ASKED]]), x[m[rule + ASKED] + 1], m[CELLS] + m[rule + COUNT]
    for cell in range(begin, end):
        m[left + cell] = m[held + cell]
    most, rest = 0, rows
    for turn in range(places):
        best = begin
        for cell in range(begin, end):
            if m[left + cell] > m[left + best]:
                best = cell
        if turn == 0:
            most = m[left + best]
        if turn < places - 1:
            rest -= m[left + best]
            m[left + best] = 0
    over = c * rest - most
    return over / rows if over > SLACK else over / rows - 1e-6


@inner
def _apart(m, x, rule, held, begin, end, rows):
    """The distance of t where values are leaves of a hierarchy."""
    total, codes, nodes = 0.0, m[rule + CODES], m[CELLS] + m[rule + COUNT]
    for level in range(m[rule + LEVELS]):
        for node in range(codes):
            m[nodes + node] = 0
        for cell in range(begin, end):
            m[nodes + m[m[rule + NODE] + level * codes + m[m[rule + CODE] + cell]]] += m[held + cell]
        for node in range(codes):
            total += max(0.0, m[nodes + node] - rows * x[m[rule + NODE_SHARE] + level * codes + node])
    return total / rows / max(m[rule + LEVELS], 1)


@inner
def _moved(m, x, rule, held, begin, end, rows):
    """The distance of t where values are in a row."""
    total, mine, table, cell = 0.0, 0.0, 0.0, begin
    for code in range(m[rule + CODES]):
        if cell < end and m[m[rule + CODE] + cell] == code:
            mine += m[held + cell] / rows
            cell += 1
        table += x[m[rule + EXPECTED] + code]
        total += abs(mine - table)
    return total / max(m[rule + CODES] - 1, 1)


@inner
def _likeness(m, x, rule, held, begin, end, rows):
    """The margins of beta and delta: how much more or less frequent a value is than in the table."""
    kind, asked = m[rule + KIND], x[m[rule + ASKED]]
    gain, excess, factor, lacks = -np.inf, -np.inf, 0.0, 0
    for code in range(m[rule + CODES]):
        lacks += x[m[rule + EXPECTED] + code] > 0
    for cell in range(begin, end):
        if m[held + cell] == 0:
            continue
        lacks -= 1
        expected = x[m[rule + EXPECTED] + m[m[rule + CODE] + cell]]
        ratio = m[held + cell] / rows / expected
        gain = max(gain, ratio - 1)
        if kind == ENHANCED:
            excess = max(excess, ratio - 1 + math.log(expected))
        if kind == DELTA:
            factor = max(factor, abs(math.log(ratio)))
    if kind == DELTA:
        return -1.0 - lacks if lacks else asked - factor
    if kind == ENHANCED and excess > SLACK:
        return -excess
    return asked - gain


@unit("float64", "int64", "int64")
def margin(m, x, held, rows):
    """By how much a group keeps its models, of all the one that it keeps least; below 0 it breaks one. `held` is where
    the rows of each combination stand."""
    least = np.inf
    if rows == 0:
        return -np.inf
    for i in range(m[MODELS]):
        rule = m[RULES] + TOLD * i
        cells, is_direct = m[rule + COUNT], m[rule + DIRECT]
        begin, into = 0, held if is_direct else _in_cells(m, rule, held)
        while begin < cells:
            end, total = cells, rows
            if not is_direct:
                end, total = begin, 0
                while end < cells and m[m[rule + CONTEXT] + end] == m[m[rule + CONTEXT] + begin]:
                    total += m[into + end]
                    end += 1
            if total:
                least = min(least, _of_class(m, x, rule, into, begin, end, total))
            begin = end
    return least


@inner
def is_legal(m, x, held, rows):
    """Has a group k rows, and keeps all models?"""
    return rows >= m[K] and margin(m, x, held, rows) >= -SLACK


@inner
def keeps(m, x, g):
    """Is this group legal?"""
    return is_legal(m, x, m[HELD] + g * m[VALUES], m[m[SIZE] + g])


@inner
def would_keep(m, x, g, gone, new):
    """Is the group legal without a row of one value and with one of another? -1 stands for none."""
    held, rows = m[HELD] + g * m[VALUES], m[m[SIZE] + g]
    if gone >= 0:
        m[held + gone] -= 1
        rows -= 1
    if new >= 0:
        m[held + new] += 1
        rows += 1
    found = is_legal(m, x, held, rows)
    if gone >= 0:
        m[held + gone] += 1
    if new >= 0:
        m[held + new] -= 1
    return found
