"""The bound by prices: below the optimum of brute force, confirmed by a check that shares no code, never nothing."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from optimum import least_loss
from problems import generators, random_numbers, random_problem, random_tree, rank_count
from sweeping import examples

from sqlanon.udfs.evaluate.certificate import proven, worst
from sqlanon.udfs.evaluate.prices import Certificate, certify
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Numbers, Problem, gcp

LITTLE = 3_000_000


def quiet(done, total, **facts):
    pass


def tiny(rng: np.random.Generator, rows: int = 8) -> Problem:
    """So many rows over one to three attributes of any kind."""
    attributes = tuple(
        random_tree(rng) if rng.random() < 0.5 else random_numbers(rng) for _ in range(rng.integers(1, 4))
    )
    sizes = [rank_count(attribute) for attribute in attributes]
    ranks, counts = np.unique(rng.integers(sizes, size=(rows, len(sizes))), axis=0, return_counts=True)
    return Problem(ranks, counts, attributes, rng.choice([1.0, 1.0, 0.5, 2.0], size=len(sizes)))


def box_bound(problem: Problem, k: int) -> float:
    """For each row the loss of the cheapest box that covers it and k rows: pairs of lo and hi that occur suffice."""
    values = [np.unique(column) for column in problem.ranks.T]
    least = np.full(len(problem.counts), np.inf)
    ends = [[(a, b) for a in column for b in column if a <= b] for column in values]
    for choice in np.ndindex(*map(len, ends)):
        lo = np.array([side[place][0] for side, place in zip(ends, choice, strict=True)])
        hi = np.array([side[place][1] for side, place in zip(ends, choice, strict=True)])
        inside = ((problem.ranks >= lo) & (problem.ranks <= hi)).all(axis=1)
        if problem.counts[inside].sum() >= k:
            least[inside] = np.minimum(least[inside], problem.loss(lo[None], hi[None])[0])
    return float(least @ problem.counts) / (problem.weights.sum() * problem.rows)


@pytest.mark.parametrize("objective", ["ncp", "lm", "precision"])
def test_on_hundreds_of_tiny_tables_the_bound_is_just_below_the_optimum(objective):
    rng = np.random.default_rng(18)
    reached, possible = 0.0, 0.0
    for _ in range(150):
        problem, k = tiny(rng), int(rng.integers(2, 5))
        found = certify(problem, k, quiet, objective=objective, work=LITTLE).bound
        optimum = least_loss(problem, k, objective, may_suppress=True)
        assert found <= optimum + 1e-9
        assert (found > 0) == (optimum > 1e-9)
        reached, possible = reached + found, possible + optimum
    assert reached > 0.9 * possible


@settings(max_examples=examples(80), deadline=None)
@given(rng=generators, k=st.integers(2, 6), objective=st.sampled_from(["ncp", "lm", "precision"]))
def test_a_check_that_shares_no_code_finds_no_broken_box(rng, k, objective):
    problem = tiny(rng, 25)
    found = certify(problem, k, quiet, objective=objective, work=LITTLE)
    assert worst(problem, k, found.prices, objective, found.regions).excess <= 1e-9
    assert found.total == pytest.approx(proven(problem, k, found.prices, found.regions))


@settings(max_examples=examples(80), deadline=None)
@given(rng=generators, k=st.integers(2, 4))
def test_no_group_of_rows_at_all_loses_less_than_its_prices_without_the_fees(rng, k):
    problem = tiny(rng, 11)
    found = certify(problem, k, quiet, work=LITTLE)
    tuples = np.repeat(np.arange(len(problem.counts)), problem.counts)
    for size in range(k, len(tuples) + 1):
        for chosen in combinations(tuples.tolist(), size):
            ranks = problem.ranks[list(chosen)]
            loss = problem.loss(ranks.min(axis=0)[None], ranks.max(axis=0)[None])[0]
            fees = sum(fee for low, high, fee in found.regions if ((ranks >= low) & (ranks <= high)).all())
            assert found.prices[list(chosen)].sum() <= size * loss + size // k * fees + 1e-9


def test_all_boxes_of_a_larger_table_agree():
    rng = np.random.default_rng(3)
    attributes = (random_tree(rng), random_tree(rng), Numbers(np.sort(rng.normal(size=25))))
    sizes = [rank_count(attribute) for attribute in attributes]
    ranks, counts = np.unique(rng.integers(sizes, size=(1500, 3)), axis=0, return_counts=True)
    problem = Problem(ranks, counts, attributes, np.array([1.0, 2.0, 1.0]))
    found = certify(problem, 20, quiet)
    assert len(found.regions) > 5
    assert abs(worst(problem, 20, found.prices, regions=found.regions).excess) <= 1e-9, "no box breaks, some are tight"
    assert worst(problem, 20, found.prices + 0.01, regions=found.regions).excess >= 0.01, (
        "too high prices are found out"
    )
    assert worst(problem, 20, found.prices, regions=found.regions[1:]).excess > 1e-4, "and a fee that is missing"


@settings(max_examples=examples(40), deadline=None)
@given(rng=generators, k=st.integers(2, 4), work=st.integers(1, 20_000))
def test_however_little_work_is_done_it_is_a_bound(rng, k, work):
    problem = tiny(rng)
    found = certify(problem, k, quiet, work=work)
    assert found.bound <= least_loss(problem, k, may_suppress=True) + 1e-9
    assert found.bound > 0 or not (problem.counts < k).any() or problem.loss(*ends(problem))[0] == 0


def ends(problem: Problem):
    return problem.ranks.min(axis=0)[None], problem.ranks.max(axis=0)[None]


@settings(max_examples=examples(40), deadline=None)
@given(rng=generators, k=st.integers(2, 4))
def test_where_each_row_has_a_box_of_its_own_the_bound_is_the_cheapest_box(rng, k):
    problem = tiny(rng, 10)
    found = certify(problem, k, quiet, is_homogeneous=False).bound
    assert found <= box_bound(problem, k) + 1e-9
    if sum(isinstance(attribute, Numbers) for attribute in problem.attributes) < 2:
        capped = found == pytest.approx(box_bound(problem, k), abs=1e-8)
        assert capped


@settings(max_examples=examples(40), deadline=None)
@given(rng=generators)
def test_no_method_goes_below_the_bound(rng):
    problem = random_problem(rng)
    k = min(4, problem.rows)
    found = certify(problem, k, quiet, work=LITTLE)
    for name in ("kaca", "bisecting", "sequential"):
        method = METHODS[name]
        assert gcp(problem, method.cluster(problem, k, rng, quiet, **method.check({}))) >= found.bound - 1e-9


def test_k_equal_rows_lose_nothing_and_different_ones_all_that_there_is():
    line = (Numbers(np.arange(5.0)),)
    equal = Problem(np.zeros((1, 1), np.int64), np.array([5]), line, np.ones(1))
    other = Problem(np.arange(5)[:, None], np.ones(5, np.int64), line, np.ones(1))
    assert certify(equal, 5, quiet).bound == 0
    assert certify(other, 5, quiet).bound == pytest.approx(1, abs=1e-6)


def test_many_numbers_take_memory_in_proportion():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(4000, 6))
    ranks = columns.argsort(axis=0).argsort(axis=0)
    problem = Problem(ranks, np.ones(4000, np.int64), tuple(Numbers(np.sort(c)) for c in columns.T), np.ones(6))
    found = certify(problem, 5, quiet, work=30_000_000)
    assert 0 < found.bound < 1
    assert isinstance(found, Certificate)
    assert found.how


def test_the_same_prices_every_time():
    problem = replace(random_problem(np.random.default_rng(5)))
    one, other = (certify(problem, 3, quiet).prices for _ in range(2))
    assert np.array_equal(one, other)


@needs_data
def test_more_rounds_while_most_of_the_work_is_left_raise_the_bound():
    long, short = (certify(adult(), 10, quiet, effort=effort).bound for effort in ("best", "balanced"))
    assert 1.0005 * short < long < 0.0248
