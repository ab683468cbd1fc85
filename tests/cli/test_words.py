"""Messages speak the words of the interface in which they are read: flags, SQL or Python."""

import shutil
from pathlib import Path

import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import (
    SQL,
    SQL_FUNCTION,
    PolicyError,
    call,
    command_line,
    option,
    option_name,
    policy_file,
    read_in,
    reading,
    replacing,
)


def test_an_option_reads_as_python_sql_or_a_flag() -> None:
    assert option("sensitive", ["diagnosis"]) == "sensitive=['diagnosis']"
    with read_in(SQL):
        assert option("sensitive", ["diagnosis"]) == "sensitive = ['diagnosis']"
        assert option("strict") == "strict = true"
    with read_in(SQL_FUNCTION):
        assert option("k", 5) == "k := 5"
    with read_in(command_line()):
        assert option("sensitive", ["diagnosis", "ward"]) == "--sensitive diagnosis,ward"
        assert option("max_suppression", 0.02) == "--max-suppression 0.02"
        assert option("hierarchies", {"zip": "codes"}) == "--hierarchy zip=codes"
        assert option("strict") == "--strict"
        assert option_name("unsafe_keep") == "--unsafe-keep"
    assert option_name("unsafe_keep") == "unsafe_keep"
    with read_in(policy_file("hospital.duckdb")):
        assert option("sensitive", ["diagnosis"]) == 'sensitive = ["diagnosis"]'
        assert option("limits", {"age": {"finest": 5}}) == "limits = { age = { finest = 5 } }"
        assert option("strict") == "strict = true"
        assert option_name("max_suppression") == "max_suppression"
        assert call("audit", "patients") == "sqlanon audit patients --db hospital.duckdb"


def test_how_a_file_is_read_is_said_by_a_flag_a_function_or_a_query() -> None:
    assert reading("decimal", "decimal_separator", ",") == "sqlanon.file_query(path, decimal=',')"
    with read_in(SQL):
        assert reading("decimal", "decimal_separator", ",") == "FROM read_csv(..., decimal_separator = ',')"
    with read_in(command_line()):
        assert reading("decimal", "decimal_separator", ",") == "--decimal ,"
    with read_in(policy_file()):
        assert reading("encoding", "encoding", "latin-1") == "source = \"FROM read_csv('FILE', encoding = 'latin-1')\""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--k", "0"], "--k is 0; it must be a whole number of 2 or more"),
        (["--max-suppression", "3"], "--max-suppression is 3; it must be a number from 0 to 1"),
        (["--quasi", "age"], "--quasi names 'age' twice"),
        (["--limit", "zipp=1"], "--limit names 'zipp', which is not in --quasi (age)"),
        (["--limit", "age=20..5"], "--limit: 'age' has a finest (20) that is coarser than its coarsest (5)"),
        (["--linked"], "--linked needs an entity, the column that identifies a person: --entity patient_id"),
        (["--k", "17"], "--k is 17, but the source has only 16 rows: ask for a smaller k."),
        (["--methd", "peel"], "--methd is not an option of sqlanon anonymize. Did you mean '--method'?"),
        (["--ranges", "snaped"], "--ranges: Unknown value 'snaped' (values: auto, text, columns, snapped). Did you"),
    ],
)
def test_the_command_line_says_flags(
    arguments: list[str], said: str, hospital_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["anonymize", "patients", "--db", str(hospital_file), "--quasi", "age", *arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert said in capsys.readouterr().err


def test_a_policy_file_is_explained_in_its_own_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age\n1\n2\n3\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(f'source = "{people}"\nquasi = ["age"]\nk = 2\nl = 2\n')
    assert main(["run", str(policy)]) == 2
    assert 'l needs a sensitive column: sensitive = ["diagnosis"]' in capsys.readouterr().err
    people.write_bytes("Größe\n1\n".encode("latin-1"))
    policy.write_text(f'source = "{people}"\nquasi = ["age"]\nk = 2\n')
    assert main(["run", str(policy)]) == 2
    assert "source = \"FROM read_csv('FILE', encoding = 'latin-1')\"" in capsys.readouterr().err


def test_a_call_reads_as_python_sql_or_a_command_with_its_database() -> None:
    assert call("audit", "patients") == "sqlanon.audit(con, 'patients')"
    with read_in(SQL):
        assert call("audit", "o'neil") == "FROM anon.audit('o''neil')"
        assert replacing("ANONYMIZED VIEW") == "CREATE OR REPLACE ANONYMIZED VIEW"
    with read_in(command_line("my hospital.duckdb")):
        assert call("audit", "patients") == "sqlanon audit patients --db 'my hospital.duckdb'"
        assert replacing() == "--replace"


def test_the_same_mistake_is_explained_in_each_interface(
    hospital_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = shutil.copy(hospital_file, tmp_path)
    with sqlanon.connect(database) as con:
        with pytest.raises(PolicyError, match=r"sensitive=\['diagnosis'\]"):
            sqlanon.anonymize(con, "patients", ["age"], 2, l=2)
        with pytest.raises(PolicyError, match=r"sensitive = \['diagnosis'\]"):
            con.execute("create anonymized view v as select age from patients options (k = 2, quasi = [age], l = 2)")
        with pytest.raises(Exception, match=r"sensitive := \['diagnosis'\]"):
            con.execute("from anon.anonymize('patients', quasi := ['age'], k := 2, l := 2)").fetchall()
    assert main(["anonymize", "patients", "--db", str(database), "--quasi", "age", "--k", "2", "--l", "2"]) == 2
    assert "needs a sensitive column: --sensitive diagnosis" in capsys.readouterr().err


def test_what_the_database_finds_is_explained_in_flags_on_the_command_line(
    hospital_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(shutil.copy(hospital_file, tmp_path))
    command = ["anonymize", "patients", "--db", database, "--quasi", "age", "--k", "2"]
    assert main([*command, "--keep", "name"]) == 2
    assert "or name it in --unsafe-keep instead" in capsys.readouterr().err
    assert main([*command, "--sensitive", "diagnosis", "--name", "first"]) == 0
    said = capsys.readouterr().err
    assert "everyone has the same value" not in said or "--l 2" in said
    assert main([*command, "--name", "first"]) == 2
    assert "'first' already exists; drop it, or use --replace" in capsys.readouterr().err
