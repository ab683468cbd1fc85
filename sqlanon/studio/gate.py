"""Who may use a database file: many who read, or one who writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlanon.studio.facade import SqlanonError


class BusyError(SqlanonError):
    """The database is in use by other work of this studio; it passes."""


class Gate:
    """Many readers or one writer. A reader waits a moment, a writer until everybody has left."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writer: str | None = None

    @contextmanager
    def reading(self, wait: float = 0.5) -> Iterator[None]:
        """Read meanwhile."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._writer is None, wait):
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
            while self._readers or self._writer is not None:
                check()
                if time.monotonic() > end:
                    raise BusyError("The database stayed in use by other work of this studio. Try again later.")
                self._changed.wait(0.2)
            self._writer = what
        try:
            yield
        finally:
            with self._changed:
                self._writer = None
                self._changed.notify_all()
