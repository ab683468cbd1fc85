"""Groups by their nodes on some attributes, for the search: who looks for the group to join need not look at all.

A group stands on the shelf of its nodes on a few trees whose generalization is dear. A row looks at the shelves whose
nodes are all above its own values, the only groups that it can join without a step up in one of these trees, which all
rows of the group would pay for. On Adult that is one group in ten or twenty. It is a rule of thumb: where all of these
are far, a dear step may still be the best there is, and the search does not find it.

Memory O(shelves + groups + tuples).
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from sqlanon.udfs.problem import Ints
from sqlanon.udfs.space.grid import Grid
from sqlanon.udfs.space.machine import inner

DEAR = 3
"""A tree is dear if a step of it, in the k rows of a group, costs this many times what a row loses."""


class Shelves(NamedTuple):
    """Shelves as linked lists of groups, and the shelves of each tuple."""

    count: int
    """How many trees,"""
    attribute: Ints
    """which ones,"""
    base: Ints
    """their first nodes,"""
    apart: Ints
    """and how far the shelves of a tree's nodes are apart."""
    head: Ints
    after: Ints
    before: Ints
    home: Ints
    """Of each tuple: its kind. A kind's shelves are"""
    first: Ints
    shelf: Ints
    """from `first` of it to `first` of the next."""


def shelves_of(grid: Grid, k: int, loss: float, groups: int, room: int) -> Shelves:
    """Empty shelves, no more than these groups, whose rows lose about this much; with room for more groups."""
    trees = [_Tree.of(grid, j) for j in np.flatnonzero(~grid.is_line).tolist()]
    chosen: list[_Tree] = []
    for tree in sorted(trees, key=lambda tree: (-tree.step, tree.attribute)):
        if tree.step * k >= DEAR * loss and tree.count * int(np.prod([one.count for one in chosen])) <= groups:
            chosen.append(tree)
    counts = [tree.count for tree in chosen]
    apart = np.cumprod([1, *counts])[:-1].astype(np.int64)
    ranks = grid.ranks[[tree.attribute for tree in chosen]].T
    kinds, home = np.unique(ranks, axis=0, return_inverse=True) if chosen else (np.zeros((1, 0), np.int64), None)
    own = [
        [
            int(np.dot(nodes, apart))
            for nodes in product(*(tree.above[rank] for tree, rank in zip(chosen, kind, strict=True)))
        ]
        for kind in kinds.tolist()
    ]
    return Shelves(
        len(chosen),
        np.array([tree.attribute for tree in chosen], dtype=np.int64),
        np.array([tree.base for tree in chosen], dtype=np.int64),
        apart,
        np.full(int(np.prod(counts)) if chosen else 1, -1),
        np.full(room, -1),
        np.full(room, -1),
        np.zeros(grid.ranks.shape[1], np.int64) if home is None else home.reshape(-1).astype(np.int64),
        np.cumsum([0, *map(len, own)]),
        np.array([shelf for some in own for shelf in some], dtype=np.int64),
    )


class _Tree(NamedTuple):
    attribute: int
    base: int
    count: int
    step: float
    """What the cheapest step up loses."""
    above: list[list[int]]
    """The nodes above each rank, itself included, counted from the first."""

    @classmethod
    def of(cls, grid: Grid, j: int) -> _Tree:
        edges = [*grid.begin.tolist(), len(grid.leaf)]
        leaves = grid.leaf[edges[j] : edges[j + 1]]
        above = [_above(grid.parent, leaf) for leaf in leaves.tolist()]
        base = above[0][-1]
        steps = [grid.loss[upper] - grid.loss[lower] for path in above for lower, upper in pairwise(path)]
        count = max(max(path) for path in above) - base + 1
        return cls(j, base, count, float(min(steps, default=0.0)), [[node - base for node in path] for path in above])


def _above(parent: Ints, leaf: int) -> list[int]:
    path = [leaf]
    while parent[path[-1]] != path[-1]:
        path.append(int(parent[path[-1]]))
    return path


@inner
def shelf_of(shelves, groups, g):
    """The shelf of a group."""
    place = 0
    for i in range(shelves.count):
        place += (groups.low[g, shelves.attribute[i]] - shelves.base[i]) * shelves.apart[i]
    return place


@inner
def shelve(shelves, groups, g):
    """Put a group onto its shelf."""
    place = shelf_of(shelves, groups, g)
    other = shelves.head[place]
    shelves.after[g], shelves.before[g], shelves.head[place] = other, -1, g
    if other >= 0:
        shelves.before[other] = g


@inner
def unshelve(shelves, groups, g):
    """Take a group from its shelf."""
    after, before = shelves.after[g], shelves.before[g]
    if before >= 0:
        shelves.after[before] = after
    else:
        shelves.head[shelf_of(shelves, groups, g)] = after
    if after >= 0:
        shelves.before[after] = before
