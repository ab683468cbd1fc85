"""Files of released tables: written beside their place, read back, and put there whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.engine.patience import is_attached_elsewhere, until_free
from sqlanon.engine.session import run
from sqlanon.errors import CatalogError
from sqlanon.pipeline.macros import check_macros
from sqlanon.sqltext import fresh_name, literal, name

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
FORMULA = r"^[=+\-@\t\r]"
"""How text begins that a spreadsheet runs as a formula."""
Tables = Mapping[str, str]
"""The tables of a file by their names, and the relations that they come from or are read through."""


def write_duckdb(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, about: Mapping[str, Any]) -> None:
    with _attached(con, draft) as database:
        for table, relation in tables.items():
            run(con, f"create table {database}.{name(table)} as {_shuffled(con, relation)}")
    with until_free(lambda: duckdb.connect(str(draft)), is_attached_elsewhere) as file:
        run(file, "create schema anon")
        for macro in check_macros():
            run(file, macro.sql)
        columns = ", ".join(f"cast(${fact} as {kind}) as {name(fact)}" for fact, kind in ABOUT_TYPES.items())
        run(file, f"create table {ABOUT} as select {columns}", {fact: about[fact] for fact in ABOUT_TYPES})
        run(file, "checkpoint")


def write_parquet(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, about: Mapping[str, Any]) -> None:
    (relation,) = tables.values()
    said = {fact: str(about[fact]) for fact in ABOUT_TYPES if about[fact] is not None}
    facts = ", ".join(f"{name(fact)}: {literal(value)}" for fact, value in said.items())
    options = f"format parquet, use_tmp_file false, kv_metadata {{{facts}}}"
    run(con, f"copy ({_shuffled(con, relation)}) to {literal(str(draft))} ({options})")


def write_csv(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, about: Mapping[str, Any]) -> None:
    (relation,) = tables.values()
    options = f"format csv, use_tmp_file false, {CSV}"
    run(con, f"copy ({_shuffled(con, relation)}) to {literal(str(draft))} ({options})")


def defused(con: duckdb.DuckDBPyConnection, relation: str) -> str:
    """The relation with an apostrophe before text that a spreadsheet would run as a formula. Numbers as
    text are none."""
    columns = [
        f"case when regexp_matches(cast({name(column)} as varchar), {literal(FORMULA)}) "
        f"and try_cast(cast({name(column)} as varchar) as double) is null "
        f"then '''' || {name(column)} else cast({name(column)} as varchar) end as {name(column)}"
        if kind == "VARCHAR" or (kind.startswith("ENUM(") and kind.endswith(")"))
        else name(column)
        for column, kind in _types(con, relation).items()
    ]
    return f"(select {', '.join(columns)} from {relation})"


def _shuffled(con: duckdb.DuckDBPyConnection, relation: str) -> str:
    """The rows in random order. Enums become text: their type would list values that no row has. Minus
    zero, which equals zero but is released otherwise, becomes zero."""
    written = []
    for column, kind in _types(con, relation).items():
        value = f"{name(column)} + 0" if kind in ("FLOAT", "DOUBLE") else name(column)
        written.append(f"cast({value} as {'varchar' if 'ENUM(' in kind else kind}) as {name(column)}")
    return f"select {', '.join(written)} from {relation} order by sqlanon_shuffle(1)"


def _types(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    return {row[0]: row[1] for row in run(con, f"describe from {relation}")}


@contextmanager
def read(con: duckdb.DuckDBPyConnection, tables: Tables, draft: Path, suffix: str) -> Iterator[Tables]:
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
    database = fresh_name("file")
    attach = f"attach {literal(str(file))} as {database} (type duckdb{options})"
    until_free(lambda: run(con, attach), is_attached_elsewhere)
    try:
        yield database
    finally:
        run(con, f"detach {database}")


def _put_new(draft: Path, target: Path) -> None:
    """Give the file its name, never over a file that has come meanwhile."""
    taken = f"'{target}' was created in the meantime, and is not overwritten"
    try:
        os.link(draft, target)
    except FileExistsError:
        raise CatalogError(taken) from None
    except OSError:  # no hard links here: claim the name with an empty file, then rename over it
        try:
            target.touch(exist_ok=False)
        except FileExistsError:
            raise CatalogError(taken) from None
        draft.replace(target)


def put(draft: Path, target: Path, replace: bool) -> None:
    """Give the finished file its name, once it is on the disk."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    if replace:
        draft.replace(target)
    else:
        _put_new(draft, target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
