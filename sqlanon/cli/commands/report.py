"""sqlanon report: one HTML file about a release or any table: what holds, what was lost, what is not protected."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sqlanon
from sqlanon.cli.commands.arguments import (
    READING,
    add_database,
    add_models,
    add_reading,
    add_strict,
    attach,
    attached,
    columns,
    existing_database,
    flat,
    looked_up,
    pair,
)
from sqlanon.errors import CatalogError, PolicyError
from sqlanon.policy.options import ASKED, RANGES
from sqlanon.reporting.facts import CURVE_ROWS, MODEL_ROWS, Facts, facts_of_release, facts_of_table
from sqlanon.reporting.page import require_writable, write
from sqlanon.reporting.signing import Paper

PAPER = ("author", "purpose", "recipient", "source_date", "published")
"""What is written above the place to sign."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("table", help="a stored release of --db, or with --quasi any table, csv or parquet file")
    add_database(parser, "the database that has it; opened read-only with --quasi and without --source")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page (default report.html)")
    add_strict(parser)
    parser.add_argument("--json", action="store_true", help="print the facts of the page as one JSON object")
    for fact, meaning in (
        ("author", "who releases it, for the place to sign"),
        ("purpose", "what it is released for"),
        ("recipient", "who gets it"),
        ("source-date", "the day the source is of, as 2026-01-31 (default: that of its file)"),
    ):
        parser.add_argument(f"--{fact}", metavar="TEXT", help=meaning)
    parser.add_argument("--published", type=Path, metavar="FILE", help="the published file, to show its SHA-256")
    curve = parser.add_mutually_exclusive_group()
    limit = f"default: for up to {CURVE_ROWS:,} rows, with models {MODEL_ROWS:,}"
    curve.add_argument("--curve", action="store_true", default=None, help=f"draw what another k would cost ({limit})")
    curve.add_argument("--no-curve", action="store_false", dest="curve", help="do not draw it; it takes one run per k")
    for role, meaning in (
        ("quasi", "the quasi-identifiers of a table"),
        ("sensitive", "with --quasi: sensitive columns"),
    ):
        parser.add_argument(f"--{role}", action="append", type=columns, metavar="A,B", help=meaning)
    parser.add_argument("--k", type=int, help="with --quasi: every class must have at least this many rows (default 5)")
    parser.add_argument("--entity", metavar="COLUMN", help="with --quasi: count people by this column, instead of rows")
    add_models(parser)
    parser.add_argument("--source", help="with --quasi: what the table was made from, to tell what was lost")
    add_reading(parser, "with --quasi: how the file of --source, or else of the table, is read")
    parser.add_argument("--hierarchy", action="append", type=pair, metavar="COLUMN=NAME", help="with --source")
    parser.add_argument("--ranges", choices=RANGES, help="with --source: how numbers are printed")


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output or (None if arguments.json else Path("report.html"))
    if output is not None:
        require_writable(output)
    facts = _of_table(arguments) if arguments.quasi else _of_release(arguments)
    if output is not None:
        write(facts, output)
        print(f"wrote {output}: {facts.claim if facts.holds else 'BROKEN'}", file=sys.stderr)
        print("\n".join(facts.told), file=sys.stderr)
    if arguments.json:
        print(json.dumps(facts.as_dict()))
    return 0 if facts.holds and not (arguments.strict and facts.warned) else 1


def _of_release(arguments: argparse.Namespace) -> Facts:
    own = ("k", "sensitive", "entity", "source", "hierarchy", "ranges", *READING)
    for option in (*own, *(option.name for option in ASKED)):
        if getattr(arguments, option) is not None:
            raise PolicyError(f"--{option.replace('_', '-')} is only for tables that are not a release: add --quasi")
    if arguments.db is None or not Path(arguments.db).is_file():
        existing_database(arguments)
        hint = "name its --quasi, or the --db of a release"
        raise CatalogError(f"What is '{arguments.table}'? {hint}")
    with sqlanon.connect(arguments.db) as con:
        paper = Paper.of(**{fact: getattr(arguments, fact) for fact in PAPER})
        return facts_of_release(sqlanon.open_release(con, arguments.table), arguments.curve, paper)


def _of_table(arguments: argparse.Namespace) -> Facts:
    for fact in PAPER:
        if getattr(arguments, fact) is not None:
            raise PolicyError(f"--{fact.replace('_', '-')} is for releases of a --db, without --quasi")
    given = {option.name: getattr(arguments, option.name) for option in ASKED}
    given |= {"hierarchies": dict(arguments.hierarchy or []) or None, "ranges": arguments.ranges}
    given |= {"entity": arguments.entity, "sensitive": flat(arguments.sensitive)}
    has_source = arguments.source is not None and arguments.db is not None  # its hierarchies are in the database, too
    if has_source:
        existing_database(arguments)
    with sqlanon.connect(arguments.db if has_source else ":memory:") as con:
        is_attached = not has_source and attach(con, arguments, [arguments.table], "report")
        if arguments.source is None:
            table = looked_up(arguments, arguments.table, is_attached)
        else:
            table = attached(arguments.table) if is_attached else arguments.table
            given["source"] = looked_up(arguments, arguments.source, is_attached=False)
        k = 5 if arguments.k is None else arguments.k
        return facts_of_table(con, table, flat(arguments.quasi), k, shown=arguments.table, **given)
