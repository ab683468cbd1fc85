"""How a file is read can be said to every command that reads one."""

import json
from pathlib import Path

import pytest

from sqlanon.cli.main import main
from sqlanon.cli.wizard import wizard

READ = ["--encoding", "latin-1", "--decimal", ",", "--delimiter", ";"]
QUASI = ["--quasi", "Gewicht,Ort"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    towns = ("Köln", "Zürich")
    rows = [f"{60 + i % 8},{i % 2 * 5};{towns[i % 2]};{('Grippe', 'Husten', 'Fieber')[i % 3]}" for i in range(48)]
    Path("leute.csv").write_bytes("\n".join(["Gewicht;Ort;Diagnose", *rows, ""]).encode("latin-1"))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["detect", "leute.csv"],
        ["risk", "leute.csv", *QUASI],
        ["check", "leute.csv", *QUASI, "--k", "2"],
        ["compare", "leute.csv", *QUASI, "--k", "3", "--methods", "topdown"],
        ["report", "leute.csv", *QUASI, "--k", "2"],
        ["anonymize", "leute.csv", *QUASI, "--k", "4"],
    ],
    ids=lambda command: command[0],
)
def test_a_file_is_read_as_is_said(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert "not UTF-8 text" in capsys.readouterr().err
    assert main([*command, *READ]) == 0
    capsys.readouterr()


def test_attack_and_report_read_the_source_as_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymize", "leute.csv", *QUASI, "--k", "4", *READ, "-o", "public.csv"]) == 0
    source = ["--source", "leute.csv", "--k", "4", *QUASI]
    assert main(["attack", "public.csv", *source]) == 2
    assert main(["report", "public.csv", *source]) == 2
    capsys.readouterr()
    assert main(["attack", "public.csv", *source, *READ, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["report", "public.csv", *source, *READ, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 48


def test_reading_flags_without_a_file_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymize", "leute.csv", *QUASI, *READ, "--db", "a.duckdb", "--name", "public"]) == 0
    capsys.readouterr()
    assert main(["attack", "public", "--db", "a.duckdb", *READ]) == 2
    assert "--source FILE" in capsys.readouterr().err
    assert main(["report", "public", "--db", "a.duckdb", *READ]) == 2
    assert "--encoding is only for tables that are not a release" in capsys.readouterr().err


def test_the_wizard_reads_it_so_and_its_policy_too(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"(quasi-identifiers)": "Gewicht,Ort", "(sensitive)": "none", "other columns": "none", "(k)": "4"}
    reading = {"encoding": "latin-1", "decimal": ",", "delimiter": ";", "sheet": None}
    said: list[str] = []

    def ask(question: str) -> str:
        return next((answer for part, answer in answers.items() if part in question), "")

    assert wizard("leute.csv", ask, said.append, reading)
    assert "60.0 to 67.5" in "\n".join(said)
    assert main(["run", "leute_policy.toml", "-o", "again.csv"]) == 0
    assert Path("again.csv").read_text().count("Köln") == Path("leute_public.csv").read_text().count("Köln")
    capsys.readouterr()
