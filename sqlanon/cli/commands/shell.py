"""sqlanon shell: type SQL and sqlanon's statements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import duckdb

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_key_file, asked_database
from sqlanon.cli.shell import GREETING, shell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add_database(parser)
    add_key_file(parser)


def run(arguments: argparse.Namespace) -> int:
    with asked_database(arguments) as con:
        if sys.stdin.isatty():
            database = arguments.db or "in memory"
            print(GREETING.format(version=sqlanon.__version__, duckdb=duckdb.__version__, database=database))
        succeeded = shell(con, Path.home() / ".sqlanon_history")
    return 0 if succeeded or sys.stdin.isatty() else 2
