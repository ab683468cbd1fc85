"""Windows: every row in a group of its pool, and the first group is the best that there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import generators, random_problem
from sqlanon.udfs.boxes import Space
from sqlanon.udfs.peel import levels
from sqlanon.udfs.problem import Floats, Ints, Problem
from sqlanon.udfs.windows import Lattice

from sqlanon.udfs import costs

some = settings(max_examples=40, deadline=None)


def lattice_of(table: Problem, objective: str = "ncp") -> Lattice:
    rates, _ = costs.rates(table, objective)
    space = Space(rates)
    codes = [levels(attribute) for attribute in table.attributes]
    return Lattice(table.ranks, rates, codes, space, space.points(table.ranks))


@some
@given(rng=generators, k=st.integers(2, 4))
def test_every_row_stays_in_its_pool_and_every_part_has_k_rows(rng, k):
    table = random_problem(rng)
    tuples = rng.permutation(np.repeat(np.arange(len(table.counts)), table.counts))
    width = int(rng.integers(1, 3))
    pools = len(tuples) // (width * (k + 1))
    assume(pools)
    # Groups of k or k + 1 rows, so many to a pool.
    sizes = rng.integers(k, k + 2, size=pools * width)
    group = np.repeat(np.arange(pools * width), sizes)
    tuples, pool = tuples[: len(group)], group // width
    found = lattice_of(table).recut(pool, group, tuples, rng.random(len(group)), k, rng)
    held = [np.zeros((pools, len(table.counts)), dtype=int) for _ in range(2)]
    np.add.at(held[0], (pool, tuples), 1)
    np.add.at(held[1], (found[0], found[2]), found[3])
    np.testing.assert_equal(*held)
    assert min(np.bincount(found[1], found[3])[np.unique(found[1])]) >= k
    assert all(len(np.unique(found[0][found[1] == part])) == 1 for part in np.unique(found[1]))


def windows_in(lattice: Lattice, nodes: Ints, tuples: Ints, line: int, worth: Floats, k: int) -> Ints:
    """The windows of one pool, whose rows are in the order of the line."""
    return lattice._scan(np.array([0]), np.array([len(tuples)]), tuples, nodes[None], line, worth, k)


def windows_of(
    table: Problem, node: Ints, tuples: Ints, line: int, k: int, objective: str = "ncp"
) -> list[tuple[float, Ints]]:
    """All windows of a generalization with their losses, the obvious way."""
    rates, _ = costs.rates(table, objective)
    codes = [levels(attribute)[level] for attribute, level in zip(table.attributes, node.tolist(), strict=True)]
    ranks = table.ranks[tuples]
    classes: dict[tuple[int, ...], list[int]] = {}
    for row, at in sorted(enumerate(ranks.tolist()), key=lambda entry: entry[1][line]):
        key = tuple(int(code[rank]) for j, (code, rank) in enumerate(zip(codes, at, strict=True)) if j != line)
        classes.setdefault(key, []).append(row)
    found = []
    for rows in classes.values():
        spans = [np.flatnonzero(code == code[rank]) for code, rank in zip(codes, ranks[rows[0]], strict=True)]
        cost = sum(
            float(rate(span.min(), span.max())[0])
            for j, (rate, span) in enumerate(zip(rates, spans, strict=True))
            if j != line
        )
        for start in range(len(rows) - k + 1):
            lo, hi = ranks[rows[start], line], ranks[rows[start + k - 1], line]
            found.append((cost + float(rates[line](lo, hi)[0]), np.array(rows[start : start + k])))
    return found


@some
@given(rng=generators, k=st.integers(2, 4))
def test_the_first_window_is_the_best_of_all(rng, k):
    table = random_problem(rng)
    lattice = lattice_of(table)
    line = int(rng.choice(list(lattice.lines)))
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    assume(len(tuples) >= k)
    nodes = np.vstack([rng.integers(lattice.tops + 1, size=(3, len(lattice.tops))), lattice.tops])
    first = np.flatnonzero(windows_in(lattice, nodes, tuples, line, np.zeros(len(tuples)), k) == 0)
    every = [window for node in nodes for window in windows_of(table, node, tuples, line, k)]
    rates, _ = costs.rates(table, "ncp")
    lo, hi = table.ranks[tuples[first]].min(axis=0), table.ranks[tuples[first]].max(axis=0)
    assert len(first) == k
    mine = min(cost for cost, rows in every if np.array_equal(table.ranks[tuples[rows]], table.ranks[tuples[first]]))
    assert mine == pytest.approx(min(cost for cost, _ in every), abs=1e-3 * table.weights.sum())
    assert sum(float(rate(a, b)[0]) for rate, a, b in zip(rates, lo, hi, strict=True)) <= mine + 1e-9


@some
@given(rng=generators)
def test_rows_that_are_badly_off_come_first(rng):
    table = random_problem(rng)
    lattice = lattice_of(table)
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    assume(len(tuples) >= 2)
    line = next(iter(lattice.lines))
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    worth = np.zeros(len(tuples))
    worth[:2] = 1e3
    assert windows_in(lattice, lattice.tops[None], tuples, line, worth, 2)[:2].tolist() == [0, 0]


@some
@given(rng=generators, k=st.integers(2, 4), objective=st.sampled_from(costs.OBJECTIVES[:4]))
def test_windows_are_the_best_of_what_is_left_one_after_the_other(rng, k, objective):
    table = random_problem(rng)
    lattice = lattice_of(table, objective)
    line = int(rng.choice(list(lattice.lines)))
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    assume(len(tuples) >= k)
    nodes = np.vstack([rng.integers(lattice.tops + 1, size=(5, len(lattice.tops))), lattice.tops])
    found = windows_in(lattice, nodes, tuples, line, np.zeros(len(tuples)), k)
    left = np.arange(len(tuples))
    for number in range(found.max() + 1):
        mine = np.flatnonzero(found[left] == number)
        every = [window for node in nodes for window in windows_of(table, node, tuples[left], line, k, objective)]
        assert len(mine) == k
        cost = min(cost for cost, rows in every if np.array_equal(np.sort(rows), mine))
        assert cost == pytest.approx(min(cost for cost, _ in every), abs=1e-4 * table.weights.sum())
        left = left[found[left] != number]
    assert len(left) < k
