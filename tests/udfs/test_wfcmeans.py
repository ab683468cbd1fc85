"""WF-C-means against its literal version, an example by hand and the paper's tables."""

from __future__ import annotations

from typing import Any
from unittest import mock

import literal
import numpy as np
import pandas as pd
import pytest
from adult import DATA, adult, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_wfcmeans import by_matrices
from literal_wfcmeans import wfcmeans as literal_wfcmeans
from problems import solvable, tree
from sweeping import examples

from sqlanon.udfs.evaluate import centers
from sqlanon.udfs.evaluate.one_nn import one_nn_error
from sqlanon.udfs.methods import wfcmeans
from sqlanon.udfs.problem import Floats, Groups, Numbers, Problem, Tree, gcp

NULL = float("nan")
TWO_BY_TWO = tree([[[], []], [[], []]])


class Draw(np.random.Generator):
    """A generator that draws the rows it is told to."""

    def __init__(self, *rows: int) -> None:
        super().__init__(np.random.PCG64(0))
        self.rows = rows

    def choice(self, *_: Any, **__: Any) -> Any:
        return np.array(self.rows)


def run(table: Problem, k: int, rng: np.random.Generator | int = 0, **parameters: Any) -> Groups:
    return wfcmeans.cluster(table, k, np.random.default_rng(rng), lambda done, total, **facts: None, **parameters)


def problem(columns: list[list[int]], counts: list[int], *attributes: Numbers | Tree) -> Problem:
    return Problem(np.array(columns).T, np.array(counts), attributes, np.ones(len(attributes)))


def line(*values: float) -> Numbers:
    return Numbers(np.array(values))


def by_hand() -> Problem:
    """The rows (0, 0), (2, 5), (8, 10) and (10, 5)."""
    return problem([[0, 1, 2, 3], [0, 1, 2, 1]], [1] * 4, line(0, 2, 8, 10), line(0, 5, 10))


def test_an_example_by_hand():
    # With the centers (0, 0) and (8, 10) and weights 1/2, row 1 differs by .145 and .305, row 3 by .625 and .145.
    # The new centers are (.1, .25) and (.9, .75), the middle is (.5, .5): e = .04 and .25, f = .64 and .25, and the
    # shares of f / e are 16/17 and 1/17. The weights go half way to them, twice, as the second turn changes nothing.
    groups = run(by_hand(), 2, Draw(0, 2))
    assert literal.as_dicts(groups)[0] == [{0: 1, 1: 1}, {2: 1, 3: 1}]
    assert groups.report["weights"] == pytest.approx([113 / 136, 23 / 136])
    assert (groups.report["iterations"], groups.report["is_settled"]) == (2, True)
    assert groups.report["information_distortion_own"] == pytest.approx((113 * 0.04 + 23 * 0.25) / 136)
    assert centers.information_distortion(by_hand(), groups) == pytest.approx(0.145)


def test_raw_numbers_differ_as_they_are():
    groups = run(by_hand(), 2, Draw(0, 2), scale="raw")
    first, second = groups.report["weights"]
    assert groups.report["information_distortion_own"] == pytest.approx(4 * first + 25 * second)


@pytest.mark.parametrize("scale", ["minmax", "raw"])
@pytest.mark.parametrize("far", [1.7e308, 1e-300])
def test_numbers_at_the_ends_of_what_floats_can_hold(scale, far):
    table = problem([[0, 1, 2]], [2, 1, 2], line(-far, 0, far))
    assert literal.as_dicts(run(table, 2, Draw(0, 4), scale=scale))[0] == [{0: 2, 1: 1}, {2: 2}]


def test_the_cap_on_iterations_is_kept_and_told():
    groups = run(by_hand(), 2, Draw(0, 2), iterations=1)
    assert (groups.report["iterations"], groups.report["is_settled"]) == (1, False)


def test_a_class_below_k_joins_the_nearest_of_k_or_more():
    table = problem([[0, 1, 2, 3, 4]], [1, 1, 1, 2, 1], line(0, 1, 10, 11, 30))
    assert literal.as_dicts(run(table, 2, Draw(0, 2, 5)))[0] == [{0: 1, 1: 1}, {2: 1, 3: 2, 4: 1}]


def test_ties_go_to_the_lowest_class_whatever_the_rounding():
    # 0.3 is as far from 0.1 as from 0.5, but not in binary.
    table = problem([[0, 1, 2]], [3, 1, 3], line(0.1, 0.3, 0.5))
    assert literal.as_dicts(run(table, 3, Draw(0, 4), iterations=1))[0] == [{0: 3, 1: 1}, {2: 3}]
    assert literal.as_dicts(run(table, 3, Draw(4, 0), iterations=1))[0] == [{1: 1, 2: 3}, {0: 3}]


def test_a_class_drawn_twice_is_dropped_when_it_stays_empty():
    table = problem([[0, 1]], [4, 2], line(0, 1))
    assert literal.as_dicts(run(table, 2, Draw(0, 1, 5)))[0] == [{0: 4}, {1: 2}]


def test_null_is_as_far_from_a_number_as_the_ends_of_the_domain():
    at = np.array([0.0, 0.25, NULL])
    assert wfcmeans.Line.dissimilarity(at[:, None], at).tolist() == [[0, 0.0625, 1], [0.0625, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(("nulls", "centre"), [(0, 0.5), (1, 0.5), (2, NULL), (4, NULL)])
def test_a_class_has_the_centre_null_if_that_is_nearer(nulls, centre):
    # The numbers 0 and 1 differ by 1/2 from their mean in sum, and by 2 from NULL.
    at = np.array([0.0, 1.0] + [NULL] * nulls)
    home = np.zeros(len(at), dtype=np.int64)
    found = wfcmeans.Line.centres(at, home, np.ones(len(at)), 1)
    assert found.tolist() == pytest.approx([centre], nan_ok=True)


@pytest.mark.parametrize("table_leaves", [512, 0])
def test_categories_differ_by_the_steps_up_to_their_common_node(table_leaves):
    with mock.patch.object(wfcmeans, "TABLE_LEAVES", table_leaves):
        hierarchy = wfcmeans.Hierarchy(TWO_BY_TWO, beta=0.0)
    leaves = np.arange(4)
    assert hierarchy.dissimilarity(np.zeros(4, dtype=int), leaves).tolist() == [0, 0.5, 1, 1]
    assert hierarchy.outer(leaves, leaves[:2], 2.0).tolist() == [[0, 1], [1, 0], [2, 2], [2, 2]]


def test_the_centre_of_categories_is_the_value_of_least_summed_dissimilarity():
    # Leaf 3 is the most frequent, but 0 and 1 have a node in common: from leaf 0 it is 1.5 + 4, from leaf 3 it is 6.
    leaf = np.array([0, 1, 3, 2])
    home, counts = np.array([0, 0, 0, 1]), np.array([3.0, 3.0, 4.0, 1.0])
    assert wfcmeans.Hierarchy(TWO_BY_TWO, 0.0).centres(leaf, home, counts, 3).tolist() == [0, 2, 0]


def test_an_attribute_alike_in_every_class_takes_the_weights():
    table = problem([[0, 1, 2, 3], [0, 0, 1, 1]], [2, 2, 2, 2], line(0, 1, 9, 10), tree([[], []]))
    assert run(table, 4, Draw(0, 7)).report["weights"][1] > 0.7


def test_weights_that_say_nothing_stay_as_they_are():
    table = problem([[0, 1], [0, 1]], [2, 1], line(0, 1), tree([[], []]))
    assert run(table, 3).report["weights"] == [0.5, 0.5]


@pytest.mark.parametrize(
    "patch", [{"TABLE_LEAVES": 512}, {"TABLE_LEAVES": 0, "BLOCK": 8}, {"SPARSE": 0.0}, {"SPARSE": 1.0}]
)
@settings(max_examples=examples(60), deadline=None)
@given(
    case=solvable,
    seed=st.integers(0, 99),
    scale=st.sampled_from(["minmax", "raw"]),
    iterations=st.sampled_from([20, 1, 3]),
    beta=st.sampled_from([0.0, 1.0]),
)
def test_the_core_does_what_the_literal_version_does(patch, case, seed, scale, iterations, beta):
    table, k = case
    parameters: dict[str, Any] = {"scale": scale, "iterations": iterations, "beta": beta}
    with mock.patch.multiple(wfcmeans, **patch):
        groups = run(table, k, seed, **parameters)
    expected, weights, steps = literal_wfcmeans(table, k, np.random.default_rng(seed), **parameters)
    assert literal.as_dicts(groups) == (expected, {})
    assert groups.report["weights"] == pytest.approx(weights, rel=1e-6, abs=1e-12)
    assert groups.report["iterations"] == steps


def numbers_of(name: str) -> tuple[Floats, Any, Problem, Any]:
    """A table of numbers: its features, its labels, the problem, and the tuple of each row."""
    table = pd.read_csv(DATA / f"{name}.csv")
    features, labels = table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].to_numpy()
    columns = [np.unique(column, return_inverse=True) for column in features.T]
    ranks = np.stack([rank for _, rank in columns], axis=1)
    tuples, place, counts = np.unique(ranks, axis=0, return_inverse=True, return_counts=True)
    attributes = tuple(Numbers(values) for values, _ in columns)
    return features, labels, Problem(tuples, counts, attributes, np.ones(len(columns))), place.reshape(-1)


def error_of_centres(name: str, seeds: int, **parameters: Any) -> Floats:
    """The 1-NN error (section 3.2) at k = 3 when rows are released as the centers of their classes."""
    features, labels, table, place = numbers_of(name)
    errors = []
    for seed in range(seeds):
        groups = run(table, 3, seed, **parameters)
        home = groups.group[groups.tuple.argsort()][place]
        centres = np.stack([np.bincount(home, column) / np.bincount(home) for column in features.T], axis=1)
        errors.append(one_nn_error(features, labels, release=centres[home], ties="majority"))
    return np.array(errors)


@needs_data
def test_iris_of_table_1():
    # The paper prints 6.67 % for one run; a literal implementation has 5.2 %, from 2.7 to 7.3 % over seeds.
    errors = error_of_centres("iris", 20, scale="raw")
    assert errors.mean() == pytest.approx(0.052, abs=0.005)
    assert 0.02 < errors.min() < 0.0667 < errors.max() < 0.08


@needs_data
def test_wine_of_table_1_is_not_reached():
    errors = error_of_centres("wine", 10)
    assert errors.mean() == pytest.approx(0.24, abs=0.03)
    assert errors.min() > 0.1742


@needs_data
def test_the_reported_distortion_is_that_of_the_centres():
    features, _, table, place = numbers_of("iris")
    groups = run(table, 3, scale="raw")
    home = groups.group[groups.tuple.argsort()][place]
    centres = np.stack([np.bincount(home, column) / np.bincount(home) for column in features.T], axis=1)
    within = ((features - centres[home]) ** 2).sum(axis=0)
    assert groups.report["information_distortion_own"] == pytest.approx(within @ groups.report["weights"])
    scaled = within / np.ptp(features, axis=0) ** 2
    assert centers.information_distortion(table, groups) == pytest.approx(scaled.mean())


@needs_data
def test_adult_loses_no_more_than_a_tenth_above_the_literal_version():
    table = adult()
    groups = run(table, 10)
    assert gcp(table, groups) <= 1.1 * 0.128
    assert groups.report["is_settled"]


@pytest.mark.sweep
@needs_data
@pytest.mark.parametrize("seed", [0, 1])
def test_on_adult_the_core_does_what_whole_matrices_of_distances_do(seed):
    table = adult()
    groups = run(table, 200, seed)
    home, weights = by_matrices(table, 200, np.random.default_rng(seed))
    expected = Groups.collect(np.arange(len(home)), np.unique(home, return_inverse=True)[1], table.counts)
    assert groups.report["weights"] == pytest.approx(weights, abs=1e-6)
    assert gcp(table, groups) == pytest.approx(gcp(table, expected), rel=0.005)  # ties may fall otherwise
