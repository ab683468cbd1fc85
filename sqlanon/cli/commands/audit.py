"""sqlanon audit: all stored releases of a source together; exit 1 if they break k."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_strict, columns, existing_database, pair
from sqlanon.cli.tables import table

NEXT = (
    "next: give out one of the releases that are broken together only, and withdraw what was published of the others; "
    "or make one again with --strict, which refuses a release that breaks k together with another"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="the table that releases were made from")
    add_database(parser, required=True)
    about = "a release that is stored elsewhere, and its quasi-identifiers"
    parser.add_argument("--file", action="append", type=pair, metavar="FILE=A,B", help=about)
    add_strict(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    existing_database(arguments)
    with sqlanon.connect(arguments.db) as con:
        files = {file: columns(quasi) for file, quasi in arguments.file or []}
        found = sqlanon.audit(con, arguments.source, files=files)
        if arguments.json:
            print(json.dumps(found.as_dict()))
        else:
            print(table(con.duckdb.sql(found.sql()), "there are no two releases of it to combine"))
            print("BROKEN" if not found.holds else "holds" if found.is_tried else "holds as far as it was tried")
            if not found.holds:
                print(NEXT)
            if found.unmatched is not None:
                print(found.unmatched)
    return 0 if found.holds and (found.is_tried or not arguments.strict) else 1
