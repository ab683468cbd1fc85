"""Limits per column: a finest, a coarsest or a fixed level, kept by every released label."""

import re

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import DataError, PolicyError

PEOPLE = (
    "create or replace table people as select 20 + (i * {step}) % 60 as age, "
    "(10000 + (i * 13) % 90)::varchar as zip, date '2020-01-01' + (i * 5)::int as seen, "
    "case i % 3 when 0 then 'flu' else 'cold' end as diagnosis from range({rows}) r(i)"
)


@pytest.fixture
def con(con: duckdb.DuckDBPyConnection) -> sqlanon.Connection:
    connection = sqlanon.Connection(con)
    connection.execute(PEOPLE.format(step=7, rows=400))
    connection.execute("create hierarchy zip using prefix")
    return connection


def widths(release: sqlanon.Release) -> set[int]:
    labels = release.con.sql(f"select distinct age from {release.table}").fetchall()
    ends = [re.fullmatch(r"\[(\d+)-(\d+)\]", label) for (label,) in labels]
    return {int(end[2]) - int(end[1]) + 1 for end in ends if end is not None} | {0 for end in ends if end is None}


@pytest.mark.parametrize("method", ["auto", "mondrian", "kacpc", "incognito"])
def test_no_label_is_finer_or_coarser_than_its_limits(con: sqlanon.Connection, method: str) -> None:
    limits = {"age": {"finest": 5, "coarsest": 20}, "zip": {"finest": 1, "coarsest": 3}}
    release = sqlanon.anonymize(con, "people", ["age", "zip"], 5, method=method, limits=limits)
    assert widths(release) <= {5, 10, 20}
    labels = con.execute(f"select distinct zip from {release.table}").fetchall()
    assert {label.count("*") for (label,) in labels} <= {1, 2, 3}
    assert release.proof.k >= 5


def test_fixed_levels_are_the_same_transformation_for_next_years_table(con: sqlanon.Connection) -> None:
    limits = {"age": 20, "zip": 4, "seen": "year"}
    seen = {}
    for year, (step, rows) in enumerate([(7, 400), (11, 700)]):
        con.execute(PEOPLE.format(step=step, rows=rows))
        release = sqlanon.anonymize(
            con, "people", ["age", "zip", "seen"], 2, limits=limits, sensitive=["diagnosis"], max_suppression=0.2
        )
        seen[year] = set(con.execute(f"select distinct age, zip, seen from {release.table}").fetchall())
        assert widths(release) <= {20, 0}
    assert {("[20-39]", "1****", "2020"), ("[60-79]", "1****", "2021")} <= seen[0] & seen[1]


def test_a_node_with_one_value_is_not_released_as_the_value(con: sqlanon.Connection) -> None:
    con.execute("create table alone as select '12345' as zip from range(6) union all select '67890' from range(6)")
    release = sqlanon.anonymize(con, "alone", ["zip"], 5, limits={"zip": 2})
    assert set(con.execute(f"from {release.table}").fetchall()) == {("123**",), ("678**",)}


def test_the_limit_in_the_way_is_named_and_suppression_is_the_way_out(con: sqlanon.Connection) -> None:
    con.execute("insert into people values (140, '10001', date '2020-01-01', 'flu')")
    with pytest.raises(DataError, match=r"1 of 401 rows \(0\.2%\).*coarsest level of 'age'.*max_suppression=0\.003"):
        sqlanon.anonymize(con, "people", ["age", "zip"], 5, limits={"age": 20, "zip": {"finest": 1}})
    release = sqlanon.anonymize(
        con, "people", ["age", "zip"], 5, limits={"age": 20, "zip": {"finest": 1}}, max_suppression=0.003
    )
    assert release.proof.left_out == 1
    assert widths(release) == {20}


def test_models_hold_within_limits(con: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(
        con, "people", ["age", "zip"], 4, limits={"age": {"finest": 5, "coarsest": 20}}, sensitive=["diagnosis"], l=1.2
    )
    assert release.proof.models["l"]["diagnosis"] >= 1.2
    assert widths(release) <= {5, 10, 20}


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"age": {"fine": 1}}, "it may have finest and coarsest"),
        ({"age": {"finest": 20, "coarsest": 5}}, "is coarser than its coarsest"),
        ({"age": {"finest": 3, "coarsest": 20}}, "must be a multiple"),
        ({"age": "wide"}, "must have a level"),
        ({"diagnosis": 1}, "text without a hierarchy"),
        ({"zap": 1}, "not in quasi"),
    ],
)
def test_limits_that_mean_nothing_are_refused(con: sqlanon.Connection, limits: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.anonymize(con, "people", ["age", "diagnosis"], 5, limits=limits)


def test_sql_statements_toml_and_flags_take_limits(con: sqlanon.Connection, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    wanted = {"age": {"finest": 10, "coarsest": 20}}
    con.execute(
        "create anonymized table t as select age from people "
        "options (k = 5, quasi = [age], limits = {age: {finest: 10, coarsest: 20}})"
    )
    policy = sqlanon.open_release(con, "t").policy
    assert policy.limits == wanted
    file = tmp_path / "policy.toml"
    file.write_text(policy.toml())
    assert sqlanon.Policy.from_toml(file) == policy
    labels = con.execute(
        "select distinct age from anon.anonymize('people', quasi := ['age'], k := 5, "
        "limits := map {'age': {'finest': 10, 'coarsest': 20}})"
    ).fetchall()
    assert all(label.startswith("[") for (label,) in labels)
    csv = tmp_path / "people.csv"
    con.execute(f"copy people to '{csv}'")
    out = tmp_path / "out.csv"
    assert main(["anonymize", str(csv), "--quasi", "age", "--limit", "age=10..20", "-o", str(out)]) == 0
    assert "[20-29]" in out.read_text()
    assert main(["anonymize", str(csv), "--quasi", "age", "--limit", "age=20..10"]) == 2
    assert "coarser than its coarsest" in capsys.readouterr().err


def test_what_not_even_the_whole_table_keeps_is_refused_in_words(con: sqlanon.Connection) -> None:
    with pytest.raises(DataError, match=r"l = 50 is .* diagnosis"):
        sqlanon.anonymize(con, "people", ["age"], 5, limits={"age": {"finest": 5}}, sensitive=["diagnosis"], l=50)


def test_datafly_suppresses_nothing_unasked_within_limits(con: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(con, "people", ["age"], 5, limits={"age": {"finest": 5}}, method="datafly")
    assert release.proof.rows == 400
    assert release.suppressed == 0


@pytest.mark.parametrize("method", ["incognito", "datafly"])
def test_full_domain_methods_choose_one_level_within_limits(con: sqlanon.Connection, method: str) -> None:
    towns = [("Bonn", "Rhine", "west", "*"), ("Koeln", "Rhine", "west", "*"), ("Essen", "Ruhr", "west", "*")]
    towns += [("Jena", "Saale", "east", "*"), ("Halle", "Saale", "east", "*")]
    sqlanon.create_hierarchy(con, "towns", rows=towns)
    con.execute("create table homes (town varchar)")
    counts = {"Bonn": 9, "Koeln": 9, "Essen": 9, "Jena": 3, "Halle": 3}
    con.executemany("insert into homes values (?)", [[town] for town, count in counts.items() for _ in range(count)])
    asked = {"hierarchies": {"town": "towns"}, "limits": {"town": {"coarsest": 2}}, "method": method}
    release = sqlanon.anonymize(con, "homes", ["town"], 5, **asked)
    # In the west alone, towns could stay as they are.
    assert release.df()["town"].value_counts().to_dict() == {"Rhine": 18, "Ruhr": 9, "Saale": 6}
    assert release.learned["levels"] == [1]
    finer = asked | {"limits": {"town": {"finest": 2}}}
    assert set(sqlanon.anonymize(con, "homes", ["town"], 5, **finer).df()["town"]) == {"west", "east"}


@pytest.mark.parametrize("limit", [7, {"coarsest": 2}])
def test_a_number_is_no_limit_of_dates(con: sqlanon.Connection, limit: object) -> None:
    """It was taken for a level of a hierarchy that nobody had made."""
    con.execute("create table days as select date '2024-01-01' + i::int as day from range(100) r(i)")
    with pytest.raises(PolicyError, match="'day' holds dates: give day, month, quarter, year, decade, as limits="):
        sqlanon.anonymize(con, "days", ["day"], 5, limits={"day": limit})
