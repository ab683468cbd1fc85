"""Is a certificate right? Prices and fees in, the worst broken box out, and nothing shared with the search for them.

A plain enumeration of all boxes in numpy, straight from the definition: no pruning, no order, no compiled loop. Time is
the product of the attributes' generalized values (all nodes of a tree, all ranges of a line) times the tuples: it is
for tables of some thousands of tuples with small hierarchies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sqlanon.udfs.problem import Bools, Floats, Ints, Numbers, Problem, Tree


@dataclass(frozen=True)
class Broken:
    """The box that prices break most: lo and hi on every attribute, and by how much a row there is too dear."""

    lo: tuple[int, ...]
    hi: tuple[int, ...]
    excess: float


Region = tuple[Ints, Ints, float]
"""The lowest and highest ranks of a region, and what it charges every group in it."""


def proven(problem: Problem, k: int, prices: Floats, regions: Sequence[Region] = ()) -> float:
    """What all rows lose at least together: their prices, less a fee for each group that a region has rows for."""
    rows = [int(problem.counts[_inside(problem, region)].sum()) for region in regions]
    charged = sum(fee * (count // k) for (_, _, fee), count in zip(regions, rows, strict=True))
    return float(prices @ problem.counts) - charged


def worst(problem: Problem, k: int, prices: Floats, objective: str = "ncp", regions: Sequence[Region] = ()) -> Broken:
    """Of all boxes of k rows or more, the one whose dearest rows, k or more of them, exceed its loss and the fees of
    the regions around it most, by a row of k; also if none does.

    A row that costs more than a suppressed one counts as a box of its own without ends, as does a fee below 0.
    """
    sides = [list(_sides(attribute)) for attribute in problem.attributes]
    masks = [
        [(problem.ranks[:, j] >= lo) & (problem.ranks[:, j] <= hi) for lo, hi in side] for j, side in enumerate(sides)
    ]
    outside = np.array([~_inside(problem, each) for each in regions], dtype=bool).reshape(len(regions), len(prices))
    fees = np.array([fee for _, _, fee in regions])
    found = Broken((), (), max(float(prices.max(initial=0.0) - problem.weights.sum()), -float(fees.min(initial=0.0))))
    for choice in product(*(range(len(side)) for side in sides)):
        inside = np.logical_and.reduce([mask[place] for mask, place in zip(masks, choice, strict=True)])
        if problem.counts[inside].sum() < k:
            continue
        ends = [side[place] for side, place in zip(sides, choice, strict=True)]
        excess = _dearest(prices, problem.counts, inside, k, _loss(problem, ends, objective))
        if excess > found.excess:
            excess -= float(fees @ ~(outside & inside).any(axis=1)) / k
        if excess > found.excess:
            found = Broken(tuple(lo for lo, _ in ends), tuple(hi for _, hi in ends), excess)
    return found


def _inside(problem: Problem, region: Region) -> Bools:
    low, high, _ = region
    return np.asarray(((problem.ranks >= low) & (problem.ranks <= high)).all(axis=1))


def _sides(attribute: Numbers | Tree) -> Iterator[tuple[int, int]]:
    """Every generalized value of an attribute, as a range of ranks."""
    if isinstance(attribute, Tree):
        yield from sorted(set(zip(attribute.lo.tolist(), attribute.hi.tolist(), strict=True)))
    else:
        size = len(attribute.at)
        yield from ((lo, hi) for lo in range(size) for hi in range(lo, size))


def _dearest(prices: Floats, counts: Ints, inside: Bools, k: int, loss: float) -> float:
    """By how much the k dearest rows exceed the loss, and of the next k - 1 those that do; by a row of k."""
    more = np.sort(np.repeat(prices[inside] - loss, np.minimum(counts[inside], 2 * k)))[::-1]
    return float(more[:k].sum() + np.maximum(more[k : 2 * k - 1], 0.0).sum()) / k


def _loss(problem: Problem, ends: list[tuple[int, int]], objective: str) -> float:
    """What a row loses in a box, by the words of the papers: NCP (He et al., 2012), LM (Iyengar, KDD 2002) and
    precision (Sweeney, 2002), with a line's loss the share of it that is covered."""
    total = 0.0
    for attribute, weight, (lo, hi) in zip(problem.attributes, problem.weights.tolist(), ends, strict=True):
        if isinstance(attribute, Numbers):
            low, high = attribute.at[lo], attribute.at[hi]
            if lo != hi:
                total += weight * (1.0 if np.isnan(high) else (high - low) / attribute.span)
            continue
        under = np.flatnonzero((attribute.lo <= lo) & (attribute.hi >= hi))
        width = (attribute.hi - attribute.lo)[under].min() + 1
        level = attribute.level[under].min()
        if width == 1:
            continue
        total += (
            weight
            * {
                "ncp": width / attribute.leaves,
                "lm": (width - 1) / max(attribute.leaves - 1, 1),
                "precision": level / max(attribute.height - 1, 1),
            }[objective]
        )
    return total


def worst_pair(problem: Problem, is_rare: Bools, least: float, most: float, prices: Floats) -> float:
    """By how much prices of a transport problem exceed what they may, at the pair or row where they do so most; also if
    they do not.

    `least` to `most` frequent rows go with a rare one. A rare row that costs w stands for a charge v with
    w = -max(least v, most v); a frequent one may cost (1 + 1 / most) L + v at most, for every rare row and the box of
    both.
    """
    whole = float(problem.weights.sum())
    worst = float(prices.max(initial=0.0)) - whole
    for j in np.flatnonzero(is_rare).tolist():
        w = float(prices[j])
        v = -w / most if w <= 0 else -w / least if least > 0 else np.nan
        for i in np.flatnonzero(~is_rare).tolist():
            both = np.sort(problem.ranks[[i, j]], axis=0)
            may = (1 + 1 / most) * _loss(problem, list(zip(*both.tolist(), strict=True)), "ncp") + v
            worst = max(worst, float(prices[i]) - may) if may == may else np.inf
    return worst
