"""Peak memory on tables of continuous columns, where every value is different.

    python benchmarks/continuous.py [--rows 1000 20000 200000] [--columns 6 12] [--methods auto "auto, fast"]
                                    [--write FILE]

Each cell runs in a process of its own. A method may have an effort. The aim is 400 MiB + 0.5 KiB for each value;
`ratio` is the peak by the table's own size, 8 bytes a value.
"""

from __future__ import annotations

from cells import CELL, Cell, Table, clocked, parser, run, setting, write

import sqlanon


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=[1000, 20_000, 200_000])
    options.add_argument("--columns", type=int, nargs="+", default=[6, 12])
    options.add_argument("--methods", nargs="+", default=["auto", "auto, fast", "mondrian", "hilbert"])
    asked = options.parse_args()
    made = setting()
    table = Table(
        {"rows": (7, 0), "columns": (7, 0), "method": (10, None), **CELL, "aim MiB": (7, 0), "ratio": (5, 0)}
        | {"GCP": (6, 3)}
    )
    for rows in asked.rows:
        for columns in asked.columns:
            for method in asked.methods:
                asking = {"rows": rows, "columns": columns, "method": method}
                table.add(asking | run("continuous", "cell", asked.timeout, **asking))
    if asked.write:
        write(asked.write, "continuous", made, "\n".join(table.lines))


def cell(rows: int, columns: int, method: str) -> Cell:
    """Make the table, anonymize it, and say what it took."""
    names = [f"q{number}" for number in range(columns)]
    values = ", ".join(f"(hash(r * 1000 + {j}) % 10000000) / 1000.0 as {name}" for j, name in enumerate(names))
    name, _, effort = method.partition(", ")
    options = {"effort": effort} if effort else {}
    found: Cell = {}
    with sqlanon.connect() as con:
        con.execute(f"create table t as select {values} from range({rows}) t(r)").fetchall()
        with clocked(found):
            loss = sqlanon.anonymize(con, "t", names, 5, method=name, name="public", **options).metrics()["gcp"]
    own = 8 * rows * columns / 2**20
    return found | {"aim MiB": 400 + rows * columns / 2048, "ratio": found["MiB"] / own, "GCP": loss}


if __name__ == "__main__":
    main()
