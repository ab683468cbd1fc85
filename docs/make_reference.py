"""Writes docs/reference.md from the code: options, methods, macros, tables, statements, commands, Python names.

python docs/make_reference.py writes it; a test fails where it is not up to date or lacks something.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon import errors
from sqlanon.cli.main import COMMANDS, parser
from sqlanon.pipeline.macros import Macro, macros
from sqlanon.policy.options import ASKED
from sqlanon.policy.policy import OPTIONS, Policy
from sqlanon.samples import create
from sqlanon.sqltext import FOLDER
from sqlanon.statements import parse
from sqlanon.udfs.methods import METHODS

PAGE = Path(__file__).resolve().parent / "reference.md"
KINDS = {
    "Checks": ("checks", "k_map"),
    "Risk": ("risk", "detect", "audit"),
    "Refresh": ("status",),
    "Hierarchies": ("hierarchy", "suggest_hierarchy"),
    "Anonymize": ("methods", "anonymize", "explain", "diff"),
    "Measures": ("utility", "measure", "lower_bound"),
}
"""What macros are for: those of a folder of sql/macros, or single ones of sql/macros/planned."""
QUERIES = ("risk_query",)
"""Macros outside of sql/macros/helpers that others are made of."""


def reference() -> str:
    """The page."""
    parts = [*_head(), *_options(), *_methods(), *_macros(), *_measures(), *_tables(), *_statements(), *_commands()]
    return "\n".join([*parts, *_python(), *_errors()]).rstrip() + "\n"


def _head() -> Iterator[str]:
    yield "# Reference\n"
    yield (
        "Generated from the code by `python docs/make_reference.py`. The [how-to guides](howto/interfaces.md) show how "
        "to use all this.\n"
    )


def _errors() -> Iterator[str]:
    yield "## Errors\n"
    yield (
        "Every error that a user can correct is a `sqlanon.SqlanonError`, whose message says what to do. After an "
        "error nothing has changed: a release, hierarchy or file is stored completely or not at all, even if the "
        "process is killed.\n"
    )
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SqlanonError)]
    yield _table(
        ("class of `sqlanon.errors`", "when"), ((f"`{kind.__name__}`", inspect.getdoc(kind)) for kind in kinds)
    )
    yield (
        "Several threads may work on one database, each with a connection of its own (`con.cursor()`). Several "
        "processes may read one file, but while one of them writes, no other can open it. In plain SQL, "
        "`anon.anonymize(...)` raises DuckDB's errors with the same messages.\n"
    )


def _table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [list(header), *([str(cell) for cell in row] for row in rows)]
    cells = [[re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in line] for line in lines]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def meanings() -> dict[str, str]:
    """What each option of a policy means: from the docstring of Policy, or the option's own help."""
    found: dict[str, str] = {}
    text = inspect.cleandoc(Policy.__doc__ or "").split("----------", 1)[1]
    for entry in re.split(r"\n(?=\w)", text.strip()):
        names, _, meaning = entry.partition(": ")
        for name in re.findall(r"\w+", names):
            found[name] = meaning
    return found | {option.name: f"{option.help}: {option.range}" for option in ASKED}


def _options() -> Iterator[str]:
    yield "## Options of a policy\n"
    yield (
        "The options have the same names in SQL (`FROM anon.anonymize('patients', quasi := [...], k := 5)`),\nin "
        "statements (`OPTIONS (quasi = [...], k = 5)`), in Python\n(`sqlanon.anonymize(con, "
        "'patients', quasi=[...], k=5)`), in policy files and, with dashes, on the command line.\n"
    )
    meaning = meanings()
    defaults = {name: field.default for name, field in Policy.__dataclass_fields__.items()}
    rows = []
    for option in OPTIONS:
        default = defaults[option]
        is_plain = isinstance(default, (str, int, float)) and default is not None
        rows.append((f"`{option}`", f"`{default}`" if is_plain else "", meaning[option]))
    yield _table(("option", "default", "meaning"), rows)


def _methods() -> Iterator[str]:
    yield "## Methods\n"
    rows = ((f"`{m.name}`", m.use, m.cost, m.paper) for m in METHODS.values())
    yield _table(("method", "good at", "cost", "paper"), rows)
    yield "### Parameters of methods\n"
    parameters = ((p, m.name) for m in METHODS.values() for p in m.parameters)
    rows = ((f"`{p.name}`", of, f"`{p.default}`", p.range, p.help) for p, of in parameters)
    yield _table(("parameter", "of", "default", "may be", "meaning"), rows)


def _macros() -> Iterator[str]:
    yield "## Macros\n"
    yield (
        "In the schema `anon` after `sqlanon.load(con)`. `t` is a table's name as text. An argument with `:=` may be "
        "left out.\nMacros that return a table are used after FROM.\n"
    )
    every = macros()
    helpers = [macro.name for macro in every if macro.folder == "helpers" or macro.name in QUERIES]
    for heading, whose in KINDS.items():
        yield f"### {heading}\n"
        for macro in every:
            which = macro.name if macro.folder == "planned" else macro.folder
            if which in whose and macro.name not in helpers:
                yield _macro(macro)
    yield "### Helper macros\n"
    yield "Other macros use these: " + ", ".join(f"`anon.{helper}`" for helper in helpers) + ".\n"


def _macro(macro: Macro) -> str:
    opening = itertools.takewhile(lambda line: line.startswith("--"), macro.sql.splitlines())
    comment = " ".join(line.removeprefix("--").strip() for line in opening)
    found = re.search(r"create or replace macro (anon\.\w+)\((.*?)\) as (table)?", macro.sql, re.DOTALL)
    assert found, macro.name
    arguments = re.sub(r"\s+", " ", found[2]).strip()
    if macro.name == "anonymize":
        arguments = "source, ...options of a policy"
    call = f"{'FROM ' if found[3] else ''}{found[1]}({arguments})"
    return f"`{call}`\n:   {textwrap.fill(comment, 116, subsequent_indent='    ', break_on_hyphens=False)}\n"


def _measures() -> Iterator[str]:
    yield "### Measures of anon.utility and anon.measure\n"
    with sqlanon.connect() as con:
        create(con, "patients")
        sqlanon.anonymize(con, "patients", ["age", "sex"], 4, sensitive=["diagnosis"], name="p", method="kacpc")
        utility = con.execute("select measure, formula, range, better, source from anon.utility('p')").fetchall()
        risk = con.execute("select measure, formula, source from anon.risk('p', ['age', 'sex'])").fetchall()
    yield _table(("measure", "formula", "range", "better", "from"), [(f"`{row[0]}`", *row[1:]) for row in utility])
    yield "### Measures of anon.risk\n"
    yield _table(("measure", "formula", "from"), [(f"`{name}`", formula, of or "") for name, formula, of in risk])


def _tables() -> Iterator[str]:
    yield "## Tables of the schema anon\n"
    for file in sorted((FOLDER / "catalog").glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        for table, body in re.findall(r"create table if not exists (anon\.\w+) \((.*?)\n\);", text, re.DOTALL):
            yield f"### {table}\n"
            columns = re.findall(r"^ {4}(\w+) (\w+(?:\[\])?)(?: not null)?,?[ \t]*(?:-- (.*))?$", body, re.MULTILINE)
            yield _table(("column", "type", "meaning"), [(f"`{name}`", kind, note) for name, kind, note in columns])


def _statements() -> Iterator[str]:
    yield "## Statements\n"
    yield "On `sqlanon.connect()`, in `sqlanon shell` and in scripts for `sqlanon run`.\n"
    grammar = (parse.__doc__ or "").split("\n\n", 1)[1].strip()
    yield f"```text\n{grammar}\n```\n"


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and subcommand with its parser."""
    (subparsers,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    for name, command in subparsers.choices.items():
        yield name, command
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ((f"{name} {inner}", found) for inner, found in action.choices.items())


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    yield "Exit codes: 0 success, 1 a promise is broken, 2 bad input, 130 interrupted.\n"
    for name, command in commands():
        yield f"### sqlanon {name}\n"
        what = (command.description or "").strip()
        yield f"{what[:1].upper()}{what[1:]}.\n" if what else ""
        if name in COMMANDS:
            yield f"```text\n{COMMANDS[name][1]}\n```\n"
        rows = [
            (f"`{_shown(action)}`", (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%"))
            for action in command._actions
            if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
        ]
        if rows:
            yield _table(("argument", "meaning"), rows)


def _shown(action: argparse.Action) -> str:
    flags = ", ".join(action.option_strings)
    takes = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else None)
    if not flags:
        return str(takes or action.dest)
    if action.nargs == 0:
        return flags
    return f"{flags} {takes or action.dest.upper()}"


def _python() -> Iterator[str]:
    yield "## Python\n"
    for name in sqlanon.__all__:
        if name == "__version__":
            continue
        thing = getattr(sqlanon, name)
        yield f"### sqlanon.{name}\n"
        is_error = isinstance(thing, type) and issubclass(thing, Exception)
        if not is_error and name not in ("Policy",):
            yield f"```text\n{_signature(name, thing)}\n```\n"
        yield _doc(thing)
        if isinstance(thing, type) and not is_error:
            yield from _methods_of(name, thing)


def _signature(name: str, thing: Any) -> str:
    text = f"{name}{inspect.signature(thing)}".replace("'", "")
    return text if len(text) <= 110 else re.sub(r", (?=\*?\w+(:|,|=))", ",\n    ", text)


def _doc(thing: Any) -> str:
    text = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r"^Parameters\n-+\n(.*)", "The options are those above.", text, flags=re.DOTALL | re.MULTILINE) + "\n"


def _methods_of(name: str, thing: type) -> Iterator[str]:
    for attribute, member in sorted(vars(thing).items()):
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if attribute.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        call = attribute if isinstance(member, property) else f"{attribute}{inspect.signature(function)}"
        call = re.sub(r"\((self|cls)(, )?", "(", call).replace("'", "")
        doc = textwrap.fill(" ".join(function.__doc__.split()), 116, subsequent_indent="    ", break_on_hyphens=False)
        yield f"`{name}.{call}`\n:   {doc}\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
