"""sqlanon detect: show which columns and combinations single people out, and suggest a role for each column."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_reading, attach, source_query


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="a csv or parquet file, or a table of --db")
    add_database(parser, "the database that has the table; opened read-only")
    parser.add_argument("--size", type=int, default=3, help="how many columns a combination may have (default 3)")
    parser.add_argument(
        "--share",
        type=float,
        default=0.05,
        help="list a combination if more than this share of rows is unique in it (default 0.05)",
    )
    add_reading(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print one JSON object")
    how.add_argument("--toml", action="store_true", help="print a policy file for sqlanon run")


def run(arguments: argparse.Namespace) -> None:
    with sqlanon.connect() as con:
        if attach(con, arguments, [arguments.source], "detect"):
            con.execute("use checked.main").fetchall()
        found = sqlanon.detect(
            con, source_query(arguments, arguments.source), size=arguments.size, share=arguments.share
        )
        if arguments.json:
            print(json.dumps(found.as_dict()))
        elif arguments.toml:
            print(found.toml(), end="")
        else:
            print(found)
            if found.together is not None:
                print(f"all quasi-identifiers together single out {found.together:.1%} of the rows")
            if found.untested:
                print(f"{found.untested:,} combinations of columns were not tested")
