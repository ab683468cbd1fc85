"""The commands, a file each: `add_arguments` says what it takes, `run` does it. A thin skin over the library."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module

from sqlanon.engine.errors import told
from sqlanon.engine.session import DatabaseError
from sqlanon.errors import BrokenPromiseError, SqlanonError, command_line, read_in
from sqlanon.progress import bars

OWN_PROGRESS = ("shell", "compare", "studio", "wizard")
"""Commands that show progress in their own way."""
OWN_WARNINGS = ("compare", "studio")
"""Commands that run many releases of which nobody wants each warning."""


def carry_out(command: str, arguments: argparse.Namespace) -> int:
    """Run a command; the exit code."""
    progress = nullcontext() if command in OWN_PROGRESS else bars.bar()
    try:
        with read_in(command_line(getattr(arguments, "db", None))), progress, _warnings(command not in OWN_WARNINGS):
            return int(import_module(f"sqlanon.cli.commands.{command}").run(arguments) or 0)
    except BrokenPromiseError as problem:
        return say(problem, 1)
    except SqlanonError as problem:
        return say(problem, 2)
    except DatabaseError as problem:
        return say(told(problem), 2)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return say("interrupted; nothing was stored", 130)


@contextmanager
def _warnings(are_shown: bool) -> Iterator[None]:
    """What the library logs goes to stderr, as errors do."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("sqlanon: %(message)s"))
    log = logging.getLogger("sqlanon")
    if are_shown:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def say(problem: object, code: int) -> int:
    """Print a line to stderr; the exit code."""
    print(f"sqlanon: {problem}", file=sys.stderr)
    return code
