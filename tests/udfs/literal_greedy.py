"""The greedy methods as their papers tell them: row by row, with no arrays. Slow, and meant to be obviously right.

They take the decisions that the cores' docstrings name, and round as `literal` does. A row is given by its tuple.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from literal import closure, cover, dist_n, grain, mode, unit

from sqlanon.udfs.problem import Attribute, Numbers, Problem, Tree

Members = dict[int, int]


def quiet(done: int, total: int, **facts: float) -> None:
    """Progress for nobody."""


def on_a_line(*places: float) -> Problem:
    """A row at each of some places, in order."""
    at, ranks = np.unique(places, return_inverse=True)
    tuples, counts = np.unique(ranks.reshape(-1, 1), axis=0, return_counts=True)
    return Problem(tuples, counts, (Numbers(at),), np.ones(1))


def all_rows(problem: Problem) -> list[int]:
    return [t for t, count in enumerate(problem.counts.tolist()) for _ in range(count)]


def as_members(clusters: list[list[int]]) -> list[Members]:
    return [dict(Counter(cluster)) for cluster in clusters]


def ncp(attribute: Attribute, lo: int, hi: int) -> float:
    """He et al. 2012: the loss of a cell that covers lo to hi."""
    if lo == hi:
        return 0.0
    if isinstance(attribute, Tree):
        first, last, _ = cover(attribute, lo, hi)
        return (last - first + 1) / attribute.leaves if first < last else 0.0
    width = unit(attribute)[hi] - unit(attribute)[lo]
    return 1.0 if math.isnan(width) else width


def loss(problem: Problem, rows: list[int]) -> float:
    """What each of some rows loses if they are a group."""
    columns = zip(problem.attributes, problem.weights.tolist(), closure(problem, rows), strict=True)
    return sum(grain(weight * ncp(attribute, node[0], node[1])) for attribute, weight, node in columns)


def total_loss(problem: Problem, rows: list[int]) -> float:
    return len(rows) * loss(problem, rows)


def join_best(problem: Problem, clusters: list[list[int]], more: list[int]) -> None:
    """Put some rows into the cluster whose total loss they raise least."""
    raised = [total_loss(problem, cluster + more) - total_loss(problem, cluster) for cluster in clusters]
    clusters[raised.index(min(raised))] += more


def kmember(problem: Problem, k: int, rng: np.random.Generator) -> list[Members]:
    """Byun et al., the greedy k-member algorithm."""
    left, clusters = all_rows(problem), []
    r = left[rng.integers(len(left))]
    while len(left) >= k:
        r = max(set(left), key=lambda t: (loss(problem, [r, t]), -t))
        left.remove(r)
        c = [r]
        while len(c) < k:
            before = total_loss(problem, c)
            r = min(set(left), key=lambda t: (total_loss(problem, [*c, t]) - before, t))
            left.remove(r)
            c.append(r)
        clusters.append(c)
    for t in rng.permutation(left).tolist():
        join_best(problem, clusters, [t])
    return as_members(clusters)


def gaacp(problem: Problem, k: int, rng: np.random.Generator) -> list[Members]:
    """Jiang et al., as far as it is known: whole tuples around a random one."""
    left, clusters = all_rows(problem), []
    while len(left) >= k:
        t = left[rng.integers(len(left))]
        c: list[int] = []
        while True:
            c += [row for row in left if row == t]
            left = [row for row in left if row != t]
            if len(c) >= k:
                break
            t = min(set(left), key=lambda t: (loss(problem, [*c, t]), t))
        clusters.append(c)
    for t, rows in sorted(Counter(left).items()):
        join_best(problem, clusters, [t] * rows)
    return as_members(clusters)


def ikac(problem: Problem, k: int, rng: np.random.Generator) -> list[Members]:
    """Zheng et al., as Wang et al. 2022 describe it."""
    every = range(len(problem.counts))
    distance = [[loss(problem, [one, other]) for other in every] for one in every]
    left, centres, clusters = all_rows(problem), [], []
    while len(left) >= k:
        if centres:
            centre = max(left, key=lambda t: (sum(distance[c][t] for c in centres), -t))
        else:
            centre = left[rng.integers(len(left))]
        left.remove(centre)
        left.sort(key=lambda t: (distance[centre][t], t))
        centres.append(centre)
        clusters.append([centre, *left[: k - 1]])
        left = left[k - 1 :]
    for t in sorted(left):
        join_best(problem, clusters, [t])
    return as_members(clusters)


def centre_distance(problem: Problem, t: int, rows: list[int]) -> float:
    """From a row to the center of a cluster: the mean of numbers, the closest common node of categories."""
    total = 0.0
    columns = zip(problem.attributes, problem.weights.tolist(), closure(problem, rows), strict=True)
    for j, (attribute, weight, node) in enumerate(columns):
        rank = int(problem.ranks[t, j])
        if isinstance(attribute, Tree):
            apart = ncp(attribute, min(node[0], rank), max(node[1], rank))
        else:
            at = [grain(x) if x == x else x for x in unit(attribute)]
            known = [
                at[problem.ranks[row, j]] for row in rows if at[problem.ranks[row, j]] == at[problem.ranks[row, j]]
            ]
            is_null = math.isnan(at[rank])
            apart = float(bool(known) == is_null) if is_null or not known else abs(at[rank] - sum(known) / len(known))
        total += grain(weight * apart)
    return total


def oka(problem: Problem, k: int, rng: np.random.Generator) -> list[Members]:
    """Lin and Wei: the clustering stage and the adjustment stage."""
    rows = all_rows(problem)
    seeds = sorted(rng.choice(len(rows), len(rows) // k, replace=False).tolist())
    clusters = [[rows[seed]] for seed in seeds]

    def nearest(t: int, among: list[list[int]]) -> list[int]:
        return min(among, key=lambda cluster: centre_distance(problem, t, cluster))

    for row, t in enumerate(rows):
        if row not in seeds:
            nearest(t, clusters).append(t)
    moved = []
    for i, cluster in enumerate(clusters):
        by_distance = sorted(cluster, key=lambda t: (centre_distance(problem, t, cluster), t))
        clusters[i] = by_distance[:k]
        moved += by_distance[k:]
    for t in rng.permutation(sorted(moved)).tolist():
        short = [cluster for cluster in clusters if len(cluster) < k]
        nearest(t, short or clusters).append(t)
    return as_members(clusters)


def squared(attribute: Attribute, categories: str, one: int, other: int) -> float:
    """Domingo-Ferrer and Torra: the squared distance of two values."""
    if isinstance(attribute, Numbers):
        apart = dist_n(attribute, one, other)
    elif categories == "hierarchy":
        apart = ncp(attribute, min(one, other), max(one, other))
    elif categories == "ordinal":
        apart = abs(one - other) / attribute.leaves
    else:
        apart = float(one != other)
    return apart * apart


def from_average(attribute: Attribute, categories: str, values: list[int], value: int) -> float:
    """The squared distance of a value from the average of some."""
    if isinstance(attribute, Numbers):
        at = [grain(x) if x == x else x for x in unit(attribute)]
        known = [at[v] for v in values if not math.isnan(at[v])]
        if known:
            apart = at[value] - sum(known) / len(known)
            return 1.0 if math.isnan(apart) else apart * apart
        return squared(attribute, categories, values[0], value)
    if categories == "ordinal":
        return squared(attribute, categories, sorted(values)[(len(values) - 1) // 2], value)
    return squared(attribute, categories, mode(values), value)


def mdav(problem: Problem, k: int, categories: str) -> list[Members]:
    """MDAV-generic."""
    ranks = problem.ranks.tolist()
    weights = problem.weights.tolist()
    left, clusters = all_rows(problem), []

    def distance(one: int, other: int) -> float:
        columns = zip(problem.attributes, weights, ranks[one], ranks[other], strict=True)
        return sum(grain(weight * squared(a, categories, v, w)) for a, weight, v, w in columns)

    def outlier() -> int:
        def away(t: int) -> float:
            return sum(
                grain(weight * from_average(a, categories, [ranks[row][j] for row in left], ranks[t][j]))
                for j, (a, weight) in enumerate(zip(problem.attributes, weights, strict=True))
            )

        return max(set(left), key=lambda t: (away(t), -t))

    def form_cluster(centre: int) -> None:
        nonlocal left
        left.remove(centre)
        left.sort(key=lambda t: (distance(centre, t), t))
        clusters.append([centre, *left[: k - 1]])
        left = left[k - 1 :]

    while len(left) >= 3 * k:
        r = outlier()
        form_cluster(r)
        form_cluster(max(left, key=lambda t: (distance(r, t), -t)))
    if len(left) >= 2 * k:
        form_cluster(outlier())
    clusters.append(left)
    return as_members(clusters)
