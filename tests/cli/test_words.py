"""Messages speak the words of the interface in which they are read: flags, SQL or Python."""

import shutil
from pathlib import Path

import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import SQL, SQL_FUNCTION, PolicyError, call, command_line, option, option_name, read_in, replacing


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
