"""The default method: the loss it reaches on Adult, and its budgets."""

from __future__ import annotations

from itertools import count

import duckdb
import numpy as np
import pytest
from problems import random_problem

from sqlanon import samples
from sqlanon.udfs.after.efforts import PACES
from sqlanon.udfs.methods import METHODS, auto, mondrian, peel, sequential
from sqlanon.udfs.problem import Groups, Numbers, Problem, Tree, gcp
from sqlanon.udfs.space import costs

QUICK_ARX = {5: 0.0271, 10: 0.0418, 50: 0.0966, 100: 0.1330}
FINEST_ARX = {5: 0.0241, 10: 0.0386, 50: 0.0936, 100: 0.1299}


def run(table: Problem, k: int, **parameters: object) -> Groups:
    return auto.cluster(table, k, np.random.default_rng(0), lambda done, total, **facts: None, **parameters)


@pytest.mark.parametrize("k", FINEST_ARX)
def test_fast_loses_a_tenth_less_than_the_finest_arx(table, k):
    groups = run(table, k, effort="fast")
    assert groups.closure(table)[2].min() >= k
    assert gcp(table, groups) <= min(0.9 * FINEST_ARX[k], QUICK_ARX[k])


def test_balanced_loses_a_fifth_less_than_the_finest_arx(table):
    assert gcp(table, run(table, 10)) <= 0.8 * FINEST_ARX[10]


def adult_like(rows: int) -> Problem:
    """Rows of the project's generator: seven quasi-identifiers, and the salary class as sensitive."""
    con = duckdb.connect()
    samples.create(con, "adult", rows=rows)
    frame = con.sql("from adult").fetchnumpy()
    ages, age = np.unique(frame["age"], return_inverse=True)
    attributes: list[Numbers | Tree] = [Numbers(ages.astype(float))]
    columns = [age]
    trees = samples.hierarchy_rows("adult")
    for column in ("workclass", "education", "marital_status", "race", "sex", "occupation"):
        spans: dict[tuple[str, ...], list[int]] = {}
        for rank, path in enumerate(trees[column]):
            for level in range(len(path)):
                spans.setdefault(path[level:], []).append(rank)
        height = max(len(path) for path in spans)
        lo, hi, level = zip(*((ranks[0], ranks[-1], height - len(path)) for path, ranks in spans.items()), strict=True)
        attributes.append(Tree(np.array(lo), np.array(hi), np.array(level)))
        place = {path[0]: rank for rank, path in enumerate(trees[column])}
        columns.append(np.array([place[value] for value in frame[column]]))
    columns.append(np.unique(frame["salary_class"].astype(str), return_inverse=True)[1])
    tuples, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    ranks, codes = np.ascontiguousarray(tuples[:, :-1]), tuples[:, -1:]
    return Problem(ranks, counts, tuple(attributes), np.ones(ranks.shape[1]), codes)


@pytest.fixture(scope="module")
def people() -> Problem:
    return adult_like(500)


@pytest.mark.parametrize("objective", costs.OBJECTIVES)
def test_what_is_minimized_is_lower_than_by_another_objective(people, objective):
    mine = costs.excess(people, run(people, 5, objective=objective, effort="fast"), objective)
    other = "mi" if objective == "ncp" else "ncp"
    assert mine < costs.excess(people, run(people, 5, objective=other, effort="fast"), objective)


@pytest.mark.parametrize("objective", ["ncp", "lm", "mi"])
def test_it_loses_less_than_sequential_with_the_same_cost(people, objective):
    quiet = lambda *done, **facts: None  # noqa: E731
    theirs = sequential.cluster(people, 5, np.random.default_rng(0), quiet, cost=objective, passes=10)
    assert costs.excess(people, run(people, 5, objective=objective, effort="balanced"), objective) < costs.excess(
        people, theirs, objective
    )


def test_more_effort_loses_no_more_than_peel_alone():
    table = random_problem(np.random.default_rng(5))
    alone = peel.cluster(table, 3, np.random.default_rng(0), lambda done, total, **facts: None)
    losses = [gcp(table, run(table, 3, effort=effort)) for effort in ("fast", "balanced")]
    assert max(losses) <= gcp(table, alone) + 1e-12


def test_with_many_numbers_it_loses_no_more_than_mondrian():
    columns = np.random.default_rng(0).random((2_000, 12))
    ranks = columns.argsort(axis=0).argsort(axis=0)
    table = Problem(ranks, np.ones(2_000, np.int64), tuple(Numbers(np.sort(c)) for c in columns.T), np.ones(12))
    halved = mondrian.cluster(table, 5, np.random.default_rng(0), lambda done, total, **facts: None)
    assert gcp(table, run(table, 5, effort="fast")) <= gcp(table, halved)


def test_a_time_budget_is_spent_and_kept():
    ticks = count()
    table = random_problem(np.random.default_rng(5))
    run(table, 3, time_budget=15.0, clock=lambda: float(next(ticks)))
    assert 15 <= next(ticks) <= 19


def test_prices_guide_a_search_that_has_the_seconds_for_it(people):
    def timed(seconds: float) -> Groups:
        ticks = count()
        found = run(people, 5, time_budget=seconds, clock=lambda: float(next(ticks)))
        assert seconds <= next(ticks) <= seconds + 9
        return found

    short, long = timed(PACES["fast"]), timed(60)
    assert "proven" not in short.report
    assert long.report["proven"] <= gcp(people, long) < gcp(people, short)


def test_its_parameters_are_declared():
    defaults = {"objective": "ncp", "effort": "balanced", "time_budget": None}
    assert METHODS["auto"].check({}) == defaults
    assert METHODS["auto"].check({"time_budget": 2}) == defaults | {"time_budget": 2.0}
