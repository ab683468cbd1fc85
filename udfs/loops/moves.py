"""Clusters whose tuples move one at a time: what a move gains by any of the costs, and whether l survives it.

The state of sequential clustering (Goldberger & Tassa 2010).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sqlanon.udfs.legality import holds
from sqlanon.udfs.problem import Bools, Floats, Ints, Problem, Tree
from sqlanon.udfs.space.costs import Rate, baseline, rates

TABLE_CELLS = 2**24
KNOWN_RANGES = 2**20
PAUSE = 256
EPSILON = 1e-12
Members = dict[int, int]
"""How many rows of which tuples belong to a cluster."""
Tell = Callable[..., None]
"""Called with the number of passes made so far, and parts of one."""


class Table:
    """The rows as a core needs them, and what a row is charged in a cluster that covers a range.

    Attributes whose ranges are few are looked up; `wide` ones are computed.
    """

    def __init__(self, problem: Problem, cost: str, mi_weight: float) -> None:
        self.problem = problem
        self.rates, value = rates(problem, cost, mi_weight)
        self.values = self.rates[0].values
        self.value: list[int] = value.tolist()
        self.ranks: list[list[int]] = problem.ranks.tolist()
        self.base = baseline(problem, self.rates, value)
        self.is_rising = cost in ("ncp", "lm", "suppression")
        self.tables = [_range_table(rate) for rate in self.rates]
        self.known: list[dict[tuple[int, int], Any]] = [{} for _ in self.rates]
        self.is_diverse = problem.l is not None and problem.sensitive is not None
        self.codes: list[list[int]] = []
        self.kinds: list[int] = []
        if problem.sensitive is not None and self.is_diverse:
            self.codes = problem.sensitive.tolist()
            kinds = np.unique(problem.sensitive, axis=0, return_inverse=True)[1]
            self.kinds = kinds.reshape(-1).tolist()

    def rate(self, j: int, lo: int, hi: int) -> Any:
        """The rate of a row in [lo, hi] of attribute j: a number, or an array with one for each sensitive value."""
        found = self.known[j].get((lo, hi))
        if found is None:
            table = self.tables[j]
            exact = self.rates[j](np.array(lo), np.array(hi)) if table is None else table[lo, hi]
            if len(self.known[j]) >= KNOWN_RANGES:
                self.known[j].clear()
            found = self.known[j][lo, hi] = float(exact[0]) if self.values == 1 else exact
        return found

    def joint(self, j: int, lo: Ints, hi: Ints) -> Floats:
        """The rates of many ranges of attribute j."""
        table, rate = self.tables[j], self.rates[j]
        if table is None and isinstance(rate.attribute, Tree):
            return rate.by_node[rate.attribute.common(lo, hi)]
        if table is None:
            return rate(lo, hi)
        return np.asarray(table.reshape(-1, self.values).take(lo * table.shape[1] + hi, axis=0))

    def shape(self, members: list[Members]) -> tuple[Ints, Ints, Floats]:
        """lo and hi of each cluster, clusters × attributes, and its rows, clusters × sensitive values."""
        cluster = np.repeat(np.arange(len(members)), [len(held) for held in members])
        tuples = np.fromiter((t for held in members for t in held), dtype=np.int64)
        copies = np.fromiter((rows for held in members for rows in held.values()), dtype=np.int64)
        ranks = self.problem.ranks[tuples]
        lo: Ints = np.full((len(members), ranks.shape[1]), np.iinfo(np.int64).max)
        hi: Ints = np.full((len(members), ranks.shape[1]), -1)
        np.minimum.at(lo, cluster, ranks)
        np.maximum.at(hi, cluster, ranks)
        mass: Floats = np.zeros((len(members), self.values))
        np.add.at(mass, (cluster, np.array(self.value)[tuples]), copies)
        return lo, hi, mass

    def charges(self, lo: Ints, hi: Ints, mass: Floats) -> Floats:
        """|C| gc(C) of each cluster."""
        return np.asarray((self.levels(lo, hi) * mass).sum(axis=1))

    def levels(self, lo: Ints, hi: Ints) -> Floats:
        """What one row of each sensitive value is charged in each cluster, all attributes together."""
        return np.asarray(sum(self.joint(j, lo[:, j], hi[:, j]) for j in range(len(self.rates))))

    def loss(self, members: list[Members]) -> float:
        """Equation (19): the mean loss of a row and attribute, relative to the original table."""
        charge = float(self.charges(*self.shape(members)).sum())
        return (charge - self.base) / (self.problem.rows * max(float(self.problem.weights.sum()), EPSILON))

    def split(self, held: Members, parts: int, rng: np.random.Generator) -> list[Members]:
        """The rows dealt out at random: Algorithm 3 where l matters, else into parts of almost the same size."""
        rows = [t for t, copies in sorted(held.items()) for _ in range(copies)]
        if not self.is_diverse:
            return [_count(part.tolist()) for part in np.array_split(rng.permutation(rows), parts)]
        of_kind: dict[int, list[int]] = {}
        for t in rows:
            of_kind.setdefault(self.kinds[t], []).append(t)
        dealt: list[list[int]] = [[] for _ in range(parts)]
        for _, mine in sorted(of_kind.items()):
            each, extra = divmod(len(mine), parts)
            share = np.full(parts, each)
            share[rng.permutation(parts)[:extra]] += 1
            for t, part in zip(
                rng.permutation(mine).tolist(), np.repeat(np.arange(parts), share).tolist(), strict=True
            ):
                dealt[part].append(t)
        return [_count(part) for part in dealt if part]

    def diversity(self, held: Members) -> float:
        """div(C): the rows over those of the most frequent sensitive value, of the least diverse column."""
        rows = sum(held.values())
        most = 0
        for column in range(len(self.codes[0])):
            often: Counter[int] = Counter()
            for t, copies in held.items():
                often[self.codes[t][column]] += copies
            most = max(most, *often.values())
        return rows / most

    def is_legal(self, held: Members) -> bool:
        """Is the cluster l-diverse, or is nothing asked?"""
        l = self.problem.l  # noqa: E741
        if l is None or not self.is_diverse:
            return True
        rows = sum(held.values())
        return bool(holds(np.array(rows / self.diversity(held)), np.array(rows), l))


def _range_table(rate: Rate) -> Floats | None:
    if rate.ranks**2 * rate.values > TABLE_CELLS:
        return None
    ranks = np.arange(rate.ranks)
    return rate(np.minimum(ranks[:, None], ranks), np.maximum(ranks[:, None], ranks))


def _count(rows: Iterable[int]) -> Members:
    return dict(sorted(Counter(rows).items()))


class Clusters:
    """A clustering under way, and what its clusters would be charged with one row more.

    `joint` has, for each rank of an attribute, the rates of all clusters after a row with that rank has joined them
    (sensitive values × clusters): their sum over the ranks of a row says what it adds to every cluster, and a move
    rewrites the columns of two clusters, where the range has changed. `wide` attributes, which have too many ranks
    for that, are computed when asked for.
    """

    def __init__(self, table: Table, members: list[Members]) -> None:
        self.table, self.members = table, [dict(held) for held in members]
        width, count = len(table.rates), len(members)
        lo, hi, mass = table.shape(members)
        self.lo: list[list[int]] = lo.tolist()
        self.hi: list[list[int]] = hi.tolist()
        self.mass = np.ascontiguousarray(mass.T)
        self.size: list[int] = mass.sum(axis=1).astype(np.int64).tolist()
        self.rows = mass.sum(axis=1) + 1.0
        level = table.levels(lo, hi)
        self.level: list[Any] = level[:, 0].tolist() if table.values == 1 else list(level)
        self.charge = (level * mass).sum(axis=1)
        self.homes: list[Members] = [{} for _ in table.ranks]
        self.held: list[list[dict[int, int]]] = [[{} for _ in range(width)] for _ in members]
        for c, held in enumerate(members):
            for t, copies in held.items():
                self.homes[t][c] = copies
                for often, rank in zip(self.held[c], table.ranks[t], strict=True):
                    often[rank] = often.get(rank, 0) + copies
        self.departures: list[dict[int, float]] = [{} for _ in members]
        self.moves = 0
        self.wide = [
            j
            for j, rate in enumerate(table.rates)
            if table.tables[j] is None or rate.ranks * rate.values * count > TABLE_CELLS
        ]
        self.narrow = [j for j in range(width) if j not in self.wide]
        self.ends = {j: (lo[:, j].copy(), hi[:, j].copy()) for j in self.wide}
        self.joint = {j: self._joint(j, lo[:, j], hi[:, j]) for j in self.narrow}
        self.total = np.empty((table.values, count))
        self._count_codes()

    def _joint(self, j: int, lo: Ints, hi: Ints) -> Floats:
        ranks = np.arange(self.table.rates[j].ranks)[:, None]
        rate = self.table.joint(j, np.minimum(lo, ranks), np.maximum(hi, ranks))
        return np.ascontiguousarray(rate.transpose(0, 2, 1))

    def _count_codes(self) -> None:
        """For each sensitive column the rows of each value, values × clusters, and of the most frequent one."""
        self.often: list[Ints] = []
        if self.table.is_diverse:
            entries = [(c, t, copies) for c, held in enumerate(self.members) for t, copies in held.items()]
            cluster, tuples, copies = (np.array(part) for part in zip(*entries, strict=True))
            for codes in np.array(self.table.codes).T:
                often = np.zeros((int(codes.max()) + 1, len(self.members)), dtype=np.int64)
                np.add.at(often, (codes[tuples], cluster), copies)
                self.often.append(often)
        self.most = [often.max(axis=0) for often in self.often]

    def sweep(self, visits: list[tuple[int, Members]], floor: int, passes: int, tell: Tell) -> None:
        """Steps 4 to 13 of Algorithm 2, for this many copies of a tuple in some clusters at a time.

        A cluster of `floor` rows or fewer keeps them.
        """
        for step, (t, homes) in enumerate(visits):
            if step % PAUSE == 0:
                tell(passes + step / len(visits))
            if any(self.size[c] > floor and self._may_gain(t, c) for c in homes):
                self._visit(t, homes, floor)

    def _may_gain(self, t: int, c: int) -> bool:
        """Is there any hope? Not where leaving saves nothing and joining always costs something."""
        return self.size[c] == 1 or not self.table.is_rising or self.departure(t, c) < -EPSILON

    def _visit(self, t: int, homes: Members, floor: int) -> None:
        arrivals = self.arrivals(t)
        moved: tuple[int, ...] = ()
        for c, copies in sorted(homes.items()):
            for _ in range(copies):
                if self.size[c] <= floor or not self.may_leave(t, c):
                    break
                for each in moved:
                    arrivals[each] = self.arrival(t, each)
                choice = arrivals if not self.often else np.where(self.may_join(t), arrivals, np.inf)
                own, choice[c] = float(choice[c]), np.inf
                h = int(choice.argmin())
                change = float(choice[h])
                choice[c] = own
                moved = ()
                # Where one copy stays, so do the others: they would find the same.
                if change == np.inf or not (self.size[c] == 1 or change + self.departure(t, c) < -EPSILON):
                    break
                self.move(t, c, h)
                moved = (c, h)

    def arrivals(self, t: int) -> Floats:
        """What one row of tuple t would add to the charge of each cluster: a new array."""
        ranks, total = self.table.ranks[t], self.total
        first = True
        for j in self.narrow:
            if first:
                np.copyto(total, self.joint[j][ranks[j]])
                first = False
            else:
                total += self.joint[j][ranks[j]]
        if first:
            total[:] = 0
        for j in self.wide:
            lo, hi = self.ends[j]
            total += self.table.joint(j, np.minimum(lo, ranks[j]), np.maximum(hi, ranks[j])).T
        if self.table.values == 1:
            added = total[0] * self.rows
        else:
            added = np.einsum("vc,vc->c", total, self.mass)
            added += total[self.table.value[t]]
        return np.asarray(added - self.charge)

    def arrival(self, t: int, c: int) -> float:
        """What one row of tuple t would add to the charge of cluster c."""
        if not self.size[c]:
            return np.inf
        ends = zip(self.lo[c], self.hi[c], self.table.ranks[t], strict=True)
        level = sum(self.table.rate(j, min(lo, rank), max(hi, rank)) for j, (lo, hi, rank) in enumerate(ends))
        return self._charge(level, t, c, 1) - float(self.charge[c])

    def departure(self, t: int, c: int) -> float:
        """What one row less of tuple t would change in the charge of its cluster c."""
        known = self.departures[c].get(t)
        if known is not None:
            return known
        level = self.level[c]
        if self.size[c] > 1:
            columns = zip(self.lo[c], self.hi[c], self.held[c], self.table.ranks[t], strict=True)
            for j, (lo, hi, often, rank) in enumerate(columns):
                if often[rank] == 1 and lo != hi and rank in (lo, hi):
                    left = [other for other in often if other != rank]
                    level = level + (self.table.rate(j, min(left), max(left)) - self.table.rate(j, lo, hi))
        change = self._charge(level, t, c, -1) - float(self.charge[c])
        self.departures[c][t] = change
        return change

    def _charge(self, level: Any, t: int, c: int, by: int) -> float:
        """The charge of cluster c at these rates with one row of tuple t more or less."""
        if self.table.values == 1:
            return float(level * (self.size[c] + by))
        return float(level @ self.mass[:, c] + by * level[self.table.value[t]])

    def may_leave(self, t: int, c: int) -> bool:
        """Is the cluster l-diverse without a row of tuple t?"""
        l = self.table.problem.l  # noqa: E741
        if l is None or self.size[c] == 1:
            return True
        left = self.size[c] - 1
        for q, often in enumerate(self.often):
            if not holds(self.most[q][c], np.array(left), l):  # else any row may leave
                column = often[:, c].copy()
                column[self.table.codes[t][q]] -= 1
                if not holds(column.max(), np.array(left), l):
                    return False
        return True

    def may_join(self, t: int) -> Bools:
        """Which clusters are l-diverse with a row of tuple t?"""
        l = self.table.problem.l  # noqa: E741
        assert l is not None
        legal = np.ones(len(self.size), dtype=bool)
        for often, most, code in zip(self.often, self.most, self.table.codes[t], strict=True):
            legal &= holds(np.maximum(most, often[code] + 1), self.rows, l)
        return legal

    def move(self, t: int, c: int, h: int) -> None:
        """Move one row of tuple t from cluster c to cluster h."""
        self.moves += 1
        for place, by in ((c, -1), (h, 1)):
            _add(self.members[place], t, by)
            _add(self.homes[t], place, by)
            self.size[place] += by
            self.rows[place] += by
            self.mass[self.table.value[t], place] += by
            self.departures[place] = {}
            for often, most, code in zip(self.often, self.most, self.table.codes[t] if self.often else (), strict=True):
                often[code, place] += by
                most[place] = often[:, place].max()
            for j, (often_j, rank) in enumerate(zip(self.held[place], self.table.ranks[t], strict=True)):
                lo, hi = self.lo[place][j], self.hi[place][j]
                _add(often_j, rank, by)
                if by > 0 and (rank < lo or rank > hi):
                    self._cover(place, j, min(lo, rank), max(hi, rank))
                elif rank not in often_j and often_j and rank in (lo, hi):
                    self._cover(place, j, min(often_j), max(often_j))
            if self.size[place]:
                level = self.level[place]
                self.charge[place] = level * self.size[place] if self.table.values == 1 else level @ self.mass[:, place]
            else:
                self.charge[place] = -np.inf  # no row ever joins it

    def _cover(self, c: int, j: int, lo: int, hi: int) -> None:
        """Let cluster c cover [lo, hi] of attribute j."""
        before = self.table.rate(j, self.lo[c][j], self.hi[c][j])
        self.level[c] = self.level[c] + (self.table.rate(j, lo, hi) - before)
        self.lo[c][j], self.hi[c][j] = lo, hi
        if j in self.joint:
            table = self.table.tables[j]
            assert table is not None
            # The rates of [min(lo, rank), max(hi, rank)] for every rank; the table is symmetric.
            column = self.joint[j][:, :, c]
            column[:lo], column[lo : hi + 1], column[hi + 1 :] = table[hi, :lo], table[lo, hi], table[lo, hi + 1 :]
        else:
            self.ends[j][0][c], self.ends[j][1][c] = lo, hi


def _add(counts: dict[int, int], key: int, by: int) -> None:
    left = counts.get(key, 0) + by
    if left:
        counts[key] = left
    else:
        del counts[key]


class Mates:
    """Small clusters, each of which remembers its closest by dist(A, B) of section 6.2.1."""

    def __init__(self, table: Table, members: list[Members]) -> None:
        self.table, self.members = table, members
        self.lo, self.hi, self.mass = table.shape(members)
        self.charge = table.charges(self.lo, self.hi, self.mass)
        self.is_alive = np.ones(len(members), dtype=bool)
        self.mate = np.zeros(len(members), dtype=np.int64)
        self.nearest = np.full(len(members), np.inf)

    def distances(self, one: int) -> Floats:
        """What uniting a cluster with each other one adds to the charge."""
        lo, hi = np.minimum(self.lo, self.lo[one]), np.maximum(self.hi, self.hi[one])
        added = self.table.charges(lo, hi, self.mass + self.mass[one]) - self.charge - self.charge[one]
        added[~self.is_alive] = np.inf
        added[one] = np.inf
        return np.asarray(added)

    def look(self, one: int) -> None:
        """Let a cluster find its closest, the first of several."""
        distance = self.distances(one)
        self.mate[one] = distance.argmin()
        self.nearest[one] = distance[self.mate[one]]

    def unite_closest(self, k: int) -> Members | None:
        """Unite the closest two, the first of several. The union, if it is no longer small, leaves."""
        one = int(self.nearest.argmin())
        other = int(self.mate[one])
        self.unite(one, other)
        is_large = self.mass[one].sum() >= k
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

    def unite(self, one: int, other: int) -> Members:
        """Let a cluster absorb another."""
        self.members[one] = dict(Counter(self.members[one]) + Counter(self.members[other]))
        self.lo[one] = np.minimum(self.lo[one], self.lo[other])
        self.hi[one] = np.maximum(self.hi[one], self.hi[other])
        self.mass[one] += self.mass[other]
        self.charge[one] = self.table.charges(self.lo[[one]], self.hi[[one]], self.mass[[one]])[0]
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
