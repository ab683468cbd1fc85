"""sqlanon shell: type SQL and sqlanon's statements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import duckdb

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_key_file, asked_database
from sqlanon.cli.shell import GREETING, shell

STORED = """\
select (select count(*) from duckdb_tables() where schema_name <> 'anon' and not internal and not temporary)
    + (select count(*) from duckdb_views() where schema_name <> 'anon' and not internal and not temporary)
    + (select count(*) from anon.hierarchies)"""
"""How much there is in a database beside what sqlanon itself puts there."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add_database(parser)
    add_key_file(parser)


def run(arguments: argparse.Namespace) -> int:
    is_new = arguments.db is not None and not Path(arguments.db).exists()
    with asked_database(arguments) as con:
        if sys.stdin.isatty():
            database = f"{arguments.db}{' (new)' if is_new else ''}" if arguments.db else "in memory"
            print(GREETING.format(version=sqlanon.__version__, duckdb=duckdb.__version__, database=database))
        succeeded = shell(con, Path.home() / ".sqlanon_history")
        is_empty = con.duckdb.execute(STORED).fetchall() == [(0,)]
    if is_new and is_empty:  # its name was mistyped, or nothing was done
        Path(arguments.db).unlink(missing_ok=True)
    return 0 if succeeded or sys.stdin.isatty() else 2
