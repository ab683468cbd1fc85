"""sqlanon demo: show a table before and after, with proof and loss."""

from __future__ import annotations

import argparse

from sqlanon.cli.demo import demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--db", default=":memory:", metavar="FILE", help="keep the demo's tables in this database")


def run(arguments: argparse.Namespace) -> None:
    demo(arguments.db)
