"""Progress of long work, and stopping it: who wants to hear of it listens here.

The cores run inside DuckDB, in DuckDB's own threads, where Ctrl-C does not arrive: the signal is noted in the main
thread and looked at whenever a core reports.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from sqlanon.errors import InterruptedRunError, TimeLimitError

Listener = Callable[[str, int, int, dict[str, float]], None]
"""Called with (method, done, total, facts): facts are what the method tells, such as moves and the loss so far."""

QUIET_FOR = 1.0
"""Seconds before a bar is shown."""
BETWEEN = 0.2
"""Seconds between two looks of a notebook's bar."""


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


@contextmanager
def bar() -> Iterator[None]:
    """How far long work is, with the loss so far and the time left: after a moment, on a terminal or in a notebook.

    Nothing at all is shown elsewhere.
    """
    if is_notebook():
        with _notebook_bar():
            yield
    elif sys.stderr.isatty():
        with _terminal_bar():
            yield
    else:
        yield


@contextmanager
def notebook_bar() -> Iterator[None]:
    """The bar where a library may show one without being asked: in a notebook, and not within another."""
    if is_notebook() and not _listeners:
        with _notebook_bar():
            yield
    else:
        yield


def is_notebook() -> bool:
    """Does this run in a Jupyter kernel?"""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _terminal_bar() -> Iterator[None]:
    """A bar on stderr that goes away at the end.

    Whatever reports first keeps its bar, a comparison's grid for instance; the others share one below it, in turn.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    start = time.monotonic()
    tasks: dict[str, Any] = {}

    def show(method: str, done: int, total: int, facts: dict[str, float]) -> None:
        if method not in tasks:
            for earlier in list(tasks)[1:]:
                shown.remove_task(tasks.pop(earlier))
            tasks[method] = shown.add_task(method, total=total, told="")
        shown.update(tasks[method], completed=done, total=total)
        if facts:
            shown.update(tasks[method], told=told(facts))
        if time.monotonic() - start > QUIET_FOR:
            shown.start()

    try:
        with listening(show):
            yield
    finally:
        shown.stop()


@contextmanager
def _notebook_bar() -> Iterator[None]:
    """A bar below the cell that goes away at the end. It needs no widgets, only what every notebook can show."""
    import IPython.display

    display: Any = IPython.display.display
    update: Any = IPython.display.update_display
    start = time.monotonic()
    key = f"sqlanon-progress-{uuid.uuid4()}"
    is_shown, last, known = False, 0.0, ""

    def show(method: str, done: int, total: int, facts: dict[str, float]) -> None:
        nonlocal is_shown, last, known
        now = time.monotonic()
        known = told(facts) or known
        if now - start <= QUIET_FOR or now - last < BETWEEN:
            return
        last = now
        (update if is_shown else display)(_bundle(method, done, total, known, now - start), raw=True, display_id=key)
        is_shown = True

    try:
        with listening(show):
            yield
    finally:
        if is_shown:
            update({"text/plain": "", "text/html": ""}, raw=True, display_id=key)


def told(facts: dict[str, float]) -> str:
    """What a method tells, the loss as a share of all that could be lost."""
    return ", ".join(
        f"loss {value:.2%}" if fact == "loss" and 0 <= value <= 1 else f"{fact} {value:.4g}"
        for fact, value in facts.items()
    )


def _bundle(method: str, done: int, total: int, known: str, seconds: float) -> dict[str, str]:
    """Progress for a notebook, as text and as HTML."""
    share = done / total if total else 0
    parts = [f"{share:.0%}"] + [known] * bool(known)
    if 0.02 < share < 1:
        parts.append(f"about {_time(seconds * (1 - share) / share)} left")
    text = ", ".join(parts)
    return {
        "text/plain": f"{method}: {text}",
        "text/html": f'{method} <progress value="{share:.3f}" max="1" aria-label="{method}"></progress> {text}',
    }


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


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
