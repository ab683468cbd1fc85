"""sqlanon publish: write a stored release to a new duckdb, csv or parquet file that holds nothing else."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_publishing, existing_database, publishing
from sqlanon.wording import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", help="a stored release")
    add_database(parser, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the new file")
    parser.add_argument("--replace", action="store_true", help="replace an existing file")
    add_publishing(parser)
    refuses = "refuse it if it breaks k together with a release of the same people that was published before, or may"
    parser.add_argument("--strict", action="store_true", help=refuses)
    parser.add_argument("--json", action="store_true", help="print what the file says about the release")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    with sqlanon.connect(arguments.db) as con:
        release = sqlanon.open_release(con, arguments.name)
        asked = {"replace": arguments.replace, "strict": arguments.strict, **publishing(arguments)}
        about = release.publish(arguments.output, **asked)
    if arguments.json:
        print(json.dumps(about))
    else:
        rows, classes = plural(about["rows"], "row"), plural(about["classes"], "class", "classes")
        holds = f"{about['property']}, {rows} in {classes}"
        print(f"wrote {arguments.output}, verified on the file: {holds}", file=sys.stderr)
