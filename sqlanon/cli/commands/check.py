"""sqlanon check: check a table, csv or parquet file; exit 1 if a promise is broken."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import (
    add_database,
    add_models,
    add_quasi,
    add_reading,
    add_strict,
    attach,
    columns,
    flat,
    looked_up,
)
from sqlanon.policy.options import ASKED
from sqlanon.wording import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", nargs="+", help="csv or parquet files, or tables of --db")
    add_database(parser, "the database that has the table; opened read-only")
    add_reading(parser)
    add_quasi(parser)
    parser.add_argument("--k", type=int, default=5, help="every class must have at least this many rows (default 5)")
    parser.add_argument("--sensitive", action="append", type=columns, metavar="A,B", help="sensitive columns")
    parser.add_argument("--entity", metavar="COLUMN", help="count people by this column, instead of rows")
    parser.add_argument(
        "--linked", action="store_true", help="with --entity: k people must share every person's set of rows"
    )
    add_models(parser)
    add_strict(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per source, each on its own line")


def run(arguments: argparse.Namespace) -> int:
    with sqlanon.connect() as con:
        is_attached = attach(con, arguments, arguments.source, "check")
        verdicts = []
        for source in arguments.source:
            found = sqlanon.check(
                con,
                looked_up(arguments, source, is_attached),
                flat(arguments.quasi),
                arguments.k,
                sensitive=flat(arguments.sensitive),
                entity=arguments.entity,
                linked=arguments.linked,
                **{option.name: getattr(arguments, option.name) for option in ASKED},
            )
            if not arguments.json and len(arguments.source) > 1:
                print(f"{source}:")
            _print(source, found, arguments.json)
            verdicts.append(found.holds and not (arguments.strict and found.warnings))
    return 0 if all(verdicts) else 1


def _print(source: str, found: sqlanon.Check, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"source": source, **found.as_dict()}))
    elif not found.rows:
        print("\n".join(found.told))
    else:
        counted = f"{plural(found.rows, 'row')} and {plural(found.classes, 'class', 'classes')}"
        print(f"k = {found.k} (required: {found.asked_k}) in {counted}")
        if found.linked_k is not None:
            asked_k = f"required: {found.asked_k}" if found.is_linked else "not required"
            print(f"linked k = {found.linked_k} ({asked_k}): people who share the rarest set of rows")
        for model, by_column in found.reached.items():
            for column, value in by_column.items():
                required = found.required(model, column)
                asked = f" (required: {required:g})" if required is not None else ""
                is_empty = value is None
                print(f"{model}: no rows, {column}" if is_empty else f"{model} = {value:.4g}{asked} in {column}")
        if found.violations:
            print(f"{plural(found.violations, 'class has', 'classes have')} fewer than {found.asked_k} rows")
        print("\n".join(found.told))
