"""Frames where a table's name goes: pandas, polars, Arrow, ibis, DuckDB relations, and whatever else speaks Arrow.

None of those libraries is imported for it: a frame is known by what it can do.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import duckdb

from sqlanon.errors import CatalogError

FRAME = "<frame>"
"""What a catalog says of a source that was a frame: it has no name to be read by again. No table is called so: one that
is has to be named in quotes."""
PREFIX = "sqlanon_frame_"


def catalog_name(source: Any) -> str:
    """A source as a catalog remembers it: a name, a query, or that it was a frame."""
    return source if isinstance(source, str) else FRAME


@contextmanager
def registered(con: duckdb.DuckDBPyConnection) -> Iterator[Callable[[Any], str]]:
    """Gives every source a name that SQL can read it by: a frame is a temporary view until the end, text is itself.

    The same frame gets the same name. Rows are copied only where a frame can be read but once.
    """
    views: dict[int, tuple[str, Any]] = {}

    def named(source: Any) -> str:
        if isinstance(source, str):
            return source
        if id(source) not in views:
            view = f"{PREFIX}{secrets.token_hex(6)}"
            frame = readable(source)
            if not len(getattr(frame, "columns", "?")):
                raise CatalogError("The frame has no columns")
            con.register(view, frame)
            views[id(source)] = view, source  # kept, so that no other object gets its id
        return f"temp.{views[id(source)][0]}"

    try:
        yield named
    finally:
        for view, _ in views.values():
            with suppress(duckdb.Error):  # an aborted transaction drops it anyway
                con.unregister(view)


def readable(source: Any) -> Any:
    """The source as DuckDB can read it more than once: what is lazy or a stream becomes an Arrow table."""
    if isinstance(source, str):
        return source
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return source  # as Arrow it would have its index as a column
    try:
        return _arrow(source)
    except CatalogError:
        raise
    except Exception as problem:  # any backend's: its message may show values
        raise CatalogError(f"The {_kind(source)} cannot be read: {type(problem).__name__}") from problem


def _arrow(source: Any) -> Any:
    import pyarrow
    import pyarrow.dataset

    if isinstance(source, pyarrow.dataset.Dataset):
        return source
    is_lazy = not hasattr(source, "__arrow_c_stream__") and callable(getattr(source, "collect", None))
    found = source.collect() if is_lazy else source
    if isinstance(found, type) or not (hasattr(found, "__arrow_c_stream__") or hasattr(found, "__arrow_c_array__")):
        raise CatalogError(
            f"The source is a {_kind(source)}: give a table's name, a query, or a pandas, polars, Arrow, ibis "
            f"or DuckDB frame"
        )
    return pyarrow.table(found)


def _kind(source: Any) -> str:
    module = type(source).__module__.partition(".")[0].lstrip("_")
    return f"{'' if module == 'builtins' else module + ' '}{type(source).__name__}"
