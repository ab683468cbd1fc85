"""sqlanon anonymize: anonymize a table, file or query."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sqlanon
from sqlanon.cli.commands.arguments import (
    add_database,
    add_key_file,
    add_models,
    add_quasi,
    asked_database,
    columns,
    flat,
    number,
    pair,
    weight,
)
from sqlanon.policy.options import (
    BATCH,
    CHANGED,
    DEFAULT_METHOD,
    DELETED,
    FAILED,
    IDENTITY,
    MAX_SUPPRESSION,
    PARAMETERS,
    POPULATION,
    RANGES,
    REPRESENTATIONS,
    ROLES,
    ROW_WEIGHT,
    UPDATED,
)
from sqlanon.policy.policy import OPTIONS
from sqlanon.releases.publishing import refuse
from sqlanon.reporting.displays import release_dict, summary
from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="a table of the database, a csv or parquet file, or a SELECT")
    add_database(parser)
    add_quasi(parser)
    parser.add_argument("--k", type=int, default=5, help="every class must have at least this many rows (default 5)")
    add_models(parser)
    parser.add_argument("--method", default=DEFAULT_METHOD, help=f"{', '.join(METHODS)} (default {DEFAULT_METHOD})")
    for role, meaning in (
        ("sensitive", "sensitive columns: released unchanged, diversity measured"),
        ("keep", "other columns to release unchanged"),
        ("unsafe-keep", "columns to release unchanged even if nearly unique"),
        ("pseudonymize", "columns to release as keyed hashes"),
    ):
        parser.add_argument(f"--{role}", action="append", type=columns, metavar="A,B", help=meaning)
    parser.add_argument(
        "--entity", metavar="COLUMN", help="the column that identifies a person; k, l and alpha then count people"
    )
    parser.add_argument("--hierarchy", action="append", type=pair, metavar="COLUMN=NAME", help="a column's hierarchy")
    parser.add_argument("--weight", action="append", type=pair, metavar="COLUMN=NUMBER", help="a column's weight")
    parser.add_argument(
        "--ranges", choices=RANGES, help="numbers as [25-30], as two typed columns, or snapped to a grid"
    )
    parser.add_argument("--grid", action="append", type=pair, metavar="COLUMN=WIDTH", help="a column's grid: 5, month")
    parser.add_argument("--represent", choices=REPRESENTATIONS, help="release what covers a class, or its center")
    parser.add_argument("--population", metavar="TABLE", help=POPULATION)
    parser.add_argument(f"--{MAX_SUPPRESSION.name.replace('_', '-')}", type=number, help=MAX_SUPPRESSION.help)
    parser.add_argument("--refine", action="store_true", default=None, help="improve the method's groups by a search")
    parser.add_argument("--block-size", type=number, help="maximum number of distinct tuples per block")
    parser.add_argument("--seed", type=int, help="the same seed gives the same groups")
    parser.add_argument("--identity", action="append", type=columns, metavar="A,B", help=IDENTITY)
    for option in (DELETED, CHANGED, UPDATED, FAILED):
        parser.add_argument(f"--{option.name}", choices=option.choices, help=option.help)
    parser.add_argument("--batch", type=number, help=BATCH)
    parser.add_argument("--row-weight", action="store_true", default=None, help=ROW_WEIGHT)
    parser.add_argument(
        "--strict",
        action="store_true",
        default=None,
        help="refuse a release that breaks k together with other stored releases",
    )
    for parameter, methods in _parameters().items():
        kind = {"type": number} if not parameter.choices else {"choices": parameter.choices}
        parser.add_argument(
            f"--{parameter.name.replace('_', '-')}", help=f"{', '.join(methods)}: {parameter.help}", **kind
        )
    parser.add_argument("--name", help="store the release in the database under this name")
    parser.add_argument("--view", action="store_true", help="store it as a view over a stored table")
    parser.add_argument("--replace", action="store_true", help="replace the stored release of that name")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="publish to a new duckdb, csv or parquet file"
    )
    parser.add_argument("--json", action="store_true", help="print what was verified and lost as one JSON object")
    add_key_file(parser)


def run(arguments: argparse.Namespace) -> None:
    output: Path | None = arguments.output
    given = {option: getattr(arguments, option, None) for option in (*OPTIONS, *PARAMETERS)}
    given |= {role: flat(given[role]) for role in (*ROLES, "identity")}
    given["hierarchies"] = dict(arguments.hierarchy or [])
    given["weights"] = {column: weight(column, text) for column, text in arguments.weight or []}
    given["grid"] = dict(arguments.grid or [])
    with asked_database(arguments) as con:
        if output is not None:
            refuse(con.duckdb, output)
        release = sqlanon.anonymize(
            con,
            arguments.source,
            name=arguments.name,
            kind="view" if arguments.view else "table",
            replace=arguments.replace,
            **given,
        )
        if output is not None:
            release.publish(output)
        elif arguments.name is None and not arguments.json:
            print(release.relation())
        if arguments.json:
            print(json.dumps(release_dict(release)))
        print(summary(release), file=sys.stderr)


def _parameters() -> dict[Parameter, list[str]]:
    """Every method parameter once, with the methods that take it."""
    named: dict[str, tuple[Parameter, list[str]]] = {}
    for method in METHODS.values():
        for parameter in method.parameters:
            named.setdefault(parameter.name, (parameter, []))[1].append(method.name)
    return dict(named.values())
