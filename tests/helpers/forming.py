"""What forming tells, method by method: the whole program is run in every world of small tables.

python tests/helpers/forming.py --tables 20 --runs 12    the figures of docs/privacy.md, "Minimality"
"""

from __future__ import annotations

import argparse

import numpy as np
from worlds import People, drawn, exposed, worlds

METHODS = ("auto", "peel", "datafly", "incognito", "mondrian", "kmember")


def tables(rng: np.random.Generator, count: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Places and values of six people, the values of which no more than half are equal."""
    found = []
    while len(found) < count:
        places = tuple(sorted(rng.integers(0, 4, 6).tolist()))
        values = tuple(sorted(np.unique(rng.integers(0, 3, 6), return_inverse=True)[1].tolist()))
        if max(map(values.count, values)) <= 3 and len(set(places)) > 1 and len(worlds(values)) <= 60:
            found.append((places, values))
    return found


def told(method: str, count: int, runs: int, seed: int = 0) -> tuple[float, float, float]:
    """With k = l = 2, over all tables: the mean share of people guessed with a chance above 1/2, the mean share whose
    value is certain, and the largest share that can be guessed so in one table."""
    rng = np.random.default_rng(seed)
    found = [
        exposed(drawn(People(places, values, 2, {"l": 2.0}, method), runs), 0.5)
        for places, values in tables(rng, count)
    ]
    above, certain = (float(np.mean([one[part] for one in found])) for part in (0, 1))
    return above, certain, max(one[0] for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    for method in arguments.methods.split(","):
        above, certain, most = told(method, arguments.tables, arguments.runs)
        print(f"{method:10} above 1/2: {above:.1%}  certain: {certain:.1%}  in the worst table: {most:.1%}", flush=True)


if __name__ == "__main__":
    main()
