"""What every core promises, whatever its method."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problems, solvable
from sweeping import examples

from sqlanon.errors import DataError, InterruptedRunError
from sqlanon.udfs.evaluate.matches import least_matches
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem

RUNS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in METHODS),
    ("kaca", {"beta": 1.0, "threshold": 0.1}),
    ("sequential", {"cost": "mi", "ending": "paper", "restarts": 2}),
    ("bisecting", {"reading": "rounds", "centre": "median"}),
]
every_core = pytest.mark.parametrize(("name", "parameters"), RUNS)
some = settings(max_examples=examples(25), deadline=None)
few = settings(max_examples=10, deadline=None)
"""For what a comparison with a literal version would notice too."""


def run(name: str, parameters: dict[str, Any], problem: Problem, k: int, seed: int = 0) -> Groups:
    method = METHODS[name]
    return method.cluster(
        problem, k, np.random.default_rng(seed), lambda done, total, **facts: None, **method.check(parameters)
    )


def lone_values(count: int) -> Problem:
    """So many rows, no two of them alike."""
    ranks = np.arange(count).reshape(-1, 1)
    return Problem(ranks, np.ones(count, dtype=np.int64), (Numbers(np.arange(float(count))),), np.ones(1))


@every_core
@some
@given(case=solvable, seed=st.integers(0, 9))
def test_every_row_gets_a_group_and_every_group_weighs_k_or_its_rows_match_k_records(name, parameters, case, seed):
    problem, k = case
    groups = run(name, parameters, problem, k, seed)
    assert np.bincount(groups.tuple, groups.rows, len(problem.counts)).tolist() == problem.counts.tolist()
    ids = np.unique(groups.group)
    if METHODS[name].is_homogeneous:
        assert all(groups.rows[groups.group == group].sum() >= k for group in ids)
    else:
        assert least_matches(*groups.closure(problem), problem.ranks, problem.counts) >= k
    assert ids[ids != SUPPRESSED].tolist() == list(range((ids != SUPPRESSED).sum()))


@every_core
@few
@given(case=solvable)
def test_entries_are_sorted_and_not_repeated(name, parameters, case):
    groups = run(name, parameters, *case)
    entries = list(zip(groups.group.tolist(), groups.tuple.tolist(), strict=True))
    assert entries == sorted(set(entries))
    assert groups.rows.min() > 0


@every_core
@few
@given(case=solvable)
def test_the_problem_is_left_alone(name, parameters, case):
    problem, k = case
    before = copy.deepcopy(problem)
    run(name, parameters, problem, k)
    np.testing.assert_equal(
        (problem.ranks, problem.counts, problem.weights), (before.ranks, before.counts, before.weights)
    )
    for now, then in zip(problem.attributes, before.attributes, strict=True):
        for part in ("at",) if isinstance(now, Numbers) else ("lo", "hi", "level"):
            np.testing.assert_equal(getattr(now, part), getattr(then, part))


@every_core
@few
@given(case=solvable, seed=st.integers(0, 9))
def test_same_seed_same_answer(name, parameters, case, seed):
    problem, k = case
    first, second = (run(name, parameters, copy.deepcopy(problem), k, seed) for _ in range(2))
    np.testing.assert_equal((first.tuple, first.group, first.rows), (second.tuple, second.group, second.rows))


@every_core
@some
@given(problem=problems)
def test_fewer_rows_than_k_is_a_data_error(name, parameters, problem):
    with pytest.raises(DataError, match=f"k = {problem.rows + 1} needs .* there are only {problem.rows}"):
        run(name, parameters, problem, problem.rows + 1)


@every_core
def test_progress_goes_up_to_the_total(name, parameters):
    calls: list[tuple[int, int]] = []
    method = METHODS[name]
    method.cluster(
        lone_values(700),
        2,
        np.random.default_rng(0),
        lambda *call, **facts: calls.append(call),
        **method.check(parameters),
    )
    done = [call[0] for call in calls]
    assert len(calls) >= 3
    assert done == sorted(done)
    assert done[-1] == calls[-1][1]


@every_core
def test_an_interrupt_in_progress_stops_the_run(name, parameters):
    calls: list[int] = []

    def interrupt(done: int, total: int, **facts: float) -> None:
        calls.append(done)
        if len(calls) == 2:
            raise InterruptedRunError("stopped")

    method = METHODS[name]
    with pytest.raises(InterruptedRunError):
        method.cluster(lone_values(700), 2, np.random.default_rng(0), interrupt, **method.check(parameters))
    assert len(calls) == 2


def test_methods_are_listed_by_their_own_names():
    assert {"kaca", "kacpc"} <= set(METHODS)
    assert all(METHODS[name].name == name for name in METHODS)
