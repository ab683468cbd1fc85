"""Which tuples a box covers, by bit sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sqlanon.udfs.problem import Ints

MOST_PAIRS = 1_000_000_000
"""How many pairs of tuples and classes are compared; beyond that there is no answer."""


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
