"""Single, complete and average link as the definitions tell them: row by row, every distance from its definition."""

from __future__ import annotations

from literal import cover, grain, unit, whd

from sqlanon.udfs.problem import Attribute, Problem, Tree

Rows = list[int]
"""A class as the tuples of its rows."""


def apart(attribute: Attribute, distance: str, one: int, other: int) -> float:
    """The distance of two ranks."""
    lo, hi = min(one, other), max(one, other)
    if not isinstance(attribute, Tree):
        at = unit(attribute)
        between = 0.0 if lo == hi else 1.0 if at[hi] != at[hi] else at[hi] - at[lo]
        return between if distance == "ncp" else between**2
    node = cover(attribute, lo, hi)
    if distance == "ncp":
        return (node[1] - node[0] + 1) / attribute.leaves if lo != hi else 0.0
    below = [attribute.height - each[2] for each in (cover(attribute, lo, lo), cover(attribute, hi, hi), node)]
    return sum(whd(attribute.height, 0.0, level, below[2]) for level in below[:2]) / 2


def linkage(problem: Problem, k: int, link: str, distance: str) -> list[Rows]:
    """Unite the two nearest small classes until one is left at most, which joins the nearest of all others."""
    ranks, weights = problem.ranks.tolist(), problem.weights.tolist()
    between = [
        [
            sum(
                grain(weight * apart(attribute, distance, a, b))
                for attribute, weight, a, b in zip(problem.attributes, weights, one, other, strict=True)
            )
            for other in ranks
        ]
        for one in ranks
    ]

    def far(one: Rows, other: Rows) -> float:
        pairs = [between[a][b] for a in one for b in other]
        return {"single": min(pairs), "complete": max(pairs), "average": sum(pairs) / len(pairs)}[link]

    classes = [[t] * count for t, count in enumerate(problem.counts.tolist())]
    small = [rows for rows in classes if len(rows) < k]
    large = [rows for rows in classes if len(rows) >= k]
    while len(small) > 1:
        pairs = [(i, j) for i in range(len(small)) for j in range(i + 1, len(small))]
        i, j = min(pairs, key=lambda pair: (far(small[pair[0]], small[pair[1]]), pair))
        small[i] = small[i] + small.pop(j)
        if len(small[i]) >= k:
            large.append(small.pop(i))
    for rows in small:
        nearest = min(range(len(large)), key=lambda i: (far(rows, large[i]), i))
        large[nearest] = rows + large[nearest]
    return large
