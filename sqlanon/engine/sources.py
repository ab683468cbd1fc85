"""Files as sources: how one is to be read, as a query, and what is in the way where it cannot be."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import duckdb

from sqlanon.errors import CatalogError, did_you_mean, option_name, reading
from sqlanon.sqltext import is_path, literal

TEXTS = (".csv", ".tsv", ".txt")
"""Files of separated values, which an encoding, a decimal sign and a delimiter go with."""
ENCODINGS = {"latin1": "latin-1", "iso-8859-1": "latin-1", "utf8": "utf-8", "utf16": "utf-16"}
"""Encodings under names that DuckDB does not know."""


def file_query(
    path: str | Path,
    *,
    encoding: str | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
) -> str:
    """The query that reads a file, to be given as a source: a csv file with its encoding, decimal sign and delimiter,
    an Excel file with its sheet. What is not given is found out by DuckDB."""
    if not is_path(path):
        raise CatalogError(f"{str(path)!r} is not the path of a file")
    text = str(path)
    stem = re.sub(r"\.(gz|zst)$", "", text.lower())
    given = {"encoding": encoding, "decimal": decimal, "delimiter": delimiter}
    asked = [option for option, value in given.items() if value is not None]
    if stem.endswith(".xlsx"):
        if asked:
            raise CatalogError(f"{' and '.join(asked)} go with csv files; '{path}' is an Excel file")
        return f"from read_xlsx({literal(text)}{'' if sheet is None else f', sheet = {literal(sheet)}'})"
    if sheet is not None:
        raise CatalogError(f"A sheet goes with Excel files (.xlsx); '{path}' is another file")
    if not asked:
        return f"from {literal(text)}"
    if not stem.endswith(TEXTS):
        raise CatalogError(f"{' and '.join(asked)} go with csv files (.csv, .tsv, .txt), not with '{path}'")
    if decimal is not None and decimal not in (",", "."):
        raise CatalogError(f"{option_name('decimal')} is {decimal!r}; it must be ',' or '.'")
    options = {
        "encoding": encoding and ENCODINGS.get(encoding.lower(), encoding.lower()),
        "decimal_separator": decimal,
        "delim": {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter),
    }
    listed = ", ".join(f"{option} = {literal(value)}" for option, value in options.items() if value is not None)
    return f"from read_csv({literal(text)}, {listed})"


def file_of(query: str) -> str | None:
    """The file that a query of `file_query` reads; None for any other query."""
    found = re.match(r"from (?:read_(?:csv|xlsx)\()?'((?:[^']|'')+)'", query)
    return found[1].replace("''", "'") if found else None


def refuse_missing(path: str) -> None:
    """Raise if there is no such file on this machine; patterns and addresses are left to DuckDB."""
    if "://" in path or re.search(r"[*?\[]", path) or Path(path).exists():
        return
    folder = Path(path).parent
    near = [str(file) for file in sorted(folder.glob("*")) if file.suffix == Path(path).suffix]
    raise CatalogError(f"There is no file '{path}'.{did_you_mean(path, near)}")


def packaged_extension(con: duckdb.DuckDBPyConnection, extension: str) -> Path | None:
    """The file of a DuckDB extension that was installed as a wheel, pip install duckdb-extension-excel, if there is one
    for this DuckDB."""
    found = find_spec(f"duckdb_extension_{extension}")
    if found is None or found.origin is None:
        return None
    ((version,),) = con.execute("select library_version from pragma_version()").fetchall()
    file = Path(found.origin).parent / "extensions" / str(version) / f"{extension}.duckdb_extension"
    return file if file.is_file() else None


READERS = {".xlsx": "excel", "sqlite_scan": "sqlite_scanner", "postgres_scan": "postgres_scanner"}
"""What a source has in it that an extension of DuckDB's reads."""


def provide_reader(con: duckdb.DuckDBPyConnection, asked: str) -> None:
    """Load the extension that reads a source from its wheel, if it is there and not loaded yet. Where it is not, DuckDB
    looks for it in its own way."""
    for sign, extension in READERS.items():
        if sign in asked.lower() and (file := packaged_extension(con, extension)) is not None:
            named = f"select 1 from duckdb_extensions() where extension_name = {literal(extension)} and loaded"
            if not con.execute(named).fetchall():
                con.execute(f"load {literal(str(file))}").fetchall()


def is_about_a_file(problem: Exception) -> bool:
    """Does DuckDB complain about a line of a csv file?"""
    return "CSV Error on Line" in str(problem)


def unreadable(problem: Exception) -> str:
    """Why a source cannot be read, in words and without its values: what DuckDB says about a line shows the line."""
    said = str(problem)
    line = re.search(r"CSV Error on Line: (\d+)", said)
    if "not utf-8 encoded" in said or "Invalid unicode" in said:
        return f"it is not UTF-8 text. Name its encoding: {reading('encoding', 'encoding', 'latin-1')}"
    if line is not None:
        return f"line {int(line[1]):,}{_about_line(said)}"
    if sheet := re.search(r'Sheet "(.+)" not found', said):
        return f"it has no sheet '{sheet[1]}'"
    if "extension" in said or "read_xlsx" in said:
        return (
            "Excel files need DuckDB's extension 'excel'. Get it with INSTALL excel or pip install "
            "duckdb-extension-excel, or save the sheet as a csv file"
        )
    return _first_line(problem)


def _about_line(said: str) -> str:
    converted = re.search(r"Column (.+) is being converted as type (\w+)", said)
    if converted is not None:
        return (
            f": column '{converted[1]}' was taken for {converted[2]}, and there it is something else. Read it as text "
            f"with FROM read_csv(..., types = {{'{converted[1]}': 'VARCHAR'}}), or with sample_size = -1"
        )
    if "Expected Number of Columns" in said:
        return " has more or fewer columns than the lines before it. Mend the line, or name the delimiter: " + reading(
            "delimiter", "delim", ";"
        )
    return " cannot be read: look at its quotes and delimiters, or name them in FROM read_csv(...)"


def _first_line(problem: Exception) -> str:
    return re.sub(r"^(\w+ )+Error: ", "", str(problem).splitlines()[0])
