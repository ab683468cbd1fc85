"""Refining: less loss or the same, and every promise kept."""

from __future__ import annotations

from itertools import count
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import generators, random_problem, solvable
from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem, gcp
from sqlanon.udfs.refine import refine

from sqlanon.udfs import diversity, peel
from sqlanon.udfs import refine as module

some = settings(max_examples=60, deadline=None)


def quiet(done: int, total: int) -> None:
    """Progress for nobody."""


def random_groups(table: Problem, k: int, rng: np.random.Generator) -> Groups:
    """Rows dealt out at random to groups of k, with the remainder in the last."""
    tuples = rng.permutation(np.repeat(np.arange(len(table.counts)), table.counts))
    group = np.minimum(np.arange(table.rows) // k, table.rows // k - 1)
    return Groups.collect(tuples, group, np.ones(table.rows))


def polish(table: Problem, groups: Groups, k: int, seed: int = 0, steps: int | None = 12, **budget: object) -> Groups:
    return refine(table, groups, k, np.random.default_rng(seed), quiet, steps=steps, **budget)


def with_sensitive(rng: np.random.Generator) -> tuple[Problem, float]:
    """A problem with one or two sensitive columns, and a legal l."""
    table = random_problem(rng)
    codes = rng.integers(4, size=(len(table.counts), rng.integers(1, 3)))
    held = Problem(table.ranks, table.counts, table.attributes, table.weights, codes)
    return held, float(rng.uniform(1, diversity.largest_l(held)))


@pytest.mark.parametrize("table_leaves", [1024, 0])
@some
@given(case=solvable, seed=st.integers(0, 99))
def test_loss_never_grows_and_every_group_keeps_k(table_leaves, case, seed):
    table, k = case
    before = random_groups(table, k, np.random.default_rng(seed))
    with mock.patch.multiple(module, TABLE_LEAVES=table_leaves):
        after = polish(table, before, k, seed)
    assert gcp(table, after) <= gcp(table, before) + 1e-12
    assert np.bincount(after.tuple, after.rows, len(table.counts)).tolist() == table.counts.tolist()
    assert after.closure(table)[2].min() >= k
    assert np.unique(after.group).tolist() == list(range(int(after.group.max()) + 1))


@some
@given(rng=generators)
def test_diverse_groups_stay_diverse(rng):
    held, l = with_sensitive(rng)  # noqa: E741
    table = Problem(held.ranks, held.counts, held.attributes, held.weights, held.sensitive, l)
    k = min(2, table.rows)
    before = diversity.repair(table, peel.cluster(table, k, rng, quiet, steps=200), quiet)
    after = polish(table, before, k)
    assert gcp(table, after) <= gcp(table, before) + 1e-12
    for group in range(int(after.group.max()) + 1):
        inside = after.group == group
        rows = after.rows[inside]
        assert rows.sum() >= k
        for codes in table.sensitive[after.tuple[inside]].T:
            assert np.bincount(codes, rows).max() * l <= rows.sum() + 1e-6


@some
@given(case=solvable, seed=st.integers(0, 9))
def test_same_seed_and_steps_same_groups(case, seed):
    table, k = case
    before = random_groups(table, k, np.random.default_rng(seed))
    one, other = (polish(table, before, k, seed) for _ in range(2))
    np.testing.assert_equal((one.tuple, one.group, one.rows), (other.tuple, other.group, other.rows))


def line(values: int) -> Problem:
    return Problem(
        np.arange(values).reshape(-1, 1),
        np.ones(values, dtype=np.int64),
        (Numbers(np.arange(float(values))),),
        np.ones(1),
    )


def test_neighbours_on_a_line_find_each_other():
    table = line(60)
    before = random_groups(table, 3, np.random.default_rng(1))
    after = polish(table, before, 3, steps=400)
    assert gcp(table, after) <= 1.25 * 2 / 59 < gcp(table, before) / 10


def test_a_large_group_is_split():
    table = line(40)
    everyone = Groups.collect(np.arange(40), np.zeros(40), np.ones(40))
    assert gcp(table, polish(table, everyone, 4)) < 0.15


def test_a_frequent_tuple_lends_rows():
    table = Problem(np.array([[0], [1], [9]]), np.array([20, 1, 5]), (Numbers(np.arange(10.0)),), np.ones(1))
    before = Groups.collect([0, 1, 2], [0, 1, 1], [20, 1, 5])
    after = polish(table, before, 5, steps=50)
    assert gcp(table, after) == pytest.approx(5 * (1 / 9) / 26)


def test_suppressed_rows_stay_suppressed():
    table = line(12)
    before = Groups.collect(np.arange(12), [SUPPRESSED] * 4 + [0, 1] * 4, np.ones(12))
    after = polish(table, before, 4)
    assert after.tuple[after.group == SUPPRESSED].tolist() == [0, 1, 2, 3]
    assert gcp(table, after) < gcp(table, before)


@some
@given(case=solvable, seed=st.integers(0, 9))
def test_heat_never_ends_worse_than_it_began(case, seed):
    table, k = case
    before = random_groups(table, k, np.random.default_rng(seed))
    after = polish(table, before, k, seed, heat=0.5)
    assert gcp(table, after) <= gcp(table, before) + 1e-12
    assert after.closure(table)[2].min() >= k


def test_the_clock_ends_it():
    ticks = count()
    table = line(100)
    before = random_groups(table, 3, np.random.default_rng(1))
    polish(table, before, 3, steps=None, seconds=20.0, clock=lambda: float(next(ticks)))
    assert next(ticks) <= 22


def test_no_time_no_change():
    table = line(20)
    before = random_groups(table, 3, np.random.default_rng(1))
    after = polish(table, before, 3, steps=None, seconds=0.0)
    np.testing.assert_equal((after.tuple, after.group), (before.tuple, before.group))
