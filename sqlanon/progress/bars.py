"""Bars: how far a run is, with the loss so far and the time left, in a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlanon.progress.run import Run

QUIET_FOR = 1.0
"""Seconds before a bar is shown."""
BETWEEN = 0.2
"""Seconds between two looks of a notebook's bar."""


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
    if is_notebook() and Run.active() is None:
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
        with Run(show):
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
        with Run(show):
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
