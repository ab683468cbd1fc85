"""Releases of one source together: what anon.audit finds, warns of and refuses; and what anon.status tells."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import duckdb
import pytest
from databases import Databases
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import rows

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, CatalogError, PolicyError
from sqlanon.releases import combinations

Con = duckdb.DuckDBPyConnection
ILLNESSES = ("flu", "gout", "cold")
SQUARE = [(age, code, f"illness {age // 2} {code // 2}") for age in range(6) for code in range(6)]
"""Of each age and in each zip there are six people, but only two with one illness."""


@pytest.fixture(autouse=True)
def people(con: Con) -> None:
    fill(con, SQUARE)


def fill(con: Con, people: list[tuple[int, int, str]]) -> None:
    con.execute("create table people (age integer, zip integer, illness varchar)")
    con.executemany("insert into people values (?, ?, ?)", people)


def make(con: Con, name: str | None, quasi: list[str], source: str = "people", **options: Any) -> sqlanon.Release:
    asked = {"k": 3, "sensitive": ["illness"], "method": "mondrian", "name": name, "kind": "table"} | options
    return sqlanon.anonymize(con, source, quasi, **asked)


def test_two_releases_by_different_columns_break_k_together_and_that_is_warned_about(
    con: Con, caplog: pytest.LogCaptureFixture
) -> None:
    make(con, "by_age", ["age"])
    assert "Together" not in caplog.text
    make(con, "by_zip", ["zip"])
    assert "Together with 'by_age' of the same people, 'by_zip' leaves 36 of 36 people with fewer than" in caplog.text
    assert rows(con, "from anon.audit('people')") == [
        (["by_age", "by_zip"], 3, 2, 36, 36, {"illness": 1}, "BROKEN", None)
    ]
    assert not sqlanon.audit(con, "people").holds


def test_releases_with_the_same_groups_are_as_safe_as_one(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    make(con, "one", ["age", "zip"])
    make(con, "two", ["age", "zip"], kind="view")
    make(con, "three", ["age", "zip"], sensitive=[])
    assert "Together" not in caplog.text
    audited = sqlanon.audit(con, "PEOPLE")
    assert audited.holds
    assert [found.releases for found in audited.combinations] == [
        ("one", "three"),
        ("one", "two"),
        ("three", "two"),
        ("one", "three", "two"),
    ]
    assert all(found.k_together is not None and found.k_together >= 3 for found in audited.combinations)


def test_strict_refuses_what_breaks_k_together_and_stores_nothing(con: Con) -> None:
    make(con, "by_age", ["age"], strict=True)
    before = rows(con, "select table_name from duckdb_tables() order by all")
    for name in ("by_zip", None):
        with pytest.raises(BrokenPromiseError, match="strict=True is set, so nothing was stored"):
            make(con, name, ["zip"], strict=True)
    assert rows(con, "select table_name from duckdb_tables() order by all") == before
    assert rows(con, "select name from anon.releases") == [("by_age",)]
    make(con, "by_age", ["age"], strict=True, replace=True)
    with pytest.raises(PolicyError, match="strict is 1; it must be true or false"):
        make(con, "by_zip", ["zip"], strict=1)
    with pytest.raises(duckdb.Error, match="strict is for stored releases"):
        con.execute("from anon.anonymize('people', quasi := ['age'], k := 3, strict := true)")


def test_queries_over_one_table_are_put_together_and_others_are_not(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    con.execute("create table strangers as select age, zip, illness || '!' as illness from people order by random()")
    con.execute("update strangers set age = cast(5 * random() as integer), zip = cast(5 * random() as integer)")
    make(con, "by_age", ["age"], source="select age, illness from people")
    make(con, "others", ["zip"], source="strangers")
    assert "Together" not in caplog.text
    make(con, "by_zip", ["zip"], source="select zip, illness from people")
    assert "Together with 'by_age'" in caplog.text
    assert [found.releases for found in sqlanon.audit(con, "people").combinations] == [("by_age", "by_zip")]
    make(con, "renamed", ["years"], source="select age as years, illness from people")
    untried = [found for found in sqlanon.audit(con, "people").combinations if found.verdict == "not tried"]
    assert len(untried) == 3
    assert all("Column 'years' is not in 'people'" in str(found.note) for found in untried)


def test_pseudonyms_of_one_key_link_the_rows_of_two_releases(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    source = "select *, age * 10 + zip as patient from people"
    sqlanon.set_key(con, bytes(32))
    make(con, "by_age", ["age"], source=source, pseudonymize=["patient"], sensitive=[])
    make(con, "by_zip", ["zip"], source=source, pseudonymize=["patient"], sensitive=[])
    assert "somebody with 1" in caplog.text
    assert sqlanon.audit(con, source).combinations[0].k_together == 1


def test_centres_are_not_tried_and_one_release_is_no_combination(con: Con) -> None:
    make(con, "one", ["age"])
    assert rows(con, "from anon.audit('people')") == []
    make(con, "centres", ["age"], represent="center")
    (found,) = sqlanon.audit(con, "people").combinations
    assert (found.verdict, found.k_together) == ("not tried", None)
    with pytest.raises(CatalogError, match="Table 'nobody' does not exist"):
        sqlanon.audit(con, "nobody")
    with pytest.raises(duckdb.Error, match="Table 'nobody' does not exist"):
        con.execute("from anon.audit('nobody')")


def test_people_are_sampled_where_comparing_all_would_take_long(
    con: Con, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make(con, "by_age", ["age"])
    monkeypatch.setattr(combinations, "WORK", 30)
    make(con, "by_zip", ["zip"])
    assert "leaves 5 of 5 people" in caplog.text


@settings(max_examples=8, deadline=None)
@given(
    people=st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(ILLNESSES)), min_size=6, max_size=24
    )
)
def test_what_is_left_is_what_going_through_all_rows_leaves(
    databases: Databases, people: list[tuple[int, int, str]]
) -> None:
    logging.disable(logging.WARNING)
    try:
        with databases.lent() as con:
            fill(con, people)
            for name, quasi in (("by_age", ["age"]), ("by_both", ["age", "zip"])):
                make(con, name, quasi, ranges="columns")
            (found,) = sqlanon.audit(con, "people").combinations
            by_age = rows(con, "select age_min, age_max, illness from by_age")
            by_both = rows(con, "select age_min, age_max, zip_min, zip_max, illness from by_both")
    finally:
        logging.disable(logging.NOTSET)
    left = []
    for age, zip_code, _ in people:
        here = [i for a, b, i in by_age if a <= age <= b]
        there = [i for a, b, c, d, i in by_both if a <= age <= b and c <= zip_code <= d]
        left.append(sum(min(here.count(illness), there.count(illness)) for illness in ILLNESSES))
    assert found.k_together == min(left)
    assert found.people_below_k == sum(rows_left < 3 for rows_left in left)
    assert found.verdict == ("BROKEN" if min(left) < 3 else "holds")


def test_all_versions_of_a_view_are_put_together(con: Con) -> None:
    con.execute(
        "create table known as select i as id, 20 + i as age, ['flu', 'gout'][1 + i % 2] as illness from range(12) t(i)"
    )
    options = {"sensitive": ["illness"], "identity": ["id"], "method": "mondrian"}
    sqlanon.anonymize(con, "known", ["age"], 4, name="seen", kind="view", **options)
    assert sqlanon.audit(con, "known").combinations == ()
    for _ in range(3):
        con.execute("update known set age = age + 2")  # whoever looks people up by what they are now is wrong
        sqlanon.refresh(con, "seen")
    (found,) = sqlanon.audit(con, "known").combinations
    assert (found.releases, found.k_together, found.people, found.people_below_k) == (("seen",), 6, 12, 0)
    assert (found.values_left, found.verdict, found.note) == ({"illness": 2}, "holds", "4 versions")
    people, values = (row for row in sqlanon.attack(con, "seen").rows if row.attack == "versions")
    assert (people.got, people.verdict, "4 versions" in people.tried) == (1 / 6, "holds", True)
    assert (values.column, values.got, values.verdict) == ("illness", 0, "holds")


def test_a_published_release_that_is_gone_is_combined_by_its_labels(con: Con, tmp_path: Path) -> None:
    make(con, "by_age", ["age"]).publish(tmp_path / "by_age.csv")
    make(con, "draft", ["zip"], sensitive=[])
    sqlanon.drop_release(con, "draft")
    sqlanon.drop_release(con, "by_age")
    with pytest.raises(BrokenPromiseError, match="Together with 'by_age \\(version 1, until"):
        make(con, "by_zip", ["zip"], strict=True)
    make(con, "by_zip", ["zip"])
    (found,) = sqlanon.audit(con, "people").combinations
    assert found.releases[1].startswith("by_age (version 1, until ")
    # everybody of a class is known, so that values are those of the table: as with the file
    (with_file,) = sqlanon.audit(con, "people", files={str(tmp_path / "by_age.csv"): ["age"]}).combinations[1:2]
    assert (found.k_together, found.people_below_k, found.verdict) == (2, 36, "BROKEN")
    assert (with_file.k_together, with_file.verdict) == (2, "BROKEN")
    with pytest.raises(BrokenPromiseError, match=r"by_zip \+ by_age \(version 1"):
        sqlanon.audit(con, "people", strict=True)


def test_what_labels_and_counts_cannot_decide_does_not_pass_strict(con: Con, tmp_path: Path) -> None:
    make(con, "by_age", ["age"]).publish(tmp_path / "by_age.csv")
    sqlanon.drop_release(con, "by_age")
    con.execute("insert into people values (0, 0, 'new')")  # who was in the class of age 0 is no longer known
    make(con, "by_zip", ["zip"])
    (found,) = sqlanon.audit(con, "people").combinations
    both = rows(con, "select count(*) from people group by age, zip")  # classes are single ages and single zips
    assert (found.verdict, found.k_together) == ("undecided", min(n for (n,) in both))
    assert (found.people, found.people_below_k, found.values_left) == (37, 37, {})
    assert "labels and counts were combined" in str(found.note)
    audited = sqlanon.audit(con, "people")
    assert (audited.holds, audited.is_tried) == (True, False)
    with pytest.raises(BrokenPromiseError, match="undecided"):
        sqlanon.audit(con, "people", strict=True)
    with pytest.raises(BrokenPromiseError, match="may leave 37 of 37 people"):
        make(con, "again", ["zip"], strict=True)


@pytest.mark.parametrize("copied", ["from people", "select illness, zip, age from people where age < 4"])
def test_a_copy_of_the_table_is_the_same_people(con: Con, caplog: pytest.LogCaptureFixture, copied: str) -> None:
    con.execute("alter table people add column born date")
    con.execute("update people set born = date '1950-01-01' + 97 * age + 7 * zip")
    make(con, "by_age", ["age"])
    con.execute(f"create table copied as {copied.replace('from', ', born from') if 'select' in copied else copied}")
    con.execute("create view seen as from copied")
    con.execute("drop table people")  # digests are all that is left of it
    with pytest.raises(BrokenPromiseError, match="Together with 'by_age' of the same people"):
        make(con, "by_zip", ["zip"], source="seen", strict=True)
    make(con, "by_zip", ["zip"], source="seen")
    assert "Together with 'by_age' of the same people" in caplog.text
    (found,) = sqlanon.audit(con, "copied").combinations
    assert (found.releases, found.verdict, found.k_together) == (("by_age", "by_zip"), "BROKEN", 2)
    intersection = next(row for row in sqlanon.attack(con, "by_zip").rows if row.attack == "intersection")
    assert intersection.verdict == "BROKEN"


def test_a_frame_of_the_same_people_is_recognized(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    make(con, "by_age", ["age"], source=con.sql("from people").df())
    make(con, "by_zip", ["zip"])
    assert "Together with 'by_age' of the same people" in caplog.text
    assert [found.verdict for found in sqlanon.audit(con, "people").combinations] == ["BROKEN"]


def test_an_earlier_version_of_a_view_is_put_together_with_other_releases(con: Con) -> None:
    con.execute("create table known as select row_number() over () as id, * from people")
    make(con, "by_age", ["age"], source="known", identity=["id"], kind="view")
    con.execute("update known set age = 1")
    sqlanon.refresh(con, "by_age")  # all look alike now; but whoever kept the first version knows six of each age
    assert rows(con, "select distinct age from by_age") == [("1",)]
    make(con, "by_zip", ["zip"], source="known", sensitive=["illness"])
    own, both = sqlanon.audit(con, "known").combinations
    assert (own.releases, own.verdict) == (("by_age",), "holds")
    assert (both.releases, both.k_together, both.verdict) == (("by_age", "by_zip"), 2, "BROKEN")
    with pytest.raises(BrokenPromiseError, match="Together with 'by_age' of the same people"):
        make(con, "strictly", ["zip"], source="known", strict=True)


def test_the_published_versions_of_a_view_that_is_gone_are_put_together_with_others(con: Con, tmp_path: Path) -> None:
    con.execute("create table known as select row_number() over () as id, * from people")
    make(con, "by_age", ["age"], source="known", identity=["id"], kind="view").publish(tmp_path / "first.csv")
    con.execute("update known set age = 1")
    sqlanon.refresh(con, "by_age")
    sqlanon.open_release(con, "by_age").publish(tmp_path / "second.csv")
    sqlanon.drop_release(con, "by_age")
    kept = "select version, count(*), sum(rows) from anon.release_history_classes group by all order by all"
    assert rows(con, kept) == [(1, 6, 36), (2, 1, 36)]
    con.execute("update known set age = (id - 1) // 6")  # as it was
    make(con, "by_zip", ["zip"], source="known")
    found = {one.releases[1].partition(",")[0]: one for one in sqlanon.audit(con, "known").combinations[:2]}
    assert found["by_age (version 1"].verdict == "BROKEN"
    assert found["by_age (version 1"].k_together == 2


def test_a_release_that_is_stored_elsewhere_is_put_together_with_ours(con: Con, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.csv"
    make(con, None, ["age"]).publish(theirs)
    make(con, "by_zip", ["zip"])
    assert sqlanon.audit(con, "people").combinations == ()
    (found,) = sqlanon.audit(con, "people", files={str(theirs): ["age"]}).combinations
    assert (found.releases, found.k, found.k_together, found.verdict) == (("by_zip", str(theirs)), 3, 2, "BROKEN")
    assert found.people_below_k == 36
    make(con, None, ["zip"]).publish(tmp_path / "same.csv")
    (same,) = sqlanon.audit(con, "people", files={str(tmp_path / "same.csv"): ["zip"]}).combinations
    assert same.verdict == "holds"


def test_a_person_who_was_moved_alone_from_one_class_to_another_is_found(con: Con) -> None:
    con.execute("create table known as select i as id, 20 + i as age, 'flu' as illness from range(12) t(i)")
    options = {"sensitive": ["illness"], "identity": ["id"], "method": "mondrian"}
    sqlanon.anonymize(con, "known", ["age"], 4, name="seen", kind="view", **options)
    con.execute("update known set age = age + 1")
    sqlanon.refresh(con, "seen")
    ((place,),) = rows(con, "select storage from anon.releases where name = 'seen'")
    con.execute(
        f"update {place}_members set sqlanon_cohort = 9 where sqlanon_digest = "
        f"(select min(sqlanon_digest) from {place}_members where sqlanon_cohort = 1)"
    )
    con.execute("insert into anon.release_cohorts values ('seen', 9, 1, 2, 1, false, true, false)")
    con.execute(
        f"insert into {place}_labels select 2, 9, age from {place}_labels "
        f"where sqlanon_version = 2 and sqlanon_cohort = 2"
    )
    (found,) = sqlanon.audit(con, "known").combinations
    assert (found.k_together, found.verdict) == (1, "BROKEN")
    attacked = sqlanon.attack(con, "seen")
    together = next(row for row in attacked.rows if row.attack == "versions" and row.column is None)
    assert (together.got, together.promise, together.verdict) == (1, 1 / 4, "BROKEN")
    assert not attacked.holds
    assert "stop refreshing it" in attacked.next


STATUS = "select release, kind, version, rows, new_rows, deleted_rows, is_stale, note from anon.status()"


def test_status_counts_who_came_and_who_left_since(con: Con) -> None:
    assert rows(con, "from anon.status()") == []
    make(con, "seen", ["age"], kind="view")
    make(con, "snapshot", ["age"])
    assert rows(con, STATUS) == [
        ("seen", "view", 1, 36, 0, 0, False, None),
        ("snapshot", "table", 1, 36, None, None, None, "A table is a snapshot"),
    ]
    con.execute("delete from people where age = 5 and zip = 5; insert into people values (1, 1, 'flu'), (9, 9, NULL)")
    assert rows(con, STATUS)[0] == ("seen", "view", 1, 36, 2, 1, True, None)
    version = sqlanon.refresh(con, "seen")
    assert (version.held_new, version.held_deleted) == (2, 1)
    assert rows(con, STATUS)[0][4:7] == (2, 1, True)
    (seen, _) = sqlanon.status(con)
    assert seen.refreshed_at is not None
    assert seen.refreshed_at >= seen.made_at


def test_status_says_what_is_gone_or_needs_a_key(con: Con) -> None:
    make(con, "seen", ["age"], kind="view")
    source = "select *, age * 10 + zip as patient from people"
    key = bytes(32)
    make(con, "hidden", ["age"], source, kind="view", pseudonymize=["patient"], key=key)
    assert [(s.release, s.is_stale) for s in sqlanon.status(con)] == [("hidden", None), ("seen", False)]
    assert "pseudonymize needs a key" in str(sqlanon.status(con)[0].note)
    assert sqlanon.status(con, key=key)[0].is_stale is False
    con.execute("drop table people")
    notes = [note for (note,) in rows(con, "select note from anon.status()")]
    assert "does not exist" in notes[0]
    assert notes[1] == "Table 'people' does not exist."


def test_status_and_audit_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlanon.connect("hospital.duckdb") as con:
        fill(con.duckdb, SQUARE)
        make(con.duckdb, "by_age", ["age"], kind="view")
    assert main(["status", "--db", "hospital.duckdb", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["release"], found["new_rows"], found["is_stale"]) == ("by_age", 0, False)
    assert main(["status", "by_age", "--db", "hospital.duckdb"]) == 0
    assert "by_age" in capsys.readouterr().out
    assert main(["status", "by_zip", "--db", "hospital.duckdb"]) == 2
    assert main(["audit", "people", "--db", "hospital.duckdb"]) == 0
    assert capsys.readouterr().out.strip().endswith("holds")
    assert main(["audit", "people", "--db", "hospital.duckdb", "--file", "nowhere.csv=age"]) == 2
    capsys.readouterr()
    command = ["anonymize", "people", "--db", "hospital.duckdb", "--quasi", "zip", "--k", "3", "--name", "by_zip"]
    command += ["--sensitive", "illness", "--method", "mondrian"]
    assert main([*command, "--strict"]) == 1
    assert "nothing was stored" in capsys.readouterr().err
    assert main(command) == 0
    assert main(["audit", "people", "--db", "hospital.duckdb", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["combinations"][0]["k_together"] == 2
    assert main(["audit", "people", "--db", "nowhere.duckdb"]) == 2
    assert main(["status", "--db", "nowhere.duckdb"]) == 2
