"""Mondrian on single rows, by recursion. Slow, and meant to be obviously right.

It takes the decisions that the core's docstring names, and rounds widths to the same grain, so that ties are ties in
both.
"""

from __future__ import annotations

import math
from collections import Counter

from literal import cover, grain, unit

from sqlanon.udfs.problem import Problem, Tree

Rows = list[int]
"""Rows, given by their tuples."""


def mondrian(problem: Problem, k: int, cuts: str) -> list[dict[int, int]]:
    rows = [t for t, count in enumerate(problem.counts.tolist()) for _ in range(count)]
    rows.sort(key=lambda t: problem.ranks[t].tolist())
    return [dict(Counter(part)) for part in parts(problem, rows, k, cuts)]


def parts(problem: Problem, rows: Rows, k: int, cuts: str) -> list[Rows]:
    width = [attribute_width(problem, rows, j) for j in range(len(problem.attributes))]
    by_width = [j for j in sorted(range(len(width)), key=lambda j: -width[j]) if width[j] > 0]
    if len(rows) < 2 * k or not by_width:
        return [rows]
    for j in by_width if cuts != "printed" else []:
        ordered = sorted(rows, key=lambda t, j=j: problem.ranks[t][j])
        if place := best_place(problem, ordered, j, k):
            return both(problem, ordered, place, k, cuts)
    if cuts == "strict":
        return [rows]
    return both(problem, sorted(rows, key=lambda t: problem.ranks[t][by_width[0]]), len(rows) // 2, k, cuts)


def both(problem: Problem, ordered: Rows, place: int, k: int, cuts: str) -> list[Rows]:
    sides = (sorted(side, key=lambda t: problem.ranks[t].tolist()) for side in (ordered[:place], ordered[place:]))
    return [part for side in sides for part in parts(problem, side, k, cuts)]


def attribute_width(problem: Problem, rows: Rows, j: int) -> float:
    attribute, share = problem.attributes[j], problem.weights[j] / problem.weights.sum()
    lo, hi = (end(problem.ranks[t][j] for t in rows) for end in (min, max))
    if lo == hi:
        return 0.0
    if isinstance(attribute, Tree):
        first, last, _ = cover(attribute, lo, hi)
        return grain(share * ((last - first + 1) / attribute.leaves))
    ends = [unit(attribute)[end] for end in (lo, hi)]
    return grain(share) if math.isnan(ends[1]) else grain(share * ends[1]) - grain(share * ends[0])


def best_place(problem: Problem, ordered: Rows, j: int, k: int) -> int | None:
    """How many rows come before the cut, between numbers or children of the closest common node."""
    attribute = problem.attributes[j]
    ranks = [int(problem.ranks[t][j]) for t in ordered]
    legal = [i for i in range(k, len(ranks) - k + 1) if ranks[i - 1] != ranks[i]]
    if isinstance(attribute, Tree):
        whole = cover(attribute, ranks[0], ranks[-1])
        legal = [i for i in legal if cover(attribute, ranks[i - 1], ranks[i]) == whole]
    elif math.isnan(attribute.at[ranks[-1]]) and (known := ranks.index(ranks[-1])) in legal:
        return known
    return min(legal, key=lambda i: (abs(2 * i - len(ranks)), i), default=None)
