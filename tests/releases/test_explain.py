"""Why a release lost what it lost: by column, by other requests, by its widest classes."""

import re
import shutil
from pathlib import Path

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError
from sqlanon.reporting.displays import summary


@pytest.fixture
def con(con: duckdb.DuckDBPyConnection) -> sqlanon.Connection:
    connection = sqlanon.Connection(con)
    connection.execute(
        "create table people as select 20 + (i * 7) % 60 as age, 1000 + (i * 13) % 90 as zip, "
        "'w' || (i * 31 % 97) as weight from range(400) r(i)"
    )
    connection.execute("create hierarchy zip using prefix")
    return connection


def test_one_line_says_what_was_lost_and_where(con: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(con, "people", ["age", "zip", "weight"], 5, effort="fast")
    said = summary(release)
    assert "information loss" in said
    assert re.search(r": weight \d+\.\d% \(text without hierarchy\), \w+ \d+\.\d%", said)


def test_an_explanation_names_every_column_and_every_way_out(con: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(con, "people", ["age", "zip", "weight"], 5, effort="fast", name="pub")
    found = release.explain()
    by_about: dict[str, list[sqlanon.Reason]] = {}
    for reason in found.reasons:
        by_about.setdefault(reason.about, []).append(reason)
    assert by_about["column"][0].column == "weight"
    assert {reason.column for reason in by_about["without"]} == {"age", "zip", "weight"}
    assert {reason.column for reason in by_about["coarser"]} == {"age", "zip"}
    assert [reason.said.split(":")[0] for reason in by_about["suppression"]] == [
        "max_suppression=0.01",
        "max_suppression=0.05",
    ]
    assert by_about["k"][0].said.startswith("k=4: ")
    assert by_about["class"][0].column in ("age", "zip", "weight")
    assert found.loss == pytest.approx(release.measured["gcp"])
    weightless = next(reason for reason in by_about["without"] if reason.column == "weight")
    assert weightless.gained is not None
    assert weightless.gained > 0
    assert not any(f"w{i}" in str(found).split() for i in range(97))
    assert "<td" in found._repr_html_()


@pytest.mark.parametrize("column", ["20 + i % 30", "i / 7", "(i * 0.00000000000000000001)::decimal(38, 20)"])
def test_a_coarser_column_never_saves_anything(column: str, con: sqlanon.Connection) -> None:
    """It was possible from the start. A quick search had found 0.2% instead of 5.0%, where 2.0% are proven."""
    con.execute(f"create table few as select {column} as x, if(i % 2 = 0, 'f', 'm') as sex from range(200) r(i)")
    reasons = sqlanon.anonymize(con, "few", ["x"], 5).explain().reasons
    assert all((reason.would_be or 0) >= reason.loss for reason in reasons if reason.about == "coarser")


def test_less_suppression_than_was_allowed_is_no_way_out(con: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(con, "people", ["age", "zip"], 5, max_suppression=0.02, method="mondrian")
    said = [reason.said.split(":")[0] for reason in release.explain().reasons if reason.about == "suppression"]
    assert said == ["max_suppression=0.05"]


def test_what_would_be_lost_without_a_column_is_what_a_release_without_it_loses(con: sqlanon.Connection) -> None:
    con.execute(
        "create table wards as select 20 + (hash(i) % 60)::int as age, (hash(i * 3) % 10000)::int as cost, "
        "'c' || (hash(i * 7) % 900) as code, ['m', 'f'][1 + (hash(i * 11) % 2)::int] as sex from range(1500) r(i)"
    )
    quasi = ["age", "cost", "code", "sex"]
    found = sqlanon.anonymize(con, "wards", quasi, 5, effort="fast").explain()
    assert found.loss > 0.25  # code is text without a hierarchy, and all of it is lost
    for reason in found.reasons:
        if reason.about == "without":
            others = [column for column in quasi if column != reason.column]
            real = sqlanon.anonymize(con, "wards", others, 5, effort="fast").metrics()["gcp"]
            assert reason.would_be == pytest.approx(real, rel=0.2), reason.said
        if reason.about in ("without", "suppression", "k"):
            assert reason.gained is not None
            assert reason.gained >= 0


def test_sql_and_a_stored_release_explain_the_same(con: sqlanon.Connection) -> None:
    sqlanon.anonymize(con, "people", ["age", "zip"], 5, effort="fast", name="pub")
    rows = con.execute("select about, \"column\", loss, would_be from anon.explain('pub')").fetchall()
    opened = sqlanon.open_release(con, "pub")
    assert list(opened.losses) == [row[1] for row in rows if row[0] == "column"]
    reasons = opened.explain().reasons
    assert [row[:2] for row in rows] == [(r.about, r.column) for r in reasons]
    assert [row[2] for row in rows] == pytest.approx([r.loss for r in reasons])


def test_a_source_that_changed_is_not_explained(con: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(con, "people", ["age", "zip"], 5, effort="fast", name="pub")
    con.execute("insert into people values (30, 1000, 'w1')")
    with pytest.raises(CatalogError, match="has changed since"):
        release.explain()
    con.execute("delete from people where weight = 'w1'")
    con.execute("insert into people select 30, 1000, 'w1' from range((select 400 - count(*) from people))")
    con.execute("update people set age = age + 500")  # as many rows, of other values
    with pytest.raises(CatalogError, match="has changed since"):
        release.explain()


def test_the_command_line_explains_in_flags(
    hospital_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(shutil.copy(hospital_file, tmp_path))
    assert main(["anonymize", "patients", "--db", database, "--quasi", "age,zip,sex", "--k", "4", "--name", "p"]) == 0
    capsys.readouterr()
    assert main(["explain", "p", "--db", database]) == 0
    out = capsys.readouterr().out
    assert "What each column lost" in out
    assert "--max-suppression 0.05: " in out
    assert "--k 3: " in out


@pytest.mark.parametrize(
    "options",
    [
        {"entity": "person"},
        {"sensitive": ["diagnosis"], "t": 0.9},
        {"population": "people"},
        {"max_suppression": 0.05},
        {"ranges": "snapped"},
        {"ranges": "columns", "weights": {"age": 3}},
    ],
    ids=str,
)
def test_every_kind_of_release_is_explained(con: sqlanon.Connection, options: dict[str, object]) -> None:
    con.execute(
        "create table visits as select *, i % 150 as person, case when i % 3 = 0 then 'a' else 'b' end as diagnosis "
        "from (select *, row_number() over () as i from people)"
    )
    source = "select * exclude (i) from visits" if "entity" in options or "sensitive" in options else "people"
    release = sqlanon.anonymize(con, source, ["age", "zip"], 5, effort="fast", **options)  # type: ignore[arg-type]
    found = release.explain()
    assert {reason.about for reason in found.reasons} >= {"column", "without", "k"}
    assert all(0 <= reason.loss <= 1 for reason in found.reasons)
    assert found.loss == pytest.approx(release.measured["gcp"])
