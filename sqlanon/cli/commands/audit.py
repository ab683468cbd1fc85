"""sqlanon audit: all stored releases of a source together; exit 1 if they break k."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, existing_database


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="the table that releases were made from")
    add_database(parser, required=True)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    existing_database(arguments)
    with sqlanon.connect(arguments.db) as con:
        found = sqlanon.audit(con, arguments.source)
        if arguments.json:
            print(json.dumps(found.as_dict()))
        else:
            con.duckdb.sql(found.sql()).show(max_rows=1000, max_width=200)
            print("holds" if found.holds else "BROKEN")
    return 0 if found.holds else 1
