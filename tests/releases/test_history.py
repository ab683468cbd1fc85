"""What is remembered of releases that are gone and files that went out, and what is tried together with them."""

import hashlib
import logging

import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, CatalogError

PEOPLE = """
create or replace table people as
select range % 60 as age, (range * 7) % 50 as height, ['flu', 'cold', 'ulcer'][range % 3 + 1] as diagnosis
from range(240)
"""


@pytest.fixture
def con(con):
    con.execute(PEOPLE)
    return sqlanon.Connection(con)


def make(con, source="people", name="released", **options):
    policy = {"quasi": ["age", "height"], "k": 4, "sensitive": ["diagnosis"], "method": "mondrian", **options}
    return sqlanon.anonymize(con, source, name=name, **policy)


def rows(con, sql):
    return con.execute(sql).fetchall()


def test_a_dropped_release_leaves_its_labels_and_counts_and_nothing_else(con):
    made = make(con)
    sqlanon.drop_release(con, "released")
    assert rows(con, "select release, k, rows, was_published from anon.release_history") == [
        ("released", 4, 240, False)
    ]
    counted = rows(con, "select count(*), sum(rows), min(len(labels)) from anon.release_history_classes")
    assert counted == [(made.proof.classes, 240, 2)]


def test_a_publication_is_recorded_with_the_digest_of_its_file(con, tmp_path):
    make(con).publish(tmp_path / "out.csv")
    digest = hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest()
    assert rows(con, "select release, version, file, sha256, k, rows from anon.publications") == [
        ("released", 1, "out.csv", digest, 4, 240)
    ]


def test_replacing_what_was_published_is_tried_together_with_it(con, tmp_path, caplog):
    make(con).publish(tmp_path / "out.csv")
    with caplog.at_level(logging.WARNING, "sqlanon"):
        make(con, quasi=["height", "age"], weights={"height": 50}, replace=True)
    assert "as published before" in caplog.text
    assert rows(con, "select was_published from anon.release_history") == [(True,)]
    sqlanon.open_release(con, "released").publish(tmp_path / "again.csv")
    with pytest.raises(BrokenPromiseError, match="as published before"):
        make(con, strict=True, replace=True)


def test_run_replaces_what_was_published_only_if_told(tmp_path, capsys):
    database, policy = str(tmp_path / "d.duckdb"), tmp_path / "p.toml"
    with sqlanon.connect(database) as con:
        con.execute(PEOPLE)
    policy.write_text('source = "people"\nname = "released"\nquasi = ["age"]\nk = 4\nmethod = "mondrian"\n')
    assert main(["run", str(policy), "--db", database]) == 0
    assert main(["run", str(policy), "--db", database]) == 0
    assert main(["publish", "released", "--db", database, "-o", str(tmp_path / "out.csv")]) == 0
    capsys.readouterr()
    assert main(["run", str(policy), "--db", database]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["run", str(policy), "--db", database, "--replace"]) == 0


@pytest.mark.parametrize(
    "source", ["seen", "seen_again", "select * from seen join people using (age, height, diagnosis)"]
)
def test_strict_sees_through_views(con, source):
    con.execute("create view seen as select distinct on (age, height) * from people")
    con.execute("create view seen_again as select * from seen where age >= 0")
    make(con, name="first")
    found = sqlanon.audit(con, "people")
    make(con, source, name="second", quasi=["height", "age"], weights={"height": 50})
    assert len(found.combinations) == 0
    assert ("first", "second") in [c.releases for c in sqlanon.audit(con, "people").combinations]


def test_strict_refuses_what_cannot_be_tried(con):
    make(con, name="first")
    con.execute("alter table people rename column height to tall")
    with pytest.raises(BrokenPromiseError, match="cannot be tried together with 'first'"):
        make(con, name="second", quasi=["age", "tall"], strict=True)


def test_formulas_are_defused_in_a_csv_file_unless_told_otherwise(con, tmp_path):
    con.execute("create table cells as select range % 3 as a, '=cmd|x' as s from range(30)")
    made = make(con, "cells", quasi=["a"], sensitive=["s"], k=2)
    made.publish(tmp_path / "safe.csv")
    assert ",'=cmd|x" in (tmp_path / "safe.csv").read_text()
    made.publish(tmp_path / "raw.csv", formulas=True)
    assert ",=cmd|x" in (tmp_path / "raw.csv").read_text()


def test_a_file_is_published_where_there_are_no_hard_links(con, tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr("os.link", refused)
    made = make(con)
    made.publish(tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 241
    with pytest.raises(CatalogError, match="already exists"):
        made.publish(tmp_path / "out.csv")


def test_a_release_says_how_many_rows_the_kept_columns_make_unique(con, capsys, tmp_path):
    con.execute("create table wards as select range % 5 as age, range // 2 as ward from range(100)")
    made = make(con, "wards", quasi=["age"], sensitive=[], keep=["ward"])
    assert made.unique_with_kept() == 1.0
    assert make(con, name="other").unique_with_kept() is None
    con.execute(f"copy wards to '{tmp_path / 'wards.csv'}'")
    assert main(["anonymize", str(tmp_path / "wards.csv"), "--quasi", "age", "--keep", "ward", "--k", "2"]) == 0
    said = capsys.readouterr()
    assert "whoever also knows the kept columns finds 100.0% of the rows unique" in said.out + said.err
