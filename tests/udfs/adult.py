"""The Adult table of Wang et al. 2022 as a problem: age as numbers, five columns with their hierarchies.

The table, and those of wine and iris, are not in the repository; tests that read them are marked with `needs_data`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sqlanon.udfs.problem import Numbers, Problem, Tree

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
NOT_HERE = "the tables of the papers are not here"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=NOT_HERE)
CATEGORIES = ("workclass", "education", "marital-status", "race", "sex")


def hierarchy(name: str) -> tuple[Tree, dict[str, int]]:
    """The tree of a hierarchy file, and the rank of each leaf."""
    rows = [line.split(";") for line in (DATA / "adult_hierarchies" / f"{name}.csv").read_text().splitlines()]
    rows.sort(key=lambda row: row[::-1])
    spans: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for rank, row in enumerate(rows):
        for level in range(len(row)):
            spans.setdefault((level, tuple(row[level:])), []).append(rank)
    lo, hi, level = (np.array(part) for part in zip(*((r[0], r[-1], key[0]) for key, r in spans.items()), strict=True))
    return Tree(lo, hi, level), {row[0]: rank for rank, row in enumerate(rows)}


@cache
def adult() -> Problem:
    """The six columns most used, as distinct tuples in rank order; no method changes a problem."""
    table = pd.read_csv(DATA / "adult_30162.csv", sep=";", dtype=str)
    ages, age_rank = np.unique(table["age"].astype(int), return_inverse=True)
    attributes: list[Numbers | Tree] = [Numbers(ages.astype(float))]
    columns = [age_rank]
    for name in CATEGORIES:
        tree, rank = hierarchy(name)
        attributes.append(tree)
        columns.append(table[name].map(rank).to_numpy())
    ranks, counts = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_counts=True)
    return Problem(ranks, counts, tuple(attributes), np.ones(len(attributes)))


def with_age_as_tree(problem: Problem) -> Problem:
    """The same tuples in the same order, with the hierarchy of age in place of its numbers."""
    tree, rank = hierarchy("age")
    ages = problem.attributes[0].at[problem.ranks[:, 0]]
    ranks = problem.ranks.copy()
    ranks[:, 0] = [rank[str(int(age))] for age in ages]
    return Problem(ranks, problem.counts, (tree, *problem.attributes[1:]), problem.weights)
