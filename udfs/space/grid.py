"""The boxes of a table for compiled loops: attributes as trees of nodes and as lines of stretches.

A box takes from each attribute a node of its tree, or a range of its line. For the loops all trees are in one long
table of nodes, each with its parent, and all ranks of all attributes in one long table of leaves or stretches. A line
may be coarse: its values are put together in stretches, and a range of stretches loses what lies between the last
value of its first and the first value of its last one, which is never more than any range of values in them loses.

Memory O(E d) for E tuples with d attributes, and O(nodes) for the trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sqlanon.udfs.problem import Floats, Ints, Numbers, Problem, Tree
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.costs import Rate

Small = npt.NDArray[np.int32]
ADDITIVE = ("ncp", "lm", "precision")
"""The objectives by which a row's loss depends on its box alone, and is that of the range on a line of numbers."""


class Grid(NamedTuple):
    """The tuples of a table with their ranks, attributes × tuples, and what boxes lose."""

    counts: Ints
    ranks: Small
    begin: Ints
    """Where the ranks of an attribute begin in `leaf`, `first` and `last`."""
    is_line: Any
    """Is the attribute a line?"""
    leaf: Ints
    """The node of a rank of a tree,"""
    first: Floats
    """the places of the first"""
    last: Floats
    """and last value of a stretch of a line, times its weight,"""
    whole: Floats
    """and of each attribute, what all of it loses."""
    parent: Ints
    """Of each node: the one above it, itself at the top,"""
    low: Ints
    """its first"""
    high: Ints
    """and last rank,"""
    loss: Floats
    """and what it loses."""
    is_exact: bool
    """Is the last attribute a line without stretches? Loops then look at all its ranges."""


def grid_of(problem: Problem, objective: str = "ncp", stretches: int | None = None) -> Grid:
    """The grid of a table. If lines have stretches, so many, all but one have: the one that differs most, the last.

    Attributes are in the order of what it costs to generalize them by one step, the dearest first: then a loop over
    boxes that is pruned by what is lost so far turns back early.
    """
    rates, _ = costs.rates(problem, objective)
    order, exact = _order(problem, rates)
    parts = [
        _line(problem, rates[j], None if stretches is None or j == exact else stretches)
        if isinstance(rates[j].attribute, Numbers)
        else _tree(rates[j])
        for j in order
    ]
    sizes = np.array([len(part.leaf) for part in parts])
    nodes = np.cumsum([0, *(len(part.parent) for part in parts)])
    ranks = np.stack([part.place[problem.ranks[:, j]] for part, j in zip(parts, order, strict=True)])
    return Grid(
        counts=np.array(problem.counts, dtype=np.int64),
        ranks=np.ascontiguousarray(ranks, dtype=np.int32),
        begin=np.cumsum(sizes) - sizes,
        is_line=np.array([isinstance(rates[j].attribute, Numbers) for j in order]),
        leaf=np.concatenate([part.leaf + first for part, first in zip(parts, nodes[:-1], strict=True)]),
        first=np.concatenate([part.first for part in parts]),
        last=np.concatenate([part.last for part in parts]),
        whole=np.array([rates[j].weight for j in order]),
        parent=np.concatenate([part.parent + first for part, first in zip(parts, nodes[:-1], strict=True)]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        loss=np.concatenate([part.loss for part in parts]),
        is_exact=exact is not None,
    )


class _Part(NamedTuple):
    """One attribute of a grid; `place` is what becomes of its ranks."""

    place: Ints
    leaf: Ints
    first: Floats
    last: Floats
    parent: Ints
    low: Ints
    high: Ints
    loss: Floats


def _order(problem: Problem, rates: list[Rate]) -> tuple[list[int], int | None]:
    """Trees, lines, and the line whose values differ most; and the latter, if there is one."""
    cost = np.zeros(len(rates))
    for j, rate in enumerate(rates):
        ranks = problem.ranks[:, j]
        if isinstance(rate.attribute, Tree):
            above = rate.attribute.path[max(rate.attribute.height - 2, 0), ranks]
            cost[j] = (rate(rate.attribute.lo[above], rate.attribute.hi[above])[:, 0] * problem.counts).sum()
        else:
            unit = rate.attribute.unit[ranks]
            known = ~np.isnan(unit)
            far = np.abs(unit[known] - np.median(unit[known])) if known.any() else np.zeros(0)
            cost[j] = rate.weight * (far * problem.counts[known]).sum()
    cost = np.round(cost / problem.rows, 9)
    trees = [j for j, rate in enumerate(rates) if isinstance(rate.attribute, Tree)]
    lines = [j for j, rate in enumerate(rates) if isinstance(rate.attribute, Numbers)]
    trees.sort(key=lambda j: -cost[j])
    lines.sort(key=lambda j: cost[j])
    return trees + lines, lines[-1] if lines else None


def _tree(rate: Rate) -> _Part:
    """A tree's nodes, those of one range as one, with what the deepest of them loses."""
    tree = rate.attribute
    assert isinstance(tree, Tree)
    # Parents before children: by first rank, the widest first. rate(lo, hi) is that of the deepest node of a range.
    spans = np.unique(np.stack([tree.lo, -tree.hi], axis=1), axis=0)
    lo, hi = spans[:, 0], -spans[:, 1]
    parent, leaf, open_ones = np.zeros(len(lo), dtype=np.int64), np.zeros(tree.leaves, dtype=np.int64), [0]
    for node in range(len(lo)):
        while hi[open_ones[-1]] < hi[node]:
            open_ones.pop()
        parent[node] = open_ones[-1]
        open_ones.append(node)
        leaf[lo[node] : hi[node] + 1] = node  # deeper nodes overwrite
    nothing = np.zeros(tree.leaves)
    return _Part(np.arange(tree.leaves), leaf, nothing, nothing, parent, lo, hi, rate(lo, hi)[:, 0])


def _line(problem: Problem, rate: Rate, stretches: int | None) -> _Part:
    """A line's values, or so many stretches if they are more. NULL lies as far beyond the line as the line is long."""
    assert isinstance(rate.attribute, Numbers)
    unit = rate.attribute.unit
    at = rate.weight * np.where(np.isnan(unit), 2.0, unit)
    if stretches is None or len(at) <= stretches:
        place = np.arange(len(at))
    else:
        place = np.unique(np.where(np.isnan(unit), np.inf, np.floor(unit * stretches)), return_inverse=True)[1]
    begin = np.flatnonzero(np.r_[True, np.diff(place) != 0])
    nothing = np.zeros(0, dtype=np.int64)
    last = at[np.r_[begin[1:], len(at)] - 1]
    return _Part(place, np.zeros(len(begin), dtype=np.int64), at[begin], last, nothing, nothing, nothing, np.zeros(0))
