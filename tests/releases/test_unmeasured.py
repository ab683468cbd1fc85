"""A measure that cannot be computed is NULL and never takes a release down."""

import logging
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.engine import functions
from sqlanon.releases import making
from sqlanon.reporting.displays import summary

pytestmark = pytest.mark.usefixtures("patients")
Con = duckdb.DuckDBPyConnection


def overflows(catalog: Any, *arguments: Any) -> Any:
    """A measure that goes wrong in DuckDB, which aborts the transaction."""
    return catalog.run("select (99999::decimal(5, 0))::decimal(4, 1)")


@pytest.mark.parametrize("name", [None, "public"])
def test_a_measure_that_overflows_leaves_a_release_without_measures(
    con: Con, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, name: str | None
) -> None:
    monkeypatch.setattr(making, "measure", overflows)
    with caplog.at_level(logging.WARNING, "sqlanon"):
        release = sqlanon.anonymize(con, "patients", ["age", "sex"], 4, sensitive=["diagnosis"], l=1.2, name=name)
    assert "A measure cannot be computed, by a fault of sqlanon's" in caplog.text
    assert "99999" not in caplog.text
    assert release.verify().k >= 4
    assert "gcp" not in release.metrics()
    assert "k = " in summary(release)
    assert str(release)
    release.publish(tmp_path / "public.csv")
    monkeypatch.undo()
    assert release.report(tmp_path / "report.html", curve=False).is_file()
    if name is not None:
        rows = con.sql("select measure, value, note from anon.utility('public')").fetchall()
        assert rows
        assert all(value is None and note for _, value, note in rows)


def test_a_fault_in_the_core_s_measures_makes_them_null(
    con: Con, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*arguments: Any) -> Any:
        raise ZeroDivisionError("age 47")

    monkeypatch.setattr(functions, "findings", fails)
    with caplog.at_level(logging.WARNING, "sqlanon"):
        release = sqlanon.anonymize(con, "patients", ["age", "sex"], 4, name="public")
    assert "ZeroDivisionError" in caplog.text
    assert "age 47" not in caplog.text
    assert "lower_bound" not in release.metrics()
    assert release.metrics()["gcp"] >= 0
    ((value, note),) = con.sql(
        "select value, note from anon.utility('public') where measure = 'lower_bound'"
    ).fetchall()
    assert value is None
    assert note
