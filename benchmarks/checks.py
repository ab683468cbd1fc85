"""What the check macros cost, as a ratio to the GROUP BY that somebody would write by hand and beside pycanon.

    python benchmarks/checks.py [--rows 3000000] [--repeat 7] [--pycanon-rows 30162] [--write FILE]

Macro and hand-written query are run in turn on the same generated table, and the smallest time of each counts, so that
a noisy machine harms both alike. pycanon checks a table of fewer rows, a pandas frame, once; the macros check the same
rows, and both must answer the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import duckdb
from cells import Table, parser, setting, write
from peers import is_installed

import sqlanon
from sqlanon import samples

QUASI = ["age", "workclass", "education", "marital_status", "race", "sex"]


def main() -> None:
    """Print the ratios."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=3_000_000)
    options.add_argument("--pycanon-rows", type=int, default=30_162)
    options.add_argument("--repeat", type=int, default=7)
    asked = options.parse_args()
    made = setting()
    con = duckdb.connect()
    sqlanon.load(con)
    samples.create(con, "adult", rows=asked.rows)
    table = Table(
        {"check": (22, None), "rows": (10, 0), "by hand, s": (8, 4), "macro, s": (8, 4), "/ by hand": (6, 2)}
        | {"pycanon, s": (8, 2), "pycanon / macro": (6, 0)}
    )
    for check, queries in _pairs().items():
        by_hand, macro = _least(asked.repeat, *(_running(con, query) for query in queries))
        table.add(
            {"check": check, "rows": asked.rows, "by hand, s": by_hand, "macro, s": macro, "/ by hand": macro / by_hand}
        )
    if is_installed("pycanon"):
        _beside_pycanon(con, asked.pycanon_rows, asked.repeat, table)
    con.close()
    if asked.write:
        write(asked.write, "checks", made, "\n".join(table.lines))


def _pairs() -> dict[str, tuple[str, str]]:
    """Each check as it is written by hand, and as a macro."""
    columns = ", ".join(QUASI)
    inner = f"select {columns}, count(*) as n from adult group by {columns}, occupation"
    return {
        "k_anonymity": (
            f"select min(n) from (select count(*) as n from adult group by {columns})",
            f"select anon.k_anonymity('adult', {QUASI})",
        ),
        "violations": (
            f"select {columns}, count(*) as n from adult group by {columns} having count(*) < 5 order by n, {columns}",
            f"from anon.violations('adult', {QUASI}, k := 5)",
        ),
        "l_diversity": (
            f"select min(total / top) from (select sum(n) as total, max(n) as top from ({inner}) group by {columns})",
            f"select anon.l_diversity('adult', {QUASI}, 'occupation')",
        ),
        "distinct_l_diversity": (
            f"select min(n) from (select count(*) as n from ({inner}) group by {columns})",
            f"select anon.distinct_l_diversity('adult', {QUASI}, 'occupation')",
        ),
    }


def _beside_pycanon(con: duckdb.DuckDBPyConnection, rows: int, repeat: int, table: Table) -> None:
    from pycanon import anonymity

    samples.create(con, "adult", rows=rows)
    frame, pairs = con.table("adult").df(), _pairs()
    theirs: dict[str, Callable[[], Any]] = {
        "k_anonymity": lambda: anonymity.k_anonymity(frame, QUASI),
        "distinct_l_diversity": lambda: anonymity.l_diversity(frame, QUASI, ["occupation"]),
    }
    for check, ask in theirs.items():
        run_macro = _running(con, pairs[check][1])
        (macro,), (pycanon,) = _least(repeat, run_macro), _least(1, ask)
        if (answers := (run_macro()[0][0], ask()))[0] != answers[1]:
            raise AssertionError(f"{check}: the macro says {answers[0]}, pycanon {answers[1]}")
        table.add(
            {"check": check, "rows": rows, "macro, s": macro, "pycanon, s": pycanon, "pycanon / macro": pycanon / macro}
        )


def _running(con: duckdb.DuckDBPyConnection, query: str) -> Callable[[], list[Any]]:
    return lambda: con.execute(query).fetchall()


def _least(repeat: int, *calls: Callable[[], Any]) -> list[float]:
    """The least seconds of each call, all called in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(repeat):
        for place, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[place] = min(best[place], time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
