"""What the check macros cost, as a ratio to the GROUP BY that somebody would write by hand.

    python benchmarks/checks.py [--rows 3000000] [--repeat 7]

Both are run in turn on the same table, and the smallest time of each counts, so that a noisy machine harms both alike.
"""

from __future__ import annotations

import argparse
import time

import duckdb

import sqlanon

QUASI = ("age", "workclass", "education", "marital_status", "race", "sex")


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    con = duckdb.connect()
    sqlanon.load(con)
    from sqlanon import samples

    samples.create(con, "adult", rows=arguments.rows)
    columns, listed = ", ".join(QUASI), list(QUASI)
    inner = f"select {columns}, count(*) as n from adult group by {columns}, occupation"
    pairs = {
        "k_anonymity": (
            f"select min(n) from (select count(*) as n from adult group by {columns})",
            f"select anon.k_anonymity('adult', {listed})",
        ),
        "violations": (
            f"select {columns}, count(*) as n from adult group by {columns} having count(*) < 5 order by n, {columns}",
            f"from anon.violations('adult', {listed}, k := 5)",
        ),
        "l_diversity": (
            f"select min(total / top) from (select sum(n) as total, max(n) as top from ({inner}) group by {columns})",
            f"select anon.l_diversity('adult', {listed}, 'occupation')",
        ),
        "distinct_l_diversity": (
            f"select min(n) from (select count(*) as n from ({inner}) group by {columns})",
            f"select anon.distinct_l_diversity('adult', {listed}, 'occupation')",
        ),
    }
    print(f"{arguments.rows:,} rows, {len(QUASI)} columns\n{'check':22} {'by hand':>8} {'macro':>8} {'ratio':>6}")
    for check, (by_hand, macro) in pairs.items():
        best = [float("inf"), float("inf")]
        for _ in range(arguments.repeat):
            for index, query in enumerate((by_hand, macro)):
                start = time.perf_counter()
                con.execute(query).fetchall()
                best[index] = min(best[index], time.perf_counter() - start)
        print(f"{check:22} {best[0]:8.3f} {best[1]:8.3f} {best[1] / best[0]:6.2f}")
    con.close()


if __name__ == "__main__":
    main()
