"""The top-down search against its literal version, by small cases, and on the Adult table."""

from __future__ import annotations

from typing import Any
from unittest import mock

import literal
import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_topdown import Literal
from problems import solvable
from sweeping import examples

from sqlanon.udfs.methods import topdown
from sqlanon.udfs.problem import Groups, Numbers, Problem, gcp
from sqlanon.udfs.space import axes

both_ways = pytest.mark.parametrize("assign", ["growth", "penalty"])


def run(table: Problem, k: int, seed: int = 0, **parameters: Any) -> Groups:
    return topdown.cluster(table, k, np.random.default_rng(seed), lambda done, total, **facts: None, **parameters)


def found(groups: Groups) -> list[list[tuple[int, int]]]:
    """The groups as tuples with their rows, in no particular order."""
    return sorted(sorted(part.items()) for part in literal.as_dicts(groups)[0])


def on_a_line(values: list[float], counts: list[int]) -> Problem:
    """So many rows with each value."""
    return Problem(np.arange(len(values)).reshape(-1, 1), np.array(counts), (Numbers(np.array(values)),), np.ones(1))


@both_ways
def test_two_towns_are_told_apart_whatever_the_seed(assign):
    table = on_a_line([0, 1, 2, 100, 101, 102], [1] * 6)
    for seed in range(20):
        assert found(run(table, 3, seed, assign=assign)) == [[(0, 1), (1, 1), (2, 1)], [(3, 1), (4, 1), (5, 1)]]


def test_an_outlier_takes_from_a_group_that_can_spare_rows():
    # Uniting with the ten rows of 1 would cost more than taking one of them.
    assert found(run(on_a_line([0, 1], [1, 10]), 2)) == [[(0, 1), (1, 1)], [(1, 9)]]


def test_an_outlier_unites_with_a_group_that_cannot_spare_rows():
    assert found(run(on_a_line([0, 1], [1, 2]), 2)) == [[(0, 1), (1, 2)]]


def test_the_nearest_rows_are_taken():
    table = on_a_line([0, 4, 1000], [9, 9, 1])
    assert found(run(table, 4)) == [[(0, 9)], [(1, 3), (2, 1)], [(1, 6)]]


def test_a_group_of_equal_rows_is_not_cut():
    assert found(run(on_a_line([0], [100]), 2)) == [[(0, 100)]]


def test_seeds_are_as_far_apart_as_can_be_on_a_line():
    space = topdown.Space(on_a_line([0, 1, 2, 3, 4], [1] * 5))
    parts = axes.Parts(np.arange(5), np.ones(5, dtype=np.int64), np.array([5]))
    for draw in (0.0, 0.3, 0.5, 0.9):
        seeds = topdown.far_apart(space, parts, np.array([draw]), 2)
        assert sorted(seed.item() for seed in seeds) == [0, 4]


@both_ways
@pytest.mark.parametrize(("window", "table_ranks"), [(16, 1024), (1, 0)])
@settings(max_examples=examples(50), deadline=None)
@given(case=solvable, seed=st.integers(0, 99), rounds=st.sampled_from([1, 2, 3]))
def test_the_core_does_what_the_literal_version_does(assign, window, table_ranks, case, seed, rounds):
    table, k = case
    with mock.patch.multiple(topdown, WINDOW=window, TABLE_RANKS=table_ranks):
        groups = run(table, k, seed, assign=assign, rounds=rounds)
    expected = Literal(table, k, assign, rounds).groups(np.random.default_rng(seed))
    assert found(groups) == sorted(sorted(group.items()) for group in expected)


@needs_data
def test_on_adult_growth_loses_less_than_penalty():
    table = adult()
    assert gcp(table, run(table, 50, assign="growth")) < gcp(table, run(table, 50, assign="penalty"))
