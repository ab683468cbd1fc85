"""Anatomy against the paper's own way to make groups."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

from sqlanon.errors import DataError
from sqlanon.udfs.methods import anatomy
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Groups, Numbers, Problem

columns = st.lists(st.integers(0, 6), min_size=2, max_size=40).map(
    lambda values: sorted(np.unique(values, return_inverse=True)[1].tolist())
)
"""Sensitive values as codes, 0 and up."""


def quiet(done: int, total: int, **facts: float) -> None:
    pass


def table(values: list[int], l: float) -> Problem:  # noqa: E741
    """A row for each sensitive value, every third with the quasi-identifiers of the one before."""
    rows = [(number - number % 3 // 2, value) for number, value in enumerate(values)]
    tuples, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    places = Numbers(np.arange(float(len(values))))
    return promise(Problem(tuples[:, :1], counts, (places,), np.ones(1), tuples[:, 1:]), {"l": l})


def run(problem: Problem, k: int, seed: int = 0) -> Groups:
    return anatomy.cluster(problem, k, np.random.default_rng(seed), quiet)


def values_of(problem: Problem, groups: Groups) -> list[Counter[int]]:
    """How often each group has each sensitive value."""
    found = [Counter[int]() for _ in np.unique(groups.group)]
    for one, group, rows in zip(groups.tuple, groups.group, groups.rows, strict=True):
        found[group][int(problem.sensitive[one, 0])] += int(rows)
    return found


def one_group_after_the_other(values: list[int], l: int, rng: random.Random) -> list[Counter[int]]:  # noqa: E741
    """Figure 3 of the paper, on the sensitive values only."""
    left, groups = Counter(values), []
    while sum(count > 0 for count in left.values()) >= l:
        largest = [value for value, _ in left.most_common(l)]
        groups.append(Counter(largest))
        left.subtract(largest)
    for value in left.elements():
        rng.choice([group for group in groups if not group[value]])[value] += 1
    return groups


def largest_legal(values: list[int]) -> int:
    return len(values) // max(Counter(values).values())


@settings(max_examples=examples(60), deadline=None)
@given(values=columns, seed=st.integers(0, 99))
def test_groups_are_as_many_and_as_large_as_the_papers_and_hold_no_value_twice(values, seed):
    l = largest_legal(values)  # noqa: E741
    problem = table(values, l)
    groups = values_of(problem, run(problem, 1, seed))
    literal = one_group_after_the_other(values, l, random.Random(seed))
    assert len(groups) == len(literal)
    assert sum(groups, Counter()) == sum(literal, Counter()) == Counter(values)
    for found in (groups, literal):
        assert max(max(group.values()) for group in found) == 1
        assert min(group.total() for group in found) >= l


@settings(max_examples=examples(60), deadline=None)
@given(values=columns, k=st.integers(1, 9), seed=st.integers(0, 99))
def test_groups_are_united_until_they_have_k_rows_and_stay_diverse(values, k, seed):
    k, l = min(k, len(values)), largest_legal(values)  # noqa: E741
    problem = table(values, l)
    groups = values_of(problem, run(problem, k, seed))
    assert all(group.total() >= k and max(group.values()) * l <= group.total() for group in groups)
    assert len(groups) == max(1, len(values) // l // math.ceil(k / l))


def test_rows_of_one_value_are_in_any_group_alike():
    problem = table([0, 0, 0, 1, 1, 1], 2)
    first = Counter(int(run(problem, 2, seed).group[run(problem, 2, seed).tuple == 0][0]) for seed in range(600))
    assert set(first) == {0, 1, 2}
    assert all(abs(count - 200) < 60 for count in first.values())


def test_who_is_with_whom_is_drawn_at_random():
    problem = table([0, 0, 0, 1, 1, 1], 2)
    pairs = {tuple(run(problem, 2, seed).tuple.tolist()) for seed in range(100)}
    assert len(pairs) == 9


def test_an_illegal_l_is_refused_with_the_largest_legal_one():
    with pytest.raises(DataError, match=r"l = 3 is impossible .* only reaches 2\.5"):
        run(table([0, 0, 1, 2, 3], 3), 2)


def test_without_sensitive_values_groups_are_any_k_rows():
    problem = replace(table([0, 1, 2, 3, 4, 5], 2), sensitive=None, models=())
    groups = run(problem, 3)
    assert np.bincount(groups.group, weights=groups.rows).tolist() == [3, 3]
