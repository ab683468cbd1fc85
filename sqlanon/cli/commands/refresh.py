"""sqlanon refresh: bring a stored view up to its source."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_key_file, asked_database, existing_database
from sqlanon.wording import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", help="a stored view")
    add_database(parser, required=True)
    add_key_file(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    with asked_database(arguments) as con:
        version = sqlanon.refresh(con, arguments.name)
    if arguments.json:
        print(json.dumps(version.as_dict()))
    else:
        print(
            f"'{version.release}' version {version.version}: {plural(version.rows, 'row')}, {version.added:,} added, "
            f"{version.withdrawn:,} withdrawn; held: {version.held_new:,} new, {version.held_deleted:,} deleted"
        )
        others = ("returned", "parted", "relabeled", "left_out", "blank", "outdated")
        if told := [
            f"{getattr(version, fact):,} {fact.replace('_', ' ')}" for fact in others if getattr(version, fact)
        ]:
            print(", ".join(told))
        if version.note is not None:
            print(f"Nobody is added: {version.note}")
