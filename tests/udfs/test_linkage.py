"""Single, complete and average link against their literal version, by hand, and on the Adult table."""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from literal import as_dicts
from literal_linkage import linkage as literal_linkage
from problems import solvable, tree
from sweeping import examples

from sqlanon.udfs.loops import closest
from sqlanon.udfs.methods import linkage
from sqlanon.udfs.problem import Groups, Numbers, Problem, gcp

every_link = pytest.mark.parametrize("link", linkage.LINKS)
every_distance = pytest.mark.parametrize("distance", linkage.DISTANCES)


def run(table: Problem, k: int, link: str = "complete", distance: str = "ncp") -> Groups:
    rng = np.random.default_rng(0)
    return linkage.cluster(table, k, rng, lambda done, total, **facts: None, link=link, distance=distance)


def on_a_line(*values: float, counts: list[int] | None = None) -> Problem:
    """A row for each value, or this many."""
    ranks = np.arange(len(values)).reshape(-1, 1)
    return Problem(ranks, np.array(counts or [1] * len(values)), (Numbers(np.array(values)),), np.ones(1))


@pytest.mark.parametrize(("link", "far"), [("single", [3, 8]), ("complete", [5, 10]), ("average", [3.5, 8.5])])
def test_how_far_the_rows_0_2_2_2_are_from_5_and_10(link, far):
    places = np.array([0, 2, 5, 10.0])
    classes = linkage.Classes(np.abs(places[:, None] - places), np.array([1, 3, 1, 1]), link)
    classes.unite(0, 1)
    assert classes.distances(0, 0).tolist() == [np.inf, np.inf, *far]
    assert classes.distances(2, 0).tolist() == [far[0], np.inf, np.inf, 5]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("single", [[0, 1, 2, 3], [4, 5, 6, 7]]),  # {0, 2} and {4.6, 5.6} are 2.6 apart, {4.6, 5.6} and {8.5, 9.5} 2.9
        ("complete", [[2, 3, 4, 5], [0, 1, 6, 7]]),  # 5.6 and 4.9
    ],
)
def test_links_choose_differently(link, expected):
    groups = run(on_a_line(0, 2, 4.6, 5.6, 8.5, 9.5, 16, 20), 4, link)
    assert [sorted(group) for group in as_dicts(groups)[0]] == expected


def test_a_class_of_k_rows_takes_no_more():
    # 3 is nearer to {0, 1} than to 9, but that class is full.
    assert as_dicts(run(on_a_line(0, 1, 3, 9), 2))[0] == [{0: 1, 1: 1}, {2: 1, 3: 1}]


@every_link
def test_the_last_small_class_joins_the_nearest_of_all(link):
    assert as_dicts(run(on_a_line(0, 3, 10, 11, counts=[5, 1, 1, 1]), 2, link))[0] == [{0: 5, 1: 1}, {2: 1, 3: 1}]


def test_squared_distances_of_leaves_at_different_depths_are_the_mean_way_up():
    unbalanced = tree([[[], []], []])  # two leaves at level 0, and one at level 1 under the root
    assert linkage.dissimilarity(unbalanced, np.array(0), np.arange(3)).tolist() == [0, 0.5, 0.75]
    numbers = Numbers(np.array([0.0, 5.0, 10.0, np.nan]))
    assert linkage.dissimilarity(numbers, np.array(1), np.arange(4)).tolist() == [0.25, 0, 0.25, 1]


@every_link
@every_distance
@settings(max_examples=examples(40), deadline=None)
@given(case=solvable)
def test_the_core_does_what_the_literal_version_does(link, distance, case):
    table, k = case
    with mock.patch.object(closest, "PAUSE", 1):
        groups = run(table, k, link, distance)
    assert as_dicts(groups)[0] == [dict(Counter(rows)) for rows in literal_linkage(table, k, link, distance)]


@needs_data
def test_on_adult_complete_link_loses_least_and_single_link_most():
    table = adult()
    table = Problem(table.ranks[::5], table.counts[::5], table.attributes, table.weights)
    loss = {link: gcp(table, run(table, 10, link)) for link in linkage.LINKS}
    assert sorted(loss, key=loss.__getitem__) == ["complete", "average", "single"]
