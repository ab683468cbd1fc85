"""sqlanon hierarchy: list, show, create and drop hierarchies, and find what they do not cover."""

from __future__ import annotations

import argparse
import json
import sys

import sqlanon
from sqlanon.cli.commands.arguments import add_database, create_hierarchy, existing_database, number, numbers
from sqlanon.engine.session import Relation
from sqlanon.sqltext import literal
from sqlanon.wording import plural

LIST = "select name, kind, settings, height, leaves from anon.hierarchies order by name"
EXAMPLES = {
    "list": "sqlanon hierarchy list --db hospital.duckdb",
    "show": "sqlanon hierarchy show zip --db hospital.duckdb",
    "drop": "sqlanon hierarchy drop zip --db hospital.duckdb",
    "gaps": "sqlanon hierarchy gaps patients zip zip --db hospital.duckdb",
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


def run(arguments: argparse.Namespace) -> None:
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
        print(relation)
