"""sqlanon erase: take people out of a stored view, with everybody whom they were released with."""

from __future__ import annotations

import argparse
import json
import sys

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_key_file, asked_database, existing_database
from sqlanon.errors import PolicyError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", help="a stored view with an identity")
    parser.add_argument(
        "people", nargs="*", help="values of the identity, comma-separated where it has several columns; - reads lines"
    )
    add_database(parser, required=True)
    add_key_file(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    given = sys.stdin.read().splitlines() if arguments.people == ["-"] else arguments.people
    with asked_database(arguments) as con:
        columns = len(sqlanon.open_release(con, arguments.name).policy.identity)
        people = [person.split(",") if columns > 1 else [person] for person in given if person]
        if not people:
            raise PolicyError("Nobody is named to be erased: give values of the identity")
        version = sqlanon.erase(con, arguments.name, people)
    if arguments.json:
        print(json.dumps(version.as_dict()))
    else:
        print(
            f"'{version.release}' version {version.version}: {version.rows:,} rows, {version.withdrawn:,} withdrawn, "
            f"with those whom {len(people):,} people were released with"
        )
