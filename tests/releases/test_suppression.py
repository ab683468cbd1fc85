"""max_suppression end to end: in every way in, within the limit, printed or left out, and counted everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import PolicyError
from sqlanon.reporting.displays import release_dict, summary
from sqlanon.reporting.facts import facts_of_release

Con = duckdb.DuckDBPyConnection
ROWS = [*((age, "flu") for age in (30, 30, 31, 31, 32)), (95, "gout")]
ONE = {"quasi": ["age"], "k": 5, "sensitive": ["diagnosis"]}
GONE = "max_suppression := 0.2"


@pytest.fixture(autouse=True)
def people(con: Con) -> None:
    con.execute("create table people (age integer, diagnosis varchar)")
    con.executemany("insert into people values (?, ?)", ROWS)


def labels(con: Con, table: str, options: str) -> dict[str, int]:
    query = f"from anon.anonymize('{table}', quasi := ['age'], k := 5, sensitive := ['diagnosis'], {options})"
    return dict(con.execute(f"select age, count(*) from ({query}) group by age").fetchall())


@pytest.mark.parametrize("method", ["auto", "kaca", "mondrian", "incognito", "datafly"])
def test_an_outlier_is_left_out_where_fewer_than_k_would_be_printed(con: Con, method: str) -> None:
    one = labels(con, "people", f"{GONE}, method := '{method}'")
    if method in ("incognito", "datafly"):  # full-domain methods suppress k rows or none
        assert sum(one.values()) == 6
    else:
        assert one == {"[30-32]": 5}
    assert sum(labels(con, "people", f"method := '{method}'").values()) == 6


def test_suppressed_rows_are_printed_where_they_are_k(con: Con) -> None:
    con.execute("create table far as select age from people, range(4) union all select 90 + 1000 * range from range(6)")
    release = sqlanon.anonymize(con, "from far", ["age"], 6, method="mondrian", max_suppression=0.25)
    printed = dict(release.con.execute(f"select age, count(*) from {release.table} group by 1").fetchall())
    assert release.proof.left_out == 0 or release.proof.left_out < 6
    assert printed.get("*", 0) + release.proof.left_out == release.suppressed > 0


def test_proof_measures_summary_and_about_count_what_is_left_out(con: Con, tmp_path: Path) -> None:
    release = sqlanon.anonymize(con, "people", **ONE, max_suppression=0.2, name="public")
    assert (release.proof.rows, release.proof.left_out, release.suppressed) == (5, 1, 1)
    assert release.verify() == release.proof == sqlanon.open_release(con, "public").proof
    found = release.metrics()
    assert found["suppressed"] == pytest.approx(1 / 6)
    assert found["gcp"] == 1  # of what is released, from 30 to 32: a share of 95 - 30 would tell the age of who is not
    assert found["dm"] == 5 * 5 + 1 * 6
    assert found["cm"] == pytest.approx(1 / 6)
    assert found["frequency_diversity"] == 1
    assert found["modification_rate"] == 1
    stored = dict(con.execute("select measure, value from anon.utility('public')").fetchall())
    assert {measure: stored[measure] for measure in found} == pytest.approx(found)
    read = "from anon.measure('public', source := 'people', quasi := ['age'], sensitive := ['diagnosis'])"
    measured = dict(con.execute(f"select measure, value from ({read})").fetchall())
    counted = ("dm", "cm", "suppressed")
    assert {m: measured[m] for m in counted} == pytest.approx({m: found[m] for m in counted})
    assert measured["gcp"] == pytest.approx((5 * 2 / 65 + 1) / 6)  # whoever has the source measures by all of it
    assert "1 row suppressed, 1 of them left out" in summary(release)
    about = release.publish(tmp_path / "out.duckdb")
    assert (about["rows"], about["suppressed"], about["left_out"]) == (5, 0, 1)


def test_a_measure_of_left_out_rows_is_that_of_rows_printed_as_stars(con: Con) -> None:
    con.execute(
        "create table lacking as from (values ('[30-32]', 'flu')) t(age, diagnosis), range(5) select age, diagnosis"
    )
    con.execute("create table starred as from lacking union all values ('*', 'gout')")
    measures = "source := 'people', quasi := ['age'], sensitive := ['diagnosis']"
    lacking, starred = (
        dict(con.execute(f"select measure, value from anon.measure('{table}', {measures})").fetchall())
        for table in ("lacking", "starred")
    )
    assert lacking == pytest.approx(starred)


def test_every_model_holds_with_suppression(con: Con) -> None:
    con.execute(
        "create table mixed as select age + 7 * i % 40 as age, 'd' || (i % 3) as diagnosis from people, range(7) t(i)"
    )
    con.execute("insert into mixed values (900, 'd0'), (901, 'd1')")
    for model in ({"l": 1.5}, {"t": 0.4}, {"distinct_l": 2}, {"delta": 2.0}, {"enhanced_beta": 1.0}):
        for method in ("mondrian", "auto", "incognito"):
            options = {**ONE, **model, "method": method, "max_suppression": 0.1}
            release = sqlanon.anonymize(con, "mixed", **options)
            assert release.suppressed <= 0.1 * 44
            if "t" in model or "delta" in model:
                assert release.proof.left_out == 0


def test_the_option_works_in_statements_toml_and_on_the_command_line(tmp_path: Path) -> None:
    database = str(tmp_path / "people.duckdb")
    with sqlanon.connect(database) as con:
        con.execute("create table people as from (values (30), (30), (31), (31), (32), (95)) t(age)")
        con.execute(
            "create anonymized table public as select age from people "
            "options (k = 5, quasi = [age], max_suppression = 0.2)"
        )
        assert con.execute("select count(*) from public").fetchall() == [(5,)]
    job = tmp_path / "policy.toml"
    job.write_text('source = "people"\nname = "again"\nquasi = ["age"]\nk = 5\nmax_suppression = 0.2\n')
    assert main(["run", str(job), "--db", database]) == 0
    asked = ["anonymize", "people", "--db", database, "--quasi", "age", "--k", "5", "--max-suppression", "0.2"]
    assert main([*asked, "--name", "third"]) == 0
    with sqlanon.connect(database) as con:
        proofs = con.execute("select proof from anon.releases").fetchall()
    assert [json.loads(proof)["left_out"] for (proof,) in proofs] == [1, 1, 1]


@pytest.mark.parametrize("value", [-0.1, 1.5, "much", True])
def test_a_share_is_between_0_and_1(value: object) -> None:
    with pytest.raises(PolicyError, match=r"max_suppression is .*; it must be a number from 0 to 1"):
        sqlanon.Policy(quasi=("age",), max_suppression=value)


@pytest.mark.parametrize("method", ["nonhomogeneous", "anatomy"])
def test_methods_that_print_every_row_refuse_it(method: str) -> None:
    options = {"sensitive": ["diagnosis"], "l": 2} if method == "anatomy" else {}
    with pytest.raises(PolicyError, match=f"max_suppression does not apply to {method}"):
        sqlanon.Policy(quasi=("age",), method=method, max_suppression=0.1, **options)


def test_methods_are_compared_with_suppression(con: Con) -> None:
    metrics = ["gcp", "suppressed"]
    compared = sqlanon.compare(con, "people", ["age"], 5, methods="mondrian", metrics=metrics, max_suppression=0.2)
    (cell,) = compared.cells
    assert cell.measures["suppressed"] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    "options",
    [{"method": "mondrian"}, {"method": "mondrian", "ranges": "snapped"}, {"method": "peel", "kind": "view"}],
)
def test_nothing_that_is_released_tells_the_age_of_somebody_who_was_left_out(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """Worlds that differ in that age alone look the same: rows, --json, the file's facts, the report, explanations."""
    worlds = []
    for age in (700, 9000):
        with sqlanon.connect() as world:
            world.execute(
                "create table known as select 20 + (7 * i) % 40 as age, 1000 + (37 * i) % 900 + 0.25 as income "
                "from range(120) as t(i)"
            )
            world.execute("insert into known values (?, 1500.25)", [age])
            asked = {"k": 5, "max_suppression": 0.02, "seed": 1, "name": "pub", **options}
            made = sqlanon.anonymize(world, "known", ["age", "income"], **asked)
            assert (made.proof.left_out, made.suppressed) == (1, 1)
            assert made.relation().columns == ["age", "income"]
            facts = facts_of_release(made, curve=True).as_dict()
            told = {fact: value for fact, value in facts.items() if fact not in ("made_at", "sample")}
            about = made.publish(tmp_path / f"{age}.parquet")
            seen = sorted(made.relation().fetchall())
            worlds.append((seen, release_dict(made), about, told, made.explain().as_dict()))
    assert worlds[0] == worlds[1]


@pytest.mark.parametrize("far", [95.5, 950.5, 950000.5])
def test_one_query_tells_nothing_of_the_values_of_rows_that_are_left_out(con: Con, far: float) -> None:
    for table, last in (("one", 95.5), ("other", far)):
        con.execute(
            f"create table {table} as select 30 + r / 10.0 as age, (r % 3)::varchar as diagnosis from range(20) t(r) "
            f"union all select {last}, 'gout'"
        )
    options = f"{GONE}, method := 'mondrian'"
    found = labels(con, "other", options)
    assert sum(found.values()) == 20
    assert found == labels(
        con, "one", options
    )  # with the domain of all rows, a cell would be as wide as they are apart
    made = sqlanon.anonymize(con, "other", **ONE, max_suppression=0.2, method="mondrian")
    assert found == dict(con.execute(f"select age, count(*) from {made.table} group by 1").fetchall())


def test_one_query_with_suppression_is_made_once_where_nothing_is_left_out(con: Con) -> None:
    con.execute("create table near as select 30 + r % 4 as age, 'flu' as diagnosis from range(40) t(r)")
    assert labels(con, "near", f"{GONE}, method := 'mondrian'") == {str(age): 10 for age in range(30, 34)}
