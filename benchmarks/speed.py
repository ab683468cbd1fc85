"""Time, peak memory and loss of every method on Adult, with six and eight columns, and what starting costs.

    python benchmarks/speed.py [--k 10 50] [--columns 6 8] [--methods auto kaca] [--write docs/BENCHMARKS.md]

A cell is end to end, from the table to a verified and measured release, in a process of its own. Its time is also
given as a ratio to a plain GROUP BY of the same columns.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cells import (
    CELL,
    Cell,
    Table,
    clocked,
    columns_of,
    create_adult,
    group_by_seconds,
    needs,
    parser,
    run,
    setting,
    write,
)

import sqlanon
from sqlanon.udfs.methods import METHODS

LITERAL = {
    ("sequential", 10): 0.0361,
    ("kacpc", 10): 0.0427,
    ("kaca", 10): 0.0495,
    ("bisecting", 10): 0.0634,
    ("wfcmeans", 10): 0.128,
    ("sequential", 50): 0.0991,
    ("kaca", 50): 0.1228,
    ("kacpc", 50): 0.1275,
    ("bisecting", 50): 0.159,
}
"""GCP of literal implementations of the papers on Adult's six columns, for comparison (kaca with age as a tree)."""

NEEDED = "import duckdb, numpy, pyarrow"
STARTS = {
    NEEDED: ["-c", NEEDED],
    "import sqlanon, beyond these": ["-c", f"{NEEDED}, sqlanon"],
    "sqlanon --help": ["-m", "sqlanon", "--help"],
}
AIMS = {"import sqlanon, beyond these": 0.4, "sqlanon --help": 0.5}
"""How many seconds a start may take."""


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--k", type=int, nargs="+", default=[10, 50])
    options.add_argument("--columns", type=int, nargs="+", default=[6, 8])
    options.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    options.add_argument("--repeat", type=int, default=9, help="times to start Python; the least counts")
    asked = options.parse_args()
    made = setting()
    started = starts(asked.repeat)
    table = Table(
        {"method": (13, None), "columns": (7, 0), "k": (3, 0), **CELL, "/ GROUP BY": (10, 0), "GCP": (7, 4)}
        | {"literal": (7, 4), "precision": (9, 4)}
    )
    for columns in asked.columns:
        for k in asked.k:
            for method in asked.methods:
                given: dict[str, Any] = {"method": method, "columns": columns, "k": k}
                found = run("speed", "cell", asked.timeout, data=asked.data, sample=asked.sample, **given)
                literal = LITERAL.get((method, k)) if columns == 6 else None
                table.add(given | found | {"literal": literal})
    if asked.write:
        write(asked.write, "speed", made, "\n".join(table.lines), "\n".join(started.lines))


def cell(data: str, sample: int, method: str, columns: int, k: int) -> Cell:
    """One method on one table: end to end, from the table to a verified and measured release."""
    con = create_adult(Path(data), sample)
    quasi = columns_of(Path(data), columns)
    plain = group_by_seconds(con, "adult", quasi)
    found: Cell = {}
    with clocked(found):
        release = sqlanon.anonymize(con, "adult", quasi, k, method=method, **needs(method))
    measured = release.metrics()
    con.close()
    return found | {
        "/ GROUP BY": found["seconds"] / plain,
        "GCP": measured["gcp"],
        "precision": measured["precision"],
    }


def starts(repeat: int) -> Table:
    """What it costs to start, with compiled modules at hand as after an installation."""
    table = Table({"start": (30, None), "seconds": (9, 2), "CPU s": (8, 2), "aim": (5, 1)})
    best = {what: (float("inf"), float("inf")) for what in STARTS}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(repeat + 1):  # the first turn compiles and is the slowest
            for what, arguments in STARTS.items():
                wall, cpu = time.perf_counter(), _children_seconds()
                subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
                taken = time.perf_counter() - wall, _children_seconds() - cpu
                best[what] = min(best[what][0], taken[0]), min(best[what][1], taken[1])
    for what, (wall, cpu) in best.items():
        before = best[NEEDED] if "beyond" in what else (0, 0)
        table.add({"start": what, "seconds": wall - before[0], "CPU s": cpu - before[1], "aim": AIMS.get(what)})
    return table


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
