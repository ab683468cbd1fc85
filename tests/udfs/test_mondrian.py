"""Mondrian against its literal version, by small cases, and on the Adult table."""

from __future__ import annotations

import literal
import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from literal_mondrian import mondrian as literally
from problems import solvable, tree
from sweeping import examples

from sqlanon.udfs.methods import mondrian
from sqlanon.udfs.problem import Groups, Numbers, Problem, Tree, gcp

both_cuts = pytest.mark.parametrize("cuts", ["strict", "relaxed"])
all_cuts = pytest.mark.parametrize("cuts", ["strict", "relaxed", "printed"])


def run(table: Problem, k: int, cuts: str) -> Groups:
    return mondrian.cluster(table, k, np.random.default_rng(0), lambda done, total, **facts: None, cuts=cuts)


def found(groups: Groups) -> list[dict[int, int]]:
    """The groups as tuples with their rows, in order of their tuples."""
    return in_order(literal.as_dicts(groups)[0])


def in_order(parts: list[dict[int, int]]) -> list[dict[int, int]]:
    return sorted(parts, key=lambda part: sorted(part.items()))


def one_column(attribute: Numbers | Tree, *counts: int) -> Problem:
    """So many rows with each rank."""
    present = np.flatnonzero(counts)
    return Problem(present.reshape(-1, 1), np.array(counts)[present], (attribute,), np.ones(1))


def line(*values: float) -> Numbers:
    return Numbers(np.array(values))


def test_a_number_is_cut_at_the_median():
    table = one_column(line(0, 1, 2, 3), 1, 1, 1, 1)
    assert found(run(table, 2, "strict")) == [{0: 1, 1: 1}, {2: 1, 3: 1}]


def test_a_heavy_value_at_the_median_does_not_forbid_the_cut_beside_it():
    table = one_column(line(0, 1, 2), 2, 5, 1)
    assert found(run(table, 2, "strict")) == [{0: 2}, {1: 5, 2: 1}]


def test_only_relaxed_cuts_part_the_rows_of_a_value():
    table = one_column(line(0, 1, 2), 1, 6, 1)
    assert found(run(table, 2, "strict")) == [{0: 1, 1: 6, 2: 1}]
    assert found(run(table, 2, "relaxed")) == [{0: 1, 1: 1}, {1: 1, 2: 1}, {1: 2}, {1: 2}]


@both_cuts
def test_a_tree_is_cut_into_the_children_of_its_node(cuts):
    table = one_column(tree([[[], []], [[], []], [[], []]]), 1, 1, 1, 1, 1, 1)
    assert found(run(table, 2, cuts)) == [{0: 1, 1: 1}, {2: 1, 3: 1}, {4: 1, 5: 1}]


def test_a_small_child_stays_with_its_neighbour():
    # The root has two children, (0, 1) and 2: the median lies within the first of them.
    table = one_column(tree([[[], []], []]), 2, 2, 2)
    assert found(run(table, 3, "strict")) == [{0: 2, 1: 2, 2: 2}]
    assert found(run(table, 2, "strict")) == [{0: 2}, {1: 2}, {2: 2}]


def test_null_is_cut_off_first():
    table = one_column(line(0, 1, 2, 3, np.nan), 1, 1, 1, 1, 2)
    assert found(run(table, 2, "strict")) == [{0: 1, 1: 1}, {2: 1, 3: 1}, {4: 2}]


def test_few_nulls_stay_with_the_largest_numbers():
    table = one_column(line(0, 1, 2, 3, np.nan), 1, 1, 1, 1, 1)
    assert found(run(table, 2, "strict")) == [{0: 1, 1: 1}, {2: 1, 3: 1, 4: 1}]


@both_cuts
def test_weights_say_along_which_attribute_to_cut(cuts):
    square = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    for weights, parts in [((3.0, 1.0), [[0, 1], [2, 3]]), ((1.0, 3.0), [[0, 2], [1, 3]])]:
        table = Problem(square, np.ones(4, dtype=np.int64), (line(0, 1), line(0, 1)), np.array(weights))
        assert [list(part) for part in found(run(table, 2, cuts))] == parts


@settings(max_examples=examples(50), deadline=None)
@given(case=solvable)
def test_strict_groups_never_share_a_tuple(case):
    groups = run(*case, "strict")
    assert len(np.unique(groups.tuple)) == len(groups.tuple)


@settings(max_examples=examples(50), deadline=None)
@given(case=solvable)
def test_a_relaxed_group_of_2k_rows_loses_nothing(case):
    table, k = case
    groups = run(table, k, "relaxed")
    lo, hi, rows = groups.closure(table)
    for j, attribute in enumerate(table.attributes):
        assert not attribute.loss(lo[:, j], hi[:, j])[rows >= 2 * k].any()


@all_cuts
@settings(max_examples=examples(100), deadline=None)
@given(case=solvable)
def test_the_core_does_what_the_literal_version_does(cuts, case):
    table, k = case
    assert found(run(table, k, cuts)) == in_order(literally(table, k, cuts))


@needs_data
@pytest.mark.parametrize("k", [10, 50])
def test_on_adult_relaxed_cuts_lose_less_than_strict_ones(k):
    table = adult()
    assert gcp(table, run(table, k, "relaxed")) < gcp(table, run(table, k, "strict"))


def test_printed_cuts_deal_equal_values_to_both_sides():
    # The median lies within the heavy value, which relaxed cuts leave whole.
    table = one_column(line(1, 2, 3), 1, 6, 5)
    assert found(run(table, 6, "printed")) == [{0: 1, 1: 5}, {1: 1, 2: 5}]
    assert found(run(table, 5, "relaxed")) == [{0: 1, 1: 6}, {2: 5}]


@needs_data
def test_on_adult_the_paper_as_printed_loses_almost_four_times_as_much():
    table = adult()
    assert gcp(table, run(table, 10, "printed")) == pytest.approx(0.20, abs=0.01)
    assert gcp(table, run(table, 10, "relaxed")) == pytest.approx(0.053, abs=0.001)
