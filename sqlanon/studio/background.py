"""What takes longer than a page may: counted in the background, remembered, and asked for again by the page."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from sqlanon.studio.facade import (
    PAGE,
    Cancelled,
    DatabaseError,
    InterruptedRunError,
    Session,
    SqlanonError,
    Watch,
    read_in,
)

log = logging.getLogger("sqlanon.studio")

REMEMBERED = 500
"""Answers that are kept."""
PATIENCE = 0.35
"""Seconds that a page waits for an answer before it is sent without."""
FINISHED = 60
"""Jobs that are remembered after their end."""


@dataclass(frozen=True)
class Answer:
    """The answer, if it is there; or that it is still being counted; or why there is none."""

    value: Any = None
    is_ready: bool = False
    problem: str | None = None


WAITING = Answer()


class Pool:
    """A few threads that do not keep the program from ending."""

    def __init__(self, threads: int) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        for _ in range(threads):
            threading.Thread(target=self._work, name="studio-background", daemon=True).start()

    def submit(self, count: Callable[[], Any]) -> Future[Any]:
        """Do it when a thread is free."""
        future: Future[Any] = Future()
        self._waiting.put((future, count))
        return future

    def _work(self) -> None:
        while True:
            future, count = self._waiting.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                with read_in(PAGE):
                    future.set_result(count())
            except BaseException as problem:
                future.set_exception(problem)
            del future, count


class Background:
    """Answers by their keys, each counted once, by a few threads."""

    def __init__(self) -> None:
        self._pools = {"quick": Pool(2), "slow": Pool(1), "attack": Pool(1)}
        self._known: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, key: Hashable, count: Callable[[], Any], *, wait: float = PATIENCE, pool: str = "quick") -> Answer:
        """The answer, if it comes soon enough."""
        with self._lock:
            future = self._known.get(key)
            if future is None or future.cancelled():
                future = self._pools[pool].submit(count)
                self._known[key] = future
            self._known.move_to_end(key)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)[1].cancel()
        try:
            return Answer(future.result(timeout=wait), is_ready=True)
        except (TimeoutError, CancelledError):
            return WAITING
        except Exception as problem:
            with self._lock:
                self._known.pop(key, None)  # it is tried again when it is asked for again
            return Answer(is_ready=True, problem=in_words(problem))

    def knows(self, key: Hashable) -> bool:
        """Was it asked for?"""
        return key in self._known

    def drop(self, start: tuple[Hashable, ...]) -> None:
        """Forget the answers whose keys begin so: what they are about has changed."""
        with self._lock:
            for key in list(self._known):
                if isinstance(key, tuple) and key[: len(start)] == start:
                    self._known.pop(key).cancel()

    def drop_waiting(self, start: tuple[Hashable, ...]) -> None:
        """Drop what begins so and has not begun to be counted: somebody has changed their mind."""
        with self._lock:
            for key in list(self._known):
                if isinstance(key, tuple) and key[: len(start)] == start and self._known[key].cancel():
                    del self._known[key]

    def close(self) -> None:
        """Begin nothing more."""
        with self._lock:
            for future in self._known.values():
                future.cancel()

    @property
    def is_busy(self) -> bool:
        """Is something being counted?"""
        return any(future.running() for future in list(self._known.values()))


def in_words(problem: BaseException) -> str:
    """What may be shown of an error: sqlanon's own sentence; of any other only its kind, as it may hold a value."""
    if isinstance(problem, Cancelled):
        return "Cancelled. Nothing was stored."
    if isinstance(problem, SqlanonError):
        return str(problem)
    if isinstance(problem, DatabaseError | OSError):
        log.warning("%s", type(problem).__name__)
        return f"The database reports a {type(problem).__name__}. Its text is not shown, as it may hold values."
    log.error("%s at %s", type(problem).__name__, _place(problem))
    return f"Something went wrong here ({type(problem).__name__}). The terminal says where."


def _place(problem: BaseException) -> str:
    """File and line of an error, without its text."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


@dataclass(eq=False)
class Job:
    """Work that somebody waits for: how far it is, what came of it, and a way to stop it."""

    number: int
    what: str
    source: str
    work: Callable[[Job], Any] = field(repr=False)
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    share: float = 0.0
    loss: float | None = None
    step: str = "Starting"
    result: Any = None
    problem: str | None = None
    cancelled: float | None = None
    next_page: str = ""
    connection: Session | None = None
    watch: Watch = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.watch = Watch(self._heard)

    def _heard(self, share: float, loss: float | None) -> None:
        self.share = max(self.share, min(share, 1.0))
        self.loss = loss if loss is not None and 0 <= loss <= 1 else self.loss

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled is not None

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    @property
    def left(self) -> float | None:
        """Seconds that it may still take, once that can be told."""
        return self.seconds * (1 - self.share) / self.share if 0.03 < self.share < 1 else None

    def check(self) -> None:
        """Raise if it is to stop."""
        if self.is_cancelled:
            raise InterruptedRunError("Interrupted; nothing was stored")

    def cancel(self) -> None:
        """Stop it, wherever it is: in a core, in a query, or while it waits."""
        if self.cancelled is None:
            self.cancelled = time.monotonic()
        self.watch.cancel()
        connection = self.connection
        if connection is not None:
            connection.interrupt()

    def run(self) -> None:
        """Do the work; never raises."""
        try:
            self.check()
            with read_in(PAGE):
                self.result = self.work(self)
        except BaseException as problem:
            self.problem = "Cancelled. Nothing was stored." if self.is_cancelled else in_words(problem)
        finally:
            self.connection = None
            self.ended = time.monotonic()


class Jobs:
    """The jobs of this studio, each in a thread of its own."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[int, Job] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def start(self, what: str, source: str, work: Callable[[Job], Any], next_page: str = "") -> Job:
        """Begin a job."""
        with self._lock:
            job = Job(next(self._numbers), what, source, work, next_page=next_page)
            self._jobs[job.number] = job
            over = [number for number, each in self._jobs.items() if each.is_over]
            for number in over[: max(0, len(over) - FINISHED)]:
                del self._jobs[number]
        threading.Thread(target=job.run, name=f"studio-job-{job.number}", daemon=True).start()
        return job

    def find(self, number: int, source: str) -> Job | None:
        """A job of a source."""
        job = self._jobs.get(number)
        return job if job is not None and job.source == source else None

    def running(self, source: str | None = None) -> list[Job]:
        """The jobs that are not over."""
        return [job for job in list(self._jobs.values()) if not job.is_over and source in (None, job.source)]

    def cancel_all(self) -> None:
        """Stop everything."""
        for job in self.running():
            job.cancel()
