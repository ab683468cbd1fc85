"""Who may use a database file: many who read, or one who writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlanon.studio.facade import SqlanonError


class BusyError(SqlanonError):
    """The database is in use by other work of this studio; it passes."""


BRIEF = 1.0
"""Seconds: whoever waits no longer than this is a page, and goes before a writer that waits."""


class Gate:
    """Many readers or one writer. A page waits a moment; work in the background lets a writer go first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writer: str | None = None
        self._waiting = 0

    @contextmanager
    def reading(self, wait: float = 0.5) -> Iterator[None]:
        """Read meanwhile."""

        def is_free() -> bool:
            return self._writer is None and (wait <= BRIEF or not self._waiting)

        with self._changed:
            if not self._changed.wait_for(is_free, wait):
                raise BusyError(f"The database is being written now ({self._writer}). This part waits until then.")
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self, what: str, check: Callable[[], None] = lambda: None, wait: float = 3600) -> Iterator[None]:
        """Write meanwhile. `check` is called while this waits, and raises to give up."""
        end = time.monotonic() + wait
        with self._changed:
            self._waiting += 1
            try:
                while self._readers or self._writer is not None:
                    check()
                    if time.monotonic() > end:
                        raise BusyError("The database stayed in use by other work of this studio. Try again later.")
                    self._changed.wait(0.2)
            finally:
                self._waiting -= 1
            self._writer = what
        try:
            yield
        finally:
            with self._changed:
                self._writer = None
                self._changed.notify_all()
