"""Windows: every row in a group of its pool, and the first group is the best that there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import generators, random_problem
from sweeping import examples

from sqlanon.udfs.after.scan import fill, hash_classes, room_for, scan
from sqlanon.udfs.after.windows import DRAWING, Lattice
from sqlanon.udfs.problem import Floats, Ints, Numbers, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.levels import levels
from sqlanon.udfs.space.machine import loop

some = settings(max_examples=examples(40), deadline=None)


@loop
def filled(ranks, groups, levels, lines, room):
    """What all rows lose once those without a group have joined one."""
    return fill(bare(ranks), 0, ranks.shape[1], groups, levels, lines, room)


@loop
def scanned(k, line, ranks, many, levels, lines, room):
    """Say of all rows which windows they are in."""
    hash_classes(bare(ranks), 0, ranks.shape[1], levels, room)
    return scan(k, line, bare(ranks), 0, ranks.shape[1], many, levels, lines, room)


def lattice_of(table: Problem, objective: str = "ncp") -> Lattice:
    rates, _ = costs.rates(table, objective)
    return Lattice(table.ranks, rates, [levels(attribute) for attribute in table.attributes])


def loss_of(table: Problem, group: Ints, tuples: Ints, objective: str = "ncp") -> float:
    """What single rows lose together in their groups."""
    rates, _ = costs.rates(table, objective)
    total = 0.0
    for mine in (tuples[group == g] for g in np.unique(group)):
        lo, hi = table.ranks[mine].min(axis=0), table.ranks[mine].max(axis=0)
        total += len(mine) * sum(float(rate(a, b)[0]) for rate, a, b in zip(rates, lo, hi, strict=True))
    return total


@some
@given(rng=generators, k=st.integers(2, 4), limit=st.sampled_from([0.0, 0.5, np.inf]))
def test_new_clusterings_keep_every_row_in_its_pool_and_k_and_lose_no_more_than_the_limit(rng, k, limit):
    table = random_problem(rng)
    tuples = rng.permutation(np.repeat(np.arange(len(table.counts)), table.counts))
    width = int(rng.integers(1, 3))
    pools = len(tuples) // (width * (k + 1))
    assume(pools)
    # Groups of k or k + 1 rows, this many to a pool.
    sizes = rng.integers(k, k + 2, size=pools * width)
    group = np.repeat(np.arange(pools * width), sizes)
    tuples, pool = tuples[: len(group)], group // width
    price = rng.random(len(group))
    owner, part, new, rows = lattice_of(table).recut(pool, group, tuples, price, np.full(pools, limit), k, rng)
    assert not len(part) or min(np.bincount(part, rows)[np.unique(part)]) >= k
    for one in np.unique(owner):
        mine, before = owner == one, pool == one
        held = np.bincount(new[mine], rows[mine], len(table.counts)).tolist()
        assert held == np.bincount(tuples[before], minlength=len(table.counts)).tolist()
        lost = loss_of(table, np.repeat(part[mine], rows[mine]), np.repeat(new[mine], rows[mine]))
        was = loss_of(table, group[before], tuples[before])
        assert lost != pytest.approx(was, abs=1e-9)
        assert lost < was + limit


def test_groups_that_are_mixed_up_are_put_right():
    attributes = (Numbers(np.arange(10.0)),)
    table = Problem(np.array([[0], [1], [8], [9]]), np.ones(4, np.int64), attributes, np.ones(1))
    pool, group, tuples = np.zeros(4, np.int64), np.array([0, 0, 1, 1]), np.array([0, 2, 1, 3])
    found = lattice_of(table).recut(pool, group, tuples, np.ones(4), np.zeros(1), 2, np.random.default_rng(0))
    assert sorted(sorted(found[2][found[1] == part].tolist()) for part in np.unique(found[1])) == [[0, 1], [2, 3]]


@some
@given(rng=generators, objective=st.sampled_from(costs.OBJECTIVES[:4]))
def test_rows_without_a_group_join_the_one_whose_loss_they_raise_least(rng, objective):
    table = random_problem(rng)
    lattice = lattice_of(table, objective)
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    groups = int(rng.integers(1, 4))
    assume(len(tuples) > groups)
    group = rng.permutation(np.r_[np.arange(groups), rng.integers(groups, size=len(tuples) - groups - 1), -1])
    alone, room = int(np.flatnonzero(group < 0)[0]), room_for(len(tuples), groups, lattice.levels, DRAWING)
    room.taken[:] = group
    total = filled(np.ascontiguousarray(lattice.small[:, tuples]), groups, lattice.levels, lattice.lines, room)
    assert total == pytest.approx(loss_of(table, room.taken, tuples, objective), abs=1e-5 * len(tuples))
    choices = []
    for home in range(groups):
        group[alone] = home
        choices.append(loss_of(table, group, tuples, objective))
    assert total == pytest.approx(min(choices), abs=1e-5 * len(tuples))


def windows_in(lattice: Lattice, nodes: Ints, tuples: Ints, line: int, worth: Floats, k: int) -> Ints:
    """The windows of one pool, whose rows are in the order of the line."""
    ranks = np.ascontiguousarray(lattice.small[:, tuples])
    room = room_for(len(tuples), max(len(nodes), len(tuples) // k), lattice.levels, DRAWING)
    room.taken[:], room.worth[:], room.node[: len(nodes)] = -1, worth, nodes
    scanned(k, line, ranks, len(nodes), lattice.levels, lattice.lines, room)
    return room.taken


def some_nodes(lattice: Lattice, count: int, rng: np.random.Generator) -> Ints:
    """Random generalizations, and the top."""
    levels = lattice.levels.depth
    return np.vstack([rng.integers(levels, size=(count, len(levels))), levels - 1])


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
    line = int(rng.choice(lattice.choices))
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    assume(len(tuples) >= k)
    nodes = some_nodes(lattice, 3, rng)
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
    line = lattice.choices[0]
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    worth = np.zeros(len(tuples))
    worth[:2] = 1e3
    assert windows_in(lattice, lattice.levels.depth[None] - 1, tuples, line, worth, 2)[:2].tolist() == [0, 0]


@some
@given(rng=generators, k=st.integers(2, 4), objective=st.sampled_from(costs.OBJECTIVES[:4]))
def test_windows_are_the_best_of_what_is_left_one_after_the_other(rng, k, objective):
    table = random_problem(rng)
    lattice = lattice_of(table, objective)
    line = int(rng.choice(lattice.choices))
    tuples = np.repeat(np.arange(len(table.counts)), table.counts)
    tuples = tuples[np.argsort(table.ranks[tuples, line], kind="stable")]
    assume(len(tuples) >= k)
    nodes = some_nodes(lattice, 5, rng)
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
