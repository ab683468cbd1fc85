"""IKAC against a small table and against its literal version."""

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

from sqlanon.udfs.loops import greedy
from sqlanon.udfs.methods import ikac
from sqlanon.udfs.problem import Groups, Numbers, Problem


def run(problem: Problem, k: int, seed: int = 0) -> Groups:
    return ikac.cluster(problem, k, np.random.default_rng(seed), quiet)


def test_the_next_centre_is_far_from_all_centres_and_not_only_from_the_last():
    # (3, 3) is drawn, and (10, 10) is the farthest. Then (1, 5) is farther from that one, but 4 + 14 from both, where
    # (10, 0) is 10 + 10.
    points = Problem(
        np.array([[0, 2], [1, 1], [2, 0], [2, 3]]),
        np.ones(4, dtype=np.int64),
        (Numbers(np.array([1.0, 3.0, 10.0])), Numbers(np.array([0.0, 3.0, 5.0, 10.0]))),
        np.array([9.0, 10.0]),
    )
    with mock.patch.object(greedy.Rows, "draw", return_value=1):
        assert run(points, 1).tuple.tolist() == [1, 3, 2, 0]


def test_every_group_has_k_rows_if_they_go_into_k():
    groups = run(on_a_line(*range(40), *range(20)), 6)
    assert np.bincount(groups.group, weights=groups.rows).tolist() == [6] * 10


@pytest.mark.parametrize(("held", "pause"), [(2**20, 100), (1, 1)])
@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, seed=st.integers(0, 9))
def test_the_core_does_what_the_literal_version_does(held, pause, case, seed):
    problem, k = case
    with mock.patch.multiple(greedy, HELD=held, PAUSE=pause):
        groups = run(problem, k, seed)
    assert literal.as_dicts(groups) == (literal_greedy.ikac(problem, k, np.random.default_rng(seed)), {})
