"""The search with models: where it starts, what it keeps, and how rows are dealt in the end."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sqlanon.udfs.after.form import form
from sqlanon.udfs.exchange import strata
from sqlanon.udfs.exchange.deal import deal
from sqlanon.udfs.legality import are_legal
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Groups, Numbers, Problem, Tree, gcp

PRINTING_CLASSES = [name for name, method in METHODS.items() if method.is_homogeneous and not method.is_exact]
ASKED = [
    {"l": 1.3},
    {"distinct_l": 3},
    {"entropy_l": 2.0},
    {"recursive_l": 2},
    {"alpha": 0.6},
    {"t": 0.25},
    {"basic_beta": 1.0},
    {"enhanced_beta": 1.0},
    {"delta": 1.2},
]


def quiet(done: int, total: int, **facts: float) -> None:
    """Nobody listens."""


def table(rows: int, seed: int, columns: int = 1) -> Problem:
    """A number, a tree of two levels and one of three, and sensitive values that depend on the number."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(np.arange(100), 20, replace=False))
    number = rng.integers(20, size=rows)
    flat = Tree(np.array([0, *range(4)]), np.array([3, *range(4)]), np.array([1, 0, 0, 0, 0]))
    deep = Tree(np.array([0, 0, 3, *range(6)]), np.array([5, 2, 5, *range(6)]), np.array([2, 1, 1, *[0] * 6]))
    ranks = np.column_stack([number, rng.integers(4, size=rows), rng.integers(6, size=rows)])
    values = [np.minimum(rng.geometric(0.3 + 0.01 * number * (column + 1)) - 1, 4) for column in range(columns)]
    every = np.column_stack([ranks, *values])
    tuples, counts = np.unique(every, axis=0, return_counts=True)
    attributes = (Numbers(at.astype(float)), flat, deep)
    return Problem(np.ascontiguousarray(tuples[:, :3]), counts, attributes, np.ones(3), tuples[:, 3:].copy())


def assert_keeps(problem: Problem, groups: Groups, k: int) -> None:
    assert np.bincount(groups.tuple, groups.rows, len(problem.counts)).tolist() == problem.counts.tolist()
    assert np.bincount(groups.group, groups.rows).min() >= k
    assert are_legal(problem, groups.tuple, groups.group, groups.rows).all()


def run(method: str, problem: Problem, k: int, seed: int = 0, **given: object) -> Groups:
    core = METHODS[method]
    return form(core, core.check(given), problem, k, np.random.default_rng(seed), quiet)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked)))
def test_strata_keep_every_model(asked):
    problem = promise(table(120, 1), asked)
    groups = strata.cluster(problem, 3, np.random.default_rng(0), quiet)
    assert_keeps(problem, groups, 3)
    assert groups.group.max() > 0


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked)))
@pytest.mark.parametrize(("rows", "k"), [(60, 2), (120, 4)])
def test_auto_loses_at_most_as_much_as_any_other_method_under_the_same_model(asked, rows, k):
    problem = promise(table(rows, k), asked)
    mine = run("auto", problem, k)
    assert_keeps(problem, mine, k)
    for method in PRINTING_CLASSES:
        assert gcp(problem, mine) <= 1.02 * gcp(problem, run(method, problem, k)) + 1e-9, method


def test_dealing_again_keeps_boxes_and_models_and_reaches_every_dealing():
    # Two groups that share a tuple of ranks with three values; the models leave some dealings only.
    ranks = np.array([[0], [1], [1], [1], [2]])
    codes = np.array([[0], [0], [1], [2], [1]])
    problem = Problem(ranks, np.ones(5, dtype=np.int64), (Numbers(np.arange(3.0)),), np.ones(1), codes)
    problem = promise(problem, {"distinct_l": 2})
    start = Groups.collect([0, 2, 1, 3, 4], [0, 0, 1, 1, 1], [1] * 5)
    rng, seen = np.random.default_rng(0), Counter()
    for _ in range(600):
        found = deal(problem, start, rng)
        assert_keeps(problem, found, 2)
        seen[frozenset(found.tuple[found.group == 0].tolist())] += 1
    # With 0 in the first group, its other row must not have the value 0 as well.
    assert set(seen) == {frozenset({0, 2}), frozenset({0, 3})}
    assert min(seen.values()) > 240
