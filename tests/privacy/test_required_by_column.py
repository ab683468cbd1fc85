"""Every sensitive column can have its own l or t, in every interface; nothing is required of those not named."""

import json
import logging
import random
from pathlib import Path
from typing import Any

import pytest
from reading import Con

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import PolicyError
from sqlanon.policy.policy import Policy
from sqlanon.udfs.methods import METHODS

ASKED = {"quasi": ["age", "sex"], "k": 4, "sensitive": ["diagnosis", "ward"]}
OWN = {"diagnosis": 3, "ward": 1.5}


@pytest.fixture
def clinic(con: Con) -> Con:
    drawn = random.Random(1)
    rows = [
        (drawn.randrange(20, 60), drawn.choice("mf"), drawn.choice("ABCDEF"), drawn.choice("xxyy")) for _ in range(150)
    ]
    con.execute("create table clinic (age integer, sex varchar, diagnosis varchar, ward varchar)")
    con.executemany("insert into clinic values (?, ?, ?, ?)", rows)
    return con


def l_of(con: Any, table: str, column: str) -> float:
    """The smallest l of a column: each class by all quasi-identifiers."""
    counted = f"select age, sex, {column}, count(*) as n from {table} group by all"
    ((least,),) = con.sql(
        f"select min(l) from (select sum(n) / max(n) as l from ({counted}) group by age, sex)"
    ).fetchall()
    return float(least)


@pytest.mark.sweep
@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if m.is_homogeneous and not m.is_exact])
def test_every_method_keeps_what_is_required_of_each_column(clinic: Con, method: str) -> None:
    release = sqlanon.anonymize(clinic, "clinic", **ASKED, l=OWN, several="separate", method=method, seed=1)
    assert l_of(clinic, release.table, "diagnosis") >= 3
    assert l_of(clinic, release.table, "ward") >= 1.5
    assert release.proof.models["l"]["ward"] >= 1.5


@pytest.mark.parametrize("several", ["separate", "strict"])
def test_nothing_is_required_of_a_column_that_is_not_named(clinic: Con, several: str) -> None:
    asked = ASKED | {"several": several, "method": "mondrian", "seed": 1}
    only = sqlanon.anonymize(clinic, "clinic", **asked, l={"diagnosis": 2})
    both = sqlanon.anonymize(clinic, "clinic", **asked, l={"diagnosis": 2, "ward": 1.2})
    assert only.metrics()["gcp"] <= both.metrics()["gcp"]
    assert l_of(clinic, only.table, "diagnosis") >= 2
    mixed = sqlanon.anonymize(clinic, "clinic", **asked, l={"diagnosis": 2}, t={"ward": 0.3})
    assert mixed.proof.models["t"]["ward"] <= 0.3
    assert "l = 2" in str(mixed.policy)
    assert "within 0.3" in str(mixed.policy)
    assert str(mixed.policy).count("diagnosis") < 4


def test_the_same_in_sql_in_a_statement_in_toml_and_from_the_command_line(
    clinic: Con, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    clinic.execute("copy clinic to 'clinic.csv'")
    made = (
        "quasi := ['age', 'sex'], k := 4, sensitive := ['diagnosis', 'ward'], several := 'separate', "
        "l := MAP {'diagnosis': 3, 'ward': 1.5}"
    )
    clinic.execute(f"create table by_sql as from anon.anonymize('clinic', {made})")
    assert l_of(clinic, "by_sql", "diagnosis") >= 3
    with sqlanon.connect("c.duckdb") as con:
        con.execute("create table clinic as from 'clinic.csv'").fetchall()
        con.execute(
            "create anonymized table by_statement as select * from clinic options (quasi = [age, sex], k = 4, "
            "sensitive = [diagnosis, ward], several = 'separate', l = {diagnosis: 3, ward: 1.5})"
        ).fetchall()
        assert l_of(con, "by_statement", "diagnosis") >= 3
        assert sqlanon.open_release(con, "by_statement").policy.required("l", "WARD") == 1.5
    policy = Policy.of(ASKED | {"l": OWN, "several": "separate"})
    Path("policy.toml").write_text(policy.toml(source="clinic.csv"))
    assert Policy.from_toml("policy.toml") == policy
    assert main(["run", "policy.toml", "-o", "by_toml.csv"]) == 0
    models = ["--l", "diagnosis=3", "--l", "ward=1.5", "--several", "separate"]
    plain = ["--quasi", "age,sex", "--k", "4", "--sensitive", "diagnosis,ward"]
    assert main(["anonymize", "clinic.csv", *plain, *models, "-o", "by_command.csv"]) == 0
    for file in ("by_toml.csv", "by_command.csv"):
        assert main(["check", file, *plain, *models]) == 0
        assert "l = " in capsys.readouterr().out
        assert main(["check", file, *plain, "--l", "diagnosis=30", "--several", "separate", "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["asked"] == {"l": {"diagnosis": 30.0}}
    with pytest.raises(SystemExit):
        main(["check", "by_toml.csv", *plain, "--l", "2", "--l", "ward=2"])
    assert "name a column each time" in capsys.readouterr().err


def test_what_is_the_same_of_all_columns_is_one_number() -> None:
    assert Policy.of(ASKED | {"l": {"diagnosis": 2, "Ward": 2}}).l == 2
    assert Policy.of(ASKED | {"l": {}}).l is None
    assert Policy.of(ASKED | {"l": {"WARD": 2}}).unprotected == ["diagnosis"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"l": {"age": 2}}, "which is not in sensitive \\(diagnosis, ward\\)"),
        ({"l": {"ward": 0.5}}, "l is 0.5; it must be a number of 1 or more"),
        ({"l": {"ward": 2, "WARD": 3}}, "twice, in different case"),
        ({"several": {"ward": "strict"}}, "several is .* it must be one of"),
    ],
)
def test_what_means_nothing_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Policy.of(ASKED | given)


def test_a_report_and_a_warning_name_the_column_without_a_promise(
    clinic: Con, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clinic.execute("update clinic set ward = 'x'")
    with caplog.at_level(logging.WARNING, "sqlanon"):
        release = sqlanon.anonymize(clinic, "clinic", **ASKED, l={"diagnosis": 2}, several="separate")
    assert "No l or t is set for sensitive column 'ward'" in caplog.text
    assert "'diagnosis'" not in caplog.text
    page = release.report(tmp_path / "report.html", curve=False).read_text()
    assert "No diversity was required of ward" in page
    found = sqlanon.attack(clinic, release)
    kept = {(row.attack, row.column): row.promise for row in found.rows}
    assert kept["homogeneity", "diagnosis"] == 0
    assert kept["homogeneity", "ward"] is None
