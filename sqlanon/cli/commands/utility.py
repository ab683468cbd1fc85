"""sqlanon utility: show what a stored release lost, and with --task how well a column can still be predicted."""

from __future__ import annotations

import argparse
import json

import sqlanon
from sqlanon.cli.commands.arguments import add_database, existing_database
from sqlanon.cli.tables import table
from sqlanon.comparison.prediction import predict
from sqlanon.reporting.displays import release_dict
from sqlanon.sqltext import literal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", help="a stored release")
    add_database(parser, required=True)
    parser.add_argument("--task", metavar="COLUMN", help="predict this sensitive or kept column (needs sqlanon[task])")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    existing_database(arguments)
    with sqlanon.connect(arguments.db) as con:
        release = sqlanon.open_release(con, arguments.name)
        task = predict(release, arguments.task) if arguments.task else None
        if arguments.json:
            print(json.dumps({"metrics": release_dict(release)["metrics"], "task": task and task.as_dict()}))
            return
        measures = f"from anon.utility({literal(release.name)})"
        print(table(con.duckdb.sql(f'select measure, value, "column", "range", better {measures}')))
        if task:
            shares = f"original {task.original:.1%}, release {task.release:.1%}, a constant guess {task.majority:.1%}"
            print(f"{task.target} predicted right: {shares}")
            if task.nearest_original is not None and task.nearest_release is not None:
                print(f"1-NN error: original {task.nearest_original:.1%}, release {task.nearest_release:.1%}")
