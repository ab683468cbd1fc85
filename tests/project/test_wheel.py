"""What is built holds what the tree holds."""

import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(
        "build" not in {found.name for found in distributions()}, reason="the package build is not installed"
    ),
    pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="not in a checkout"),
]


def tree(folder: str) -> set[str]:
    """The folder's files; make test links the cores into the package, those are not the package's own."""
    files = (file for file in (ROOT / folder).rglob("*") if file.is_file() and not file.is_symlink())
    return {file.relative_to(ROOT).as_posix() for file in files if "__pycache__" not in file.parts}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)], check=True, capture_output=True)
    return out


def test_wheel_holds_the_package_the_sql_and_the_cores(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    content = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = tree("sqlanon") | {f"sqlanon/{file}" for file in tree("sql") | tree("udfs")}
    assert content == expected


def test_wheel_holds_what_the_studio_shows_and_the_licence_of_htmx(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        content = set(archive.namelist())
        licence = archive.read("sqlanon/studio/static/htmx.LICENSE.txt").decode()
        script = archive.read("sqlanon/studio/static/htmx.min.js")
    assert "Permission to use, copy, modify, and/or distribute this software" in licence
    assert script == (ROOT / "sqlanon/studio/static/htmx.min.js").read_bytes()
    named = set()
    for file in (ROOT / "sqlanon/studio").rglob("*"):
        if file.suffix in (".py", ".html"):
            named |= set(re.findall(r"""["'](\w+\.html)["']""", file.read_text()))
    templates = {name for name in named if f"sqlanon/studio/templates/{name}" in content}
    assert {"base.html", "promise.html", "_ledger.html"} <= templates
    assert named - templates <= {"report.html"}
    for asset in ("studio.css", "studio.js", "icon.svg"):
        assert f"sqlanon/studio/static/{asset}" in content


def test_sdist_holds_all_folders(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        content = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for folder in ("sqlanon", "sql", "udfs", "tests", "examples"):
        assert tree(folder) <= content


def test_every_macro_file_is_loaded_and_every_step_is_used() -> None:
    from sqlanon.pipeline.macros import macros
    from sqlanon.udfs.models import DISTANCES, MODELS

    every = macros()
    assert len({macro.name for macro in every}) == len(every)
    for macro in every:
        assert f"create or replace macro anon.{macro.name}(" in macro.sql, macro.file
    templates = {file for file in tree("sql/macros") if "create or replace macro" in (ROOT / file).read_text()}
    assert templates == {f"sql/{macro.file}" for macro in every}
    python = "".join(file.read_text() for file in (ROOT / "sqlanon").rglob("*.py"))
    named = set(re.findall(r"""["'](?:steps|macros|catalog)/[^"']+\.sql["']""", python))
    for file in (file.strip("\"'") for file in named):
        assert "{" in file or (ROOT / "sql" / file).exists(), f"{file} is not there"
    of_people = (f"{model}_people" for model in MODELS if MODELS[model].counts_people)
    models = {f"steps/models/{model}.sql" for model in (*MODELS, *(f"t_{way}" for way in DISTANCES), *of_people)}
    for file in tree("sql") - templates:
        step = file.removeprefix("sql/")
        is_one_of_several = step.rsplit("_", 1)[0] + "_{" in python
        assert is_one_of_several or step in models or step in python, f"{step} is used by nobody"
