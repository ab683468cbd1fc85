"""OKA against small tables and against its literal version."""

from __future__ import annotations

from unittest import mock

import literal
import literal_greedy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_greedy import on_a_line, quiet
from problems import solvable
from sweeping import examples

from sqlanon.udfs.methods import oka
from sqlanon.udfs.problem import Groups, Numbers, Problem


def run(problem: Problem, k: int, seed: int = 0) -> Groups:
    return oka.cluster(problem, k, np.random.default_rng(seed), quiet)


def test_the_rows_farthest_from_the_centre_leave_a_group_that_is_too_large():
    # The centers are 3 and 10.
    line = on_a_line(0, 1, 2, 9, 10)
    groups = Groups.collect([0, 1, 2, 3, 4], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1])
    kept, moved = oka.trimmed(groups, oka.Centres(line, groups), 3)
    assert literal.as_dicts(kept)[0] == [{0: 1, 1: 1, 2: 1}, {4: 1}]
    assert moved.tolist() == [3]


def test_the_centre_is_the_mean_of_the_numbers_known():
    numbers = Numbers(np.array([0.0, 4.0, np.nan]))
    problem = Problem(np.array([[0], [1], [2]]), np.array([3, 1, 3]), (numbers,), np.ones(1))
    centres = oka.Centres(problem, Groups.collect([0, 1, 2, 2], [0, 0, 0, 1], [3, 1, 1, 2]))
    assert centres.from_tuple(1).tolist() == [0.75, 1]
    assert centres.from_tuple(2).tolist() == [1, 0]
    centres.add(1, 1, 2)
    assert centres.from_tuple(1).tolist() == [0.75, 0]


def test_groups_of_nothing_but_null_take_in_numbers_between_the_ends():
    numbers = Numbers(np.array([0.0, 1.0, 4.0, np.nan]))
    problem = Problem(np.arange(4).reshape(-1, 1), np.array([1, 1, 1, 2]), (numbers,), np.ones(1))
    centres = oka.Centres(problem, Groups.collect([3, 3], [0, 1], [1, 1]))
    centres.add(0, 1, 1)
    assert centres.from_tuple(0).tolist() == [0.25, 1]


@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, seed=st.integers(0, 9))
def test_there_are_as_many_groups_as_can_be(case, seed):
    problem, k = case
    assert run(problem, k, seed).group.max() + 1 == problem.rows // k


@pytest.mark.parametrize("held", [2**20, 1])
@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, seed=st.integers(0, 9))
def test_the_core_does_what_the_literal_version_does(held, case, seed):
    problem, k = case
    with mock.patch.object(oka, "HELD", held):
        groups = run(problem, k, seed)
    assert literal.as_dicts(groups) == (literal_greedy.oka(problem, k, np.random.default_rng(seed)), {})
