"""k-map: every released class covers k people of the population, in every way in, and what does not go with it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, DataError, PolicyError

Con = duckdb.DuckDBPyConnection
QUASI = ["age", "zip"]


@pytest.fixture(autouse=True)
def voters(con: Con) -> None:
    con.execute("create table voters as select 20 + i % 60 as age, '43' || (10 + i % 7) as zip from range(600) t(i)")
    con.execute("create table sick as select age, zip, 'flu' as diagnosis from voters where age in (25, 70) limit 6")


def people_inside(con: Con, table: str) -> list[int]:
    """The people whom each class covers, its labels read in the plainest way: ages as [a-b], zip as * or itself."""
    found = con.execute(f"select distinct age, zip from {table}").fetchall()
    voters = con.execute("select age, zip from voters").fetchall()
    counts = []
    for age, zip_code in found:
        low, high = (
            (0, 999) if age == "*" else map(int, age.strip("[]").split("-")) if "-" in age else (int(age), int(age))
        )
        counts.append(sum(low <= a <= high and zip_code in ("*", z) for a, z in voters))
    return counts


@pytest.mark.parametrize("method", ["auto", "kaca", "mondrian", "datafly", "kacpc", "incognito"])
def test_every_class_covers_k_people_though_it_holds_fewer_rows(con: Con, method: str) -> None:
    release = sqlanon.anonymize(con, "sick", QUASI, 8, population="voters", method=method, keep=["diagnosis"])
    assert release.proof.property == "k-map"
    assert release.proof.rows == 6
    assert release.proof.k == min(people_inside(con, release.table)) >= 8
    assert release.verify() == release.proof
    assert 0 <= release.metrics()["gcp"] <= 1
    if method not in ("datafly", "incognito"):
        k = sqlanon.anonymize(con, "sick", QUASI, 6, method=method, keep=["diagnosis"]).metrics()["gcp"]
        assert release.metrics()["gcp"] < k


def test_one_person_of_a_crowd_is_printed_as_they_are(con: Con) -> None:
    con.execute("create table one as select 25 as age, '4315' as zip")
    con.execute("create table crowd as from one, range(5) select age, zip union all select 90, '9999'")
    (row,) = con.execute(
        "from anon.anonymize('one', quasi := ['age', 'zip'], k := 5, population := 'crowd')"
    ).fetchall()
    assert row == ("25", "4315")
    with pytest.raises(duckdb.Error, match="k is 7, but the population has only 6 rows"):
        con.execute("from anon.anonymize('one', quasi := ['age', 'zip'], k := 7, population := 'crowd')")


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), k=st.integers(2, 6))
def test_the_check_macro_counts_as_plain_python_does(con: Con, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    for table, rows in (("voters", int(rng.integers(k, 40))), ("sick", int(rng.integers(1, 9)))):
        pairs = zip(rng.integers(20, 30, rows).tolist(), rng.integers(1, 4, rows).tolist(), strict=True)
        con.execute(f"create or replace table {table} (age integer, zip varchar)")
        con.executemany(f"insert into {table} values (?, ?)", [[age, str(code)] for age, code in pairs])
    con.execute("insert into sick select * from voters limit 3")
    query = f"from anon.anonymize('sick', quasi := ['age', 'zip'], k := {k}, population := 'voters', method := 'kaca')"
    con.execute(f"create or replace table public as {query}")
    con.execute("create or replace table all_people as from voters")
    missing = "select age, zip, count(*) n from {} group by all"
    con.execute(
        f"insert into voters select s.age, s.zip from ({missing.format('sick')}) s left join "
        f"({missing.format('all_people')}) v on v.age = s.age and v.zip = s.zip, "
        "range(greatest(s.n - coalesce(v.n, 0), 0))"
    )
    found = "select anon.k_map('public', ['age', 'zip'], 'all_people', source := 'sick')"
    assert con.execute(found).fetchall() == [(min(people_inside(con, "public")),)]
    assert min(people_inside(con, "public")) >= k


def test_a_tampered_release_no_longer_verifies(con: Con) -> None:
    release = sqlanon.anonymize(con, "sick", QUASI, 20, population="voters", name="public")
    con.execute("update public set age = '25', zip = '4315'")
    with pytest.raises(BrokenPromiseError, match=r"A released class covers only \d+ people of the population, k is 20"):
        release.verify()


def test_company_that_nobody_needs_does_not_widen_a_class(con: Con) -> None:
    con.execute("create table line as select i as age from range(100) t(i)")
    con.execute("create table one as select 50 as age")
    release = sqlanon.anonymize(con, "one", ["age"], 4, population="line", method="mondrian")
    ((label,),) = release.con.execute(f"from {release.table}").fetchall()
    low, high = map(int, label.strip("[]").split("-"))
    assert low <= 50 <= high
    assert high - low + 1 == release.proof.k == 4


def test_rows_that_the_population_lacks_count_as_people_and_are_told(
    con: Con, caplog: pytest.LogCaptureFixture
) -> None:
    con.execute("insert into sick values (999, '4310', 'flu')")
    with caplog.at_level(logging.WARNING, "sqlanon"):
        release = sqlanon.anonymize(con, "sick", QUASI, 3, population="from voters", keep=["diagnosis"])
    assert release.proof.outside_population == 1
    assert "1 of the source's rows are not in the population" in caplog.text


def test_null_is_a_value_of_the_population_too(con: Con) -> None:
    con.execute("create table nulls as select null::integer as age from range(3) union all select 1 from range(5)")
    con.execute("create table one as select null::integer as age union all select 1")
    release = sqlanon.anonymize(con, "one", ["age"], 3, population="nulls")
    assert sorted(release.con.execute(f"select age is null from {release.table}").fetchall()) == [(False,), (True,)]


def test_it_works_with_hierarchies_and_snapped_ranges_and_is_published_as_what_it_is(con: Con, tmp_path: Path) -> None:
    sqlanon.create_hierarchy(con, "zip", prefix=True)
    release = sqlanon.anonymize(con, "sick", QUASI, 30, population="voters", ranges="snapped", name="public")
    assert release.publish(tmp_path / "out.duckdb")["property"] == "k-map"
    options = "hierarchies := MAP {'zip': 'zip'}, ranges := 'snapped', source := 'sick'"
    ((k,),) = con.execute(f"select anon.k_map('public', ['age', 'zip'], 'voters', {options})").fetchall()
    assert k == release.proof.k >= 30


def test_the_option_works_in_statements_toml_and_on_the_command_line(tmp_path: Path) -> None:
    database = str(tmp_path / "people.duckdb")
    with sqlanon.connect(database) as con:
        con.execute("create table voters as select i % 10 as age from range(50) t(i)")
        con.execute("create table sick as select 3 as age")
        con.execute(
            "create anonymized table public as select age from sick options (k = 5, quasi = [age], population = voters)"
        )
    job = tmp_path / "policy.toml"
    job.write_text('source = "sick"\nname = "again"\nquasi = ["age"]\nk = 5\npopulation = "voters"\n')
    assert main(["run", str(job), "--db", database]) == 0
    asked = ["anonymize", "sick", "--db", database, "--quasi", "age", "--k", "5", "--population", "voters"]
    assert main([*asked, "--name", "third"]) == 0
    with sqlanon.connect(database) as con:
        proofs = con.execute("select proof from anon.releases").fetchall()
    assert [json.loads(proof)["property"] for (proof,) in proofs] == ["k-map"] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l": 2, "sensitive": ["diagnosis"]}, "population cannot be combined with a model of sensitive columns"),
        ({"max_suppression": 0.1}, "population cannot be combined with max_suppression"),
        ({"represent": "center"}, "population cannot be combined with represent='center'"),
        ({"method": "nonhomogeneous"}, "population cannot be combined with method='nonhomogeneous'"),
        ({"population": ""}, "population is ''; it must be a table's name or a query"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.Policy.of({"quasi": ["age"], "population": "voters", **options})


def test_a_population_of_another_shape_is_refused(con: Con) -> None:
    con.execute("create table texts as select age::varchar as age, zip from voters")
    with pytest.raises(PolicyError, match="'age' has type BIGINT in 'sick' and VARCHAR in the population 'texts'"):
        sqlanon.anonymize(con, "sick", QUASI, 3, population="texts")
    con.execute("create table ages as select age from voters")
    with pytest.raises(sqlanon.SqlanonError, match="Column 'zip' is not in 'ages'"):
        sqlanon.anonymize(con, "sick", QUASI, 3, population="ages")
    con.execute("create table empty as from sick limit 0")
    with pytest.raises(DataError, match="The source has no rows"):
        sqlanon.anonymize(con, "empty", QUASI, 3, population="voters")
