"""Strata: every sensitive value is cut at the same share along the same attribute, so that both halves have the
composition of the whole.

The idea is that of SABRE (Cao, Karras, Kalnis, Tan, VLDB Journal 2011), with every combination of sensitive values as a
bucket. A cut between two values of the attribute, which leaves the composition to chance, is offered as well. Of the
cuts whose halves have k rows and keep all models, that of least loss is taken, and the halves are cut again. It serves
any model, and where a model asks for nearly the table's own composition it finds many groups where methods that are
blind to values find few.

Time O(d n log n) for each level of cuts and memory O(n d) for n rows with d attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Floats, Groups, Ints, Problem
from sqlanon.udfs.space.costs import PRIVATE, Rate, rates

SHARES = (0.5, 0.35, 0.65)
QUANTILES = (0.25, 0.5, 0.75)
GAIN = 1e-9


class Strata:
    """The rows of a table with the combination of sensitive values, or stratum, of each."""

    def __init__(self, problem: Problem, k: int, rng: np.random.Generator, objective: str) -> None:
        assert problem.sensitive is not None
        self.problem, self.k, self.rng = problem, k, rng
        self.tuple = np.repeat(np.arange(len(problem.counts)), problem.counts)
        self.ranks = problem.ranks[self.tuple]
        codes = problem.sensitive[:, problem.columns]
        self.stratum = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)[self.tuple]
        self.rates: list[Rate] = rates(problem, "ncp" if objective in PRIVATE else objective)[0]

    def costs(self, parts: list[Ints]) -> Floats:
        """What the rows of each part would lose as a group."""
        lo = np.array([self.ranks[rows].min(axis=0) for rows in parts])
        hi = np.array([self.ranks[rows].max(axis=0) for rows in parts])
        loss = sum(rate(lo[:, j], hi[:, j])[:, 0] for j, rate in enumerate(self.rates))
        return np.asarray(loss * [len(rows) for rows in parts])

    def are_legal(self, one: Ints, other: Ints) -> bool:
        """Do both halves keep all models?"""
        both = np.concatenate([one, other])
        half = np.repeat([0, 1], [len(one), len(other)])
        return bool(legality.are_legal(self.problem, self.tuple[both], half, np.ones_like(both)).all())

    def halves(self, rows: Ints) -> tuple[Ints, Ints] | None:
        """The best legal cut of these rows, or None."""
        if len(rows) < 2 * self.k:
            return None
        offers = [(one, other) for one, other in self._offers(rows) if min(len(one), len(other)) >= self.k]
        costs = self.costs([rows, *(half for offer in offers for half in offer)])
        both = costs[1::2] + costs[2::2]
        order: list[int] = np.argsort(both, kind="stable").tolist()
        for best in order:
            if both[best] < costs[0] - GAIN and self.are_legal(*offers[best]):
                return offers[best]
        return None

    def _offers(self, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
        ranks, stratum = self.ranks[rows], self.stratum[rows]
        held = np.bincount(stratum)
        first, start = np.cumsum(held) - held, self.rng.random(len(held))
        for j in np.flatnonzero(ranks.min(axis=0) < ranks.max(axis=0)).tolist():
            others = np.roll(np.arange(ranks.shape[1]), -j)
            order = np.lexsort((*ranks[:, others].T[::-1], stratum))
            mine = stratum[order]
            share: Floats = (np.arange(len(rows)) - first[mine] + start[mine]) / held[mine]
            for part in SHARES:
                is_below = share < part
                yield rows[order[is_below]], rows[order[~is_below]]
            for edge in np.unique(np.quantile(ranks[:, j], QUANTILES, method="lower")):
                is_below = ranks[:, j] <= edge
                yield rows[is_below], rows[~is_below]


def cluster(
    problem: Problem, k: int, rng: np.random.Generator, progress: Progress, objective: str = "ncp", least: int = 0
) -> Groups:
    """Cut until no cut is legal and gains anything, or a part has fewer rows than `least`."""
    problem.need_rows(k)
    legality.check_legal(problem)
    strata = Strata(problem, k, rng, objective)
    final: list[Ints] = []
    todo, done = [np.arange(len(strata.tuple))], 0
    while todo:
        rows = todo.pop()
        found = strata.halves(rows) if len(rows) >= least else None
        if found is None:
            final.append(rows)
            done += len(rows)
            progress(done, len(strata.tuple))
        else:
            todo += found
    group = np.repeat(np.arange(len(final)), [len(rows) for rows in final])
    tuples = strata.tuple[np.concatenate(final)]
    return Groups.collect(tuples, group, np.ones(len(tuples), dtype=np.int64))
