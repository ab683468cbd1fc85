"""sqlanon diff: what two policies or two stored releases differ in."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, existing_database


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    for which in ("first", "second"):
        parser.add_argument(which, help="a policy file, policy.toml, or a stored release of --db")
    add_database(parser, "the database that has the releases")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    if arguments.db is None:
        found = sqlanon.diff(None, arguments.first, arguments.second)
    else:
        with sqlanon.connect(arguments.db) as con:
            found = sqlanon.diff(con, arguments.first, arguments.second)
    print(json.dumps(found.as_dict()) if arguments.json else found)
