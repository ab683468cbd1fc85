"""Non-homogeneous generalization: rings, random matchings, and the proof against all permutations."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import generators, solvable
from sweeping import examples

from sqlanon.udfs.evaluate.matches import components, least_matches
from sqlanon.udfs.methods import mondrian, nonhomogeneous
from sqlanon.udfs.problem import Groups, Numbers, Problem, gcp

some = settings(max_examples=examples(60), deadline=None)


def quiet(done: int, total: int, **facts: float) -> None:
    pass


def run(problem: Problem, k: int, seed: int = 0) -> Groups:
    return nonhomogeneous.cluster(problem, k, np.random.default_rng(seed), quiet, partition="mondrian")


def on_a_line(*counts: int) -> Problem:
    """So many rows with the values 0, 1, 2, ..."""
    ranks = np.arange(len(counts)).reshape(-1, 1)
    return Problem(ranks, np.array(counts), (Numbers(np.arange(float(len(counts)))),), np.ones(1))


def in_one_part(problem: Problem, k: int, rng: np.random.Generator, progress, **parameters) -> Groups:
    """A partition that leaves the table whole."""
    every = np.arange(len(problem.counts))
    return Groups.collect(every, np.zeros_like(every), problem.counts)


def in_one_ring(problem: Problem, k: int, seed: int = 0) -> Groups:
    with mock.patch.dict(nonhomogeneous.PARTITIONS, mondrian=in_one_part):
        return run(problem, k, seed)


def matches_one_by_one(lo: np.ndarray, hi: np.ndarray, rows: np.ndarray, ranks: np.ndarray, counts: np.ndarray) -> int:
    """The least matches of a row or record, by trying all ways to give each record a row."""
    box, record = np.repeat(np.arange(len(rows)), rows), np.repeat(np.arange(len(counts)), counts)
    if len(box) != len(record):
        return 0
    covers = ((lo[box][:, None] <= ranks[record]) & (ranks[record] <= hi[box][:, None])).all(axis=2)
    possible = np.zeros_like(covers)
    for way in permutations(range(len(record))):
        if all(covers[row, one] for row, one in enumerate(way)):
            possible[range(len(way)), way] = True
    return int(min(possible.sum(axis=0).min(), possible.sum(axis=1).min()))


def test_each_box_covers_its_row_and_those_that_follow_in_the_ring():
    groups = in_one_ring(on_a_line(1, 1, 1, 1, 1), 3)
    boxes = set(zip(groups.box[0][:, 0].tolist(), groups.box[1][:, 0].tolist(), strict=True))
    assert boxes == {(0, 2), (1, 3), (2, 4), (0, 4)}


def test_rows_are_printed_with_different_boxes_for_different_draws():
    answers = {tuple(in_one_ring(on_a_line(1, 1, 1, 1, 1), 3, seed).tuple.tolist()) for seed in range(30)}
    assert len(answers) > 5


@some
@given(case=solvable, seed=st.integers(0, 9))
def test_every_row_is_in_its_box_and_every_box_covers_k_rows(case, seed):
    problem, k = case
    groups = run(problem, k, seed)
    lo, hi, _ = groups.closure(problem)
    ranks = problem.ranks[groups.tuple]
    assert ((lo[groups.group] <= ranks) & (ranks <= hi[groups.group])).all()
    for low, high in zip(lo, hi, strict=True):
        assert problem.counts[((low <= problem.ranks) & (problem.ranks <= high)).all(axis=1)].sum() >= k


@some
@given(case=solvable)
def test_nothing_is_printed_wider_than_its_part(case):
    problem, k = case
    parts = mondrian.cluster(problem, k, np.random.default_rng(0), quiet)
    assert gcp(problem, run(problem, k)) <= gcp(problem, parts) + 1e-12


@pytest.mark.parametrize("pairs", [1, 10, nonhomogeneous.PAIRS])
@some
@given(rng=generators, k=st.integers(1, 9))
def test_a_matching_gives_each_row_one_of_the_k_boxes_that_begin_before_it(pairs, rng, k):
    length = rng.integers(k, 3 * k + 2, size=rng.integers(1, 6))
    mixed = rng.random(len(length)) < 0.7
    with mock.patch.object(nonhomogeneous, "PAIRS", pairs):
        own = nonhomogeneous.matching(mixed, length, k, rng, quiet)
    assert sorted(own.tolist()) == list(range(length.sum()))
    first = np.repeat(np.cumsum(length) - length, length)
    row, box = np.arange(len(own)) - first, own - first
    size = np.repeat(length, length)
    assert ((box >= 0) & (box < size)).all()
    assert ((row - box) % size < k).all()
    assert (own == np.arange(len(own)))[~np.repeat(mixed, length)].all()


@pytest.mark.parametrize(("rows", "k"), [(7, 3), (6, 4), (5, 5), (9, 2)])
def test_every_box_has_the_chance_of_one_in_k(rows, k):
    draws = 4000
    rng = np.random.default_rng(0)
    own = nonhomogeneous.random_matching(np.full(draws, rows), k, rng).reshape(draws, rows) % rows
    steps = (np.arange(rows) - own) % rows
    chance = np.stack([(steps == step).mean(axis=0) for step in range(k)])
    assert np.abs(chance - 1 / k).max() < 5 * np.sqrt((1 - 1 / k) / k / draws)


def test_all_matchings_of_a_ring_occur():
    rows, k = 5, 3
    own = nonhomogeneous.random_matching(np.full(5000, rows), k, np.random.default_rng(0)).reshape(-1, rows) % rows
    seen = Counter(map(tuple, own.tolist()))
    legal = [way for way in permutations(range(rows)) if all((row - box) % rows < k for row, box in enumerate(way))]
    assert set(seen) == set(legal)


def test_a_pair_that_leaves_others_without_a_match_does_not_count():
    # Two boxes cover the records 0 and 1, the third all three: only record 2 can stand behind it.
    lo, hi, rows = np.array([[0], [0]]), np.array([[1], [2]]), np.array([2, 1])
    ranks, counts = np.array([[0], [1], [2]]), np.array([1, 1, 1])
    assert least_matches(lo, hi, rows, ranks, counts) == 1
    assert matches_one_by_one(lo, hi, rows, ranks, counts) == 1


def test_without_a_perfect_matching_nothing_matches():
    ranks, counts = np.array([[0], [1]]), np.array([1, 1])
    assert least_matches(np.array([[0]]), np.array([[0]]), np.array([2]), ranks, counts) == 0
    assert least_matches(np.array([[0]]), np.array([[1]]), np.array([3]), ranks, counts) == 0
    assert least_matches(np.empty((0, 1), int), np.empty((0, 1), int), np.empty(0, int), ranks, counts) == 0


@settings(max_examples=examples(200), deadline=None)
@given(rng=generators)
def test_matches_are_those_of_all_permutations(rng):
    total, width = int(rng.integers(1, 7)), int(rng.integers(1, 3))
    ranks, counts = np.unique(rng.integers(0, 4, size=(total, width)), axis=0, return_counts=True)
    # Boxes around the records, so that there often is a matching, some of them widened and some of them moved.
    ends = np.repeat(ranks, counts, axis=0)
    lo = ends - rng.integers(0, 2, size=ends.shape)
    hi = ends + rng.integers(0, 3, size=ends.shape) - (rng.random(ends.shape) < 0.1)
    boxes, rows = np.unique(np.hstack([lo, np.maximum(lo, hi)]), axis=0, return_counts=True)
    given_to = boxes[:, :width], boxes[:, width:], rows, ranks, counts
    assert least_matches(*given_to) == matches_one_by_one(*given_to)


@some
@given(case=solvable, seed=st.integers(0, 9))
def test_a_ring_holds_k_as_the_proof_counts_it(case, seed):
    problem, k = case
    for groups in (run(problem, k, seed), in_one_ring(problem, k, seed)):
        assert least_matches(*groups.closure(problem), problem.ranks, problem.counts) >= k


def test_a_row_with_a_narrower_box_breaks_the_proof():
    problem = on_a_line(1, 1, 1, 1, 1, 1)
    lo, hi, rows = in_one_ring(problem, 3).closure(problem)
    assert least_matches(lo, hi, rows, problem.ranks, problem.counts) == 3
    one = int(np.flatnonzero((hi - lo)[:, 0] == 2)[0])
    hi = hi.copy()
    hi[one] -= 1
    assert least_matches(lo, hi, rows, problem.ranks, problem.counts) < 3


@some
@given(rng=generators)
def test_nodes_of_a_component_reach_each_other(rng):
    size = int(rng.integers(1, 12))
    edges = rng.integers(size, size=(int(rng.integers(1, 30)), 2))
    reach = np.eye(size, dtype=bool)
    reach[edges[:, 0], edges[:, 1]] = True
    for middle in range(size):
        reach |= reach[:, [middle]] & reach[[middle]]
    component = components(edges[:, 0], edges[:, 1], size)
    assert ((component[:, None] == component) == (reach & reach.T)).all()
