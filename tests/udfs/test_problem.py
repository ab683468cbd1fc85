"""The range arithmetic against brute force, and at the ends of what floats can hold."""

from __future__ import annotations

from dataclasses import replace

import literal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import numbers, problems, tree, trees
from sweeping import examples

from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem, exact, gcp
from sqlanon.udfs.space import costs

some = settings(max_examples=examples(100), deadline=None)


def all_ranges(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(count)


@some
@given(hierarchy=trees)
def test_common_is_the_lowest_of_the_narrowest_nodes_over_a_range(hierarchy):
    lo, hi = all_ranges(hierarchy.leaves)
    node = hierarchy.common(lo, hi)
    found = zip(*(part[node].tolist() for part in (hierarchy.lo, hierarchy.hi, hierarchy.level)), strict=True)
    assert (hierarchy.common(hi, lo) == node).all()
    assert list(found) == [literal.cover(hierarchy, *ends) for ends in zip(lo.tolist(), hi.tolist(), strict=True)]


@some
@given(hierarchy=trees)
def test_tree_loss_is_the_share_of_leaves_and_nothing_for_one_leaf(hierarchy):
    lo, hi = all_ranges(hierarchy.leaves)
    nodes = [literal.cover(hierarchy, *ends) for ends in zip(lo.tolist(), hi.tolist(), strict=True)]
    expected = [0 if a == b else (b - a + 1) / hierarchy.leaves for a, b, _ in nodes]
    assert hierarchy.loss(lo, hi).tolist() == expected


def test_node_0_is_the_root_even_above_an_only_child():
    chain = tree([[[[], []]]], order=[2, 0, 4, 1, 3])
    assert (chain.height, chain.leaves) == (4, 2)
    assert chain.level.tolist()[:3] == [3, 2, 1]
    assert chain.level[chain.common(np.array(0), np.array(1))] == 1


@some
@given(line=numbers)
def test_number_loss_is_the_share_of_the_domain_and_all_of_it_with_null(line):
    lo, hi = all_ranges(len(line.at))
    at = line.at.tolist()
    known = [x for x in at if x == x]
    expected = [
        0 if a == b else 1 if at[b] != at[b] else (at[b] - at[a]) / (known[-1] - known[0])
        for a, b in zip(lo, hi, strict=True)
    ]
    assert line.loss(lo, hi) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("at", "share"),
    [
        ([-1.7e308, 0.0, 1.7e308], 0.5),
        ([0.0, 5e-324, 1e-323], 0.5),
        ([1e300, 2e300, 5e300], 0.25),
        ([7.0, 7.0, 7.0], 0.0),
    ],
)
def test_loss_of_half_a_line_that_is_hugely_long_or_short(at, share):
    line = Numbers(np.array(at))
    whole = float(at[0] != at[2])
    assert line.loss(np.array([0, 0]), np.array([1, 2])).tolist() == pytest.approx([share, whole])


@some
@given(problem=problems, share=st.floats(0.1, 1), seed=st.integers(0, 9))
def test_a_part_of_a_table_with_its_own_values_alone_loses_the_same(problem, share, seed):
    rng = np.random.default_rng(seed)
    mine = np.flatnonzero(rng.random(len(problem.counts)) < share)
    mine = mine if len(mine) else np.arange(1)
    part = replace(problem, ranks=problem.ranks[mine], counts=problem.counts[mine])
    narrow, values = part.narrowed()
    for attribute, ranks in zip(narrow.attributes, narrow.ranks.T, strict=True):
        if isinstance(attribute, Numbers):
            assert np.unique(ranks).tolist() == list(range(len(attribute.at)))
    group = rng.integers(3, size=len(mine))
    found = Groups.collect(np.arange(len(mine)), np.unique(group, return_inverse=True)[1], part.counts)
    for cost in ("ncp", "precision", "mi"):
        assert costs.excess(narrow, found, cost) == costs.excess(part, found, cost)
    lo, hi, _ = found.closure(narrow)
    wide = replace(found, box=(lo, hi)).widened(values)
    for ends, expected in zip(wide.box, found.closure(part)[:2], strict=True):
        assert np.array_equal(ends, expected)


def test_null_alone_has_no_loss_and_no_length():
    line = Numbers(np.array([np.nan]))
    assert line.span == 0
    assert line.loss(np.array([0]), np.array([0])).tolist() == [0]


@some
@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=20), seed=st.integers(0, 9))
def test_exact_distances_add_up_alike_in_any_order(values, seed):
    rounded = exact(np.array(values))
    assert np.abs(rounded - values).max() <= 2**-41
    assert sum(rounded.tolist()) == sum(np.random.default_rng(seed).permutation(rounded).tolist())


def test_collect_sorts_entries_and_adds_up_equal_ones():
    groups = Groups.collect([2, 0, 2, 1], [1, 0, 1, SUPPRESSED], [3, 1, 4, 5])
    assert groups.group.tolist() == [SUPPRESSED, 0, 1]
    assert groups.tuple.tolist() == [1, 0, 2]
    assert groups.rows.tolist() == [5, 1, 7]


def test_gcp_weighs_attributes_and_counts_suppressed_rows_as_lost():
    table = Problem(
        np.array([[0, 0], [1, 1], [2, 2]]),
        np.array([2, 1, 1]),
        (Numbers(np.array([0.0, 1.0, 4.0])), tree([[[], []], []])),
        np.array([3.0, 1.0]),
    )
    groups = Groups.collect([0, 1, 2], [0, 0, SUPPRESSED], [2, 1, 1])
    # Three rows lose 1/4 of a line that weighs 3 and 2/3 of a tree that weighs 1; one row loses all.
    assert gcp(table, groups) == pytest.approx((3 * (3 / 4 + 2 / 3) + 4) / (4 * 4))
