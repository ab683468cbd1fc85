"""Erasing somebody withdraws everybody whom they were released with, for good."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from reading import Con, everything, rows, storage

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import DataError, PolicyError, SqlanonError

MAKE = "create table people as select i as id, 'm' as site, 20 + i as age, 'flu' as illness from range(12) t(i)"


def make(con: Con, **options: object) -> None:
    con.execute(MAKE)
    given = {"identity": ["id"], "name": "pub", "kind": "view", "sensitive": ["illness"], "method": "mondrian"}
    sqlanon.anonymize(con, "people", ["age"], 3, **given | options)


def test_the_whole_cohort_goes_and_never_comes_back(con: Con) -> None:
    make(con)
    version = sqlanon.erase(con, "pub", [0])
    assert (version.version, version.rows, version.withdrawn, version.left_out) == (2, 9, 3, 3)
    assert sorted({age for age, _ in rows(con, "from pub")}) == ["[23-25]", "[26-28]", "[29-31]"]
    assert rows(con, f"select count(*) from {storage(con)}_members where illness is null") == [(3,)]
    con.execute("update people set age = 50 where id = 0")
    assert sqlanon.refresh(con, "pub").rows == 9
    con.execute("delete from people where id = 0")
    sqlanon.refresh(con, "pub")
    con.execute("insert into people values (0, 'm', 20, 'flu')")
    assert sqlanon.refresh(con, "pub").held_new == 0


def test_who_is_unknown_or_given_wrongly_is_refused_without_their_value(con: Con) -> None:
    make(con)
    before = everything(con)
    for people, problem in (
        ([0, 99], "1 of 2 people"),
        (["secret"], "1 of 1 people"),
        ([], "Nobody"),
        ([[1, 2]], "1 values: id"),
    ):
        with pytest.raises(SqlanonError, match=problem) as failure:
            sqlanon.erase(con, "pub", people)
        assert "secret" not in str(failure.value)
    assert everything(con) == before


def test_several_columns_and_views_without_an_identity(con: Con) -> None:
    make(con, identity=["site", "id"])
    assert sqlanon.erase(con, "pub", [{"id": 4, "site": "m"}]).withdrawn == 3
    assert sqlanon.erase(con, "pub", [("m", 8)]).withdrawn == 3
    with pytest.raises(DataError):
        sqlanon.erase(con, "pub", [("x", 8)])
    sqlanon.anonymize(con, "people", ["age"], 3, name="other", kind="view")
    with pytest.raises(PolicyError, match="'other' has no identity"):
        sqlanon.erase(con, "other", [1])


def test_statement_and_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlanon.connect("hospital.duckdb") as con:
        con.execute(MAKE)
        select = (
            "select id, age, illness from people options (quasi = [age], k = 3, sensitive = [illness], identity = [id])"
        )
        con.execute(f"create anonymized view pub as {select}")
        assert con.execute("erase 1 from anonymized view pub").fetchall()[0][:3] == ("pub", 2, 9)
        with pytest.raises(SqlanonError, match="Expected ANONYMIZED"):
            con.execute("erase 1 from view pub anonymized")
    assert main(["erase", "pub", "5", "--db", "hospital.duckdb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["withdrawn"] == 3
    monkeypatch.setattr("sys.stdin", io.StringIO("8\n"))
    assert main(["erase", "pub", "-", "--db", "hospital.duckdb"]) == 0
    assert "3 withdrawn" in capsys.readouterr().out
    assert main(["erase", "pub", "77", "--db", "hospital.duckdb"]) == 2
