"""Models for every core: which groups keep them, and merging those that do not with their nearest until all do.

Models are monotone (see models.py): the union of groups that keep one keeps it, so merging only ever helps, and one
loop serves every method and model.
"""

from __future__ import annotations

import math

import numpy as np

from sqlanon.errors import DataError, option
from sqlanon.udfs.models import SLACK, Cells, Model
from sqlanon.udfs.problem import Bools, Floats, Ints, Problem

FINE = 10**9
"""Rows of a class large enough to have any share."""


def holds(most: Floats | Ints, rows: Floats | Ints, l: float) -> Bools:  # noqa: E741
    """Is the most frequent value, `most` of this many rows, rare enough for l?"""
    return np.asarray(most * l <= rows + SLACK)


def margins(problem: Problem, tuples: Ints, group: Ints, rows: Ints) -> Floats:
    """By how much each group 0, 1, 2, ... of entries keeps its models, of all the one that it keeps least."""
    least = np.full(int(group.max(initial=-1)) + 1, np.inf)
    by_cells: dict[tuple[int, bool], list[Model]] = {}
    for model in problem.models:
        by_cells.setdefault((model.column, _counts_people(problem, model)), []).append(model)
    for (column, are_people), models in by_cells.items():
        cells, owner = _cells(problem, column, tuples, group, rows, are_people)
        for model in models:
            np.minimum.at(least, owner, model.margin(cells))
    return least


def are_legal(problem: Problem, tuples: Ints, group: Ints, rows: Ints) -> Bools:
    """Does each group 0, 1, 2, ... of entries keep all models?"""
    return np.asarray(margins(problem, tuples, group, rows) >= -SLACK)


def _counts_people(problem: Problem, model: Model) -> bool:
    return problem.entity is not None and model.counts_people


def _cells(
    problem: Problem, column: int, tuples: Ints, group: Ints, rows: Ints, are_people: bool = False
) -> tuple[Cells, Ints]:
    """The values of a sensitive column in the classes that models look at, and the group of each class; with the rows
    of each value or, if `are_people`, with the people who have it."""
    kinds = problem.kinds[column]
    key = group * len(kinds.code) + kinds.of_tuple[tuples]
    if are_people:
        assert problem.sensitive is not None
        who = problem.sensitive[tuples, problem.entity]
        order = _distinct(who, key)
        rows = np.ones_like(order)
        contexts = group * (int(kinds.context[-1]) + 1) + kinds.context[kinds.of_tuple[tuples]]
        people = np.unique(contexts[_distinct(who, contexts)], return_counts=True)[1]
    else:
        order, people = np.argsort(key, kind="stable"), None
        rows = rows[order]
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    owner, kind = np.divmod(key[first], len(kinds.code))
    starts = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(kinds.context[kind], prepend=-1) != 0))
    return Cells(kinds.code[kind], np.add.reduceat(rows, first), starts, people), owner[starts]


def _distinct(who: Ints, key: Ints) -> Ints:
    """Where each person is first, for each key, in the order of the keys."""
    order = np.lexsort((who, key))
    return np.asarray(order[(np.diff(key[order], prepend=-1) != 0) | (np.diff(who[order], prepend=-1) != 0)])


def best(problem: Problem, model: Model) -> float:
    """The best that any release of these rows can reach of a model: that of the whole table."""
    everything = np.zeros(len(problem.counts), dtype=np.int64)
    every = np.arange(len(everything))
    cells, _ = _cells(problem, model.column, every, everything, problem.counts, _counts_people(problem, model))
    reached = model.reached(cells)
    return float(reached.min() if model.is_floor else reached.max())


def band(problem: Problem, column: int) -> tuple[float, float] | None:
    """If a sensitive column has two values, the least and the greatest share of the second in classes that keep the
    models, a little more than that; None if it has other than two, or no model counts its rows.

    The shares that a model allows have no gaps, as models are monotone, and the whole table has one of them.
    """
    models = [model for model in problem.models if model.column == column and not _counts_people(problem, model)]
    if not models or column == problem.entity:
        return None
    codes = np.flatnonzero(models[0].expected > 0)
    if len(codes) != 2:
        return None

    def is_kept(share: int) -> bool:
        rows = np.array([FINE - share, share])
        cells = Cells(codes[rows > 0], rows[rows > 0], np.zeros(1, dtype=np.int64))
        return all(float(model.margin(cells)[0]) >= -SLACK for model in models)

    ends = []
    for end in (0, FINE):
        inside, outside = round(FINE * float(models[0].expected[codes[1]])), end
        if is_kept(outside):
            inside = outside
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if is_kept(middle) else (inside, middle)
        ends.append(outside / FINE)
    return max(0.0, ends[0] - 10 * SLACK), min(1.0, ends[1] + 10 * SLACK)


def check_legal(problem: Problem) -> None:
    """Refuse what not even the whole table keeps, and say the best that it does."""
    if not problem.models or not problem.rows:
        return
    for model in problem.models:
        found = best(problem, model)
        if (found - model.asked) * (1 if model.is_floor else -1) < -SLACK:
            raise DataError(_refusal(problem, model, found))


def _refusal(problem: Problem, model: Model, found: float) -> str:
    if math.isinf(found):
        legal = "even the whole table does not satisfy it, for any value"
    else:
        rounded = (math.floor(found * 1e4) if model.is_floor else math.ceil(found * 1e4)) / 1e4
        legal = f"even the whole table only reaches {rounded:g}"
    known = ""
    if problem.is_strict and model.column != problem.entity and len(problem.columns) > 1:
        separate = option("several", "separate")
        known = f" to whoever knows the other sensitive columns; {separate} looks at each column by itself"
    return f"{model.name} = {model.asked:g} is impossible for {model.shown}: {legal}{known}."
