"""The notebooks run from top to bottom, and are stored as they ran: small outputs, and nothing of a machine in them.

`make notebooks` runs them again and stores what comes out.
"""

from __future__ import annotations

import json
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))
missing = [package for package in ("nbclient", "ipykernel", "matplotlib", "sklearn") if find_spec(package) is None]
needs_jupyter = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}; pip install '.[test]'")
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)

Cell = dict[str, Any]


def run(path: Path, folder: Path) -> Any:
    """The notebook after a run in a folder, without times, versions or names of the machine."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    metadata = notebook.metadata.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own about loops and folders; the kernel's go to the outputs
        NotebookClient(
            notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(folder)}}
        ).execute()
    notebook.metadata = metadata
    for cell in code_cells(notebook):  # a bar that was shown, and is gone
        cell["outputs"] = [output for output in cell["outputs"] if output.get("data", {}).get("text/plain") != ""]
    return notebook


def stored(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook: Any) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def forms(cell: Cell) -> list[tuple[str, list[str]]]:
    """What kinds of output a cell has, and in which forms."""
    return [(output["output_type"], sorted(output.get("data", {}))) for output in cell["outputs"]]


def verdicts(cell: Cell) -> list[str]:
    """How the attacks ended that a cell shows, in their order."""
    texts = ["".join(output.get("data", {}).get("text/plain", "")) for output in cell["outputs"]]
    return re.findall(r"\b(?:holds|open|BROKEN)$", "\n".join(texts), re.MULTILINE)


def test_there_are_two_notebooks() -> None:
    assert [path.name for path in NOTEBOOKS] == ["census.ipynb", "hospital.ipynb"]


@needs_jupyter
@pytest.mark.sweep
@each
def test_notebook_runs_without_a_warning_and_its_attacks_end_as_stored(path: Path, tmp_path: Path) -> None:
    ran, before = code_cells(run(path, tmp_path)), code_cells(stored(path))
    assert [output for cell in ran for output in cell["outputs"] if output.get("name") == "stderr"] == []
    assert [forms(cell) for cell in ran] == [forms(cell) for cell in before]
    assert [verdicts(cell) for cell in ran] == [verdicts(cell) for cell in before]
    assert sum(map(len, map(verdicts, ran))) >= 10


@each
def test_stored_notebook_was_run_in_order_and_is_small_and_tells_nothing_of_a_machine(path: Path) -> None:
    cells = code_cells(stored(path))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(not cell["metadata"] for cell in cells)
    assert path.stat().st_size < 300_000
    shown = [output.get("data", output) for cell in cells for output in cell["outputs"]]
    texts = json.dumps([{form: value for form, value in data.items() if form != "image/png"} for data in shown])
    assert not re.search(r"(?<![<\w])/(tmp|home|Users|root|var|usr|opt|work|private)/", texts)


if __name__ == "__main__":
    import tempfile

    import nbformat

    for found in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as scratch:
            nbformat.write(run(found, Path(scratch)), found)
