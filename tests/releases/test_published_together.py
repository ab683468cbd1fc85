"""Publishing the second release of the same people is the moment that counts: it warns, or refuses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest
from reading import rows

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError

Con = duckdb.DuckDBPyConnection


def left_with(con: Con, files: list[Path], people: str) -> int:
    """The fewest rows that somebody who reads these files and knows everybody's age and zip is left with: a person's
    sensitive value must be in a class of each."""
    counted = []
    for age, code in rows(con, f"select distinct age, zip from {people}"):
        candidates = []
        for file in files:
            released = duckdb.sql(f"select * from read_csv('{file}', all_varchar = true)").fetchall()
            (label, *_), *_ = released
            known = age if label is not None and "by_age" in file.name else code
            candidates.append(Counter(illness for label, illness in released if is_in(known, label)))
        counted.append(sum((candidates[0] & candidates[1]).values()))
    return min(counted)


def is_in(value: int, label: str) -> bool:
    if not label.startswith("["):
        return int(label) == value
    first, last = label[1:-1].split("-")
    return int(first) <= value <= int(last)


def test_publishing_a_second_release_of_the_same_people_warns_and_strict_refuses(
    con: Con, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    square = ", ".join(f"({age}, {code}, 'illness {age // 2} {code // 2}')" for age in range(6) for code in range(6))
    con.execute(f"create table square as from (values {square}) as t(age, zip, illness)")
    options = {"k": 3, "sensitive": ["illness"], "method": "mondrian"}
    for column in ("age", "zip"):
        sqlanon.anonymize(con, "square", [column], name=f"by_{column}", **options)
    files = [tmp_path / f"by_{column}.csv" for column in ("age", "zip")]
    caplog.clear()
    sqlanon.open_release(con, "by_age").publish(files[0])
    assert "Together" not in caplog.text  # by_zip is not out
    by_zip = sqlanon.open_release(con, "by_zip")
    with pytest.raises(BrokenPromiseError, match="strict=True is set, so nothing was published"):
        by_zip.publish(files[1], strict=True)
    assert not files[1].exists()
    assert rows(con, "select release from anon.publications") == [("by_age",)]
    by_zip.publish(files[1])
    assert "Together with 'by_age' of the same people, 'by_zip' leaves 36 of 36 people" in caplog.text
    assert left_with(con, files, "square") < 3  # which is what an attacker finds in the two files
    caplog.clear()
    by_zip.publish(tmp_path / "again.csv")
    assert caplog.text.count("Together") == 1  # with by_age, and not with itself


def test_publishing_without_the_source_says_that_nothing_could_be_tried(
    con: Con, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    con.execute("create table square as select r % 6 as age, r // 6 as zip from range(36) t(r)")
    for column in ("age", "zip"):
        sqlanon.anonymize(con, "square", [column], 3, name=f"by_{column}")
    sqlanon.open_release(con, "by_age").publish(tmp_path / "by_age.csv")
    con.execute("drop table square")
    caplog.clear()
    with pytest.raises(BrokenPromiseError, match="cannot be tried together with what was published before"):
        sqlanon.open_release(con, "by_zip").publish(tmp_path / "by_zip.csv", strict=True)
    sqlanon.open_release(con, "by_zip").publish(tmp_path / "by_zip.csv")
    assert "cannot be tried together with what was published before" in caplog.text


def test_an_audit_names_what_it_does_not_take_for_the_same_people_and_a_view_with_both_names_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "people.duckdb"
    with sqlanon.connect(file) as con:
        illness = "'illness ' || r // 12 || r % 6 // 2"
        con.execute(
            f"create table people as select r // 6 as age, r % 6 as zip, {illness} as illness from range(36) t(r)"
        )
        con.execute("create table leute as select age as alter, zip as plz, illness as krankheit from people")
        options = {"k": 3, "method": "mondrian"}
        sqlanon.anonymize(con, "people", ["age"], sensitive=["illness"], name="by_age", **options)
        sqlanon.anonymize(con, "leute", ["plz"], sensitive=["krankheit"], name="nach_plz", **options)
        assert sqlanon.audit(con, "people").apart == ("nach_plz",)
        assert sqlanon.audit(con, "people").combinations == ()
    assert main(["audit", "people", "--db", str(file)]) == 0
    assert "not taken for releases of the same people: nach_plz." in capsys.readouterr().out
    with sqlanon.connect(file) as con:
        con.execute("create view both_names as select *, alter as age, plz as zip, krankheit as illness from leute")
        found = sqlanon.audit(con, "both_names")
        assert found.apart == ()
        assert found.combinations[0].is_broken
