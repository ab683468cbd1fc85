"""Who could have which value, counted in all worlds: the people that several groups share are dealt to them by chance,
and so a class tells no more about anybody than the values that it shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import forming
import numpy as np
import pytest
from worlds import (
    METHODS,
    SEES_NO_VALUE,
    People,
    Released,
    assert_nobody_is_told,
    dealt,
    drawn,
    exposed,
    formed,
    quiet,
    repaired,
    shown,
    worlds,
)

import sqlanon
from sqlanon.errors import PolicyError
from sqlanon.udfs.after import blind
from sqlanon.udfs.after.repair import spread
from sqlanon.udfs.problem import Groups, Problem
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import solve

TB, ULCER, HIV, ASTHMA, FLU = range(5)
SIX = (1, 1, 2, 2, 3, 3)
THEIRS = (TB, ULCER, HIV, HIV, ASTHMA, FLU)
RELEASED: Released = ((1, 2, (TB, ULCER, HIV)), (2, 3, (HIV, ASTHMA, FLU)))


def request(people: People, **asked: Any) -> Request:
    parameters = METHODS[people.method].check({})
    given = {"models": people.models, "sensitive": ("ill",), "method": people.method, "parameters": parameters}
    return Request(k=people.k, kinds=("numbers",), weights=(1.0,), **given, **asked)


@pytest.mark.parametrize("method", SEES_NO_VALUE)
def test_two_people_between_two_classes_are_not_given_away_by_the_value_that_both_classes_show(method: str) -> None:
    people = People(SIX, THEIRS, 3, {"l": 3.0}, method)
    found = dealt(people)
    assert exposed(found, 1 / 3) == (0, 0, pytest.approx(1 / 3))
    if RELEASED in found:
        assert found[RELEASED].chances[2:4, HIV].tolist() == pytest.approx([1 / 3, 1 / 3])


def test_dealing_only_so_that_every_model_holds_would_tell() -> None:
    # The control: worlds in which few dealings keep l are likelier behind a release if only those are drawn.
    people = People(SIX, THEIRS, 3, {"l": 3.0})
    weight, hiv = 0.0, 0.0
    for world in worlds(THEIRS):
        kept = [home for home in people.dealings if people.is_kept(world, home)]
        for home in kept:
            if tuple(sorted(people.classes(world, home))) == RELEASED:
                weight += 1 / len(kept)
                hiv += (world[2] == HIV) / len(kept)
    assert hiv / weight == pytest.approx(5 / 13)


def test_no_posterior_exceeds_the_promise_on_random_tables() -> None:
    assert assert_nobody_is_told(np.random.default_rng(0), 200) > 200


@pytest.mark.parametrize("k", [2, 3])
def test_nobody_is_a_row_of_a_class_with_more_than_a_chance_of_1_in_k(k: int) -> None:
    # All values differ, so that a value is a row.
    for places in [(1, 2, 2, 2, 3), (0, 0, 0, 1, 1)]:
        for method in SEES_NO_VALUE:
            people = People(places, tuple(range(len(places))), k, {}, method)
            assert exposed(dealt(people), 1 / k)[2] <= 1 / k + 1e-9


def test_every_dealing_is_equally_likely() -> None:
    # A tuple of two rows of one value and two of others is shared by three groups.
    shared = Groups.collect([0, 0, 0], [0, 1, 2], [2, 1, 1])
    rng = np.random.default_rng(1)
    seen: Counter[Any] = Counter()
    for _ in range(4000):
        found = spread(shared, np.array([0, 0, 0]), np.array([2, 1, 1]), rng)
        seen[tuple(zip(found.tuple.tolist(), found.group.tolist(), found.rows.tolist(), strict=True))] += 1
    # 4! orders of the rows: two of the first value together in the first group, and so on.
    rows = [0, 0, 1, 2]
    expected: Counter[Any] = Counter()
    for order in np.array(np.meshgrid(*[range(4)] * 4)).T.reshape(-1, 4):
        if len(set(order.tolist())) == 4:
            one = Groups.collect([rows[i] for i in order], [0, 0, 1, 2], [1] * 4)
            expected[tuple(zip(one.tuple.tolist(), one.group.tolist(), one.rows.tolist(), strict=True))] += 1
    assert set(seen) == set(expected)
    for dealing, ways in expected.items():
        assert seen[dealing] == pytest.approx(4000 * ways / 24, abs=6 * (4000 * ways / 24) ** 0.5)


@pytest.mark.parametrize("method", ["kmember", "mondrian", "bisecting"])
def test_the_whole_program_deals_as_the_worlds_do(method: str) -> None:
    people = People((1, 1, 2, 2, 3, 3), (0, 1, 2, 2, 3, 4), 3, {"distinct_l": 2}, method)
    world = (0, 2, 1, 3, 2, 4)
    expected = Counter(people.released(world, home, repaired) for home in people.dealings)
    problem = people.problem(world)
    seen = Counter(shown(problem, solve(request(people), problem, quiet, workers=1)) for _ in range(60))
    assert set(seen) == set(expected)
    assert len(expected) > 1


@pytest.mark.parametrize("method", ["bisecting", "sequential", "kmember", "auto"])
def test_somebody_between_two_classes_may_have_either_value(method: str) -> None:
    # Of the two in the middle each value goes now to the one class, now to the other, by every method.
    people = People(SIX, THEIRS, 3, {"l": 1.5}, method)
    problem = people.problem((TB, ULCER, HIV, FLU, ASTHMA, HIV))
    runs = 12 if method == "auto" else 60
    seen = {shown(problem, solve(request(people), problem, quiet, workers=1)) for _ in range(runs)}
    with_tb = {values for release in seen for lo, hi, values in release if TB in values and len(values) == 3}
    assert any(HIV in values for values in with_tb)
    assert any(FLU in values for values in with_tb)


def blindly(problem: Problem, groups: Groups) -> Groups:
    return blind.form(problem, groups, quiet)


FORMING = [((1, 2, 3, 4, 5, 6, 7, 8), (0, 0, 0, 0, 1, 1, 2, 2)), ((1, 1, 2, 4, 5, 5, 7, 8), (0, 0, 0, 0, 1, 1, 1, 2))]


@pytest.mark.parametrize(("places", "values"), FORMING)
def test_forming_freely_tells_and_forming_blindly_does_not(places: tuple[int, ...], values: tuple[int, ...]) -> None:
    people = People(places, values, 2, {"l": 2.0})
    above, certain, best = exposed(formed(people), 1 / 2)
    assert above > 0.02
    assert certain > 0
    assert best == 1
    assert exposed(formed(people, blindly), 1 / 2) == (0, 0, 0.5)


def test_blind_forming_joins_groups_that_the_method_made_without_values_and_nothing_else() -> None:
    people = People(tuple(range(16)), tuple(sorted([0, 1, 2, 3] * 4)), 2, {"l": 2.0})
    rng = np.random.default_rng(2)
    for _ in range(30):
        world = tuple(rng.permutation(people.known).tolist())
        problem, groups = people.groups(world, people.dealings[0])
        found = blind.form(problem, groups, quiet)
        home = dict(zip(found.tuple.tolist(), found.group.tolist(), strict=True))
        for group in np.unique(groups.group):
            assert len({home[t] for t in groups.tuple[groups.group == group].tolist()}) == 1
        for group in range(int(found.group.max()) + 1):
            held = Counter(problem.sensitive[found.tuple[found.group == group], 0].tolist())
            assert 2 * max(held.values()) <= sum(held.values())


@pytest.fixture
def patients(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute("create table patients as select i // 2 as age, 'v' || hash(i) % 5 as ill from range(60) as r(i)")
    return con


def classes(con: duckdb.DuckDBPyConnection, options: str) -> frozenset[Any]:
    query = f"from anon.anonymize('patients', quasi := ['age'], k := 3, sensitive := ['ill'], {options})"
    return frozenset(Counter(con.execute(query).fetchall()).items())


def test_groups_that_see_sensitive_values_are_drawn_by_a_secret_seed(patients: duckdb.DuckDBPyConnection) -> None:
    asked = "method := 'oka'"
    assert len({classes(patients, f"{asked}, l := 2") for _ in range(6)}) > 1
    assert len({classes(patients, f"{asked}, l := 2, seed := 4") for _ in range(3)}) == 1
    labels = {frozenset((age, 0) for (age, _), _ in classes(patients, asked)) for _ in range(3)}
    assert len(labels) == 1  # without models, the groups depend on quasi-identifiers alone


def test_the_secret_seed_is_stored_nowhere(patients: duckdb.DuckDBPyConnection) -> None:
    release = sqlanon.anonymize(patients, "patients", ["age"], 3, sensitive=["ill"], l=2, name="pub", method="oka")
    assert "seed" not in release.policy.options()
    ((stored,),) = patients.execute("select policy from anon.releases").fetchall()
    assert "seed" not in str(stored)


@pytest.mark.parametrize("method", ["kmember", "auto", "mondrian"])
def test_blind_forming_is_an_option_of_every_interface(patients: duckdb.DuckDBPyConnection, method: str) -> None:
    release = sqlanon.anonymize(
        patients, "patients", ["age"], 3, sensitive=["ill"], l=2, forming="blind", method=method, name="pub"
    )
    assert release.verify().k >= 3
    assert "The method does not see sensitive values" in str(release.policy)
    assert patients.execute("select min(anon.l_diversity('pub', ['age'], 'ill')) >= 2").fetchall() == [(True,)]
    assert classes(patients, f"l := 2, forming := 'blind', method := '{method}'")


def test_blind_forming_is_refused_where_groups_cannot_be_joined() -> None:
    asked: dict[str, Any] = {"quasi": ("age",), "sensitive": ("ill",), "forming": "blind"}
    with pytest.raises(PolicyError, match="does not apply to datafly"):
        sqlanon.Policy(**asked, l=2, method="datafly")
    with pytest.raises(PolicyError, match="does not apply to anatomy"):
        sqlanon.Policy(**asked, l=2, method="anatomy")
    with pytest.raises(PolicyError, match="measure that uses sensitive values"):
        sqlanon.Policy(**asked, method="sequential", parameters={"cost": "pmi"})
    with pytest.raises(PolicyError, match="one of free, blind"):
        sqlanon.Policy(**asked | {"forming": "half"})


def test_what_sampling_finds_is_what_counting_finds() -> None:
    people = People((1, 1, 2, 2, 3, 3), (0, 0, 1, 1, 2, 2), 3, {"l": 2.0})
    assert set(drawn(people, 6)) == set(formed(people))


def test_forming_tells_of_methods_what_the_docs_say() -> None:
    # A part of the tables that the figures of docs/privacy.md are counted on, by the methods that draw nothing.
    above, certain, _ = forming.told("incognito", 6, runs=1)
    assert (above, certain) == (0, 0)
    peeled = forming.told("peel", 6, runs=1)
    assert 0 < peeled[0] < 0.25
    assert forming.told("peel", 6, runs=2) == pytest.approx(peeled)
