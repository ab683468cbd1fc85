"""CB as He et al. 2012 describe it: row by row, with no arrays. Slow, and meant to be obviously right.

It takes the decisions that the core's docstring names, draws the same random numbers, and rounds the share of every
attribute in a loss to the same grain, so that ties are ties in both.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from literal import cover, grain, unit

from sqlanon.udfs.problem import Problem, Tree

Point = tuple[float | None, ...]
"""A value of each attribute: a leaf's rank, or a place on the number line, None for NULL."""

Rows = list[int]
"""Rows, given by their tuples, in quasi-identifier order."""


class Literal:
    """Figures 4 and 5 on one problem."""

    def __init__(self, problem: Problem, k: int) -> None:
        self.problem = problem
        self.share = (problem.weights / (problem.weights.sum() or 1.0)).tolist()
        self.least = max(k, math.ceil((problem.l or 1) - 1e-9))
        self.order = sorted(range(len(problem.counts)), key=lambda t: (*problem.ranks[t].tolist(), t))
        self.place = {t: place for place, t in enumerate(self.order)}
        self.points = {t: self.point(t) for t in self.order}

    def point(self, t: int) -> Point:
        point: list[float | None] = []
        for attribute, share, rank in zip(self.problem.attributes, self.share, self.problem.ranks[t], strict=True):
            if isinstance(attribute, Tree):
                point.append(int(rank))
            else:
                at = unit(attribute)[rank]
                point.append(None if math.isnan(at) else grain(share * at))
        return tuple(point)

    def cell(self, j: int, values: list[float | None]) -> float:
        """The weighted NCP of one attribute of a set of values."""
        attribute, share = self.problem.attributes[j], self.share[j]
        if len(set(values)) == 1:
            return 0.0
        if isinstance(attribute, Tree):
            lo, hi, _ = cover(attribute, min(values), max(values))
            return grain(share * ((hi - lo + 1) / attribute.leaves))
        return grain(share) if None in values else max(values) - min(values)

    def ncp(self, *points: Point) -> float:
        return sum(self.cell(j, list(column)) for j, column in enumerate(zip(*points, strict=True)))

    def loss(self, rows: Rows) -> float:
        """NCP(G), summed over the rows of G."""
        return len(rows) * self.ncp(*(self.points[t] for t in set(rows)))

    def is_diverse(self, rows: Rows) -> bool:
        if self.problem.l is None:
            return True
        columns = zip(*(self.problem.sensitive[t].tolist() for t in rows), strict=True)
        return all(max(Counter(column).values()) * self.problem.l <= len(rows) + 1e-9 for column in columns)

    def cut(self, rows: Rows, one: Point, other: Point) -> tuple[Rows, Rows]:
        """Lines 6 to 8 of Figure 4."""
        delta = {t: self.ncp(one, self.points[t]) - self.ncp(other, self.points[t]) for t in set(rows)}
        first = [t for t in rows if delta[t] < 0]
        for t, copies in Counter(t for t in rows if delta[t] == 0).items():
            if len(first) + copies > len(rows) // 2:
                break
            first += [t] * copies
        taken = Counter(first)
        second = [t for t, copies in Counter(rows).items() for _ in range(copies - taken[t])]
        if (missing := self.least - len(first)) > 0:
            second.sort(key=lambda t: delta[t])
            first, second = first + second[:missing], second[missing:]
        elif (missing := self.least - len(second)) > 0:
            first.sort(key=lambda t: (delta[t], self.place[t]))
            first, second = first[:-missing], first[-missing:] + second
        return sorted(first, key=self.place.get), sorted(second, key=self.place.get)

    def draw(self, rows: Rows, numbers: list[float]) -> tuple[Point, Point]:
        """Two different quasi-identifiers."""
        distinct = list(dict.fromkeys(self.points[t] for t in rows))
        one = distinct.pop(int(numbers[0] * len(distinct)))
        return one, distinct[int(numbers[1] * len(distinct))]

    def centre(self, rows: Rows, kind: str) -> Point:
        columns = [list(column) for column in zip(*(self.points[t] for t in rows), strict=True)]
        return tuple((self.mean if kind == "mean" else self.median)(j, column) for j, column in enumerate(columns))

    def mean(self, j: int, values: list[float | None]) -> float | None:
        if isinstance(self.problem.attributes[j], Tree):
            return math.floor(sum(values) / len(values) + 0.5)
        known = [value for value in values if value is not None]
        return grain(sum(known) / len(known)) if 2 * len(known) >= len(values) else None

    def median(self, j: int, values: list[float | None]) -> float | None:
        copies = Counter(values)

        def summed(value: float | None) -> tuple[float, float]:
            total = sum(rows * self.cell(j, [value, other]) for other, rows in copies.items())
            return total, math.inf if value is None else value

        return min(copies, key=summed)

    def best(
        self, rows: Rows, draws: list[list[float]], tries: int, centre: str | None, halves: str
    ) -> tuple[Rows, Rows] | None:
        """The best l-diverse one of some cuts, or the best one, if that is l-diverse: restarts if there are no centers,
        or else rounds."""
        least, found = math.inf, None
        parts: tuple[Rows, Rows] | None = None
        for i in range(tries):
            if parts is None or centre is None:
                one, other = self.draw(rows, draws[i])
            else:
                one, other = (self.centre(part, centre) for part in parts)
            parts = self.cut(rows, one, other)
            loss = sum(map(self.loss, parts))
            if loss < least and (halves == "printed" or all(map(self.is_diverse, parts))):
                least, found = loss, parts
        return found if found is not None and all(map(self.is_diverse, found)) else None

    def can_split(self, rows: Rows) -> bool:
        return len(rows) >= 2 * self.least and len({tuple(self.problem.ranks[t].tolist()) for t in rows}) > 1

    def deal(self, rows: Rows, dealing: str = "near") -> list[Rows]:
        """Figure 5, corrected."""
        columns = list(zip(*(self.points[t] for t in rows), strict=True))
        by_loss = sorted(range(len(columns)), key=lambda j: (self.cell(j, list(columns[j])), j), reverse=True)
        rows = sorted(rows, key=lambda t: ([self.problem.ranks[t][j] for j in by_loss], self.place[t]))
        sensitive = list(zip(*(self.problem.sensitive[t].tolist() for t in rows), strict=True))
        by_most = sorted(range(len(sensitive)), key=lambda j: -max(Counter(sensitive[j]).values()))
        listed = sorted(rows, key=lambda t: [self.problem.sensitive[t][j] for j in by_most])
        values = [tuple(self.problem.sensitive[t].tolist()) for t in listed]
        g = len(rows) // self.least
        while g > 1:
            turns: dict[tuple[int, ...], list[int]] = {}
            for i, value in enumerate(values):
                turns.setdefault(value, []).append(i % g)
            parts: list[Rows] = [[] for _ in range(g)]
            dealt = [turn for value in turns.values() for turn in (sorted(value) if dealing == "near" else value)]
            for turn, t in zip(dealt, listed, strict=True):
                parts[turn].append(t)
            if all(map(self.is_diverse, parts)):
                return parts
            first = [[self.problem.sensitive[t][by_most[0]] for t in part] for part in parts]
            if all(max(Counter(part).values()) * self.problem.l <= len(part) + 1e-9 for part in first):
                g -= g // 16
            g -= 1
        return [rows]

    def groups(
        self,
        rng: np.random.Generator,
        tries: int,
        reading: str,
        centre: str,
        dealing: str = "near",
        halves: str = "diverse",
    ) -> list[dict[int, int]]:
        """Figure 4, level by level, then Figure 5."""
        level = [[t for t in self.order for _ in range(int(self.problem.counts[t]))]]
        final: list[Rows] = []
        while level:
            final += [rows for rows in level if not self.can_split(rows)]
            level = [rows for rows in level if self.can_split(rows)]
            draws = rng.random((len(level), tries if reading == "restarts" else 1, 2)).tolist()
            below: list[Rows] = []
            for rows, numbers in zip(level, draws, strict=True):
                parts = self.best(rows, numbers, tries, None if reading == "restarts" else centre, halves)
                if parts is None:
                    final.append(rows)
                else:
                    below += parts
            level = below
        if self.problem.l is not None:
            final = [part for rows in final for part in (self.deal(rows, dealing) if self.can_split(rows) else [rows])]
        return [dict(Counter(rows)) for rows in final]
