"""The bound for two sensitive values: against all partitions of tiny tables, and by a check that shares no code."""

from __future__ import annotations

import numpy as np
import pytest
from optimum import least_loss

from sqlanon.udfs.evaluate.certificate import worst_pair
from sqlanon.udfs.evaluate.prices import certify
from sqlanon.udfs.evaluate.transport import ratio_of, transported
from sqlanon.udfs.legality import band, best
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Numbers, Problem, Tree
from sqlanon.udfs.solve import certified

ASKED = [
    {"l": 1.5},
    {"alpha": 0.7},
    {"t": 0.2},
    {"basic_beta": 0.3},
    {"enhanced_beta": 0.3},
    {"delta": 0.7},
    {"entropy_l": 1.6},
    {"l": 1.3, "t": 0.3},
]
every_model = pytest.mark.parametrize("asked", ASKED, ids=lambda asked: " ".join(asked))


def quiet(done: int, total: int, **facts: float) -> None:
    """Nobody listens."""


def tiny(seed: int, rows: int = 7) -> Problem:
    """A number and a tree, and two sensitive values that go with the number."""
    rng = np.random.default_rng(seed)
    ranks = np.column_stack([rng.integers(6, size=rows), rng.integers(4, size=rows)])
    codes = (rng.random(rows) < 0.15 + 0.1 * ranks[:, 0]).astype(np.int64)
    codes[:2] = 0, 1
    tree = Tree(np.array([0, 0, 2, *range(4)]), np.array([3, 1, 3, *range(4)]), np.array([2, 1, 1, 0, 0, 0, 0]))
    weights = np.array([1.0, rng.choice([1.0, 0.5])])
    return Problem(ranks, np.ones(rows, dtype=np.int64), (Numbers(np.arange(6.0)), tree), weights, codes[:, None])


def is_possible(problem: Problem) -> bool:
    reached = [(best(problem, model) - model.asked) * (1 if model.is_floor else -1) for model in problem.models]
    return min(reached) >= -1e-9


@every_model
def test_no_partition_of_a_tiny_table_loses_less(asked):
    told = 0
    for seed in range(6):
        problem = promise(tiny(seed), asked)
        proof = transported(problem, "balanced", quiet) if is_possible(problem) else None
        if proof is None:
            continue
        optimum = least_loss(problem, 1)
        assert proof.bound <= least_loss(problem, 1, may_suppress=True) + 1e-9
        assert proof.bound <= optimum + 1e-9
        told += proof.bound > 0.3 * optimum > 0
    assert told


@every_model
def test_another_check_finds_the_prices_right_and_dearer_ones_wrong(asked):
    rng = np.random.default_rng(3)
    every = np.column_stack([rng.integers(6, size=150), rng.integers(4, size=150)])
    codes = (rng.random(150) < 0.1 + 0.1 * every[:, 0]).astype(np.int64)
    tuples, counts = np.unique(np.column_stack([every, codes]), axis=0, return_counts=True)
    shape = tiny(0)
    problem = Problem(tuples[:, :2].copy(), counts, shape.attributes, shape.weights, tuples[:, 2:].copy())
    problem = promise(problem, asked)
    ratio = ratio_of(problem, 0)
    proof = transported(problem, "best", quiet)
    assert worst_pair(problem, ratio.is_rare, ratio.least, ratio.most, proof.prices) <= 0
    dearer = np.where(ratio.is_rare, proof.prices, proof.prices + 0.01)
    assert worst_pair(problem, ratio.is_rare, ratio.least, ratio.most, dearer) > 0


def test_the_band_of_shares_is_that_of_the_models():
    rows = 100
    problem = Problem(
        np.arange(rows)[:, None],
        np.ones(rows, dtype=np.int64),
        (Numbers(np.arange(rows, dtype=float)),),
        np.ones(1),
        (np.arange(rows) >= 80).astype(np.int64)[:, None],
    )
    for asked, expected in (
        ({"l": 1.25}, (0.2, 0.8)),
        ({"alpha": 0.9}, (0.1, 0.9)),
        ({"t": 0.15}, (0.05, 0.35)),
        ({"basic_beta": 0.2}, (0.04, 0.24)),
        ({"l": 1.25, "t": 0.15}, (0.2, 0.35)),
        ({"distinct_l": 2}, (0.0, 1.0)),
    ):
        assert band(promise(problem, asked), 0) == pytest.approx(expected, abs=1e-7), asked


def test_the_certificate_is_the_better_of_the_bounds_for_k_and_for_two_values():
    # Two far ends, each with a value of its own: k alone costs nothing, the model must join the ends.
    problem = Problem(
        np.array([[0], [1]]),
        np.array([10, 10]),
        (Numbers(np.array([0.0, 1.0])),),
        np.ones(1),
        np.array([[0], [1]]),
    )
    asked = promise(problem, {"l": 1.5})
    assert certify(asked, 5, quiet).bound == 0
    proof = certified(asked, 5, quiet)
    assert 0.49 < proof.bound < 1  # no price is above that of a suppressed row
    assert "unlike" in proof.how
    assert certified(promise(problem, {"l": 1.0}), 5, quiet).bound == 0


def test_columns_of_other_than_two_values_have_no_such_bound():
    problem = tiny(1)
    three = Problem(problem.ranks, problem.counts, problem.attributes, problem.weights, np.arange(7)[:, None] % 3)
    assert transported(promise(three, {"distinct_l": 2}), "fast", quiet) is None
    assert transported(promise(problem, {"distinct_l": 2}), "fast", quiet) is None
