"""Repair: groups that break a model are merged with the nearest until every one keeps it. All models are monotone, so
that one mechanism serves all of them.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.legality import are_legal, check_legal, margins
from sqlanon.udfs.method import Progress
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.problem import SUPPRESSED, Floats, Groups, Ints, Problem

TIED = 32
"""How many of the nearest groups are compared by what their union with a broken one would keep."""


def spread(groups: Groups, place: Ints, counts: Ints, rng: np.random.Generator) -> Groups:
    """Groups of merged tuples as groups of the tuples with sensitive values that they were merged from.

    The rows of a tuple that several groups share are dealt to them at random, all dealings being equally likely. None
    is preferred for keeping a model: then the values that a class shows would tell how often the others break it, and
    so whose they are. What breaks a model is merged later.
    """
    of_row = np.repeat(np.arange(len(place)), counts)
    of_row = of_row[np.lexsort((rng.random(len(of_row)), place[of_row]))]
    order = np.argsort(groups.tuple, kind="stable")
    group = np.repeat(groups.group[order], groups.rows[order])
    return Groups.collect(of_row, group, np.ones(len(of_row), dtype=np.int64), groups.report)


def repair(problem: Problem, groups: Groups, progress: Progress) -> Groups:
    """Merge every group that breaks a model with the one that costs least, until none does.

    Cost is the NCP that the union adds, for the rows of both. O(b (g d + e log e)) time for b broken among g groups, d
    attributes and e entries of a union. Suppressed rows are a group that covers everything.
    """
    if not problem.models:
        return groups
    check_legal(problem)
    ids, group = np.unique(groups.group, return_inverse=True)
    is_broken = ~are_legal(problem, groups.tuple, group, groups.rows)
    total = int(is_broken.sum())
    if not total:
        return groups
    lo, hi, rows = _closures(problem, groups, group, len(ids))
    if ids[0] == SUPPRESSED:
        lo[0], hi[0] = 0, [_last(problem, j) for j in range(problem.ranks.shape[1])]
    loss = problem.loss(lo, hi)
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(group))[:-1])
    is_alive = np.ones(len(ids), dtype=bool)
    while (broken := np.flatnonzero(is_broken & is_alive)).size:
        progress(total - broken.size, total)
        one = int(broken[0])
        union = problem.loss(np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))
        added = rows * (union - loss) + rows[one] * (union - loss[one])
        added[~is_alive] = np.inf
        added[one] = np.inf
        # Of some that cost the same, the one whose union keeps most.
        nearest = np.flatnonzero(added <= added.min() + SLACK)[:TIED]
        unions = [np.concatenate([members[one], members[each]]) for each in nearest]
        entry, number = np.concatenate(unions), np.repeat(np.arange(len(unions)), [len(each) for each in unions])
        kept = margins(problem, groups.tuple[entry], number, groups.rows[entry])
        chosen = int(kept.argmax())
        other = int(nearest[chosen])
        if ids[one] == SUPPRESSED:
            one, other = other, one
        lo[other], hi[other] = np.minimum(lo[one], lo[other]), np.maximum(hi[one], hi[other])
        rows[other] += rows[one]
        members[other] = unions[chosen]
        loss[other] = problem.loss(lo[other : other + 1], hi[other : other + 1])[0]
        is_alive[one] = False
        is_broken[other] = kept[chosen] < -SLACK
    progress(total, total)
    alive = np.flatnonzero(is_alive)
    number = np.where(ids[alive] == SUPPRESSED, SUPPRESSED, np.cumsum(ids[alive] != SUPPRESSED) - 1)
    entry = np.concatenate([members[each] for each in alive])
    return Groups.collect(
        groups.tuple[entry],
        np.repeat(number, [len(members[each]) for each in alive]),
        groups.rows[entry],
        groups.report,
    )


def _closures(problem: Problem, groups: Groups, group: Ints, size: int) -> tuple[Ints, Ints, Floats]:
    ranks = problem.ranks[groups.tuple]
    lo: Ints = np.full((size, ranks.shape[1]), np.iinfo(np.int64).max)
    hi: Ints = np.full((size, ranks.shape[1]), -1)
    np.minimum.at(lo, group, ranks)
    np.maximum.at(hi, group, ranks)
    return lo, hi, np.bincount(group, weights=groups.rows, minlength=size).astype(np.float64)


def _last(problem: Problem, j: int) -> int:
    attribute = problem.attributes[j]
    return len(attribute.at) - 1 if hasattr(attribute, "at") else attribute.leaves - 1
