"""Cheapest: the box that loses least leaves first, as a slow version finds it too."""

from itertools import product

import numpy as np
import pytest
from adult import DATA, adult
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import generators, random_problem
from sweeping import examples
from test_prices import quiet

from sqlanon.udfs.loops import cheapest
from sqlanon.udfs.methods import peel
from sqlanon.udfs.problem import Numbers, Problem, Tree, gcp


@settings(max_examples=examples(80), deadline=None)
@given(rng=generators, k=st.integers(1, 6), objective=st.sampled_from(["ncp", "lm", "precision"]))
def test_every_row_has_a_group_and_every_group_k_rows(rng, k, objective):
    problem = random_problem(rng)
    k = min(k, problem.rows)
    done = []
    found = cheapest.cluster(problem, k, lambda now, total: done.append(now / total), objective)
    if found is not None:
        assert np.array_equal(np.bincount(found.tuple, weights=found.rows), problem.counts)
        assert found.closure(problem)[2].min() >= k
        assert done == sorted(done)
        assert done[-1] == 1


def least_box(problem: Problem, left: list[int], k: int) -> float:
    """The least loss of any box with k rows of those that are left, all boxes looked at: a node or range each."""
    ranges = []
    for j, attribute in enumerate(problem.attributes):
        if isinstance(attribute, Tree):
            ranges.append(sorted(set(zip(attribute.lo.tolist(), attribute.hi.tolist(), strict=True))))
        else:
            values = sorted({int(problem.ranks[t, j]) for t in left})
            ranges.append([(a, b) for a in values for b in values if a <= b])
    least = np.inf
    for box in product(*ranges):
        lo, hi = np.array(box).T
        inside = [t for t in left if (lo <= problem.ranks[t]).all() and (problem.ranks[t] <= hi).all()]
        if problem.counts[inside].sum() >= k:
            least = min(least, float(problem.loss(lo[None], hi[None])[0]))
    return least


def small(rng: np.random.Generator) -> Problem:
    """A number and two trees of three levels."""
    tree = Tree(np.array([0, 0, 2, 0, 1, 2, 3]), np.array([3, 1, 3, 0, 1, 2, 3]), np.array([2, 1, 1, 0, 0, 0, 0]))
    ranks = np.unique(rng.integers(0, [6, 4, 4], (30, 3)), axis=0)
    ages = Numbers(np.sort(rng.choice(40, 6, replace=False)).astype(float))
    return Problem(ranks, rng.integers(1, 4, len(ranks)), (ages, tree, tree), np.array([1.0, 0.5, 1.0]))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_the_first_group_is_the_cheapest_box_and_each_next_one_of_what_is_left(seed, monkeypatch):
    monkeypatch.setattr(cheapest, "SAME", 0.0)
    monkeypatch.setattr(cheapest, "_settle", lambda *rest: None)  # fewer than k rows stay without a group
    problem, k = small(np.random.default_rng(seed)), 3 + seed % 3
    found = cheapest.cluster(problem, k, quiet)
    left = set(range(len(problem.counts)))
    lo, hi, _ = found.closure(problem)
    for group, loss in enumerate(problem.loss(lo, hi).tolist()):
        assert loss == pytest.approx(least_box(problem, sorted(left), k), abs=1e-6)
        left -= set(found.tuple[found.group == group].tolist())
    assert problem.counts[sorted(left)].sum() < k


def test_a_line_with_null_and_a_table_without_a_line():
    ages = Numbers(np.array([20.0, 21.0, 60.0, np.nan]))
    rows = Problem(np.array([[0], [1], [2], [3]]), np.array([2, 2, 2, 2]), (ages,), np.ones(1))
    found = cheapest.cluster(rows, 4, quiet)
    assert np.array_equal(found.group, [0, 0, 1, 1])  # NULL with 60 loses all, but nothing else is left
    tree = Tree(np.array([0, 0, 2, 0, 1, 2, 3]), np.array([3, 1, 3, 0, 1, 2, 3]), np.array([2, 1, 1, 0, 0, 0, 0]))
    rows = Problem(np.arange(4)[:, None], np.array([1, 2, 1, 2]), (tree,), np.ones(1))
    found = cheapest.cluster(rows, 3, quiet)
    assert np.array_equal(found.group, [0, 0, 1, 1])


def test_rows_of_the_same_box_do_not_wait_for_a_dearer_one():
    ages = Numbers(np.array([20.0, 21.0, 60.0]))
    tree = Tree(np.array([0, 0, 1, 2]), np.array([2, 0, 1, 2]), np.array([1, 0, 0, 0]))
    ranks = np.array([[0, 0], [0, 1], [0, 2], [2, 0]])
    rows = Problem(ranks, np.array([2, 2, 2, 4]), (ages, tree), np.ones(2))
    found = cheapest.cluster(rows, 4, quiet)
    assert (
        len(set(found.group[found.tuple < 3].tolist())) == 1
    )  # the third value of the tree is in the box of the first two


def test_too_many_levels_are_left_to_others():
    tree = Tree(np.array([0, 0, 1]), np.array([1, 0, 1]), np.array([1, 0, 0]))
    ranks = np.eye(13, dtype=np.int64)
    rows = Problem(ranks, np.ones(13, dtype=np.int64), (tree,) * 13, np.ones(13))
    assert cheapest.cluster(rows, 2, quiet) is None


@pytest.mark.skipif(not DATA.exists(), reason="needs Adult")
def test_it_loses_less_than_peel_on_adult():
    problem = adult()
    start = cheapest.cluster(problem, 10, quiet)
    other = peel.cluster(problem, 10, np.random.default_rng(0), quiet, steps=50_000)
    assert gcp(problem, start) < 0.98 * gcp(problem, other)
