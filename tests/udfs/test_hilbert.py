"""Hilbert against the numbers of Goldberger & Tassa 2010, against its literal version, and on the Adult table."""

from __future__ import annotations

from itertools import pairwise, product
from unittest import mock

import literal
import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_hilbert import curve_value, least_loss
from problems import solvable, tree
from sweeping import examples

from sqlanon.errors import DataError
from sqlanon.udfs.methods import hilbert
from sqlanon.udfs.problem import Groups, Numbers, Problem, gcp

TABLE_1 = [(0, 0, 0, 0), (1, 1, 1, 0), (0, 0, 0, 2), (1, 1, 1, 2)]


def run(table: Problem, k: int, scale: str = "minmax") -> Groups:
    return hilbert.cluster(table, k, np.random.default_rng(0), lambda done, total, **facts: None, scale=scale)


def found(groups: Groups) -> list[dict[int, int]]:
    return literal.as_dicts(groups)[0]


def values(points: list[tuple[int, ...]], order: int) -> list[int]:
    digits = hilbert.curve(np.array(points).T, order)
    return [sum(int(digit) << (len(points[0]) * i) for i, digit in enumerate(column[::-1])) for column in digits.T]


def on_a_line(*counts: int) -> Problem:
    """So many rows with the values 0, 1, 2, ..."""
    ranks = np.arange(len(counts)).reshape(-1, 1)
    return Problem(ranks, np.array(counts), (Numbers(np.arange(float(len(counts)))),), np.ones(1))


def table_1(k: int) -> Problem:
    flat = [tree([[] for _ in range(leaves)]) for leaves in (2, 2, 2, 3)]
    return Problem(np.array(sorted(TABLE_1)), np.full(4, k // 2), tuple(flat), np.ones(4))


def test_table_1_of_paper_002():
    assert values(TABLE_1, 2) == [0, 9, 118, 123]
    assert values([(2 * a, 2 * b, 2 * c, d) for a, b, c, d in TABLE_1], 2) == [0, 220, 118, 162]


def test_rescaling_gives_the_points_of_table_1():
    points, order = hilbert.cube(table_1(2), "minmax")
    assert points.T.tolist() == [[0, 0, 0, 0], [0, 0, 0, 2], [2, 2, 2, 0], [2, 2, 2, 2]]
    assert order == 2


@pytest.mark.parametrize(("scale", "suppressed_by_row"), [("minmax", 1), ("raw", 3)])
def test_rescaling_finds_the_clustering_that_paper_002_is_after(scale, suppressed_by_row):
    table = table_1(10)
    lo, hi, rows = run(table, 10, scale).closure(table)
    assert ((lo < hi).sum(axis=1) * rows).sum() == suppressed_by_row * table.rows


@pytest.mark.parametrize(("size", "order"), [(1, 3), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2)])
def test_the_curve_visits_every_cell_once_and_goes_to_a_neighbour(size, order):
    points = np.array(list(product(range(2**order), repeat=size)))
    place = np.array(values([tuple(point) for point in points.tolist()], order))
    assert sorted(place) == list(range(len(points)))
    steps = np.abs(np.diff(points[place.argsort()], axis=0))
    assert (steps.sum(axis=1) == 1).all()


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data(), size=st.integers(1, 9), order=st.integers(1, 9))
def test_the_curve_is_the_literal_one(data, size, order):
    points = data.draw(st.lists(st.tuples(*[st.integers(0, 2**order - 1)] * size), min_size=1, max_size=5))
    assert values(points, order) == [curve_value(list(point), order) for point in points]


def test_the_curve_takes_62_attributes_and_no_more():
    points = np.eye(62, dtype=np.int64)
    assert len(np.unique(hilbert.curve(points, 1))) == 62
    many = Problem(np.zeros((1, 63), dtype=np.int64), np.ones(1), (Numbers(np.zeros(1)),) * 63, np.ones(63))
    with pytest.raises(DataError, match="up to 62 quasi-identifiers, but there are 63"):
        run(many, 1)


def test_numbers_lie_where_they_are_and_null_as_far_above_them_as_they_reach():
    assert hilbert.place(Numbers(np.array([0.0, 1.0, 10.0]))).tolist() == [0, 0.1, 1]
    assert hilbert.place(Numbers(np.array([0.0, 1.0, 10.0, np.nan]))).tolist() == [0, 0.05, 0.5, 1]


def test_the_best_cut_is_not_the_first_one():
    # Runs of two from the left would lose more: 0 and 1 and 2, then 3 and 4.
    numbers = Numbers(np.array([0.0, 1, 2, 8, 9]))
    table = Problem(np.arange(5).reshape(-1, 1), np.ones(5, dtype=np.int64), (numbers,), np.ones(1))
    assert found(run(table, 2)) == [{0: 1, 1: 1, 2: 1}, {3: 1, 4: 1}]


def test_the_rows_of_a_frequent_tuple_stay_in_a_run_of_their_own():
    assert found(run(on_a_line(1, 1000, 1), 2)) == [{0: 1, 1: 1}, {1: 998}, {1: 1, 2: 1}]


@pytest.mark.parametrize(("block", "step"), [(1 << 18, 1 << 10), (1, 1), (1, 7)])
@pytest.mark.parametrize("scale", ["minmax", "raw"])
@settings(max_examples=examples(25), deadline=None)
@given(case=solvable)
def test_no_other_runs_of_the_curve_lose_less(scale, block, step, case):
    table, k = case
    with mock.patch.multiple(hilbert, BLOCK=block, STEP=step):
        groups = run(table, k, scale)
    points, order = hilbert.cube(table, scale)
    along = sorted(
        range(len(table.counts)), key=lambda t: (curve_value(points[:, t].tolist(), order), table.ranks[t].tolist())
    )
    line = [t for t in along for _ in range(table.counts[t])]
    loss = gcp(table, groups) * table.rows * table.weights.sum()
    assert loss == pytest.approx(least_loss(table, line, k), abs=1e-9)
    place = {t: i for i, t in enumerate(along)}
    ends = sorted((min(map(place.get, group)), max(map(place.get, group))) for group in found(groups))
    assert all(one[1] <= other[0] for one, other in pairwise(ends))


@needs_data
@pytest.mark.parametrize("k", [10, 50])
def test_on_adult_rescaling_loses_less_than_half(k):
    table = adult()
    assert gcp(table, run(table, k)) < gcp(table, run(table, k, "raw")) / 2
