"""Boxes as bits: the loss of a union is that of the range of its ranks, for every measure."""

from __future__ import annotations

from functools import reduce
from operator import or_
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from problems import generators, random_problem, tree
from sweeping import examples

from sqlanon.udfs.problem import Problem
from sqlanon.udfs.space import boxes, costs
from sqlanon.udfs.space.costs import OBJECTIVES

sizes = pytest.mark.parametrize(("lane", "looked_up"), [(16, 1 << 20), (4, 1 << 20), (0, 100), (0, 0)])


def draw(rng: np.random.Generator, objective: str) -> tuple[Problem, list[costs.Rate], np.ndarray]:
    """A problem with a sensitive column, its rates, and some of its tuples."""
    table = random_problem(rng)
    codes = rng.integers(3, size=(len(table.counts), 1))
    table = Problem(table.ranks, table.counts, table.attributes, table.weights, codes)
    return table, costs.rates(table, objective)[0], rng.integers(len(table.counts), size=rng.integers(1, 6))


@sizes
@pytest.mark.parametrize("objective", OBJECTIVES)
@settings(max_examples=examples(20), deadline=None)
@given(rng=generators)
def test_a_union_loses_what_its_ranges_lose(lane, looked_up, objective, rng):
    table, rates, some = draw(rng, objective)
    with mock.patch.multiple(boxes, LANE=lane, LOOKED_UP=looked_up):
        space = boxes.Space(rates)
    points = space.points(table.ranks).take(some)
    union = reduce(or_, (points.take(np.array([i])) for i in range(len(some))))
    lo, hi = table.ranks[some].min(axis=0), table.ranks[some].max(axis=0)
    for value in np.unique(costs.rates(table, objective)[1][some]):
        losses = [rate(lo[j], hi[j])[value] for j, rate in enumerate(rates)]
        assert space.loss(union, value)[0] == sum(losses)
        assert space.rough(union, value)[0] == pytest.approx(sum(losses), rel=1e-5, abs=1e-5)
        assert space.loss(points.around(np.array([0])), value)[0] == sum(losses)


@sizes
@settings(max_examples=examples(20), deadline=None)
@given(rng=generators)
def test_one_attribute_of_a_box_is_narrowed(lane, looked_up, rng):
    table, rates, some = draw(rng, "ncp")
    with mock.patch.multiple(boxes, LANE=lane, LOOKED_UP=looked_up):
        space = boxes.Space(rates)
    points = space.points(table.ranks).take(some)
    lo, hi = table.ranks[some].min(axis=0), table.ranks[some].max(axis=0)
    which = int(rng.integers(len(rates)))
    narrow = space.narrowed(points.around(np.array([0])), points.take(np.array([0])), np.array([which]))
    lo[which] = hi[which] = table.ranks[some[0], which]
    assert space.loss(narrow)[0] == sum(rate(lo[j], hi[j])[0] for j, rate in enumerate(rates))


def test_many_small_trees_share_a_word():
    states = tree([[[], []], [[], [], []], []])
    table = Problem(np.zeros((1, 9), dtype=np.int64), np.ones(1, dtype=np.int64), (states,) * 9, np.ones(9))
    space = boxes.Space(costs.rates(table, "ncp")[0])
    assert (len(space.lanes), space.words, len(space.ranged)) == (5, 2, 0)
