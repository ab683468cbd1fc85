"""sqlanon methods: the clustering methods and their parameters."""

from __future__ import annotations

import argparse

from sqlanon.sqltext import literal
from sqlanon.udfs.methods import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""


def run(arguments: argparse.Namespace) -> None:
    for method in METHODS.values():
        print(f"{method.name}\n  {method.paper}\n  cost: {method.cost}\n  use:  {method.use}")
        for p in method.parameters:
            print(f"  {p.name} = {literal(p.default)} ({p.range}): {p.help}")
