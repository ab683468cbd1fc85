"""Sequential clustering against the paper's numbers, against its literal version, and on the Adult table."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import as_dicts
from literal_sequential import Measure, diversity
from literal_sequential import sequential as literal_sequential
from literal_sequential import visit as literal_visit
from problems import generators, largest_l, random_problem, tree, with_l
from sweeping import examples

from sqlanon.errors import DataError, InterruptedRunError, PolicyError
from sqlanon.udfs.legality import check_legal
from sqlanon.udfs.loops import moves
from sqlanon.udfs.loops.sweep import BLOCK
from sqlanon.udfs.methods import sequential
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Groups, Numbers, Problem, gcp
from sqlanon.udfs.space.costs import COSTS

every_cost = pytest.mark.parametrize("cost", COSTS)


def run(table: Problem, k: int, seed: int = 0, **parameters: Any) -> Groups:
    return sequential.cluster(table, k, np.random.default_rng(seed), lambda done, total, **facts: None, **parameters)


def with_sensitive(table: Problem, rng: np.random.Generator, columns: int, asked: float | None) -> Problem:
    """The rows of a table with random sensitive values of few kinds; an l that is too much is made legal."""
    place = np.repeat(np.arange(len(table.counts)), table.counts)
    codes = rng.integers(3, size=(len(place), columns))
    tuples, counts = np.unique(np.column_stack([place, codes]), axis=0, return_counts=True)
    codes = np.unique(tuples[:, 1:], return_inverse=True)[1].reshape(-1, columns)
    made = Problem(table.ranks[tuples[:, 0]], counts, table.attributes, table.weights, codes)
    return made if asked is None else with_l(made, asked)


sensitive = st.builds(
    with_sensitive,
    st.builds(random_problem, generators),
    generators,
    st.sampled_from([1, 1, 2]),
    st.sampled_from([None, 1.0, 1.2, 1.5, 2.0, 9.0]),
)
"""Random problems with one or two sensitive columns; often with an l, up to the largest legal one."""


def example_5_1() -> Problem:
    """The table of section 5.1: a, b, c with 0 and 1, each kind of row a tuple."""
    ranks = np.array([[0], [0], [1], [1], [2]])
    return Problem(ranks, np.array([3, 1, 1, 3, 1]), (tree([[], [], []]),), np.ones(1), np.array([[0, 1, 0, 1, 1]]).T)


def clusters_of(table: moves.Table, members: list[dict[int, int]]) -> moves.Clusters:
    """Clusters with these many rows of each tuple."""
    left = [np.flatnonzero(table.tuple == t).tolist() for t in range(len(table.problem.counts))]
    return table.clusters([np.array([left[t].pop() for t in held for _ in range(held[t])]) for held in members])


@pytest.mark.parametrize(
    ("clusters", "loss"),
    [
        ([{0: 3}, {1: 1, 2: 1, 4: 1}, {3: 3}], -0.126),
        ([{0: 2, 1: 1}, {0: 1, 2: 1, 4: 1}, {3: 3}], 0.086),
    ],
)
def test_pmi_of_the_two_releases_in_5_1(clusters, loss):
    found = clusters_of(moves.Table(example_5_1(), "pmi", 0.5), clusters).loss
    assert found == pytest.approx(loss, abs=5e-4)
    rows = [[t for t, copies in held.items() for _ in range(copies)] for held in clusters]
    assert Measure(example_5_1(), "pmi", 0.5).loss(rows) == pytest.approx(found)


@pytest.mark.parametrize("seed", range(3))
def test_pmi_finds_the_release_that_hides_the_outliers(seed):
    groups = run(example_5_1(), 3, seed, cost="pmi", restarts=20)
    assert groups.report["loss"] == pytest.approx(-0.126, abs=5e-4)


def test_weighted_mi_lies_between_mi_and_pmi():
    clusters = [{0: 3}, {1: 1, 2: 1, 4: 1}, {3: 3}]
    mi, pmi = (clusters_of(moves.Table(example_5_1(), cost, 0.5), clusters).loss for cost in ("mi", "pmi"))
    for weight in (0.0, 0.25, 1.0):
        weighted = clusters_of(moves.Table(example_5_1(), "wmi", weight), clusters).loss
        assert weighted == pytest.approx(weight * mi + (1 - weight) * pmi)


@pytest.mark.parametrize("cost", ["pmi", "wmi"])
def test_a_private_cost_needs_a_sensitive_column(cost):
    table = Problem(np.array([[0], [1]]), np.array([2, 2]), (tree([[], []]),), np.ones(1))
    with pytest.raises(PolicyError, match=f"cost = '{cost}' needs a sensitive column"):
        run(table, 2, cost=cost)


def two_values(zeros: int, ones: int, asked: float) -> Problem:
    """Rows that differ in their sensitive value only, and one attribute of no interest."""
    ranks = np.array([[0], [0]])
    table = Problem(ranks, np.array([zeros, ones]), (Numbers(np.zeros(1)),), np.ones(1), np.array([[0], [1]]))
    return promise(table, {"l": asked})


def test_adult_is_1_3295_diverse_and_more_is_illegal():
    assert largest_l(two_values(11208, 34014, 1.0)) == pytest.approx(1.3295, abs=5e-5)
    check_legal(two_values(11208, 34014, 1.3295))
    with pytest.raises(DataError, match=r"l = 1\.33 is impossible.* 1\.3295"):
        run(two_values(11208, 34014, 1.33), 10)


def test_the_largest_l_of_a_table_that_cannot_be_split_gives_one_group_and_says_so():
    groups = run(two_values(7, 4, 11 / 7), 2)
    assert as_dicts(groups)[0] == [{0: 7, 1: 4}]
    assert groups.report["trivial"] is True
    assert groups.report["l1"] < 11 / 7


def test_a_coarser_start_finds_groups_where_the_paper_gives_up():
    rng = np.random.default_rng(0)
    ranks = np.column_stack([np.arange(80)])
    codes = (np.arange(80) % 4 == 0).astype(int)[rng.permutation(80)].reshape(-1, 1)
    table = with_l(Problem(ranks, np.ones(80, dtype=int), (Numbers(np.arange(80.0)),), np.ones(1), codes), 1.3)
    paper, better = run(table, 6, start="paper"), run(table, 6)
    assert (paper.report["trivial"], len(as_dicts(paper)[0])) == (True, 1)
    assert better.report["trivial"] is False
    assert len(as_dicts(better)[0]) > 4


def as_rows(groups: list[dict[int, int]]) -> list[list[int]]:
    return [[t for t, copies in held.items() for _ in range(copies)] for held in groups]


@every_cost
@settings(max_examples=examples(25), deadline=None)
@given(
    problem=sensitive,
    seed=st.integers(0, 99),
    floor=st.sampled_from([0, 2]),
    cells=st.sampled_from([2**22, 0]),
    exact=st.sampled_from([True, False]),
)
def test_every_row_goes_where_the_literal_version_says_and_charges_follow(cost, problem, seed, floor, cells, exact):
    rng, measure = np.random.default_rng(seed), Measure(problem, cost, 0.3)
    with mock.patch.object(moves, "TABLE_CELLS", cells):
        table = moves.Table(problem, cost, 0.3)
    if not exact:
        table.rows = table.rows._replace(peak=1e9)  # as if sums were too long for a float
    parts = table.split(np.arange(problem.rows), max(2, problem.rows // 4), rng)
    parts = [part for part in parts if len(part)]
    clusters = table.clusters(parts)
    literal = [table.tuple[part].tolist() for part in parts]
    for row in [*rng.permutation(problem.rows), *rng.permutation(problem.rows)]:
        t, c = int(table.tuple[row]), int(clusters.state.place[row])
        moved = clusters.sweep(np.array([row]), np.array([1]), floor, 0, lambda passes: None)
        assert moved == literal_visit(problem, literal, t, c, floor, measure)
        found = [sorted(table.tuple[clusters.state.place == c].tolist()) for c in range(len(parts))]
        assert found == [sorted(rows) for rows in literal]
        if moved:
            charges = [measure.charge(rows) if rows else 0.0 for rows in literal]
            assert clusters.state.charge == pytest.approx(charges, abs=1e-9)


@every_cost
@settings(max_examples=examples(12), deadline=None)
@given(
    problem=sensitive,
    k=st.sampled_from([2, 3, 4, 5, 1]),
    seed=st.integers(0, 99),
    shape=st.sampled_from([(0.5, 1.5), (1.0, 1.0), (0.3, 2.0)]),
    start=st.sampled_from(["coarser", "paper"]),
    ending=st.sampled_from(["better", "paper"]),
    cells=st.sampled_from([2**22, 60, 0]),
)
def test_the_core_does_what_the_literal_version_does(cost, problem, k, seed, shape, start, ending, cells):
    k = min(k, problem.rows)
    options = {"first_share": shape[0], "omega": shape[1], "passes": 8, "start": start, "ending": ending}
    with mock.patch.object(moves, "TABLE_CELLS", cells):
        groups = run(problem, k, seed, cost=cost, mi_weight=0.3, **options)
    measure = Measure(problem, cost, 0.3)
    expected = literal_sequential(problem, k, np.random.default_rng(seed), measure, **options)
    assert as_dicts(groups)[0] == [dict(Counter(rows)) for rows in expected]
    assert groups.report["loss"] == pytest.approx(measure.loss(expected), abs=1e-9)


@pytest.mark.sweep
@pytest.mark.parametrize("cost", ["ncp", "pmi"])
def test_clusters_of_several_blocks_are_those_of_the_literal_version(cost):
    rng = np.random.default_rng(7)
    rows = np.unique(np.column_stack([rng.integers(30, size=260), rng.integers(4, size=260)]), axis=0)
    attributes = (Numbers(np.arange(30.0) ** 1.1), tree([[[], []], [[], []]]))
    problem = Problem(
        rows, rng.integers(1, 5, size=len(rows)), attributes, np.ones(2), rng.integers(2, size=(len(rows), 1))
    )
    options = {"first_share": 1.0, "omega": 1.5, "passes": 2, "start": "paper", "ending": "better"}
    assert problem.rows // 2 > 2 * BLOCK
    expected = literal_sequential(problem, 2, np.random.default_rng(0), Measure(problem, cost, 0.3), **options)
    assert as_dicts(run(problem, 2, cost=cost, **options))[0] == [dict(Counter(held)) for held in expected]


@settings(max_examples=examples(100), deadline=None)
@given(problem=sensitive, k=st.sampled_from([3, 2, 5]), seed=st.integers(0, 9))
def test_groups_are_l_diverse_in_every_column_and_weigh_k(problem, k, seed):
    k = min(k, problem.rows)
    for rows in as_rows(as_dicts(run(problem, k, seed))[0]):
        assert len(rows) >= k
        assert diversity(problem, rows) >= (problem.l or 1) - 1e-9


def test_more_restarts_never_lose_more():
    table = random_problem(np.random.default_rng(3))
    losses = [run(table, 3, restarts=restarts).report["loss"] for restarts in (1, 3, 9)]
    assert losses == sorted(losses, reverse=True)


def test_the_ending_can_be_interrupted():
    table = Problem(np.arange(600).reshape(-1, 1), np.ones(600, dtype=int), (Numbers(np.arange(600.0)),), np.ones(1))

    def stop(done: int, total: int, **facts: float) -> None:
        if done * 2 >= total:
            raise InterruptedRunError("stopped")

    with pytest.raises(InterruptedRunError):
        sequential.cluster(table, 10, np.random.default_rng(0), stop)


@needs_data
def test_adult_loses_at_most_3_percent_more_than_the_literal_version():
    table = adult()
    groups = run(table, 10)
    assert gcp(table, groups) <= 1.03 * 0.0361
    assert groups.report["loss"] == pytest.approx(gcp(table, groups))
