"""The lower bounds against brute force, and below every method's loss."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem

from sqlanon.udfs.evaluate.bounds import lower_bounds
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Numbers, Problem, Tree, gcp


def quiet(done, total, **facts):
    pass


def boxes(attribute):
    """Every generalized value of an attribute, as a range with its loss."""
    if isinstance(attribute, Tree):
        return [(lo, hi, loss) for lo, hi, loss in zip(attribute.lo, attribute.hi, attribute.node_loss, strict=True)]
    ends = range(len(attribute.at))
    return [(a, b, float(attribute.loss(np.array(a), np.array(b)))) for a in ends for b in ends if a <= b]


def brute_box(problem: Problem, k: int) -> float:
    total = 0.0
    every = [boxes(attribute) for attribute in problem.attributes]
    for ranks, rows in zip(problem.ranks, problem.counts, strict=True):
        best = np.inf
        for choice in itertools.product(*every):
            if any(not lo <= rank <= hi for (lo, hi, _), rank in zip(choice, ranks, strict=True)):
                continue
            inside = np.all(
                [(problem.ranks[:, j] >= lo) & (problem.ranks[:, j] <= hi) for j, (lo, hi, _) in enumerate(choice)],
                axis=0,
            )
            if problem.counts[inside].sum() >= k:
                best = min(best, sum(w * loss for w, (_, _, loss) in zip(problem.weights, choice, strict=True)))
        total += rows * best
    return total / (problem.weights.sum() * problem.rows)


def brute_pair(problem: Problem, k: int) -> float:
    total = 0.0
    for ranks, rows in zip(problem.ranks, problem.counts, strict=True):
        losses = []
        for other, copies in zip(problem.ranks, problem.counts, strict=True):
            lo, hi = np.minimum(ranks, other), np.maximum(ranks, other)
            loss = sum(
                w * float(a.loss(x, y)) for w, a, x, y in zip(problem.weights, problem.attributes, lo, hi, strict=True)
            )
            losses += [loss] * int(copies)
        total += rows * sorted(losses)[k - 1]
    return total / (problem.weights.sum() * problem.rows)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_bounds_are_what_brute_force_finds(seed):
    problem = random_problem(np.random.default_rng(seed))
    k = min(3, problem.rows)
    found = lower_bounds(problem, k, quiet)
    assert found.pair == pytest.approx(brute_pair(problem, k), abs=1e-5)
    lines = sum(isinstance(attribute, Numbers) for attribute in problem.attributes)
    sizes = np.prod([len(boxes(attribute)) for attribute in problem.attributes])
    if sizes * len(problem.counts) < 200_000:
        exact = brute_box(problem, k)
        assert found.box <= exact + 1e-9
        if lines <= 1:
            assert found.box == pytest.approx(exact, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_method_goes_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    k = min(4, problem.rows)
    found = lower_bounds(problem, k, quiet)
    for name in ("kaca", "bisecting", "sequential"):
        method = METHODS[name]
        assert gcp(problem, method.cluster(problem, k, rng, quiet, **method.check({}))) >= found.gcp - 1e-9
