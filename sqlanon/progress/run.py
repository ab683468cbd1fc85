"""A run: who hears how far it is, how long it may take, and how it is stopped.

The cores run inside DuckDB, in DuckDB's own threads, where Ctrl-C does not arrive: the main thread cancels its runs,
and a core sees that at its next report.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any
from weakref import WeakSet

from sqlanon.errors import InterruptedRunError, TimeLimitError, read_in, reader
from sqlanon.sqltext import fresh_name

Listener = Callable[[str, int, int, dict[str, float]], None]
"""Called with (method, done, total, facts): facts are what the method reports, such as moves and the loss so far."""

_active: ContextVar[Run | None] = ContextVar("active", default=None)


class Run:
    """Everything that is made while it is open, by the thread that opened it.

        with sqlanon.Run(listener, limit=60) as run:  # another thread may call run.cancel()
            sqlanon.anonymize(con, "patients", ["age", "zip"], 5)

    The listener hears of the progress of this run and of no other. A core that takes longer than the limit, in seconds,
    is stopped. A run inside another one reports to both, and ends with either.
    """

    def __init__(self, listener: Listener | None = None, *, limit: float | None = None) -> None:
        self.id = fresh_name("run")
        self.listener = listener
        self.limit = limit
        self.parent = _active.get()
        self.seconds = 0.0
        """How long its cores took."""
        self.is_over = False
        """Was a core stopped by the limit?"""
        self.findings: dict[str, Any] = {}
        """What the core reported beside its groups."""
        self.reader = reader()
        """Where its messages are read: cores run in other threads."""
        self._is_cancelled = False
        self._token: Token[Run | None] | None = None
        if threading.current_thread() is threading.main_thread():
            _INTERRUPTIBLE.add(self)

    def __enter__(self) -> Run:
        watch_interrupts()
        self._token = _active.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._token is not None
        _active.reset(self._token)

    @staticmethod
    def active() -> Run | None:
        """The run that is open in this thread, if one is."""
        return _active.get()

    @property
    def chain(self) -> Iterator[Run]:
        """This run and those that it is in, from the inside out."""
        run: Run | None = self
        while run is not None:
            yield run
            run = run.parent

    @property
    def is_cancelled(self) -> bool:
        """Was it cancelled, or one that it is in?"""
        return any(run._is_cancelled for run in self.chain)

    def cancel(self) -> None:
        """Stop it at the next report of its core, from any thread; nothing is stored."""
        self._is_cancelled = True

    def tell(self, method: str, done: int, total: int, facts: dict[str, float]) -> None:
        """Report progress to all who listen; raise if the run was cancelled."""
        if self.is_cancelled:
            raise InterruptedRunError("Interrupted; nothing was stored")
        for run in self.chain:
            if run.listener is not None:
                run.listener(method, done, total, facts)

    @contextmanager
    def core(self, method: str) -> Iterator[Callable[..., None]]:
        """The callback for one core: passes progress on, and raises once the run is cancelled or its time is over."""
        start = time.monotonic()

        def report(done: int, total: int, **facts: float) -> None:
            seconds = time.monotonic() - start
            for run in self.chain:
                if run.limit is not None and seconds > run.limit:
                    run.is_over = True
                    raise TimeLimitError(f"{method} was stopped after {run.limit:g} seconds")
            self.tell(method, done, total, facts)

        try:
            with read_in(self.reader):
                yield report
        finally:
            for run in self.chain:
                run.seconds += time.monotonic() - start


_INTERRUPTIBLE: WeakSet[Run] = WeakSet()
"""The runs that Ctrl-C cancels: the signal reaches the main thread alone, so those are the runs begun there."""


def interruptible(run: Run) -> Run:
    """The run, which Ctrl-C cancels though another thread made it: DuckDB's threads do so for plain SQL."""
    _INTERRUPTIBLE.add(run)
    return run


def watch_interrupts() -> None:
    """Cancel the main thread's runs at Ctrl-C, before Python's own handler or the program's gets the signal.

    Only in the main thread, and only where a Python function handles the signal.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and not isinstance(handler, _Interrupt):
        signal.signal(signal.SIGINT, _Interrupt(handler))


class _Interrupt:
    """The handler of Ctrl-C: cancels runs, then does what was done before."""

    def __init__(self, chained: Callable[[int, Any], Any]) -> None:
        self.chained = chained

    def __call__(self, number: int, frame: Any) -> None:
        for run in list(_INTERRUPTIBLE):
            run.cancel()
        self.chained(number, frame)
