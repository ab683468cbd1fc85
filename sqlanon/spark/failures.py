"""What Spark raises, in our words: its own text may show a person's value, and is never passed on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException

from sqlanon.errors import CatalogError, DataError, ResourceError, SqlanonError

Answer = TypeVar("Answer")
FULL = ("No space left", "Disk quota exceeded", "quota exceeded")
MEMORY = ("OutOfMemoryError", "MemoryError", "Resources exhausted", "out of memory")
NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "SCHEMA_NOT_FOUND", "database not found")
MISSING = re.compile(r"No module named '(sqlanon|numpy|pyarrow|numba)")


def in_our_words(doing: str, work: Callable[[], Answer]) -> Answer:
    """What the work answers. What fails on Spark comes out as ours, and nothing of Spark's exception with it, neither
    as its cause nor as its context."""
    try:
        return work()
    except SqlanonError:
        raise
    except Exception as problem:
        if not _is_sparks(problem):
            raise
        ours = _translated(problem, doing)
    raise ours


def _is_sparks(problem: BaseException) -> bool:
    kinds = {kind.__module__.split(".")[0] for kind in type(problem).__mro__}
    return isinstance(problem, PySparkException) or bool(kinds & {"pyspark", "py4j", "grpc"})


def _translated(problem: Exception, doing: str) -> SqlanonError:
    said = str(problem)
    if any(full in said for full in FULL):
        return ResourceError(
            f"Spark has no room while {doing}: make room, or name another staging. Nothing is released"
        )
    if any(memory in said for memory in MEMORY):
        return ResourceError(f"Spark has too little memory while {doing}. Nothing is released")
    if missing := MISSING.search(said):
        return ResourceError(
            f"Spark's workers do not have {missing[1]}: install sqlanon there, in the version of the driver"
        )
    kind = _condition(problem)
    if any(missing in said for missing in NOT_FOUND):
        return CatalogError(f"Spark does not find a table, schema or folder while {doing}")
    return DataError(f"Spark failed while {doing} ({kind}). Nothing is released; Spark's own log says more")


def _condition(problem: Exception) -> str:
    """The name that Spark gives to a kind of error, which shows no value; else the exception's."""
    get = getattr(problem, "getCondition", None) or getattr(problem, "getErrorClass", None)
    found = get() if get is not None else None
    return found if isinstance(found, str) and re.fullmatch(r"[A-Z0-9_.]+", found) else type(problem).__name__
