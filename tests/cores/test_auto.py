"""The default method: the loss it reaches on Adult, and its budgets."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from adult import DATA, adult
from problems import random_problem
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Groups, Problem, gcp

from sqlanon.udfs import auto, peel

QUICK_ARX = {5: 0.0271, 10: 0.0418, 50: 0.0966, 100: 0.1330}
FINEST_ARX = {5: 0.0241, 10: 0.0386, 50: 0.0936, 100: 0.1299}


def run(table: Problem, k: int, **parameters: object) -> Groups:
    return auto.cluster(table, k, np.random.default_rng(0), lambda done, total: None, **parameters)


@pytest.fixture(scope="module")
def table() -> Problem:
    if not DATA.exists():
        pytest.skip("../shared/data is not here")
    return adult()


@pytest.mark.parametrize("k", FINEST_ARX)
def test_fast_loses_a_tenth_less_than_the_finest_arx(table, k):
    groups = run(table, k, effort="fast")
    assert groups.closure(table)[2].min() >= k
    assert gcp(table, groups) <= min(0.9 * FINEST_ARX[k], QUICK_ARX[k])


def test_balanced_loses_a_fifth_less_than_the_finest_arx(table):
    assert gcp(table, run(table, 10)) <= 0.8 * FINEST_ARX[10]


def test_more_effort_loses_no_more_than_peel_alone():
    table = random_problem(np.random.default_rng(5))
    alone = peel.cluster(table, 3, np.random.default_rng(0), lambda done, total: None)
    losses = [gcp(table, run(table, 3, effort=effort)) for effort in ("fast", "balanced")]
    assert max(losses) <= gcp(table, alone) + 1e-12


def test_a_time_budget_is_spent_and_kept():
    ticks = count()
    table = random_problem(np.random.default_rng(5))
    run(table, 3, time_budget=15.0, clock=lambda: float(next(ticks)))
    assert 15 <= next(ticks) <= 19


def test_its_parameters_are_declared():
    assert METHODS["auto"].check({}) == {"effort": "balanced", "time_budget": None}
    assert METHODS["auto"].check({"time_budget": 2}) == {"effort": "balanced", "time_budget": 2.0}
