"""l-diversity for every core: groups that break it are merged with their nearest until all hold.

A group is l-diverse when no sensitive value holds more than 1/l of its rows (papers 000 and 002). The union of two
l-diverse groups is l-diverse, so merging only ever helps, and one loop serves every method.
"""

from __future__ import annotations

import math

import numpy as np
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import SUPPRESSED, Bools, Floats, Groups, Ints, Problem

from sqlanon.errors import DataError

SLACK = 1e-9


def holds(most: Floats | Ints, rows: Floats | Ints, l: float) -> Bools:  # noqa: E741
    """Is the most frequent value, `most` of so many rows, rare enough for l?"""
    return np.asarray(most * l <= rows + SLACK)


def largest_l(problem: Problem) -> float:
    """The largest l that any release of these rows can have: that of the whole table."""
    assert problem.sensitive is not None
    most = max(int(np.bincount(codes, weights=problem.counts).max()) for codes in problem.sensitive.T)
    return problem.rows / most


def check_legal(problem: Problem) -> None:
    """Refuse an l that not even the whole table has, and say the largest legal one."""
    if problem.l is not None and problem.l > (largest := largest_l(problem)) * (1 + SLACK):
        raise DataError(
            f"l = {problem.l:g} is illegal: the largest legal one, that of the whole table, is "
            f"{math.floor(largest * 1e4) / 1e4:g}."
        )


def spread(groups: Groups, place: Ints, counts: Ints) -> Groups:
    """Groups of merged tuples as groups of the tuples with sensitive values that they were merged from.

    A group's rows of a tuple are taken in turn, in proportion, so that each group gets its share of every value.
    """
    order = np.lexsort((np.arange(len(place)), place))
    of_row = np.repeat(order, counts[order])
    turns = groups.rows
    of_entry = np.repeat(np.arange(len(turns)), turns)
    turn = np.arange(len(of_entry)) - np.repeat(np.cumsum(turns) - turns, turns)
    by_turn = np.lexsort((groups.group[of_entry], (turn + 0.5) / turns[of_entry], groups.tuple[of_entry]))
    return Groups.collect(of_row, groups.group[of_entry][by_turn], np.ones(len(of_row), dtype=np.int64), groups.report)


def repair(problem: Problem, groups: Groups, progress: Progress) -> Groups:
    """Merge every group that is not l-diverse with the one that costs least, until all are.

    Cost is the NCP that the union adds, for the rows of both. O(b g (d + v)) time for b broken among g groups, d
    attributes and v sensitive values. Suppressed rows are a group that covers everything.
    """
    if problem.l is None or problem.sensitive is None:
        return groups
    check_legal(problem)
    ids, group = np.unique(groups.group, return_inverse=True)
    lo, hi, rows = _closures(problem, groups, group, len(ids))
    if ids[0] == SUPPRESSED:
        lo[0], hi[0] = 0, [_last(problem, j) for j in range(problem.ranks.shape[1])]
    histograms = [_histogram(codes[groups.tuple], group, groups.rows, len(ids)) for codes in problem.sensitive.T]
    loss = _loss(problem, lo, hi)
    home = np.arange(len(ids))
    is_alive = np.ones(len(ids), dtype=bool)
    is_broken = ~np.logical_and.reduce([holds(h.max(axis=1), rows, problem.l) for h in histograms])
    total = int(is_broken.sum())
    if not total:
        return groups
    while (broken := np.flatnonzero(is_broken & is_alive)).size:
        progress(total - broken.size, total)
        one = int(broken[0])
        union = _loss(problem, np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))
        added = rows * (union - loss) + rows[one] * (union - loss[one])
        added[~is_alive] = np.inf
        added[one] = np.inf
        # Of two that cost the same, the one that leaves the more diverse union.
        nearest = np.flatnonzero(added <= added.min() + SLACK)
        most = np.max([(h[nearest] + h[one]).max(axis=1) / (rows[nearest] + rows[one]) for h in histograms], axis=0)
        other = int(nearest[most.argmin()])
        if ids[one] == SUPPRESSED:
            one, other = other, one
        lo[other], hi[other] = np.minimum(lo[one], lo[other]), np.maximum(hi[one], hi[other])
        rows[other] += rows[one]
        for h in histograms:
            h[other] += h[one]
        loss[other] = _loss(problem, lo[other : other + 1], hi[other : other + 1])[0]
        is_alive[one] = False
        home[home == one] = other
        is_broken[other] = not all(holds(h[other].max(), rows[other], problem.l) for h in histograms)
    progress(total, total)
    kept = np.flatnonzero(is_alive & (ids != SUPPRESSED))
    number = np.full(len(ids), SUPPRESSED)
    number[kept] = np.arange(len(kept))
    return Groups.collect(groups.tuple, number[home[group]], groups.rows, groups.report)


def _closures(problem: Problem, groups: Groups, group: Ints, size: int) -> tuple[Ints, Ints, Floats]:
    ranks = problem.ranks[groups.tuple]
    lo: Ints = np.full((size, ranks.shape[1]), np.iinfo(np.int64).max)
    hi: Ints = np.full((size, ranks.shape[1]), -1)
    np.minimum.at(lo, group, ranks)
    np.maximum.at(hi, group, ranks)
    return lo, hi, np.bincount(group, weights=groups.rows, minlength=size).astype(np.float64)


def _histogram(codes: Ints, group: Ints, rows: Ints, size: int) -> Floats:
    values = int(codes.max()) + 1
    flat = np.bincount(group * values + codes, weights=rows, minlength=size * values)
    return np.asarray(flat.reshape(size, values))


def _loss(problem: Problem, lo: Ints, hi: Ints) -> Floats:
    total = np.zeros(len(lo))
    for j, (attribute, weight) in enumerate(zip(problem.attributes, problem.weights, strict=True)):
        total += weight * attribute.loss(lo[:, j], hi[:, j])
    return total


def _last(problem: Problem, j: int) -> int:
    attribute = problem.attributes[j]
    return len(attribute.at) - 1 if hasattr(attribute, "at") else attribute.leaves - 1
