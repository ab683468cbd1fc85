"""KACA and KACPC as the papers tell them: row by row, with no arrays. Slow, and meant to be obviously right.

They take the decisions that the cores' docstrings name, and round the share of every attribute in a distance to
the same grain, so that sums have no rounding error and ties are ties in both.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from sqlanon.udfs.problem import SUPPRESSED, Attribute, Groups, Problem, Tree

Node = tuple[int, int, int]
"""A node of a tree, or a range of numbers, as lo, hi, level; the level of a range is 0."""


def grain(value: float) -> float:
    return round(value * 2**40) / 2**40


def as_dicts(groups: Groups) -> tuple[list[dict[int, int]], dict[int, int]]:
    """The groups in order and the suppressed rows, each as tuple: rows."""
    found: dict[int, dict[int, int]] = {}
    for t, group, rows in zip(groups.tuple.tolist(), groups.group.tolist(), groups.rows.tolist(), strict=True):
        found.setdefault(group, {})[t] = rows
    suppressed = found.pop(SUPPRESSED, {})
    return [found[group] for group in range(len(found))], suppressed


def closure(problem: Problem, rows: list[int]) -> tuple[Node, ...]:
    """The closest common generalization of some rows (Li et al. 2006, Definition 8), which are given by their
    tuples."""
    values = [problem.ranks[row].tolist() for row in rows]
    ranges = [(min(column), max(column)) for column in zip(*values, strict=True)]
    return tuple(cover(a, lo, hi) for a, (lo, hi) in zip(problem.attributes, ranges, strict=True))


def cover(attribute: Attribute, lo: int, hi: int) -> Node:
    """The narrowest and lowest node over lo and hi; of numbers, the range itself."""
    if not isinstance(attribute, Tree):
        return lo, hi, 0
    nodes = zip(attribute.lo.tolist(), attribute.hi.tolist(), attribute.level.tolist(), strict=True)
    return min((n for n in nodes if n[0] <= lo and hi <= n[1]), key=lambda n: (n[1] - n[0], n[2]))


def unit(attribute: Attribute) -> list[float]:
    """The place of each number between the smallest (0) and the largest (1)."""
    known = [x for x in attribute.at.tolist() if not math.isnan(x)]
    length = max(known) - min(known) if known else 0
    return [x if math.isnan(x) else (x - min(known)) / length if length else 0.0 for x in attribute.at.tolist()]


def whd(height: int, beta: float, p: int, q: int) -> float:
    """Li et al. 2006, Definition 5: the distance from level p up to level q; the root has level 1."""
    weights = {j: 1 / (j - 1) ** beta for j in range(2, height + 1)}
    return sum(weights[j] for j in range(q + 1, p + 1)) / sum(weights.values()) if weights else 0.0


def cell_distortion(attribute: Attribute, weight: float, beta: float, value: Node, general: Node) -> float:
    """What it costs to print `general` for `value`."""
    if isinstance(attribute, Tree):
        below = [attribute.height - node[2] for node in (value, general)]
        p, q = (grain(weight * whd(attribute.height, beta, level, 1)) for level in below)
        return p - q
    return range_distortion(attribute, weight, general) - range_distortion(attribute, weight, value)


def range_distortion(attribute: Attribute, weight: float, node: Node) -> float:
    lo, hi, _ = node
    if lo == hi:
        return 0.0
    if math.isnan(attribute.at[hi]):
        return grain(weight)
    return grain(weight * unit(attribute)[hi]) - grain(weight * unit(attribute)[lo])


def distortion(problem: Problem, beta: float, value: tuple[Node, ...], general: tuple[Node, ...]) -> float:
    """Li et al. 2006, Definition 6: of a tuple."""
    columns = zip(problem.attributes, problem.weights.tolist(), value, general, strict=True)
    return sum(cell_distortion(attribute, weight, beta, v, g) for attribute, weight, v, g in columns)


def table_distortion(problem: Problem, beta: float, groups: Groups) -> float:
    """Li et al. 2006, Definition 7, of a table without suppressed rows."""
    return sum(
        rows * distortion(problem, beta, closure(problem, [t]), closure(problem, list(group)))
        for group in as_dicts(groups)[0]
        for t, rows in group.items()
    )


def class_distance(
    problem: Problem, beta: float, one: tuple[Node, ...], n1: int, other: tuple[Node, ...], n2: int
) -> float:
    """Li et al. 2006, Definition 10."""
    both = tuple(
        cover(attribute, min(a[0], b[0]), max(a[1], b[1]))
        for attribute, a, b in zip(problem.attributes, one, other, strict=True)
    )
    return n1 * distortion(problem, beta, one, both) + n2 * distortion(problem, beta, other, both)


def kaca(
    problem: Problem, k: int, rng: np.random.Generator, beta: float, threshold: float | None
) -> tuple[list[dict[int, int]], dict[int, int]]:
    """Li et al. 2006, Algorithm 1. A class is a list of its rows, each given by its tuple; no class is None."""
    classes: list[list[int] | None] = [[t] * count for t, count in enumerate(problem.counts.tolist())]
    suppressed: dict[int, list[int]] = {}

    def settle(place: int, rows: list[int]) -> None:
        for other, members in enumerate(classes):
            if members is not None and closure(problem, members) == closure(problem, rows):
                classes[other] = members + rows
                return
        classes[place] = rows

    def loop(limit: float | None) -> None:
        while small := [i for i, members in enumerate(classes) if members is not None and len(members) < k]:
            one = small[rng.integers(len(small))]
            mine = classes[one]
            own = closure(problem, mine)
            best, nearest, concerned = math.inf, None, 0
            for i, members in enumerate(classes):
                if members is None or i == one:
                    continue
                counted = len(members) if len(mine) + len(members) < 2 * k else k - len(mine)
                distance = class_distance(problem, beta, own, len(mine), closure(problem, members), counted)
                if distance < best:
                    best, nearest, concerned = distance, i, len(mine) + counted
            classes[one] = None
            if nearest is None or (limit is not None and best > limit * concerned):
                suppressed[one] = mine
                continue
            theirs = classes[nearest]
            classes[nearest] = None
            if len(mine) + len(theirs) < 2 * k:
                settle(nearest, mine + theirs)
                continue
            by_distance = sorted(
                theirs, key=lambda t: (class_distance(problem, beta, own, 1, closure(problem, [t]), 1), t)
            )
            stub = k - len(mine)
            settle(one, mine + by_distance[:stub])
            settle(nearest, by_distance[stub:])

    loop(None if threshold is None else threshold * problem.weights.sum())
    if 0 < sum(map(len, suppressed.values())) < k:
        for place in sorted(suppressed):
            settle(place, suppressed.pop(place))
        loop(None)
    aside = [t for rows in suppressed.values() for t in rows]
    return [dict(Counter(members)) for members in classes if members is not None], dict(Counter(aside))


def dist_c(tree: Tree, one: int, other: int) -> float:
    """Wang et al. 2022, equations (4) and (5), between two leaves."""
    lo, hi, level = cover(tree, min(one, other), max(one, other))
    height, share = level + 1, (hi - lo + 1) / tree.leaves

    def dist(leaf: int) -> float:
        leaf_height = cover(tree, leaf, leaf)[2] + 1
        return (height * (height - leaf_height)) ** (height / tree.height) * share

    return dist(one) * dist(other)


def dist_n(attribute: Attribute, one: int, other: int) -> float:
    """Wang et al. 2022, equation (3)."""
    a, b = unit(attribute)[one], unit(attribute)[other]
    if math.isnan(a) or math.isnan(b):
        return float(one != other)
    return abs(a - b)


def dist_r(problem: Problem, one: list[int], other: list[int]) -> float:
    """Wang et al. 2022, equation (6), between two tuples of ranks."""
    return sum(
        grain(weight * (dist_c if isinstance(attribute, Tree) else dist_n)(attribute, a, b))
        for attribute, weight, a, b in zip(problem.attributes, problem.weights.tolist(), one, other, strict=True)
    )


def kacpc(problem: Problem, k: int) -> list[dict[int, int]]:
    """Wang et al. 2022, Algorithm 1, on rows that are given by their tuples."""
    ranks = problem.ranks.tolist()
    dist = [[dist_r(problem, one, other) for other in ranks] for one in ranks]
    unassigned = [t for t, count in enumerate(problem.counts.tolist()) for _ in range(count)]
    centres: list[int] = []
    clusters: list[list[int]] = []
    while len(unassigned) >= k:
        if not centres:
            modes = [mode([ranks[t][j] for t in unassigned]) for j in range(len(problem.attributes))]
            centre = min(unassigned, key=lambda t: (dist_r(problem, modes, ranks[t]), t))
        else:
            centre = min(unassigned, key=lambda t: (sum(dist[c][t] for c in centres), t))
        unassigned.remove(centre)
        nearest_first = sorted(unassigned, key=lambda t: (dist[centre][t], t))
        centres.append(centre)
        clusters.append([centre, *nearest_first[: k - 1]])
        unassigned = nearest_first[k - 1 :]
    for t in unassigned:
        nearest = min(range(len(centres)), key=lambda i: (dist[centres[i]][t], i))
        clusters[nearest].append(t)
    return [dict(Counter(cluster)) for cluster in clusters]


def mode(values: list[int]) -> int:
    """The most frequent value, and of several the lowest."""
    often = Counter(values)
    return min(often, key=lambda value: (-often[value], value))
