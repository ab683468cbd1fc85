"""Every file of sql/ is SQL as it lies there, says what a row of it is, and names the steps that it reads."""

import re
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import TokenType

from sqlanon.sqltext import FOLDER, PLACEHOLDER, fill, literal, render

FILES = sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*.sql"))
STEPS = [file for file in FILES if file.startswith("steps/")]
SHOWN = "steps/report/check_"
"""Queries that a report shows, for readers to run: in upper case and without a comment."""


class Macros(DuckDB):
    """DuckDB with what sqlglot does not know of it: parameters of macros that have a default."""

    class Parser(DuckDB.Parser):
        def _parse_function_parameter(self) -> exp.Expression | None:
            parameter = super()._parse_function_parameter()
            if self._match(TokenType.COLON_EQ):
                self._parse_disjunction()
            return parameter


def read(file: str) -> str:
    return (FOLDER / file).read_text(encoding="utf-8")


def parsed(file: str) -> list[exp.Expression]:
    has_defaults = file.startswith("macros/") and ":=" in read(file)
    trees = sqlglot.parse(read(file), dialect=Macros if has_defaults else "duckdb")
    return [tree for tree in trees if tree is not None]


def opening(file: str) -> str:
    """The comment before the statement."""
    lines = []
    for line in read(file).splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)


def test_nothing_lies_outside_of_the_three_folders() -> None:
    assert {file.split("/")[0] for file in FILES} == {"steps", "macros", "catalog"}


@pytest.mark.parametrize("file", FILES)
def test_sqlglot_parses_the_file_as_it_lies_there(file: str) -> None:
    trees = parsed(file)
    assert trees
    assert not any(tree.find(exp.Command) for tree in trees), "sqlglot gave up on it"


@pytest.mark.parametrize("file", FILES)
def test_a_file_opens_by_saying_what_it_makes(file: str) -> None:
    if file.startswith(SHOWN):
        assert read(file).startswith("SELECT ")
    else:
        assert opening(file).rstrip().endswith((".", "__about__"))


@pytest.mark.parametrize("file", STEPS)
def test_a_step_declares_the_steps_that_it_reads(file: str) -> None:
    found = re.search(r"Reads: ([\w, ]+)\.$", opening(file))
    declared = set(found[1].split(", ")) if found else set()
    trees = parsed(file)
    tables = {
        table.name
        for tree in trees
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and not table.db and not PLACEHOLDER.fullmatch(table.name)
    }
    used = tables - {cte.alias for tree in trees for cte in tree.find_all(exp.CTE)}
    qualifiers = {column.table for tree in trees for column in tree.find_all(exp.Column)}
    assert used <= declared, f"say so: -- Reads: {', '.join(sorted(used))}."
    assert declared <= used | qualifiers, "it does not read all of them"


@pytest.mark.parametrize("folder", ["steps", "macros"])
def test_no_two_files_have_the_same_name(folder: str) -> None:
    names = [Path(file).stem for file in FILES if file.startswith(folder)]
    assert sorted(names) == sorted(set(names))


def test_a_macro_file_is_named_after_its_macro() -> None:
    for file in FILES:
        found = re.search(r"create or replace macro anon\.(\w+)\(", read(file))
        assert bool(found) == (file.startswith("macros/") and not file.endswith("/planner_query.sql")), file
        if found and not PLACEHOLDER.fullmatch(found[1]):
            assert found[1] == Path(file).stem


def test_what_looks_like_a_placeholder_in_a_name_stays() -> None:
    assert fill("select __columns__, {8}", {"columns": '"__k__"', "k": "5"}) == 'select "__k__", {8}'
    assert render("steps/report/check_k.sql", relation="t", printed='"{a} __relation__"').endswith(
        'FROM t GROUP BY "{a} __relation__");'
    )


def test_a_missing_fragment_is_an_error() -> None:
    with pytest.raises(KeyError, match="printed"):
        render("steps/prove/proof.sql", released="t")


def test_a_literal_is_filled_as_well() -> None:
    """The text of a query inside a macro: model_query takes the steps' placeholders for its own arguments."""
    assert fill(literal("select __c__ || 'x'"), {"c": "' || c || '"}) == "'select ' || c || ' || ''x'''"
