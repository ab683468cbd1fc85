"""What DuckDB raises, in our words: each of its errors that is the user's to mend becomes a SqlanonError."""

from __future__ import annotations

import json
import re

import duckdb

from sqlanon.engine.sources import is_about_a_file, unreadable
from sqlanon.errors import (
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


def translated(problem: BaseException) -> BaseException | None:
    """Our error for one of DuckDB's; None where it is a fault of ours, which is to be seen with its traceback."""
    if isinstance(problem, duckdb.InvalidInputException):
        if is_about_a_file(problem):
            return DataError(f"The source cannot be read: {unreadable(problem)}")
        return _invalid_input(problem)
    if isinstance(problem, duckdb.InterruptException):
        return InterruptedRunError("Interrupted; nothing was stored")
    if isinstance(problem, duckdb.CatalogException):
        return CatalogError(sentence(problem))
    if isinstance(problem, UNFIT):
        # DuckDB's text would show the value.
        if is_about_a_file(problem):
            return DataError(f"The source cannot be read: {unreadable(problem)}")
        return DataError(
            f"A value does not fit where it is computed with ({type(problem).__name__}); nothing was stored. If all "
            f"of the source can be read (SELECT *), this is a fault of sqlanon: please report it, with the column types"
        )
    if isinstance(problem, duckdb.TransactionException):
        return _transaction(sentence(problem))
    if isinstance(problem, duckdb.OutOfMemoryException):
        return _out_of_memory(str(problem))
    if isinstance(problem, duckdb.FatalException):
        return ResourceError(f"Open the database again; committed data are safe: {sentence(problem)}")
    if isinstance(problem, duckdb.IOException):
        return _storage(sentence(problem))
    if isinstance(problem, duckdb.NotImplementedException):
        return DataError(f"DuckDB cannot do that ({sentence(problem)}): cast the column in the source query")
    if isinstance(problem, duckdb.ConnectionException):
        return CatalogError(f"{sentence(problem)}: open the database again")
    if isinstance(problem, RuntimeError) and "interrupted" in str(problem).lower():
        return KeyboardInterrupt()
    if isinstance(problem, RuntimeError) and "Unable to cast" in str(problem):
        return DataError("A name or text has half a character in it (a lone surrogate), which is not valid text")
    return None


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
    if "Python exception occurred" in str(problem):
        return _out_of_memory("") if "MemoryError" in str(problem) else None
    message = sentence(problem)
    if message.startswith(mark := BrokenPromiseError.mark):
        return BrokenPromiseError(message.removeprefix(mark))
    return DataError(message)


def _transaction(said: str) -> SqlanonError:
    if "aborted" in said:
        return ConflictError("A statement of the open transaction has failed: ROLLBACK it, then try again")
    if "conflict" in said.lower():
        return ConflictError(
            "Another connection is making, replacing or dropping the same thing. Nothing was stored: try again"
        )
    return _storage(said)


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
