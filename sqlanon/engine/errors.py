"""What DuckDB raises, in our words: each of its errors that is the user's to mend becomes a SqlanonError."""

from __future__ import annotations

import json
import re

import duckdb

from sqlanon.engine.sources import is_about_a_file, unreadable
from sqlanon.errors import (
    SAID,
    BrokenPromiseError,
    CatalogError,
    ConflictError,
    DataError,
    InterruptedRunError,
    ResourceError,
    SqlanonError,
)

UNFIT = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.ConstraintException)
"""What a value raises that cannot be cast or computed with."""
FULL = ("No space left", "File too large", "max_temp_directory_size", "quota exceeded")
"""How messages tell of a disk with no room."""


EXTENSION = r"(?:required extension '|download extension \"|requires the extension |exists in the )(\w+)"
"""How messages tell of an extension that is not there."""
PYTHON = "Python exception occurred"
"""How DuckDB tells that a Python function failed."""
KINDS = {
    duckdb.ConversionException: "a value cannot be converted to another type",
    duckdb.OutOfRangeException: "a number is out of range",
    duckdb.ConstraintException: "a value breaks a constraint",
    duckdb.InvalidInputException: "a function or file format does not accept a value",
}
"""What DuckDB says of data, in words that show none."""
ABOUT_NAMES = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.IOException)
"""Errors that are about the text of a query, names or files: their first line shows no value of a row."""


def translated(problem: BaseException) -> BaseException | None:
    """Our error for one of DuckDB's; None where it is a fault of ours, which is to be seen with its traceback."""
    if "file handle conflict" in str(problem):
        return ConflictError("A database file is still in use by another connection. Nothing was stored: try again")
    if "expression depth" in str(problem) or "expression nesting" in str(problem):
        return DataError("There are too many columns, or the query nests too deep, for DuckDB. Name fewer columns")
    if isinstance(problem, duckdb.InvalidInputException):
        if is_about_a_file(problem):
            return DataError(f"The source cannot be read: {unreadable(problem)}")
        return _invalid_input(problem)
    if isinstance(problem, duckdb.InterruptException):
        return InterruptedRunError("Interrupted; nothing was stored")
    if isinstance(problem, duckdb.CatalogException):
        return CatalogError(sentence(problem))
    if isinstance(problem, UNFIT) and is_about_a_file(problem):
        return DataError(f"The source cannot be read: {unreadable(problem)}")
    if (kind := kind_of(problem)) is not None:
        return DataError(f"The source cannot be read: {kind} ({type(problem).__name__})")
    if isinstance(problem, duckdb.TransactionException):
        return _transaction(sentence(problem))
    if isinstance(problem, duckdb.OutOfMemoryException):
        return _out_of_memory(str(problem))
    if isinstance(problem, duckdb.FatalException):
        return ResourceError("Open the database again; committed data are safe, but DuckDB met a fatal error")
    if isinstance(problem, duckdb.IOException):
        return _storage(sentence(problem))
    if isinstance(problem, duckdb.NotImplementedException):
        if unknown := re.search(r"Data type '([^']+)' not recognized", str(problem)):
            return DataError(
                f"A column of the frame has type {unknown[1]}, which DuckDB does not know: convert it, such as with "
                "astype(str)"
            )
        return DataError(f"DuckDB cannot do that{_cast(problem)}: cast the column in the source query")
    if isinstance(problem, duckdb.ConnectionException):
        return CatalogError("The connection is closed: open the database again")
    if isinstance(problem, RuntimeError) and "interrupted" in str(problem).lower():
        return KeyboardInterrupt()
    if isinstance(problem, RuntimeError) and "Unable to cast" in str(problem):
        return DataError("A name or text has half a character in it (a lone surrogate), which is not valid text")
    return None


def kind_of(problem: BaseException) -> str | None:
    """What is wrong with the data, in words, where DuckDB's own message might show a value; None for other errors."""
    if is_said(problem) or PYTHON in str(problem):
        return None
    return next((said for kind, said in KINDS.items() if isinstance(problem, kind)), None)


def is_said(problem: BaseException) -> bool:
    """Is it the error of a query whose text sqlanon wrote?"""
    return isinstance(problem, duckdb.InvalidInputException) and sentence(problem).startswith(SAID)


def told(problem: BaseException) -> str:
    """An error of DuckDB's in text that shows no value: its first line if it is about names, otherwise its kind."""
    if found := re.search(r"Macro \W?(\w+)\W* does not support.*\n.*\n\t\w+(\(.*\))", str(problem)):
        parameters = ", ".join(re.findall(r"[(,] ?(\w+)(?= :=|[,)])", found[2]))
        return f"{found[1]} does not take these arguments. It takes: {parameters}"
    if missing := re.search(EXTENSION, str(problem)):
        return f"it needs DuckDB's extension '{missing[1]}', which is not installed: INSTALL {missing[1]}"
    if isinstance(problem, ABOUT_NAMES):
        return f"{type(problem).__name__.removesuffix('Exception')} Error: {sentence(problem)}"
    ours = translated(problem)
    return type(problem).__name__ if ours is None else str(ours)


def _cast(problem: BaseException) -> str:
    """Which types a cast is missing between, if it says so in types alone."""
    found = re.search(r"cast \(([A-Z_0-9(), \[\]]+ -> [A-Z_0-9(), \[\]]+)\)", str(problem))
    if found is None:
        found = re.search(r'type "([A-Z_0-9]+)"', str(problem))
    return f" ({found[1]})" if found else ""


def sentence(problem: BaseException) -> str:
    """The first line of a message, without the name of its kind, and without the JSON of an error inside an error."""
    text = str(problem)
    if inner := re.search(r"\{\"exception_type\".*\}", text):
        try:
            text = str(json.loads(inner[0])["exception_message"])
        except (ValueError, KeyError):
            text = text[: inner.start()]
    lines = text.strip().splitlines() or [type(problem).__name__]
    return re.sub(r"^(\w+ )+Error: ", "", lines[0])


def _invalid_input(problem: BaseException) -> BaseException | None:
    if "KeyboardInterrupt" in str(problem):
        return KeyboardInterrupt()
    if PYTHON in (said := str(problem)):
        return _python(said)
    message = sentence(problem)
    if "read-only mode" in message and message.startswith("Cannot execute"):
        return CatalogError("The database is open read-only, so nothing can be stored in it")
    if not is_said(problem):
        kind = KINDS[duckdb.InvalidInputException]
        return DataError(f"The source cannot be read: {kind} ({type(problem).__name__})")
    message = message.removeprefix(SAID)
    if message.startswith(mark := BrokenPromiseError.mark):
        return BrokenPromiseError(message.removeprefix(mark))
    return DataError(message)


def _python(said: str) -> SqlanonError | None:
    """A failing Python function: ours is a fault of ours, the user's own has a message that may show a value."""
    if "MemoryError" in said:
        return _out_of_memory("")
    if "FaultError" in said:
        return None
    raised = re.search(rf"{PYTHON}[^:]*: (\w+)", said)
    return DataError(
        f"The source cannot be read: a Python function in it fails ({raised[1] if raised else 'Exception'})"
    )


def _transaction(said: str) -> SqlanonError:
    if "aborted" in said:
        return ConflictError("A statement of the open transaction has failed: ROLLBACK it, then try again")
    if "conflict" in said.lower():
        return ConflictError(
            "Another connection is making, replacing or dropping the same thing. Nothing was stored: try again"
        )
    if (full := next((full for full in FULL if full in said), None)) is not None:
        return _storage(f"Failed to commit: {full}")
    return ConflictError("The transaction cannot be committed, so nothing was stored: ROLLBACK it, then try again")


def _out_of_memory(said: str) -> SqlanonError:
    if any(full in said for full in FULL):
        return _storage(said.splitlines()[0])
    return ResourceError(
        "There is too little memory; nothing was stored. SET memory_limit to more, SET threads to fewer, or give "
        "DuckDB a temp_directory to spill to"
    )


def _storage(said: str) -> SqlanonError:
    said = said.rstrip(".")
    hint = ": make room, or give DuckDB a temp_directory elsewhere" if any(full in said for full in FULL) else ""
    return ResourceError(f"Nothing was stored, because a file cannot be read or written ({said}){hint}")
