"""sqlanon methods: list the clustering methods and their parameters."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sqlanon.sqltext import literal
from sqlanon.udfs.method import Method
from sqlanon.udfs.methods import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--json", action="store_true", help="print one JSON list")


def run(arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps([_told(method) for method in METHODS.values()]))
        return
    for method in METHODS.values():
        print(f"{method.name}\n  {method.paper}\n  cost: {method.cost}\n  use:  {method.use}")
        for p in method.parameters:
            print(f"  {p.name} = {literal(p.default)} ({p.range}): {p.help}")


def _told(method: Method) -> dict[str, Any]:
    parameters = [{"name": p.name, "default": p.default, "range": p.range, "help": p.help} for p in method.parameters]
    told = {"name": method.name, "paper": method.paper, "cost": method.cost, "use": method.use}
    return told | {"parameters": parameters}
