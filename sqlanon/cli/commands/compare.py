"""sqlanon compare: run methods against each other on the same rows: loss, time and risk as tables, charts and JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sqlanon
from sqlanon.cli.commands import say
from sqlanon.cli.commands.arguments import (
    add_database,
    add_quasi,
    add_reading,
    columns,
    existing_database,
    flat,
    number,
    pair,
    source_query,
    weight,
    whole_numbers,
)
from sqlanon.comparison.compare import DEFAULT_KS, DEFAULT_METRICS, compare
from sqlanon.comparison.comparison import require_writable
from sqlanon.errors import InterruptedRunError
from sqlanon.pipeline.metrics import METRICS
from sqlanon.policy.options import MAX_SUPPRESSION
from sqlanon.progress import bars
from sqlanon.sqltext import query_or_none
from sqlanon.udfs.methods import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("source", help="a table of the database, a csv or parquet file, or a SELECT")
    add_database(parser, "the DuckDB database; results are stored there, so an interrupted comparison can be continued")
    add_reading(parser)
    add_quasi(parser)
    ks = ",".join(map(str, DEFAULT_KS))
    parser.add_argument(
        "--k", type=whole_numbers, default=DEFAULT_KS, metavar="5,10", help=f"the values of k (default {ks})"
    )
    parser.add_argument(
        "--methods", default="all", metavar="A,B", help=f"all (default), or some of {', '.join(METHODS)}"
    )
    listed = ", ".join(METRICS)
    parser.add_argument(
        "--metrics", default=",".join(DEFAULT_METRICS), metavar="A,B", help=f"the first sorts: {listed}"
    )
    parser.add_argument("--sensitive", action="append", type=columns, metavar="A,B", help="sensitive columns")
    parser.add_argument("--l", type=float, help="no sensitive value may take more than 1/l of a class")
    parser.add_argument("--hierarchy", action="append", type=pair, metavar="COLUMN=NAME", help="a column's hierarchy")
    parser.add_argument("--weight", action="append", type=pair, metavar="COLUMN=NUMBER", help="a column's weight")
    parser.add_argument("--max-suppression", type=number, help=MAX_SUPPRESSION.help)
    parser.add_argument("--refine", action="store_true", default=None, help="improve every method's groups by a search")
    parser.add_argument(
        "--no-polish", dest="polish", action="store_false", default=None, help="do not refine across borders of blocks"
    )
    parser.add_argument("--seed", type=int, help="the seed the seed of the methods and of the sample")
    parser.add_argument("--sample", type=int, metavar="ROWS", help="compare on a sample of this many rows, drawn once")
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="stop a method after this many seconds and continue"
    )
    parser.add_argument("--fresh", action="store_true", help="run again what is already stored")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PATH", help="write FILE.html, or a page and PNGs to FOLDER"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        require_writable(arguments.output)
    if query_or_none(arguments.source) is None and not Path(arguments.source).is_file():
        existing_database(arguments)
    with sqlanon.connect(arguments.db or ":memory:") as con:
        con.execute("set enable_progress_bar = false").fetchall()  # it would go to stdout, under python -m
        comparison = compare(
            con,
            source_query(arguments, arguments.source),
            flat(arguments.quasi),
            arguments.k,
            methods=arguments.methods,
            metrics=arguments.metrics,
            sample=arguments.sample,
            timeout=arguments.timeout,
            fresh=arguments.fresh,
            sensitive=flat(arguments.sensitive),
            l=arguments.l,
            hierarchies=dict(arguments.hierarchy or []),
            weights={column: weight(column, text) for column, text in arguments.weight or []},
            max_suppression=arguments.max_suppression,
            refine=arguments.refine,
            polish=arguments.polish,
            start=False,
            seed=arguments.seed,
        )
        is_whole = True
        try:
            with bars.bar():
                comparison.run()
        except (KeyboardInterrupt, InterruptedRunError):
            is_whole = False
        if arguments.json:
            print(json.dumps(comparison.as_dict()))
        elif sys.stdout.isatty():
            from rich.console import Console

            Console().print(comparison)
        else:
            print(comparison)
        for path in comparison.save(arguments.output) if arguments.output is not None else []:
            print(f"wrote {path}", file=sys.stderr)
    done = sum(cell.is_done for cell in comparison.cells)
    if not is_whole:
        goes_on = "the same command continues from here" if arguments.db else "with --db it could go on from here"
        return say(f"interrupted with {done} of {len(comparison.asked)} cells done: {goes_on}", 130)
    return 0 if done else say("no method could be run", 2)
