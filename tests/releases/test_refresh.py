"""Refreshing a view: who comes, who is held back, who is withdrawn."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from reading import Con, rows
from refreshed import OPTIONS, SIX, add, counts, make, remove

import sqlanon
from sqlanon.errors import PolicyError


@pytest.fixture(autouse=True)
def people(con: Con) -> None:
    con.execute("create table people (age integer, zip varchar, illness varchar)")


def test_fewer_than_k_newcomers_are_held_back_until_there_are_k(con: Con) -> None:
    add(con, SIX)
    make(con)
    before = Counter(rows(con, "from pub"))
    add(con, [(30, "a", "flu"), (31, "a", "gout")])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 2, 0)
    assert Counter(rows(con, "from pub")) == before
    add(con, [(32, "a", "flu")])
    version = sqlanon.open_release(con, "pub").refresh()
    assert counts(version) == (3, 0, 0, 0)
    assert (version.version, version.rows) == (2, 9)
    after = Counter(rows(con, "from pub"))
    assert not before - after
    assert Counter(age for age, _, _ in (after - before).elements()) == {"[30-32]": 3}


def test_a_source_that_did_not_change_leaves_version_and_rows(con: Con) -> None:
    add(con, SIX)
    make(con)
    before = rows(con, "from pub")
    assert counts(sqlanon.refresh(con, "PUB")) == (0, 0, 0, 0)
    assert rows(con, "from pub") == before
    assert rows(con, "select version, refreshed_at is not null from anon.releases") == [(1, True)]


def test_a_single_deleted_person_is_held_and_a_whole_class_withdrawn(con: Con) -> None:
    add(con, SIX)
    make(con)
    remove(con, SIX[0])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 1)
    assert rows(con, "select count(*) from pub") == [(6,)]
    for person in SIX[1:3]:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 3, 0, 0)
    assert {age for age, _, _ in rows(con, "from pub")} == {"[60-62]"}


def test_those_who_left_are_withdrawn_when_both_parts_of_a_class_hide_k(con: Con) -> None:
    people = [(20, "a", illness) for illness in ("flu", "gout") * 3]
    add(con, people)
    make(con, l=2)
    for person in [people[0], people[2], people[4], people[1]]:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 4)  # of six, four left: two stay
    con.execute("delete from people")
    add(con, people * 2)
    make(con, l=2, replace=True)
    for person in [people[0]] * 3:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 3)  # all three had flu
    for person in [people[1]] * 3:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 6, 0, 0)


def test_deleted_hold_never_withdraws(con: Con) -> None:
    add(con, SIX)
    make(con, deleted="hold")
    con.execute("delete from people where age < 50")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 3)
    with pytest.raises(PolicyError, match="deleted is 'burn'; it must be one of withdraw, hold"):
        make(con, name="other", deleted="burn")


def test_a_person_who_comes_back_is_no_longer_held(con: Con) -> None:
    add(con, SIX)
    make(con)
    remove(con, SIX[0])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 1)
    add(con, SIX[:1])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


def test_a_changed_row_is_a_person_who_left_and_one_who_came(con: Con) -> None:
    add(con, SIX)
    make(con)
    con.execute("update people set illness = 'cold' where age = 20")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 1, 1)


def test_newcomers_with_too_frequent_a_sensitive_value_are_held_back_no_others(con: Con) -> None:
    add(con, SIX)
    make(con, l=2)
    add(con, [(40, "c", "flu")] * 9 + [(41, "c", "gout")] * 2)
    assert counts(sqlanon.refresh(con, "pub")) == (4, 0, 7, 0)
    assert rows(con, "select anon.l_diversity('pub', ['age', 'zip'], 'illness') >= 2") == [(True,)]


def test_t_closeness_of_the_whole_holds_back_newcomers_rather_than_break(con: Con, caplog: Any) -> None:
    add(con, SIX)
    make(con, t=0.3, t_distance="equal")
    add(con, [(40, "c", "measles")] * 6)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 6, 0)
    assert "held" in caplog.text


def test_those_who_were_left_out_by_suppression_count_as_new_and_come_with_others(con: Con) -> None:
    add(con, [(age, "a", "flu") for age in (20, 21, 22)] * 10 + [(90, "q", "gout")])
    made = make(con, max_suppression=0.1)
    assert made.proof.left_out == 1
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 1, 0)
    add(con, [(91, "q", "gout"), (92, "q", "flu")])
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)
    assert rows(con, "select age, zip, count(*) from pub where zip <> 'a' group by all") == [("[90-92]", "q", 3)]


def test_null_is_a_value_like_any_other_even_if_all_newcomers_have_it(con: Con) -> None:
    add(con, SIX)
    make(con)
    add(con, [(None, None, None)] * 3)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)
    assert rows(con, "select count(*) from pub where age is null and zip is null and illness is null") == [(3,)]


def test_newcomers_print_on_the_grid_of_the_whole_source(con: Con) -> None:
    con.execute("insert into people select i, 'a', 'flu' from range(1000) t(i)")
    make(con, ranges="snapped")
    add(con, [(500, "z", "flu"), (501, "z", "gout"), (502, "z", "flu")])
    sqlanon.refresh(con, "pub")
    assert rows(con, "select distinct age from pub where zip = 'z'") == [("[500-549]",)]


def test_a_query_and_pseudonyms_are_refreshed_with_the_key_of_the_view(con: Con) -> None:
    add(con, SIX)
    key = os.urandom(32)
    source = "select age, zip, illness, 'p' || age as patient from people"
    options = OPTIONS | {"pseudonymize": ["patient"], "name": "pub", "kind": "view"}
    sqlanon.anonymize(con, source, key=key, **options)
    before = Counter(rows(con, "from pub"))
    add(con, [(30, "a", "flu"), (31, "a", "gout"), (32, "a", "flu")])
    with pytest.raises(PolicyError, match="needs a key"):
        sqlanon.refresh(con, "pub")
    with pytest.raises(PolicyError, match="key is not the one"):
        sqlanon.refresh(con, "pub", key=os.urandom(32))
    assert counts(sqlanon.refresh(con, "pub", key=key)) == (3, 0, 0, 0)
    assert not before - Counter(rows(con, "from pub"))
    sqlanon.set_key(con, key)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)
