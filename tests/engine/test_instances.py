"""What is remembered of databases that were closed."""

from __future__ import annotations

from pathlib import Path

import duckdb

import sqlanon
from sqlanon.engine.instances import _instances


def test_a_database_in_memory_is_forgotten_when_it_is_closed() -> None:
    before = set(_instances)
    with sqlanon.connect() as con:
        cursor = con.cursor()
        assert len(set(_instances) - before) == 1
        cursor.close()
        assert con.execute("select count(*) from anon.releases").fetchall() == [(0,)]
    assert set(_instances) <= before


def test_a_file_that_is_opened_again_is_remembered_once(tmp_path: Path) -> None:
    before = set(_instances)
    for _ in range(3):
        con = duckdb.connect(tmp_path / "people.duckdb")
        sqlanon.load(con)
        con.close()
    assert len(set(_instances) - before) == 1


def test_another_connection_to_the_file_goes_on_after_the_first_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    first = sqlanon.connect(file)
    with duckdb.connect(file) as second:
        first.close()
        second.execute("create table people as select range % 7 as age from range(60)")
        sqlanon.load(second)
        assert sqlanon.anonymize(second, "people", ["age"], 3).verify().k >= 3
