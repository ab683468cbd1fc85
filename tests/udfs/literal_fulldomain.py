"""Full-domain generalization with no arrays: every generalization is tried and every row looked at. Slow, obvious."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise, product

import literal
import numpy as np

from sqlanon.udfs.problem import Attribute, Problem, Tree

Box = tuple[int, int, int]
"""What a value is released as: from which rank to which, and the level of the node; 0 for numbers."""


def levels(attribute: Attribute) -> list[list[Box]]:
    """What each rank is released as at every level; a level that parts the ranks as the one below does is none."""
    if isinstance(attribute, Tree):
        nodes = list(zip(attribute.lo.tolist(), attribute.hi.tolist(), attribute.level.tolist(), strict=True))

        def at_or_above(level: int, rank: int) -> Box:
            over = [node for node in nodes if node[0] <= rank <= node[1] and node[2] >= level]
            return min(over, key=lambda node: node[2])

        printed = [[at_or_above(level, r) for r in range(attribute.leaves)] for level in range(attribute.height)]
    else:
        printed = [boxes(names) for names in bins(literal.unit(attribute))]
    spans = [[node[:2] for node in level] for level in printed]
    return [level for number, level in enumerate(printed) if number == 0 or spans[number] != spans[number - 1]]


def bins(unit: list[float]) -> list[list[object]]:
    """The name of the bin of each number: the number itself, halves of halves, any."""
    known = [x for x in unit if not math.isnan(x)]
    gaps = [b - a for a, b in pairwise(known)]
    halvings = [m for m in range(7) if m == 0 or 2**-m >= 2 * np.median(gaps)] if gaps else []
    return [
        list(range(len(unit))),
        *(
            [None if math.isnan(x) else min(math.floor(x * 2**m + 1e-9), 2**m - 1) for x in unit]
            for m in reversed(halvings)
        ),
        ["any"] * len(unit),
    ]


def boxes(names: list[object]) -> list[Box]:
    return [(names.index(name), len(names) - 1 - names[::-1].index(name), 0) for name in names]


def cell_loss(attribute: Attribute, box: Box) -> float:
    """NCP (He et al. 2012) of what is released. The only leaf of a node is not the node."""
    lo, hi, level = box
    if isinstance(attribute, Tree):
        nodes = zip(attribute.lo.tolist(), attribute.hi.tolist(), attribute.level.tolist(), strict=True)
        is_leaf = lo == hi and level == min(other for a, b, other in nodes if (a, b) == (lo, hi))
        return 0.0 if is_leaf else (hi - lo + 1) / attribute.leaves
    unit = literal.unit(attribute)
    return 0.0 if lo == hi else 1.0 if math.isnan(unit[hi]) else unit[hi] - unit[lo]


class Table:
    """A table of single rows, given by their tuples, and its lattice."""

    def __init__(self, problem: Problem, k: int) -> None:
        self.problem, self.k = problem, k
        self.rows = [t for t, count in enumerate(problem.counts.tolist()) for _ in range(count)]
        self.levels = [levels(attribute) for attribute in problem.attributes]
        self.nodes = list(product(*(range(len(printed)) for printed in self.levels)))

    def printed(self, node: tuple[int, ...], row: int) -> tuple[Box, ...]:
        ranks = self.problem.ranks[row].tolist()
        return tuple(printed[v][rank] for printed, v, rank in zip(self.levels, node, ranks, strict=True))

    def classes(self, node: tuple[int, ...]) -> list[list[int]]:
        """The rows that are released alike, in the order of what is released."""
        found = defaultdict(list)
        for row in self.rows:
            found[self.printed(node, row)].append(row)
        return [found[printed] for printed in sorted(found)]

    def is_group(self, rows: list[int]) -> bool:
        return len(rows) >= self.k and self.is_diverse(rows)

    def is_diverse(self, rows: list[int]) -> bool:
        if self.problem.l is None:
            return True
        columns = zip(*(self.problem.sensitive[row].tolist() for row in rows), strict=True)
        return all(max(Counter(values).values()) * self.problem.l <= len(rows) + 1e-9 for values in columns)

    def suppressed(self, node: tuple[int, ...]) -> list[int]:
        """The rows of all classes that may not be released."""
        return [row for rows in self.classes(node) if not self.is_group(rows) for row in rows]

    def is_legal(self, suppressed: list[int], limit: float) -> bool:
        return not suppressed or (len(suppressed) <= limit and self.is_group(suppressed))

    def loss(self, node: tuple[int, ...], suppressed: list[int]) -> float:
        """The loss of a row on average, weighted; a suppressed row loses everything."""
        left, total = Counter(suppressed), 0.0
        columns = list(zip(self.problem.attributes, self.problem.weights.tolist(), strict=True))
        for row in self.rows:
            boxes = self.printed(node, row)
            loss = sum(w * cell_loss(attribute, box) for (attribute, w), box in zip(columns, boxes, strict=True))
            total += sum(w for _, w in columns) if left[row] > 0 else loss
            left[row] -= 1
        return total / len(self.rows)


def incognito(table: Table, share: float) -> tuple[float, list[tuple[int, ...]]]:
    """The least loss of all legal generalizations, and which of them have it."""
    loss = {}
    for node in table.nodes:
        suppressed = table.suppressed(node)
        if table.is_legal(suppressed, share * len(table.rows) + 1e-9):
            loss[node] = table.loss(node, suppressed)
    least = min(loss.values())
    return least, [node for node in loss if loss[node] <= least + 1e-9]


def datafly(table: Table, share: float | None) -> tuple[tuple[int, ...], list[int]]:
    """The generalization and the suppressed rows."""
    limit = table.k if share is None else share * len(table.rows) + 1e-9
    node = [0] * len(table.levels)
    while True:
        classes = table.classes(tuple(node))
        suppressed = table.suppressed(tuple(node))
        if 0 < len(suppressed) < table.k <= limit:
            groups = [rows for rows in classes if table.is_group(rows)]
            largest = max(groups, key=len, default=[])
            more = table.k - len(suppressed)
            if table.is_group(largest[more:]):
                suppressed += largest[:more]
        if table.is_legal(suppressed, limit):
            return tuple(node), sorted(suppressed)
        values = [
            len({printed[v][rank] for rank in ranks})
            for printed, v, ranks in zip(table.levels, node, table.problem.ranks.T.tolist(), strict=True)
        ]
        node[values.index(max(values))] += 1
