"""GAA-CP against small tables and against its literal version."""

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
from sqlanon.udfs.methods import gaacp
from sqlanon.udfs.problem import Groups, Problem


def run(problem: Problem, k: int, seed: int = 0) -> Groups:
    return gaacp.cluster(problem, k, np.random.default_rng(seed), quiet)


@settings(max_examples=examples(60), deadline=None)
@given(case=solvable)
def test_tuples_stay_whole(case):
    problem, k = case
    groups = run(problem, k)
    assert np.sort(groups.tuple).tolist() == list(range(len(problem.counts)))


@pytest.mark.parametrize("seed", range(5))
def test_tuples_of_k_rows_are_groups_of_their_own(seed):
    groups, _ = literal.as_dicts(run(on_a_line(1, 1, 1, 5, 5, 5, 5, 9, 9, 9), 3, seed))
    assert sorted(groups, key=min) == [{0: 3}, {1: 4}, {2: 3}]


@pytest.mark.parametrize(("held", "pause"), [(2**20, 100), (1, 1)])
@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, seed=st.integers(0, 9))
def test_the_core_does_what_the_literal_version_does(held, pause, case, seed):
    problem, k = case
    with mock.patch.multiple(greedy, HELD=held, PAUSE=pause):
        groups = run(problem, k, seed)
    assert literal.as_dicts(groups) == (literal_greedy.gaacp(problem, k, np.random.default_rng(seed)), {})
