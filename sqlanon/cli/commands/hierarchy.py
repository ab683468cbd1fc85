"""sqlanon hierarchy: list, show, create and drop hierarchies, and find what they do not cover."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sqlanon
from sqlanon.cli.commands.arguments import (
    add_database,
    add_reading,
    columns,
    create_hierarchy,
    existing_database,
    is_read_otherwise,
    number,
    numbers,
    source_query,
)
from sqlanon.cli.tables import table
from sqlanon.engine.session import Relation
from sqlanon.errors import CatalogError
from sqlanon.sqltext import literal
from sqlanon.wording import plural

LIST = "select name, kind, settings, height, leaves from anon.hierarchies order by name"
EXAMPLES = {
    "list": "sqlanon hierarchy list --db hospital.duckdb",
    "show": "sqlanon hierarchy show zip --db hospital.duckdb",
    "drop": "sqlanon hierarchy drop zip --db hospital.duckdb",
    "gaps": "sqlanon hierarchy gaps patients zip zip --db hospital.duckdb",
    "suggest": "sqlanon hierarchy suggest patients.zip --db hospital.duckdb -o zip.csv",
    "create": "sqlanon hierarchy create age --intervals 5,10,20 --db hospital.duckdb",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")

    def action(name: str, help: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=help, description=help, epilog=f"Example: {EXAMPLES[name]}")

    lists = action("list", "all hierarchies")
    shows = action("show", "show one as a tree")
    drops = action("drop", "remove one")
    for add in (shows, drops):
        add.add_argument("name")
    gaps = action("gaps", "the values of a column that a hierarchy does not cover")
    for argument in ("table", "column", "name"):
        gaps.add_argument(argument)
    for add in (lists, shows, drops, gaps):
        add_database(add, required=True)
    for add in (lists, shows, gaps):
        add.add_argument("--json", action="store_true", help="print JSON")
    drafts = action("suggest", "draft one from a column's values, as a csv file to edit")
    drafts.add_argument(
        "column", metavar="TABLE.COLUMN", help="a column of a table of --db, or of a csv or parquet file"
    )
    add_database(drafts)
    add_reading(drafts)
    drafts.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the csv file (default: print it)")
    drafts.add_argument(
        "--quasi", type=columns, metavar="A,B", help="find similar categories by these columns only, as --suggest does"
    )
    drafts.add_argument("--create", metavar="NAME", help="store it in --db under this name as well")
    drafts.add_argument("--replace", action="store_true", help="with --create: replace the hierarchy of that name")
    add = action("create", "make one")
    add.add_argument("name")
    way = add.add_mutually_exclusive_group(required=True)
    way.add_argument("--csv", metavar="FILE", help="leaf; level 1; ...; top, as ARX writes them")
    way.add_argument("--table", help="a table of that shape")
    way.add_argument("--query", help="a SELECT of that shape")
    way.add_argument("--edges", metavar="TABLE", help="a table of (child, parent)")
    way.add_argument("--intervals", type=numbers, metavar="5,10,20", help="widths over numbers")
    way.add_argument("--prefix", action="store_true", help="prefixes of a code: 4350, 435*, 43**, 4***, *")
    way.add_argument("--dates", action="store_true", help="day, month, quarter, year, decade")
    way.add_argument("--flat", action="store_true", help="value, * (needs --on)")
    for bound in ("anchor", "below", "above"):
        add.add_argument(f"--{bound}", type=number, help="with --intervals")
    add.add_argument("--on", metavar="TABLE.COLUMN", help="apply the rule to this column's values")
    add.add_argument("--replace", action="store_true", help="replace the hierarchy of that name")
    add_database(add, required=True)


def _suggest(arguments: argparse.Namespace) -> None:
    if arguments.create is not None and arguments.db is None:
        raise CatalogError("--create needs --db: the database to store the hierarchy in")
    existing_database(arguments)
    with sqlanon.connect(arguments.db or ":memory:") as con:
        table, _, column = arguments.column.rpartition(".")
        if is_read_otherwise(arguments):
            draft = sqlanon.suggest_hierarchy(con, column, source=source_query(arguments, table), quasi=arguments.quasi)
        else:
            draft = sqlanon.suggest_hierarchy(con, arguments.column, quasi=arguments.quasi)
        if arguments.create is not None:
            sqlanon.create_hierarchy(con, arguments.create, rows=draft.rows, replace=arguments.replace)
        if arguments.output is not None:
            draft.save(arguments.output)
        elif arguments.create is None:
            print(draft.csv(), end="")
        print(f"{draft}. Look at the groups before you use them", file=sys.stderr)


def run(arguments: argparse.Namespace) -> None:
    if arguments.action == "suggest":
        _suggest(arguments)
        return
    existing_database(arguments)
    with sqlanon.connect(arguments.db) as con:
        if arguments.action == "list":
            _print(con.duckdb.sql(LIST), arguments.json)
        elif arguments.action == "show":
            shown = sqlanon.show_hierarchy(con, arguments.name)
            print(json.dumps(shown.as_dict()) if arguments.json else shown)
        elif arguments.action == "drop":
            sqlanon.drop_hierarchy(con, arguments.name)
            print(f"dropped hierarchy '{arguments.name}'", file=sys.stderr)
        elif arguments.action == "gaps":
            values = ", ".join(literal(getattr(arguments, part)) for part in ("table", "column", "name"))
            found = con.duckdb.sql(f"from anon.hierarchy_gaps({values})")
            if arguments.json or found.limit(1).fetchall():
                _print(found, arguments.json)
            else:
                print(f"none: '{arguments.name}' has every value of {arguments.table}.{arguments.column}")
        else:
            ways = ("csv", "table", "query", "edges", "intervals", "prefix", "dates", "flat")
            given = {key: getattr(arguments, key) for key in (*ways, "anchor", "below", "above", "on", "replace")}
            create_hierarchy(con, arguments.name, {key: value for key, value in given.items() if value is not None})
            print(_made(con, arguments.name), file=sys.stderr)


def _made(con: sqlanon.Connection, hierarchy: str) -> str:
    """What was made, in a line."""
    query = "select name, kind, height, leaves from anon.hierarchies where lower(name) = lower($1)"
    ((made, kind, height, leaves),) = con.duckdb.execute(query, [hierarchy]).fetchall()
    if height is None:
        return f"made hierarchy '{made}' ({kind}): a rule for any column that fits"
    return f"made hierarchy '{made}': {plural(leaves, 'value')} in {plural(height, 'level')}, the top included"


def _print(relation: Relation, as_json: bool) -> None:
    """A table, or a JSON list with an object per row."""
    if as_json:
        print(json.dumps([dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]))
    else:
        print(table(relation))
