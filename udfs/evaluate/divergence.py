"""The Kullback-Leibler divergence of a release from its source (Kifer & Gehrke 2006, as Goldberger & Tassa 2010 use
it).

A released class spreads its rows evenly over all combinations of values that it covers, so each tuple is compared with
every class. As a join in SQL that took 20 times as long: here a class is an intersection of bit sets over the tuples.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.coverage import MOST_PAIRS, covered

SMALLEST = -1000.0
"""The smallest logarithm of a share that is added up as a float."""


def divergence(lo: Ints, hi: Ints, rows: Ints, ranks: Ints, counts: Ints) -> float | None:
    """The divergence in bits, from classes that cover lo to hi (classes × attributes) and tuples of ranks; None where
    there are too many of them, or where it is infinite because no class covers some tuple.

    O(C E d / 64) time and O(E) memory for C classes and E tuples, in addition to a bit set per distinct released range.
    """
    if len(lo) * len(ranks) > MOST_PAIRS:
        return None
    total = counts.sum()
    own = counts / total
    # As logarithms: with many columns a class covers more combinations than a float can count.
    share: Floats = np.log2(rows / total) - np.log2(hi - lo + 1.0).sum(axis=1)
    if share.min() < SMALLEST:
        found = np.full(len(ranks), -np.inf)
        for one, tuples in enumerate(covered(lo, hi, ranks)):
            found[tuples] = np.logaddexp2(found[tuples], share[one])
        return float((own * (np.log2(own) - found)).sum())
    found = np.zeros(len(ranks))
    for one, tuples in enumerate(covered(lo, hi, ranks)):
        found[tuples] += 2.0 ** share[one]
    if not found.all():
        return None
    return float((own * np.log2(own / found)).sum())
