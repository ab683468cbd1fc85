"""What fuzzing and crowds have found, each as the case that it was."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlanon
from sqlanon.engine.errors import translated
from sqlanon.errors import DataError, PolicyError, SqlanonError


@pytest.fixture
def people(connection: sqlanon.Connection) -> sqlanon.Connection:
    connection.execute("create table people as select i % 5 as age, i % 3 as ill from range(20) as r(i)")
    return connection


@pytest.mark.parametrize("name", ["Age ", '"', "x.y", " ", 'a "b"', "plain"])
def test_a_release_can_be_opened_and_dropped_by_the_name_that_the_catalog_shows(
    people: sqlanon.Connection, name: str
) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    sqlanon.anonymize(people, "people", ["age"], 4, name=quoted)
    ((stored,),) = people.execute("select name from anon.releases").fetchall()
    assert sqlanon.open_release(people, stored).verify().rows == 20
    sqlanon.drop_release(people, stored)
    assert people.execute("select count(*) from anon.releases").fetchall() == [(0,)]


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), float("inf")])
def test_a_number_beyond_all_floats_is_out_of_range(value: float) -> None:
    with pytest.raises(PolicyError, match="it must be a number"):
        sqlanon.Policy.of({"quasi": ["age"], "sensitive": ["ill"], "l": value})


@pytest.mark.parametrize("option", ["beta := 'x'", "mi_weight := 'x'", "mi_weight := 7"])
def test_measuring_by_something_else_than_a_number_is_an_error_in_words(
    people: sqlanon.Connection, option: str
) -> None:
    with pytest.raises(duckdb.Error, match=r"(beta|mi_weight) is .*; it must be a number"):
        people.duckdb.execute(f"from anon.measure('people', source := 'people', quasi := ['age'], {option})")


def test_a_published_file_names_each_model_once(people: sqlanon.Connection, tmp_path: Path) -> None:
    release = sqlanon.anonymize(people, "people", ["age"], 4, sensitive=["ill"], distinct_l=2, alpha=0.6)
    assert release.publish(tmp_path / "out.duckdb")["property"] == "k-anonymity, distinct_l = 2, alpha = 0.6"


def test_half_a_character_is_refused_wherever_it_stands(people: sqlanon.Connection, tmp_path: Path) -> None:
    half = "x\ud800"
    release = sqlanon.anonymize(people, "people", ["age"], 4)
    for use in (
        lambda: sqlanon.anonymize(people, half, ["age"], 4),
        lambda: sqlanon.anonymize(people, f"from people where '{half}' = ''", ["age"], 4),
        lambda: sqlanon.anonymize(people, "people", ["age"], 4, name=half),
        lambda: sqlanon.create_hierarchy(people, half, prefix=True),
        lambda: sqlanon.create_hierarchy(people, "h", rows=[[half, "*"], ["b", "*"]]),
        lambda: sqlanon.create_hierarchy(people, "h", csv=half),
        lambda: sqlanon.connect(tmp_path / half),
        lambda: release.publish(tmp_path / f"{half}.csv"),
    ):
        with pytest.raises(SqlanonError):
            use()
    assert list(tmp_path.iterdir()) == []


def test_what_duckdb_cannot_convert_is_an_error_in_words() -> None:
    ours = translated(duckdb.NotImplementedException('Not implemented Error: Unsupported type "UHUGEINT" for NumPy'))
    assert isinstance(ours, DataError)
    assert "UHUGEINT" in str(ours)
    assert "cast the column" in str(ours)
