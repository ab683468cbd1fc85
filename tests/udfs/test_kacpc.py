"""KACPC against the paper's numbers and against its literal version."""

from __future__ import annotations

from unittest import mock

import literal
import numpy as np
import pytest
from hypothesis import given, settings
from problems import solvable, tree
from sweeping import examples

from sqlanon.udfs.methods import kacpc
from sqlanon.udfs.problem import Groups, Numbers, Problem
from sqlanon.udfs.space import gauges

LOCAL_GOV, STATE_GOV, PRIVATE = 0, 1, 3
WORK = tree([[[], [], []], [], [[], []], []])
"""Figure 1: three levels and seven leaves, three of them under Gov; Private is a leaf under the root."""


def run(table: Problem, k: int, seed: int = 0) -> Groups:
    return kacpc.cluster(table, k, np.random.default_rng(seed), lambda done, total, **facts: None)


def on_a_line(*counts: int) -> Problem:
    """So many rows with the values 0, 1, 2, ..."""
    ranks = np.arange(len(counts)).reshape(-1, 1)
    return Problem(ranks, np.array(counts), (Numbers(np.arange(float(len(counts)))),), np.ones(1))


def test_worked_distances_of_figure_1():
    to_local = gauges.category_distance(WORK, np.array(LOCAL_GOV), np.arange(7))
    assert to_local[PRIVATE] == pytest.approx(18)
    assert to_local[STATE_GOV] == pytest.approx(0.4628, abs=5e-5)
    assert to_local[LOCAL_GOV] == 0


def test_null_is_as_far_from_a_number_as_the_ends_of_the_domain():
    numbers = Numbers(np.array([10.0, 20.0, 30.0, np.nan]))
    assert gauges.number_distance(numbers, 1).tolist() == [0.5, 0, 0.5, 1]
    assert gauges.number_distance(numbers, 3).tolist() == [1, 1, 1, 0]


def test_a_frequent_tuple_is_dealt_out_to_several_groups():
    assert literal.as_dicts(run(on_a_line(1, 7, 1), 3))[0] == [{1: 3}, {1: 3}, {0: 1, 1: 1, 2: 1}]


def test_rows_left_over_join_the_nearest_centre():
    # Centers are 0 and then 1, which takes 2; the last row is nearer to the center 1.
    assert literal.as_dicts(run(on_a_line(2, 1, 1, 1), 2))[0] == [{0: 2}, {1: 1, 2: 1, 3: 1}]


def test_the_seed_does_not_matter():
    table = on_a_line(3, 1, 4, 1, 5)
    assert literal.as_dicts(run(table, 3, seed=1)) == literal.as_dicts(run(table, 3, seed=2))


@pytest.mark.parametrize(("table_leaves", "pause"), [(2048, 100), (0, 1)])
@settings(max_examples=examples(100), deadline=None)
@given(case=solvable)
def test_the_core_does_what_the_literal_version_does(table_leaves, pause, case):
    table, k = case
    with mock.patch.object(gauges, "TABLE_LEAVES", table_leaves), mock.patch.object(kacpc, "PAUSE", pause):
        groups = run(table, k)
    assert literal.as_dicts(groups) == (literal.kacpc(table, k), {})
