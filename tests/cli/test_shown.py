"""What people look at: dot commands, tables that show themselves, frames without a connection."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError, PolicyError

QUASI = ["age", "zip", "sex"]


@pytest.fixture
def con(hospital_file: Path, tmp_path: Path) -> sqlanon.Connection:
    return sqlanon.connect(shutil.copy(hospital_file, tmp_path))


def test_the_shell_knows_help_tables_and_schema(hospital_file: Path, tmp_path: Path) -> None:
    database = shutil.copy(hospital_file, tmp_path)
    script = (
        "CREATE ANONYMISED TABLE pub AS SELECT age, sex FROM patients OPTIONS (k = 4, quasi = [age, sex]);\n"
        ".help\n.tables\n.schema patients\n.schema\n.table\n.quit\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "sqlanon", "shell", "--db", str(database)],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2  # for the command that there is not
    assert "FROM anon.explain('pub');" in done.stdout
    assert "release of " in done.stdout
    assert "diagnosis" in done.stdout
    assert "Unknown command '.table'" in done.stderr
    assert "Did you mean '.tables'?" in done.stderr


def test_detection_check_attacks_and_risk_show_themselves(con: sqlanon.Connection) -> None:
    sqlanon.anonymize(con, "patients", QUASI, 4, sensitive=["diagnosis"], name="pub")
    found = [
        sqlanon.detect(con, "patients"),
        sqlanon.check(con, "pub", QUASI, 4, sensitive=["diagnosis"]),
        sqlanon.attack(con, "pub"),
        sqlanon.risk(con, "pub", QUASI),
    ]
    for one in found:
        assert one._repr_html_().startswith("<div><strong>")
        assert "\n" in str(one)
    assert str(found[1]).startswith("holds: 16 rows in 4 classes\n")
    assert "prosecutor_max   25.0%" in str(found[3])
    assert found[3]["rows"] == 16


def test_a_frame_needs_no_connection() -> None:
    frame = pd.DataFrame({"age": range(20, 32), "sex": ["m", "f"] * 6})
    for release in (sqlanon.anonymize(frame, quasi="age,sex", k=3), sqlanon.anonymize(frame, ["age", "sex"], 3)):
        assert release.policy.quasi == ("age", "sex")
        assert len(release.df()) == 12
        assert release.proof.k >= 3
    with pytest.raises(PolicyError, match="needs a database"):
        sqlanon.anonymize(frame, ["age"], 3, name="pub")
    with pytest.raises(CatalogError, match="Expected a duckdb connection"):
        sqlanon.anonymize("patients", quasi=["age"], k=3)


def test_a_text_may_name_several_columns_and_a_list_protects_a_comma() -> None:
    assert sqlanon.Policy(quasi="age, sex").quasi == ("age", "sex")  # type: ignore[arg-type]
    assert sqlanon.Policy(quasi=("age,sex",)).quasi == ("age,sex",)
    assert sqlanon.Policy(quasi='"age,sex",zip').quasi == ("age,sex", "zip")  # type: ignore[arg-type]


def test_tables_of_commands_have_no_types_and_separators(
    con: sqlanon.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    con.execute("create table many as select 20 + range % 40 as age, range % 3 as ward from range(2000)")
    sqlanon.anonymize(con, "many", ["age"], 5, method="mondrian", name="by_age")
    sqlanon.anonymize(con, "many", ["ward", "age"], 5, method="mondrian", name="by_ward")
    con.close()
    database = str(tmp_path / "hospital.duckdb")
    assert main(["status", "--db", database]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^by_age +2,000 +1 +table +many +\d{4}-\d\d-\d\d \d\d:\d\d +A table is a snapshot$", shown, re.M)
    assert "varchar" not in shown
    assert "refreshed" not in shown
    assert main(["audit", "many", "--db", database]) == 0
    assert main(["audit", "patients", "--db", database]) == 0
    assert "there are no two releases of it to combine" in capsys.readouterr().out


def test_an_audit_that_is_broken_says_what_to_do(
    con: sqlanon.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    con.execute(
        "create table many as select hash(range) % 60 as age, hash(range * 7) % 50 as ward, range % 9 as ill "
        "from range(200)"
    )
    sqlanon.anonymize(con, "many", ["age"], 4, sensitive=["ill"], method="mondrian", name="by_age")
    sqlanon.anonymize(con, "many", ["ward"], 4, sensitive=["ill"], method="mondrian", name="by_ward")
    con.close()
    assert main(["audit", "many", "--db", str(tmp_path / "hospital.duckdb")]) == 1
    assert "\nBROKEN\nnext: give out one of the releases" in capsys.readouterr().out
