"""Which tuples a box covers: as many bit sets at a time as fit into what is allowed, with the same answer."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon.udfs.space import coverage


def literal(lo: np.ndarray, hi: np.ndarray, ranks: np.ndarray) -> list[list[int]]:
    return [
        [number for number, tuple_ in enumerate(ranks) if (low <= tuple_).all() and (tuple_ <= high).all()]
        for low, high in zip(lo, hi, strict=True)
    ]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    tuples=st.integers(1, 30),
    boxes=st.integers(0, 12),
    attributes=st.integers(1, 3),
    allowed=st.sampled_from([1, 8, 64, coverage.MOST_BYTES]),
)
def test_boxes_cover_what_a_loop_finds_however_many_sets_fit(
    seed: int, tuples: int, boxes: int, attributes: int, allowed: int
) -> None:
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 9, (tuples, attributes))
    lo = rng.integers(-1, 9, (boxes, attributes))
    hi = lo + rng.integers(0, 5, (boxes, attributes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "MOST_BYTES", allowed)
        assert [found.tolist() for found in coverage.covered(lo, hi, ranks)] == literal(lo, hi, ranks)


def test_many_different_ranges_take_no_more_memory_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sets of 100,000 rows in 10,000 classes took 120 MiB for each column of whole numbers."""
    monkeypatch.setattr(coverage, "MOST_BYTES", 1 << 20)
    ranks = np.random.default_rng(0).permuted(np.tile(np.arange(20_000), (3, 1)), axis=1).T
    lo = ranks[:2_000]
    tracemalloc.start()
    try:
        assert sum(len(found) for found in coverage.covered(lo, lo, ranks)) == 2_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 << 20
