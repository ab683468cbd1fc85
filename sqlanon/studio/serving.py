"""Starting and stopping the studio: on this machine only, with a link that works once."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import uvicorn

from sqlanon.studio.app import application
from sqlanon.studio.facade import SqlanonError
from sqlanon.studio.security import Guard, Keys
from sqlanon.studio.state import Studio

ADDRESS = "127.0.0.1"
IDLE = 3600.0
"""Seconds without a request or a job after which the studio stops."""
LOOK = 5.0
MALLOPT = {"M_TRIM_THRESHOLD": (-1, 2**18), "M_MMAP_THRESHOLD": (-3, 2**18), "M_ARENA_MAX": (-8, 2)}
"""Settings of glibc's allocator: their numbers in malloc.h, and values."""


def return_freed_memory() -> None:
    """Give the arrays of a run back to the system when it is over. By default glibc keeps arrays of up to 32 MiB for
    later, in a heap for each of many threads: over an hour of runs, hundreds of MiB that nobody uses. Other systems
    have other allocators, which are left as they are."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for setting, value in MALLOPT.values():
            libc.mallopt(setting, value)


def listen(port: int) -> socket.socket:
    """A socket on this machine; with port 0 on a free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
    except (OSError, OverflowError):
        found.close()
        raise SqlanonError(f"Port {port} is taken: choose another with --port, or leave it out") from None
    return found


class Server:
    """One studio with its socket."""

    def __init__(self, studio: Studio, port: int = 0, idle: float = IDLE) -> None:
        self.studio, self.idle = studio, idle
        self.socket = listen(port)
        self.port = int(self.socket.getsockname()[1])
        self.keys = Keys()
        self.guard: Guard = application(studio, self.keys, lambda: self.port)
        config = uvicorn.Config(
            self.guard,
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            ws="none",
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        self.server = uvicorn.Server(config)
        studio.stop = self.stop

    @property
    def url(self) -> str:
        """The link that works once."""
        return f"http://{ADDRESS}:{self.port}{self.keys.path}/start?token={self.keys.token}"

    def stop(self) -> None:
        """Stop soon: the present answers are still sent."""
        self.server.should_exit = True

    def run(self) -> None:
        """Serve until somebody stops it, or nobody has asked for an hour."""
        return_freed_memory()
        try:
            asyncio.run(self._serve())
        finally:
            self.studio.close()
            self.socket.close()

    async def _serve(self) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            await self.server.serve(sockets=[self.socket])
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        """Stop when idle. Work that goes on is not idle."""
        while True:
            await asyncio.sleep(min(LOOK, self.idle / 4))
            if self.studio.jobs.running():
                self.guard.last_asked = time.monotonic()
            elif time.monotonic() - self.guard.last_asked > self.idle:
                self.stop()


def serve(
    named: Sequence[str],
    out: Path,
    *,
    port: int = 0,
    is_demo: bool = False,
    opens_browser: bool = True,
    reading: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Open the studio and serve it until it is stopped. `reading` says how csv files are read, as `file_query` does."""
    _log_to_terminal()
    studio = Studio(named, out, is_demo, reading)
    try:
        server = Server(studio, port)
    except BaseException:
        studio.close()
        raise
    say(f"sqlanon studio writes to {studio.folder.path} and to nothing else unless you store a release.")
    say(f"Open this link; it works once:\n\n  {server.url}\n")
    say("Stop it with Ctrl-C, with the button on the page, or leave it alone for an hour.")
    sys.stdout.flush()
    studio.warm()
    if opens_browser:
        webbrowser.open(server.url)
    try:
        server.run()
    finally:
        if studio.background.is_busy or studio.jobs.running():
            sys.stdout.flush()
            os._exit(0)  # a thread inside the database cannot be waited for; nothing that it does is kept


def _log_to_terminal() -> None:
    """Where something went wrong is said in the terminal: the kind of error and its place, never its text."""
    log = logging.getLogger("sqlanon.studio")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("sqlanon studio: %(message)s"))
        log.addHandler(handler)
