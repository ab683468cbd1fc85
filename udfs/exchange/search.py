"""The run of the search: moves drawn at random, annealed, and the best groups that were seen.

Ours, on `split`, `shrink` and `open`. Repair can only merge a group with others near it, which often lack the same
values; exchanges bring a scarce value to where it is needed. A move that costs more is taken with a chance that falls
as the search cools. Where a model leaves little room, cutting pools anew is what helps most; where it asks for little,
opening groups is, as it is without models.

Time O(s (g d + m (d + v))) for s moves, g groups of m rows, d attributes and v combinations of sensitive values; memory
O(n (d + e / 8) + g v) for n rows and e ≤ 256 edges of each attribute. Work is counted in looks at a row or group, so
that the same seed and amount of work give the same groups. The moves are compiled; see machine.py.

Decided:
- A table with more than `COMBINATIONS` combinations of sensitive values, one whose people are counted, and the
  objective PMI, which is another one for each value, are left to refine.
- How tight the models are is measured by what a group of 2k random rows keeps: mixes lie between both ends.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.exchange.ground import ground
from sqlanon.udfs.exchange.machine import compiled
from sqlanon.udfs.exchange.open import openings
from sqlanon.udfs.exchange.rules import combinations, rules
from sqlanon.udfs.exchange.shrink import shrinks
from sqlanon.udfs.exchange.split import resplits
from sqlanon.udfs.exchange.state import OF, WORK, begin, empty, finish, found, join
from sqlanon.udfs.method import THOUSANDTHS, Progress
from sqlanon.udfs.problem import SUPPRESSED, Floats, Groups, Problem
from sqlanon.udfs.space.costs import PRIVATE

COMBINATIONS = 1024
ROOM = 1 << 25
"""Groups times combinations, at most."""
WARM, COLD = 0.1, 0.003
"""The temperature at the beginning and at the end, in units of what a row can lose."""
LOOSE, TIGHT = np.array([0.1, 0.3, 0.6]), np.array([0.6, 0.2, 0.2])
"""The shares of re-splitting, shrinking and opening."""
BATCH = 20
"""Moves of one kind at a time."""
BATCHES = 10
"""And how many such between two reports of progress."""
MOVES = (resplits, shrinks, openings)


def can_search(problem: Problem, k: int, objective: str) -> bool:
    """Does the search know what is asked?"""
    if not problem.models or problem.entity is not None or objective in PRIVATE:
        return False
    values = int(combinations(problem).max(initial=0)) + 1
    return values <= COMBINATIONS and values * (problem.rows // max(k, 1) + 1) <= ROOM


def search(
    problem: Problem,
    groups: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    work: int | None,
    seconds: float | None = None,
    objective: str = "ncp",
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """The groups after this much work or these seconds, whichever is over first; they lose no more than before.
    Suppressed rows stay so."""
    start, kept = clock(), groups.group != SUPPRESSED
    tuples = np.repeat(groups.tuple[kept], groups.rows[kept])
    ids, group = np.unique(np.repeat(groups.group[kept], groups.rows[kept]), return_inverse=True)
    if not len(ids):
        return groups
    combination = combinations(problem)
    table, asked = ground(problem, tuples, combination, objective), rules(problem, combination)
    state, desk = empty(table, asked, k, len(ids), int(rng.integers(1 << 62)))
    fill(table, state, group, np.full(len(ids), -1))
    mix = _mix(problem, k, rng)
    best, cost, total = group, 0.0, 0.0
    while True:
        spent = 0.0 if work is None else int(state.numbers[WORK]) / max(work, 1)
        if seconds is not None:
            spent = max(spent, (clock() - start) / max(seconds, 1e-9))
        if spent >= 1:
            break
        progress(int(spent * THOUSANDTHS), THOUSANDTHS)
        heat = table.scale * WARM * (COLD / WARM) ** spent
        for move in rng.choice(3, size=BATCHES, p=mix):
            state.numbers[WORK] += BATCH
            total += MOVES[move](table, asked, k, state, desk, heat, BATCH)
        if total < cost - 1e-9:
            best, cost = state.rows[OF].copy(), total
    progress(THOUSANDTHS, THOUSANDTHS)
    rest = ~kept
    number = np.unique(best, return_inverse=True)[1]
    return Groups.collect(
        np.concatenate([tuples, groups.tuple[rest]]),
        np.concatenate([number, groups.group[rest]]),
        np.concatenate([np.ones_like(tuples), groups.rows[rest]]),
        groups.report,
    )


def _mix(problem: Problem, k: int, rng: np.random.Generator) -> Floats:
    """The shares of the moves, by how often random rows of the table are a legal group."""
    of_row = np.repeat(np.arange(len(problem.counts)), problem.counts)
    tuples = rng.choice(of_row, size=100 * 2 * k)
    legal = legality.are_legal(problem, tuples, np.repeat(np.arange(100), 2 * k), np.ones_like(tuples))
    return np.asarray(TIGHT + (LOOSE - TIGHT) * float(legal.mean()))


@compiled
def fill(ground, state, group, numbers):
    """Put every row into its group."""
    begin(state)
    for row in range(len(group)):
        if numbers[group[row]] < 0:
            numbers[group[row]] = found(state)
        join(ground, state, row, numbers[group[row]])
    finish(ground, state)
