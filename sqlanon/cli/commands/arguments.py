"""What several commands take, and the database they work on."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.errors import CatalogError, PolicyError, did_you_mean
from sqlanon.keys import VARIABLE
from sqlanon.policy.options import ASKED, MAX_UNIQUE
from sqlanon.releases.publishing import refuse
from sqlanon.sqltext import listed_names, literal, name, query_or_none, split_name
from sqlanon.udfs.models import MODELS

QUOTED = re.compile(r"'((?:[^']|'')+)'|\"([^\"]+)\"")
"""What a query has in quotes: files, among others."""
Group = argparse.ArgumentParser | argparse._ArgumentGroup


def add_database(parser: argparse.ArgumentParser, help: str = "the DuckDB database", required: bool = False) -> None:
    parser.add_argument("--db", metavar="FILE", help=help, required=required)


def add_strict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="exit 1 on warnings, too, and on what could not be tried")


def add_publishing(parser: Group) -> None:
    """How a file is published."""
    parser.add_argument("--formulas", action="store_true", help="leave text in a csv file that spreadsheets would run")
    share = f"share of rows that may be unique with the kept columns in a published file (default {MAX_UNIQUE:g})"
    parser.add_argument("--max-unique", type=float, default=MAX_UNIQUE, metavar="SHARE", help=share)


def publishing(arguments: argparse.Namespace) -> dict[str, Any]:
    """What add_publishing adds, as arguments of `release.publish`."""
    return {"formulas": arguments.formulas, "max_unique": arguments.max_unique}


def add_key_file(parser: Group) -> None:
    help = f"the key of pseudonyms, made by sqlanon key (default: {VARIABLE} of the environment)"
    parser.add_argument("--key-file", type=Path, metavar="FILE", help=help)


def asked_database(arguments: argparse.Namespace, source: str | None = None) -> sqlanon.Connection:
    """The database, with its key if there is one. One that is not there is made, but not to look for a table in it."""
    if source is not None and query_or_none(source) is None and not Path(source).is_file():
        existing_database(arguments)
    key = sqlanon.read_key(arguments.key_file) if arguments.key_file is not None else None
    con = sqlanon.connect(arguments.db or ":memory:")
    sqlanon.set_key(con, key)
    return con


def existing_database(arguments: argparse.Namespace) -> None:
    """Raise if the database that is named is not there: opening it would make a new one."""
    if arguments.db is not None and not Path(arguments.db).is_file():
        folder = Path(arguments.db).parent
        near = [str(path) for path in sorted(folder.glob("*")) if path.suffix in (".duckdb", ".db")]
        raise CatalogError(f"There is no database '{arguments.db}'.{did_you_mean(str(arguments.db), near)}")


READING = ("encoding", "decimal", "delimiter", "sheet")
"""How a file is read."""


def add_reading(parser: argparse.ArgumentParser, which: str = "how the file of rows is read") -> None:
    """How a csv or Excel file is to be read, where DuckDB does not find out; `which` says of what file."""
    group = parser.add_argument_group("reading", which)
    group.add_argument("--encoding", help="the encoding of a csv file, such as latin-1 (default: utf-8)")
    group.add_argument("--decimal", metavar="SIGN", help="the decimal sign of a csv file: . or ,")
    group.add_argument("--delimiter", help="the delimiter of a csv file: , or ; or tab")
    group.add_argument("--sheet", help="the sheet of an Excel file")


def is_read_otherwise(arguments: argparse.Namespace) -> bool:
    """Does the user say how the source's file is to be read?"""
    return any(getattr(arguments, option) is not None for option in READING)


def source_query(arguments: argparse.Namespace, source: str) -> str:
    """The source, as a query where the user says how its file is to be read."""
    if not is_read_otherwise(arguments):
        return source
    return sqlanon.file_query(source, **{option: getattr(arguments, option) for option in READING})


def looked_up(arguments: argparse.Namespace, source: str, is_attached: bool) -> str:
    """A source of a command that only reads: a file as the user says it is to be read, a table of the attached
    database, or what DuckDB finds under the name."""
    if is_read_otherwise(arguments):
        return source_query(arguments, source)
    return attached(source) if is_attached else source


@contextmanager
def made_or_gone(arguments: argparse.Namespace) -> Iterator[None]:
    """A database that a failing command made is removed again."""
    path = None if arguments.db is None or Path(arguments.db).exists() else Path(arguments.db)
    try:
        yield
    except BaseException:
        for made in (path, path and path.with_name(f"{path.name}.wal")):
            if made is not None:
                made.unlink(missing_ok=True)
        raise


def add_quasi(parser: Group, default: str | None = None) -> None:
    """The quasi-identifiers, which are to be named unless there is a default."""
    said = "quasi-identifiers" if default is None else f"quasi-identifiers (default: {default})"
    parser.add_argument("--quasi", action="append", required=default is None, type=columns, metavar="A,B", help=said)


def add_models(parser: Group) -> None:
    """What may be asked of sensitive columns."""
    for option in ASKED:
        flag = f"--{option.name.replace('_', '-')}"
        if option.name in MODELS:
            parser.add_argument(flag, type=required, action=Required, metavar="[COLUMN=]NUMBER", help=option.help)
        else:
            kind = {"type": number} if not option.choices else {"choices": option.choices}
            parser.add_argument(flag, help=option.help, **kind)


class Required(argparse.Action):
    """A model's flag: one number for all sensitive columns, or repeated, one for each column that is named."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        column, value = values
        before = getattr(namespace, self.dest)
        if (column is None) != (not isinstance(before, dict)) and before is not None:
            parser.error(f"argument {option_string}: name a column each time, or give one number for all")
        setattr(namespace, self.dest, value if column is None else {**(before or {}), column: value})


def required(text: str) -> tuple[str | None, float]:
    """What a model requires: a number, or of one column COLUMN=NUMBER."""
    column, value = pair(text) if "=" in text else (None, text)
    return column, number(value)


def columns(text: str) -> list[str]:
    """A comma-separated list of names; double quotes protect a comma."""
    return listed_names(text)


def pair(text: str) -> tuple[str, str]:
    key, equals, value = text.rpartition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not COLUMN=VALUE")
    return key, value


def number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers, such as 5,10,20") from None


def numbers(text: str) -> list[float]:
    return [number(part) for part in text.split(",")]


def flat(lists: list[list[str]] | None) -> list[str]:
    return [column for part in lists or [] for column in part]


def weight(column: str, text: str) -> float:
    try:
        return number(text)
    except argparse.ArgumentTypeError:
        raise PolicyError(f"--weight: '{column}' must have a number above 0") from None


def require_database(arguments: argparse.Namespace, stored: str | None) -> None:
    """Raise if something is to be stored and there is nowhere to store it."""
    if stored is not None and arguments.db is None:
        raise PolicyError(
            f"'{stored}' would be stored in a database in memory and be gone at once. Add --db FILE, or leave the name "
            "out and write a file with -o FILE"
        )


def require_writable(con: sqlanon.Connection, arguments: argparse.Namespace, source: str) -> None:
    """Raise if the file of -o cannot be written: --replace overwrites a file, but never one that is anonymized, which a
    query may name anywhere."""
    refuse(con.duckdb, arguments.output, arguments.replace)
    texts = (
        [source]
        if query_or_none(source) is None
        else [text.replace("''", "'") or other for text, other in QUOTED.findall(source)]
    )
    found = (file for text in texts for file in (text, *glob(text, recursive=True)))  # noqa: PTH207 (Path.glob has one folder)
    read = [file for file in found if Path(file).is_file()]
    if arguments.output.exists() and any(arguments.output.samefile(file) for file in read):
        raise CatalogError(f"'{arguments.output}' is what is anonymized: write the release to another file")


def attach(con: sqlanon.Connection, arguments: argparse.Namespace, sources: Sequence[str], command: str) -> bool:
    """Attach the database, if one is named, as `checked`; nothing is written to it."""
    if arguments.db is None:
        for source in sources:
            if source.lower().endswith((".duckdb", ".db")):
                raise CatalogError(f"Which table of '{source}'? sqlanon {command} TABLE --db {source}")
        return False
    existing_database(arguments)
    con.execute(f"attach {literal(arguments.db)} as checked (read_only)").fetchall()
    return True


def attached(table: str) -> str:
    """The table's name in the attached database, in full."""
    parts = split_name(table) or [table]
    schema = parts[-2] if len(parts) > 1 else "main"
    return f"checked.{name(schema)}.{name(parts[-1])}"


def create_hierarchy(con: sqlanon.Connection, hierarchy: str, definition: dict[str, Any]) -> None:
    """Make a hierarchy as a TOML file or the command line defines it."""
    try:
        sqlanon.create_hierarchy(con, hierarchy, **definition)
    except TypeError as problem:
        raise PolicyError(f"[hierarchy.{hierarchy}]: {problem}") from None
