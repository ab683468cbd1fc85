"""Fuzz sqlanon: whatever is required of whatever table, there is an answer or a SqlanonError, and no release breaks k.

python tests/robust/fuzz.py --cases 20000 [--seed 0] [--family tables] [--case 17]

A case is known by its seed, family and number, and the same three make it again.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from mutations import STATEMENTS, TOKENS, TOML, mutated
from wild import ENDLESS, JUNK, NAMES, TAME, any_option, fitting, known_types

import sqlanon
from sqlanon.cli.commands.arguments import create_hierarchy
from sqlanon.errors import SqlanonError
from sqlanon.policy.job import Job
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import literal
from sqlanon.sqltext import name as quoted
from sqlanon.statements.parse import Plain, parse
from sqlanon.udfs.methods import METHODS

KEY = bytes(32)
HIERARCHIES: dict[str, dict[str, Any]] = {
    "prefixes": {"prefix": True},
    "widths": {"intervals": [5, 10], "below": -30, "above": 100},
    "periods": {"dates": True},
    "tree": {"rows": [("a", "x", "*"), ("A", "x", "*"), ("", "y", "*"), ("it's", "y", "*"), ("1", "y", "*")]},
}
SLOW = ("gaacp", "agglomerative")


class Wrong(AssertionError):
    """A release that does not hold what it says, or an error that is no error of ours."""


@cache
def types() -> dict[str, list[str]]:
    """The types that this DuckDB has."""
    return known_types()


@cache
def connection() -> sqlanon.Connection:
    """A database with some hierarchies, a table of people, and a bystander who must not be touched."""
    con = sqlanon.connect()
    con.execute("set enable_progress_bar = false")
    con.execute("create table bystander as select 42 as answer")
    columns = "20 + i % 9 as age, (i % 5)::varchar as zip, i % 3 as ill"
    con.execute(f"create table people as select {columns} from range(30) as r(i)")
    for name, way in HIERARCHIES.items():
        sqlanon.create_hierarchy(con, name, **way)
    sqlanon.set_key(con, KEY)
    return con


def afresh() -> None:
    """Close the database; the next case opens another."""
    if connection.cache_info().currsize:
        connection().close()
        connection.cache_clear()


def cleaned(con: sqlanon.Connection) -> None:
    """Take away what a case has left, and look whether the bystander is as before."""
    if con.execute("select answer from bystander").fetchall() != [(42,)]:
        raise Wrong("the bystander was changed")
    for (name,) in con.execute("select name from anon.releases").fetchall():
        sqlanon.drop_release(con, name)
    left = con.execute(
        "select database_name, schema_name, table_name from duckdb_tables() where schema_name <> 'anon' "
        "and table_name not in ('bystander', 'people')"
    ).fetchall()
    for place in left:
        con.execute(f"drop table {'.'.join(map(quoted, place))}")
    for (name,) in con.execute("select name from anon.hierarchies").fetchall():
        if name not in HIERARCHIES:
            sqlanon.drop_hierarchy(con, name)


# What is asked: tables


def random_table(con: sqlanon.Connection, rng: random.Random, is_tame: bool = False) -> tuple[list[str], int]:
    """Make a table `wild` of random columns and rows; its columns and how many rows it has. A tame one has types and
    values that can be released."""
    width = 200 if rng.random() < 0.01 else rng.randint(1, 6)
    folded: dict[str, str] = {}
    for number in range(width):
        name = rng.choice(NAMES) if width < 10 else f"{rng.choice(NAMES)}{number}"
        folded.setdefault(name.lower(), name)
    columns = list(folded.values())
    kinds = [rng.choice(TAME if is_tame else sorted(types())) for _ in columns]
    size = rng.choice([4, 6, 9, 13, 30] if is_tame else [0, 1, 1, 2, 3, 5, 8, 13, 30])
    pools = [[None, *(value for value in types()[kind] if not (is_tame and value in ENDLESS))] for kind in kinds]
    pools = [rng.sample(pool, rng.randint(min(2, len(pool)), len(pool))) for pool in pools]
    con.execute(f"create table wild ({', '.join(f'{quoted(c)} {k}' for c, k in zip(columns, kinds, strict=True))})")
    cells = ", ".join(f"cast(? as {kind})" for kind in kinds)
    values = ", ".join([f"({cells})"] * size)
    if size:
        con.execute(f"insert into wild values {values}", [rng.choice(pool) for _ in range(size) for pool in pools])
    return columns, size


def random_policy(rng: random.Random, columns: list[str], size: int, is_tame: bool) -> dict[str, Any]:
    """Roles for some of the columns, and options that mostly fit."""
    shuffled = rng.sample(columns, len(columns))
    cut = rng.randint(1, min(len(shuffled), 4) if rng.random() < 0.97 else len(shuffled))
    options: dict[str, Any] = {
        "quasi": shuffled[:cut],
        "k": rng.choice([2, 2, 3, *([] if is_tame else [5, max(size, 2), size + 1])]),
    }
    for column in shuffled[cut : cut + 4]:
        role = rng.choice(["sensitive", "sensitive", "keep", "unsafe_keep", "pseudonymize"])
        options.setdefault(role, []).append(column)
    options["method"] = rng.choice([method for method in METHODS if method not in SLOW])
    wildness = 0.1 if is_tame else 1.0
    if rng.random() < 0.3 * wildness:
        options["hierarchies"] = {column: rng.choice([*HIERARCHIES, None]) for column in options["quasi"]}
    if rng.random() < 0.2:
        options["weights"] = {column: rng.choice([0.1, 1, 3, 1e8]) for column in options["quasi"]}
    if rng.random() < 0.2:
        options["ranges"] = "snapped"
    if rng.random() < 0.2 * wildness:
        options |= {"ranges": "snapped", "grid": {options["quasi"][0]: rng.choice([1, 5, 0.1, "month", "year", 1e200])}}
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        if options.get("sensitive") and rng.random() < 0.6:
            option = rng.choice(["l", "distinct_l", "entropy_l", "alpha", "t", "basic_beta", "enhanced_beta", "delta"])
        else:
            names = ["ranges", "represent", "refine", "block_size", "seed", "several", "t_distance", "max_suppression"]
            option = rng.choice([*names, "entity", "population"])
        options.setdefault(option, fitting(rng, option))
    if rng.random() < 0.1 * wildness:
        option, value = any_option(rng)
        if option != "source":  # Python's own to refuse
            options[option] = value
    return options


def tables(rng: random.Random, folder: Path) -> None:
    """A release of a random table under a random policy, and now and then what else can be done with it."""
    con = connection()
    is_tame = rng.random() < 0.7
    columns, size = random_table(con, rng, is_tame)
    options = random_policy(rng, columns, size, is_tame)
    stored = {"name": rng.choice(NAMES[:8]), "kind": rng.choice(["view", "table"])} if rng.random() < 0.3 else {}
    if stored:
        stored["name"] = quoted(stored["name"])
    source = rng.choice(["wild", "wild", "from wild", "select * from wild where true"])
    if rng.random() < 0.2:
        _through_sql(con, source, options)
        return
    release = sqlanon.anonymize(con, source, **stored, **options)
    check_release(con, release, size)
    if rng.random() < 0.1:
        release.publish(folder / f"out{rng.choice(['.duckdb', '.parquet', '.csv'])}")
    if rng.random() < 0.05:
        sqlanon.attack(con, release.name) if release.name else release.df()


def _through_sql(con: sqlanon.Connection, source: str, options: dict[str, Any]) -> None:
    """The same as a query: its errors are DuckDB's by class, with our sentence in them."""
    given = ", ".join(f"{option} := {literal(value)}" for option, value in options.items() if _is_plain(value))
    try:
        con.duckdb.execute(f"create table made as from anon.anonymize({literal(source)}, {given})").fetchall()
    except duckdb.Error as problem:
        told = str(problem)
        if isinstance(problem, duckdb.InternalException) or "Python exception" in told or "Traceback" in told:
            raise
        raise SqlanonError(told) from None


def _is_plain(value: Any) -> bool:
    try:
        literal(value).encode()
    except (TypeError, ValueError, AttributeError):
        return False
    return value is not object


def check_release(con: sqlanon.Connection, release: sqlanon.Release, size: int) -> None:
    """Count the released classes in Python; what the release says of itself is not believed."""
    policy, method = release.policy, METHODS[release.policy.method]
    if policy.entity is None and release.verify() != release.proof:
        raise Wrong("verifying again finds something else")
    described = [row[0] for row in con.execute(f"describe from {release.table}").fetchall()]
    rows = con.execute(f"select columns(*)::varchar from {release.table}").fetchall()
    left_out = release.proof.left_out or 0
    if len(rows) != size - left_out:
        raise Wrong(f"{size} rows became {len(rows)}, and {left_out} are said to be left out")
    if not method.is_homogeneous or policy.population is not None:
        return
    printed = [described.index(column) for column in release.printed]
    classes: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[place] for place in printed)].append(row)
    smallest = min(map(len, classes.values()))
    if smallest < policy.k:
        raise Wrong(f"a printed class has {smallest} rows, k is {policy.k}")
    if left_out or policy.entity is not None:
        return
    folded = {column.lower(): place for place, column in enumerate(described)}
    for column in policy.sensitive:
        place = folded[column.lower()]
        before = Counter(con.execute(f"select {quoted(column)}::varchar from wild").fetchall())
        if before != Counter((row[place],) for row in rows):
            raise Wrong("a sensitive column has other values than before")
        for members in classes.values():
            counts = Counter(row[place] for row in members)
            share = max(counts.values()) / len(members)
            if policy.l is not None and share > 1 / policy.l + 1e-9:
                raise Wrong(f"a value has {share:.3f} of a class, l is {policy.l}")
            if policy.alpha is not None and share > policy.alpha + 1e-9:
                raise Wrong(f"a value has {share:.3f} of a class, alpha is {policy.alpha}")
            if policy.distinct_l is not None and len(counts) < policy.distinct_l:
                raise Wrong(f"a class has {len(counts)} values, distinct_l is {policy.distinct_l}")


def checks(rng: random.Random, folder: Path) -> None:
    """Checking, risk and detection of a random table."""
    con = connection()
    columns, _ = random_table(con, rng)
    quasi = rng.sample(columns, rng.randint(1, min(3, len(columns))))
    others = [column for column in columns if column not in quasi][:2]
    what = rng.choice(["check", "risk", "detect", "bound", "classes"])
    if what == "check":
        option, value = any_option(rng)
        given = {option: value} if rng.random() < 0.3 and option not in ("quasi", "k", "source") else {}
        sqlanon.check(con, "wild", quasi, 2, **{"sensitive": others, **given})
    elif what == "risk":
        sqlanon.risk(con, "wild", quasi)
    elif what == "detect":
        sqlanon.detect(con, "wild")
    else:
        macro = "lower_bound('wild', quasi := {}, k := 2)" if what == "bound" else "equivalence_classes('wild', {})"
        try:
            con.duckdb.execute(f"select count(*) from anon.{macro.format(literal(quasi))}").fetchall()
        except duckdb.Error as problem:
            if isinstance(problem, duckdb.InternalException) or "Python exception" in str(problem):
                raise
            raise SqlanonError(str(problem)) from None


# What is asked: options, statements, hierarchies, policy files


def options(rng: random.Random, folder: Path) -> None:
    """A policy of random options, on a table that is fine; JSON and back gives the same policy."""
    asked = dict(any_option(rng) for _ in range(rng.choice([1, 1, 1, 2, 4])))
    asked = {"quasi": ["age", "zip"], "sensitive": ["ill"]} | asked
    policy = Policy.of(asked)
    if Policy.of(policy.options()) != policy:
        raise Wrong("a policy's own options make another policy")
    if rng.random() < 0.1 and policy.method not in SLOW:
        sqlanon.anonymize(connection(), "people", policy=policy)


def statements(rng: random.Random, folder: Path) -> None:
    """A statement of ours, mutated, and run."""
    text = mutated(rng, rng.choice(STATEMENTS))
    if rng.random() < 0.1:
        text += "; " + mutated(rng, rng.choice(STATEMENTS))
    parsed = parse(text)
    if any(isinstance(statement, Plain) for statement in parsed):
        return  # DuckDB's to explain, and to carry out
    connection().execute(text).fetchall()


def noise(rng: random.Random, folder: Path) -> None:
    """Random bytes, and random words of the grammar."""
    if rng.random() < 0.5:
        text = rng.randbytes(rng.randint(0, 200)).decode(rng.choice(["latin-1", "utf-8"]), errors="replace")
        text = rng.choice(["", "create anonymized ", "create hierarchy ", "publish ", "drop hierarchy "]) + text
    else:
        text = rng.choice(["", " ", "\n"]).join(rng.choice(TOKENS) for _ in range(rng.randint(1, 30)))
    parsed = parse(text)
    if parsed != [Plain(text)] and not any(isinstance(statement, Plain) for statement in parsed):
        connection().execute(text).fetchall()


def hierarchies(rng: random.Random, folder: Path) -> None:
    """A hierarchy of random rows, edges, widths or text, large ones among them."""
    con, name = connection(), rng.choice([*NAMES, "", "  "])
    way = rng.choice(["rows", "rows", "edges", "intervals", "csv", "on", "large"])
    labels = [*NAMES[:20], "", None, "*", "a", "b"]
    if way == "rows":
        rows = [[rng.choice(labels) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 6))]
        sqlanon.create_hierarchy(con, name, rows=[[*row, "top"] if rng.random() < 0.8 else row for row in rows])
    elif way == "edges":
        con.execute("create table edges (child varchar, parent varchar)")
        for _ in range(rng.randint(0, 6)):
            con.execute("insert into edges values (?, ?)", [rng.choice(labels), rng.choice([*labels, "top", "top"])])
        sqlanon.create_hierarchy(con, name, edges="edges")
    elif way == "intervals":
        widths: Any = [rng.choice([*JUNK, 1, 5, 10, 0.1]) for _ in range(rng.randint(0, 3))]
        bounds = {bound: rng.choice([*JUNK, 0, 18]) for bound in ("anchor", "below", "above") if rng.random() < 0.3}
        sqlanon.create_hierarchy(con, name, intervals=widths, **bounds)
        sqlanon.anonymize(con, "people", ["age"], 2, hierarchies={"age": name})
    elif way == "csv":
        text = mutated(rng, "a;b;*\nc;b;*\n").encode(errors="replace")
        (folder / "tree.csv").write_bytes(rng.choice([rng.randbytes(50), text]))
        sqlanon.create_hierarchy(con, name, csv=folder / "tree.csv")
    elif way == "on":
        columns, _ = random_table(con, rng)
        rule = rng.choice(["prefix", "dates", "flat"])
        sqlanon.create_hierarchy(con, name, on=f"wild.{quoted(rng.choice(columns))}", **{rule: True})
    elif rng.random() < 0.1:
        leaves = [[str(i), f"{i // 10}_", f"{i // 100}__", "*"] for i in range(10_000)]
        sqlanon.create_hierarchy(con, "large", rows=leaves)
        con.execute("create table wild as select (i * 37 % 10000)::varchar as code from range(300) r(i)")
        release = sqlanon.anonymize(con, "wild", ["code"], 3, hierarchies={"code": "large"}, method="peel")
        check_release(con, release, 300)


def policies(rng: random.Random, folder: Path) -> None:
    """A policy file, mutated."""
    path = folder / "policy.toml"
    path.write_bytes(mutated(rng, TOML).encode(errors="replace") if rng.random() < 0.9 else rng.randbytes(100))
    job = Job.from_toml(path)
    con = connection()
    for name, definition in job.define.items():
        create_hierarchy(con, name, dict(definition))
    if job.source is not None and rng.random() < 0.2:
        sqlanon.anonymize(con, job.source, policy=job.policy, name=job.name)


FAMILIES: dict[str, tuple[Callable[[random.Random, Path], None], float]] = {
    "statements": (statements, 0.3),
    "noise": (noise, 0.2),
    "options": (options, 0.2),
    "policies": (policies, 0.05),
    "hierarchies": (hierarchies, 0.05),
    "checks": (checks, 0.05),
    "tables": (tables, 0.15),
}
"""What is fuzzed, and the share of the cases that it gets."""


def run_case(seed: int, family: str, number: int) -> str:
    """Run one case: 'answer' or 'refused'; anything else is raised."""
    rng = random.Random(f"{seed}/{family}/{number}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            FAMILIES[family][0](rng, Path(folder))
            return "answer"
        except SqlanonError as problem:
            if not str(problem).strip():
                raise Wrong("an error without words") from problem
            return "refused"
        finally:
            if sys.exc_info()[0] is not None and not issubclass(sys.exc_info()[0] or Exception, SqlanonError):
                afresh()
            else:
                cleaned(connection())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--case", type=int, help="this one case of a family")
    arguments = parser.parse_args()
    logging.getLogger("sqlanon").setLevel(logging.CRITICAL)
    failures: Counter[str] = Counter()
    for family in [arguments.family] if arguments.family else FAMILIES:
        share = 1.0 if arguments.family else FAMILIES[family][1]
        numbers = range(round(arguments.cases * share)) if arguments.case is None else [arguments.case]
        outcomes: Counter[str] = Counter()
        start = time.monotonic()
        for number in numbers:
            try:
                outcomes[run_case(arguments.seed, family, number)] += 1
            except Exception as problem:
                outcomes["FAILED"] += 1
                where = traceback.extract_tb(problem.__traceback__)[-1]
                told = f"{type(problem).__name__}: {str(problem)[:150]}".replace("\n", " ")
                failures[told] += 1
                if failures[told] == 1 or arguments.case is not None:
                    print(f"--family {family} --case {number}: {told} ({where.name})", flush=True)
                if arguments.case is not None:
                    traceback.print_exc()
        print(family, dict(outcomes), f"{time.monotonic() - start:.0f} s", flush=True)
    afresh()
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
