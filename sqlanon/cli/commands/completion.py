"""sqlanon completion: print the completion script of a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import shtab

from sqlanon.cli import main

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("shell", choices=SHELLS, help="eval its output, or in fish pipe it to source")


def run(arguments: argparse.Namespace) -> None:
    parser = main.parser()
    for action in _actions(parser):
        if action.type is Path or action.metavar == "FILE" or action.dest in ("source", "file"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, arguments.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of all commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from _actions(command)
