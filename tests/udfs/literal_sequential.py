"""Sequential clustering as Goldberger & Tassa 2010 describe it: row by row, every cost from its definition. Slow, meant
to be obvious.

It takes the decisions that the core's docstring names and draws from the generator in the same order, so that it must
come to the same groups.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
from literal import cover, grain, unit

from sqlanon.udfs.problem import Problem, Tree

Rows = list[int]
"""A cluster as the tuples of its rows."""


class Measure:
    """The costs of section 6.1, up to what does not depend on the clustering."""

    def __init__(self, problem: Problem, cost: str, mi_weight: float) -> None:
        self.problem, self.cost, self.mi_weight = problem, cost, mi_weight
        self.charges: dict[tuple[int, ...], float] = {}
        self.everyone = [t for t, count in enumerate(problem.counts.tolist()) for _ in range(count)]

    def covers(self, j: int, rows: Rows) -> tuple[int, int]:
        """The closure of some rows on attribute j (6.1), as the first and last rank."""
        attribute, ranks = self.problem.attributes[j], [int(self.problem.ranks[t, j]) for t in rows]
        if isinstance(attribute, Tree):
            return cover(attribute, min(ranks), max(ranks))[:2]
        if math.isnan(attribute.at[max(ranks)]) and min(ranks) != max(ranks):
            return 0, len(attribute.at) - 1
        return min(ranks), max(ranks)

    @cache  # noqa: B019 - lives as long as one test
    def inside(self, j: int, lo: int, hi: int) -> Rows:
        """The rows of the original table with a value in the closure."""
        return [u for u in self.everyone if lo <= self.problem.ranks[u, j] <= hi]

    @cache  # noqa: B019
    def same(self, j: int, lo: int, hi: int, value: int) -> Rows:
        """Those of them with a sensitive value."""
        return [u for u in self.inside(j, lo, hi) if self.problem.sensitive[u, 0] == value]

    def cell(self, j: int, rows: Rows, t: int) -> float:
        """What the cell j of a row of tuple t costs in the cluster of these rows."""
        attribute = self.problem.attributes[j]
        lo, hi = self.covers(j, rows)
        if self.cost == "suppression":
            return float(len({int(self.problem.ranks[u, j]) for u in rows}) > 1)
        if self.cost in ("ncp", "lm"):
            if not isinstance(attribute, Tree):
                if lo != hi and math.isnan(attribute.at[hi]):
                    return 1.0
                return unit(attribute)[hi] - unit(attribute)[lo] if lo != hi else 0.0
            if self.cost == "lm":
                return (hi - lo) / (attribute.leaves - 1) if hi > lo else 0.0
            return (hi - lo + 1) / attribute.leaves if hi > lo else 0.0
        inside = self.inside(j, lo, hi)
        mi = np.log2(len(inside)) - np.log2(len(self.everyone))
        if self.cost == "mi":
            return mi
        same = self.same(j, lo, hi, int(self.problem.sensitive[t, 0]))
        pmi = np.log2(len(inside)) - np.log2(len(same))
        share = self.mi_weight if self.cost == "wmi" else 0.0
        return share * mi + (1 - share) * pmi if share < 1 else mi

    def charge(self, rows: Rows) -> float:
        """|C| gc(C), worked out once."""
        known = self.charges.get(tuple(sorted(rows)))
        if known is None:
            known = self.charges[tuple(sorted(rows))] = sum(
                grain(weight * self.cell(j, rows, t)) * copies
                for t, copies in Counter(rows).items()
                for j, weight in enumerate(self.problem.weights.tolist())
            )
        return known

    def loss(self, clusters: list[Rows]) -> float:
        """Equation (19), relative to the original table."""
        original = sum(self.charge([t]) for t in self.everyone)
        charged = sum(self.charge(rows) for rows in clusters)
        return (charged - original) / (len(self.everyone) * self.problem.weights.sum())


def diversity(problem: Problem, rows: Rows) -> float:
    """div(C), of the least diverse sensitive column; ∞ for no rows."""
    columns = [Counter(problem.sensitive[t, q] for t in rows) for q in range(problem.sensitive.shape[1])]
    return min(len(rows) / max(often.values()) for often in columns) if rows else math.inf


def is_legal(problem: Problem, rows: Rows) -> bool:
    return problem.l is None or diversity(problem, rows) >= problem.l - 1e-9


def split(problem: Problem, rows: Rows, parts: int, rng: np.random.Generator) -> list[Rows]:
    """Step 1 of Algorithm 1, or Algorithm 3."""
    rows = sorted(rows)
    if problem.l is None:
        shuffled = rng.permutation(rows).tolist()
        sizes = [len(rows) // parts + (i < len(rows) % parts) for i in range(parts)]
        return [[shuffled.pop(0) for _ in range(size)] for size in sizes]
    kinds = sorted({tuple(problem.sensitive[t].tolist()) for t in rows})
    clusters: list[Rows] = [[] for _ in range(parts)]
    for kind in kinds:
        mine = [t for t in rows if tuple(problem.sensitive[t].tolist()) == kind]
        more = set(rng.permutation(parts)[: len(mine) % parts].tolist())
        shuffled = rng.permutation(mine).tolist()
        for i in range(parts):
            clusters[i] += [shuffled.pop(0) for _ in range(len(mine) // parts + (i in more))]
    return [rows for rows in clusters if rows]


def sequential(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    measure: Measure,
    *,
    first_share: float,
    omega: float,
    passes: int,
    start: str,
    ending: str,
) -> list[Rows]:
    """Algorithm 2, which is Algorithm 1 where no l is required."""
    everyone = measure.everyone
    parts = max(1, len(everyone) // max(2, math.floor(first_share * k)))
    clusters = split(problem, everyone, parts, rng)
    while parts > 1 and not all(is_legal(problem, rows) for rows in clusters):
        parts = 1 if start == "paper" else parts * 3 // 4
        clusters = split(problem, everyone, parts, rng)
    if len(clusters) == 1:
        return clusters
    clusters = improve(problem, clusters, passes, omega * k, 0, rng, measure)
    clusters = unify(clusters, k, measure)
    if ending == "better":
        clusters = improve(problem, clusters, passes, 2 * k - 1, k, rng, measure)
    return clusters


def improve(
    problem: Problem,
    clusters: list[Rows],
    passes: int,
    limit: float,
    floor: int,
    rng: np.random.Generator,
    measure: Measure,
) -> list[Rows]:
    """Steps 4 to 15, with a floor for the better ending."""
    best, last = clusters, measure.loss(clusters)
    best_loss = last if floor else math.inf
    order = rng.permutation(len(problem.counts)).tolist()
    for number in range(passes):
        clusters = [list(rows) for rows in clusters]
        visits = [(t, c) for t in order for c, rows in enumerate(clusters) for u in rows if u == t]
        if number == 0 and not floor:
            visits = [visits[i] for i in rng.permutation(len(visits))]
        moved = sum(visit(problem, clusters, t, c, floor, measure) for t, c in visits)
        kept, halves = [], []
        for rows in filter(None, clusters):
            two = split(problem, rows, 2, rng) if len(rows) > limit else []
            is_fine = len(two) == 2 and all(is_legal(problem, half) and len(half) >= floor for half in two)
            kept, halves = (kept, halves + two) if is_fine else ([*kept, rows], halves)
        clusters = kept + halves
        loss = measure.loss(clusters)
        if loss < best_loss:
            best, best_loss = clusters, loss
        if not moved or last - loss < 1e-4 * abs(last):
            break
        last = loss
    return best


def visit(problem: Problem, clusters: list[Rows], t: int, c: int, floor: int, measure: Measure) -> bool:
    """Steps 5 to 12 for one row of tuple t in cluster c: does it move?"""
    without = list(clusters[c])
    without.remove(t)
    if len(clusters[c]) <= floor or not is_legal(problem, without):
        return False
    saved = measure.charge(clusters[c]) - (measure.charge(without) if without else 0.0)
    added = {
        h: measure.charge([*rows, t]) - measure.charge(rows)
        for h, rows in enumerate(clusters)
        if h != c and rows and is_legal(problem, [*rows, t])
    }
    if not added:
        return False
    best = min(added, key=lambda h: (added[h], h))
    if without and added[best] - saved >= -1e-12:
        return False
    clusters[c] = without
    clusters[best] = [*clusters[best], t]
    return True


def unify(clusters: list[Rows], k: int, measure: Measure) -> list[Rows]:
    """Steps 16 to 19."""

    def dist(a: Rows, b: Rows) -> float:
        return measure.charge(a + b) - measure.charge(a) - measure.charge(b)

    small = [rows for rows in clusters if len(rows) < k]
    large = [rows for rows in clusters if len(rows) >= k]
    while len(small) > 1:
        pairs = [(i, j) for i in range(len(small)) for j in range(i + 1, len(small))]
        i, j = min(pairs, key=lambda pair: (dist(small[pair[0]], small[pair[1]]), pair))
        small[i] = small[i] + small.pop(j)
        if len(small[i]) >= k:
            large.append(small.pop(i))
    for rows in small:
        nearest = min(range(len(large)), key=lambda i: (dist(rows, large[i]), i))
        large[nearest] = rows + large[nearest]
    return large
