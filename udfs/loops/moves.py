"""Clusters whose rows move one at a time: what they are charged by any of the costs, how they are dealt out and united.

The state of sequential clustering (Goldberger & Tassa 2010); sweep.py has the loops over it. Rows are numbered by
tuple; copies of a tuple can be exchanged for each other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sqlanon.udfs.legality import holds
from sqlanon.udfs.loops.charged import LINE, LOGS, TABLE, TREE, Axes
from sqlanon.udfs.loops.sweep import BLOCK, Rows, State, apart, gather, sweep
from sqlanon.udfs.problem import Floats, Ints, Problem, Tree
from sqlanon.udfs.space.costs import PRIVATE, Rate, baseline, rates

TABLE_CELLS = 2**22
PAUSE = 256
Tell = Callable[..., None]
"""Called with the number of passes made so far, and parts of one."""


class Table:
    """The rows as a core needs them, and what a row is charged in a cluster that covers a range."""

    def __init__(self, problem: Problem, cost: str, mi_weight: float) -> None:
        self.problem = problem
        measure, value = rates(problem, cost, mi_weight)
        self.values = measure[0].values
        self.base = baseline(problem, measure, value)
        self.is_diverse = problem.l is not None and problem.sensitive is not None
        self.axes = _axes(measure, problem.rows)
        self.tuple = np.repeat(np.arange(len(problem.counts)), problem.counts)
        codes = np.zeros((len(value), 0), dtype=np.int64)
        if problem.sensitive is not None and self.is_diverse:
            codes = np.array(problem.sensitive, dtype=np.int64, order="C")
            self.kinds = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
        self.rows = Rows(
            len(self.tuple),
            self.tuple,
            np.array(problem.ranks, dtype=np.int32, order="C"),
            np.array(value, dtype=np.int64),
            codes,
            np.cumsum([0, *(codes.max(axis=0, initial=-1) + 1)]).astype(np.int64),
            float(problem.l or 1.0),
            cost not in PRIVATE or self.values == 1 or (cost == "wmi" and mi_weight == 1),
            _peak(measure, problem.rows),
        )

    def clusters(self, parts: list[Ints]) -> Clusters:
        """The clusters of these rows."""
        place = np.full(len(self.tuple), -1)
        place[np.concatenate(parts)] = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return Clusters(self, place)

    def mates(self, parts: list[Ints]) -> Mates:
        """These clusters, to be united."""
        return Mates(self, parts)

    def loss(self, charge: Floats) -> float:
        """Equation (19): the mean loss of a row and attribute, relative to the original table."""
        return (float(charge.sum()) - self.base) / (self.problem.rows * max(float(self.problem.weights.sum()), 1e-12))

    def split(self, held: Ints, parts: int, rng: np.random.Generator) -> list[Ints]:
        """The rows dealt out at random: Algorithm 3 where l matters, else into parts of almost the same size."""
        if not self.is_diverse:
            return list(np.array_split(rng.permutation(held), parts))
        dealt: list[list[Ints]] = [[] for _ in range(parts)]
        kinds = self.kinds[self.tuple[held]]
        for kind in np.unique(kinds):
            mine = held[kinds == kind]
            each, extra = divmod(len(mine), parts)
            share = np.full(parts, each)
            share[rng.permutation(parts)[:extra]] += 1
            for part, some in zip(dealt, np.split(rng.permutation(mine), share.cumsum()[:-1]), strict=True):
                part.append(some)
        return [whole for part in dealt if len(whole := np.concatenate(part))]

    def diversity(self, held: Ints) -> float:
        """div(C): the rows over those of the most frequent sensitive value, of the least diverse column."""
        return float(len(held) / max(np.bincount(codes).max() for codes in self.rows.codes[self.tuple[held]].T))

    def is_legal(self, held: Ints) -> bool:
        """Is the cluster l-diverse, or is nothing asked?"""
        l = self.problem.l  # noqa: E741
        if l is None or not self.is_diverse:
            return True
        return bool(holds(np.array(len(held) / self.diversity(held)), np.array(len(held)), l))


def _axes(measure: list[Rate], rows: int) -> Axes:
    """What ranges are charged; a rank of an attribute is its `begin` further on in long arrays."""
    sizes = [rate.ranks + 1 for rate in measure]
    begin = np.cumsum([0, *sizes])
    leaf, unit = np.zeros(begin[-1], dtype=np.int64), np.zeros(begin[-1])
    kinds, nodes = [], 0
    trees: list[tuple[Ints, Ints, Ints, Floats]] = []
    for rate, start in zip(measure, begin.tolist(), strict=False):
        attribute = rate.attribute
        if isinstance(attribute, Tree):
            leaf[start : start + rate.ranks] = attribute.leaf + nodes
            trees.append((_parents(attribute) + nodes, attribute.lo, attribute.hi, rate.by_node))
            nodes += len(attribute.lo)
            kinds.append(TREE)
        else:
            is_counted = rate.cost in ("mi", *PRIVATE)
            is_narrow = rate.ranks**2 * rate.values <= TABLE_CELLS
            unit[start : start + rate.ranks] = attribute.unit if is_counted or rate.is_linear else np.nan
            kinds.append(TABLE if is_narrow else LOGS if is_counted else LINE)
    none: Ints = np.zeros(0, dtype=np.int64)
    parts = zip(*trees, strict=True) if trees else [(none,), (none,), (none,), (np.zeros((0, measure[0].values)),)]
    parent, first, last, by_node = (np.concatenate(part) for part in parts)
    seen = np.concatenate([rate.seen for rate in measure])
    tables = [_ranges(rate) if kind == TABLE else by_node[:0] for rate, kind in zip(measure, kinds, strict=True)]
    logs = np.log2(np.maximum(np.arange(rows + 1), 1))
    return Axes(
        kind=np.array(kinds),
        begin=begin[:-1],
        leaf=leaf,
        parent=parent,
        first=first,
        last=last,
        rate=by_node,
        unit=unit,
        seen=seen,
        total=seen.sum(axis=1),
        logs=logs,
        whole=float(logs[-1]),
        table=np.concatenate(tables),
        start=np.cumsum([0, *(len(table) for table in tables)])[:-1],
        side=np.array([rate.ranks for rate in measure]),
        weight=np.array([rate.weight for rate in measure]),
        share=float({"mi": 1.0, "pmi": 0.0}.get(measure[0].cost, measure[0].mi_weight)),
    )


def _ranges(rate: Rate) -> Floats:
    """The rates of all ranges of a number's ranks, one after another."""
    ranks = np.arange(rate.ranks)
    return rate(np.minimum(ranks[:, None], ranks), np.maximum(ranks[:, None], ranks)).reshape(-1, rate.values)


def _parents(tree: Tree) -> Ints:
    """The node above each; above the root is the root."""
    parent = np.zeros(len(tree.lo), dtype=np.int64)
    for upper, lower in zip(tree.path, tree.path[1:], strict=False):
        parent[lower[lower != upper]] = upper[lower != upper]
    return parent


def _peak(measure: list[Rate], rows: int) -> float:
    """The most that a row can be charged, whatever its sign."""
    most = [
        float(np.abs(rate.by_node).max())
        if isinstance(rate.attribute, Tree)
        else abs(rate.weight) * (1.0 if rate.cost in ("ncp", "lm", "suppression") else float(np.log2(rows + 1)))
        for rate in measure
    ]
    return sum(most)


class Clusters:
    """A clustering under way: the cluster of each row, -1 for rows that take no part, and what sweep.py keeps."""

    def __init__(self, table: Table, place: Ints) -> None:
        self.table = table
        mine = np.flatnonzero(place >= 0)
        count, width, total = int(place.max()) + 1, table.rows.ranks.shape[1], len(place)
        codes = int(table.rows.code_begin[-1])

        def zeros(*shape: int) -> Ints:
            return np.zeros(shape, dtype=np.int64)

        self.state = State(
            place=np.ascontiguousarray(place, dtype=np.int64),
            next=zeros(total) - 1,
            previous=zeros(total) - 1,
            head=zeros(count) - 1,
            box=np.zeros((count, width, 3), dtype=np.int32),
            size=zeros(count),
            mass=np.zeros((count, table.values)),
            level=np.zeros((count, table.values)),
            charge=np.zeros(count),
            least=np.zeros((table.values, count)),
            often=zeros(count, codes),
            most=zeros(count, table.rows.codes.shape[1]),
            spare=np.zeros(table.values),
            clock=zeros(1),
            changed=zeros(count),
            recent=zeros(-(-count // BLOCK)),
            left=np.zeros(total),
            left_at=zeros(total) - 1,
            left_node=zeros(width),
            left_box=np.zeros((width, 2), dtype=np.int32),
            answer=np.full(len(table.problem.counts), -np.inf),
            asked=zeros(len(table.problem.counts)),
            asker=zeros(len(table.problem.counts)) - 1,
        )
        gather(table.axes, table.rows, self.state, mine, 0, count)

    def followed(self, parts: list[Ints]) -> Clusters:
        """The clusters of these rows, some of them still the same, which are remembered."""
        made, before = self.table.clusters(parts), self.state
        was = before.place[[part[0] for part in parts]]
        is_same = before.size[was] == made.state.size  # parts of clusters: with all of their rows they are the whole
        number = np.full(len(before.size) + 1, -1)  # a cluster that is gone, and no cluster, have none
        number[was[is_same]] = np.flatnonzero(is_same)
        made.state.clock[:] = before.clock + 1
        made.state.changed[:] = np.where(is_same, before.changed[was], made.state.clock)
        made.state.recent[:] = np.maximum.reduceat(made.state.changed, np.arange(0, len(parts), BLOCK))
        made.state.left[:], made.state.left_at[:] = before.left, before.left_at
        made.state.answer[:], made.state.asked[:] = before.answer, before.asked
        made.state.asker[:] = number[before.asker]
        return made

    @property
    def loss(self) -> float:
        """The loss of the clustering."""
        return self.table.loss(self.state.charge)

    def members(self) -> list[Ints]:
        """The rows of each cluster that has any, in order."""
        order = np.argsort(self.state.place, kind="stable")
        parts = np.split(order, np.searchsorted(self.state.place[order], np.arange(len(self.state.size) + 1)))
        return [part for part in parts[1:] if len(part)]

    def sweep(self, line: Ints, end: Ints, floor: int, passes: int, tell: Tell) -> int:
        """Steps 4 to 13 of Algorithm 2, for the rows in this order: how many moved. See sweep.py."""
        moves = step = 0
        while step < len(line):
            tell(passes + step / len(line))
            moved, step = sweep(
                self.table.axes, self.table.rows, self.state, line, end, floor, step, min(step + PAUSE, len(line))
            )
            moves += moved
        return moves


class Mates:
    """Small clusters, each of which remembers its closest by dist(A, B) of section 6.2.1."""

    def __init__(self, table: Table, members: list[Ints]) -> None:
        self.table, self.members = table, members
        self.state = table.clusters(members).state
        self.is_alive = np.ones(len(members), dtype=bool)
        self.mate = np.zeros(len(members), dtype=np.int64)
        self.nearest = np.full(len(members), np.inf)

    def distances(self, one: int) -> Floats:
        """What uniting a cluster with each other one adds to the charge."""
        added = np.empty(len(self.members))
        apart(self.table.axes, self.table.rows, self.state, one, added)
        added[~self.is_alive] = np.inf
        added[one] = np.inf
        return added

    def look(self, one: int) -> None:
        """Let a cluster find its closest, the first of several."""
        distance = self.distances(one)
        self.mate[one] = distance.argmin()
        self.nearest[one] = distance[self.mate[one]]

    def unite_closest(self, k: int) -> Ints | None:
        """Unite the closest two, the first of several. The union, if it is no longer small, leaves."""
        one = int(self.nearest.argmin())
        other = int(self.mate[one])
        self.unite(one, other)
        is_large = len(self.members[one]) >= k
        stale = np.isin(self.mate, (one, other)) & self.is_alive
        if is_large:
            self._drop(one)
            stale[one] = False
        else:
            distance = self.distances(one)
            nearer = (distance < self.nearest) | ((distance == self.nearest) & (one < self.mate))
            self.mate[nearer], self.nearest[nearer] = one, distance[nearer]
        for each in np.flatnonzero(stale):
            self.look(int(each))
        return self.members[one] if is_large else None

    def unite(self, one: int, other: int) -> Ints:
        """Let a cluster absorb another."""
        moved = self.members[other]
        self.state.place[moved] = one
        gather(self.table.axes, self.table.rows, self.state, moved, one, one + 1)
        self.members[one] = np.concatenate([self.members[one], moved])
        self._drop(other)
        return self.members[one]

    def _drop(self, one: int) -> None:
        self.is_alive[one] = False
        self.nearest[one] = np.inf

    def compacted(self) -> Mates:
        """The clusters that are left, in the same order."""
        left = np.flatnonzero(self.is_alive)
        mates = Mates(self.table, [self.members[one] for one in left])
        number = np.cumsum(self.is_alive) - 1
        mates.mate, mates.nearest = number[self.mate[left]], self.nearest[left]
        return mates
