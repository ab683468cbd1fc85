"""Blind forming: groups that are made without looking at sensitive values, and a yes or no about these afterwards.

Ours. A method that merges what breaks a model with whatever is cheapest tells something by each merger (minimality:
Wong, Fu, Wang, Pei, VLDB 2007). Here the method sees quasi-identifiers alone, and so does what follows: its groups are
halved again and again, down to single ones. Then each part is asked one thing: does it keep every model as a class?
Where a half does not, both halves are one class, and so on upwards.

What the answers tell is the same about everybody in a class where parts that are halves of the same have equally many
groups, and groups equally many rows: if people of a group change places, or the two halves of a part do, no answer
changes, so that everybody in a class has each value with the share that it has there. Where sizes differ, this holds
nearly.

Time O(E log(g) log(E)) and memory O(E) for E entries in g groups. It costs loss: the partner of a group is fixed, and
rows are never exchanged for others that would do.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sqlanon.udfs.legality import are_legal, check_legal
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Groups, Ints, Problem


def form(problem: Problem, groups: Groups, progress: Progress) -> Groups:
    """Groups that keep every model, as unions of those given, which depend on no sensitive value."""
    check_legal(problem)
    kept = groups.group >= 0
    tuples, group, rows = groups.tuple[kept], groups.group[kept], groups.rows[kept]
    if not len(group):
        return groups
    levels = halvings(problem, tuples, group)
    union, is_broken = levels[-1], np.ones(len(levels[-1]), dtype=bool)
    for number, part in enumerate(reversed(levels)):
        progress(number, len(levels))
        joins = np.isin(part, part[is_broken])
        if not joins.any():
            break
        union = np.where(joins, part + number * len(union), union)
        is_broken = joins & ~are_legal(problem, tuples, part[group], rows)[part]
    progress(len(levels), len(levels))
    return Groups.collect(
        np.append(tuples, groups.tuple[~kept]),
        np.append(np.unique(union, return_inverse=True)[1][group], groups.group[~kept]),
        np.append(rows, groups.rows[~kept]),
        groups.report,
    )


def halvings(problem: Problem, tuples: Ints, group: Ints) -> list[Ints]:
    """The part that each group is in: of the whole table first, then of its halves, and so on down to single groups.
    Nothing but ranks is looked at."""
    size, ranks = int(group.max()) + 1, problem.ranks[tuples]
    lo: Ints = np.full((size, ranks.shape[1]), np.iinfo(np.int64).max)
    hi: Ints = np.full((size, ranks.shape[1]), -1)
    np.minimum.at(lo, group, ranks)
    np.maximum.at(hi, group, ranks)
    parts, levels = [np.arange(size)], []
    while True:
        label = np.empty(size, dtype=np.int64)
        for number, part in enumerate(parts):
            label[part] = number
        levels.append(label)
        if len(parts) == size:
            return levels
        parts = [half for part in parts for half in _halved(problem, part, lo, hi)]


def _halved(problem: Problem, part: Ints, lo: Ints, hi: Ints) -> list[Ints]:
    """The groups of a part as two halves, in the order of the attribute that loses most."""
    if len(part) == 1:
        return [part]
    losses = [
        weight * float(attribute.loss(lo[part, j].min(keepdims=True), hi[part, j].max(keepdims=True))[0])
        for j, (attribute, weight) in enumerate(zip(problem.attributes, problem.weights.tolist(), strict=True))
    ]
    middle = (lo[part] + hi[part])[:, np.argsort(losses, kind="stable")]
    order = part[np.lexsort(middle.T)]
    return [order[begin:end] for begin, end in pairwise((0, len(part) // 2, len(part)))]
