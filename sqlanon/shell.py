"""sqlanon shell: DuckDB's SQL and sqlanon's statements, typed."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from sqlanon import progress
from sqlanon.connection import Connection
from sqlanon.errors import SqlanonError
from sqlanon.statements import split_script

GREETING = "sqlanon {version} on DuckDB {duckdb}, {database}. End a statement with ; and the shell with .quit"


def shell(con: Connection, history: Path | None = None) -> None:
    """Read statements from the terminal, or a pipe, until the end."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        _remember(history)
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
                with progress.bar():
                    run_script(con, statement.strip())
            except (SqlanonError, duckdb.Error) as problem:
                print(f"{problem}", file=sys.stderr)
            except KeyboardInterrupt:
                print("Interrupted", file=sys.stderr)


def run_script(con: Connection, text: str) -> None:
    """Run the statements of a script and print what they return."""
    statements, rest = split_script(text)
    for statement in [*statements, rest]:
        if not statement.strip():
            continue
        relation = con.sql(statement)
        if relation is not None:
            print(relation)


def _remember(history: Path | None) -> None:
    """History and line editing, where Python has readline."""
    try:
        import atexit
        import readline
    except ImportError:
        return
    if history is not None:
        if history.exists():
            readline.read_history_file(history)
        atexit.register(readline.write_history_file, history)
