"""WF-C-means as Chiu & Tsai 2007 describe it: row by row, with no arrays. Slow, and meant to be obviously right.

It takes the decisions that the core's docstring names. Raw numbers are used as they are here, where the core scales
them and weighs them instead.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from literal import cover, grain, unit, whd

from sqlanon.udfs.problem import Floats, Ints, Numbers, Problem, Tree

SAME, POINT = 1e-12, 1e-18


class Feature:
    """One attribute: its value in each row, and how values differ."""

    def __init__(self, problem: Problem, j: int, scale: str, beta: float, rows: list[int]) -> None:
        self.attribute, self.beta = problem.attributes[j], beta
        self.is_tree = isinstance(self.attribute, Tree)
        ranks = [int(problem.ranks[t, j]) for t in rows]
        self.known: dict[tuple[float, float], float] = {}
        self.most = 1.0
        if self.is_tree:
            self.values: list[float] = ranks
            return
        at = self.attribute.at.tolist() if scale == "raw" else unit(self.attribute)
        known = [x for x in at if not math.isnan(x)]
        if scale == "raw" and known and max(known) > min(known):
            self.most = (max(known) - min(known)) ** 2
        self.values = [at[rank] for rank in ranks]

    def diss(self, value: float, centre: float) -> float:
        """Equation (3), or WHD from the value to the common node."""
        if self.is_tree:
            if (value, centre) not in self.known:
                height = self.attribute.height
                own, common = cover(self.attribute, value, value), cover(self.attribute, *sorted((value, centre)))
                p, q = (grain(whd(height, self.beta, height - node[2], 1)) for node in (own, common))
                self.known[value, centre] = p - q
            return self.known[value, centre]
        if math.isnan(value) or math.isnan(centre):
            return 0.0 if math.isnan(value) and math.isnan(centre) else self.most
        return (value - centre) ** 2

    def centre(self, rows: list[int]) -> float:
        """Equation (7), or the value of least summed dissimilarity."""
        values = [self.values[row] for row in rows]

        def off(centre: float) -> float:
            return sum(self.diss(value, centre) for value in values)

        if self.is_tree:
            return min(sorted(set(values)), key=off)
        known = [value for value in values if not math.isnan(value)]
        if not known:
            return math.nan
        mean = sum(known) / len(known)
        return math.nan if off(math.nan) < off(mean) * (1 - SAME) else mean


def nearest(features: list[Feature], weights: list[float], point: list[float], centres: list[list[float]]) -> int:
    """Equations (6) and (17): the lowest of the nearest."""
    distances = [
        sum(w * f.diss(v, a) for f, w, v, a in zip(features, weights, point, centre, strict=True)) for centre in centres
    ]
    slack = POINT * sum(w * f.most for f, w in zip(features, weights, strict=True) if not f.is_tree)
    return next(i for i, d in enumerate(distances) if d <= min(distances) * (1 + SAME) + slack)


def wfcmeans(
    problem: Problem, k: int, rng: np.random.Generator, scale: str, iterations: int, beta: float
) -> tuple[list[dict[int, int]], list[float], int]:
    """Figures 2 and 3: the groups, the weights and the number of iterations."""
    rows = [t for t, count in enumerate(problem.counts.tolist()) for _ in range(count)]
    every = range(len(rows))
    features = [Feature(problem, j, scale, beta, rows) for j in range(len(problem.attributes))]
    given = problem.weights.tolist()
    record = [[f.values[row] for f in features] for row in every]
    centres = [list(record[row]) for row in rng.choice(len(rows), len(rows) // k, replace=False)]
    middle = [f.centre(list(every)) for f in features]
    weights = [1 / len(features)] * len(features)
    home: list[int] = []
    step = 0
    while step < iterations:
        step += 1
        both = [w * g for w, g in zip(weights, given, strict=True)]
        before, home = home, [nearest(features, both, point, centres) for point in record]
        members = [[row for row in every if home[row] == i] for i in range(len(centres))]
        centres = [
            [f.centre(members[i]) for f in features] if members[i] else centre for i, centre in enumerate(centres)
        ]
        margins = []
        for n, f in enumerate(features):
            e = sum(f.diss(f.values[row], centres[home[row]][n]) for row in every)
            f_n = sum(len(members[i]) * f.diss(centre[n], middle[n]) for i, centre in enumerate(centres))
            f_n = f_n if f_n >= POINT * len(rows) * f.most else 0.0
            e = max(e, 1e-9 * (e + f_n))
            margins.append(f_n / e if e else 0.0)
        if sum(margins) > 0:
            weights = [w + margin / sum(margins) for w, margin in zip(weights, margins, strict=True)]
            weights = [w / sum(weights) for w in weights]
        if home == before:
            break
    both = [w * g for w, g in zip(weights, given, strict=True)]
    legal = [i for i, rows_in in enumerate(members) if len(rows_in) >= k]
    merged = {i: list(members[i]) for i in legal}
    for i, rows_in in enumerate(members):
        if 0 < len(rows_in) < k:
            target = nearest(features, both, centres[i], [centres[j] for j in legal])
            merged[legal[target]] += rows_in
    return [dict(Counter(rows[row] for row in merged[i])) for i in sorted(merged)], weights, step


class Column:
    """One attribute for a table of thousands of tuples: all values at once. Without NULL, and steps weigh the same."""

    def __init__(self, problem: Problem, j: int) -> None:
        attribute, self.counts = problem.attributes[j], problem.counts.astype(float)
        self.apart: Floats | None = None
        if isinstance(attribute, Numbers):
            self.values = np.array(unit(attribute))[problem.ranks[:, j]]
            return
        self.values = problem.ranks[:, j]
        leaves = range(attribute.leaves)
        level = [[cover(attribute, *sorted((one, other)))[2] for other in leaves] for one in leaves]
        own = np.array([level[leaf][leaf] for leaf in leaves])
        self.apart = (np.array(level) - own[:, None]) / (attribute.height - 1)

    def diss(self, value: Floats, centre: Floats) -> Floats:
        return (value - centre) ** 2 if self.apart is None else self.apart[value, centre]

    def centres(self, home: Ints, before: Floats) -> Floats:
        """Of each class; one without rows keeps what it had."""
        rows = np.bincount(home, self.counts, len(before))
        if self.apart is None:
            sums = np.bincount(home, self.counts * self.values, len(before))
            return np.where(rows > 0, sums / np.maximum(rows, 1), before)
        held = np.zeros((len(before), len(self.apart)))
        np.add.at(held, (home, self.values), self.counts)
        off = np.where(held > 0, np.round(held @ self.apart, 9), np.inf)
        return np.where(rows > 0, off.argmin(axis=1), before)


def by_matrices(problem: Problem, k: int, rng: np.random.Generator) -> tuple[Ints, list[float]]:
    """The same for large tables, scaled numbers and equal weights: the class of each tuple, and the learned weights."""
    columns = [Column(problem, j) for j in range(len(problem.attributes))]
    counts, size = problem.counts.astype(float), int(problem.counts.sum()) // k
    rows = rng.choice(int(counts.sum()), size, replace=False)
    drawn = np.repeat(np.arange(len(counts)), problem.counts)[rows]
    centres = [column.values[drawn] for column in columns]
    one_class = np.zeros(len(counts), dtype=int)
    middle = [column.centres(one_class, column.values[:1]) for column in columns]
    weights = np.full(len(columns), 1 / len(columns))
    home: Ints | None = None

    def closest(points: list[Floats], others: list[Floats]) -> Ints:
        pairs = zip(weights, columns, points, others, strict=True)
        distance = sum(w * column.diss(p[:, None], c[None, :]) for w, column, p, c in pairs)
        return np.asarray((distance <= distance.min(axis=1)[:, None] * (1 + SAME) + POINT).argmax(axis=1))

    while True:
        before, home = home, closest([column.values for column in columns], centres)
        centres = [column.centres(home, centre) for column, centre in zip(columns, centres, strict=True)]
        sizes = np.bincount(home, counts, size)
        within = [counts @ column.diss(column.values, c[home]) for column, c in zip(columns, centres, strict=True)]
        between = [sizes @ column.diss(c, m) for column, c, m in zip(columns, centres, middle, strict=True)]
        e, f = np.array(within), np.array(between)
        margin = f / np.maximum(e, 1e-9 * (e + f))
        weights = weights + margin / margin.sum()
        weights /= weights.sum()
        if before is not None and (home == before).all():
            break
    legal, illegal = np.flatnonzero(sizes >= k), np.flatnonzero((sizes > 0) & (sizes < k))
    target = np.arange(size)
    target[illegal] = legal[closest([c[illegal] for c in centres], [c[legal] for c in centres])]
    return target[home], weights.tolist()
