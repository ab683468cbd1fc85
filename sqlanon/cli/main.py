"""The command line: which commands there are. What each takes and does is its own file of sqlanon/cli/commands,
imported when it is asked for, so that `sqlanon --help` answers at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Sequence
from importlib import import_module
from typing import Any, NoReturn

import sqlanon
from sqlanon.errors import did_you_mean, not_one_of

COMMANDS = {
    "demo": (
        "show a table before and after, with proof and loss",
        "sqlanon demo",
    ),
    "wizard": (
        "go from a file to a release, a policy and a report by questions with proposed answers",
        "sqlanon wizard people.csv",
    ),
    "detect": (
        "show which columns and combinations single people out, and suggest a role for each column",
        "sqlanon detect people.csv --toml > policy.toml",
    ),
    "anonymize": (
        "anonymize a table, file or query",
        "sqlanon anonymize people.csv --quasi age,zip,sex --k 5 -o people_public.csv",
    ),
    "check": (
        "check a table, csv or parquet file; exit 1 if a promise is broken",
        "sqlanon check people_public.csv --quasi age,zip,sex --k 5 --sensitive diagnosis --l 2",
    ),
    "risk": (
        "how easily the people in a table, csv or parquet file can be found again",
        "sqlanon risk people_public.csv --quasi age,zip,sex",
    ),
    "attack": (
        "attack a release by somebody who has its source; exit 1 if an attack achieves more than is promised",
        "sqlanon attack patients_public --db hospital.duckdb",
    ),
    "publish": (
        "write a stored release to a new duckdb, csv or parquet file that holds nothing else",
        "sqlanon publish patients_public --db hospital.duckdb -o patients_public.parquet",
    ),
    "report": (
        "write one HTML file about a release or any table: what holds, what was lost, what is not protected",
        "sqlanon report patients_public --db hospital.duckdb -o report.html",
    ),
    "explain": (
        "show why a stored release lost what it lost, and what would lose less",
        "sqlanon explain patients_public --db hospital.duckdb",
    ),
    "diff": (
        "show what two policies or two stored releases differ in: columns, options, loss, risk and rows",
        "sqlanon diff last_year.toml this_year.toml",
    ),
    "refresh": (
        "bring a stored view up to date with its source",
        "sqlanon refresh patients_public --db hospital.duckdb",
    ),
    "erase": (
        "take people out of a stored view for good, with everybody whom they were released with",
        "sqlanon erase patients_public 17 --db hospital.duckdb",
    ),
    "status": (
        "show which stored releases are behind their sources, and by how many rows",
        "sqlanon status --db hospital.duckdb",
    ),
    "audit": (
        "combine all stored releases of a table; exit 1 if together they break k for anybody",
        "sqlanon audit patients --db hospital.duckdb",
    ),
    "compare": (
        "run methods against each other on the same rows: loss, time and risk as tables, charts and JSON",
        "sqlanon compare people.csv --quasi age,zip,sex --k 5,10,20 --methods auto,kacpc,mondrian -o comparison.html",
    ),
    "run": (
        "run a SQL script or a policy file",
        "sqlanon run anonymize.sql --db hospital.duckdb",
    ),
    "shell": (
        "type SQL and sqlanon's statements",
        "sqlanon shell --db hospital.duckdb",
    ),
    "hierarchy": (
        "list, show, create and drop hierarchies, and find what they do not cover",
        "sqlanon hierarchy create zip --prefix --db hospital.duckdb",
    ),
    "key": (
        "make a key for pseudonyms, in a file that only you can read",
        "sqlanon key my.key",
    ),
    "utility": (
        "show what a stored release lost, and with --task how well a column can still be predicted",
        "sqlanon utility patients_public --db hospital.duckdb --task diagnosis",
    ),
    "studio": (
        "a local web page on which a data steward goes from a table to a release",
        "sqlanon studio hospital.duckdb",
    ),
    "methods": (
        "list the clustering methods, or show one with its own parameters",
        "sqlanon methods kacpc",
    ),
    "completion": (
        "print a completion script for your shell",
        'eval "$(sqlanon completion bash)" in ~/.bashrc',
    ),
}
"""Each command with what it does and an example."""
FIRST = """\
sqlanon {version} anonymizes tables inside DuckDB, and checks tables that were anonymized elsewhere.

  1. see it             sqlanon demo
  2. be asked           sqlanon wizard people.csv
  3. anonymize it       sqlanon anonymize people.csv --quasi age,zip,sex --k 5 -o people_public.csv
  4. check the file     sqlanon check people_public.csv --quasi age,zip,sex --k 5
  5. show it to others  sqlanon report people_public.csv --quasi age,zip,sex --k 5 -o report.html

All commands: sqlanon --help. What one takes, with an example: sqlanon anonymize --help."""
"""What to do first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code: 0 done and true, 1 a promise is broken, 2 bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        print(FIRST.format(version=sqlanon.__version__))
        return 0
    parsed = parser(given).parse_args(given)
    return int(import_module("sqlanon.cli.commands").carry_out(parsed.command, parsed))


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in two lines, without the usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As usual, but a command refuses by itself what it does not know, so that its own flags can be proposed."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            first = unknown[0].partition("=")[0]
            flags = [flag[2:] for flag in self._option_string_actions if flag.startswith("--")]
            if first.startswith("-"):
                near = did_you_mean(first.lstrip("-"), flags).replace("'", "'--", 1)
                self.error(f"{first} is not an option of {self.prog}.{near}")
            self.error(f"'{first}' is one argument too many")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = str(action.metavar).lower() if action.metavar in ("COMMAND", "ACTION") else "value"
            flag = f"{action.option_strings[-1]}: " if action.option_strings else ""
            self.error(f"{flag}{not_one_of(what, str(value), map(str, action.choices))}")

    def error(self, message: str) -> NoReturn:
        """What is wrong, and where the help is; exit 2."""
        self.exit(2, f"sqlanon: {message[:1].upper()}{message[1:]}\nFor all options: {self.prog} --help\n")


def parser(wanted: Container[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The parser of all commands, where those that are wanted know their arguments."""
    main_parser = Parser(
        prog="sqlanon",
        description="Anonymize tables inside DuckDB, and check tables that were anonymized elsewhere.",
        epilog="First steps: sqlanon demo",
    )
    main_parser.add_argument("--version", action="version", version=f"sqlanon {sqlanon.__version__}")
    commands = main_parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    for command, (help, example) in COMMANDS.items():
        added = commands.add_parser(command, help=help, description=help, epilog=f"Example: {example}")
        if command in wanted:
            import_module(f"sqlanon.cli.commands.{command}").add_arguments(added)
    return main_parser
