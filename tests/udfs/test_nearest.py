"""The 1-NN error against rows by hand, a plain loop and the paper's tables."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from adult import DATA, needs_data
from hypothesis import given, settings
from problems import generators
from sweeping import examples

from sqlanon.errors import PolicyError
from sqlanon.udfs.evaluate import one_nn
from sqlanon.udfs.evaluate.one_nn import one_nn_error


def plain(values, labels, release, distance, ties):
    wrong = 0
    for i, one in enumerate(values):
        power = 1 if distance == "manhattan" else 2
        apart = {j: sum(abs(a - b) ** power for a, b in zip(one, r, strict=True)) for j, r in enumerate(release)}
        del apart[i]
        near = [j for j in apart if apart[j] == min(apart.values())]
        votes = [labels[j] for j in near]
        wrong += labels[i] != (votes[0] if ties == "lowest" else min(votes, key=lambda v: (-votes.count(v), v)))
    return wrong / len(values)


def test_a_row_is_not_its_own_neighbour():
    assert one_nn_error([[0], [1], [5]], ["a", "a", "b"]) == pytest.approx(1 / 3)


def test_the_lowest_of_several_nearest_rows_decides():
    assert one_nn_error([[1], [0], [2], [2]], ["a", "a", "b", "b"]) == 0
    assert one_nn_error([[0], [2], [2], [1]], ["b", "a", "a", "a"]) == 0.5


def test_ties_are_ties_whatever_the_rounding():
    # 0.3 is as far from 0.1 as from 0.5, but not in binary.
    assert one_nn_error([[0.1], [0.5], [0.3]], ["a", "b", "a"]) == pytest.approx(1 / 3)
    assert one_nn_error([[0.5], [0.1], [0.3]], ["b", "a", "a"]) == pytest.approx(2 / 3)


def test_the_majority_of_a_released_group_decides():
    values, release = [[0], [1], [2], [3]], [[1.5]] * 4
    assert one_nn_error(values, ["a", "b", "b", "b"], release=release) == 1
    assert one_nn_error(values, ["a", "b", "b", "b"], release=release, ties="majority") == 0.25


def test_a_lone_row_has_no_neighbour():
    assert np.isnan(one_nn_error([[1]], ["a"]))


@pytest.mark.parametrize("option", [{"distance": "cosine"}, {"ties": "random"}])
def test_unknown_words_are_refused(option):
    with pytest.raises(PolicyError, match="must be one of"):
        one_nn_error([[1], [2]], ["a", "b"], **option)


@pytest.mark.parametrize("distance", ["manhattan", "euclidean"])
@pytest.mark.parametrize("ties", ["lowest", "majority"])
@settings(max_examples=examples(50), deadline=None)
@given(rng=generators)
def test_blocks_give_what_a_plain_loop_gives(distance, ties, rng):
    rows, features = rng.integers(2, 20), rng.integers(1, 4)
    values, release = rng.integers(0, 4, size=(2, rows, features))
    labels = rng.choice(["a", "b", "c"], size=rows).tolist()
    with mock.patch.object(one_nn, "BLOCK", 40):
        found = one_nn_error(values, labels, distance, release=release, ties=ties)
    assert found == plain(values.tolist(), labels, release.tolist(), distance, ties)


@needs_data
@pytest.mark.parametrize(("name", "wrong", "rows"), [("wine", 28, 178), ("iris", 7, 150)])
@pytest.mark.parametrize("ties", ["lowest", "majority"])
def test_original_column_of_table_1(name, wrong, rows, ties):
    table = pd.read_csv(DATA / f"{name}.csv")
    assert one_nn_error(table.iloc[:, :-1], table.iloc[:, -1], ties=ties) == wrong / rows
