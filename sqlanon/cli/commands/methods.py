"""sqlanon methods: list list the clustering methods and their parameters."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sqlanon.errors import PolicyError, not_one_of
from sqlanon.udfs.method import Method
from sqlanon.udfs.methods import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", nargs="?", help="a method, to see its own parameters (default: all methods)")
    parser.add_argument("--json", action="store_true", help="print one JSON list")


def run(arguments: argparse.Namespace) -> None:
    if arguments.name is not None and arguments.name.lower() not in METHODS:
        raise PolicyError(not_one_of("method", arguments.name, METHODS))
    chosen = list(METHODS.values()) if arguments.name is None else [METHODS[arguments.name.lower()]]
    if arguments.json:
        print(json.dumps([_told(method) for method in chosen]))
        return
    for method in chosen:
        print(f"{method.name}\n  {method.paper}\n  cost: {method.cost}\n  use:  {method.use}")
        for p in method.parameters:
            default = "" if p.default is None else f", default {p.default}"
            print(f"  --{p.name.replace('_', '-')} ({p.range}{default}): {p.help}")


def _told(method: Method) -> dict[str, Any]:
    parameters = [{"name": p.name, "default": p.default, "range": p.range, "help": p.help} for p in method.parameters]
    told = {"name": method.name, "paper": method.paper, "cost": method.cost, "use": method.use}
    return told | {"parameters": parameters}
