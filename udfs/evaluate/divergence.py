"""The Kullback-Leibler divergence of a release from its source (Kifer & Gehrke 2006, as paper 002 uses it).

A printed class spreads its rows evenly over all combinations of values that it covers, so each tuple is compared with
every class. As a join in SQL that took 20 times as long: here a class is an intersection of bit sets over the tuples.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.coverage import MOST_PAIRS, covered


def divergence(lo: Ints, hi: Ints, rows: Ints, ranks: Ints, counts: Ints) -> float | None:
    """The divergence in bits, from classes that cover lo to hi (classes × attributes) and tuples of ranks; None where
    there are too many of them, or where it is infinite because no class covers some tuple.

    O(C E d / 64) time and O(E) memory for C classes and E tuples, beside a bit set per distinct printed range.
    """
    if len(lo) * len(ranks) > MOST_PAIRS:
        return None
    total = counts.sum()
    share: Floats = rows / total / np.prod(hi - lo + 1.0, axis=1)
    found = np.zeros(len(ranks))
    for one, tuples in enumerate(covered(lo, hi, ranks)):
        found[tuples] += share[one]
    if not found.all():
        return None
    own = counts / total
    return float((own * np.log2(own / found)).sum())
