"""sqlanon status: which stored releases are behind their sources, and by how many people."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_key_file, asked_database, existing_database
from sqlanon.cli.tables import table
from sqlanon.releases.status import status_sql


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", nargs="?", help="a stored release (default: all)")
    add_database(parser, required=True)
    add_key_file(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    with asked_database(arguments) as con:
        found = sqlanon.status(con, arguments.name)
        if arguments.json:
            print(json.dumps([each.as_dict() for each in found]))
        else:
            print(table(con.duckdb.sql(status_sql(found)), "no stored releases"))
