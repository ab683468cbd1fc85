"""The examples run as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted(
    file for file in (Path(__file__).resolve().parents[2] / "examples").glob("*.*") if file.suffix != ".ipynb"
)


def test_each_example_comes_as_sql_and_as_python() -> None:
    stems = {file.stem for file in FILES}
    assert stems == {"adult", "microdata", "problems"}
    assert {file.name for file in FILES} == {stem + suffix for stem in stems for suffix in (".sql", ".py")}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_example_runs(file: Path, tmp_path: Path) -> None:
    command = ["-m", "sqlanon", "run", str(file)] if file.suffix == ".sql" else ["-W", "error", str(file)]
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    expected = ("sqlanon: No l or t is set for sensitive", "sqlanon: Together with")
    warnings = [line for line in done.stderr.splitlines() if line.startswith(expected)]
    assert (done.returncode, done.stderr.splitlines()) == (0, warnings)
    assert done.stdout.strip()
