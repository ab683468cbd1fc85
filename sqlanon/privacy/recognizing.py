"""Are the people of two sources the same? Samples of digests are compared, as a copy has no name in common.

A row of one source is found in the other if it equals one there in all columns that both have, or in all but one, which
may have changed. Unrelated tables have equal rows by chance, too, and chance has two limits:

- Where rows of both are drawn from one distribution, the number of rows that equal a given one is a mixture of Poisson
  numbers, so that the shares p0, p1, p2 of rows that are found never, once and twice have p1² ≤ 2 p0 p2.
- Where one column is a number that both count up from 1, a row is found if the rest agrees, as it does for two rows
  that are drawn at random.

Both are asked of each source in the other. Rows that all occur many times are found by chance whatever the tables;
there a copy is recognized by equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sqlanon.catalog.people import Digests, People
from sqlanon.privacy.covering import Codes, together
from sqlanon.sqltext import fold

SHARED = 0.05
"""The same people are those of whom at least this part of the smaller table is in the larger one."""
SIGMAS = 3
PLENTY, EQUAL, TUPLES = 3, 0.9, 3
"""Rows that occur at least this often, equally often in this part of cases, for at least this many different ones."""


def are_the_same(one: People, other: People) -> bool:
    """Is a substantial part of the smaller source in the larger one?"""
    theirs = {fold(column) for column in other.columns}
    common = [column for column in one.columns if fold(column) in theirs]
    if not common or not len(one.digests) or not len(other.digests):
        return False
    mine, found = one.of(common), other.of(common)
    if len(common) == len(one.columns) and len(other.digests) == other.rows and _occur_as_often(one, mine, found):
        return True
    smaller = min(one.rows, other.rows)
    seen = len(other.digests) / other.rows
    return any(excess * one.rows / seen >= SHARED * smaller for excess in _excesses(mine, found))


def _excesses(mine: Digests, theirs: Digests) -> Iterator[float]:
    """How large a part of my rows is found beyond chance, where theirs are too: by all columns, and by all but each."""
    width = mine.shape[1]
    kept = [list(range(width)), *([j for j in range(width) if j != left] for left in range(width) if width > 2)]
    for columns in kept:
        one, other = mine[:, columns], theirs[:, columns]
        if (found := _excess(one, other)) > 0 and _excess(other, one) > 0:
            yield found


def _excess(mine: Digests, theirs: Digests) -> float:
    """The part of my rows that is found once among theirs, less what chance may find; 0 if that is no more."""
    counts, rows = _counts(mine, theirs), len(mine)
    never, once, twice = (float(np.mean(counts == number)) for number in range(3))
    chance = min(1.0, max((2 * never * twice) ** 0.5, _numbered(mine, theirs)))
    excess = once - chance
    return excess if excess > SIGMAS * (chance * (1 - chance) / rows) ** 0.5 + SIGMAS / rows else 0.0


def _numbered(mine: Digests, theirs: Digests) -> float:
    """The part of my rows that is found if the column of most values has nothing to do with the others."""
    key = max(range(mine.shape[1]), key=lambda column: len(np.unique(mine[:, column])))
    rest = [column for column in range(mine.shape[1]) if column != key]
    found = float(np.mean(_counts(mine[:, [key]], theirs[:, [key]]) > 0))
    agreeing = float(np.mean(_counts(mine[:, rest], theirs[:, rest]))) / len(theirs) if rest else 1.0
    return found * agreeing


def _occur_as_often(one: People, mine: Digests, theirs: Digests) -> bool:
    """Do the rows that one source has many times occur as often in the other?"""
    counts = _counts(mine, theirs)
    is_plenty = (one.copies >= PLENTY) & (counts > 0)
    if len(np.unique(_mixed(mine[is_plenty]))) < TUPLES:
        return False
    share = float(np.mean(one.copies[is_plenty] == counts[is_plenty]))
    there = float(np.mean(is_plenty)) * one.rows
    return share >= EQUAL and there >= SHARED * min(one.rows, len(theirs))


def _counts(mine: Digests, theirs: Digests) -> Codes:
    """How often each of my rows occurs among theirs."""
    values, counts = np.unique(_mixed(theirs), return_counts=True)
    sought = _mixed(mine)
    place = np.minimum(np.searchsorted(values, sought), len(values) - 1)
    found: Codes = np.where(values[place] == sought, counts[place], 0)
    return found


def _mixed(digests: Digests) -> Digests:
    columns: Sequence[Digests] = [digests[:, column] for column in range(digests.shape[1])]
    mixed: Digests = together(columns, len(digests))
    return mixed
