"""Every example that the README and the documentation show runs, and prints what it shows.

The blocks of a page run in order, in an empty folder: python sessions as doctests, sql as scripts on one connection,
sh as sqlanon's commands with exit code 0 unless `# exit 1` says otherwise, toml as policies (`# name.toml` stores
one). A block that cannot run says why, in a comment before it: <!-- not run: the reason -->.
"""

import contextlib
import doctest
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import pytest
import yaml

import sqlanon
from sqlanon.cli.main import main
from sqlanon.cli.shell import run_script
from sqlanon.policy.job import Job

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not shipped")
FENCE = re.compile(r"^(?P<before>[^\n]*)\n+```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN_ONLY = ("text", "")
"""Blocks of these languages are pictures and grammars; no example is hidden in one."""


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and text of each block that is to run."""
    text = "\n" + page.read_text(encoding="utf-8")
    assert text.count("\n```") == 2 * len(FENCE.findall(text)), "a fence that was not understood"
    for found in FENCE.finditer(text):
        if not re.fullmatch(r"<!-- not run: \S.{5,} -->", found["before"]):
            yield found["language"].strip(), found["text"]


class Session:
    """What the blocks of a page share."""

    def __init__(self, page: Path, demo: Callable[[], Path]) -> None:
        self.page, self.demo = page, demo
        self.names: dict[str, object] = {}

    @cached_property
    def con(self) -> sqlanon.Connection:
        """The connection of the page's SQL."""
        return sqlanon.connect()

    def close(self) -> None:
        if "con" in vars(self):
            self.con.close()

    def run(self, language: str, text: str) -> None:
        if language not in SHOWN_ONLY:
            getattr(self, f"run_{language}")(text)

    def run_python(self, text: str) -> None:
        examples = doctest.DocTestParser().get_doctest(text, self.names, self.page.name, str(self.page), 0)
        assert examples.examples, f"a python block without >>>: {text}"
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
        report = io.StringIO()
        runner.run(examples, out=report.write, clear_globs=False)
        self.names.update(examples.globs)
        assert runner.summarize(verbose=False).failed == 0, report.getvalue()

    def run_sql(self, text: str) -> None:
        run_script(self.con, text)

    def run_sh(self, text: str) -> None:
        for line in filter(None, map(str.strip, text.splitlines())):
            command, _, comment = line.partition("  #")
            words = shlex.split(command, comments=True)
            if words[:1] == ["make"]:
                assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(), line
                continue
            assert words[0] == "sqlanon", f"not run: {line}"
            expected = int(found[1]) if (found := re.search(r"exit (\d)", comment)) else 0
            assert self.command(words[1:]) == expected, line

    def command(self, words: list[str]) -> int:
        if words[:2] == ["demo", "--db"]:
            shutil.copy(self.demo(), words[2])
            return 0
        if ">" not in words:
            return main(words)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = main(words[: words.index(">")])
        Path(words[-1]).write_text(printed.getvalue(), encoding="utf-8")
        return code

    def run_toml(self, text: str) -> None:
        named = re.match(r"# (\S+\.toml)\n", text)
        file = Path(named[1] if named else "policy.toml")
        file.write_text(text, encoding="utf-8")
        assert Job.from_toml(file).source

    def run_yaml(self, text: str) -> None:
        assert isinstance(yaml.safe_load(text), (dict, list))

    def run_json(self, text: str) -> None:
        json.loads(text)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """The database that sqlanon demo makes, made when it is first asked for: it takes its time."""
    file = tmp_path_factory.mktemp("demo") / "demo.duckdb"

    def made() -> Path:
        assert file.exists() or main(["demo", "--db", str(file)]) == 0
        return file

    return made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_example_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: Callable[[], Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(page, demo)
    try:
        for language, text in blocks(page):
            session.run(language, text)
    finally:
        session.close()


def test_the_readme_shows_python_sql_and_commands_and_is_short() -> None:
    assert {"python", "sql", "sh"} <= {language for language, _ in blocks(README)}
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


def test_make_commands_of_the_readme_are_run_by_ci() -> None:
    shell = [text for language, text in blocks(README) if language == "sh"]
    targets = {word for text in shell for word in re.findall(r"^make (\w+)$", text, re.MULTILINE)}
    assert {"demo", "test"} <= targets
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(f"make {target}" in ci for target in targets)


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    session = Session(tmp_path / "page.md", lambda: tmp_path)
    with session.con:
        for language, text in (("python", ">>> 1 + 1\n3\n"), ("sh", "sqlanon methods  # exit 1\n"), ("sh", "ls\n")):
            with pytest.raises(AssertionError):
                session.run(language, text)
        with pytest.raises(Exception, match="nowhere"):
            session.run("sql", "FROM nowhere;")


def test_lines_of_the_documentation_fit() -> None:
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        long = [line for line in lines if len(line) > 120 and not line.lstrip().startswith(("|", "!["))]
        assert page.name == "reference.md" or not long, (page, long)  # that one is made by a program
