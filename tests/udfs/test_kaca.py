"""KACA against the paper's numbers and against its literal version."""

from __future__ import annotations

from unittest import mock

import literal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import solvable, tree
from sweeping import examples

from sqlanon.udfs.methods import kaca
from sqlanon.udfs.problem import Groups, Numbers, Problem, Tree
from sqlanon.udfs.space import levels

GENDER, AGE = tree([[], []]), tree([[], [], []])
POSTCODE = tree([[[[[], [], [], []]]]])
FEMALE, MALE = 0, 1
MIDDLE, OLD, YOUNG = 0, 1, 2


def problem(ranks: list[tuple[int, ...]], counts: list[int], *attributes: Tree | Numbers) -> Problem:
    return Problem(np.array(ranks), np.array(counts), attributes, np.ones(len(attributes)))


def table_1a() -> Problem:
    """Table 1a: 4350 to 4353 are the leaves 0 to 3, below 435*, 43**, 4*** and *."""
    tuples = [(FEMALE, OLD, 3), (FEMALE, YOUNG, 2), (MALE, MIDDLE, 0), (MALE, YOUNG, 1)]
    return problem(tuples, [2, 1, 2, 1], GENDER, AGE, POSTCODE)


def line(*values: float) -> Numbers:
    return Numbers(np.array(values))


def run(table: Problem, k: int, seed: int = 0, **parameters: float) -> Groups:
    return kaca.cluster(table, k, np.random.default_rng(seed), lambda done, total, **facts: None, **parameters)


def test_whd_from_day_to_year_with_uniform_weights():
    kept = levels.level_weights(6, beta=0)
    assert kept[6 - 1] - kept[4 - 1] == pytest.approx(0.4)


def test_whd_from_day_to_month_with_height_weights():
    kept = levels.level_weights(6, beta=1)
    assert kept[6 - 1] - kept[5 - 1] == pytest.approx(0.08759, abs=5e-6)


def test_distance_of_the_two_young_patients():
    distance = kaca.Classes(table_1a(), beta=0.0).distances(1, k=2)
    assert distance[3] == 2.5


@pytest.mark.parametrize("seed", range(4))
def test_table_1a_becomes_table_1b(seed):
    groups = run(table_1a(), 2, seed)
    assert sorted(map(sorted, literal.as_dicts(groups)[0])) == [[0], [1, 3], [2]]
    assert literal.table_distortion(table_1a(), 0, groups) == 2.5
    young = literal.closure(table_1a(), [1, 3])
    assert literal.distortion(table_1a(), 0, literal.closure(table_1a(), [1]), young) == 1.25


def test_a_large_class_gives_a_stub_and_keeps_its_tuple():
    table = problem([(0,), (1,)], [50, 1], line(0, 1))
    assert literal.as_dicts(run(table, 10))[0] == [{0: 41}, {0: 9, 1: 1}]


def test_a_class_below_2k_with_the_small_one_is_absorbed_whole():
    table = problem([(0,), (1,)], [18, 1], line(0, 1))
    assert literal.as_dicts(run(table, 10))[0] == [{0: 18, 1: 1}]


def test_classes_whose_tuples_have_become_the_same_are_united():
    table = problem([(0,), (1,), (2,), (3,), (4,)], [1] * 5, tree([[[], [], [], []], []]))
    classes = kaca.Classes(table, beta=0.0)
    classes.absorb(0, 1)
    classes.compact()  # the classes of 1, 2, 3 and 4 are now the first to the fourth
    classes.absorb(2, 1)
    assert literal.as_dicts(classes.groups())[0] == [{0: 1, 1: 1, 2: 1, 3: 1}, {4: 1}]
    assert classes.size[0] == 4


def test_without_a_threshold_nothing_is_suppressed():
    table = problem([(0,), (1,), (2,)], [3, 1, 1], line(0, 50, 100))
    assert literal.as_dicts(run(table, 2))[1] == {}


@pytest.mark.parametrize("seed", range(4))
def test_outliers_that_hide_among_themselves_are_suppressed(seed):
    table = problem([(0,), (1,), (2,)], [3, 1, 1], line(0, 50, 100))
    assert literal.as_dicts(run(table, 2, seed, threshold=0.2)) == ([{0: 3}], {1: 1, 2: 1})


@pytest.mark.parametrize("seed", range(4))
def test_too_few_outliers_to_hide_are_generalised_after_all(seed):
    table = problem([(0,), (1,), (2,)], [3, 2, 1], line(0, 99, 100))
    assert literal.as_dicts(run(table, 2, seed, threshold=0.001)) == ([{0: 3}, {1: 2, 2: 1}], {})


def test_everything_may_be_suppressed():
    table = problem([(0,), (1,)], [1, 1], line(0, 1))
    assert literal.as_dicts(run(table, 2, threshold=0.5)) == ([], {0: 1, 1: 1})


@pytest.mark.parametrize(("table_nodes", "pause"), [(2048, 100), (0, 1)])
@settings(max_examples=examples(200), deadline=None)
@given(
    case=solvable,
    seed=st.integers(0, 99),
    beta=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    threshold=st.none() | st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]),
)
def test_the_core_does_what_the_literal_version_does(table_nodes, pause, case, seed, beta, threshold):
    table, k = case
    with mock.patch.multiple(kaca, TABLE_NODES=table_nodes, PAUSE=pause):
        groups = run(table, k, seed, beta=beta, threshold=threshold)
    assert literal.as_dicts(groups) == literal.kaca(table, k, np.random.default_rng(seed), beta, threshold)
