"""Incognito against the paper's example and against a look at every generalization; the levels it goes through."""

from __future__ import annotations

from itertools import product
from unittest import mock

import duckdb
import literal_fulldomain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import generators, largest_l, random_problem, solvable, tree, with_k, with_l
from sweeping import examples

import sqlanon
from sqlanon.errors import DataError
from sqlanon.udfs.loops import fulldomain
from sqlanon.udfs.methods import incognito
from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem, Tree, gcp

PAIR = tree([[], []])
TRIO = tree([[], [], []])
ZIPS = tree([[[], []], [[]]])
"""5370* with 53703 and 53706, 5371* with 53715."""
PATIENTS = [(0, 0, 2), (2, 1, 2), (1, 0, 0), (0, 0, 0), (2, 1, 1), (1, 1, 1)]
"""Figure 1 of the paper: birthdate, sex, zipcode."""


def problem(rows: list[tuple[int, ...]], *attributes: Tree | Numbers) -> Problem:
    ranks, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    return Problem(ranks, counts, attributes, np.ones(len(attributes)))


def run(table: Problem, k: int, max_suppression: float = 0.0) -> Groups:
    return incognito.cluster(
        table, k, np.random.default_rng(0), lambda done, total, **facts: None, max_suppression=max_suppression
    )


def passing(table: Problem, k: int, limit: int = 0) -> set[tuple[int, ...]]:
    search = incognito.Search(table, k, limit, lambda done, total, **facts: None)
    return set(map(tuple, np.argwhere(search.all_attributes()).tolist()))


def with_sensitive(rng: np.random.Generator) -> tuple[Problem, int]:
    """A problem whose tuples have sensitive values, often several, with an l up to the largest legal one, and a k."""
    plain = random_problem(rng)
    columns = int(rng.integers(1, 3))
    of_row = np.repeat(np.arange(len(plain.counts)), plain.counts)
    rows = np.column_stack([plain.ranks[of_row], rng.integers(3, size=(len(of_row), columns))])
    tuples, counts = np.unique(rows, axis=0, return_counts=True)
    ranks, codes = np.ascontiguousarray(tuples[:, :-columns]), np.ascontiguousarray(tuples[:, -columns:])
    table = Problem(ranks, counts, plain.attributes, plain.weights, codes)
    l = 1 + rng.random() * (largest_l(table) - 1)  # noqa: E741
    return with_k(with_l(table, l), int(rng.integers(1, 5)))


sensitive = st.builds(with_sensitive, generators)
shares = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0])


def is_small(table: Problem) -> bool:
    return np.prod([len(fulldomain.levels(attribute)) for attribute in table.attributes]) <= 150


def test_the_papers_example_has_three_minimal_generalizations():
    found = passing(problem(PATIENTS, TRIO, PAIR, ZIPS), 2)
    minimal = {(1, 1, 0), (1, 0, 2), (0, 1, 2)}
    above = {node for node in product(range(2), range(2), range(3)) for low in minimal if np.all(np.array(node) >= low)}
    assert found == above


def test_only_what_may_pass_and_is_not_known_to_is_tested():
    # One for each attribute; of sex and zipcode S0 Z0, S1 Z0, S0 Z1 and S0 Z2, likewise four of birthdate and zipcode
    # and three of birthdate and sex; and the three minimal ones.
    assert run(problem(PATIENTS, TRIO, PAIR, ZIPS), 2).report["tested"] == 3 + 4 + 4 + 3 + 3


def test_global_recoding_of_paper_003_table_1():
    # Age, gender, zip code. Age could go up in place of gender at the same loss.
    people = [(1, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 2), (2, 1, 3), (2, 1, 3)]
    table = problem(people, TRIO, PAIR, tree([[[], [], [], []]]))
    groups = run(table, 2)
    assert groups.report["levels"] == [0, 1, 1]
    assert groups.box[0].tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert groups.box[1].tolist() == [[0, 1, 3], [1, 1, 3], [2, 1, 3]]
    assert gcp(table, groups) == pytest.approx(12 / 18)  # the modification rate, as modified cells lose all


@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, limit=st.integers(0, 12))
def test_what_passes_is_what_has_few_rows_in_small_classes(case, limit):
    table, k = case
    if is_small(table):
        slow = literal_fulldomain.Table(table, k)
        assert passing(table, k, limit) == {node for node in slow.nodes if len(slow.suppressed(node)) <= limit}


@settings(max_examples=examples(40), deadline=None)
@given(case=sensitive)
def test_what_passes_with_l_is_diverse_in_all_classes(case):
    table, k = case
    if is_small(table):
        slow = literal_fulldomain.Table(table, k)
        assert passing(table, k) == {node for node in slow.nodes if not slow.suppressed(node)}


@settings(max_examples=examples(120), deadline=None)
@given(case=st.one_of(solvable, sensitive), share=shares)
def test_it_finds_the_least_loss_of_all_generalizations(case, share):
    table, k = case
    if not is_small(table):
        return
    groups = run(table, k, share)
    slow = literal_fulldomain.Table(table, k)
    least, nodes = literal_fulldomain.incognito(slow, share)
    node = tuple(groups.report["levels"])
    assert node == nodes[0]
    assert gcp(table, groups) * table.weights.sum() == pytest.approx(least)
    suppressed = np.repeat(*((part[groups.group == SUPPRESSED]) for part in (groups.tuple, groups.rows)))
    assert suppressed.tolist() == sorted(slow.suppressed(node))


@settings(max_examples=examples(60), deadline=None)
@given(case=solvable, share=shares)
def test_boxes_are_what_the_level_prints(case, share):
    table, k = case
    if not is_small(table):
        return
    groups = run(table, k, share)
    slow = literal_fulldomain.Table(table, k)
    node = tuple(groups.report["levels"])
    for t, group in zip(groups.tuple.tolist(), groups.group.tolist(), strict=True):
        if group != SUPPRESSED:
            ends = zip(*(ends[group].tolist() for ends in groups.box), strict=True)
            assert [(lo, hi) for lo, hi, _ in slow.printed(node, t)] == list(ends)
            columns = zip(table.attributes, slow.printed(node, t), groups.levels, strict=True)
            for attribute, (lo, _, level), least in columns:
                if isinstance(attribute, Tree):
                    assert level == attribute.level[attribute.path[attribute.height - 1 - least, lo]]


def test_a_coarser_generalization_that_suppresses_less_may_be_better():
    # Two rare values are suppressed, 4 of 20 rows, or printed as the half of all values that they have in common.
    table = Problem(np.array([[0], [1], [2], [3]]), np.array([8, 8, 2, 2]), (tree([[], [], [[], []]]),), np.ones(1))
    assert passing(table, 3, 4) == {(0,), (1,), (2,)}
    groups = run(table, 3, 0.2)
    assert groups.report["levels"] == [1]
    assert gcp(table, groups) == pytest.approx(0.1)


def test_fewer_suppressed_rows_than_k_are_not_legal():
    table = Problem(np.array([[0], [1], [2]]), np.array([8, 8, 2]), (TRIO,), np.ones(1))
    assert run(table, 3, 0.5).report["levels"] == [1]
    assert run(table, 2, 0.5).report["levels"] == [0]


def test_what_is_not_diverse_with_an_attribute_less_may_be_legal_with_it():
    # The lone 0s of one class and the lone 1s of another are suppressed together. Without the second attribute, each of
    # them spoils a class that was diverse, and nothing is left.
    ranks = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    codes = np.array([[0], [1], [0], [1], [0], [1]])
    table = with_l(Problem(ranks, np.array([2, 2, 3, 3, 10, 10]), (PAIR, PAIR), np.ones(2), codes), 2.0)
    groups = run(table, 2, 0.2)
    assert groups.report["levels"] == [0, 0]
    assert gcp(table, groups) == pytest.approx(0.2)


def test_a_release_prints_a_whole_bin_even_where_a_class_has_one_value():
    with duckdb.connect() as con:
        sqlanon.load(con)
        con.execute("create table people as select i as age, 'a' as town from range(9) t(i)")
        con.execute("insert into people values (1, 'b'), (1, 'b')")
        release = sqlanon.anonymize(con, "people", quasi=["age", "town"], k=2, method="incognito")
        assert release.learned["levels"] == [1, 0]
        ages = dict(release.df().groupby("town")["age"].agg(lambda printed: sorted(set(printed))))
        assert ages == {"a": ["[0-1]", "[2-3]", "[4-5]", "[6-8]"], "b": ["[0-1]"]}


CITIES = [("Lagos", "Africa", "*"), ("Paris", "Europe", "*"), ("Rome", "Europe", "*"), ("Oslo", "Europe", "*")]
"""Africa is a chain: one leaf under a node."""
RAGGED = [("Lagos", "Nigeria", "Africa", "*"), ("Paris", "France", "Europe", "*"), ("Nice", "France", "Europe", "*")]
RAGGED += [("Rome", "Italy", "Europe", "*"), ("at sea", "*")]
RENAMED = [("m", "men", "*"), ("w", "women", "*")]
"""The middle level says the same as the leaves do."""


def printed(rows: list[tuple[str, ...]], counts: dict[str | None, int], method: str) -> tuple[dict[str, int], float]:
    """What a release by this method prints at k = 5 without suppression, and its GCP."""
    with duckdb.connect() as con:
        sqlanon.load(con)
        sqlanon.create_hierarchy(con, "place", rows=rows)
        con.execute("create table people (place varchar)")
        con.executemany(
            "insert into people values (?)", [[name] for name, count in counts.items() for _ in range(count)]
        )
        release = sqlanon.anonymize(con, "people", ["place"], 5, method=method, max_suppression=0.0)
        found = con.execute(f"select place, count(*) from {release.table} group by all").fetchall()
        return dict(found), release.metrics()["gcp"]


@pytest.mark.parametrize("method", ["incognito", "datafly"])
def test_a_node_with_one_leaf_is_released_like_the_others_of_its_level(method):
    found, loss = printed(CITIES, {"Lagos": 6, "Paris": 3, "Rome": 2, "Oslo": 2}, method)
    assert found == {"Africa": 6, "Europe": 7}
    assert loss == pytest.approx((6 * 1 / 4 + 7 * 3 / 4) / 13)  # as anybody measures what is released


def test_other_methods_release_the_leaf():
    assert printed(CITIES, {"Lagos": 6, "Paris": 3, "Rome": 2, "Oslo": 2}, "mondrian")[0] == {"Lagos": 6, "Europe": 7}


@pytest.mark.parametrize("method", ["incognito", "datafly"])
def test_a_leaf_near_the_top_and_null_stay_until_the_others_have_come_up(method):
    counts = {"Lagos": 6, "Paris": 3, "Nice": 2, "Rome": 5, "at sea": 5, None: 5}
    assert printed(RAGGED, counts, method)[0] == {"Nigeria": 6, "France": 5, "Italy": 5, "at sea": 5, None: 5}
    few = counts | {"Rome": 1}
    assert printed(RAGGED, few, method)[0] == {"Africa": 6, "Europe": 6, "at sea": 5, None: 5}
    none = counts | {"at sea": 1, None: 1}
    assert printed(RAGGED, none, method)[0] == {"*": 18}


@pytest.mark.parametrize("method", ["incognito", "datafly"])
def test_of_levels_that_say_the_same_the_finest_is_released(method):
    assert printed(RENAMED, {"m": 5, "w": 6}, method)[0] == {"m": 5, "w": 6}


def test_a_hopeless_number_of_generalizations_is_a_data_error():
    table = problem(PATIENTS, TRIO, PAIR, ZIPS)
    with (
        mock.patch.multiple(incognito, LARGEST=35),
        pytest.raises(DataError, match=r"3 quasi-identifiers have 12 generalizations, 36 with .* Choose fewer"),
    ):
        run(table, 2)


def test_numbers_are_cut_into_halves_of_halves_and_null_stays_apart():
    levels = fulldomain.levels(Numbers(np.array([*np.arange(9.0), np.nan])))
    assert [level.code.tolist() for level in levels] == [
        list(range(10)),
        [0, 0, 1, 1, 2, 2, 3, 3, 3, 4],
        [0, 0, 0, 0, 1, 1, 1, 1, 1, 2],
        [0] * 9 + [1],
        [0] * 10,
    ]


def test_there_are_few_levels_of_many_numbers():
    assert len(fulldomain.levels(Numbers(np.arange(100_000.0)))) == 8
    assert len(fulldomain.levels(Numbers(np.arange(17.0, 91.0)))) == 7


def test_classes_beyond_the_largest_key_are_told_apart():
    table = problem([(0, 0, 0), (0, 0, 1), (2, 2, 0), (2, 2, 1)], TRIO, TRIO, TRIO)
    with mock.patch.multiple(fulldomain, KEY=8):
        assert run(table, 2).report["levels"] == [0, 0, 1]
