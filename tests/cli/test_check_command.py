"""What programs rely on: the exit codes and the JSON of sqlanon check, and the pre-commit hook that runs it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sqlanon.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "check.schema.json"
pytestmark = pytest.mark.skipif(not SCHEMA.exists(), reason="not in a checkout")
PROPERTIES = [
    "source",
    "rows",
    "classes",
    "k",
    "asked_k",
    "violations",
    "reached",
    "asked",
    "holds",
    "state",
    "warnings",
    "next",
]
OF_PEOPLE = ["linked_k", "is_linked"]
"""What is there only if an entity is named."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("kept.csv").write_text("age,sex,diagnosis\n[20-30],female,Flu\n[20-30],female,Asthma\n")
    Path("broken.csv").write_text("age,sex,diagnosis\n24,female,Flu\n29,female,Asthma\n")
    Path("empty.csv").write_text("age,sex,diagnosis\n")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        (["kept.csv"], 0),
        (["empty.csv"], 0),
        (["broken.csv"], 1),
        (["kept.csv", "broken.csv"], 1),
        (["broken.csv", "kept.csv"], 1),
        (["missing.csv"], 2),
        (["broken.csv", "missing.csv"], 2),
    ],
)
def test_exit_code_is_0_if_all_hold_1_if_one_is_broken_and_2_on_bad_input(
    files: Path, sources: list[str], code: int
) -> None:
    assert main(["check", "--quasi", "age,sex", "--k", "2", *sources]) == code


@pytest.mark.parametrize("asked", [[], ["--sensitive", "diagnosis", "--l", "2", "--delta", "0.5"]])
def test_json_is_as_the_schema_says(files: Path, capsys: pytest.CaptureFixture[str], asked: list[str]) -> None:
    sources = ["kept.csv", "broken.csv", "empty.csv"]
    assert main(["check", *sources, "--quasi", "age,sex", "--k", "2", "--json", *asked]) == 1
    schema = json.loads(SCHEMA.read_text())
    objects = printed(capsys)
    assert [found["source"] for found in objects] == sources
    for found in objects:
        jsonschema.Draft202012Validator(schema).validate(found)
        assert list(found) == PROPERTIES == schema["required"]
    assert list(schema["properties"]) == [*PROPERTIES, *OF_PEOPLE]


def test_json_counts_people_where_an_entity_is_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "kept.csv", "--quasi", "age", "--k", "2", "--json", "--entity", "sex", "--linked"]) == 1
    (found,) = printed(capsys)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    assert list(found) == [*PROPERTIES[:-4], *OF_PEOPLE, *PROPERTIES[-4:]]


def test_json_says_what_was_counted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "broken.csv", "--quasi", "age,sex", "--k", "2", "--sensitive", "diagnosis", "--json"])
    assert printed(capsys) == [
        {
            "source": "broken.csv",
            "rows": 2,
            "classes": 2,
            "k": 1,
            "asked_k": 2,
            "violations": 2,
            "reached": {"l": {"diagnosis": 1.0}, "t": {"diagnosis": 0.5}},
            "asked": {},
            "holds": False,
            "state": "BROKEN",
            "warnings": [
                {
                    "kind": "homogeneous classes",
                    "said": "In at least one class everybody has the same diagnosis, and nothing prevents it.",
                    "mend": "require --l 2 of diagnosis",
                }
            ],
            "next": "do not give it out; anonymize its source with --k 2",
        }
    ]


def test_warnings_are_not_failures_unless_strict_is_set(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("alike.csv").write_text("age,sex,diagnosis,ward\n20,female,Flu,a\n20,female,Flu,b\n")
    command = ["check", "alike.csv", "--quasi", "age,sex", "--k", "2", "--sensitive", "diagnosis"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "holds with warnings: homogeneous classes, unique with kept columns"
    assert lines[-1].startswith("next: require --l 2 of diagnosis and name ward in --quasi or --sensitive, or leave it")
    assert main([*command, "--strict"]) == 1
    assert main(["check", "kept.csv", "--quasi", "age,sex", "--k", "2", "--sensitive", "diagnosis", "--strict"]) == 0


@pytest.mark.parametrize(("file", "code"), [("kept.csv", 0), ("broken.csv", 1)])
def test_the_pre_commit_hook_takes_its_files_after_its_arguments(files: Path, file: str, code: int) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *command = shlex.split(hook["entry"])
    assert program == "sqlanon"
    assert re.search(hook["files"], file)
    assert main([*command, "--quasi=age,sex", "--k=2", file, "kept.csv"]) == code


def test_a_table_without_rows_is_said_to_have_nothing_to_check(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "empty.csv", "--quasi", "age,sex", "--sensitive", "diagnosis", "--l", "2"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "There is nothing to check: no rows." in shown
    assert "holds with warnings: nothing to check" in shown
    assert "None" not in shown
    assert main([*asked, "--strict"]) == 1
