"""Linked k-anonymity on simulated visits: what kept rows lose, how many are dropped, what row by row leaves open.

    python benchmarks/linked.py [people]

2,000 people with 4,819 visits: sex, year of birth, zip code, day and ward of the visit. `entity` row by row (method
auto) is measured in the same way: its loss, and how many people have a set of rows of their own.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

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


def measured(problem: Problem, groups: Groups) -> tuple[float, float, float, int]:
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
    return loss, 1 - float(rows.sum()) / problem.rows, alone / len(sets), min(shared.values())


def quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""


def main(people: int) -> None:
    """A line for each k: row by row, then linked at three prices."""
    visits = simulate(people)
    print(f"{people:,} people, {len(visits):,} visits")
    print("k   how            loss   dropped  alone  linked k  seconds")
    for k in (3, 5, 10):
        problem = problem_of(visits, k)
        kinds = ("tree", "numbers", "tree", "numbers", "tree")
        began = time.perf_counter()
        parameters = METHODS["auto"].check({})
        rows = solve(Request(k, kinds, (1.0,) * 5, parameters=parameters, entity="person"), problem, quiet)
        show(k, "row by row", problem, rows, time.perf_counter() - began)
        for price in (3.0, 1.0, 0.6) if k == 5 else (1.0,):
            began = time.perf_counter()
            found = linked.cluster(problem, k, np.random.default_rng(0), quiet, price=price, order=DAY)
            show(k, f"linked, {price:g}", problem, found, time.perf_counter() - began)


def show(k: int, how: str, problem: Problem, groups: Groups, seconds: float) -> None:
    """One line."""
    loss, dropped, alone, least = measured(problem, groups)
    print(f"{k:<3} {how:14} {loss:.3f}  {dropped:7.1%} {alone:6.1%}  {least:8}  {seconds:7.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
