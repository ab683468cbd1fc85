"""k-member against small tables and against its literal version."""

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
from sqlanon.udfs.methods import kmember
from sqlanon.udfs.problem import Groups, Problem


def run(problem: Problem, k: int, seed: int = 0) -> Groups:
    return kmember.cluster(problem, k, np.random.default_rng(seed), quiet)


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_are_together_whatever_is_drawn_first(seed):
    groups, _ = literal.as_dicts(run(on_a_line(0, 1, 8, 9, 19, 20), 2, seed))
    assert sorted(groups, key=min) == [{0: 1, 1: 1}, {2: 1, 3: 1}, {4: 1, 5: 1}]


@pytest.mark.parametrize(("drawn", "firsts"), [(0, [4, 0, 2]), (5, [0, 4, 2])])
def test_groups_begin_on_the_far_side_of_the_last_one(drawn, firsts):
    with mock.patch.object(greedy.Rows, "draw", return_value=drawn):
        groups, _ = literal.as_dicts(run(on_a_line(0, 1, 8, 9, 19, 20), 2))
    assert [min(group) for group in groups] == firsts


def test_a_frequent_tuple_is_dealt_out_to_several_groups():
    groups, _ = literal.as_dicts(run(on_a_line(0, *[1] * 7, 2), 3))
    assert sorted(group[1] for group in groups) == [2, 2, 3]


@pytest.mark.parametrize(("held", "pause"), [(2**20, 100), (1, 1)])
@settings(max_examples=examples(40), deadline=None)
@given(case=solvable, seed=st.integers(0, 9))
def test_the_core_does_what_the_literal_version_does(held, pause, case, seed):
    problem, k = case
    with mock.patch.multiple(greedy, HELD=held, PAUSE=pause):
        groups = run(problem, k, seed)
    assert literal.as_dicts(groups) == (literal_greedy.kmember(problem, k, np.random.default_rng(seed)), {})
