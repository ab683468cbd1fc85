"""sqlanon wizard: from a file to a release by questions with proposed answers."""

from __future__ import annotations

import argparse

from sqlanon.cli.commands.arguments import READING, add_reading
from sqlanon.cli.wizard import wizard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", metavar="FILE", help="a csv or parquet file")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> int:
    return 0 if wizard(arguments.source, reading={option: getattr(arguments, option) for option in READING}) else 130
