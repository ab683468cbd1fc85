"""Files as sources: how one is to be read, as a query, and what is in the way where it cannot be."""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import duckdb

from sqlanon.errors import CatalogError, did_you_mean, in_words, option_name, reading
from sqlanon.sqltext import is_path, literal

TEXTS = (".csv", ".tsv", ".txt")
"""Files of separated values, which an encoding, a decimal sign and a delimiter go with."""
NAMED = (".csv", ".tsv", ".parquet", ".json", ".xlsx")
"""How the names of files end that are read without a query."""
PROBED = 1 << 16
"""Bytes of a file that are looked at to say how it could be read."""
ENCODINGS = {
    "latin1": "latin-1",
    "iso-8859-1": "latin-1",
    "utf8": "utf-8",
    "utf16": "utf-16",
    "windows-1252": "cp1252",
}
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
            raise CatalogError(f"{_go_with_csv(asked)}; '{path}' is an Excel file")
        return f"from read_xlsx({literal(text)}{'' if sheet is None else f', sheet = {literal(sheet)}'})"
    if sheet is not None:
        raise CatalogError(f"A sheet goes with Excel files (.xlsx); '{path}' is another file")
    if not asked:
        return f"from {literal(text)}"
    if not stem.endswith(TEXTS):
        raise CatalogError(f"{_go_with_csv(asked)} (.csv, .tsv, .txt), not with '{path}'")
    if decimal is not None and decimal not in (",", "."):
        raise CatalogError(f"{option_name('decimal')} is {decimal!r}; it must be ',' or '.'")
    options = {
        "encoding": encoding and ENCODINGS.get(encoding.lower(), encoding.lower()),
        "decimal_separator": decimal,
        "delim": {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter),
    }
    listed = ", ".join(f"{option} = {literal(value)}" for option, value in options.items() if value is not None)
    return f"from read_csv({literal(text)}, {listed})"


def _go_with_csv(options: Sequence[str]) -> str:
    goes = "goes" if len(options) == 1 else "go"
    return f"{' and '.join(map(option_name, options))} {goes} with csv files"


def file_of(query: str) -> str | None:
    """The file that a query of `file_query` reads; None for any other query."""
    found = re.match(r"from (?:read_(?:csv|xlsx)\()?'((?:[^']|'')+)'", query)
    return found[1].replace("''", "'") if found else None


def reading_flags(query: str) -> str:
    """The flags of the command line that a query of `file_query` came from."""
    flags = {"encoding": "encoding", "decimal_separator": "decimal", "delim": "delimiter", "sheet": "sheet"}
    _, _, asked = query.partition("', ")
    given = re.findall(r"(\w+) = '((?:[^']|'')*)'", asked.replace("\t", "tab"))
    values = [(flags[parameter], value.replace("''", "'")) for parameter, value in given if parameter in flags]
    return "".join(f" --{flag} {shlex.quote(value)}" for flag, value in values)


def is_sqlite(path: str) -> bool:
    """Is it the path of a SQLite database?"""
    if not is_path(path) or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def sqlite_words(path: str) -> str:
    """What a SQLite database is, and how its tables are named."""
    return (
        f"'{path}' is a SQLite database. Name a table of it by a query: FROM sqlite_scan({literal(path)}, 'TABLE'). It "
        "needs DuckDB's extension 'sqlite': INSTALL sqlite, or pip install duckdb-extension-sqlite-scanner"
    )


def refuse_wide(path: str, is_named: bool = False) -> None:
    """Raise if a csv file is UTF-16 and nobody says so, or in the order of bytes that DuckDB does not know: it would be
    read as something, but not as what it is."""
    if not path.lower().endswith(TEXTS) or not Path(path).is_file():
        return
    with Path(path).open("rb") as opened:
        start = opened.read(PROBED)
    if start.startswith(b"\xfe\xff"):
        raise CatalogError(f"'{path}' is big-endian UTF-16 text, which DuckDB does not read: save it as UTF-8")
    if not is_named and _is_wide(start):
        raise CatalogError(
            f"'{path}' cannot be read: it is not UTF-8 text. Name its encoding: "
            + reading("encoding", "encoding", "utf-16")
        )


def refuse_missing(path: str) -> None:
    """Raise if there is no such file on this machine, or nothing in it; patterns and addresses are left to DuckDB."""
    if Path(path).is_file() and not Path(path).stat().st_size:
        raise CatalogError(f"'{path}' is empty: it has not even the names of columns")
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


READERS = {
    ".xlsx": "excel",
    "encoding": "encodings",
    "sqlite_scan": "sqlite_scanner",
    "postgres_scan": "postgres_scanner",
}
"""What a source has in it that an extension of DuckDB's reads."""
NATIVE = re.compile(r"encoding\s*:?=\s*'(utf-?8|utf-?16|latin-?1)'", re.IGNORECASE)
"""Encodings that DuckDB reads by itself."""


def provide_reader(con: duckdb.DuckDBPyConnection, asked: str) -> None:
    """Load the extension that reads a source from its wheel, if it is there and not loaded yet. Where it is not, DuckDB
    looks for it in its own way; for encodings it does not, not even where the extension is installed."""
    for sign, extension in READERS.items():
        if sign not in asked.lower() or (sign == "encoding" and NATIVE.search(asked)):
            continue
        file = packaged_extension(con, extension)
        if file is None and extension != "encodings":
            continue
        known = f"select loaded, installed from duckdb_extensions() where extension_name = {literal(extension)}"
        try:
            with con.cursor() as beside:  # whose failure aborts nobody's transaction
                found = beside.execute(known).fetchall()
        except duckdb.PermissionException:  # a connection that may not open files loads no extension either
            continue
        is_loaded, is_installed = found[0] if found else (False, False)
        if file is not None and not is_loaded:
            con.execute(f"load {literal(str(file))}").fetchall()
        elif extension == "encodings" and is_installed and not is_loaded:
            con.execute("load encodings").fetchall()


def is_about_a_file(problem: Exception) -> bool:
    """Does DuckDB complain about a line of a csv file, or about how it is read?"""
    return any(sign in str(problem) for sign in SIGNS)


SIGNS = (
    "CSV Error on Line",
    "utf-8 encoded",
    "Invalid unicode",
    "latin-1 encoded",
    "the encoding: ",
    "sniffing file",
    "read_xlsx: Failed to parse cell",
)
"""What DuckDB says of csv and Excel files."""


def unreadable(problem: Exception, file: str | None = None) -> str:
    """Why a source cannot be read, in words and without its values: what DuckDB says about a line shows the line."""
    said = str(problem)
    line = re.search(r"CSV Error on Line: (\d+)", said)
    if cell := re.search(r"Failed to parse cell '([A-Z]+\d+)'", said):
        return (
            f"cell {cell[1]} is of another kind than those above it, which are numbers or dates. Read all cells as "
            f"text, and cast them in the query: FROM read_xlsx({literal(file or 'FILE')}, all_varchar = true)"
        )
    if encoding := re.search(r'not support the encoding: "([^"]*)"', said):
        if not _is_encoding(encoding[1]):
            return f"there is no encoding '{encoding[1]}'. Usual ones are utf-8, utf-16, latin-1 and cp1252"
        return (
            f"encoding '{encoding[1]}' needs DuckDB's extension 'encodings'. Get it with INSTALL encodings or pip "
            "install duckdb-extension-encodings, or save the file as UTF-8; utf-8, utf-16 and latin-1 need none"
        )
    for taken in ("UTF-8", "latin-1"):
        if f"not {taken.lower()} encoded" in said or (taken == "UTF-8" and "Invalid unicode" in said):
            named = reading("encoding", "encoding", _encoding_of(file))
            return f"it is not {taken} text. Name its encoding, such as {named}"
    if line is not None:
        return f"line {int(line[1]):,}{_about_line(said)}"
    if "sniffing file" in said:
        named = reading("delimiter", "delim", ";")
        return f"its lines differ in how many columns they have. Mend them, or name the delimiter: {named}"
    if sheet := re.search(r'Sheet "(.+)" not found', said):
        return f"it has no sheet '{sheet[1]}'"
    if "No rows found in xlsx" in said:
        return "the sheet is empty"
    if "opening the zip" in said or "open zip" in said or "zip file" in said:
        return "it is not an Excel file, or a damaged one. Save it again as .xlsx, or as a csv file"
    if "extension" in said or "read_xlsx" in said:
        return (
            "Excel files need DuckDB's extension 'excel'. Get it with INSTALL excel or pip install "
            "duckdb-extension-excel, or save the sheet as a csv file"
        )
    return _first_line(problem)


def _is_encoding(asked: str) -> bool:
    try:
        codecs.lookup(asked)
    except (LookupError, ValueError):
        return False
    return True


def _is_wide(start: bytes) -> bool:
    """Is it how UTF-16 text begins? Every other byte of most of it is zero."""
    return start.startswith(b"\xff\xfe") or start.count(0) > len(start) // 10


def _encoding_of(file: str | None) -> str:
    """The encoding that a file that is not UTF-8 is probably in: Windows writes UTF-16, which has many zeros, or
    cp1252, which has quotes and dashes where latin-1 has nothing."""
    if file is None or not Path(file).is_file():
        return "latin-1"
    with Path(file).open("rb") as opened:
        start = opened.read(PROBED)
    if _is_wide(start):
        return "utf-16"
    return "cp1252" if any(0x80 <= byte <= 0x9F for byte in start) else "latin-1"


def refuse_one_column(file: str, columns: Sequence[str]) -> None:
    """Raise if a csv file was read as one column that bears the names of several: where lines differ in how many
    values they have, DuckDB takes each for one value."""
    if len(columns) != 1 or not file.lower().endswith(TEXTS) or not re.search(r"[,;\t|]", columns[0]):
        return
    if not Path(file).is_file():
        return
    with Path(file).open("rb") as opened:
        is_quoted = b'"' in opened.readline(PROBED)
    if not is_quoted:
        raise CatalogError(
            f"'{file}' was read as one column: its lines differ in how many values they have, or the "
            f"delimiter is another one. Mend the lines, or name it: {reading('delimiter', 'delim', ',')}"
        )


def refuse_other_kind(file: str) -> None:
    """Raise if this is a file, but of none of the kinds that are read by their names."""
    if is_path(file) and Path(file).is_file():
        if file.lower().endswith((".duckdb", ".db")):
            raise CatalogError(f"Which table of '{file}'? {_of_database(file)}")
        if file.lower().endswith((".xls", ".xlsb", ".xlsm", ".ods", ".numbers")):
            raise CatalogError(f"'{file}' is a spreadsheet of a kind that DuckDB does not read: save it as .xlsx")
        raise CatalogError(
            f"'{file}' is a file, but not of a kind that is read by its name ({', '.join(NAMED)}). Save it as one of "
            f"these, or read it by a query, such as FROM read_csv({literal(file)})"
            + (f", or as separated values: {reading('delimiter', 'delim', ';')}" if file.endswith(TEXTS) else "")
        )


def _of_database(file: str) -> str:
    """How a table of a database is named."""
    return in_words(
        python=f"sqlanon.connect({file!r}), then name the table",
        sql=f"ATTACH {literal(file)} AS other, then name other.TABLE",
        command=f"Name the table, and --db {shlex.quote(file)}",
        page=f"Open it: sqlanon studio {shlex.quote(file)}",
    )


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
