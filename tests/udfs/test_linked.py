"""People grouped by all of their rows: alignments against all there are, and groups against a literal look at them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

from sqlanon.errors import DataError
from sqlanon.udfs.linked import cluster as linked
from sqlanon.udfs.linked.profiles import Desk, Histories, Losses, aligned, profile
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import LEFT_OUT, Groups, Numbers, Problem, Tree
from sqlanon.udfs.space.machine import loop

NODES = [(0, 5, 2), (0, 2, 1), (3, 5, 1), *((leaf, leaf, 0) for leaf in range(6))]
TREE = Tree(*(np.array(column) for column in zip(*NODES, strict=True)))
visits = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 5), st.integers(0, 2)), min_size=12, max_size=40
)


def quiet(done: int, total: int, **facts: float) -> None:
    """Nobody hears of it."""


def problem_of(rows: list[tuple[int, ...]], k: int, **asked: float) -> Problem:
    """Rows of (person, number, leaf, value)."""
    _, who = np.unique([row[0] for row in rows], return_inverse=True)
    table = np.array([(*row[1:], person) for row, person in zip(rows, who, strict=True)], dtype=np.int64)
    tuples, counts = np.unique(table, axis=0, return_counts=True)
    attributes = (Numbers(np.array([0.0, 1.0, 2.0, 3.0, np.nan])), TREE)
    codes = np.ascontiguousarray(tuples[:, 2:])
    problem = Problem(np.ascontiguousarray(tuples[:, :2]), counts, attributes, np.array([1.0, 2.0]), codes)
    return promise(problem, asked, people=k)


def found(problem: Problem, k: int, **options: Any) -> Groups:
    return linked.cluster(problem, k, np.random.default_rng(0), quiet, **options)


def histories(problem: Problem, groups: Groups) -> dict[int, list[tuple[int, ...]]]:
    """The boxes of each person's released rows, in order."""
    lo, hi, _ = groups.closure(problem)
    sets: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    assert problem.sensitive is not None
    for one, group, copies in zip(groups.tuple, groups.group, groups.rows, strict=True):
        if group != LEFT_OUT:
            box = (*lo[group].tolist(), *hi[group].tolist())
            sets[int(problem.sensitive[one, -1])] += [box] * int(copies)
    return {person: sorted(boxes) for person, boxes in sets.items()}


@settings(max_examples=examples(60), deadline=None)
@given(rows=visits, k=st.integers(2, 4), price=st.sampled_from([0.2, 1.0, 5.0]), order=st.sampled_from([None, 0, 1]))
def test_every_set_of_rows_is_that_of_k_people_and_every_row_is_somewhere(
    rows: list[tuple[int, ...]], k: int, price: float, order: int | None
) -> None:
    problem = problem_of(rows, k)
    if len({row[0] for row in rows}) < k:
        with pytest.raises(DataError, match="people"):
            found(problem, k)
        return
    try:
        groups = found(problem, k, price=price, order=order)
    except DataError:
        assert price < 1  # it pays to drop every row
        return
    np.testing.assert_array_equal(np.bincount(groups.tuple, groups.rows), problem.counts)
    sets = histories(problem, groups)
    assert all(sum(other == boxes for other in sets.values()) >= k for boxes in sets.values())
    again = found(problem, k, price=price, order=order)
    np.testing.assert_array_equal(groups.group, again.group)


@settings(max_examples=examples(60), deadline=None)
@given(rows=visits, k=st.integers(2, 3))
def test_of_the_people_who_share_a_set_of_rows_no_more_than_1_in_l_have_a_value(
    rows: list[tuple[int, ...]], k: int
) -> None:
    problem = problem_of(rows, k, l=1.5, distinct_l=2)
    try:
        groups = found(problem, k)
    except DataError:
        return
    lo, hi, _ = groups.closure(problem)
    people: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    having: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    in_box: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    sets = histories(problem, groups)
    assert problem.sensitive is not None
    for one, group in zip(groups.tuple, groups.group, strict=True):
        if group == LEFT_OUT:
            continue
        value, person = (int(code) for code in problem.sensitive[one])
        history = tuple(sets[person])
        people[history].add(person)
        having[history, value].add(person)
        in_box[history, tuple(lo[group]), tuple(hi[group])].add(value)
    assert all(len(those) / len(people[history]) <= 1 / 1.5 + 1e-9 for (history, _), those in having.items())
    assert all(len(values) >= 2 for values in in_box.values())


def literal_cost(problem: Problem, first: list[int], second: list[int], price: float) -> float:
    """The least that two people cost together: over all ways to pair their rows in order."""

    def loss(one: int, other: int) -> float:
        ranks = problem.ranks[[one, other]]
        return float(problem.loss(ranks.min(axis=0), ranks.max(axis=0)) / problem.weights.sum())

    best = np.inf
    for number in range(min(len(first), len(second)) + 1):
        for some in itertools.combinations(first, number):
            for others in itertools.combinations(second, number):
                paired = sum(2 * loss(one, other) for one, other in zip(some, others, strict=True))
                best = min(best, paired + price * (len(first) + len(second) - 2 * number))
    return best


@loop
def cost_of_the_second(losses, people, who, lo, hi, loss, desk):  # type: ignore[no-untyped-def]
    """What a second person costs a group of the first."""
    _, boxes = profile(losses, people, who, 1, lo, hi, loss, desk)
    return aligned(losses, people, lo, hi, loss, boxes, 1, 1, np.inf, desk)


@settings(max_examples=examples(60), deadline=None)
@given(rows=visits, cut=st.integers(0, 4), price=st.sampled_from([0.1, 0.4, 1.0]))
def test_an_alignment_is_the_cheapest_of_all(rows: list[tuple[int, ...]], cut: int, price: float) -> None:
    problem = problem_of(rows[:9], 2)
    ranks = np.ascontiguousarray(problem.ranks)
    first, second = list(range(cut)), list(range(cut, len(ranks)))
    people = Histories(ranks, np.array([0, cut]), np.array([len(first), len(second)]), price, 2)
    size = len(ranks)
    desk, losses = Desk.of(size, 2, 2, 1), Losses.of(problem)
    lo, hi, loss = np.zeros((size, 2), dtype=np.int64), np.zeros((size, 2), dtype=np.int64), np.zeros(size)
    cost = cost_of_the_second(losses, people, np.array([0]), lo, hi, loss, desk)
    assert cost == pytest.approx(literal_cost(problem, first, second, price))


def test_a_higher_price_drops_fewer_rows() -> None:
    rng = np.random.default_rng(3)
    rows = [tuple(int(v) for v in rng.integers(0, (40, 5, 6, 3))) for _ in range(150)]
    problem = problem_of(rows, 4)
    dropped = [found(problem, 4, price=price) for price in (0.4, 1.0, 20.0)]
    counts = [int(groups.rows[groups.group == LEFT_OUT].sum()) for groups in dropped]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_blocks_of_people_and_people_of_very_many_rows() -> None:
    rng = np.random.default_rng(4)
    rows = [tuple(int(v) for v in rng.integers(0, (300, 5, 6, 3))) for _ in range(700)]
    rows += [(1000 + i // 100, i % 100 % 5, i % 100 % 6, 0) for i in range(300)]
    problem = problem_of(rows, 3)
    groups = found(problem, 3, size=100)
    assert groups.report["blocks"] > 1
    sets = histories(problem, groups)
    assert all(sum(other == boxes for other in sets.values()) >= 3 for boxes in sets.values())
    assert max(map(len, sets.values())) == linked.MOST_ROWS
