"""The search with models: where it starts, what it keeps, and how rows are dealt in the end."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from sweeping import IS_WHOLE

from sqlanon.udfs.after.form import form
from sqlanon.udfs.exchange import strata
from sqlanon.udfs.exchange.deal import deal
from sqlanon.udfs.exchange.memory import PART
from sqlanon.udfs.exchange.rules import margin
from sqlanon.udfs.exchange.run import exchanged
from sqlanon.udfs.exchange.scope import can_search, combinations
from sqlanon.udfs.exchange.search import lay, search
from sqlanon.udfs.legality import are_legal, margins
from sqlanon.udfs.methods import METHODS, auto
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem, Tree, gcp
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import solve
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.machine import on_memory

PRINTING_CLASSES = [name for name, method in METHODS.items() if method.is_homogeneous and not method.is_exact]
LARGE = 400
"""Rows of a table that is searched here."""
ASKED = [
    {"l": 1.3},
    {"distinct_l": 3},
    {"entropy_l": 2.0},
    {"recursive_l": 2},
    {"alpha": 0.6},
    {"t": 0.25},
    {"basic_beta": 1.0},
    {"enhanced_beta": 1.0},
    {"delta": 1.2},
]


def quiet(done: int, total: int, **facts: float) -> None:
    """Nobody listens."""


def table(rows: int, seed: int, columns: int = 1) -> Problem:
    """A number, a tree of two levels and one of three, and sensitive values that depend on the number."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(np.arange(100), 20, replace=False))
    number = rng.integers(20, size=rows)
    flat = Tree(np.array([0, *range(4)]), np.array([3, *range(4)]), np.array([1, 0, 0, 0, 0]))
    deep = Tree(np.array([0, 0, 3, *range(6)]), np.array([5, 2, 5, *range(6)]), np.array([2, 1, 1, *[0] * 6]))
    ranks = np.column_stack([number, rng.integers(4, size=rows), rng.integers(6, size=rows)])
    values = [np.minimum(rng.geometric(0.3 + 0.01 * number * (column + 1)) - 1, 4) for column in range(columns)]
    every = np.column_stack([ranks, *values])
    tuples, counts = np.unique(every, axis=0, return_counts=True)
    attributes = (Numbers(at.astype(float)), flat, deep)
    return Problem(np.ascontiguousarray(tuples[:, :3]), counts, attributes, np.ones(3), tuples[:, 3:].copy())


def assert_keeps(problem: Problem, groups: Groups, k: int) -> None:
    assert np.bincount(groups.tuple, groups.rows, len(problem.counts)).tolist() == problem.counts.tolist()
    assert np.bincount(groups.group, groups.rows).min() >= k
    assert are_legal(problem, groups.tuple, groups.group, groups.rows).all()


def run(method: str, problem: Problem, k: int, seed: int = 0, **given: object) -> Groups:
    core = METHODS[method]
    return form(core, core.check(given), problem, k, np.random.default_rng(seed), quiet)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked)))
def test_strata_keep_every_model(asked):
    problem = promise(table(120, 1), asked)
    groups = strata.cluster(problem, 3, np.random.default_rng(0), quiet)
    assert_keeps(problem, groups, 3)
    assert groups.group.max() > 0


@pytest.mark.sweep
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked)))
@pytest.mark.parametrize(("rows", "k"), [(60, 2), (120, 4)] if IS_WHOLE else [(60, 2)])
def test_auto_loses_at_most_as_much_as_any_other_method_under_the_same_model(asked, rows, k):
    problem = promise(table(rows, k), asked)
    mine = run("auto", problem, k)
    assert_keeps(problem, mine, k)
    for method in PRINTING_CLASSES:
        assert gcp(problem, mine) <= 1.02 * gcp(problem, run(method, problem, k)) + 1e-9, method


@pytest.fixture
def searching(monkeypatch):
    """Let auto search tables of `LARGE` rows, from rough starts."""
    monkeypatch.setattr(auto, "SEARCHED", LARGE)
    monkeypatch.setattr(auto, "MIDDLE", 0)


def test_so_it_does_where_it_searches(monkeypatch):
    monkeypatch.setattr(auto, "SEARCHED", LARGE)
    problem = promise(table(LARGE, 9), {"t": 0.15})
    mine = run("auto", problem, 5)
    assert mine.report["exchanged"]
    assert_keeps(problem, mine, 5)
    for method in PRINTING_CLASSES:
        assert gcp(problem, mine) <= 1.02 * gcp(problem, run(method, problem, 5)), method


def test_dealing_again_keeps_boxes_and_models_and_reaches_every_dealing():
    # Two groups that share a tuple of ranks with three values; the models leave some dealings only.
    ranks = np.array([[0], [1], [1], [1], [2]])
    codes = np.array([[0], [0], [1], [2], [1]])
    problem = Problem(ranks, np.ones(5, dtype=np.int64), (Numbers(np.arange(3.0)),), np.ones(1), codes)
    problem = promise(problem, {"distinct_l": 2})
    start = Groups.collect([0, 2, 1, 3, 4], [0, 0, 1, 1, 1], [1] * 5)
    rng, seen = np.random.default_rng(0), Counter()
    for _ in range(600):
        found = deal(problem, start, rng)
        assert_keeps(problem, found, 2)
        seen[frozenset(found.tuple[found.group == 0].tolist())] += 1
    # With 0 in the first group, its other row must not have the value 0 as well.
    assert set(seen) == {frozenset({0, 2}), frozenset({0, 3})}
    assert min(seen.values()) > 240


def with_two_columns(rows: int, seed: int, asked: dict[str, float], is_strict: bool) -> Problem:
    return promise(table(rows, seed, columns=2), asked, is_strict=is_strict)


MODELED = [
    *((str(asked), promise(table(90, 2), asked)) for asked in ASKED),
    ("ordered", promise(table(90, 3), {"t": 0.2}, distances=["ordered"])),
    ("hierarchical", promise(table(90, 3), {"t": 0.2}, distances=[table(2, 0).attributes[2]])),
    ("strict", with_two_columns(90, 4, {"distinct_l": 1, "alpha": 1.0}, True)),
    ("separate", with_two_columns(90, 4, {"entropy_l": 1.5, "t": 0.4}, False)),
]
every_model = pytest.mark.parametrize("problem", [each for _, each in MODELED], ids=[name for name, _ in MODELED])


@on_memory
def margin_of(m, x, _, rows):
    """The margin of the group that the first part of a draft holds."""
    return margin(m, x, m[PART], rows)


@every_model
def test_compiled_rules_say_what_the_models_say(problem):
    rng = np.random.default_rng(0)
    combination = combinations(problem)
    every = np.repeat(np.arange(len(problem.counts)), problem.counts)
    m, x = lay(problem, every, np.zeros_like(every), 2, 0, "ncp")
    verdicts = set()
    for _ in range(60):
        some = rng.choice(len(problem.counts), size=int(rng.integers(1, 60)))
        held = np.bincount(combination[some], minlength=int(combination.max()) + 1)
        m[m[PART] : m[PART] + len(held)] = held
        mine = margin_of(m, x, 0.0, len(some))
        (theirs,) = margins(problem, some, np.zeros_like(some), np.ones_like(some))
        assert (mine >= -1e-9) == (theirs >= -1e-9)
        verdicts.add(mine >= -1e-9)
    assert len(verdicts) == 2 or problem.models[0].name in ("delta", "alpha", "l", "distinct_l")


@every_model
def test_the_search_keeps_every_row_and_model_and_loses_less(problem):
    start = Groups.collect(np.arange(len(problem.counts)), np.zeros(len(problem.counts)), problem.counts)
    assert are_legal(problem, start.tuple, start.group, start.rows).all()
    found = search(problem, start, 3, np.random.default_rng(1), quiet, work=300_000)
    assert_keeps(problem, found, 3)
    assert gcp(problem, found) < gcp(problem, start)
    again = search(problem, start, 3, np.random.default_rng(1), quiet, work=300_000)
    np.testing.assert_equal((found.tuple, found.group), (again.tuple, again.group))


@cache
def asked_of_a_large_one() -> dict[str, Problem]:
    one, two = table(LARGE, 11), table(LARGE, 12, columns=2)
    found = {next(iter(asked)): promise(one, asked) for asked in ASKED}
    found["ordered"] = promise(one, {"t": 0.2}, distances=["ordered"])
    found["hierarchical"] = promise(one, {"t": 0.2}, distances=[one.attributes[2]])
    found["strict"] = promise(two, {"distinct_l": 1, "alpha": 1.0})
    found["separate"] = promise(two, {"entropy_l": 1.5, "t": 0.4}, is_strict=False)
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("name", asked_of_a_large_one())
def test_auto_searches_under_every_model(name, searching):
    problem = asked_of_a_large_one()[name]
    found = run("auto", problem, 4)
    assert found.report == {"exchanged": True}
    assert_keeps(problem, found, 4)
    assert gcp(problem, found) < gcp(problem, run("auto", problem, 4, effort="fast"))


@pytest.mark.parametrize("objective", ["lm", "precision", "mi"])
def test_auto_searches_by_every_objective_that_is_one_for_all(objective, searching):
    problem = promise(table(LARGE, 11), {"t": 0.2})
    found = run("auto", problem, 4, objective=objective)
    assert found.report == {"exchanged": True}
    fast = run("auto", problem, 4, objective=objective, effort="fast")
    assert costs.excess(problem, found, objective) < costs.excess(problem, fast, objective)


def test_suppression_follows_the_search_and_what_it_does_not_know_is_refined(searching):
    problem = promise(table(LARGE, 13), {"l": 1.5})
    given = METHODS["auto"].check({})
    request = Request(k=4, kinds=("numbers",) * 3, weights=(1.0,) * 3, parameters=given, seed=1, max_suppression=0.05)
    found = solve(request, problem, quiet)
    assert found.report == {"exchanged": True}
    kept = found.group >= 0
    assert are_legal(problem, found.tuple[kept], found.group[kept], found.rows[kept]).all()
    people = promise(table(LARGE, 14, columns=2), {"distinct_l": 2}, people=2)
    assert run("auto", people, 2, effort="fast").report == {"refined": True}
    assert run("auto", problem, 4, objective="pmi", effort="fast").report == {"refined": True}


@pytest.mark.parametrize("objective", ["ncp", "lm", "precision", "mi"])
def test_the_search_follows_the_objective(objective):
    problem = promise(table(200, 5), {"l": 1.5})
    start = strata.cluster(problem, 4, np.random.default_rng(0), quiet)
    found = search(problem, start, 4, np.random.default_rng(0), quiet, work=2_000_000, objective=objective)
    assert_keeps(problem, found, 4)
    assert costs.excess(problem, found, objective) < costs.excess(problem, start, objective)


@pytest.mark.compiles
def test_suppressed_rows_stay_so():
    problem = promise(table(120, 6), {"distinct_l": 2})
    start = strata.cluster(problem, 3, np.random.default_rng(0), quiet)
    gone = start.group == 0
    start = Groups.collect(start.tuple, np.where(gone, SUPPRESSED, start.group - 1), start.rows)
    found = search(problem, start, 3, np.random.default_rng(0), quiet, work=300_000)
    assert found.tuple[found.group == SUPPRESSED].tolist() == start.tuple[start.group == SUPPRESSED].tolist()
    kept = found.group >= 0
    assert are_legal(problem, found.tuple[kept], found.group[kept], found.rows[kept]).all()


def test_what_the_search_does_not_know_is_left_to_refine():
    people = table(60, 7, columns=2)
    assert not can_search(promise(people, {"l": 1.1}, people=2), 2, "ncp")
    assert not can_search(promise(people, {"l": 1.1}), 2, "pmi")
    assert exchanged(people, Groups.collect([0], [0], [1]), 1, np.random.default_rng(0), quiet, work=1) is None


def test_the_search_finds_what_repair_cannot():
    # Of two values one is rare where the other is frequent: groups must reach for it.
    problem = promise(table(1500, 8), {"t": 0.1})
    repaired = run("kmember", problem, 10)
    found = exchanged(problem, repaired, 10, np.random.default_rng(0), quiet, work=4_000_000)
    assert_keeps(problem, found, 10)
    assert gcp(problem, found) < 0.8 * gcp(problem, repaired)


def test_two_people_between_two_groups_are_dealt_either_way():
    ranks, codes = np.array([[0], [1], [1], [2]]), np.array([[0], [1], [2], [3]])
    problem = Problem(ranks, np.ones(4, dtype=np.int64), (Numbers(np.arange(3.0)),), np.ones(1), codes)
    problem = promise(problem, {"distinct_l": 2})
    start, rng = Groups.collect([0, 1, 2, 3], [0, 0, 1, 1], [1] * 4), np.random.default_rng(0)
    first = Counter(tuple(deal(problem, start, rng).tuple[:2].tolist()) for _ in range(400))
    assert set(first) == {(0, 1), (0, 2)}
    assert min(first.values()) > 150
