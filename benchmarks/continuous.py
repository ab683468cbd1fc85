"""Peak memory on tables of continuous columns, where every value is different.

    python benchmarks/continuous.py [--rows 1000 8000 20000] [--columns 6 12] [--methods auto mondrian]

Each cell runs in a process of its own. The aim is 400 MiB + 0.5 KiB for each value; `ratio` is the peak by the table's
own size, 8 bytes a value.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time


def cell(rows: int, columns: int, method: str) -> str:
    """Make the table, anonymize it, and say what it took."""
    import sqlanon

    names = [f"q{number}" for number in range(columns)]
    values = ", ".join(f"(hash(r * 1000 + {j}) % 10000000) / 1000.0 as {name}" for j, name in enumerate(names))
    with sqlanon.connect() as con:
        con.execute(f"create table t as select {values} from range({rows}) t(r)").fetchall()
        started = time.process_time()
        loss = sqlanon.anonymize(con, "t", names, 5, method=method, name="public").metrics()["gcp"]
        seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    aim = 400 + rows * columns / 2048
    ratio = peak * 2**20 / (8 * rows * columns)
    return f"| {rows:,} | {columns} | {method} | {peak:.0f} | {aim:.0f} | {ratio:.0f} | {seconds:.1f} | {loss:.3f} |"


def main() -> None:
    """Every cell in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 8000, 20_000, 200_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[6, 12])
    parser.add_argument("--methods", nargs="+", default=["auto", "mondrian", "hilbert"])
    parser.add_argument("--cell", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    cells = [(rows, columns, method) for rows in asked.rows for columns in asked.columns for method in asked.methods]
    if asked.cell:
        print(cell(*cells[0]))
        return
    print("| rows | columns | method | peak MiB | aim MiB | ratio | CPU s | GCP |\n" + "| --- " * 8 + "|")
    for rows, columns, method in cells:
        sizes = ["--rows", str(rows), "--columns", str(columns), "--methods", method]
        subprocess.run([sys.executable, __file__, "--cell", *sizes], check=False)


if __name__ == "__main__":
    main()
