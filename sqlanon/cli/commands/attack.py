"""sqlanon attack: attack a release with its source as the attacker's knowledge."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import (
    Required,
    add_database,
    add_reading,
    add_strict,
    columns,
    existing_database,
    flat,
    is_read_otherwise,
    looked_up,
    pair,
    required,
)
from sqlanon.errors import PolicyError
from sqlanon.policy.options import RANGES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("release", help="a stored release of --db, or with --source any table, csv or parquet file")
    add_database(parser)
    parser.add_argument("--source", help="the source of a table that is not a stored release")
    add_reading(parser, "with --source: how its file is read")
    for role in ("quasi", "sensitive", "keep", "pseudonymize"):
        parser.add_argument(
            f"--{role}", action="append", type=columns, metavar="A,B", help="with --source: its columns"
        )
    parser.add_argument("--entity", metavar="COLUMN", help="with --source: the column that identifies a person")
    parser.add_argument("--linked", action="store_true", default=None, help="with --source: is it linked?")
    parser.add_argument("--k", type=int, help="with --source: what k promises (default 5)")
    parser.add_argument(
        "--l", type=required, action=Required, metavar="[COLUMN=]NUMBER", help="with --source: what l promises"
    )
    parser.add_argument("--hierarchy", action="append", type=pair, metavar="COLUMN=NAME", help="with --source")
    parser.add_argument("--ranges", choices=RANGES, help="with --source: how numbers are printed")
    parser.add_argument("--other", action="append", metavar="NAME", help="intersect with this release (default: all)")
    parser.add_argument(
        "--knows", type=int, default=1, metavar="M", help="number of values that the attacker can rule out (default 1)"
    )
    add_strict(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    existing_database(arguments)
    if arguments.source is None and is_read_otherwise(arguments):
        raise PolicyError("How a file is read goes with --source FILE; a stored release has its source already")
    source = arguments.source and looked_up(arguments, arguments.source, is_attached=False)
    with sqlanon.connect(arguments.db or ":memory:") as con:
        found = sqlanon.attack(
            con,
            arguments.release,
            source=source,
            others=arguments.other,
            knows=arguments.knows,
            quasi=flat(arguments.quasi) or None,
            sensitive=flat(arguments.sensitive) or None,
            keep=flat(arguments.keep) or None,
            pseudonymize=flat(arguments.pseudonymize) or None,
            entity=arguments.entity,
            linked=arguments.linked,
            hierarchies=dict(arguments.hierarchy or []) or None,
            k=arguments.k,
            l=arguments.l,
            ranges=arguments.ranges,
        )
        if arguments.json:
            print(json.dumps(found.as_dict()))
        else:
            print(found)
    return 0 if found.holds and not (arguments.strict and found.warnings) else 1
