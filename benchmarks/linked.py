"""Linked k-anonymity on simulated visits: what kept rows lose, how many are dropped, what row by row leaves open.

    python benchmarks/linked.py [--people 2000] [--k 3 5 10] [--effort balanced] [--write FILE]

2,000 people with 4,819 visits: sex, year of birth, zip code, day and ward of the visit. `entity` row by row (method
auto) is measured in the same way: its loss, and how many people have a set of rows of their own.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from cells import Table, parser, setting, write

from sqlanon.udfs.linked import cluster as linked
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Groups, Ints, Numbers, Problem, Tree
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import solve

DAY = 3


def simulate(people: int, seed: int = 1) -> Ints:
    """Visits: person, sex, year of birth since 1925, zip code, day, ward."""
    rng = np.random.default_rng(seed)
    rows = []
    zips = rng.dirichlet(np.full(40, 0.8))
    for person in range(people):
        visits = min(8, int(rng.geometric(0.4)))
        sex, born = int(rng.integers(2)), int(np.clip(rng.normal(1970, 22), 1925, 2020))
        home, day, ward = int(rng.choice(40, p=zips)), int(rng.integers(0, 600)), int(rng.integers(12))
        for _ in range(visits):
            where = home if rng.random() < 0.95 else int(rng.choice(40, p=zips))
            rows.append((person, sex, born - 1925, where, day, ward))
            day = min(729, day + 1 + int(rng.exponential(45)))
            ward = ward if rng.random() < 0.6 else int(rng.integers(12))
    return np.array(rows)


def tree(leaves: int, *widths: int) -> Tree:
    """A tree whose levels above the leaves have nodes of these many leaves, and a root."""
    nodes = [(0, leaves - 1, len(widths) + 1)]
    for level, width in enumerate((1, *widths)):
        nodes += [(lo, min(lo + width, leaves) - 1, level) for lo in range(0, leaves, width)]
    return Tree(*(np.array(column) for column in zip(*nodes, strict=True)))


def problem_of(visits: Ints, k: int) -> Problem:
    """The visits as a core sees them."""
    rows, counts = np.unique(visits, axis=0, return_counts=True)
    attributes = (tree(2), Numbers(np.arange(96.0)), tree(40, 5, 10), Numbers(np.arange(730.0)), tree(12, 3))
    problem = Problem(rows[:, 1:], counts, attributes, np.ones(5), rows[:, :1])
    return promise(problem, {}, people=k)


def measured(problem: Problem, groups: Groups) -> dict[str, Any]:
    """The loss of kept rows, the share of rows dropped, the share of people with a set of rows of their own, and how
    few people share a set."""
    lo, hi, rows = groups.closure(problem)
    loss = float(problem.loss(lo, hi) @ rows / rows.sum() / problem.weights.sum())
    sets: dict[int, list[tuple[int, ...]]] = {}
    assert problem.sensitive is not None
    kept = groups.group >= 0
    for one, group, copies in zip(groups.tuple[kept], groups.group[kept], groups.rows[kept], strict=True):
        box = (*lo[group].tolist(), *hi[group].tolist())
        sets.setdefault(int(problem.sensitive[one, 0]), []).extend([box] * int(copies))
    shared = Counter(tuple(sorted(boxes)) for boxes in sets.values())
    alone = sum(1 for number in shared.values() if number == 1)
    return {
        "loss of kept rows": loss,
        "rows dropped, %": 100 - 100 * float(rows.sum()) / problem.rows,
        "people alone, %": 100 * alone / len(sets),
        "linked k": min(shared.values()),
    }


def quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""


def main() -> None:
    """A row for each k: row by row, then linked at one or three prices."""
    options = parser(__doc__)
    options.add_argument("--people", type=int, default=2_000)
    options.add_argument("--k", type=int, nargs="+", default=[3, 5, 10])
    options.add_argument("--prices", type=float, nargs="+", default=[3.0, 1.0, 0.6], help="for k = 5; 1 for others")
    options.add_argument("--effort", choices=tuple(linked.STEPS), default="balanced")
    asked = options.parse_args()
    made = setting()
    visits = simulate(asked.people)
    kinds = ("tree", "numbers", "tree", "numbers", "tree")
    parameters = METHODS["auto"].check({})
    table = Table(
        {"k": (3, 0), "how": (22, None), "loss of kept rows": (6, 3), "rows dropped, %": (6, 1)}
        | {"people alone, %": (6, 1), "linked k": (6, 0), "CPU s": (6, 1)}
    )
    for k in asked.k:
        problem = problem_of(visits, k)
        began = time.process_time()
        rows = solve(Request(k, kinds, (1.0,) * 5, parameters=parameters, entity="person"), problem, quiet)
        table.add(measured(problem, rows) | {"k": k, "how": "row by row", "CPU s": time.process_time() - began})
        for price in asked.prices if k == 5 else [1.0]:
            began = time.process_time()
            rng = np.random.default_rng(0)
            found = linked.cluster(problem, k, rng, quiet, price=price, order=DAY, effort=asked.effort)
            how = f"linked, row_price {price:g}"
            table.add(measured(problem, found) | {"k": k, "how": how, "CPU s": time.process_time() - began})
    if asked.write:
        write(asked.write, "linked", made, "\n".join(table.lines))


if __name__ == "__main__":
    main()
