"""How a release begins where there is no connection yet: a frame in, a database in memory."""

from __future__ import annotations

from typing import Any

from sqlanon.engine.frames import readable
from sqlanon.engine.session import unwrap
from sqlanon.errors import CatalogError, PolicyError

Asked = tuple[Any, Any, Any, Any]
"""The connection, the source, the quasi-identifiers and k."""


def begun(con: Any, source: Any, quasi: Any, k: Any, name: str | None) -> Asked:
    """What was given, with a connection of its own where the first argument is the frame to anonymize."""
    try:
        unwrap(con)
    except CatalogError:
        if isinstance(con, str) or not _is_frame(con):
            raise
    else:
        if source is None:
            raise PolicyError("A source is missing: anonymize(con, 'patients', quasi=['age', 'zip'], k=5)")
        return con, source, quasi, k
    if name is not None:
        raise PolicyError("A name needs a database to store the release in: anonymize(con, frame, ...)")
    from sqlanon.statements.connection import connect

    if source is not None:  # anonymize(frame, quasi, k)
        quasi, k = source, k if quasi is None else quasi
    return connect(), con, quasi, k


def _is_frame(given: Any) -> bool:
    try:
        readable(given)
    except CatalogError:
        return False
    return True
