"""Suppression where it pays: what it promises, and that it does as the obvious slow version does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems import generators, problems, random_problem, solvable, with_l
from sweeping import examples

from sqlanon.udfs import legality
from sqlanon.udfs.after import repair
from sqlanon.udfs.after.suppress import GAIN, ROUNDS, TIE, allowed, may_print_suppressed, settle, suppress
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import LEFT_OUT, SUPPRESSED, Groups, Numbers, Problem, gcp

Members = dict[int, list[int]]
"""Group → its entries."""


def hush(done: int, total: int, **facts: float) -> None:
    pass


def clustered(problem: Problem, k: int, method: str = "kacpc") -> Groups:
    core = METHODS[method]
    return core.cluster(problem, k, np.random.default_rng(0), hush, **core.check({}))


def one_column(*values: float) -> Problem:
    numbers, counts = np.unique(values, return_counts=True)
    return Problem(np.arange(len(numbers))[:, None], counts, (Numbers(numbers),), np.ones(1))


def given_up(groups: Groups) -> int:
    return int(groups.rows[groups.group < 0].sum())


def test_an_outlier_goes_and_its_group_shrinks():
    problem = one_column(1, 1, 1, 1, 2, 100)
    groups = Groups.collect(np.arange(3), np.zeros(3), problem.counts)
    found = suppress(problem, groups, 5, 0.2, hush)
    assert found.tuple[found.group == SUPPRESSED].tolist() == [2]
    assert gcp(problem, found) < gcp(problem, groups) == 1


def test_a_group_dissolves_when_its_outlier_goes():
    problem = one_column(1, 1, 1, 2, 2, 100)
    groups = Groups.collect([0, 1, 2], [0, 1, 1], problem.counts)
    found = suppress(problem, groups, 3, 0.2, hush)
    assert [found.tuple[found.group == group].tolist() for group in (SUPPRESSED, 0)] == [[2], [0, 1]]


def test_nothing_goes_where_it_does_not_pay_or_is_not_allowed():
    problem = one_column(1, 2, 3, 11, 12, 13)
    groups = Groups.collect(np.arange(6), [0, 0, 0, 1, 1, 1], problem.counts)
    assert given_up(suppress(problem, groups, 2, 1.0, hush)) == 0
    outlier = one_column(1, 1, 1, 1, 2, 100)
    groups = Groups.collect(np.arange(3), np.zeros(3), outlier.counts)
    assert given_up(suppress(outlier, groups, 5, 0.16, hush)) == 0


def test_suppressed_rows_that_are_fewer_than_k_are_left_out():
    problem = one_column(1, 1, 1, 1, 2, 100)
    groups = Groups.collect(np.arange(3), [0, 0, SUPPRESSED], problem.counts)
    assert settle(problem, groups, 5).group.tolist() == [LEFT_OUT, 0, 0]
    assert settle(problem, groups, 1).group.tolist() == [SUPPRESSED, 0, 0]


def test_models_that_compare_with_the_table_leave_nothing_out():
    problem = replace(one_column(1, 1, 1, 1, 2, 100), sensitive=np.array([[0], [1], [1]]))
    groups = Groups.collect(np.arange(3), np.zeros(3), problem.counts)
    assert given_up(suppress(promise(problem, {"distinct_l": 2}), groups, 5, 0.2, hush)) == 1
    assert given_up(suppress(promise(problem, {"t": 0.9}), groups, 5, 0.2, hush)) == 0


def with_values(rng: np.random.Generator, problem: Problem) -> Problem:
    sensitive = rng.integers(3, size=(len(problem.counts), 1))
    return replace(problem, sensitive=sensitive)


@pytest.mark.parametrize("method", ["kacpc", "mondrian", "kaca"])
@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, rng=generators, share=st.sampled_from([0.05, 0.2, 0.6]), asks_l=st.booleans())
def test_k_and_models_hold_within_the_limit_and_nothing_is_lost_by_it(method, case, rng, share, asks_l):
    problem, k = case
    plain = clustered(problem, k, method)
    if asks_l:
        problem = with_l(with_values(rng, problem), 1.5)
        plain = repair.repair(problem, plain, hush)
    found = suppress(problem, plain, k, share, hush)
    assert np.bincount(found.tuple, found.rows, len(problem.counts)).tolist() == problem.counts.tolist()
    assert given_up(found) <= max(allowed(problem, share), given_up(plain))
    assert gcp(problem, found) <= gcp(problem, plain) + 1e-9
    kept = found.group >= 0
    tuples, group, rows = found.tuple[kept], found.group[kept], found.rows[kept]
    assert (np.bincount(group, weights=rows) >= k).all()
    assert legality.are_legal(problem, tuples, group, rows).all()
    settled = settle(problem, found, k)
    assert may_print_suppressed(problem, settled, k)
    assert given_up(settled) == given_up(found)


@settings(max_examples=examples(150), deadline=None)
@example(problem=random_problem(np.random.default_rng(190)), rng=np.random.default_rng(190), k=2, share=0.3)  # a tie
@given(problem=problems, rng=generators, k=st.integers(2, 4), share=st.sampled_from([0.1, 0.3, 0.6]))
def test_the_same_rows_go_as_in_the_slow_version(problem, rng, k, share):
    entries = len(problem.counts)
    group = rng.integers(max(1, entries // 4), size=entries)
    size = np.bincount(group, weights=problem.counts)
    group = np.where(size[group] >= k, group, size.argmax())  # one large group takes those that are too small
    if np.bincount(group, weights=problem.counts).max() < k:
        return
    groups = Groups.collect(np.arange(entries), np.unique(group, return_inverse=True)[1], problem.counts)
    found = suppress(problem, groups, k, share, hush)
    slow = slowly(problem, groups, k, allowed(problem, share))
    assert sorted(found.tuple[found.group == SUPPRESSED].tolist()) == sorted(slow.pop(SUPPRESSED))
    fast = [found.tuple[found.group == each].tolist() for each in range(int(found.group.max(initial=-1)) + 1)]
    assert sorted(map(sorted, fast)) == sorted(map(sorted, slow.values()))


def rows_of(problem: Problem, entries: list[int]) -> int:
    return sum(int(problem.counts[entry]) for entry in entries)


def cost_of(problem: Problem, entries: list[int]) -> float:
    ranks = problem.ranks[entries]
    return rows_of(problem, entries) * float(problem.loss(ranks.min(axis=0), ranks.max(axis=0)))


def slowly(problem: Problem, groups: Groups, k: int, left: int) -> Members:
    """The rounds, one entry and one group after the other. Every tuple is an entry here."""
    members = {g: groups.tuple[groups.group == g].tolist() for g in np.unique(groups.group).tolist()}
    members[SUPPRESSED] = []
    whole = float(problem.weights.sum())
    rows, cost = partial(rows_of, problem), partial(cost_of, problem)

    def offers(number, others):
        mine = members[number]
        if cost(mine) <= whole + GAIN:
            return
        shrunk = []
        for entry in mine:
            rest = [other for other in mine if other != entry]
            if rows(rest) >= k:
                gain = cost(mine) - cost(rest) - whole * rows([entry])
                shrunk.append((-round(gain / rows([entry]), TIE), entry, gain))
        if shrunk and (best := min(shrunk))[2] > GAIN:
            yield best[0], number, best[1], [best[1]], {}
        if not others:
            return
        gain, gone, moved = cost(mine), [], {}
        for entry in mine:
            added = [(round(cost([*members[other], entry]) - cost(members[other]), 9), other) for other in others]
            least, to = min(added)
            alone = whole * rows([entry])
            gain -= min(least, alone)
            if least > alone + GAIN:
                gone.append(entry)
            else:
                moved[entry] = to
        if gain > GAIN and gone:
            yield -round(gain / rows(gone), TIE), number, gone[0], gone, moved

    for _ in range(ROUNDS):
        numbers = sorted(number for number in members if number != SUPPRESSED)
        found = [offer for g in numbers for offer in offers(g, [other for other in numbers if other != g])]
        touched, before = set(), left
        for *_, number, _first, gone, moved in sorted(found, key=lambda offer: offer[:3]):
            involved = {number, *moved.values()}
            if rows(gone) > left or involved & touched:
                continue
            new = {g: [e for e in members[g] if e not in gone and e not in moved] for g in involved}
            for entry, to in moved.items():
                new[to].append(entry)
            saved = sum(cost(members[g]) for g in involved) - sum(cost(part) for part in new.values() if part)
            if saved - whole * rows(gone) <= GAIN or any(0 < rows(part) < k for part in new.values()):
                continue
            members |= new
            members[SUPPRESSED] += gone
            members = {g: part for g, part in members.items() if part or g == SUPPRESSED}
            touched |= involved
            left -= rows(gone)
        if left == before:
            break
    return members


def test_who_is_given_up_does_not_tell_whether_two_people_have_the_same_value():
    # Two people far from all others, with one value and with two: both are given up, or neither.
    gone = []
    for values in ([0, 1, 2, 0, 1, 2, 3, 3], [0, 1, 2, 0, 1, 2, 3, 4]):
        places = [0, 0, 0, 1, 1, 1, 9, 9]
        pairs, counts = np.unique(np.column_stack([places, values]), axis=0, return_counts=True)
        plain = Problem(pairs[:, :1].copy(), counts, (Numbers(np.arange(10.0)),), np.ones(1), pairs[:, 1:].copy())
        problem = promise(plain, {"l": 2.0})
        home = Groups.collect(np.arange(len(pairs)), np.zeros(len(pairs), dtype=np.int64), counts)
        found = suppress(problem, home, 3, 0.5, lambda done, total, **facts: None)
        gone.append(
            sorted(np.repeat(problem.ranks[found.tuple, 0], found.rows)[np.repeat(found.group, found.rows) < 0])
        )
    assert gone[0] == gone[1] == [9, 9]
