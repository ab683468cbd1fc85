"""Refreshing a view: who comes, who is held back, who is withdrawn."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from reading import Con, rows
from refreshed import OPTIONS, SIX, add, counts, make, remove

import sqlanon
from sqlanon.errors import DataError, PolicyError
from sqlanon.releases.batches import least_size


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


def test_those_who_left_are_withdrawn_where_any_part_of_that_size_hides_k(con: Con) -> None:
    add(con, [(20, "a", illness) for illness in ("flu", "gout") * 3])
    make(con)
    for person in [(20, "a", "flu"), (20, "a", "gout")]:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 2)  # of six two left: fewer than k
    remove(con, (20, "a", "flu"))
    version = sqlanon.refresh(con, "pub")
    assert counts(version) == (0, 3, 0, 0)
    assert version.parted == 1


def test_who_is_withdrawn_does_not_depend_on_sensitive_values(con: Con) -> None:
    people = [(20, "a", illness) for illness in ("flu", "gout") * 6]
    for gone in (people[:6], [people[0]] * 6):  # half of each, or all who have flu
        con.execute("delete from people")
        add(con, people)
        make(con, l=2, replace=True)
        for person in gone:
            remove(con, person)
        assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 6)
    con.execute("delete from people")
    people = [(20, "a", illness) for illness in ("flu", "gout", "cold", "hernia") * 3]
    for gone in (people[:6], people[::2]):
        con.execute("delete from people")
        add(con, people)
        make(con, l=2, replace=True)
        for person in gone:
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


def test_newcomers_are_released_all_or_none_and_looked_at_once(con: Con) -> None:
    add(con, SIX)
    make(con, l=2, batch=5)
    add(con, [(40, "c", "flu")] * 9 + [(41, "c", "gout")] * 2)
    version = sqlanon.refresh(con, "pub")
    assert counts(version) == (0, 0, 0, 0)
    assert version.left_out == 11
    add(con, [(42, "c", "gout")] * 4)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 4, 0)  # the eleven are never looked at again
    add(con, [(42, "c", "flu")] * 4)
    assert counts(sqlanon.refresh(con, "pub")) == (8, 0, 0, 0)


def test_a_batch_that_fails_can_be_released_without_its_values(con: Con) -> None:
    add(con, SIX)
    make(con, l=2, batch=5, failed="blank")
    add(con, [(40, "c", "flu")] * 5)
    version = sqlanon.refresh(con, "pub")
    assert (version.added, version.blank) == (5, 5)
    assert rows(con, "select distinct age, illness from pub where zip = 'c'") == [("40", None)]
    assert sqlanon.open_release(con, "pub").verify().models["l"]["illness"] >= 2
    add(con, [(40, "c", None)])
    with pytest.raises(DataError, match="1 rows of 'people' have NULL there"):
        sqlanon.refresh(con, "pub")
    with pytest.raises(PolicyError, match="failed='blank' is for views"):
        make(con, name="snapshot", kind="table", failed="blank")


def test_newcomers_wait_for_a_batch_that_everybody_can_compute(con: Con) -> None:
    add(con, [(20 + i % 20, "a", ("flu", "gout", "cold", "hernia")[i % 4]) for i in range(80)])
    make(con, l=2)
    add(con, [(30, "b", illness) for illness in ("flu", "gout", "cold")])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 3, 0)
    assert least_size(3, 0.25, 0.5, 60) == 16
    add(con, [(30, "b", illness) for illness in ("flu", "gout", "cold", "hernia") * 4])
    assert counts(sqlanon.refresh(con, "pub")) == (19, 0, 0, 0)


def test_t_closeness_of_the_whole_leaves_newcomers_out_rather_than_break(con: Con, caplog: Any) -> None:
    add(con, SIX)
    make(con, t=0.3, t_distance="equal", batch=3)
    add(con, [(40, "c", "measles")] * 6)
    version = sqlanon.refresh(con, "pub")
    assert (version.added, version.left_out) == (0, 6)
    assert "not looked at again" in caplog.text


def test_those_who_were_left_out_by_suppression_are_not_looked_at_again(con: Con) -> None:
    add(con, [(age, "a", "flu") for age in (20, 21, 22)] * 10 + [(90, "q", "gout")])
    made = make(con, max_suppression=0.1)
    assert made.proof.left_out == 1
    version = sqlanon.refresh(con, "pub")
    assert counts(version) == (0, 0, 0, 0)
    assert version.left_out == 1
    add(con, [(91, "q", "gout"), (92, "q", "flu")])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 2, 0)


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


def test_without_an_identity_nobody_is_added_once_rows_have_left(con: Con) -> None:
    add(con, SIX)
    make(con)
    remove(con, SIX[0])
    add(con, [(30, "a", "flu")] * 3)
    version = sqlanon.refresh(con, "pub")
    assert counts(version) == (0, 0, 3, 1)
    assert "give the view an identity" in str(version.note)
    make(con, replace=True, changed="never")
    remove(con, SIX[1])
    add(con, [(40, "a", "flu")] * 3)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 1)
    con.execute("update people set age = age + 1 where zip = 'a'")
    version = sqlanon.refresh(con, "pub")
    assert version.added == 0
    assert "too many rows have come" in str(version.note)


def test_without_an_identity_a_pseudonym_is_not_released_twice(con: Con) -> None:
    add(con, SIX)
    source = "select age, zip, illness, zip || age % 10 as patient from people"
    key = os.urandom(32)
    sqlanon.anonymize(con, source, key=key, **OPTIONS | {"pseudonymize": ["patient"], "name": "pub", "kind": "view"})
    add(con, [(30, "a", "flu"), (31, "a", "gout"), (32, "a", "flu")])
    version = sqlanon.refresh(con, "pub", key=key)
    assert counts(version) == (0, 0, 3, 0)
    assert "would tie rows of two versions together" in str(version.note)


def test_an_identity_is_checked_and_never_released(con: Con) -> None:
    con.execute("create table known as select i as id, 20 + i as age, 'flu' as illness from range(9) t(i)")
    options = {"quasi": ["age"], "k": 3, "name": "pub", "kind": "view", "identity": ["id"]}
    made = sqlanon.anonymize(con, "known", **options)
    assert made.relation().columns == ["age"]
    for role in ("keep", "sensitive", "unsafe_keep"):
        with pytest.raises(PolicyError, match=f"'ID' is in identity, which is never released.*{role}"):
            sqlanon.anonymize(con, "known", ["age"], 3, identity=["ID"], **{role: ["id"]})
    with pytest.raises(PolicyError, match="updated is 'follow'; it must be one of keep"):
        sqlanon.anonymize(con, "known", ["age"], 3, updated="follow")
    con.execute("insert into known values (8, 50, 'flu')")
    with pytest.raises(DataError, match="1 of 10 rows of 'known' repeat one"):
        sqlanon.refresh(con, "pub")
    con.execute("update known set id = null where age = 50")
    with pytest.raises(DataError, match="identity is NULL in 1 rows"):
        sqlanon.refresh(con, "pub")


def test_sensitive_values_stay_those_of_the_first_time(con: Con) -> None:
    con.execute("create table known as select i as id, 20 + i as age, 'flu' as illness from range(9) t(i)")
    options = {"quasi": ["age"], "k": 3, "name": "pub", "kind": "view", "identity": ["id"], "sensitive": ["illness"]}
    sqlanon.anonymize(con, "known", **options)
    con.execute("update known set illness = 'gout' where id < 2")
    version = sqlanon.refresh(con, "pub")
    assert (version.version, version.outdated) == (1, 2)
    assert rows(con, "select distinct illness from pub") == [("flu",)]


def test_the_weight_of_a_row_is_the_share_of_its_cohort_that_is_there(con: Con) -> None:
    con.execute("create table known as select i as id, 20 + i as age from range(8) t(i)")
    options = {"quasi": ["age"], "k": 4, "name": "pub", "kind": "view", "identity": ["id"], "row_weight": True}
    sqlanon.anonymize(con, "known", method="mondrian", **options)
    assert rows(con, "select distinct row_weight from pub") == [(1.0,)]
    con.execute("delete from known where id = 0")
    sqlanon.refresh(con, "pub")
    assert sorted(rows(con, "select distinct age, row_weight from pub")) == [("[21-23]", 0.75), ("[24-27]", 1.0)]
    assert rows(con, "select sum(row_weight) from pub") == [(7.0,)]
    with pytest.raises(PolicyError, match="row_weight is for views"):
        sqlanon.anonymize(con, "known", ["age"], 4, row_weight=True)
