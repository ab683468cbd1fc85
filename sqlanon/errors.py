"""What sqlanon raises. Messages say what was asked, what was found and what to try, and never show a person's value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'zip'?``, or nothing when no known name is near."""
    by_folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f" Did you mean '{by_folded[near[0]]}'?" if near else ""


def not_one_of(what: str, word: str, known: Iterable[str], plural: str | None = None) -> str:
    """``Unknown method 'kaka' (methods: kaca, kacpc). Did you mean 'kaca'?``"""
    names = list(known)
    listed = f"{plural or what + 's'}: {', '.join(names)}" if names else f"there are no {plural or what + 's'}"
    return f"Unknown {what} '{word}' ({listed}).{did_you_mean(word, names)}"
