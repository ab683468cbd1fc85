"""How many people of a population the boxes of a release cover."""

from __future__ import annotations

from sqlanon.udfs.problem import Ints
from sqlanon.udfs.space.coverage import covered


def fewest_inside(lo: Ints, hi: Ints, rows: Ints, ranks: Ints, counts: Ints) -> int:
    """The least number of people that a box covers; 0 without boxes. O(C E d / 64) time for C boxes and E tuples."""
    return min((int(counts[tuples].sum()) for tuples in covered(lo, hi, ranks)), default=0)
