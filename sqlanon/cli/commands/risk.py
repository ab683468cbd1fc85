"""sqlanon risk: how easily the people in a table, csv or parquet file can be found again."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_quasi, add_reading, attach, attached, flat, looked_up


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="a csv or parquet file, or a table of --db")
    add_database(parser, "the database that has the table; opened read-only")
    add_reading(parser)
    add_quasi(parser, default="those of a stored release")
    parser.add_argument(
        "--population", metavar="SOURCE", help="everybody who might be in the table, generalized in the same way"
    )
    parser.add_argument("--entity", metavar="COLUMN", help="count the people who share a set of rows, by this column")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    with sqlanon.connect() as con:
        source, population = arguments.source, arguments.population
        is_attached = attach(con, arguments, [arguments.source], "risk")
        source = looked_up(arguments, source, is_attached)
        if is_attached and population:
            population = attached(population)
        quasi = None if arguments.quasi is None else flat(arguments.quasi)
        found = sqlanon.risk(con, source, quasi, population=population, entity=arguments.entity)
    if arguments.json:
        print(json.dumps(found))
        return
    print(found)
