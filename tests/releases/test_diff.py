"""What two policies or two releases differ in."""

import json
import shutil
from pathlib import Path

import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError, SqlanonError


def test_policies_differ_in_roles_options_and_mappings() -> None:
    first = sqlanon.Policy(quasi=("age", "zip"), k=5, keep=("ward",), weights={"age": 2})
    second = sqlanon.Policy(quasi=("age", "ward"), k=10, limits={"age": 5}, sensitive=("ill",), l=2)
    found = {(c.what, c.column): (c.before, c.after) for c in sqlanon.diff(None, first, second).changes}
    assert found == {
        ("role", "zip"): ("quasi", "not released"),
        ("role", "ward"): ("keep", "quasi"),
        ("role", "ill"): ("not released", "sensitive"),
        ("k", None): ("5", "10"),
        ("l", None): ("-", "2"),
        ("weights", "age"): ("2", "-"),
        ("limits", "age"): ("-", "finest 5, coarsest 5"),
    }
    assert str(sqlanon.diff(None, first, first)) == "policy 1 and policy 2 are the same"


def test_releases_differ_in_rows_risk_and_loss_too(hospital_file: Path, tmp_path: Path) -> None:
    con = sqlanon.connect(shutil.copy(hospital_file, tmp_path))
    for k in (2, 4):
        sqlanon.anonymize(con, "patients", ["age", "sex"], k, name=f"k{k}")
    found = sqlanon.diff(con, "k2", "k4")
    by_what = {(c.what, c.column): (c.before, c.after) for c in found.changes}
    assert by_what[("k", None)] == ("2", "4")
    assert by_what[("highest risk", None)] == ("50.0%", "25.0%")
    assert ("loss", "age") in by_what
    assert "information loss" in str(found)
    rows = con.execute("from anon.diff('k2', 'k4')").fetchall()
    assert rows == [(c.what, c.column, c.before, c.after) for c in found.changes]
    with pytest.raises(SqlanonError, match="k3"):
        sqlanon.diff(con, "k2", "k3")


def test_the_command_line_compares_policy_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('source = "t"\nquasi = ["age"]\nk = 5\n')
    second.write_text('source = "t"\nquasi = ["age"]\nk = 7\n')
    assert main(["diff", str(first), str(second), "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change == {"what": "k", "column": None, "before": "5", "after": "7"}
    assert main(["diff", str(first), "none.toml"]) == 2
    assert "There is no file 'none.toml'" in capsys.readouterr().err
    with pytest.raises(CatalogError, match="is not a policy file"):
        sqlanon.diff(None, first, "released")
