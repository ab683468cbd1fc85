"""Models of a block compare with the shares of the whole table, which may have values that the block lacks."""

from __future__ import annotations

import numpy as np
import pytest

from sqlanon.udfs import legality
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Numbers, Problem

SHARES = np.array([0.4, 0.4, 0.2])


@pytest.mark.parametrize(("model", "reached"), [("t", 0.2), ("basic_beta", 0.25), ("delta", np.inf)])
def test_a_value_that_the_block_lacks_counts(model: str, reached: float) -> None:
    ranks, counts = np.array([[0], [1]]), np.array([5, 5])
    codes = np.array([[0], [1]])
    block = Problem(ranks, counts, (Numbers(np.array([0.0, 1.0])),), np.ones(1), codes)
    problem = promise(block, {model: 0.1}, shares=[SHARES])
    assert legality.best(problem, problem.models[0]) == pytest.approx(reached)
