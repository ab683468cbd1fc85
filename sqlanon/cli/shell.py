"""sqlanon shell: DuckDB's SQL and sqlanon's statements, typed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sqlanon.cli.completing import DELIMITERS, Completer
from sqlanon.engine.errors import told
from sqlanon.engine.session import DatabaseError, Relation
from sqlanon.errors import SqlanonError
from sqlanon.progress import bars
from sqlanon.statements.connection import Connection
from sqlanon.statements.parse import split_script

HISTORY = 5000
"""Lines that are remembered."""
GREETING = """\
sqlanon {version} on DuckDB {duckdb}, {database}. End a statement with ; and the shell with .quit
TAB completes statements, tables, columns and macros."""


def shell(con: Connection, history: Path | None = None) -> None:
    """Read statements from the terminal, or a pipe, until the end."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        _remember(con, history)
    pending = ""
    while True:
        try:
            line = input(("sqlanon> " if not pending.strip() else "    ...> ") if is_terminal else "")
        except EOFError:
            if pending.strip():
                run_script(con, pending)
            return
        except KeyboardInterrupt:
            print()
            pending = ""
            continue
        if not pending.strip() and line.strip().lower() in (".quit", ".exit", "exit", "quit"):
            return
        statements, pending = split_script(pending + line + "\n")
        pending = pending if pending.strip() else ""
        for statement in statements:
            try:
                with bars.bar():
                    run_script(con, statement.strip())
            except SqlanonError as problem:
                print(f"{problem}", file=sys.stderr)
            except DatabaseError as problem:
                print(told(problem), file=sys.stderr)
            except KeyboardInterrupt:
                print("Interrupted", file=sys.stderr)


def run_script(con: Connection, text: str, show: Callable[[Relation], None] = print) -> None:
    """Run the statements of a script and show what they return."""
    statements, rest = split_script(text)
    for statement in [*statements, rest]:
        if not statement.strip():
            continue
        relation = con.sql(statement)
        if relation is not None:
            show(relation)


def print_json(relation: Relation) -> None:
    """A result as a line of JSON: its columns and rows, what JSON has no type for as text."""
    rows = [list(row) for row in relation.fetchall()]
    print(json.dumps({"columns": relation.columns, "rows": rows}, default=str))


def _remember(con: Connection, history: Path | None) -> None:
    """History, line editing and completion, where Python has readline."""
    try:
        import atexit
        import readline
    except ImportError:
        return
    readline.set_completer(Completer(con.duckdb).complete)
    readline.set_completer_delims(DELIMITERS)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    if history is not None:
        with suppress(OSError):  # the shell also works without a history
            history.touch(mode=0o600)  # for its owner only: statements may hold values
            readline.read_history_file(history)
            readline.set_history_length(HISTORY)
            atexit.register(readline.write_history_file, history)
