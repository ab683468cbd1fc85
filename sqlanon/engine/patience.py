"""Waiting: where another thread or connection is in the way, the same is tried again for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from secrets import SystemRandom
from typing import ParamSpec, TypeVar

from sqlanon.engine.instances import in_turn
from sqlanon.engine.session import is_in_transaction, unwrap
from sqlanon.errors import ConflictError

PATIENCE = 30.0
"""Seconds after which the conflict is reported."""
PAUSES = (0.01, 0.5)
"""Seconds between two tries: at first and at most."""
P = ParamSpec("P")
T = TypeVar("T")


def until_free(work: Callable[[], T], is_busy: Callable[[Exception], bool], seconds: float = PATIENCE) -> T:
    """What the work returns, tried again while others are in the way, for at most so long.

    Pauses are random, so that several who wait do not meet again.
    """
    end, (pause, longest), chance = time.monotonic() + seconds, PAUSES, SystemRandom()
    while True:
        try:
            return work()
        except Exception as problem:
            if not is_busy(problem) or time.monotonic() > end:
                raise
        time.sleep(pause * chance.random())
        pause = min(2 * pause, longest)


def patient(work: Callable[P, T]) -> Callable[P, T]:
    """A function whose first argument is a connection, waiting its turn: threads of this process come one after the
    other, and a conflict with another process or function makes it start again.

    Not inside a transaction of the caller's, which the conflict has aborted.
    """

    @wraps(work)
    def waits(*args: P.args, **options: P.kwargs) -> T:
        con = args[0] if args else options["con"]
        if is_in_transaction(unwrap(con)):
            return work(*args, **options)
        with in_turn(unwrap(con), PATIENCE):
            return until_free(lambda: work(*args, **options), lambda problem: isinstance(problem, ConflictError))

    return waits


def is_attached_elsewhere(problem: Exception) -> bool:
    """Is a database file still held by a connection that detaches it? DuckDB closes it once no query looks at it."""
    return "file handle conflict" in str(problem) or "already attached" in str(problem)
