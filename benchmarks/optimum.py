"""How near to the best possible `auto` is on Adult: loss, proven bound, the gap between them, and time.

    python benchmarks/optimum.py [--k 5 10] [--columns 6 8] [--efforts fast balanced] [--seeds 3] [--write FILE]

Medians over some seeds. Time is that of the whole call in CPU seconds, once all loops are compiled, and as a ratio to a
plain GROUP BY of the same columns.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from cells import Cell, Table, columns_of, create_adult, group_by_seconds, levels, parser, run, setting, write

import sqlanon

EFFORTS = ("fast", "balanced", "best")


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--k", type=int, nargs="+", default=[5, 10, 50])
    options.add_argument("--columns", type=int, nargs="+", choices=(6, 8), default=[6, 8])
    options.add_argument("--efforts", nargs="+", choices=EFFORTS, default=["fast", "balanced"])
    options.add_argument("--seeds", type=int, default=3)
    asked = options.parse_args()
    made = setting()
    table = Table(
        {"columns": (7, 0), "age": (6, None), "k": (3, 0), "effort": (8, None), "GCP": (7, 4), "bound": (7, 4)}
        | {"gap in %": (8, 1), "CPU s": (6, 2), "GROUP BYs": (9, 0)}
    )
    for columns in asked.columns:
        for age in ("number", "tree"):
            for k in asked.k:
                for effort in asked.efforts:
                    cell = {"columns": columns, "age": age, "k": k, "effort": effort}
                    given = {"data": asked.data, "sample": asked.sample, "seeds": asked.seeds}
                    table.add(cell | run("optimum", "median", asked.timeout, **given, **cell))
    if asked.write:
        write(asked.write, "optimum", made, "\n".join(table.lines))


def median(data: str, sample: int, columns: int, age: str, k: int, effort: str, seeds: int) -> Cell:
    """The medians of loss, bound and time over the seeds."""
    con = create_adult(Path(data), sample)
    sqlanon.create_hierarchy(con, "ages", rows=levels(Path(data))["age"])
    quasi = columns_of(Path(data), columns)
    hierarchies = {"age": "ages"} if age == "tree" else {}
    con.execute("create table few as from adult limit 2000")
    sqlanon.anonymize(con, "few", quasi, k, effort=effort, hierarchies=hierarchies).discard()  # compiles
    found = []
    for seed in range(seeds):
        begin = time.process_time()
        release = sqlanon.anonymize(con, "adult", quasi, k, effort=effort, seed=seed, hierarchies=hierarchies)
        seconds, measured = time.process_time() - begin, release.metrics()
        found.append((measured["gcp"], measured["lower_bound"], seconds))
        release.discard()
    gcp, bound, seconds = (statistics.median(column) for column in zip(*found, strict=True))
    plain = group_by_seconds(con, "adult", quasi)
    return {"GCP": gcp, "bound": bound, "gap in %": 100 * (gcp / bound - 1), "CPU s": seconds} | {
        "GROUP BYs": seconds / plain
    }


if __name__ == "__main__":
    main()
