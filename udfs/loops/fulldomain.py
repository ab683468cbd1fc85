"""Full-domain generalization: every attribute goes to one of its levels in all rows (Samarati, TKDE 2001).

Levels are nested, so that a class of k rows at one level has k rows at every higher level. A tree has its own levels; a
leaf near the root stays as it is until the others have come up to it. Numbers have the levels "value", bins of one
width after the other, and "any": the line is cut into two equal halves, four, and so on while a bin is worth two values
(two median distances of neighbors), but no finer than 1/64. NULL has a bin of its own at all levels but "any". Levels
that part the values alike are one, the finest of them. What is released is a class at its level: the node that is
there, also where it has a single leaf, or the first and the last value of a bin, whether or not they occur.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.problem import SUPPRESSED, Attribute, Bools, Box, Floats, Groups, Ints, Numbers, Problem, Tree

BINS = 64
"""Numbers are cut into this many bins at most."""
KEY = 2**62
"""The largest number of classes that are distinguished by one number."""
SPARSE = 8
"""Classes are numbered by sorting where there could be this many times as many as tuples."""
Node = tuple[int, ...]
"""A generalization: the level of each attribute."""
Limit = tuple[int | None, int | None] | None
"""The finest and the coarsest level of a tree that may be released, each if there is one."""
Limits = Sequence[Limit]
"""One for each attribute, or none at all."""


class Lattice:
    """The generalizations of a table, and what each makes of it.

    `levels[j][v]` is the class of each rank of attribute j at level v, numbered in the order of the ranks,
    `losses[j][v]` what it costs to release the class: NCP (He et al. 2012), times the attribute's weight, and
    `heights[j][v]` where the level is in the attribute's tree.
    """

    def __init__(self, problem: Problem, limits: Limits = ()) -> None:
        self.problem = problem
        every = limits or [None] * len(problem.attributes)
        listed = [levels(attribute, limit) for attribute, limit in zip(problem.attributes, every, strict=True)]
        self.levels = [[level.code for level in mine] for mine in listed]
        self.heights = [[level.height for level in mine] for mine in listed]
        self.sizes = [len(mine) for mine in listed]
        self.losses = [
            [weight * level.loss for level in mine] for mine, weight in zip(listed, problem.weights, strict=True)
        ]
        self.ranks = np.ascontiguousarray(problem.ranks.T)

    @property
    def top(self) -> Node:
        """The coarsest generalization."""
        return tuple(size - 1 for size in self.sizes)

    def classes(self, steps: Iterable[tuple[int, int]], ranks: Ints) -> Ints:
        """The class of each tuple (ranks is attributes × tuples), with some attributes at some level each."""
        codes = [(j, self.levels[j][level]) for j, level in steps]
        return numbered([(code[ranks[j]], int(code[-1]) + 1) for j, code in codes])

    def too_small(self, node: Node, k: int) -> Ints:
        """How many rows of each tuple are in a class that may not be released: all or none."""
        of_class = self.classes(enumerate(node), self.ranks)
        may_be = is_group(self.problem, k, np.arange(len(of_class)), self.problem.counts, of_class)
        return np.where(may_be[of_class], 0, self.problem.counts)

    def mean_losses(self) -> Floats:
        """What every generalization costs a row on average if nothing is suppressed, in the shape of the lattice."""
        total: Floats = np.zeros(())
        for losses, ranks in zip(self.losses, self.ranks, strict=True):
            mean = [self.problem.counts @ loss[ranks] / self.problem.rows for loss in losses]
            total = np.add.outer(total, mean)
        return total

    def mean_loss(self, node: Node, suppressed: Ints) -> float:
        """What a generalization costs a row on average, with this many rows of each tuple suppressed."""
        loss = sum(self.losses[j][level][self.ranks[j]] for j, level in enumerate(node))
        lost = (self.problem.counts - suppressed) @ loss + suppressed.sum() * self.problem.weights.sum()
        return float(lost) / self.problem.rows

    def released(self, node: Node, suppressed: Ints, report: dict[str, Any]) -> Groups:
        """The classes of a generalization as groups, with this many rows of each tuple suppressed."""
        rows = self.problem.counts - suppressed
        kept, gone = np.flatnonzero(rows), np.flatnonzero(suppressed)
        group = self.classes(enumerate(node), self.ranks[:, kept])
        one = kept[np.unique(group, return_index=True)[1]]
        boxes = [_box(self.levels[j][level], self.ranks[j, one]) for j, level in enumerate(node)]
        lo, hi = (np.stack(ends, axis=1) for ends in zip(*boxes, strict=True))
        return Groups.collect(
            np.concatenate([kept, gone]),
            np.concatenate([group, np.full(len(gone), SUPPRESSED)]),
            np.concatenate([rows[kept], suppressed[gone]]),
            {"levels": list(node), "highest": list(self.top), **report},
            (lo, hi),
            tuple(heights[level] for heights, level in zip(self.heights, node, strict=True)),
        )


@dataclass(frozen=True)
class Level:
    """The class of each rank, numbered in the order of the ranks, what releasing it loses, and the height of its nodes:
    the level of the tree, 0 for numbers."""

    code: Ints
    loss: Floats
    height: int


def levels(attribute: Attribute, limit: Limit = None) -> list[Level]:
    """All levels within the limit, from the finest to a single class. What is released of a tree is the node that is
    there, if it is one leaf by another name, too: the column reads alike in all rows."""
    if isinstance(attribute, Tree):
        finest, coarsest = limit or (None, None)
        steps = list(enumerate(attribute.path[::-1]))[finest or 0 : None if coarsest is None else coarsest + 1]
        every = [Level(_numbered(attribute.lo[step]), attribute.node_loss[step], height) for height, step in steps]
    else:
        codes = [_numbered(code) for code in _bins(attribute)]
        every = [Level(code, attribute.loss(*_box(code, np.arange(len(code)))), 0) for code in codes]
    return every[:1] + [level for finer, level in pairwise(every) if not np.array_equal(finer.code, level.code)]


def _numbered(code: Ints) -> Ints:
    return np.asarray(np.unique(code, return_inverse=True)[1])


def _bins(numbers: Numbers) -> list[Ints]:
    unit = numbers.unit
    known = unit[~np.isnan(unit)]
    codes = [np.arange(len(unit))]
    if len(known) > 1:
        bins = BINS
        while bins > 1 and 2 * np.median(np.diff(known)) * bins > 1:
            bins //= 2
        # A little off, so that rounding takes no value out of the bin that starts with it; NULL comes after all bins.
        place = np.where(np.isnan(unit), bins, np.minimum(unit * bins + 1e-9, bins - 1)).astype(np.int64)
        codes += [place >> step for step in range(bins.bit_length())]
    return [*codes, np.zeros(len(unit), dtype=np.int64)]


def _box(code: Ints, ranks: Ints) -> Box:
    """The first and the last rank of the class that each of some ranks is in."""
    return np.searchsorted(code, code[ranks]), np.searchsorted(code, code[ranks], side="right") - 1


def numbered(columns: list[tuple[Ints, int]]) -> Ints:
    """The class of each tuple, 0, 1, 2, ... in the order of the columns, which come with their number of values."""
    key, size = np.zeros(len(columns[0][0]), dtype=np.int64), 1
    for codes, values in columns:
        if size > KEY // values:
            key, size = np.unique(key, return_inverse=True)[1], len(key)
        key = key * values + codes
        size *= values
    if size > SPARSE * len(key):
        return np.asarray(np.unique(key, return_inverse=True)[1])
    is_there = np.zeros(size, dtype=bool)
    is_there[key] = True
    return np.asarray((np.cumsum(is_there) - 1)[key])


def is_group(problem: Problem, k: int, tuples: Ints, rows: Ints, of_class: Ints) -> Bools:
    """May each class be released: has it k rows, and do they keep all models?"""
    may_be = np.bincount(of_class, weights=rows) >= k
    if problem.models:
        there = np.flatnonzero((rows > 0) & may_be[of_class])
        legal = legality.are_legal(problem, tuples[there], of_class[there], rows[there])
        may_be[: len(legal)] &= legal
    return np.asarray(may_be)


def suppressible(problem: Problem, k: int, share: float) -> int:
    """How many rows may be suppressed: a share of all, but fewer than k could not hide among themselves."""
    rows = math.floor(share * problem.rows + 1e-9)
    return rows if rows >= k else 0


def is_suppressible(problem: Problem, k: int, limit: int, suppressed: Ints) -> bool:
    """May this many rows of each tuple be suppressed: are they none, or a group of no more than the limit?"""
    gone = np.flatnonzero(suppressed)
    if not gone.size:
        return True
    together = np.zeros(len(gone), dtype=np.int64)
    return bool(suppressed.sum() <= limit and is_group(problem, k, gone, suppressed[gone], together)[0])
