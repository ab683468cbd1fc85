"""anon.risk: how easily the people of a table are found again, on any table as it is released."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import PolicyError

Con = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]

ROW = st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["x", "", None]))


def store(con: Con, table: str, rows: list[Row]) -> None:
    con.execute(f"create or replace table {table} (age integer, ward varchar)")
    if rows:
        con.executemany(f"insert into {table} values (?, ?)", rows)


def risk(con: Con, arguments: str = "'people', ['age', 'ward']") -> dict[str, Any]:
    return dict(con.execute(f"select measure, value from anon.risk({arguments})").fetchall())


def plain_risk(rows: list[Row], population: list[Row]) -> dict[str, Any]:
    """The obvious version, a row at a time."""
    sample, people = Counter(rows), Counter(population)
    own = [sample[row] for row in rows]
    others = [max(people[row], sample[row]) for row in rows]
    found = statistics.fmean(1 / F for F in others)
    return {
        "rows": len(rows),
        "classes": len(sample),
        "smallest_class": min(own),
        "median_class": statistics.median(sample.values()),
        "largest_class": max(own),
        "prosecutor_max": max(1 / f for f in own),
        "prosecutor_mean": statistics.fmean(1 / f for f in own),
        "journalist_max": max(1 / F for F in others),
        "journalist_mean": max(len(sample) / sum(max(people[row], sample[row]) for row in sample), found),
        "marketer": found,
        "unique_rows": sum(f == 1 for f in own) / len(rows),
        "rows_below_3": sum(f < 3 for f in own) / len(rows),
        "rows_below_5": sum(f < 5 for f in own) / len(rows),
        "rows_below_10": sum(f < 10 for f in own) / len(rows),
    }


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, min_size=1, max_size=30), others=st.lists(ROW, max_size=30))
def test_risk_agrees_with_plain_python_on_any_table(shared: Con, rows: list[Row], others: list[Row]) -> None:
    store(shared, "people", rows)
    store(shared, "everybody", rows + others)
    store(shared, "others", others)
    assert risk(shared) == pytest.approx(plain_risk(rows, rows))
    for population, content in (("everybody", rows + others), ("others", others)):
        found = risk(shared, f"'people', ['age', 'ward'], population := '{population}'")
        assert found == pytest.approx(plain_risk(rows, content))


def test_one_text_names_several_columns_as_it_does_in_anonymize(shared: Con, tmp_path: Path) -> None:
    store(shared, "people", [(1, "x"), (1, "x"), (2, "y")])
    assert dict(sqlanon.risk(shared, "people", "age,ward")) == dict(sqlanon.risk(shared, "people", ["age", "ward"]))
    assert sqlanon.check(shared, "people", "age,ward", 1).k == 1
    sqlanon.report(shared, "people", "age,ward", tmp_path / "report.html", 1 + 1)


def test_the_journalists_mean_can_be_above_the_marketers(shared: Con) -> None:
    store(shared, "people", [(1, "x")] * 9 + [(2, "x")])
    store(shared, "everybody", [(1, "x")] * 18 + [(2, "x")] * 2)
    found = risk(shared, "'people', ['age'], population := 'everybody'")
    assert found["journalist_mean"] == pytest.approx(max(2 / 20, (9 / 18 + 1 / 2) / 10))
    store(shared, "everybody", [(1, "x")] * 9 + [(2, "x")] * 6)
    found = risk(shared, "'people', ['age'], population := 'everybody'")
    assert found["journalist_mean"] == pytest.approx(2 / 15)
    assert found["marketer"] == pytest.approx((1 + 1 / 6) / 10)


def test_a_release_has_the_risk_that_its_k_allows(shared: Con) -> None:
    shared.execute("create or replace table t as select i % 17 as a, i % 5 as b, i % 3 as s from range(200) r(i)")
    sqlanon.anonymize(shared, "t", ["a", "b"], 7, sensitive=["s"], name="t_public", replace=True)
    before, after = risk(shared, "'t', ['a', 'b']"), risk(shared, "'t_public', ['a', 'b']")
    assert before["prosecutor_max"] > 1 / 7 >= after["prosecutor_max"]
    assert after["rows_below_5"] == 0
    assert after["rows"] == before["rows"] == 200


def test_an_empty_table_has_no_risk_to_speak_of(shared: Con) -> None:
    store(shared, "people", [])
    found = risk(shared)
    assert (found.pop("rows"), found.pop("classes")) == (0, 0)
    assert set(found.values()) == {None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'people', ['wart']", "wart"),
        ("'peeple', ['age']", "peeple"),
        ("'people', []", "quasi is empty"),
        ("'people', null", "quasi is empty"),
        ("'people', [], population := 'people'", "quasi is empty"),
        ("'people', ['age'], population := 'peeple'", "peeple"),
        ("'people', ['age'], population := 'sizes'", "age"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_that_names_it(shared: Con, arguments: str, message: str) -> None:
    store(shared, "people", [(1, "x")])
    shared.execute("create or replace table sizes (n integer)")
    with pytest.raises(duckdb.Error, match=message):
        shared.execute(f"from anon.risk({arguments})")


@pytest.mark.parametrize("name", ["a b; drop", "it's", "n", "q1", "size", "people", "t", "population"])
def test_columns_may_have_any_name(shared: Con, name: str) -> None:
    quoted = f'"{name}"'
    shared.execute(f"create or replace table hostile as select unnest([1, 1, 2]) as {quoted}")
    arguments = f"'hostile', [{sqlanon.sqltext.literal(name)}]"
    assert risk(shared, arguments)["unique_rows"] == pytest.approx(1 / 3)
    assert risk(shared, f"{arguments}, population := 'hostile'")["journalist_max"] == 1


def test_risk_works_in_a_reopened_file_without_sqlanon(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as con:
        sqlanon.load(con)
        store(con, "people", [(1, "x"), (1, "x"), (2, "y")])
    code = f"""
import sys
sys.modules["sqlanon"] = None
import duckdb
con = duckdb.connect({str(file)!r}, read_only=True)
print(con.execute("select value from anon.risk('people', ['age']) where measure = 'prosecutor_mean'").fetchall())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.stdout.strip()) == ("", f"[({2 / 3},)]")


def test_the_risk_of_a_stored_release_needs_no_names_of_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(file) as con:
        sqlanon.load(con)
        con.execute("create table people as select range % 7 as age, range % 3 as ward from range(60)")
        sqlanon.anonymize(con, "people", ["age"], 3, keep=["ward"], name="public", ranges="columns")
        assert sqlanon.risk(con, "public") == sqlanon.risk(con, "public", ["age_min", "age_max"])
        with pytest.raises(PolicyError, match="Only of a stored release are they known"):
            sqlanon.risk(con, "people")
    assert main(["risk", "public", "--db", str(file)]) == 0
    found = capsys.readouterr().out
    assert main(["risk", "public", "--db", str(file), "--quasi", "age_min,age_max"]) == 0
    assert found == capsys.readouterr().out
    assert main(["risk", "people", "--db", str(file)]) == 2
    assert "--quasi is empty" in capsys.readouterr().err
