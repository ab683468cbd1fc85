"""Long histories with true identities, and an attacker who intersects everything that was ever released."""

from __future__ import annotations

import random

import pytest
from attacker import Class, candidates, classes, observations
from reading import Con, rows
from refreshed import counts
from sweeping import IS_WHOLE

import sqlanon
from sqlanon.errors import CatalogError

K, L = 3, 2
ILLNESSES = ["flu", "gout", "cold", "asthma", "hernia", "ulcer"]
TYPES = ["decimal(12, 4)", "decimal(18, 2)", "decimal(10, 2)"]


def person_row(rng: random.Random, person: int) -> tuple[int, int, int, str]:
    return person, person, rng.randint(20, 80), rng.choice(ILLNESSES)


def start(con: Con, rng: random.Random, people: int, **options: object) -> None:
    con.execute("create table people (person integer, tag integer, age decimal(10, 2), illness varchar)")
    con.executemany("insert into people values (?, ?, ?, ?)", [person_row(rng, p) for p in range(people)])
    sqlanon.anonymize(
        con, "people", ["age"], K, l=L, sensitive=["illness"], identity=["person"], unsafe_keep=["tag"],
        name="pub", kind="view", method="mondrian", **options,
    )  # fmt: skip


def hides_everybody(versions: list[list[Class]]) -> bool:
    """Is everybody among k rows of which no value takes more than 1/l, in everything that can be put together?"""
    left = candidates(observations(versions)).values()
    return all(rows.total() >= K and max(rows.values()) * L <= rows.total() for rows in left)


def live(con: Con, rng: random.Random, step: int, away: dict[int, tuple[int, int, int, str]]) -> None:
    """People leave, return, move, age and come; some illnesses change, and a column's type."""
    there = [person for (person,) in rows(con, "select person from people")]
    for person in rng.sample(there, len(there) // 6):
        (away[person],) = rows(con, f"select person, tag, age::integer, illness from people where person = {person}")
        con.execute(f"delete from people where person = {person}")
    for person in rng.sample(sorted(away), len(away) // 3):
        con.execute("insert into people values (?, ?, ?, ?)", away.pop(person))
    for person in rng.sample(there, len(there) // 8):
        con.execute(f"update people set age = {rng.randint(20, 80)} where person = {person}")
        con.execute(f"update people set illness = '{rng.choice(ILLNESSES)}' where person = {person + 1}")
    con.execute("update people set age = age + 1")
    new = [person_row(rng, 1000 * step + number) for number in range(rng.randint(0, 14))]
    con.executemany("insert into people values (?, ?, ?, ?)", [*new, person_row(rng, 1000 * step + 99)])
    con.execute(f"alter table people alter age type {TYPES[step % 3]}")
    con.execute(f"alter table people alter person type {['bigint', 'hugeint', 'integer'][step % 3]}")


@pytest.mark.parametrize(
    ("seed", "options"),
    [(1, {}), (2, {"changed": "keep", "batch": 6}), (3, {"deleted": "hold"}), (4, {"failed": "blank", "batch": 4})],
)
def test_whoever_keeps_all_versions_finds_everybody_among_k_and_l(
    con: Con, seed: int, options: dict[str, object]
) -> None:
    rng, away = random.Random(seed), {}
    start(con, rng, 40, **options)
    versions = [classes(con)]
    for step in range(1, 6 if IS_WHOLE else 4):
        live(con, rng, step, away)
        sqlanon.refresh(con, "pub")
        versions.append([one for one in classes(con) if None not in one[1]])
        assert sqlanon.open_release(con, "pub").verify().k >= K
    assert len({str(version) for version in versions}) > 2
    assert hides_everybody(versions)


def test_the_attacker_of_these_tests_finds_people_in_releases_that_are_made_anew(con: Con) -> None:
    rng = random.Random(5)
    start(con, rng, 40)
    versions = [classes(con)]
    con.execute("update people set age = age + 1 + person % 7")
    con.execute("drop view pub; delete from anon.releases")
    sqlanon.anonymize(
        con, "people", ["age"], K, l=L, sensitive=["illness"], unsafe_keep=["tag"], name="pub", method="mondrian"
    )
    assert not hides_everybody([*versions, classes(con)])


def test_a_person_who_ages_moves_or_returns_keeps_one_row(con: Con) -> None:
    start(con, random.Random(6), 40)
    con.execute("update people set age = age + 1")
    version = sqlanon.refresh(con, "pub")
    assert counts(version) == (0, 0, 0, 0)
    assert version.relabeled > 0
    con.execute("create table gone as from people where person < 20; delete from people where person < 20")
    sqlanon.refresh(con, "pub")
    con.execute("insert into people from gone")
    version = sqlanon.refresh(con, "pub")
    assert (version.rows, version.added, version.held_new, version.held_deleted) == (40, 0, 0, 0)
    assert rows(con, "select count(distinct tag) from pub") == [(40,)]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("decimal(10, 2)", "decimal(12, 4)"),
        ("float", "double"),
        ("timestamp", "timestamptz"),
        ("timestamptz", "timestamp"),
        ("integer", "bigint"),
    ],
)
@pytest.mark.parametrize("identity", [[], ["person"]])
def test_a_mere_change_of_type_changes_nobody(con: Con, before: str, after: str, identity: list[str]) -> None:
    con.execute("set timezone = 'Europe/Zurich'")
    value = "timestamp '2024-06-01 12:00:00' + interval (i * 7) hour" if "time" in before else "i * 1.25"
    con.execute(f"create table people as select i as person, ({value})::{before} as x from range(12) t(i)")
    sqlanon.anonymize(con, "people", ["x"], K, name="pub", kind="view", identity=identity)
    shown = sorted(rows(con, "from pub"))
    con.execute(f"alter table people alter x type {after}")
    if "time" in before:
        con.execute("set timezone = 'America/New_York'")
    if after == "timestamptz":  # the same moments, whatever the zone of the session
        con.execute("update people set x = timezone('Europe/Zurich', x)" if before == "timestamptz" else "select 1")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)
    assert sorted(rows(con, "from pub")) == shown
    assert rows(con, "select version from anon.releases") == [(1,)]
    con.execute("reset timezone")


def test_values_that_do_not_fit_the_former_type_are_refused(con: Con) -> None:
    con.execute("create table people as select i as person, i::decimal(10, 2) as x from range(12) t(i)")
    sqlanon.anonymize(con, "people", ["x"], K, name="pub", kind="view", identity=["person"])
    con.execute("alter table people alter x type decimal(12, 4); update people set x = x + 0.0001 where person = 3")
    with pytest.raises(CatalogError, match=r"was DECIMAL\(10,2\) .* is DECIMAL\(12,4\) now, and 1 values do not fit"):
        sqlanon.refresh(con, "pub")
