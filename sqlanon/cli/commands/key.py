"""sqlanon key: make a key for pseudonyms, in a file that only you can read."""

from __future__ import annotations

import argparse
from pathlib import Path

import sqlanon


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", type=Path, help="the new file")


def run(arguments: argparse.Namespace) -> None:
    sqlanon.create_key(arguments.file)
