"""Publishing: a release in a new file that holds nothing else, verified on what was read back from it."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.engine import is_in_transaction, our_errors, run
from sqlanon.errors import BrokenPromiseError, CatalogError, PolicyError
from sqlanon.loading import MACROS
from sqlanon.models import macro_fragments
from sqlanon.opening import open_database
from sqlanon.sqltext import fold, is_path, literal, name, render, text

FORMATS = (".duckdb", ".csv", ".parquet")
ABOUT = "about"
"""The table of a .duckdb file that says what holds of the release."""
ABOUT_TYPES = {
    "property": "varchar",
    "k": "bigint",
    "l": "double",
    "method": "varchar",
    "loss": "double",
    "rows": "bigint",
    "classes": "bigint",
    "suppressed": "bigint",
    "left_out": "bigint",
    "ranges": "varchar",
    "sqlanon": "varchar",
}
"""All that a published file says of its release."""
NESTED = ("STRUCT(", "UNION(", "ENUM(")
"""How types begin that a csv file holds as text."""
CSV = "delimiter ',', quote '\"', escape '\"', nullstr '', header true"
_numbers = itertools.count(1)

Tables = Mapping[str, str]
"""The tables of a file by their names, and the relations that they come from or are read through."""


def refuse(con: duckdb.DuckDBPyConnection, path: str | Path, replace: bool = False) -> Path:
    """The file to write, or an error that says why it cannot be."""
    target = Path(path)
    if not is_path(target):
        raise PolicyError(f"{str(target)!r} is no path of a file")
    if target.suffix.lower() not in FORMATS:
        raise PolicyError(f"'{target}' must end in {FORMATS[0]}, {' or '.join(FORMATS[1:])}")
    if not target.parent.is_dir():
        raise CatalogError(f"There is no folder '{target.parent}'")
    is_open = run(con, "select path from duckdb_databases() where path is not null")
    if target.exists() and any(Path(other).exists() and target.samefile(other) for (other,) in is_open):
        raise CatalogError(f"'{target}' is an open database: publish to another file")
    if target.is_dir() or (target.exists() and not replace):
        raise CatalogError(f"'{target}' exists already: nothing is overwritten unless replace is asked for")
    if (wal := target.with_name(f"{target.name}.wal")).exists():
        raise CatalogError(f"'{wal}' is there, so '{target}' is in use or was not closed: publish to another file")
    return target


def publish(
    con: duckdb.DuckDBPyConnection,
    tables: Tables,
    path: str | Path,
    about: Mapping[str, Any],
    proof: object,
    prove: Callable[[Tables], object],
    replace: bool = False,
) -> None:
    """Write tables to a new file: beside its place first, read back and verified there, then renamed, or not at all.

    `prove` must find of the file's tables what was found of those that are written, the `proof`.
    """
    target = refuse(con, path, replace)
    suffix = target.suffix.lower()
    if is_in_transaction(con):
        raise CatalogError("A transaction is open, and what it made may still be undone: COMMIT, then publish")
    if ABOUT in map(fold, tables) and suffix == ".duckdb":
        raise CatalogError(f"The file has a table '{ABOUT}' of its own: store the release under another name")
    if len(tables) > 1 and suffix != ".duckdb":
        raise PolicyError(f"The release has two tables ({', '.join(tables)}): publish them to a .duckdb file")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    write = {".duckdb": _write_duckdb, ".parquet": _write_parquet, ".csv": _write_csv}[suffix]
    try:
        with our_errors():
            write(con, tables, draft, about)
            with _read(con, tables, draft, suffix) as written:
                if prove(written) != proof:
                    raise BrokenPromiseError(f"What '{target.name}' would hold does not read back as the release")
        _put(draft, target, replace)
    finally:
        for left in (draft, draft.with_name(f"{draft.name}.wal")):
            left.unlink(missing_ok=True)


def open_readonly(path: str | Path) -> duckdb.DuckDBPyConnection:
    """Open a database for reading and nothing else: no other file, no network, no extension, no setting changed.

    For programs that pass on SQL which others wrote. Not even the database's own file can be read as bytes. What does
    not fit into memory fails, as there is no disk to spill to.
    """
    if not Path(path).is_file():
        raise CatalogError(f"There is no database '{path}'")
    config: dict[str, Any] = {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
    }
    con = open_database(path, read_only=True, config=config)
    run(con, "set disabled_filesystems = 'LocalFileSystem'")
    run(con, "set lock_configuration = true")
    return con


def _write_duckdb(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, about: Mapping[str, Any]) -> None:
    with _attached(con, draft) as database:
        for table, relation in tables.items():
            run(con, f"create table {database}.{name(table)} as {_shuffled(con, relation)}")
    with duckdb.connect(str(draft)) as file:
        run(file, "create schema anon")
        for macro in MACROS:
            if macro.startswith("checks/") and "sqlanon_" not in text(macro):
                run(file, render(macro, **macro_fragments()))
        columns = ", ".join(f"cast(${fact} as {kind}) as {name(fact)}" for fact, kind in ABOUT_TYPES.items())
        run(file, f"create table {ABOUT} as select {columns}", {fact: about[fact] for fact in ABOUT_TYPES})
        run(file, "checkpoint")


def _write_parquet(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, about: Mapping[str, Any]) -> None:
    (relation,) = tables.values()
    said = {fact: str(about[fact]) for fact in ABOUT_TYPES if about[fact] is not None}
    facts = ", ".join(f"{name(fact)}: {literal(value)}" for fact, value in said.items())
    options = f"format parquet, use_tmp_file false, kv_metadata {{{facts}}}"
    run(con, f"copy ({_shuffled(con, relation)}) to {literal(str(draft))} ({options})")


def _write_csv(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, about: Mapping[str, Any]) -> None:
    (relation,) = tables.values()
    options = f"format csv, use_tmp_file false, {CSV}"
    run(con, f"copy ({_shuffled(con, relation)}) to {literal(str(draft))} ({options})")


def _shuffled(con: duckdb.DuckDBPyConnection, relation: str) -> str:
    """The rows in an order that tells nothing. Enums become text: their type would list values that no row has. Minus
    zero, which equals zero but is printed otherwise, becomes zero."""
    written = []
    for column, kind in _types(con, relation).items():
        value = f"{name(column)} + 0" if kind in ("FLOAT", "DOUBLE") else name(column)
        written.append(f"cast({value} as {'varchar' if 'ENUM(' in kind else kind}) as {name(column)}")
    return f"select {', '.join(written)} from {relation} order by sqlanon_shuffle(1)"


def _types(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    return {row[0]: row[1] for row in run(con, f"describe from {relation}")}


@contextmanager
def _read(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, suffix: str) -> Iterator[Tables]:
    """The tables as the file holds them. In a csv file NULL is not the empty text."""
    file = literal(str(draft))
    if suffix == ".duckdb":
        with _attached(con, draft, ", read_only") as database:
            yield {table: f"{database}.{name(table)}" for table in tables}
        return
    ((table, relation),) = tables.items()
    if suffix == ".parquet":
        yield {table: f"read_parquet({file})"}
        return
    columns = ", ".join(
        f"{literal(column)}: {literal('VARCHAR' if kind.endswith(']') or kind.startswith(NESTED) else kind)}"
        for column, kind in _types(con, relation).items()
    )
    options = "auto_detect = false, delim = ',', quote = '\"', escape = '\"', nullstr = '', header = true"
    yield {table: f"read_csv({file}, columns = {{{columns}}}, {options}, allow_quoted_nulls = false)"}


@contextmanager
def _attached(con: duckdb.DuckDBPyConnection, file: Path, options: str = "") -> Iterator[str]:
    database = f"sqlanon_file_{next(_numbers)}"
    run(con, f"attach {literal(str(file))} as {database} (type duckdb{options})")
    try:
        yield database
    finally:
        run(con, f"detach {database}")


def _put(draft: Path, target: Path, replace: bool) -> None:
    """Give the finished file its name, once it is on the disk."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    if replace:
        draft.replace(target)
    else:
        try:
            os.link(draft, target)  # unlike renaming, never over a file that has come meanwhile
        except FileExistsError:
            raise CatalogError(f"'{target}' has come meanwhile: nothing is overwritten") from None
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
