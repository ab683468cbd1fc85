"""The Kullback-Leibler divergence of a release from its source (Kifer & Gehrke 2006, as paper 002 uses it).

A printed class spreads its rows evenly over all combinations of values that it covers, so each tuple is compared with
every class. As a join in SQL that took 20 times as long: here a class is an intersection of bit sets over the tuples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sqlanon.udfs.problem import Floats, Ints

MOST_PAIRS = 1_000_000_000
"""How many pairs of tuples and classes are compared; beyond that there is no answer."""


def divergence(lo: Ints, hi: Ints, rows: Ints, ranks: Ints, counts: Ints) -> float | None:
    """The divergence in bits, from classes that cover lo to hi (classes × attributes) and tuples of ranks.

    O(C E d / 64) time and O(E) memory for C classes and E tuples, beside a bit set per distinct printed range.
    """
    if len(lo) * len(ranks) > MOST_PAIRS:
        return None
    total = counts.sum()
    share: Floats = rows / total / np.prod(hi - lo + 1.0, axis=1)
    found = np.zeros(len(ranks))
    for one, tuples in enumerate(covered(lo, hi, ranks)):
        found[tuples] += share[one]
    own = counts / total
    return float((own * np.log2(own / found)).sum())


def covered(lo: Ints, hi: Ints, ranks: Ints) -> Iterator[Ints]:
    """The tuples that each box covers, box by box."""
    sets = [_bit_sets(lo[:, j], hi[:, j], ranks[:, j]) for j in range(lo.shape[1])]
    for one in range(len(lo)):
        inside = sets[0][0][sets[0][1][one]]
        for bits, place in sets[1:]:
            inside = inside & bits[place[one]]
        some = np.flatnonzero(inside)
        eight, bit = np.nonzero(np.unpackbits(inside[some]).reshape(-1, 8))
        yield 8 * some[eight] + bit


def _bit_sets(lo: Ints, hi: Ints, ranks: Ints) -> tuple[list[np.ndarray], Ints]:
    """The tuples within each distinct range, as bits, and which range each class has."""
    ends, place = np.unique(np.stack([lo, hi], axis=1), axis=0, return_inverse=True)
    return [np.packbits((ranks >= low) & (ranks <= high)) for low, high in ends], place.reshape(-1)
