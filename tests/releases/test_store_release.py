"""A release that was made before is stored as it is: the very rows, verified and measured where they are stored."""

from collections import Counter
from pathlib import Path

import duckdb
import pytest

import sqlanon
from sqlanon.errors import CatalogError, PolicyError, SqlanonError

Con = duckdb.DuckDBPyConnection
ASKED = {"quasi": ["age", "zip"], "k": 4, "sensitive": ["diagnosis"], "l": 1.5}

pytestmark = pytest.mark.usefixtures("patients")


def test_the_very_rows_are_stored_and_can_be_opened_published_and_dropped(con: Con, tmp_path: Path) -> None:
    made = sqlanon.anonymize(con, "patients", **ASKED)
    stored = sqlanon.store_release(con, made, "public")
    assert stored.table.endswith('"public"')
    assert Counter(stored.relation().fetchall()) == Counter(made.relation().fetchall())
    opened = sqlanon.open_release(con, "public")
    assert opened.proof == made.proof
    assert opened.metrics()["gcp"] == pytest.approx(made.metrics()["gcp"])
    opened.publish(tmp_path / "public.parquet")
    assert [one.release for one in sqlanon.status(con)] == ["public"]
    sqlanon.drop_release(con, "public")


def test_it_goes_into_another_database(con: Con, tmp_path: Path) -> None:
    con.execute(f"copy patients to '{tmp_path / 'patients.parquet'}'")
    made = sqlanon.anonymize(con, "patients", **ASKED)
    with sqlanon.connect(tmp_path / "other.duckdb") as other:
        stored = sqlanon.store_release(other, made, "public", source=str(tmp_path / "patients.parquet"))
        assert Counter(stored.relation().fetchall()) == Counter(made.relation().fetchall())
        with pytest.raises(CatalogError, match="already"):
            sqlanon.store_release(other, made, "public", source=str(tmp_path / "patients.parquet"))
        sqlanon.store_release(other, made, "public", source=str(tmp_path / "patients.parquet"), replace=True)


def test_people_who_were_counted_when_it_was_made_need_not_be_released(con: Con) -> None:
    con.execute("create table visits as select i % 20 as patient, 20 + i % 3 as age from range(60) as t(i)")
    made = sqlanon.anonymize(con, "visits", quasi=["age"], k=5, entity="patient")
    assert sqlanon.store_release(con, made, "public").proof.k == made.proof.k


def test_rows_that_do_not_fit_the_source_are_refused_and_nothing_is_stored(con: Con) -> None:
    made = sqlanon.anonymize(con, "patients", **ASKED)
    con.execute("delete from patients where age > 40")
    with pytest.raises(SqlanonError):
        sqlanon.store_release(con, made, "public")
    assert sqlanon.status(con) == []
    anatomy = sqlanon.anonymize(con, "patients", quasi=["age"], k=2, sensitive=["diagnosis"], l=2, method="anatomy")
    with pytest.raises(PolicyError, match="is stored when it is made"):
        sqlanon.store_release(con, anatomy, "public")
