"""Progress of long work, and stopping it: who wants to hear of it listens here.

The cores run inside DuckDB, in DuckDB's own threads, where Ctrl-C does not arrive: the signal is noted in the main
thread and looked at whenever a core reports.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from sqlanon.errors import InterruptedRunError, TimeLimitError

Listener = Callable[[str, int, int, dict[str, float]], None]
"""Called with (method, done, total, facts): facts are what the method tells, such as moves and the loss so far."""


@dataclass(eq=False)
class Stopwatch:
    """How long the cores took, how long they may take in seconds, and whether one was stopped for that."""

    limit: float | None = None
    seconds: float = 0.0
    is_over: bool = False


_listeners: list[Listener] = []
_stopwatch: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)
_timed: WeakValueDictionary[str, Stopwatch] = WeakValueDictionary()
_interrupts = 0
_chained: Any = None


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell the listener of all progress meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def timed(limit: float | None = None) -> Iterator[Stopwatch]:
    """Time the cores of the releases that this thread makes meanwhile, and stop one that takes longer than the limit.

    Other threads' releases go on: the stopwatch follows a run by its name into DuckDB's threads.
    """
    stopwatch = Stopwatch(limit)
    token = _stopwatch.set(stopwatch)
    try:
        yield stopwatch
    finally:
        _stopwatch.reset(token)


def time_run(run: str) -> None:
    """Put a named run under the stopwatch of the thread that asks for it, if there is one."""
    if (stopwatch := _stopwatch.get()) is not None:
        _timed[run] = stopwatch


@contextmanager
def running(method: str, run: str | None = None) -> Iterator[Callable[..., None]]:
    """The callback for one run of a core: passes progress on, and raises once the user has asked to stop or its time
    is over."""
    before = _interrupts
    stopwatch = _timed.get(run or "") or Stopwatch()
    start = time.monotonic()

    def report(done: int, total: int, **facts: float) -> None:
        if _interrupts != before:
            raise InterruptedRunError("Interrupted; nothing was stored")
        if stopwatch.limit is not None and time.monotonic() - start > stopwatch.limit:
            stopwatch.is_over = True
            raise TimeLimitError(f"{method} was stopped after {stopwatch.limit:g} seconds")
        for listener in _listeners:
            listener(method, done, total, facts)

    try:
        yield report
    finally:
        stopwatch.seconds += time.monotonic() - start


def watch_interrupts() -> None:
    """Note every Ctrl-C before Python's own handler, or the program's, gets it. Only in the main thread, and only
    where a Python function handles the signal."""
    global _chained
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and handler is not _note_interrupt:
        _chained = handler
        signal.signal(signal.SIGINT, _note_interrupt)


def _note_interrupt(number: int, frame: Any) -> None:
    global _interrupts
    _interrupts += 1
    _chained(number, frame)
