"""The command line: a thin skin over the library. Exit 0: done and true; 1: a promise is broken; 2: bad input."""

from __future__ import annotations

import argparse
import csv
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb

import sqlanon
from sqlanon import progress
from sqlanon.checks import check
from sqlanon.compare import DEFAULT_KS, DEFAULT_METRICS, compare, require_writable
from sqlanon.demo import demo, summary
from sqlanon.engine import run
from sqlanon.errors import BrokenPromiseError, CatalogError, InterruptedRunError, PolicyError, SqlanonError
from sqlanon.metrics import METRICS
from sqlanon.policy import ASKED, DEFAULT_METHOD, OPTIONS, PARAMETERS, RANGES, REPRESENTATIONS, ROLES, Job
from sqlanon.pseudonyms import VARIABLE
from sqlanon.publish import refuse
from sqlanon.shell import GREETING, run_script, shell
from sqlanon.sqltext import literal, name, split_name
from sqlanon.task import predict
from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        is_release = parsed.run is not _compare
        with nullcontext() if parsed.run in (_shell, _compare) else progress.bar(), _warnings(is_release):
            return int(parsed.run(parsed) or 0)
    except BrokenPromiseError as problem:
        return _say(problem, 1)
    except (SqlanonError, duckdb.Error) as problem:
        return _say(problem, 2)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return _say("interrupted; nothing was stored", 130)


@contextmanager
def _warnings(are_shown: bool) -> Iterator[None]:
    """What the library logs goes to stderr, as errors do."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("sqlanon: %(message)s"))
    log = logging.getLogger("sqlanon")
    if are_shown:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _say(problem: object, code: int) -> int:
    print(f"sqlanon: {problem}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sqlanon",
        description="Anonymize tables inside DuckDB, and check what others anonymized.",
        epilog="First steps: sqlanon demo",
    )
    parser.add_argument("--version", action="version", version=f"sqlanon {sqlanon.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(title: str, code: Any, help: str, example: str) -> argparse.ArgumentParser:
        added = commands.add_parser(title, help=help, description=help, epilog=f"Example: {example}")
        added.set_defaults(run=code)
        return added

    add = command("demo", _demo, "a table before and after, with proof and loss", "sqlanon demo")
    add.add_argument("--db", default=":memory:", metavar="FILE", help="keep the demo's tables in this database")

    add = command(
        "anonymize",
        _anonymize,
        "anonymize a table, file or query",
        "sqlanon anonymize people.csv --quasi age,zip,sex --k 5 -o people_public.csv",
    )
    add.add_argument("source", help="a table of the database, a csv or parquet file, or a SELECT")
    _database(add)
    add.add_argument("--quasi", action="append", required=True, type=_columns, metavar="A,B", help="quasi-identifiers")
    add.add_argument("--k", type=int, default=5, help="the smallest class that may be printed (default 5)")
    _models(add)
    add.add_argument("--method", default=DEFAULT_METHOD, help=f"{', '.join(METHODS)} (default {DEFAULT_METHOD})")
    for role, meaning in (
        ("sensitive", "released as they are, diversity measured"),
        ("keep", "released as they are"),
        ("unsafe-keep", "released as they are even if nearly unique"),
        ("pseudonymize", "released as keyed hashes"),
    ):
        add.add_argument(f"--{role}", action="append", type=_columns, metavar="A,B", help=meaning)
    add.add_argument("--hierarchy", action="append", type=_pair, metavar="COLUMN=NAME", help="a column's hierarchy")
    add.add_argument("--weight", action="append", type=_pair, metavar="COLUMN=NUMBER", help="a column's weight")
    add.add_argument("--ranges", choices=RANGES, help="numbers as [25-30], as two typed columns, or snapped to a grid")
    add.add_argument("--grid", action="append", type=_pair, metavar="COLUMN=WIDTH", help="a column's grid: 5, month")
    add.add_argument("--represent", choices=REPRESENTATIONS, help="print what covers a class, or its centre")
    add.add_argument("--refine", action="store_true", default=None, help="polish the method's groups by a search")
    add.add_argument("--block-size", type=_number, help="cluster so many distinct tuples at a time")
    add.add_argument("--seed", type=int, help="the same seed gives the same groups")
    for parameter, methods in _parameters().items():
        kind = {"type": _number} if not parameter.choices else {"choices": parameter.choices}
        add.add_argument(
            f"--{parameter.name.replace('_', '-')}", help=f"{', '.join(methods)}: {parameter.help}", **kind
        )
    add.add_argument("--name", help="store the release in the database under this name")
    add.add_argument("--view", action="store_true", help="store it as a view over a stored table")
    add.add_argument("--replace", action="store_true", help="replace a stored release of that name")
    add.add_argument("-o", "--output", type=Path, metavar="FILE", help="publish to a new duckdb, csv or parquet file")
    _key_file(add)

    add = command(
        "publish",
        _publish,
        "write a stored release to a new duckdb, csv or parquet file that holds nothing else",
        "sqlanon publish patients_public --db hospital.duckdb -o patients_public.parquet",
    )
    add.add_argument("name", help="a stored release")
    _database(add, required=True)
    add.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the new file")
    add.add_argument("--replace", action="store_true", help="replace a file that is there")
    add.add_argument("--json", action="store_true", help="print what the file says about the release")

    add = command("key", _make_key, "make a key for pseudonyms, in a file that only you can read", "sqlanon key my.key")
    add.add_argument("file", type=Path, help="the new file")

    add = command(
        "check",
        _check,
        "check a table, csv or parquet file; exit 1 if a promise is broken",
        "sqlanon check people_public.csv --quasi age,zip,sex --k 5 --sensitive diagnosis --l 2",
    )
    add.add_argument("source", help="a csv or parquet file, or a table of --db")
    _database(add, "the database that has the table; opened read-only")
    add.add_argument("--quasi", action="append", required=True, type=_columns, metavar="A,B", help="quasi-identifiers")
    add.add_argument("--k", type=int, default=5, help="rows that every class must have (default 5)")
    add.add_argument("--sensitive", action="append", type=_columns, metavar="A,B", help="sensitive columns")
    _models(add)
    add.add_argument("--json", action="store_true", help="print one JSON object")

    _risk_parsers(command)

    add = command(
        "compare",
        _compare,
        "run methods against each other on the same rows: loss, time and risk as tables, charts and JSON",
        "sqlanon compare people.csv --quasi age,zip,sex --k 5,10,20 --methods auto,kacpc,mondrian -o comparison.html",
    )
    add.add_argument("source", help="a table of the database, a csv or parquet file, or a SELECT")
    _database(add, "the DuckDB database; the cells are stored there, so an interrupted comparison goes on")
    add.add_argument("--quasi", action="append", required=True, type=_columns, metavar="A,B", help="quasi-identifiers")
    ks = ",".join(map(str, DEFAULT_KS))
    add.add_argument("--k", type=_whole_numbers, default=DEFAULT_KS, metavar="5,10", help=f"the k (default {ks})")
    add.add_argument("--methods", default="all", metavar="A,B", help=f"all (default), or some of {', '.join(METHODS)}")
    listed = ", ".join(METRICS)
    add.add_argument("--metrics", default=",".join(DEFAULT_METRICS), metavar="A,B", help=f"the first sorts: {listed}")
    add.add_argument("--sensitive", action="append", type=_columns, metavar="A,B", help="sensitive columns")
    add.add_argument("--l", type=float, help="no sensitive value may hold more than 1/l of a class")
    add.add_argument("--hierarchy", action="append", type=_pair, metavar="COLUMN=NAME", help="a column's hierarchy")
    add.add_argument("--weight", action="append", type=_pair, metavar="COLUMN=NUMBER", help="a column's weight")
    add.add_argument("--refine", action="store_true", default=None, help="polish every method's groups by a search")
    add.add_argument("--seed", type=int, help="of the methods and of the sample")
    add.add_argument("--sample", type=int, metavar="ROWS", help="compare on so many rows, drawn once")
    add.add_argument("--timeout", type=float, metavar="SECONDS", help="stop a method after so long and go on")
    add.add_argument("--fresh", action="store_true", help="run again what is stored already")
    add.add_argument("-o", "--output", type=Path, metavar="PATH", help="write FILE.html, or a page and PNGs to FOLDER")
    add.add_argument("--json", action="store_true", help="print one JSON object")

    add = command("run", _run, "run a SQL script or a policy file", "sqlanon run anonymize.sql --db hospital.duckdb")
    add.add_argument("file", type=Path, help="script.sql, or policy.toml with a source and a policy")
    _database(add)
    _key_file(add)

    add = command("shell", _shell, "type SQL and sqlanon's statements", "sqlanon shell --db hospital.duckdb")
    _database(add)
    _key_file(add)

    add = command(
        "utility",
        _utility,
        "what a stored release lost, and with --task how well a column can still be predicted",
        "sqlanon utility patients_public --db hospital.duckdb --task diagnosis",
    )
    add.add_argument("name", help="a stored release")
    _database(add, required=True)
    add.add_argument("--task", metavar="COLUMN", help="predict this sensitive or kept column (needs sqlanon[task])")
    add.add_argument("--json", action="store_true", help="print one JSON object")

    add = command("methods", _methods, "the clustering methods and their parameters", "sqlanon methods")

    _hierarchy_parser(
        command(
            "hierarchy",
            _hierarchy,
            "list, show, create and drop hierarchies, and find what they do not cover",
            "sqlanon hierarchy create zip --prefix --db hospital.duckdb",
        )
    )
    return parser


def _parameters() -> dict[Parameter, list[str]]:
    """Every method parameter once, with the methods that take it."""
    named: dict[str, tuple[Parameter, list[str]]] = {}
    for method in METHODS.values():
        for parameter in method.parameters:
            named.setdefault(parameter.name, (parameter, []))[1].append(method.name)
    return dict(named.values())


def _risk_parsers(command: Callable[..., argparse.ArgumentParser]) -> None:
    add = command(
        "risk",
        _risk,
        "how easily the people of a table, csv or parquet file are found again",
        "sqlanon risk people_public.csv --quasi age,zip,sex",
    )
    add.add_argument("source", help="a csv or parquet file, or a table of --db")
    _database(add, "the database that has the table; opened read-only")
    add.add_argument("--quasi", action="append", required=True, type=_columns, metavar="A,B", help="quasi-identifiers")
    add.add_argument("--population", metavar="SOURCE", help="everybody who might be in it, printed as the table is")
    add.add_argument("--json", action="store_true", help="print one JSON object")

    add = command(
        "detect",
        _detect,
        "which columns and combinations single people out, and a role for each column",
        "sqlanon detect people.csv --toml > policy.toml",
    )
    add.add_argument("source", help="a csv or parquet file, or a table of --db")
    _database(add, "the database that has the table; opened read-only")
    add.add_argument("--size", type=int, default=3, help="how many columns a combination may have (default 3)")
    add.add_argument("--share", type=float, default=0.05, help="the unique rows that make it identify (default 0.05)")
    how = add.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print one JSON object")
    how.add_argument("--toml", action="store_true", help="print a policy file for sqlanon run")

    add = command(
        "attack",
        _attack,
        "attack a release with its source as the attacker's knowledge; exit 1 if one gets further than is promised",
        "sqlanon attack patients_public --db hospital.duckdb",
    )
    add.add_argument("release", help="a stored release of --db, or with --source any table, csv or parquet file")
    _database(add)
    add.add_argument("--source", help="what a table that is no stored release was made from")
    for role in ("quasi", "sensitive", "keep"):
        add.add_argument(f"--{role}", action="append", type=_columns, metavar="A,B", help="with --source: its columns")
    add.add_argument("--k", type=int, help="with --source: what k promises (default 5)")
    add.add_argument("--l", type=float, help="with --source: what l promises")
    add.add_argument("--hierarchy", action="append", type=_pair, metavar="COLUMN=NAME", help="with --source")
    add.add_argument("--ranges", choices=RANGES, help="with --source: how numbers are printed")
    add.add_argument("--other", action="append", metavar="NAME", help="intersect with this release (default: all)")
    add.add_argument("--knows", type=int, default=1, metavar="M", help="values that the attacker rules out (default 1)")
    add.add_argument("--json", action="store_true", help="print one JSON object")


def _hierarchy_parser(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    _database(actions.add_parser("list", help="all hierarchies"), required=True)
    for action, help in (("show", "one as a tree"), ("drop", "remove one")):
        add = actions.add_parser(action, help=help)
        add.add_argument("name")
        _database(add, required=True)
    add = actions.add_parser("gaps", help="the values of a column that a hierarchy does not cover")
    for argument in ("table", "column", "name"):
        add.add_argument(argument)
    _database(add, required=True)
    add = actions.add_parser("create", help="make one", epilog="Example: sqlanon hierarchy create age --intervals 5,10")
    add.add_argument("name")
    way = add.add_mutually_exclusive_group(required=True)
    way.add_argument("--csv", metavar="FILE", help="leaf; level 1; ...; top, as ARX writes them")
    way.add_argument("--table", help="a table of that shape")
    way.add_argument("--query", help="a SELECT of that shape")
    way.add_argument("--edges", metavar="TABLE", help="a table of (child, parent)")
    way.add_argument("--intervals", type=_numbers, metavar="5,10,20", help="widths over numbers")
    way.add_argument("--prefix", action="store_true", help="prefixes of a code: 4350, 435*, 43**, 4***, *")
    way.add_argument("--dates", action="store_true", help="day, month, quarter, year, decade")
    way.add_argument("--flat", action="store_true", help="value, * (needs --on)")
    for bound in ("anchor", "below", "above"):
        add.add_argument(f"--{bound}", type=_number, help="with --intervals")
    add.add_argument("--on", metavar="TABLE.COLUMN", help="work a rule out for this column's values")
    add.add_argument("--replace", action="store_true", help="replace one of that name")
    _database(add, required=True)


def _database(parser: argparse.ArgumentParser, help: str = "the DuckDB database", required: bool = False) -> None:
    parser.add_argument("--db", metavar="FILE", help=help, required=required)


def _key_file(parser: argparse.ArgumentParser) -> None:
    help = f"the key of pseudonyms, made by sqlanon key (default: {VARIABLE} of the environment)"
    parser.add_argument("--key-file", type=Path, metavar="FILE", help=help)


def _open(arguments: argparse.Namespace) -> sqlanon.Connection:
    """The database, with its key if there is one."""
    key = sqlanon.read_key(arguments.key_file) if arguments.key_file is not None else None
    con = sqlanon.connect(arguments.db or ":memory:")
    sqlanon.set_key(con, key)
    return con


def _models(parser: argparse.ArgumentParser) -> None:
    """What may be asked of sensitive columns."""
    for option in ASKED:
        kind = {"type": _number} if not option.choices else {"choices": option.choices}
        parser.add_argument(f"--{option.name.replace('_', '-')}", help=option.help, **kind)


def _columns(text: str) -> list[str]:
    """A comma-separated list of names; double quotes protect a comma."""
    return [column.strip() for column in next(csv.reader([text], skipinitialspace=True), []) if column.strip()]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.rpartition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not COLUMN=VALUE")
    return key, value


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers, such as 5,10,20") from None


def _numbers(text: str) -> list[float]:
    return [_number(part) for part in text.split(",")]


def _flat(lists: list[list[str]] | None) -> list[str]:
    return [column for part in lists or [] for column in part]


def _demo(arguments: argparse.Namespace) -> None:
    demo(arguments.db)


def _anonymize(arguments: argparse.Namespace) -> None:
    output: Path | None = arguments.output
    given = {option: getattr(arguments, option, None) for option in (*OPTIONS, *PARAMETERS)}
    given |= {role: _flat(given[role]) for role in ROLES}
    given["hierarchies"] = dict(arguments.hierarchy or [])
    given["weights"] = {column: _weight(column, text) for column, text in arguments.weight or []}
    given["grid"] = dict(arguments.grid or [])
    with _open(arguments) as con:
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
        elif arguments.name is None:
            print(release.relation())
        print(summary(release), file=sys.stderr)


def _compare(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        require_writable(arguments.output)
    with sqlanon.connect(arguments.db or ":memory:") as con:
        run(con.duckdb, "set enable_progress_bar = false")  # it would go to stdout, under python -m
        comparison = compare(
            con,
            arguments.source,
            _flat(arguments.quasi),
            arguments.k,
            methods=arguments.methods,
            metrics=arguments.metrics,
            sample=arguments.sample,
            timeout=arguments.timeout,
            fresh=arguments.fresh,
            sensitive=_flat(arguments.sensitive),
            l=arguments.l,
            hierarchies=dict(arguments.hierarchy or []),
            weights={column: _weight(column, text) for column, text in arguments.weight or []},
            refine=arguments.refine,
            start=False,
            seed=arguments.seed,
        )
        is_whole = True
        try:
            with progress.bar():
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
        goes_on = "the same command goes on from here" if arguments.db else "with --db it could go on from here"
        return _say(f"interrupted with {done} of {len(comparison.asked)} cells done: {goes_on}", 130)
    return 0 if done else _say("no method could be run", 2)


def _publish(arguments: argparse.Namespace) -> None:
    with sqlanon.connect(arguments.db) as con:
        about = sqlanon.open_release(con, arguments.name).publish(arguments.output, replace=arguments.replace)
    if arguments.json:
        print(json.dumps(about))
    else:
        holds = f"{about['property']}, {about['rows']:,} rows in {about['classes']:,} classes"
        print(f"wrote {arguments.output}, verified on the file: {holds}", file=sys.stderr)


def _make_key(arguments: argparse.Namespace) -> None:
    sqlanon.create_key(arguments.file)


def _weight(column: str, text: str) -> float:
    try:
        return _number(text)
    except ValueError:
        raise PolicyError(f"weights: '{column}' must have a number above 0") from None


def _check(arguments: argparse.Namespace) -> int:
    with sqlanon.connect() as con:
        found = check(
            con,
            _attached(arguments.source) if _attach(con, arguments, "check") else arguments.source,
            _flat(arguments.quasi),
            arguments.k,
            sensitive=_flat(arguments.sensitive),
            **{option.name: getattr(arguments, option.name) for option in ASKED},
        )
    if arguments.json:
        print(json.dumps(found.as_dict()))
    else:
        print(f"k = {found.k} (asked {found.asked_k}) in {found.rows:,} rows and {found.classes:,} classes")
        for model, by_column in found.reached.items():
            asked = f" (asked {found.asked[model]:g})" if model in found.asked else ""
            for column, value in by_column.items():
                is_empty = value is None
                print(f"{model}: no rows, {column}" if is_empty else f"{model} = {value:.4g}{asked} in {column}")
        if found.violations:
            print(f"{found.violations:,} classes have fewer than {found.asked_k} rows")
        print("holds" if found.holds else "BROKEN")
    return 0 if found.holds else 1


def _attach(con: sqlanon.Connection, arguments: argparse.Namespace, command: str) -> bool:
    """Attach the database, if one is named, as `checked`; nothing is written to it."""
    if arguments.db is None:
        if arguments.source.lower().endswith((".duckdb", ".db")):
            raise CatalogError(f"Which table of '{arguments.source}'? sqlanon {command} TABLE --db {arguments.source}")
        return False
    if not Path(arguments.db).is_file():
        raise CatalogError(f"There is no database '{arguments.db}'")
    run(con.duckdb, f"attach {literal(arguments.db)} as checked (read_only)")
    return True


def _attached(table: str) -> str:
    """The table's name in the attached database, in full."""
    parts = split_name(table) or [table]
    schema = parts[-2] if len(parts) > 1 else "main"
    return f"checked.{name(schema)}.{name(parts[-1])}"


def _risk(arguments: argparse.Namespace) -> None:
    with sqlanon.connect() as con:
        source, population = arguments.source, arguments.population
        if _attach(con, arguments, "risk"):
            source, population = _attached(source), population and _attached(population)
        found = sqlanon.risk(con, source, _flat(arguments.quasi), population=population)
    if arguments.json:
        print(json.dumps(found))
        return
    for measure, value in found.items():
        print(f"{measure:16} {value:,.6g}" if value is not None else f"{measure:16} -")


def _detect(arguments: argparse.Namespace) -> None:
    with sqlanon.connect() as con:
        if _attach(con, arguments, "detect"):
            run(con.duckdb, "use checked.main")
        found = sqlanon.detect(con, arguments.source, size=arguments.size, share=arguments.share)
        if arguments.json:
            print(json.dumps(found.as_dict()))
        elif arguments.toml:
            print(found.toml(), end="")
        else:
            con.duckdb.sql(found.sql()).show(max_rows=1000, max_width=200)
            if found.untested:
                print(f"{found.untested:,} sets of columns were not tested")


def _attack(arguments: argparse.Namespace) -> int:
    if arguments.db is not None and not Path(arguments.db).is_file():
        raise CatalogError(f"There is no database '{arguments.db}'")
    with sqlanon.connect(arguments.db or ":memory:") as con:
        found = sqlanon.attack(
            con,
            arguments.release,
            source=arguments.source,
            others=arguments.other,
            knows=arguments.knows,
            quasi=_flat(arguments.quasi) or None,
            sensitive=_flat(arguments.sensitive) or None,
            keep=_flat(arguments.keep) or None,
            hierarchies=dict(arguments.hierarchy or []) or None,
            k=arguments.k,
            l=arguments.l,
            ranges=arguments.ranges,
        )
        if arguments.json:
            print(json.dumps(found.as_dict()))
        else:
            con.duckdb.sql(found.sql()).show(max_rows=1000, max_width=250)
            print("holds" if found.holds else "BROKEN")
    return 0 if found.holds else 1


def _run(arguments: argparse.Namespace) -> None:
    if not arguments.file.is_file():
        raise CatalogError(f"There is no file '{arguments.file}'")
    if arguments.file.suffix.lower() != ".toml":
        with _open(arguments) as con:
            run_script(con, arguments.file.read_text(encoding="utf-8"))
        return
    job = Job.from_toml(arguments.file)
    if job.source is None:
        raise PolicyError(f"'{arguments.file}' names no source: source = \"patients\"")
    with _open(arguments) as con:
        for hierarchy, definition in job.define.items():
            _create_hierarchy(con, hierarchy, {**definition, "replace": True})
        release = sqlanon.anonymize(con, job.source, policy=job.policy, name=job.name, replace=True)
        if job.name is None:
            print(release.relation())
        print(summary(release))


def _create_hierarchy(con: sqlanon.Connection, hierarchy: str, definition: dict[str, Any]) -> None:
    try:
        sqlanon.create_hierarchy(con, hierarchy, **definition)
    except TypeError as problem:
        raise PolicyError(f"[hierarchy.{hierarchy}]: {problem}") from None


def _shell(arguments: argparse.Namespace) -> None:
    with _open(arguments) as con:
        if sys.stdin.isatty():
            database = arguments.db or "in memory"
            print(GREETING.format(version=sqlanon.__version__, duckdb=duckdb.__version__, database=database))
        shell(con, Path.home() / ".sqlanon_history")


def _utility(arguments: argparse.Namespace) -> None:
    with sqlanon.connect(arguments.db) as con:
        release = sqlanon.open_release(con, arguments.name)
        task = predict(release, arguments.task) if arguments.task else None
        if arguments.json:
            print(json.dumps({"metrics": release.metrics(), "task": task and task.as_dict()}))
            return
        measures = f"from anon.utility({literal(release.name)})"
        con.duckdb.sql(f'select measure, "column", value, "range", better {measures}').show(max_rows=100)
        if task:
            shares = f"original {task.original:.1%}, release {task.release:.1%}, a constant guess {task.majority:.1%}"
            print(f"{task.target} predicted right: {shares}")
            if task.nearest_original is not None and task.nearest_release is not None:
                print(f"1-NN error: original {task.nearest_original:.2%}, release {task.nearest_release:.2%}")


def _methods(arguments: argparse.Namespace) -> None:
    for method in METHODS.values():
        print(f"{method.name}\n  {method.paper}\n  cost: {method.cost}\n  use:  {method.use}")
        for p in method.parameters:
            print(f"  {p.name} = {literal(p.default)} ({p.range}): {p.help}")


def _hierarchy(arguments: argparse.Namespace) -> None:
    with sqlanon.connect(arguments.db) as con:
        if arguments.action == "list":
            print(con.duckdb.sql("select name, kind, settings, height, leaves from anon.hierarchies order by name"))
        elif arguments.action == "show":
            print(con.duckdb.sql(f"from anon.hierarchy_tree({literal(arguments.name)})"))
        elif arguments.action == "drop":
            sqlanon.drop_hierarchy(con, arguments.name)
        elif arguments.action == "gaps":
            values = ", ".join(literal(getattr(arguments, part)) for part in ("table", "column", "name"))
            print(con.duckdb.sql(f"from anon.hierarchy_gaps({values})"))
        else:
            ways = ("csv", "table", "query", "edges", "intervals", "prefix", "dates", "flat")
            given = {key: getattr(arguments, key) for key in (*ways, "anchor", "below", "above", "on", "replace")}
            _create_hierarchy(con, arguments.name, {key: value for key, value in given.items() if value is not None})
