"""What a mistake on the command line costs: two lines, no file, no lost release."""

from io import StringIO
from pathlib import Path

import duckdb
import pytest

from sqlanon.cli.main import main

ROWS = "age,sex\n" + "".join(f"{20 + i},{'mf'[i % 2]}\n" for i in range(12))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(ROWS)
    return tmp_path


def test_a_wrong_value_prints_two_lines_and_not_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "people.csv", "--quasi", "age", "--k", "five"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "sqlanon: Argument --k: 'five' is not a whole number",
        "For all options: sqlanon anonymize --help",
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["anonymize", "patients", "--quasi", "age", "--db", "nosuch.duckdb"],
        ["compare", "patients", "--quasi", "age", "--db", "nosuch.duckdb"],
        ["publish", "pub", "-o", "x.csv", "--db", "nosuch.duckdb"],
        ["utility", "pub", "--db", "nosuch.duckdb"],
        ["hierarchy", "create", "zip", "--prefix", "--db", "nosuch.duckdb"],
        ["report", "pub", "-o", "x.html", "--db", "nosuch.duckdb"],
    ],
    ids=lambda command: command[0],
)
def test_a_mistyped_database_is_not_created(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert "There is no database 'nosuch.duckdb'" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["people.csv"]


def test_a_shell_leaves_a_new_database_only_where_something_was_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    for script, is_kept in (("select 1;", False), ("create hierarchy h using dates;", True)):
        monkeypatch.setattr("sys.stdin", StringIO(script))
        assert main(["shell", "--db", "mistyped.duckdb"]) == 0
        assert Path("mistyped.duckdb").exists() == is_kept


def test_a_failing_command_leaves_no_new_database() -> None:
    assert main(["anonymize", "people.csv", "--quasi", "agee", "--name", "pub", "--db", "new.duckdb"]) == 2
    Path("broken.sql").write_text("SELECT nonsense")
    assert main(["run", "broken.sql", "--db", "new.duckdb"]) == 2
    assert not Path("new.duckdb").exists()


def test_replace_overwrites_a_file_but_never_the_one_that_is_anonymized(capsys: pytest.CaptureFixture[str]) -> None:
    """The message asked for --replace, which was given."""
    made = ["anonymize", "people.csv", "--quasi", "age", "--method", "mondrian", "-o"]
    Path("old.csv").write_text("age\n")
    assert main([*made, "old.csv"]) == 2
    assert "To overwrite it, use --replace" in capsys.readouterr().err
    assert main([*made, "old.csv", "--replace"]) == 0
    capsys.readouterr()
    for reading in ([], ["--delimiter", ","]):
        assert main([*made, "people.csv", "--replace", *reading]) == 2
        assert "is what is anonymized" in capsys.readouterr().err
    for query in ("select age from 'people.csv'", "from read_csv('p*.csv')", 'select age from "people.csv" as p'):
        assert main([made[0], query, *made[2:], "./people.csv", "--replace"]) == 2
        assert "is what is anonymized" in capsys.readouterr().err
    assert Path("people.csv").read_text() == ROWS


def test_a_piped_shell_that_fails_exits_2_and_speaks_sql(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("latin.csv").write_bytes("town\nKöln\n".encode("latin-1"))
    script = "from 'latin.csv';\n.nonsense\nselect 1 as one;"
    monkeypatch.setattr("sys.stdin", StringIO(script))
    assert main(["shell"]) == 2
    said = capsys.readouterr()
    assert "FROM read_csv(..., encoding = 'latin-1')" in said.err
    assert "one" in said.out  # what follows is still run, as DuckDB's own shell does
    Path("script.sql").write_text(script)
    assert main(["run", "script.sql"]) == 2
    assert "FROM read_csv(..., encoding = 'latin-1')" in capsys.readouterr().err


def test_a_macro_with_a_wrong_argument_says_which_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB proposed to add explicit type casts."""
    for call, said in (
        ("risk('p')", "risk does not take these arguments. It takes: t, quasi, population, entity"),
        ("anonymize('p', kk := 2)", "It takes: source, quasi, k, method,"),
    ):
        Path("wrong.sql").write_text(f"from anon.{call}")
        assert main(["run", "wrong.sql"]) == 2
        assert said in capsys.readouterr().err


def test_a_file_of_a_database_is_asked_for_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    duckdb.connect("people.duckdb").close()
    assert main(["anonymize", "people.duckdb", "--quasi", "age"]) == 2
    assert "Which table of 'people.duckdb'? Name the table, and --db people.duckdb" in capsys.readouterr().err


def test_of_many_names_only_the_one_that_was_meant_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wide.csv").write_text(",".join(f"c{i}" for i in range(99)) + "\n" + ",".join("1" * 99))
    for asked, said in (("c9o", "'wide.csv'. Did you mean 'c9'?"), ("zip", "c23, c24 and 74 more).")):
        assert main(["anonymize", "wide.csv", "--quasi", asked]) == 2
        assert said in capsys.readouterr().err


def test_the_report_of_a_table_without_rows_warns_that_there_is_nothing_to_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It said that every row is one of at least 0, that this holds, and to sign."""
    Path("empty.csv").write_text("age,sex\n")
    assert main(["report", "empty.csv", "--quasi", "age", "-o", "report.html"]) == 0
    said = capsys.readouterr().err
    assert "The table has no rows." in said
    assert "holds with warnings: nothing to check" in said


def test_a_release_with_a_name_needs_a_database(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymize", "people.csv", "--quasi", "age", "--name", "pub"]) == 2
    assert "Add --db FILE" in capsys.readouterr().err
    Path("policy.toml").write_text('source = "people.csv"\nname = "pub"\nquasi = ["age"]\nk = 3\n')
    assert main(["run", "policy.toml"]) == 2
    assert "Add --db FILE" in capsys.readouterr().err


def test_hierarchies_and_risk_say_what_they_made_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymize", "people.csv", "--quasi", "age,sex", "--k", "3", "--name", "pub", "--db", "a.duckdb"]) == 0
    capsys.readouterr()
    assert main(["hierarchy", "create", "sex", "--flat", "--on", "pub.sex", "--db", "a.duckdb"]) == 0
    assert capsys.readouterr().err.startswith("made hierarchy 'sex': ")
    assert main(["hierarchy", "gaps", "pub", "sex", "sex", "--db", "a.duckdb"]) == 0
    assert capsys.readouterr().out == "none: 'sex' has every value of pub.sex\n"
    assert main(["risk", "people.csv", "--quasi", "age,sex"]) == 0
    out = capsys.readouterr().out
    assert "unique_rows      12 (100.0%)" in out
    assert "prosecutor_max   100.0%" in out


def test_help_has_groups_and_a_methods_own_parameters_are_with_the_method(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["anonymize", "--help"])
    shown = capsys.readouterr().out
    for group in ("columns:", "privacy:", "generalization:", "search:", "result:"):
        assert f"\n{group}\n" in shown
    assert "--threshold" not in shown
    assert main(["methods", "kaca"]) == 0
    assert "--threshold" in capsys.readouterr().out
    assert main(["methods", "kaka"]) == 2
    assert "Did you mean 'kaca'?" in capsys.readouterr().err
