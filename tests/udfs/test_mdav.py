"""MDAV-generic against small tables and against its literal version."""

from __future__ import annotations

from unittest import mock

import literal
import literal_greedy
import numpy as np
import pytest
from hypothesis import given, settings
from literal_greedy import on_a_line, quiet
from problems import solvable, tree
from sweeping import examples

from sqlanon.udfs.loops import greedy
from sqlanon.udfs.methods import mdav
from sqlanon.udfs.problem import Groups, Numbers, Problem

PAIRS = tree([[[], []], [[], []]])
"""Four leaves, two under each of two nodes."""


def run(problem: Problem, k: int, categories: str = "hierarchy", seed: int = 0) -> Groups:
    return mdav.cluster(problem, k, np.random.default_rng(seed), quiet, categories=categories)


def test_groups_form_at_both_ends_and_the_rest_is_the_last():
    groups, _ = literal.as_dicts(run(on_a_line(0, 1, 2, 10, 11, 12, 20, 21, 23), 3))
    assert groups == [{6: 1, 7: 1, 8: 1}, {0: 1, 1: 1, 2: 1}, {3: 1, 4: 1, 5: 1}]


def test_fewer_than_3k_rows_are_cut_in_two_around_one_outlier():
    groups, _ = literal.as_dicts(run(on_a_line(0, 1, 2, 3, 4, 9, 10), 3))
    assert groups == [{4: 1, 5: 1, 6: 1}, {0: 1, 1: 1, 2: 1, 3: 1}]


@pytest.mark.parametrize(
    ("categories", "expected"),
    [("nominal", [1, 0, 1, 1]), ("ordinal", [1 / 16, 0, 1 / 16, 1 / 4]), ("hierarchy", [1 / 4, 0, 1, 1])],
)
def test_squared_distances_of_categories(categories, expected):
    assert mdav.gauge(PAIRS, 1.0, categories)(1).tolist() == expected


def test_null_is_as_far_from_the_average_as_from_any_number():
    table = mdav.Averaged(
        Problem(np.array([[0], [1], [2]]), np.array([3, 1, 1]), (Numbers(np.array([0, 4, np.nan])),), np.ones(1)),
        "nominal",
    )
    assert table.outlier() == 2
    table.rows[:] = [1, 0, 2]
    assert table.outlier() == 2
    table.rows[:] = [0, 0, 2]
    assert table.outlier() == 2


@settings(max_examples=examples(40), deadline=None)
@given(case=solvable)
def test_all_groups_but_the_last_have_k_rows_and_there_are_as_many_as_can_be(case):
    problem, k = case
    groups = run(problem, k)
    sizes = np.bincount(groups.group, weights=groups.rows)
    assert len(sizes) == problem.rows // k
    assert (sizes[:-1] == k).all()


def test_the_seed_does_not_matter():
    line = on_a_line(3, 1, 4, 1, 5, 9, 2, 6)
    assert literal.as_dicts(run(line, 3, seed=1)) == literal.as_dicts(run(line, 3, seed=2))


@pytest.mark.parametrize("categories", mdav.CATEGORIES)
@pytest.mark.parametrize(("held", "pause"), [(2**20, 100), (1, 1)])
@settings(max_examples=examples(40), deadline=None)
@given(case=solvable)
def test_the_core_does_what_the_literal_version_does(held, pause, categories, case):
    problem, k = case
    with mock.patch.object(greedy, "PAUSE", pause), mock.patch.object(mdav, "HELD", held):
        groups = run(problem, k, categories)
    assert literal.as_dicts(groups) == (literal_greedy.mdav(problem, k, categories), {})
