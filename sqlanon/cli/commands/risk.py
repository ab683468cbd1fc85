"""sqlanon risk: how easily the people in a table, csv or parquet file can be found again."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, add_quasi, attach, attached, flat

COUNTS = ("rows", "classes", "smallest_class", "median_class", "largest_class")
"""Measures that are no shares."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="a csv or parquet file, or a table of --db")
    add_database(parser, "the database that has the table; opened read-only")
    add_quasi(parser)
    parser.add_argument(
        "--population", metavar="SOURCE", help="everybody who might be in the table, generalized in the same way"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    with sqlanon.connect() as con:
        source, population = arguments.source, arguments.population
        if attach(con, arguments, [arguments.source], "risk"):
            source, population = attached(source), population and attached(population)
        found = sqlanon.risk(con, source, flat(arguments.quasi), population=population)
    if arguments.json:
        print(json.dumps(found))
        return
    for measure, value in found.items():
        print(f"{measure:16} {_shown(measure, value, found['rows'] or 0)}")


def _shown(measure: str, value: float | None, rows: float) -> str:
    """A count with separators, a share of rows with their number, any other share as percent."""
    if value is None:
        return "-"
    if measure in COUNTS:
        return f"{value:,.10g}"
    if measure.startswith(("unique_rows", "rows_below")):
        return f"{round(value * rows):,} ({value:.1%})"
    return f"{value:.1%}"
