"""docs/reference.md is what the code says, and nothing is missing from it."""

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import sqlanon
from sqlanon.policy.options import PARAMETERS
from sqlanon.policy.policy import OPTIONS
from sqlanon.statements import parse
from sqlanon.udfs.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="not in a checkout")


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(maker: ModuleType) -> None:
    assert PAGE.read_text(encoding="utf-8") == maker.reference(), "run python docs/make_reference.py"


def test_every_macro_of_a_loaded_database_is_in_it() -> None:
    with sqlanon.connect() as con:
        found = con.execute(
            "select distinct function_name from duckdb_functions() where schema_name = 'anon'"
        ).fetchall()
        tables = con.execute("select table_name from duckdb_tables() where schema_name = 'anon'").fetchall()
    page = PAGE.read_text(encoding="utf-8")
    assert len(found) > 40
    assert [name for (name,) in found if not re.search(rf"anon\.{name}\b", page)] == []
    assert [name for (name,) in tables if f"### anon.{name}\n" not in page] == []


def test_every_option_method_and_parameter_is_in_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [word for word in (*OPTIONS, *PARAMETERS, *METHODS) if f"\n| `{word}` |" not in page] == []


def test_every_command_and_argument_is_in_it(maker: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, command in maker.commands():
        section = page.split(f"### sqlanon {name}\n")[1].split("\n### ")[0]
        flags = [flag for action in command._actions for flag in action.option_strings if flag not in ("-h", "--help")]
        assert [flag for flag in flags if not re.search(rf"[` ]{flag}[`, ]", section)] == [], name


def test_every_statement_is_in_it() -> None:
    words = {word for word in re.findall(r'"([A-Z]{3,})"', inspect.getsource(parse)) if word not in OTHERS}
    grammar = PAGE.read_text(encoding="utf-8").split("## Statements\n")[1].split("## Commands")[0]
    assert [word for word in words if word not in grammar] == []


OTHERS = ("ANONYMISED", *parse.QUOTED, "SEMICOLON", "NUMBER", "MAP", "TRUE", "FALSE", "NULL")
"""Kinds of tokens, and the words of an option's value."""


def test_every_exported_name_has_a_docstring_and_is_in_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in sqlanon.__all__:
        if name != "__version__":
            assert (getattr(sqlanon, name).__doc__ or "").strip(), name
            assert f"### sqlanon.{name}\n" in page
