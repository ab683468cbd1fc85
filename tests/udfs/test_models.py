"""Every model against its definition, read literally; all are monotone; and groups are legal by all of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from problems import generators, random_problem, random_tree, tree
from sweeping import examples

from sqlanon.errors import DataError
from sqlanon.udfs import legality
from sqlanon.udfs.after import repair
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.methods import peel
from sqlanon.udfs.models import MODELS, SLACK, Closeness, Model, promise
from sqlanon.udfs.problem import Groups, Numbers, Problem, Tree

some = settings(max_examples=examples(40), deadline=None)
RECURSIVE_C = 1.5
Rows = list[int]
"""The codes of some rows."""


def quiet(done: int, total: int, **facts: float) -> None:
    pass


def literal_reached(model: Model, rows: Rows, table: Rows, distance: str | Tree) -> float:
    """What a class of rows reaches, by the paper's words."""
    count, everyone = Counter(rows), Counter(table)
    share = {value: count[value] / len(rows) for value in everyone}
    expected = {value: everyone[value] / len(table) for value in everyone}
    gain = {value: (share[value] - expected[value]) / expected[value] for value in everyone}
    often = sorted(count.values(), reverse=True)
    if model.name == "recursive_l":
        return sum(often[0] < RECURSIVE_C * sum(often[l - 1 :]) - SLACK for l in range(1, len(often) + 1))  # noqa: E741
    if model.name == "t":
        return literal_closeness(share, expected, distance)
    if model.name == "enhanced_beta":
        is_kept = all(gain[value] <= -math.log(expected[value]) + SLACK for value in everyone)
        return max(gain.values()) if is_kept else math.inf
    return {
        "l": lambda: len(rows) / often[0],
        "distinct_l": lambda: len(often),
        "entropy_l": lambda: math.exp(-sum(n / len(rows) * math.log(n / len(rows)) for n in often)),
        "alpha": lambda: often[0] / len(rows),
        "basic_beta": lambda: max(gain.values()),
        "delta": lambda: max(abs(math.log(share[v] / expected[v])) if share[v] else math.inf for v in everyone),
    }[model.name]()


def literal_closeness(share: dict[int, float], expected: dict[int, float], distance: str | Tree) -> float:
    """The earth mover's distance as Li et al. work it out, section 4."""
    if distance == "equal":
        return sum(abs(share[value] - expected[value]) for value in expected) / 2
    if distance == "ordered":
        extra = [share[value] - expected[value] for value in sorted(expected)]
        return sum(abs(sum(extra[: i + 1])) for i in range(len(extra))) / max(len(extra) - 1, 1)
    assert isinstance(distance, Tree)
    cost = 0.0
    for node in range(len(distance.lo)):
        below = [
            child
            for child in range(len(distance.lo))
            if distance.lo[node] <= distance.lo[child]
            and distance.hi[child] <= distance.hi[node]
            and distance.level[child] == distance.level[node] - 1
        ]
        extra = [
            sum(share[v] - expected[v] for v in expected if distance.lo[child] <= v <= distance.hi[child])
            for child in below
        ]
        moved = min(sum(x for x in extra if x > 0), -sum(x for x in extra if x < 0))
        cost += distance.level[node] / max(distance.height - 1, 1) * moved
    return cost


def random_case(rng: np.random.Generator) -> tuple[Problem, str | Tree]:
    """A problem with a sensitive column of few or many values, all models asked for, and a distance for t."""
    table = random_problem(rng)
    distance = ("equal", "ordered", random_tree(rng))[rng.integers(3)]
    values = distance.leaves if isinstance(distance, Tree) else int(rng.choice([1, 2, 3, 6]))
    codes = rng.integers(values, size=len(table.counts))
    if not isinstance(distance, Tree):
        codes = np.unique(codes, return_inverse=True)[1]
    held = replace(table, sensitive=codes.reshape(-1, 1))
    return promise(held, dict.fromkeys(MODELS, 1.0), c=RECURSIVE_C, distances=[distance]), distance


def rows_of(table: Problem, tuples: np.ndarray, rows: np.ndarray) -> Rows:
    assert table.sensitive is not None
    return np.repeat(table.sensitive[tuples, 0], rows).tolist()


@some
@given(rng=generators)
def test_every_model_reaches_what_its_definition_says(rng):
    table, distance = random_case(rng)
    groups = np.sort(rng.integers(3, size=len(table.counts)))
    groups = np.unique(groups, return_inverse=True)[1]
    everything = np.arange(len(groups))
    cells, owner = legality._cells(table, 0, everything, groups, table.counts)
    assert owner.tolist() == list(range(groups.max() + 1))
    everyone = rows_of(table, everything, table.counts)
    for model in table.models:
        expected = [
            literal_reached(model, rows_of(table, mine, table.counts[mine]), everyone, distance)
            for mine in (np.flatnonzero(groups == group) for group in owner)
        ]
        assert model.reached(cells).tolist() == pytest.approx(expected, abs=1e-9), model.name


@settings(max_examples=examples(100), deadline=None)
@given(rng=generators)
def test_the_union_of_two_classes_keeps_what_both_keep(rng):
    table, _ = random_case(rng)
    everything = np.arange(len(table.counts))
    groups = rng.integers(3, size=len(everything))
    assume({0, 1} <= set(groups.tolist()))
    apart, _ = legality._cells(table, 0, everything, groups, table.counts)
    together, _ = legality._cells(table, 0, everything, groups // 2, table.counts)
    for model in table.models:
        reached, union = model.reached(apart)[:2], model.reached(together)[0]
        assert union >= reached.min() - 1e-9 if model.is_floor else union <= reached.max() + 1e-9, model.name


def random_promise(rng: np.random.Generator) -> Problem:
    """A problem with one or two sensitive columns and one or two models that its whole table keeps."""
    table = random_problem(rng)
    held = replace(table, sensitive=rng.integers(3, size=(len(table.counts), rng.integers(1, 3))))
    names = rng.permutation(list(MODELS))[: rng.integers(1, 3)].tolist()
    is_strict = bool(rng.integers(2))
    easy = promise(held, dict.fromkeys(names, 1.0), is_strict=is_strict, c=RECURSIVE_C)
    asked = {}
    for name in names:
        best = [legality.best(easy, model) for model in easy.models if model.name == name]
        if MODELS[name].is_floor:
            asked[name] = min(best)
        else:
            asked[name] = 1.5 * max(best) + 0.1 if max(best) < math.inf else None
    legal = {name: value for name, value in asked.items() if value is not None}
    return promise(held, legal, is_strict=is_strict, c=RECURSIVE_C)


def literal_legal(table: Problem, tuples: np.ndarray, rows: np.ndarray) -> bool:
    """Do these rows keep all models, for whoever knows the other sensitive columns where that is so?"""
    assert table.sensitive is not None
    for model in table.models:
        codes = table.sensitive[:, model.column]
        others = np.delete(table.sensitive, model.column, axis=1) if table.is_strict else table.sensitive[:, :0]
        everyone = np.repeat(codes, table.counts).tolist()
        for known in np.unique(others[tuples], axis=0):
            mine = (others[tuples] == known).all(axis=1)
            reached = literal_reached(model, np.repeat(codes[tuples[mine]], rows[mine]).tolist(), everyone, "equal")
            if (reached - model.asked) * (1 if model.is_floor else -1) < -1e-8:
                return False
    return True


@some
@given(rng=generators)
def test_groups_are_legal_where_every_class_keeps_every_model(rng):
    table = random_promise(rng)
    groups = np.unique(rng.integers(4, size=len(table.counts)), return_inverse=True)[1]
    everything = np.arange(len(groups))
    found = legality.are_legal(table, everything, groups, table.counts)
    assert found.tolist() == [
        literal_legal(table, mine, table.counts[mine])
        for mine in (np.flatnonzero(groups == group) for group in range(groups.max() + 1))
    ]


@some
@given(rng=generators)
def test_repair_peel_and_refine_keep_every_model(rng):
    table = random_promise(rng)
    loose = np.unique(rng.integers(5, size=len(table.counts)), return_inverse=True)[1]
    mended = repair.repair(table, Groups.collect(np.arange(len(loose)), loose, table.counts), quiet)
    peeled = repair.repair(table, peel.cluster(table, 1, rng, quiet, steps=100), quiet)
    refined = refine(table, peeled, 1, rng, quiet, steps=5)
    for groups in (mended, peeled, refined):
        assert np.bincount(groups.tuple, groups.rows, len(table.counts)).tolist() == table.counts.tolist()
        for group in np.unique(groups.group):
            mine = groups.group == group
            assert literal_legal(table, groups.tuple[mine], groups.rows[mine])


def salaries() -> Problem:
    """Li et al., Table 3: three classes of three, salaries of 3k to 11k."""
    codes = np.array([0, 2, 6, 3, 8, 5, 1, 4, 7]).reshape(-1, 1)
    ranks = np.repeat([0, 1, 2], 3).reshape(-1, 1)
    return Problem(ranks, np.ones(9, dtype=np.int64), (Numbers(np.arange(3.0)),), np.ones(1), codes)


def test_salaries_of_the_t_closeness_paper():
    # Section 4.2: {3k, 4k, 5k} is 0.375 from {3k, ..., 11k}, and {6k, 8k, 11k} 0.167. Table 5 claims 0.167-closeness.
    table = promise(salaries(), {"t": 0.167}, distances=["ordered"])
    everyone = np.arange(9)
    (model,) = table.models
    low = np.argsort(salaries().sensitive[:, 0])
    for picked, expected in (([0, 1, 2], 0.375), ([3, 5, 8], 1 / 6)):
        cells, _ = legality._cells(table, 0, low[picked], np.zeros(3, dtype=int), np.ones(3, dtype=int))
        assert model.reached(cells)[0] == pytest.approx(expected)
    assert legality.are_legal(table, everyone, np.repeat([0, 1, 2], 3), table.counts).tolist() == [True] * 3


def test_leaves_are_as_far_apart_as_their_common_node_is_high():
    # Two pairs under a top: within a pair 1/2, across 1.
    pairs = tree([[[], []], [[], []]])
    codes = np.arange(4).reshape(-1, 1)
    table = Problem(np.zeros((4, 1), dtype=int), np.ones(4, dtype=int), (Numbers(np.zeros(1)),), np.ones(1), codes)
    (model,) = promise(table, {"t": 0.0}, distances=[pairs]).models
    cells, _ = legality._cells(promise(table, {"t": 0.0}), 0, np.arange(4), np.array([0, 1, 0, 1]), table.counts)
    assert isinstance(model, Closeness)
    # A class of the first of each pair moves a quarter twice by 1/2.
    assert model.reached(cells).tolist() == pytest.approx([0.25, 0.25])


def test_others_known_is_stricter_than_each_column_by_itself():
    codes = np.array([[0, 0], [1, 1], [0, 0], [1, 1]])
    table = Problem(np.zeros((4, 1), dtype=int), np.ones(4, dtype=int), (Numbers(np.zeros(1)),), np.ones(1), codes)
    legality.check_legal(promise(table, {"distinct_l": 2}, is_strict=False))
    with pytest.raises(DataError, match=r"distinct_l = 2 is impossible for ill.*only reaches 1 .*several='separate'"):
        legality.check_legal(promise(table, {"distinct_l": 2}, columns=["ill", "job"]))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"l": 2}, r"^l = 2 is impossible for ill: even the whole table only reaches 1\.5\.$"),
        ({"alpha": 0.5}, r"alpha = 0\.5 is impossible for ill: .* only reaches 0\.6667\."),
        ({"entropy_l": 2}, r"entropy_l = 2 .* reaches 1\.8898\."),
        ({"recursive_l": 2}, r"recursive_l = 2 .* reaches 1\."),
    ],
)
def test_what_the_whole_table_does_not_keep_is_refused_with_the_best_that_it_does(asked, message):
    codes = np.array([[0], [1]])
    table = Problem(np.zeros((2, 1), dtype=int), np.array([2, 1]), (Numbers(np.zeros(1)),), np.ones(1), codes)
    with pytest.raises(DataError, match=message):
        legality.check_legal(promise(table, asked, c=2.0, columns=["ill"]))
