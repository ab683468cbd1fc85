"""Refining: less loss or the same, and every promise kept."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, count
from unittest import mock

import literal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_sequential import Measure
from problems import generators, largest_l, random_problem, solvable, with_l
from sweeping import examples

from sqlanon.errors import PolicyError
from sqlanon.udfs.after import refine as refining
from sqlanon.udfs.after import repair
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.methods import peel
from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem, gcp
from sqlanon.udfs.space import boxes, costs
from sqlanon.udfs.space.costs import OBJECTIVES

some = settings(max_examples=examples(30), deadline=None)


def quiet(done: int, total: int, **facts: float) -> None:
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
    return held, float(rng.uniform(1, largest_l(held)))


@pytest.mark.parametrize(("lane", "looked_up"), [(16, 1 << 20), (2, 1 << 20), (0, 0)])
@some
@given(case=solvable, seed=st.integers(0, 99))
def test_loss_never_grows_and_every_group_keeps_k(lane, looked_up, case, seed):
    table, k = case
    before = random_groups(table, k, np.random.default_rng(seed))
    with mock.patch.multiple(boxes, LANE=lane, LOOKED_UP=looked_up):
        after = polish(table, before, k, seed)
    assert gcp(table, after) <= gcp(table, before) + 1e-12
    assert np.bincount(after.tuple, after.rows, len(table.counts)).tolist() == table.counts.tolist()
    assert after.closure(table)[2].min() >= k
    assert np.unique(after.group).tolist() == list(range(int(after.group.max()) + 1))


@some
@given(rng=generators)
def test_diverse_groups_stay_diverse(rng):
    held, l = with_sensitive(rng)  # noqa: E741
    table = with_l(held, l)
    k = min(2, table.rows)
    before = repair.repair(table, peel.cluster(table, k, rng, quiet, steps=200), quiet)
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


Rows = list[int]
"""A group as the tuples of its rows."""


def loss(table: Problem, groups: list[Rows], objective: str) -> float:
    """The measure row by row, from its definition."""
    if objective != "precision":
        return Measure(table, objective, 0.5).loss(groups)
    total = 0.0
    for rows in groups:
        columns = zip(table.attributes, table.weights.tolist(), literal.closure(table, rows), strict=True)
        for attribute, weight, (lo, hi, level) in columns:
            if isinstance(attribute, Numbers):
                total += weight * len(rows) * float(attribute.loss(np.array(lo), np.array(hi)))
            elif lo != hi:
                total += weight * len(rows) * level / (attribute.height - 1)
    return total / (table.rows * table.weights.sum())


def as_rows(groups: Groups) -> list[Rows]:
    return [[t for t, rows in group.items() for _ in range(rows)] for group in literal.as_dicts(groups)[0]]


def small_table(rng: np.random.Generator, length: int) -> Problem:
    """So many different tuples or fewer, with a sensitive column."""
    table = random_problem(rng)
    some = np.sort(rng.permutation(len(table.counts))[:length])
    codes = rng.integers(3, size=(len(some), 1))
    return Problem(table.ranks[some], table.counts[some], table.attributes, table.weights, codes)


@pytest.mark.parametrize("objective", OBJECTIVES)
@settings(max_examples=examples(12), deadline=None)
@given(rng=generators, k=st.sampled_from([2, 3, 4]))
def test_every_objective_gets_no_worse(objective, rng, k):
    table = small_table(rng, 20)
    before = random_groups(table, min(k, table.rows), rng)
    after = polish(table, before, min(k, table.rows), steps=25, objective=objective)
    assert loss(table, as_rows(after), objective) <= loss(table, as_rows(before), objective) + 1e-9
    assert after.closure(table)[2].min() >= min(k, table.rows)
    charged = loss(table, as_rows(after), objective) * table.rows * table.weights.sum()
    assert costs.excess(table, after, objective) == pytest.approx(charged, abs=1e-6)


def partitions(rows: Rows, k: int) -> Iterator[list[Rows]]:
    """All ways to put rows into groups of k or more."""
    if len(rows) < 2 * k:
        yield [rows]
        return
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rest) + 1):
        for mates in combinations(range(len(rest)), size):
            left = [row for i, row in enumerate(rest) if i not in mates]
            if not left:
                yield [rows]
            elif len(left) >= k:
                yield from ([[first, *(rest[i] for i in mates)], *others] for others in partitions(left, k))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_tiny_tables_reach_the_optimum(objective):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        drawn = small_table(rng, 6)
        table = Problem(drawn.ranks, np.ones_like(drawn.counts), drawn.attributes, drawn.weights, drawn.sensitive)
        if table.rows < 4:
            continue
        best = min(loss(table, groups, objective) for groups in partitions(list(range(table.rows)), 2))
        after = polish(table, random_groups(table, 2, rng), 2, steps=100, heat=0.3, objective=objective)
        assert loss(table, as_rows(after), objective) == pytest.approx(best, abs=1e-9), seed


def test_an_objective_that_sees_sensitive_values_needs_some():
    table = line(20)
    with pytest.raises(PolicyError, match="'pmi' needs a sensitive column"):
        polish(table, random_groups(table, 2, np.random.default_rng(1)), 2, objective="pmi")


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


def test_no_cut_is_tried_where_nothing_can_lose_less():
    table = random_problem(np.random.default_rng(1))
    groups = random_groups(table, 2, np.random.default_rng(0))
    lost = gcp(table, groups) * table.rows * float(table.weights.sum())
    with mock.patch.object(refining, "_step", side_effect=AssertionError("a cut was tried")):
        assert gcp(table, polish(table, groups, 2, least=lost)) == gcp(table, groups)
        alone = Groups.collect(np.arange(len(table.counts)), np.zeros(len(table.counts)), table.counts)
        assert polish(table, alone, table.rows) is alone
        with pytest.raises(AssertionError, match="a cut was tried"):
            polish(table, groups, 2, least=0.9 * lost)
