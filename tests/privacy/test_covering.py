"""Distinct rows, as the attacks count them."""

import numpy as np
import pytest

from sqlanon.privacy.covering import distinct


@pytest.mark.parametrize("length", [0, 1, 7, 300])
def test_distinct_rows_are_those_of_numpy(length: int) -> None:
    rows = np.random.default_rng(length).integers(-2, 3, (length, 3))
    found, which, counts = distinct(rows)
    same, place, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    assert (found == same).all()
    assert (which == place.reshape(-1)).all()
    assert (counts == sizes).all()
