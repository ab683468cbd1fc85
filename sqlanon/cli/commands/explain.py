"""sqlanon explain: why a stored release lost what it lost, and what would lose less."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, existing_database


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", help="a stored release; its source must be as it was")
    add_database(parser, required=True)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    with sqlanon.connect(arguments.db) as con:
        found = sqlanon.open_release(con, arguments.name).explain()
    print(json.dumps(found.as_dict()) if arguments.json else found)
