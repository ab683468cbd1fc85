"""Datafly against a literal version, and what it suppresses."""

from __future__ import annotations

import literal
import literal_fulldomain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import solvable, tree
from sweeping import examples
from test_incognito import PAIR, TRIO, sensitive

from sqlanon.udfs.loops import fulldomain
from sqlanon.udfs.methods import datafly, incognito
from sqlanon.udfs.problem import Groups, Problem, Tree, gcp

FIVE = tree([[[], []], [[], [], []]])


def run(table: Problem, k: int, max_suppression: float | None = None) -> Groups:
    return datafly.cluster(
        table, k, np.random.default_rng(0), lambda done, total, **facts: None, max_suppression=max_suppression
    )


def problem(ranks: list[tuple[int, ...]], counts: list[int], *attributes: Tree) -> Problem:
    return Problem(np.array(ranks), np.array(counts), attributes, np.ones(len(attributes)))


@settings(max_examples=examples(200), deadline=None)
@given(case=st.one_of(solvable, sensitive), share=st.sampled_from([None, 0.0, 0.1, 0.3, 1.0]))
def test_the_core_does_what_the_literal_version_does(case, share):
    table, k = case
    groups = run(table, k, share)
    slow = literal_fulldomain.Table(table, k)
    node, suppressed = literal_fulldomain.datafly(slow, share)
    assert tuple(groups.report["levels"]) == node
    gone = literal.as_dicts(groups)[1]
    assert sorted(t for t, rows in gone.items() for _ in range(rows)) == suppressed
    assert gcp(table, groups) * table.weights.sum() == pytest.approx(slow.loss(node, suppressed))


@settings(max_examples=examples(60), deadline=None)
@given(case=solvable)
def test_incognito_never_loses_more_where_nothing_is_suppressed(case):
    table, k = case
    best = incognito.cluster(table, k, np.random.default_rng(0), lambda done, total, **facts: None)
    assert gcp(table, best) <= gcp(table, run(table, k, 0.0)) + 1e-9


def test_the_attribute_with_the_most_values_goes_up_first():
    # Each of the 15 rows is alone. Of five values and three, five go up, then three, as these are more than two.
    table = problem([(a, b) for a in range(3) for b in range(5)], [1] * 15, TRIO, FIVE)
    assert run(table, 2).report["levels"] == [0, 1]
    assert run(table, 6).report["levels"] == [1, 1]


def test_up_to_k_rows_are_suppressed():
    table = problem([(0,), (1,), (2,)], [9, 9, 3], TRIO)
    assert literal.as_dicts(run(table, 3)) == ([{0: 9}, {1: 9}, {2: 3}], {})
    table = problem([(0, 0), (0, 1), (1, 0), (2, 0)], [9, 9, 2, 2], TRIO, PAIR)
    assert literal.as_dicts(run(table, 4)) == ([{0: 9}, {1: 9}], {2: 2, 3: 2})


def test_too_few_suppressed_rows_are_filled_up_from_the_largest_class():
    table = problem([(0, 0), (0, 1), (1, 0), (2, 0)], [1, 8, 9, 1], TRIO, PAIR)
    assert literal.as_dicts(run(table, 4)) == ([{1: 8}, {2: 7}], {0: 1, 2: 2, 3: 1})


def test_a_class_that_cannot_spare_rows_makes_it_go_on():
    table = problem([(0,), (1,), (2,)], [4, 4, 1], TRIO)
    assert literal.as_dicts(run(table, 4)) == ([{0: 4, 1: 4, 2: 1}], {})


def test_nothing_is_suppressed_if_a_share_is_less_than_k_rows():
    table = problem([(0,), (1,), (2,)], [9, 9, 2], TRIO)
    assert [fulldomain.suppressible(table, 3, share) for share in (0.1, 0.15)] == [0, 3]
    assert literal.as_dicts(run(table, 3, 0.1)) == ([{0: 9, 1: 9, 2: 2}], {})
    assert literal.as_dicts(run(table, 3, 0.15)) == ([{0: 8}, {1: 9}], {0: 1, 2: 2})
