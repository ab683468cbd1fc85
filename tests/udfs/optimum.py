"""The least loss of any clustering of a tiny table, by dynamic programming over all sets of rows."""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.legality import are_legal
from sqlanon.udfs.problem import Floats, Problem
from sqlanon.udfs.space import costs


def least_loss(problem: Problem, k: int, objective: str = "ncp", *, may_suppress: bool = False) -> float:
    """As a share of the loss of everything; groups keep the problem's models. Time O(3^n) for n rows."""
    ranks = np.repeat(problem.ranks, problem.counts, axis=0)
    rows, whole = len(ranks), float(problem.weights.sum())
    sets = np.arange(1 << rows)
    members = (sets[:, None] >> np.arange(rows)) & 1 == 1
    charge = _charges(problem, ranks, members, objective)
    size = members.sum(axis=1)
    cost = np.where(size >= k, charge * size, np.inf)
    if problem.models:
        chosen, row = np.nonzero(members)
        tuples = np.repeat(np.arange(len(problem.counts)), problem.counts)[row]
        cost[1:][~are_legal(problem, tuples, chosen - 1, np.ones_like(row))] = np.inf
    if may_suppress:
        cost = np.minimum(cost, size * whole)
    cost[0] = 0.0
    best = np.full(1 << rows, np.inf)
    best[0] = 0.0
    for chosen in range(1, 1 << rows):
        first = chosen & -chosen
        # Every set of `chosen` that holds its first row, and the best of what is left.
        rest, part = chosen ^ first, chosen ^ first
        while True:
            best[chosen] = min(best[chosen], cost[part | first] + best[chosen ^ (part | first)])
            if part == 0:
                break
            part = (part - 1) & rest
    return float(best[-1]) / (whole * rows)


def _charges(problem: Problem, ranks: Floats, members: Floats, objective: str) -> Floats:
    """What a row loses in the closure of each set of rows."""
    rates, _ = costs.rates(problem, objective)
    lo = np.where(members[:, :, None], ranks, np.iinfo(np.int64).max).min(axis=1)
    hi = np.where(members[:, :, None], ranks, -1).max(axis=1)
    lo[0] = hi[0] = 0
    return np.asarray(sum(rate(lo[:, j], hi[:, j])[:, 0] for j, rate in enumerate(rates)))
