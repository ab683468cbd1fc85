"""The random dealing: rows that are equal in all quasi-identifiers change places between groups at random.

A search that exchanges rows by their sensitive values would otherwise decide who of several people with the same
quasi-identifiers is in which group. Two rows with the same ranks trade places if the two groups then still keep all
models. A trade and its reverse are equally likely, so that after many of them every dealing that can be reached by
trades is equally likely. What is released of quasi-identifiers stays as it is.

Time O(r E log E) for r rounds and E entries of tuples that several groups share, and of those groups.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.problem import Groups, Ints, Problem

ROUNDS = 40
"""In a round a group is part of one trade at most."""


def deal(problem: Problem, groups: Groups, rng: np.random.Generator, rounds: int = ROUNDS) -> Groups:
    """The groups after some rounds of trades."""
    if problem.sensitive is None or groups.box is not None:
        return groups
    _, place = problem.merged()
    tuples, group = np.repeat(groups.tuple, groups.rows), np.repeat(groups.group, groups.rows)
    movable = np.flatnonzero(_is_shared(place[tuples], group, tuples) & (group >= 0))
    if not len(movable):
        return groups
    involved = np.isin(group, group[movable])
    for _ in range(rounds):
        one, other = _pairs(place[tuples[movable]], group[movable], rng)
        one, other = movable[one], movable[other]
        differ = tuples[one] != tuples[other]
        one, other = one[differ], other[differ]
        new = tuples.copy()
        new[one], new[other] = tuples[other], tuples[one]
        touched = involved & np.isin(group, np.concatenate([group[one], group[other]]))
        ids, local = np.unique(group[touched], return_inverse=True)
        if not len(ids):
            continue
        is_legal = legality.are_legal(problem, new[touched], local, np.ones(len(local), dtype=np.int64))
        stays = is_legal[np.searchsorted(ids, group[one])] & is_legal[np.searchsorted(ids, group[other])]
        one, other = one[stays], other[stays]
        tuples[one], tuples[other] = new[one], new[other]
    return Groups.collect(tuples, group, np.ones(len(tuples), dtype=np.int64), groups.report)


def _is_shared(place: Ints, group: Ints, tuples: Ints) -> Ints:
    """Of each row, whether rows with its ranks are in several groups and have several sensitive values."""
    shared = np.ones(len(place), dtype=bool)
    for other in (group, tuples):
        low, high = np.full(place.max() + 1, np.iinfo(np.int64).max), np.full(place.max() + 1, np.iinfo(np.int64).min)
        np.minimum.at(low, place, other)
        np.maximum.at(high, place, other)
        shared &= (low < high)[place]
    return shared


def _pairs(place: Ints, group: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Random pairs of rows with the same ranks from different groups, no group in two of them."""
    order = np.lexsort((rng.random(len(place)), place))
    first = np.arange(0, len(order) - 1)
    same = place[order[first]] == place[order[first + 1]]
    apart = group[order[first]] != group[order[first + 1]]
    first = first[same & apart]
    one, other = order[first], order[first + 1]
    race = rng.random(len(one))
    best = np.ones(int(group.max()) + 1)
    np.minimum.at(best, group[one], race)
    np.minimum.at(best, group[other], race)
    # Half of them stay as they are: two rows alone would otherwise trade in every round, and an even number undoes it.
    wins = (best[group[one]] == race) & (best[group[other]] == race) & (rng.random(len(one)) < 0.5)
    return one[wins], other[wins]
