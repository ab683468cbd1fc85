"""What is released after forming is the same in all worlds that formed the same: no later decision looks at values.

A world is an assignment of illnesses to people. Their rows carry a tag, so that the tests see who is where.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from attacker import classes
from reading import Con, rows, storage
from sweeping import IS_WHOLE

import sqlanon
from sqlanon.pipeline.digests import COHORT
from sqlanon.pipeline.models import asked_of
from sqlanon.pipeline.reading import Reading
from sqlanon.releases import refresh
from sqlanon.releases.ledger import IS_ERASED
from sqlanon.releases.parting import AWAY

OPTIONS: dict[str, Any] = {
    "quasi": ["age"], "k": 2, "l": 2, "sensitive": ["illness"], "identity": ["person"], "unsafe_keep": ["tag"],
    "method": "mondrian", "name": "pub", "kind": "view", "replace": True,
}  # fmt: skip
Ages = dict[int, int]


def set_source(con: Con, ages: Ages, world: tuple[str, ...]) -> None:
    con.execute("create or replace table people (person integer, tag integer, age integer, illness varchar)")
    for person, age in ages.items():
        con.execute("insert into people values ($1, $1, $2, $3)", [person, age, world[person]])


def formed(con: Con) -> tuple[Any, ...]:
    """Who was formed into one cohort in which version, and the cohort's values: what the theorem says is told."""
    found = rows(
        con,
        f"select sqlanon_added, list(tag order by tag), list(illness order by illness) from {storage(con)}_members "
        f"where {COHORT} > 0 group by {COHORT}, sqlanon_added",
    )
    return tuple(sorted((added, tuple(people), tuple(values)) for added, people, values in found))


def run_world(con: Con, history: list[Ages], world: tuple[str, ...], **options: Any) -> tuple[Any, Any]:
    """What was formed, and what was released in which version: who is in which class, and the values of each."""
    set_source(con, history[0], world)
    sqlanon.anonymize(con, "people", **OPTIONS | options)
    told, shown = [formed(con)], []
    for ages in history[1:]:
        set_source(con, ages, world)
        version = sqlanon.refresh(con, "pub")
        told.append(tuple(group for group in formed(con) if group[0] == version.version and version.added))
        labels = rows(con, "select tag, age from pub order by tag")
        values = sorted((sorted(people), sorted(counted.items())) for people, counted in classes(con))
        shown.append((labels, version.as_dict(), values))
    return tuple(told), shown


FOUR = {0: 20, 1: 24, 2: 50, 3: 54}
HISTORY = [
    FOUR,
    {0: 70, 2: 50, 3: 54, 4: 30, 5: 31},  # one moves, one leaves, two come
    {0: 70, 1: 25, 2: 90, 4: 30, 5: 31},  # one returns, one leaves, one moves
]


def test_in_all_worlds_that_formed_the_same_the_same_is_released_for_ever(con: Con) -> None:
    by_forming: dict[Any, list[Any]] = {}
    for world in itertools.product("ab", repeat=6):
        is_released = sorted(world[:4]) == list("aabb")
        is_drawn = (world[0], world[4]) == ("a", "b")  # with a and b exchanged, worlds run as before
        if is_released and (IS_WHOLE or is_drawn):
            told, shown = run_world(con, HISTORY, world, batch=2)
            by_forming.setdefault(told, []).append(shown)
    assert max(map(len, by_forming.values())) > 1
    for worlds in by_forming.values():
        assert all(shown == worlds[0] for shown in worlds)


EIGHT = dict.fromkeys(range(8), 30)
HALF = [EIGHT, dict.fromkeys(range(4, 8), 30), EIGHT]


def shapes(con: Con, worlds: list[str]) -> set[str]:
    """Who is in which class of which version, world by world."""
    return {str([labels for labels, *_ in run_world(con, HALF, tuple(world))[1]]) for world in worlds}


def test_a_cohort_is_parted_where_every_part_would_keep_the_models(con: Con) -> None:
    assert len(shapes(con, ["aabbccdd", "abcdabcd", "aabccbdd"])) == 1
    assert rows(con, "select parted, withdrawn, returned from anon.release_versions order by version") == [
        (0, 0, 0), (1, 4, 0), (0, 0, 4),
    ]  # fmt: skip


ONE_BREAKS = ["aaabbccd", "aabcabcd"]
"""The first has three of four a among those who leave, the second two; both release the same values."""


def test_no_cohort_is_parted_where_some_part_would_break_a_model(con: Con) -> None:
    assert len(shapes(con, ONE_BREAKS)) == 1
    assert rows(con, "select sum(parted) from anon.release_versions") == [(0,)]


def test_parting_by_the_real_values_would_tell_them(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_real_values(reading: Reading, members: str) -> str:
        broken = [
            f"select q1 from ({asked.classes_sql(members, [COHORT, AWAY], column)}) where {asked.broken('reached')}"
            for asked, column in asked_of(reading.policy, reading.sensitive)
        ]
        return (
            f"select {COHORT} from {members} where not {IS_ERASED} group by all having count(distinct {AWAY}) = 2 "
            f"and {COHORT} not in ({' union all '.join(broken)})"
        )

    monkeypatch.setattr(refresh, "parted_sql", by_real_values)
    assert len(shapes(con, ONE_BREAKS)) == 2
