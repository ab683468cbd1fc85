"""What cannot be refreshed says why; whatever fails on the way changes nothing; history, files and older databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from reading import Con, everything, rows, storage
from refreshed import SIX, add, counts, make

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, SqlanonError
from sqlanon.privacy import proof
from sqlanon.releases import newcomers, refresh


@pytest.fixture(autouse=True)
def people(con: Con) -> None:
    con.execute("create table people (age integer, zip varchar, illness varchar)")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("alter table people drop column zip", "Column 'zip' is not in 'people'"),
        ("alter table people alter age type varchar", "was INTEGER when 'pub' was made and is VARCHAR now"),
        ("drop table people", "Table 'people' does not exist"),
        ("delete from people", "Nobody in 'pub' is still in its source"),
        ("update {storage} set illness = 'changed'", "are not those that were released"),
        ("drop view pub; create table pub as select 1", "is not the release"),
        ("delete from anon.release_members", "made by a version of sqlanon that could not refresh"),
    ],
)
def test_what_cannot_be_refreshed_says_why_and_stays_as_it_is(con: Con, change: str, message: str) -> None:
    add(con, SIX)
    make(con)
    con.execute(change.format(storage=storage(con)))
    before = everything(con)
    with pytest.raises(SqlanonError, match=message):
        sqlanon.refresh(con, "pub")
    assert everything(con) == before


def test_a_wider_type_of_the_same_kind_is_no_change(con: Con) -> None:
    add(con, SIX)
    make(con)
    con.execute("alter table people alter age type bigint")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


def test_a_newcomer_missing_in_the_hierarchy_is_an_error_that_names_the_way_to_see_it(con: Con) -> None:
    add(con, SIX)
    sqlanon.create_hierarchy(con, "zip", rows=[("a", "*"), ("b", "*")])
    make(con)
    add(con, [(30, "q", "flu")] * 3)
    with pytest.raises(DataError, match=r"not in hierarchy 'zip'.*anon.hierarchy_gaps"):
        sqlanon.refresh(con, "pub")
    sqlanon.create_hierarchy(con, "zip", rows=[("a", "*"), ("b", "*"), ("q", "*")], replace=True)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)


def test_tables_and_methods_without_classes_are_refused(con: Con) -> None:
    add(con, SIX)
    make(con, name="snapshot", kind="table")
    with pytest.raises(CatalogError, match="'snapshot' is a table, which is a snapshot"):
        sqlanon.refresh(con, "snapshot")
    make(con, name="own", method="nonhomogeneous", sensitive=[])
    with pytest.raises(CatalogError, match="its groups, of nonhomogeneous, cannot be added to"):
        sqlanon.refresh(con, "own")
    make(con, name="apart", method="anatomy", l=2)
    with pytest.raises(CatalogError, match="of anatomy"):
        sqlanon.refresh(con, "apart")
    make(con, name="map", population="people", sensitive=[])
    with pytest.raises(CatalogError, match="it is a k-map, whose classes may be single rows"):
        sqlanon.refresh(con, "map")
    make(con, name="counted", entity="illness", sensitive=[], k=2)
    with pytest.raises(CatalogError, match="it counts people who have several rows"):
        sqlanon.refresh(con, "counted")
    with pytest.raises(CatalogError, match=r"Unknown release 'own_'.*Did you mean 'own'"):
        sqlanon.refresh(con, "own_")
    with pytest.raises(CatalogError, match="Only a stored view"):
        make(con, name=None, kind="table").refresh()


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("in the middle")


@pytest.mark.parametrize("stage", ["plan", "prove", "measure", "add_version"])
def test_a_failure_at_any_stage_changes_nothing(con: Con, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    add(con, SIX)
    make(con)
    add(con, [(30, "a", "flu")] * 3)
    before = everything(con)
    monkeypatch.setattr(newcomers if stage == "plan" else refresh, stage, fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        sqlanon.refresh(con, "pub")
    assert everything(con) == before
    monkeypatch.undo()
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)


def test_a_broken_promise_changes_nothing(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    add(con, SIX)
    make(con)
    add(con, [(30, "a", "flu")] * 3)
    before = everything(con)
    real, stored = proof.prove, storage(con).removeprefix("anon.")

    def breaks_when_stored(con: Con, relation: str, *rest: Any) -> Any:
        if stored in relation:
            raise BrokenPromiseError("A released class has only 1 rows, k is 3")
        return real(con, relation, *rest)

    monkeypatch.setattr(refresh, "prove", breaks_when_stored)
    with pytest.raises(BrokenPromiseError):
        sqlanon.refresh(con, "pub")
    assert everything(con) == before


def test_a_refresh_inside_the_callers_transaction_is_rolled_back_with_it(con: Con) -> None:
    add(con, SIX)
    make(con)
    before = everything(con)
    con.execute("begin")
    add(con, [(30, "a", "flu")] * 3)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)
    con.execute("rollback")
    assert everything(con) == before


def test_measures_and_history_are_those_of_the_new_version(con: Con) -> None:
    add(con, SIX)
    before = make(con).metrics()
    add(con, [(30, "a", "flu"), (90, "b", "gout"), (50, "c", "flu")])
    sqlanon.refresh(con, "pub")
    after = sqlanon.open_release(con, "pub")
    assert after.metrics()["gcp"] > before["gcp"]
    assert rows(con, "select anon.gcp('pub')") == [(pytest.approx(after.metrics()["gcp"]),)]
    assert after.verify() == after.proof
    assert after.proof.rows == 9
    history = "select version, rows, added, withdrawn, held_new, held_deleted from anon.release_versions order by 1"
    assert rows(con, history) == [(1, 6, 6, 0, 0, 0), (2, 9, 3, 0, 0, 0)]
    sqlanon.drop_release(con, "pub")
    assert rows(con, "from anon.release_versions") == rows(con, "from anon.release_members") == []


def test_measures_need_no_end_of_a_range_to_be_somebodys_value_still(con: Con) -> None:
    add(con, SIX)
    make(con)
    con.execute("delete from people where age in (20, 62)")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 2)
    assert 0 < sqlanon.open_release(con, "pub").metrics()["gcp"] < 1


def test_statement_and_command_line_refresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlanon.connect("hospital.duckdb") as con:
        con.execute("create table people (age integer, zip varchar, illness varchar)")
        add(con.duckdb, SIX)
        options = "quasi = [age, zip], k = 3, sensitive = [illness], method = mondrian"
        con.execute(f"create anonymized view pub as from people options ({options})")
        add(con.duckdb, [(30, "a", "flu"), (31, "a", "flu"), (32, "a", "flu"), (20, "a", "flu")][1:])
        answer = con.execute("refresh anonymized view pub").fetchall()
        assert answer == [("pub", 2, 9, 3, 0, 0, 0, *[0] * 6, None)]
        with pytest.raises(SqlanonError, match="Expected VIEW, found 'pub'"):
            con.execute("refresh anonymized pub")
        add(con.duckdb, [(70, "d", "flu")])
    assert main(["refresh", "pub", "--db", "hospital.duckdb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "release": "pub",
        "version": 2,
        "rows": 9,
        "added": 0,
        "withdrawn": 0,
        "held_new": 1,
        "held_deleted": 0,
        "returned": 0,
        "parted": 0,
        "relabeled": 0,
        "left_out": 0,
        "blank": 0,
        "outdated": 0,
        "note": None,
    }
    assert main(["refresh", "pub", "--db", "hospital.duckdb"]) == 0
    assert "version 2: 9 rows, 0 added, 0 withdrawn; held: 1 new, 0 deleted" in capsys.readouterr().out
    assert main(["refresh", "pub", "--db", "nowhere.duckdb"]) == 2


def test_an_older_database_is_upgraded_and_its_views_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as con:
        sqlanon.load(con)
        con.execute("create table people (age integer, zip varchar, illness varchar)")
        add(con, SIX)
        make(con)
        con.execute("drop table anon.release_versions; drop table anon.release_members")
        con.execute("update anon.version set schema_version = 2")
        for column in ("version", "refreshed_at", "held_new", "held_deleted"):
            con.execute(f"alter table anon.releases drop column {column}")
    with duckdb.connect(str(path)) as con:
        sqlanon.load(con)
        assert sqlanon.open_release(con, "pub").verify().k == 3
        with pytest.raises(CatalogError, match=r"could not refresh\. Use sqlanon\.anonymize"):
            sqlanon.refresh(con, "pub")
        make(con, replace=True)
        assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


def test_published_files_hold_no_digest(con: Con, tmp_path: Path) -> None:
    add(con, SIX)
    made = make(con)
    digests = [digest for (digest,) in rows(con, f"select sqlanon_digest from {storage(con)}_members")]
    ((salt,),) = rows(con, "select salt from anon.release_members")
    assert len(set(digests)) == 6
    for file in ("out.duckdb", "out.csv", "out.parquet"):
        made.publish(tmp_path / file)
        content = (tmp_path / file).read_bytes()
        assert b"sqlanon_digest" not in content
        assert salt.encode() not in content
        assert not any(digest in content or digest.hex().encode() in content.lower() for digest in digests)
