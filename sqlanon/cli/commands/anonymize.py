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
    add_publishing,
    add_quasi,
    add_reading,
    asked_database,
    columns,
    flat,
    made_or_gone,
    number,
    pair,
    publishing,
    require_database,
    require_writable,
    source_query,
    weight,
    whole_number,
)
from sqlanon.errors import PolicyError
from sqlanon.policy.options import (
    BATCH,
    CHANGED,
    DEFAULT_METHOD,
    DELETED,
    FAILED,
    FORMING,
    IDENTITY,
    LINKED,
    MAX_SUPPRESSION,
    PARAMETERS,
    POPULATION,
    PSEUDONYMS,
    RANGES,
    REPRESENTATIONS,
    ROLES,
    ROW_ORDER,
    ROW_PRICE,
    ROW_WEIGHT,
    UPDATED,
)
from sqlanon.policy.policy import OPTIONS
from sqlanon.reporting.displays import release_dict, summary
from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, in groups; the parameters of methods are shown by `sqlanon methods NAME`."""
    parser.usage = "sqlanon anonymize SOURCE --quasi A,B [--k K] [options]"
    parser.add_argument("source", help="a table of the database, a csv or parquet file, or a SELECT")
    add_database(parser)
    add_reading(parser)
    _add_columns(parser.add_argument_group("columns", "what each column is; a column without a role is not released"))
    private = parser.add_argument_group("privacy", "what every class must keep")
    private.add_argument("--k", type=whole_number, default=5, help="at least this many rows in a class (default 5)")
    add_models(private)
    private.add_argument("--population", metavar="TABLE", help=POPULATION)
    private.add_argument(
        "--strict",
        action="store_true",
        default=None,
        help="refuse a release that breaks k together with other stored releases",
    )
    _add_generalization(parser.add_argument_group("generalization", "how values are made coarser and released"))
    search = parser.add_argument_group("search", "a method's own parameters: sqlanon methods NAME")
    search.add_argument("--method", default=DEFAULT_METHOD, help=f"{', '.join(METHODS)} (default {DEFAULT_METHOD})")
    search.add_argument("--forming", choices=FORMING.choices, help=FORMING.help)
    search.add_argument("--refine", action="store_true", default=None, help="improve the method's groups by a search")
    search.add_argument("--block-size", type=number, help="maximum number of distinct tuples per block")
    search.add_argument(
        "--no-polish", dest="polish", action="store_false", default=None, help="do not refine across borders of blocks"
    )
    search.add_argument(
        "--seed", type=whole_number, help="the same seed gives the same groups; secret by default with models"
    )
    for parameter in _parameters():
        kind = {"type": number} if not parameter.choices else {"choices": parameter.choices}
        search.add_argument(f"--{parameter.name.replace('_', '-')}", help=argparse.SUPPRESS, **kind)
    _add_refreshing(parser.add_argument_group("refreshing", "what becomes of a stored view when its source changes"))
    _add_output(parser.add_argument_group("result", "where the release goes; by default it is shown"))


def _add_columns(group: argparse._ArgumentGroup) -> None:
    add_quasi(group)
    for role, meaning in (
        ("sensitive", "sensitive columns: released unchanged, diversity measured"),
        ("keep", "other columns to release unchanged"),
        ("unsafe-keep", "columns to release unchanged even if nearly unique"),
        ("pseudonymize", "columns to release as keyed hashes"),
    ):
        group.add_argument(f"--{role}", action="append", type=columns, metavar="A,B", help=meaning)
    group.add_argument(
        "--entity", metavar="COLUMN", help="the column that identifies a person; k, l and alpha then count people"
    )
    group.add_argument("--pseudonyms", choices=PSEUDONYMS.choices, help=PSEUDONYMS.help)
    group.add_argument("--linked", action="store_true", default=None, help=LINKED)
    group.add_argument("--row-price", type=number, help=ROW_PRICE.help)
    group.add_argument("--row-order", metavar="COLUMN", help=ROW_ORDER)
    add_key_file(group)


def _add_generalization(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--hierarchy", action="append", type=pair, metavar="COLUMN=NAME", help="a column's hierarchy")
    group.add_argument(
        "--suggest", action="store_true", help="draft a hierarchy for each text column that has none, and use it"
    )
    group.add_argument("--weight", action="append", type=pair, metavar="COLUMN=NUMBER", help="a column's weight")
    group.add_argument(
        "--ranges",
        choices=RANGES,
        help="numbers as [25-30], as two typed columns, or snapped to a grid; auto (default): fine ones snapped",
    )
    group.add_argument("--grid", action="append", type=pair, metavar="COLUMN=WIDTH", help="a column's grid: 5, month")
    group.add_argument(
        "--limit",
        action="append",
        type=pair,
        metavar="COLUMN=5..20",
        help="the finest and coarsest level or width, each may be left out; one value fixes it",
    )
    group.add_argument("--represent", choices=REPRESENTATIONS, help="release what covers a class, or its center")
    group.add_argument(f"--{MAX_SUPPRESSION.name.replace('_', '-')}", type=number, help=MAX_SUPPRESSION.help)


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--name", help="store the release in the database of --db under this name")
    group.add_argument("--view", action="store_true", help="store it as a view over a stored table")
    group.add_argument(
        "--replace", action="store_true", help="replace the stored release of that name, and an existing FILE"
    )
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="publish to a new duckdb, csv or parquet file")
    add_publishing(group)
    group.add_argument("--json", action="store_true", help="print what was verified and lost as one JSON object")


def _add_refreshing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--identity", action="append", type=columns, metavar="A,B", help=IDENTITY)
    for option in (DELETED, CHANGED, UPDATED, FAILED):
        group.add_argument(f"--{option.name}", choices=option.choices, help=option.help)
    group.add_argument("--batch", type=number, help=BATCH)
    group.add_argument("--row-weight", action="store_true", default=None, help=ROW_WEIGHT)


def run(arguments: argparse.Namespace) -> None:
    output: Path | None = arguments.output
    given = {option: getattr(arguments, option, None) for option in (*OPTIONS, *PARAMETERS)}
    given |= {role: flat(given[role]) for role in (*ROLES, "identity")}
    given["hierarchies"] = dict(arguments.hierarchy or [])
    given["weights"] = {column: weight(column, text) for column, text in arguments.weight or []}
    given["grid"] = dict(arguments.grid or [])
    given["limits"] = dict(arguments.limit or [])
    require_database(arguments, arguments.name)
    if arguments.view and arguments.name is None:
        raise PolicyError("--view needs a name: --name patients_public --db FILE")
    with made_or_gone(arguments), asked_database(arguments, arguments.source) as con:
        if output is not None:
            require_writable(con, arguments, arguments.source)
        release = sqlanon.anonymize(
            con,
            source_query(arguments, arguments.source),
            suggest=arguments.suggest,
            name=arguments.name,
            kind="view" if arguments.view else "table",
            replace=arguments.replace,
            **given,
        )
        if output is not None:
            release.publish(output, replace=arguments.replace, **publishing(arguments))
        elif arguments.name is None and not arguments.json:
            print(release.relation())
        if arguments.json:
            print(json.dumps(release_dict(release)))
        print(summary(release), file=sys.stderr)


def _parameters() -> list[Parameter]:
    """Every method parameter once."""
    named = {parameter.name: parameter for method in METHODS.values() for parameter in method.parameters}
    return list(named.values())
