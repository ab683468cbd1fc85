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
from sqlanon.errors import SQL, SqlanonError, not_one_of, read_in
from sqlanon.progress import bars
from sqlanon.statements.connection import Connection
from sqlanon.statements.parse import split_script

HISTORY = 5000
"""Lines that are remembered."""
GREETING = """\
sqlanon {version} on DuckDB {duckdb}, {database}. End a statement with ; and the shell with .quit
TAB completes statements, tables, columns and macros; .help lists what there is."""


HELP = """\
.tables           the tables and views, releases among them
.schema [TABLE]   their columns and types
.quit             leave

CREATE ANONYMIZED VIEW pub AS SELECT age, zip, diagnosis FROM patients
    OPTIONS (k = 5, quasi = [age, zip], sensitive = [diagnosis]);
CREATE HIERARCHY zip USING PREFIX;      CREATE HIERARCHY age USING INTERVALS (5, 10, 20);
FROM anon.detect('patients');           which columns single people out
FROM anon.explain('pub');               why it lost what it lost
FROM anon.utility('pub');               what it lost, by every measure
FROM anon.methods();                    the methods and their parameters
PUBLISH pub TO 'pub.parquet';           a file that holds nothing else"""
TABLES = """\
select t.name, coalesce('release of ' || r.source, t.kind) as kind
from (
    select database_name, schema_name, table_name as name, 'table' as kind from duckdb_tables() where not internal
    union all
    select database_name, schema_name, view_name, 'view' from duckdb_views() where not internal
) as t
left join anon.releases as r on lower(r.table_name) = lower(t.name) and lower(r.schema_name) = lower(t.schema_name)
where t.database_name = current_database() and t.schema_name <> 'anon'
order by t.name"""
SCHEMA = """\
select table_name as "table", column_name as "column", data_type as type
from duckdb_columns()
where database_name = current_database() and schema_name <> 'anon' and not internal
order by table_name, column_index"""


def shell(con: Connection, history: Path | None = None) -> bool:
    """Read statements from the terminal, or a pipe, until the end; did all of them succeed?"""
    with read_in(SQL):
        return _shell(con, history)


def _shell(con: Connection, history: Path | None) -> bool:
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        _remember(con, history)
    pending, succeeded = "", True
    while True:
        try:
            line = input(("sqlanon> " if not pending.strip() else "    ...> ") if is_terminal else "")
        except EOFError:
            return _run(con, pending) and succeeded
        except KeyboardInterrupt:
            print()
            pending = ""
            continue
        if not pending.strip() and line.strip().lower().rstrip(";") in (".quit", ".exit", "exit", "quit"):
            return succeeded
        if not pending.strip() and line.strip().startswith("."):
            succeeded = _dot_command(con, line) and succeeded
            continue
        statements, pending = split_script(pending + line + "\n")
        pending = pending if pending.strip() else ""
        for statement in statements:
            succeeded = _run(con, statement) and succeeded


def _run(con: Connection, statement: str) -> bool:
    """Run a statement and show what it returns, or say why it failed."""
    try:
        with bars.bar():
            run_script(con, statement.strip())
    except SqlanonError as problem:
        print(f"{problem}", file=sys.stderr)
    except DatabaseError as problem:
        print(told(problem), file=sys.stderr)
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
    else:
        return True
    return False


def _dot_command(con: Connection, line: str) -> bool:
    """Do what a line says that begins with a dot; False if it cannot be done."""
    command, *rest = line.strip().rstrip(";").split(None, 1)
    known = (".help", ".tables", ".schema", ".quit")
    if command.lower() in (".help", ".h"):
        print(HELP)
    elif command.lower() == ".tables":
        return _run(con, TABLES)
    elif command.lower() == ".schema":
        return _run(con, f"describe {rest[0]}" if rest else SCHEMA)
    else:
        print(not_one_of("command", command, known), file=sys.stderr)
        return False
    return True


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
