"""The run of the search: moves drawn at random, annealed, and the best groups that were seen.

Ours, on `split`, `shrink` and `open`. Repair can only merge a group with others near it, which often lack the same
values; exchanges bring a scarce value to where it is needed. A move that costs more is taken with a chance that falls
as the search cools.

Time O(s (g d + m (d + v))) for s moves, g groups of m rows, d attributes and v combinations of sensitive values; memory
O(n (d + e / 8) + g v) for n rows and e ≤ 256 edges of each attribute. Work is counted in looks at a row or group, so
that the same seed and amount of work give the same groups. The moves are compiled; see memory.py.

A table with very many combinations of sensitive values, one whose people are counted, and the objective PMI, which is
another one for each value, are left to refine (scope.py).
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sqlanon.udfs.exchange.ground import lay_ground
from sqlanon.udfs.exchange.memory import ALIVE, GROUPS, OF, RANDOM, ROWS, SCALE, SHRINKS, SPLITS, WORK, K, Memory
from sqlanon.udfs.exchange.open import open_group
from sqlanon.udfs.exchange.rules import lay_rules, lay_units
from sqlanon.udfs.exchange.scope import combinations
from sqlanon.udfs.exchange.shrink import shrink
from sqlanon.udfs.exchange.split import resplit
from sqlanon.udfs.exchange.state import lay_groups, refresh, uniform
from sqlanon.udfs.method import THOUSANDTHS, Progress
from sqlanon.udfs.problem import SUPPRESSED, Floats, Groups, Ints, Problem
from sqlanon.udfs.space.machine import on_memory

WARM, COLD = 0.1, 0.003
"""The temperature at the beginning and at the end, in units of what a row can lose."""
MIX = (0.6, 0.8)
"""The share of re-splitting, and that of re-splitting and shrinking; the rest is opening."""
BATCH = 200
"""Moves between two reports of progress."""


def lay(problem: Problem, tuples: Ints, group: Ints, k: int, seed: int, objective: str) -> tuple[Ints, Floats]:
    """The memory of a search for these rows in these groups."""
    memory, combination = Memory(), combinations(problem)
    scale = lay_ground(memory, problem, tuples, combination, objective)
    lay_rules(memory, problem, combination)
    lay_units(memory, problem, combination)
    lay_groups(memory, group, combination[tuples], k)
    memory.header[[K, RANDOM]] = k, seed
    m, x = memory.arrays()
    x[[SCALE, SPLITS, SHRINKS]] = scale, *MIX
    return m, x


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
    m, x = lay(problem, tuples, group, k, int(rng.integers(1 << 62)), objective)
    of = m[m[OF] : m[OF] + m[ROWS]]
    best, cost, total = group, 0.0, 0.0
    while True:
        spent = 0.0 if work is None else int(m[WORK]) / max(work, 1)
        if seconds is not None:
            spent = max(spent, (clock() - start) / max(seconds, 1e-9))
        if spent >= 1:
            break
        progress(int(spent * THOUSANDTHS), THOUSANDTHS)
        total += anneal(m, x, x[SCALE] * WARM * (COLD / WARM) ** spent, BATCH)
        if total < cost - 1e-9:
            best, cost = of.copy(), total
    progress(THOUSANDTHS, THOUSANDTHS)
    rest = ~kept
    number = np.unique(best, return_inverse=True)[1]
    return Groups.collect(
        np.concatenate([tuples, groups.tuple[rest]]),
        np.concatenate([number, groups.group[rest]]),
        np.concatenate([np.ones_like(tuples), groups.rows[rest]]),
        groups.report,
    )


@on_memory
def anneal(m, x, heat, steps):
    """Try some moves at one temperature: what they changed the cost by."""
    for place in range(m[GROUPS]):
        refresh(m, x, m[m[ALIVE] + place])
    total = 0.0
    for _ in range(steps):
        m[WORK] += 1
        draw = uniform(m)
        if draw < x[SPLITS]:
            total += resplit(m, x, heat)
        elif draw < x[SHRINKS]:
            total += shrink(m, x, heat)
        else:
            total += open_group(m, x, heat)
    return total
