"""Time, peak memory and loss of every method on Adult, as ratios to a plain GROUP BY of the same columns.

    python benchmarks/speed.py [--data ../shared/data] [--rows 30162] [--k 10 50]

Each cell runs in a process of its own, so that peak memory is its own. Without the data, the project's generator makes
rows that are like Adult's.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

SIX = ("age", "workclass", "education", "marital-status", "race", "sex")
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

EIGHT = (*SIX, "native-country", "occupation")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--rows", type=int, default=30_162, help="rows to generate where the data is not there")
    parser.add_argument("--k", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cell:
        print(json.dumps(cell(arguments.data, arguments.rows, **json.loads(arguments.cell))))
        return
    from sqlanon.udfs.methods import METHODS

    head = ("seconds", 8), ("/GROUP BY", 11), ("MiB", 6), ("GCP", 7), ("literal", 7), ("precision", 9)
    print(f"{'method':10} columns    k " + " ".join(f"{title:>{width}}" for title, width in head), flush=True)
    for columns in (6, 8):
        for k in arguments.k:
            for method in METHODS:
                asked = json.dumps({"method": method, "columns": columns, "k": k})
                command = [sys.executable, __file__, "--data", str(arguments.data), "--rows", str(arguments.rows)]
                done = subprocess.run([*command, "--cell", asked], capture_output=True, text=True, check=True)
                found = json.loads(done.stdout)
                literal = LITERAL.get((method, k)) if columns == 6 else None
                print(
                    f"{method:10} {columns:7} {k:4} {found['seconds']:8.2f} {found['ratio']:11.0f} "
                    f"{found['memory']:6.0f} {found['gcp']:7.4f} {literal or '':>7} "
                    f"{found['precision']:9.4f}",
                    flush=True,
                )


def cell(data: Path, rows: int, method: str, columns: int, k: int) -> dict[str, float]:
    """One method on one table: end to end, from the table to a verified and measured release."""
    import duckdb

    import sqlanon

    con = duckdb.connect()
    sqlanon.load(con)
    quasi = _table(con, data, rows)[:columns]
    listed = ", ".join(f'"{column}"' for column in quasi)
    start = time.perf_counter()
    con.execute(f"select {listed}, count(*) from adult group by all").fetchall()
    plain = time.perf_counter() - start
    start = time.perf_counter()
    release = sqlanon.anonymize(con, "adult", quasi, k, method=method)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    measured = release.metrics()
    con.close()
    return {
        "seconds": seconds,
        "ratio": seconds / plain,
        "memory": memory,
        "gcp": measured["gcp"],
        "precision": measured["precision"],
    }


def _table(con, data: Path, rows: int) -> list[str]:  # type: ignore[no-untyped-def]
    """The table `adult` with its hierarchies, age as a number; its columns, the six first."""
    import sqlanon
    from sqlanon import samples

    if (data / "adult_30162.csv").exists():
        con.execute("create table adult as from read_csv($1, delim=';')", [str(data / "adult_30162.csv")])
        for column in EIGHT[1:]:
            sqlanon.create_hierarchy(con, column, csv=data / "adult_hierarchies" / f"{column}.csv")
        return list(EIGHT)
    samples.create(con, "adult", rows=rows)
    columns = [column.replace("-", "_") for column in EIGHT]
    for column in columns[1:]:
        sqlanon.create_hierarchy(con, column, rows=samples.hierarchy_rows("adult")[column])
    return columns


if __name__ == "__main__":
    main()
