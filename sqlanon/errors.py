"""What sqlanon raises. Messages say what was asked, what was found and what to try, and never show a person's value.

What to try is said in the words of the interface in which it is read: `option`, `call` and `in_words` give the flag,
the SQL or the Python of the same thing. Whoever takes a request says which interface it came by (`read_in`).
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

SAID = "sqlanon: "
"""How the error of a query begins that sqlanon wrote itself. Only such text passes; DuckDB's own may show a value."""


class SqlanonError(Exception):
    """Something in the request or the data that the user can put right."""


class PolicyError(SqlanonError):
    """The policy asks for something that does not exist or does not fit together."""


class CatalogError(SqlanonError):
    """A table, column, hierarchy or release that is not there, or already is."""


class HierarchyError(SqlanonError):
    """A hierarchy that is not a tree, or does not cover its column."""


class StatementError(SqlanonError):
    """A sqlanon statement that does not parse: carries line and column."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"{message} (line {line}, column {column})")
        self.line = line
        self.column = column


class DataError(SqlanonError):
    """The rows themselves stand in the way: too few for k, values that are not finite, a source that is gone."""


class ConflictError(SqlanonError):
    """Somebody else is changing the same thing, or has the file open; nothing was stored, and trying again may help."""


class ResourceError(SqlanonError):
    """Memory, disk or a file's permissions stand in the way; nothing was stored."""


class BrokenPromiseError(SqlanonError):
    """The released table does not have the property that was required; nothing was stored."""

    mark = "Broken promise: "
    """How the error of a query begins that finds so by itself."""


class InterruptedRunError(SqlanonError):
    """The user stopped the run; nothing was stored."""


class TimeLimitError(SqlanonError):
    """A method took longer than it was given; nothing was stored."""


@dataclass(frozen=True)
class Interface:
    """Where a message is read; on the command line with the database that the command was given."""

    name: str
    database: str | None = None
    sign: str = " = "
    """How SQL gives an option its value: statements by =, functions by :=."""


PYTHON, SQL, SQL_FUNCTION = Interface("python"), Interface("sql"), Interface("sql", sign=" := ")
PAGE = Interface("page")
"""The studio's pages, where columns have roles and what is done next is a screen."""
ON_PAGE = {
    "quasi": "Quasi-identifier",
    "sensitive": "Sensitive",
    "keep": "Kept",
    "unsafe_keep": "unsafe_keep of a policy file",
    "pseudonymize": "Pseudonym",
    "entity": "Person",
    "hierarchies": "Hierarchies",
    "ranges": "Snapped ranges",
    "max_suppression": "Rows that may be suppressed",
}
"""What options are called there, where not by their own names."""
SCREENS = {"audit": "Result", "detect": "Columns", "publish": "Release"}
"""The screen that answers what a function does; the one of hierarchies answers what functions of theirs do."""
_reader: ContextVar[Interface] = ContextVar("reader", default=PYTHON)


def command_line(database: str | None = None) -> Interface:
    """The command line, with the --db of the command."""
    return Interface("command line", database)


def policy_file(database: str | None = None) -> Interface:
    """A policy file that a command was given, with its --db: options are TOML, and what to do is a command."""
    return Interface("policy file", database)


def reader() -> Interface:
    """The interface by which this thread's request came."""
    return _reader.get()


@contextmanager
def read_in(interface: Interface) -> Iterator[None]:
    """Messages made in here are read in this interface."""
    token = _reader.set(interface)
    try:
        yield
    finally:
        _reader.reset(token)


def in_words(*, python: str, sql: str, command: str, page: str | None = None) -> str:
    """What is said differently in each interface; what a page cannot do is a command."""
    on_page = f"in a terminal, {command}" if page is None else page
    return {"python": python, "sql": sql, "page": on_page}.get(_reader.get().name, command)


FLAGS = {"hierarchies": "hierarchy", "weights": "weight", "limits": "limit"}
"""Options whose flag is given once for each column."""


def option(name: str, value: Any = True) -> str:
    """An option with its value: ``k=5``, ``k = 5`` or ``--k 5``."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if _reader.get().name == "policy file":
        return f"{name} = {_toml(value)}"
    flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
    if isinstance(value, Mapping):
        given = " ".join(f"{flag} {column}={_range(one)}" for column, one in value.items())
    elif isinstance(value, (list, tuple)):
        given = f"{flag} {shlex.quote(','.join(map(str, value)))}"
    else:
        given = flag if value is True else f"{flag} {shlex.quote(str(value))}"
    written = "true" if value is True else f"{value!r}"
    sql = f"{name}{_reader.get().sign}{written}"
    listed = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    page = ON_PAGE.get(name, name) + ("" if value is True else f" {listed}")
    return in_words(python=f"{name}={value!r}", sql=sql, command=given, page=page)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _range(value: Any) -> str:
    """The value of a column's flag: 5..20 for its two ends."""
    return f"{value.get('finest', '')}..{value.get('coarsest', '')}" if isinstance(value, Mapping) else str(value)


def option_name(name: str) -> str:
    """An option without a value: ``unsafe_keep`` or ``--unsafe-keep``."""
    is_flag = _reader.get().name == "command line"
    if _reader.get().name == "page":
        return ON_PAGE.get(name, name)
    return f"--{FLAGS.get(name, name).replace('_', '-')}" if is_flag else name


def call(function: str, *arguments: str, command: str | None = None) -> str:
    """A call: ``sqlanon.audit(con, 't')``, ``FROM anon.audit('t')`` or ``sqlanon audit t --db FILE``."""
    listed = ", ".join("'" + argument.replace("'", "''") + "'" for argument in arguments)
    database = f" --db {shlex.quote(_reader.get().database or 'FILE')}"
    screen = SCREENS.get(function, "Hierarchies" if "hierarch" in function else None)
    shell = " ".join(["sqlanon", command or function.replace("_", " "), *map(shlex.quote, arguments)])
    return in_words(
        python=f"sqlanon.{function}(con, {', '.join(map(repr, arguments))})",
        sql=f"FROM anon.{function}({listed})",
        command=shell + database,
        page=None if screen is None else f"the screen {screen}",
    )


def reading(asked: str, parameter: str, value: str) -> str:
    """How a file is read otherwise: ``--decimal ,``, or by a query with that parameter of DuckDB's."""
    if _reader.get().name == "command line":
        return f"--{asked} {shlex.quote(value)}"
    return in_words(
        python=f"sqlanon.file_query(path, {asked}={value!r})",
        sql=f"FROM read_csv(..., {parameter} = '{value}')",
        command=f"source = \"FROM read_csv('FILE', {parameter} = '{value}')\"",
        page=f"sqlanon studio --{asked} {shlex.quote(value)}",
    )


def replacing(kind: str | None = None) -> str:
    """How something is replaced: a file where there is no kind of thing that CREATE OR REPLACE makes."""
    sql = "REPLACE" if kind is None else f"CREATE OR REPLACE {kind}"
    return in_words(python="replace=True", sql=sql, command="--replace", page="another name, or confirm it")


MANY = 25
"""With more names than these, only the one that was probably meant is shown."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'zip'?``, or nothing when no known name is near."""
    by_folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f" Did you mean '{by_folded[near[0]]}'?" if near else ""


def not_one_of(what: str, word: str, known: Iterable[str], plural: str | None = None) -> str:
    """``Unknown method 'kaka' (methods: kaca, kacpc). Did you mean 'kaca'?``"""
    return f"Unknown {what} '{word}'{among(plural or what + 's', word, list(known))}"


def among(plural: str, word: str, names: Sequence[str]) -> str:
    """`` (methods: kaca, kacpc). Did you mean 'kaca'?``; of many names only the one that was probably meant."""
    near = did_you_mean(word, names)
    if len(names) > MANY:
        return f".{near}" if near else f" ({plural}: {', '.join(names[:MANY])} and {len(names) - MANY:,} more)."
    return f" ({plural}: {', '.join(names)}).{near}" if names else f" (there are no {plural})."
