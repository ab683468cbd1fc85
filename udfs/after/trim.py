"""k-map: every released class matches k people of a population or more, though it may hold fewer rows of the release.

Sweeney: Computational Disclosure Control, thesis, MIT 2001. The tuples are those of the release and of the population
together, with the people of the population as their counts, so that any method makes groups of k people. What is
released has only some of them: the others are population-only tuples, and where a group has more than it needs, those
that make it wider can stay away (`trim`).

Decided:
- Groups part the population: whoever is in a group would have been released as the others there. A box for each
  released row, the smallest around it that holds k people, would lose less; but then those whose smallest box it is may
  be one.
- A tuple with more released rows than the population has people of it counts with the former: those who are released
  are people, too.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.after.suppress import GAIN, without
from sqlanon.udfs.problem import LEFT_OUT, Groups, Ints, Problem


def trim(problem: Problem, groups: Groups, k: int, released: Ints) -> Groups:
    """Groups that cover less: population-only tuples that widen a group are dropped, as long as k people are left in
    it.

    `released` holds how many rows of each tuple are released. In every round the population-only rows of one tuple
    leave each group, that which saves most of the loss for each of its people. O(r E d log E) time for r rounds over E
    entries. Groups of which nothing is released are given up.
    """
    if groups.box is not None:
        return groups
    tuples, rows, group = groups.tuple, groups.rows, groups.group.copy()
    is_company = released[tuples] == 0
    while (leaving := _leaving(problem, tuples, rows, group, k, is_company)).size:
        group[leaving] = LEFT_OUT
    kept = group >= 0
    wanted = np.bincount(group[kept], weights=~is_company[kept]) > 0
    group[kept] = np.where(wanted[group[kept]], group[kept], LEFT_OUT)
    kept = group >= 0
    group[kept] = np.unique(group[kept], return_inverse=True)[1]
    return Groups.collect(tuples, group, rows, groups.report)


def _leaving(problem: Problem, tuples: Ints, rows: Ints, group: Ints, k: int, is_company: Ints) -> Ints:
    """The entry of each group that saves most by leaving."""
    entries = np.flatnonzero(group >= 0)
    entries = entries[np.argsort(group[entries], kind="stable")]
    mine, ranks = group[entries], problem.ranks[tuples[entries]]
    size = np.bincount(mine, weights=rows[entries])
    first = np.flatnonzero(np.diff(mine, prepend=-1))
    of_group = np.repeat(np.arange(len(first)), np.diff(first, append=len(entries)))
    box = np.minimum.reduceat(ranks, first)[of_group], np.maximum.reduceat(ranks, first)[of_group]
    may_go = is_company[entries] & (size[mine] - rows[entries] >= k)
    saved = np.where(may_go, problem.loss(*box) - problem.loss(*without(mine, ranks)), 0) / rows[entries]
    order = np.lexsort((entries, -np.round(saved, 9), mine))
    best = order[np.diff(mine[order], prepend=-1) != 0]
    return np.asarray(entries[best[saved[best] > GAIN]])
