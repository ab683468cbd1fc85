"""Which tuples a box covers, by bit sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sqlanon.udfs.problem import Ints

MOST_PAIRS = 1_000_000_000
"""How many pairs of tuples and classes are compared; beyond that there is no answer."""
MOST_BYTES = 1 << 25
"""How many bytes of bit sets are kept at a time. Those of all of MOST_PAIRS would take 120 MiB for each attribute."""


def covered(lo: Ints, hi: Ints, ranks: Ints) -> Iterator[Ints]:
    """The tuples that each box covers, box by box."""
    width = -(-len(ranks) // 8)
    distinct = sum(len(np.unique(ends, axis=0)) for ends in np.stack([lo, hi], axis=2).swapaxes(0, 1))
    fits = distinct * width <= MOST_BYTES
    batch = len(lo) if fits else max(1, MOST_BYTES // (width * lo.shape[1]))
    orders = [np.argsort(ranks[:, j]) for j in range(lo.shape[1])]
    for start in range(0, len(lo), max(1, batch)):
        yield from _of_batch(lo[start : start + batch], hi[start : start + batch], ranks, orders)


def _of_batch(lo: Ints, hi: Ints, ranks: Ints, orders: list[Ints]) -> Iterator[Ints]:
    sets = [_bit_sets(lo[:, j], hi[:, j], ranks[:, j], order) for j, order in enumerate(orders)]
    for one in range(len(lo)):
        inside = sets[0][0][sets[0][1][one]]
        for bits, place in sets[1:]:
            inside = inside & bits[place[one]]
        some = np.flatnonzero(inside)
        eight, bit = np.nonzero(np.unpackbits(inside[some]).reshape(-1, 8))
        yield 8 * some[eight] + bit


def _bit_sets(lo: Ints, hi: Ints, ranks: Ints, order: Ints) -> tuple[list[np.ndarray], Ints]:
    """The tuples within each distinct range, as bits, and which range each class has. `order` sorts the ranks."""
    ends, place = np.unique(np.stack([lo, hi], axis=1), axis=0, return_inverse=True)
    rising = ranks[order]
    first, last = np.searchsorted(rising, ends[:, 0]), np.searchsorted(rising, ends[:, 1], side="right")
    bits = []
    for start, stop in zip(first, last, strict=True):
        inside = np.zeros(len(ranks), dtype=bool)
        inside[order[start:stop]] = True
        bits.append(np.packbits(inside))
    return bits, place.reshape(-1)
