"""The command line: exit codes, JSON, files, and one line for what the user can mend."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import COMMANDS, main
from sqlanon.udfs.methods import METHODS

QUASI = "age,zip,sex"


@pytest.fixture
def database(hospital_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(hospital_file, tmp_path))


def test_anonymize_writes_a_file_that_check_confirms(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "public.parquet"
    command = ["anonymize", "patients", "--db", str(database), "--quasi", QUASI, "--k", "4"]
    assert main([*command, "--sensitive", "diagnosis", "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["check", str(out), "--quasi", QUASI, "--k", "4", "--sensitive", "diagnosis", "--l", "2"]) == 0
    assert main(["check", str(out), "--quasi", QUASI, "--k", "5"]) == 1
    assert main(["check", str(out), "--quasi", QUASI, "--k", "4", "--sensitive", "diagnosis", "--l", "2.5"]) == 1
    assert "BROKEN" in capsys.readouterr().out
    assert main([*command, "-o", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err


def test_anonymize_takes_every_option_of_the_policy(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["anonymize", "patients", "--db", str(database), "--quasi", "age,zip", "--quasi", "sex", "--k", "3"]
    extra = ["--method", "kaca", "--beta", "1", "--threshold", "0.9", "--keep", "ward", "--unsafe-keep", "diagnosis"]
    more = ["--hierarchy", "zip=zip", "--weight", "age=2.5", "--ranges", "columns", "--seed", "3"]
    assert main([*command, *extra, *more, "--name", "pub", "--view"]) == 0
    with duckdb.connect(str(database), read_only=True) as con:
        ((policy,),) = con.execute("select policy from anon.releases").fetchall()
        assert json.loads(policy) == {
            "quasi": ["age", "zip", "sex"],
            "k": 3,
            "several": "strict",
            "strict": False,
            "forming": "free",
            "linked": False,
            "pseudonyms": "person",
            "deleted": "withdraw",
            "changed": "follow",
            "updated": "keep",
            "failed": "leave_out",
            "row_weight": False,
            "method": "kaca",
            "keep": ["ward"],
            "unsafe_keep": ["diagnosis"],
            "hierarchies": {"zip": "zip"},
            "weights": {"age": 2.5},
            "ranges": "columns",
            "represent": "closure",
            "refine": False,
            "polish": True,
            "seed": 3,
            "beta": 1.0,
            "threshold": 0.9,
        }
    assert "verified on 16 released rows" in capsys.readouterr().err


def test_check_reads_a_table_of_a_database_without_writing_to_it(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = database.read_bytes()
    assert main(["check", "patients", "--db", str(database), "--quasi", QUASI, "--k", "2", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [warning["kind"] for warning in found.pop("warnings")] == ["unique with kept columns"]
    assert (found.pop("state"), found.pop("next")[:18]) == ("BROKEN", "do not give it out")
    assert found == {
        "source": "patients", "rows": 16, "classes": 16, "k": 1, "asked_k": 2, "violations": 16, "reached": {},
        "asked": {}, "holds": False,
    }  # fmt: skip
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere.csv", "--quasi", "a"], "nowhere.csv"),
        (["check", "patients", "--db", "nowhere.duckdb", "--quasi", "a"], "no database 'nowhere.duckdb'"),
        (["check", "hospital.duckdb", "--quasi", "a"], "--db hospital.duckdb"),
        (["check", "patients", "--db", "hospital.duckdb", "--quasi", "agee"], "Did you mean 'age'?"),
        (["check", "patient", "--db", "hospital.duckdb", "--quasi", "age"], "does not exist"),
        (["check", "patients", "--db", "hospital.duckdb", "--quasi", "age", "--l", "2"], "sensitive"),
        (["anonymize", "patients", "--db", "hospital.duckdb", "--quasi", "age", "--k", "1"], "k is 1"),
        (["anonymize", "patients", "--db", "hospital.duckdb", "--quasi", "age", "--method", "kaka"], "'kaca'"),
        (["anonymize", "patients", "--db", "hospital.duckdb", "--quasi", "age", "--weight", "age=x"], "number"),
        (["anonymize", "patients", "--db", "hospital.duckdb", "--quasi", "age", "-o", "x.xlsx"], ".csv or .parquet"),
        (["run", "nowhere.sql"], "no file"),
        (["run", "broken.toml"], "not TOML"),
        (["run", "nosource.toml"], "source"),
        (["run", "broken.sql"], "line 1, column 19"),
        (["hierarchy", "drop", "zap", "--db", "hospital.duckdb"], "Did you mean 'zip'?"),
        (["hierarchy", "gaps", "patients", "zip", "zap", "--db", "hospital.duckdb"], "no hierarchy 'zap'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str],
    message: str,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(database.parent)
    Path("broken.toml").write_text("k = ")
    Path("nosource.toml").write_text('quasi = ["age"]')
    Path("broken.sql").write_text("CREATE ANONYMIZED VEW x AS SELECT 1 OPTIONS (k = 2)")
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith("sqlanon: ")
    assert message in said.err
    assert "Traceback" not in said.err


def test_run_of_a_script_prints_its_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE TABLE t AS SELECT i % 2 AS a FROM range(8) r(i); SELECT 'first'; SELECT count(*) + 34 FROM t"
    )
    assert main(["run", str(script)]) == 0
    out = capsys.readouterr().out
    assert "first" in out
    assert "42" in out


def test_hierarchies_are_made_shown_and_dropped(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", str(database)]
    assert main(["hierarchy", "create", "age", "--intervals", "10,20", "--below", "30", *db]) == 0
    assert main(["hierarchy", "create", "sex", "--flat", "--on", "patients.sex", *db]) == 0
    assert main(["hierarchy", "list", *db]) == 0
    assert main(["hierarchy", "show", "sex", *db]) == 0
    out = capsys.readouterr().out
    assert "intervals" in out
    assert "female" in out
    assert main(["hierarchy", "drop", "sex", *db]) == 0
    assert main(["hierarchy", "gaps", "patients", "name", "age", *db]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 16


def test_shell_reads_statements_from_a_pipe(database: Path) -> None:
    script = "SELECT 40 +\n2 AS answer;\nSELECT nonsense;\nCREATE HIERARCHY h USING DATES;\nSELECT 'still here'"
    done = subprocess.run(
        [sys.executable, "-m", "sqlanon", "shell", "--db", str(database)],
        input=script,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2  # one of them failed
    assert "42" in done.stdout
    assert "dates" in done.stdout
    assert "still here" in done.stdout
    assert "nonsense" in done.stderr


def test_every_command_explains_itself_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("demo", "anonymize", "check", "run", "shell", "methods", "hierarchy"):
        with pytest.raises(SystemExit) as stopped:
            main([command, "--help"])
        assert stopped.value.code == 0
        assert "Example: sqlanon" in capsys.readouterr().out


def test_methods_lists_every_method_with_its_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    out = capsys.readouterr().out
    assert all(f"{method.name}\n  {method.paper}\n" in out for method in METHODS.values())
    assert "--beta (a number from 0 to 10, default 0.0)" in out


def test_help_waits_for_no_database_and_no_core() -> None:
    code = "import sys, sqlanon.cli.main; sqlanon.cli.main.parser(()).format_help(); print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sqlanon.cli.main" in loaded
    assert not {"duckdb", "numpy", "pyarrow", "pandas", "sqlglot"} & set(loaded)


def test_every_name_that_the_package_exports_is_there() -> None:
    for name in sqlanon.__all__:
        assert getattr(sqlanon, name) is not None
    assert set(sqlanon.__all__) == set(dir(sqlanon))
    with pytest.raises(AttributeError, match="anonymise"):
        _ = sqlanon.anonymise  # type: ignore[attr-defined]


def test_every_command_is_a_file_of_its_own() -> None:
    folder = Path(sqlanon.__file__).parent / "cli" / "commands"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "arguments"} == set(COMMANDS)
