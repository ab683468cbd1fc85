"""Every benchmark script explains itself, and a small cell of each runs, with `make test` of some."""

import importlib
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = [
    "checks",
    "comparison",
    "continuous",
    "frontier",
    "linked",
    "models",
    "optimum",
    "quality",
    "repeated",
    "reproduce",
    "scale",
    "shapes",
    "spark",
    "speed",
    "studio",
]
SMALL = {
    "checks": ["--rows", "2000", "--pycanon-rows", "500", "--repeat", "1"],
    "continuous": ["--rows", "100", "--columns", "2", "--methods", "mondrian"],
    "frontier": ["--k", "5", "10", "--only", "bound", "mondrian"],
    "linked": ["--people", "60", "--k", "5", "--prices", "1", "--effort", "fast"],
    "quality": ["--k", "10", "--columns", "6", "--efforts", "fast", "--suppression", "50"],
    "scale": ["growth", "--rows", "400", "800", "--methods", "kacpc"],
    "shapes": ["--shapes", "iris", "--efforts", "fast"],
    "speed": ["--k", "10", "--columns", "6", "--methods", "kacpc", "--repeat", "1"],
}
SHOWN = {
    "checks": "k_anonymity",
    "continuous": "| mondrian",
    "frontier": "| mondrian | ",
    "linked": "linked, row_price 1",
    "quality": "auto, fast",
    "scale": "to the power of",
    "shapes": "| iris ",
    "speed": "kacpc",
}


def run(script: str, *arguments: str) -> str:
    """What a script prints in a process of its own, as are its cells."""
    command = [sys.executable, str(FOLDER / f"{script}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a script prints in this process, as are its cells: most of the time goes into starting others."""
    monkeypatch.syspath_prepend(FOLDER)

    def cell(module: str, function: str, timeout: float, **asked: Any) -> Any:
        found = getattr(importlib.import_module(module), function)
        return json.loads(json.dumps(found(**json.loads(json.dumps(asked, default=str)))))

    def ran(script: str, *arguments: str) -> str:
        file = str(FOLDER / f"{script}.py")
        monkeypatch.setattr(sys, "argv", [file, *arguments])
        monkeypatch.setattr(importlib.import_module("cells"), "run", cell)
        runpy.run_path(file, run_name="__main__")
        return capsys.readouterr().out

    return ran


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_answers_help(script: str, run_here: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_here(script, "--help")
    assert ended.value.code == 0
    assert f"python benchmarks/{script}.py" in capsys.readouterr().out


@pytest.mark.sweep
@pytest.mark.parametrize("script", SMALL)
def test_small_cell_runs_and_replaces_its_section_only(
    script: str, tmp_path: Path, run_here: Callable[..., str]
) -> None:
    file = tmp_path / "results.md"
    section = "scale growth" if script == "scale" else script
    file.write_text(f"before\n\n<!-- {section} -->\nold\n<!-- end of {section} -->\n\nafter\n")
    # A folder without Adult: the generator serves, as on a reader's machine.
    common = ["--data", str(tmp_path), "--sample", "200", "--write", str(file)]
    printed = run_here(script, *SMALL[script], *common)
    written = file.read_text()
    assert (written[:7], written[-7:]) == ("before\n", "\nafter\n")
    assert "old" not in written
    assert SHOWN[script] in printed
    assert SHOWN[script] in written
    assert str(tmp_path) not in written, "no paths of the machine in a document"
    assert "Error" not in written, "a cell failed"


@pytest.mark.nightly
def test_two_tabs_play_on_a_small_table() -> None:
    printed = run("studio", "--rows", "500", "--rounds", "2")
    assert "| release |" in printed
    assert "median of each quarter of the rounds, MiB: " in printed


def test_failing_cell_is_shown_in_its_row(tmp_path: Path) -> None:
    common = ["--data", str(tmp_path), "--methods", "kacpc"]
    printed = run("scale", "large", "--rows", "400", "--k", "401", *common)
    assert re.search(r"\| kacpc +\| \S*Error: ", printed)


def test_document_has_every_section() -> None:
    text = (FOLDER.parent / "docs" / "BENCHMARKS.md").read_text()
    for section in (
        "speed",
        "quality",
        "checks",
        "frontier",
        "linked",
        *(f"scale {p}" for p in ("growth", "methods", "tables", "large", "memory")),
    ):
        assert text.count(f"<!-- {section} -->") == text.count(f"<!-- end of {section} -->") == 1, section
