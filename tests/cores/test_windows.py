"""Windows: every row in a group of its pool, and the first group is the best that there is."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import generators, random_problem
from sqlanon.udfs.boxes import Space
from sqlanon.udfs.peel import levels
from sqlanon.udfs.problem import Ints, Problem
from sqlanon.udfs.windows import Lattice, Sheet

from sqlanon.udfs import costs, windows

some = settings(max_examples=40, deadline=None)


def lattice_of(table: Problem) -> Lattice:
    rates, _ = costs.rates(table, "ncp")
    space = Space(rates)
    codes = [levels(attribute) for attribute in table.attributes]
    return Lattice(table.ranks, rates, codes, space, space.points(table.ranks))


@pytest.mark.parametrize("cells", [1, windows.CELLS])
@some
@given(rng=generators, k=st.integers(2, 4))
def test_every_row_stays_in_its_pool_and_every_part_has_k_rows(cells, rng, k):
    table = random_problem(rng)
    tuples = rng.permutation(np.repeat(np.arange(len(table.counts)), table.counts))
    width = int(rng.integers(1, 3))
    pools = len(tuples) // (width * (k + 1))
    assume(pools)
    # Groups of k or k + 1 rows, so many to a pool.
    sizes = rng.integers(k, k + 2, size=pools * width)
    group = np.repeat(np.arange(pools * width), sizes)
    tuples, pool = tuples[: len(group)], group // width
    with mock.patch.object(windows, "CELLS", cells):
        found = lattice_of(table).recut(pool, group, tuples, rng.random(len(group)), k, rng)
    held = [np.zeros((pools, len(table.counts)), dtype=int) for _ in range(2)]
    np.add.at(held[0], (pool, tuples), 1)
    np.add.at(held[1], (found[0], found[2]), found[3])
    np.testing.assert_equal(*held)
    assert min(np.bincount(found[1], found[3])[np.unique(found[1])]) >= k
    assert all(len(np.unique(found[0][found[1] == part])) == 1 for part in np.unique(found[1]))


def windows_of(table: Problem, node: Ints, tuples: Ints, line: int, k: int) -> list[tuple[float, Ints]]:
    """All windows of a generalization with their losses, the obvious way."""
    rates, _ = costs.rates(table, "ncp")
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
    line = int(rng.choice(lattice.lines))
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    assume(len(tuples) >= k)
    nodes = np.vstack([rng.integers(lattice.tops + 1, size=(3, len(lattice.tops))), lattice.tops])
    sheet = Sheet(lattice, nodes[None], tuples[None], np.ones((1, len(tuples)), dtype=bool), line)
    first = np.flatnonzero(sheet.windows(k, np.zeros((1, len(tuples))))[0] == 0)
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
    line = lattice.lines[0]
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    worth = np.zeros((1, len(tuples)))
    worth[0, :2] = 1e3
    sheet = Sheet(lattice, lattice.tops[None, None], tuples[None], np.ones((1, len(tuples)), dtype=bool), line)
    assert sheet.windows(2, worth)[0, :2].tolist() == [0, 0]
