"""Peel against a slow literal version, and the lists it walks."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from unittest import mock

import literal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import solvable, tree, with_l
from sweeping import examples

from sqlanon.udfs.methods import peel
from sqlanon.udfs.problem import Groups, Numbers, Problem, Tree
from sqlanon.udfs.space import levels

STATES = tree([[[], []], [[], [], []], []])


def problem(ranks: list[tuple[int, ...]], counts: list[int], *attributes: Tree | Numbers) -> Problem:
    return Problem(np.array(ranks), np.array(counts), attributes, np.ones(len(attributes)))


def run(table: Problem, k: int, seed: int = 0, **parameters: int) -> Groups:
    return peel.cluster(table, k, np.random.default_rng(seed), lambda done, total, **facts: None, **parameters)


def range_loss(table: Problem, tuples: list[int]) -> float:
    """The weighted loss of the tuples' closure."""
    lo, hi = table.ranks[tuples].min(axis=0), table.ranks[tuples].max(axis=0)
    columns = zip(table.attributes, table.weights, lo, hi, strict=True)
    return sum(
        float(weight * attribute.loss(np.array(low), np.array(high))) for attribute, weight, low, high in columns
    )


def steps_in_order(table: Problem, lattice: list[list[np.ndarray]]) -> list[tuple[int, ...]]:
    """All generalizations, the least loss of a row on average first, the top last."""

    def mean(j: int, code: np.ndarray) -> float:
        total = 0.0
        for rank, rows in zip(table.ranks[:, j].tolist(), table.counts.tolist(), strict=True):
            same = np.flatnonzero(code == code[rank])
            total += rows * float(table.attributes[j].loss(same.min(), same.max()))
        return total / table.rows

    means = [[table.weights[j] * mean(j, code) for code in codes] for j, codes in enumerate(lattice)]
    steps = list(product(*(range(len(codes)) for codes in lattice)))
    cost = {step: round(sum(means[j][level] for j, level in enumerate(step)), 9) for step in steps}
    return [*sorted(steps[:-1], key=cost.__getitem__), steps[-1]]


def literal_peel(table: Problem, k: int, lattice: list[list[np.ndarray]]) -> list[dict[int, int]]:
    left, groups = list(range(len(table.counts))), []
    for step in steps_in_order(table, lattice):
        classes = defaultdict(list)
        for t in left:
            classes[tuple(int(lattice[j][level][table.ranks[t, j]]) for j, level in enumerate(step))].append(t)
        for _, members in sorted(classes.items()):
            if table.counts[members].sum() >= k:
                groups.append(members)
                left = [t for t in left if t not in members]
    if left:
        added = [
            range_loss(table, group + left) * table.counts[group + left].sum()
            - range_loss(table, group) * table.counts[group].sum()
            for group in groups
        ]
        groups[int(np.argmin(np.round(added, 9)))] += left
    return [{t: int(table.counts[t]) for t in sorted(group)} for group in groups]


@pytest.mark.parametrize("stored", [8, 0])
@settings(max_examples=examples(120), deadline=None)
@given(case=solvable)
def test_the_core_does_what_the_literal_version_does(stored, case):
    table, k = case
    lattice = levels.fitting_lattice(table.attributes, 500)
    if np.prod([len(codes) for codes in lattice]) > 500:
        return
    with mock.patch.multiple(peel, STORED=stored):
        groups = run(table, k, steps=500)
    assert literal.as_dicts(groups)[0] == literal_peel(table, k, lattice)


@settings(max_examples=examples(100), deadline=None)
@given(case=solvable, steps=st.sampled_from([1, 2, 7]), listed=st.sampled_from([0, 2**22]))
def test_a_sampled_lattice_ends_at_the_top(case, steps, listed):
    table, k = case
    with mock.patch.multiple(peel, LISTED=listed):
        groups = run(table, k, steps=steps)
    assert groups.closure(table)[2].min() >= k
    assert groups.rows.sum() == table.rows


def test_classes_beyond_the_largest_key_are_told_apart():
    table = problem([(0, 0, 0), (0, 0, 1), (5, 5, 0), (5, 5, 1)], [1, 1, 1, 1], STATES, STATES, STATES)
    with mock.patch.multiple(peel, KEY=8):
        assert literal.as_dicts(run(table, 2))[0] == [{0: 1, 1: 1}, {2: 1, 3: 1}]


def test_levels_of_a_tree_are_numbered_by_rank():
    assert [code.tolist() for code in levels.levels(STATES)] == [[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1, 2], [0] * 6]


def test_bins_double_and_null_has_its_own():
    codes = levels.levels(Numbers(np.array([*np.arange(9.0), np.nan])))
    assert [code.max() + 1 for code in codes] == [10, 6, 4, 1]
    assert codes[1].tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 0]


def test_numbers_get_finer_bins_where_the_lattice_allows():
    ages = (Numbers(np.arange(17.0, 91.0)),)
    sizes = [len(levels.fitting_lattice(ages, steps)[0]) for steps in (1, 10, 40, 1000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] <= 1000


def test_rows_left_at_the_top_join_the_group_they_cost_least():
    table = problem([(0,), (1,), (9,), (10,), (12,)], [5, 5, 5, 5, 1], Numbers(np.arange(13.0) * 10))
    groups = literal.as_dicts(run(table, 5))[0]
    assert {3: 5, 4: 1} in groups


def test_a_class_that_is_not_diverse_waits_for_one_that_is():
    table = Problem(
        np.array([[0], [0], [1], [5]]),
        np.array([2, 2, 2, 2]),
        (STATES,),
        np.ones(1),
        sensitive=np.array([[0], [1], [0], [1]]),
    )
    assert literal.as_dicts(run(with_l(table, 2.0), 2))[0] == [{0: 2, 1: 2}, {2: 2, 3: 2}]


@pytest.mark.parametrize(("stored", "combined"), [(0, 1), (2**23, 1), (4000, 128), (2**23, 10**6)])
def test_what_is_remembered_of_bundles_does_not_change_the_groups(
    monkeypatch: pytest.MonkeyPatch, stored: int, combined: int
) -> None:
    rng = np.random.default_rng(3)
    ranks = np.unique(np.column_stack([rng.integers(0, size, 400) for size in (40, 5, 30, 2, 12)]), axis=0)
    lines = [Numbers(np.arange(size, dtype=float)) for size in (40, 5, 30, 2, 12)]
    table = Problem(ranks, np.ones(len(ranks), dtype=np.int64), tuple(lines), np.ones(5))
    usual = run(table, 4, steps=3000)
    monkeypatch.setattr(peel, "STORED", stored)
    monkeypatch.setattr(peel, "COMBINED", combined)
    found = run(table, 4, steps=3000)
    assert (found.tuple == usual.tuple).all()
    assert (found.group == usual.group).all()
