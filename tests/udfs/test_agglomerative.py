"""Agglomerative clustering against its literal version, by hand, and on the Adult table."""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from adult import adult, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import as_dicts
from literal_sequential import Measure, unify
from problems import generators, random_tree, rank_count, solvable
from sweeping import examples

from sqlanon.errors import PolicyError
from sqlanon.udfs.loops import closest
from sqlanon.udfs.methods import agglomerative
from sqlanon.udfs.problem import Groups, Numbers, Problem, gcp
from sqlanon.udfs.space.costs import rates

every_cost = pytest.mark.parametrize("cost", agglomerative.BLIND)


def run(table: Problem, k: int, cost: str = "ncp") -> Groups:
    return agglomerative.cluster(table, k, np.random.default_rng(0), lambda done, total, **facts: None, cost=cost)


def on_a_line(*values: float, counts: list[int] | None = None) -> Problem:
    """A row for each value, or this many."""
    ranks = np.arange(len(values)).reshape(-1, 1)
    return Problem(ranks, np.array(counts or [1] * len(values)), (Numbers(np.array(values)),), np.ones(1))


def test_a_union_costs_all_its_rows():
    # 3 is nearer to 0 than to 6.1, but that union has five rows of 3, and the other four of 3.1.
    table = on_a_line(0, 3, 6.1, 9.2, counts=[3, 2, 2, 3])
    assert as_dicts(run(table, 4))[0] == [{1: 2, 2: 2}, {0: 3, 3: 3}]


def test_a_cluster_of_k_rows_is_final():
    assert as_dicts(run(on_a_line(0, 1, 3, 9), 2))[0] == [{0: 1, 1: 1}, {2: 1, 3: 1}]


def test_the_last_small_cluster_joins_the_closest_of_all():
    # 3 adds 6 · 3 to five rows of 0, or 10 · 3 to nine; to {10, 11} it adds 3 · 8 - 2 · 1.
    assert as_dicts(run(on_a_line(0, 3, 10, 11, counts=[5, 1, 1, 1]), 2))[0] == [{0: 5, 1: 1}, {2: 1, 3: 1}]
    assert as_dicts(run(on_a_line(0, 3, 10, 11, counts=[9, 1, 1, 1]), 2))[0] == [{0: 9}, {1: 1, 2: 1, 3: 1}]


def test_measures_of_sensitive_values_are_refused():
    with pytest.raises(PolicyError, match="cost is 'pmi'; it must be one of ncp, lm, mi, suppression"):
        agglomerative.METHOD.check({"cost": "pmi"})


@every_cost
@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, cells=st.sampled_from([2**22, 20, 0]))
def test_the_core_does_what_the_literal_version_does(cost, case, cells):
    table, k = case
    with mock.patch.object(agglomerative, "TABLE_CELLS", cells), mock.patch.object(closest, "PAUSE", 1):
        groups = run(table, k, cost)
    one_for_each_tuple = [[t] * count for t, count in enumerate(table.counts.tolist())]
    expected = unify(one_for_each_tuple, k, Measure(table, cost, 1.0))
    assert as_dicts(groups)[0] == [dict(Counter(rows)) for rows in expected]


@every_cost
@settings(max_examples=examples(30), deadline=None)
@given(rng=generators)
def test_the_rate_of_two_nodes_is_that_of_their_common_range(cost, rng):
    tree = random_tree(rng)
    ranks = np.arange(rank_count(tree)).reshape(-1, 1)
    (rate,), _ = rates(Problem(ranks, rng.integers(1, 5, len(ranks)), (tree,), np.ones(1)), cost, 1.0)
    lo, hi = np.sort(rng.integers(len(ranks), size=(2, 12)), axis=0)
    nodes = agglomerative.Nodes(tree, rate, lo, hi)
    for one in range(12):
        expected = rate(np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))[:, 0]
        assert nodes.joint(one, 0).tolist() == expected.tolist()
        assert nodes.joint(one, one).tolist() == expected[one:].tolist()


@pytest.mark.sweep
@needs_data
@pytest.mark.parametrize(("k", "sequential"), [(10, 0.0361), (50, 0.0991)])
def test_adult_loses_almost_what_sequential_clustering_does(k, sequential):
    """Section 8: "it issued results almost identical to those of the sequential algorithm"."""
    table = adult()
    assert gcp(table, run(table, k)) == pytest.approx(sequential, rel=0.03)
