"""The wizard: proposed answers, released rows only, no trace when stopped, and a policy that does the same again."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sqlanon.cli.main import main
from sqlanon.cli.wizard import wizard

HEADER = "Name,age,zip,sex,diagnosis\n"
ROWS = "".join(
    f"Person {i},{20 + i * 7 % 50},{43500 + i % 9},{'mf'[i % 2]},{('flu', 'cold', 'asthma')[i % 3]}\n"
    for i in range(60)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(HEADER + ROWS)
    return tmp_path


def answering(answers: dict[str, str], after: int | None = None) -> Callable[[str], str]:
    """Takes the proposed answer unless the question holds one of these; stops after this many questions."""
    asked: Iterator[int] = iter(range(1000))

    def ask(question: str) -> str:
        if after is not None and next(asked) >= after:
            return "q"
        return next((answer for part, answer in answers.items() if part in question), "")

    return ask


ANSWERS = {"(quasi-identifiers)": "age,zip,sex", "(sensitive)": "diagnosis", "other columns": "none", "(k)": "4"}


def test_the_wizard_writes_a_release_a_report_and_a_policy_that_does_the_same_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said: list[str] = []
    assert wizard("people.csv", answering(ANSWERS), said.append)
    shown = "\n".join(said)
    assert "before:" in shown
    assert "20 to 69" in shown
    assert "Person" not in shown
    assert "sqlanon run people_policy.toml -o again.csv" in shown
    assert Path("people_report.html").is_file()
    assert main(["run", "people_policy.toml", "-o", "again.csv"]) == 0
    once, again = (sorted(Path(file).read_text().splitlines()) for file in ("people_public.csv", "again.csv"))
    assert len(once) == len(again)  # with l, groups are drawn by a secret seed: the same promise, other classes
    for file in ("people_public.csv", "again.csv"):
        promise = ["--quasi", "age,zip,sex", "--k", "4", "--sensitive", "diagnosis", "--l", "2"]
        assert main(["check", file, *promise]) == 0
    capsys.readouterr()


def test_the_command_that_the_wizard_shows_checks_the_file_with_its_sensitive_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without them they count as kept, and the check warned of what the policy had asked for."""
    Path("my people.csv").write_text(HEADER.replace("zip", '"zip, now"') + ROWS)
    said: list[str] = []
    answers = ANSWERS | {"(quasi-identifiers)": 'age,"zip, now",sex'}
    assert wizard("my people.csv", answering(answers), said.append)
    command = next(line for line in said[-1].splitlines() if "check the file" in line).split("check the file")[1]
    capsys.readouterr()
    assert main(shlex.split(command)[1:]) == 0
    shown = capsys.readouterr().out
    assert "l = 2" in shown
    assert "warning" not in shown


@pytest.mark.sweep
@pytest.mark.parametrize("after", range(9))
def test_stopping_at_any_question_leaves_no_trace(after: int) -> None:
    said: list[str] = []
    assert not wizard("people.csv", answering(ANSWERS, after), said.append)
    assert said[-1] == "\nStopped. Nothing was written."
    assert [path.name for path in Path().iterdir()] == ["people.csv"]


def test_a_wrong_answer_is_asked_again() -> None:
    given = iter(["agee", "age,zip,sex"])
    said: list[str] = []

    def ask(question: str) -> str:
        if "(quasi-identifiers)" in question:
            return next(given)
        return "q" if "(k)" in question else answering(ANSWERS)(question)

    assert not wizard("people.csv", ask, said.append)
    assert any("Unknown column 'agee'" in line and "Did you mean 'age'?" in line for line in said)


def test_text_without_a_hierarchy_is_grouped_and_the_policy_does_the_same_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was released as * without a question."""
    jobs = "".join(f"{20 + i % 2},job {i % 12}\n" for i in range(60))
    Path("people.csv").write_text("age,job\n" + jobs)
    asked: list[str] = []
    taking = answering({"(quasi-identifiers)": "age,job", "(k)": "8"})
    assert wizard("people.csv", lambda question: asked.append(question) or taking(question), asked.append)
    assert any("Draft groups for the values of job?" in question for question in asked)
    assert "suggest = true" in Path("people_policy.toml").read_text()
    assert main(["run", "people_policy.toml", "-o", "again.csv"]) == 0
    assert "A suggested hierarchy is used for job" in capsys.readouterr().err
    assert " | " in Path("people_public.csv").read_text()
