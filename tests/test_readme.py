"""Every command and every example that the README shows runs, and prints what it shows."""

import doctest
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sqlanon

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not shipped")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def sqlanon_command(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(line)
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "privacy.md"], ids=lambda page: page.name)
def test_python_sessions_print_what_the_page_shows(page: Path) -> None:
    failures, tried = doctest.testfile(
        str(page), module_relative=False, encoding="utf-8", optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert failures == 0
    assert tried >= 10


def test_sql_runs_and_makes_the_view() -> None:
    (script,) = blocks("sql")
    with sqlanon.connect() as con:
        con.execute(script)
        assert sqlanon.check(con, "patients_public", ["age", "zip", "admitted"], 2).holds


def test_every_sqlanon_command_runs_in_an_empty_folder(tmp_path: Path) -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("sqlanon ")]
    assert len(commands) >= 6
    for command in commands:
        done = sqlanon_command(command, tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_the_policy_file_runs(tmp_path: Path) -> None:
    (policy,) = blocks("toml")
    (tmp_path / "policy.toml").write_text(policy)
    sqlanon_command("sqlanon demo --db demo.duckdb", tmp_path)
    done = sqlanon_command("sqlanon run policy.toml --db demo.duckdb", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"k = {tomllib.loads(policy)['k']}" in done.stdout


def test_make_commands_are_targets_that_ci_runs() -> None:
    targets = {word for block in blocks("sh") for word in re.findall(r"^make (\w+)$", block, re.MULTILINE)}
    assert targets == {"demo", "test"}
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(f"make {target}" in ci for target in targets)
