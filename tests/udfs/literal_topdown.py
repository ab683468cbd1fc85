"""Xu et al.'s top-down search tuple by tuple, with no arrays. Slow, and meant to be obviously right.

It takes the decisions that the core's docstring names, draws the same random numbers, and rounds the share of every
attribute in a penalty to the same grain, so that ties are ties in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from literal import cover, grain, unit

from sqlanon.udfs.problem import Problem, Tree

Group = dict[int, int]
"""How many rows of each tuple."""


class Literal:
    def __init__(self, problem: Problem, k: int, assign: str, rounds: int) -> None:
        self.problem, self.k, self.assign, self.rounds = problem, k, assign, rounds
        self.share = (problem.weights / problem.weights.sum()).tolist()

    def penalty(self, tuples: Iterable[int]) -> float:
        """The NCP of a row in a group of these tuples."""
        columns = zip(*(self.problem.ranks[t].tolist() for t in tuples), strict=True)
        return sum(self.cell(j, min(column), max(column)) for j, column in enumerate(columns))

    def cell(self, j: int, lo: int, hi: int) -> float:
        attribute = self.problem.attributes[j]
        if lo == hi:
            return 0.0
        if isinstance(attribute, Tree):
            first, last, _ = cover(attribute, lo, hi)
            return grain(self.share[j] * ((last - first + 1) / attribute.leaves))
        place = unit(attribute)
        return grain(self.share[j] * (1.0 if math.isnan(place[hi]) else place[hi] - place[lo]))

    def groups(self, rng: np.random.Generator) -> list[Group]:
        level = [dict(enumerate(self.problem.counts.tolist()))]
        final: list[Group] = []
        while level:
            can_cut = [sum(part.values()) > self.k and self.penalty(part) > 0 for part in level]
            final += [part for part, can in zip(level, can_cut, strict=True) if not can]
            level = [part for part, can in zip(level, can_cut, strict=True) if can]
            starts = rng.random(len(level)).tolist()
            turns = iter(rng.random(sum(map(len, level))).tolist())
            uncut, below = [], []
            for part, start in zip(level, starts, strict=True):
                halves = self.cut(part, start, {t: next(turns) for t in part})
                if max(sum(half.values()) for half in halves) >= self.k:
                    below += halves
                else:
                    uncut.append(part)
            final += uncut
            level = below
        for place, group in enumerate(final):
            if 0 < sum(group.values()) < self.k:
                self.adjust(final, place)
        return [group for group in final if group]

    def cut(self, part: Group, start: float, turn: dict[int, float]) -> tuple[Group, Group]:
        last, seed = -1, list(part)[int(start * len(part))]
        for _ in range(self.rounds):
            last, seed = seed, max(part, key=lambda t, seed=seed: (self.penalty([seed, t]), -t))
        sides: tuple[list[int], list[int]] = ([last], [seed])
        for t in sorted(set(part) - {last, seed}, key=turn.get):
            union = [self.penalty([*side, t]) for side in sides]
            growth = [both - self.penalty(side) for both, side in zip(union, sides, strict=True)]
            ways = (growth, union) if self.assign == "growth" else (union, growth)
            sides[min((0, 1), key=lambda i, ways=ways: (ways[0][i], ways[1][i], i))].append(t)
        return tuple({t: part[t] for t in sorted(side)} for side in sides)

    def adjust(self, groups: list[Group], place: int) -> None:
        group = groups[place]
        others = [i for i, other in enumerate(groups) if other and i != place]

        def summed(one: Group) -> float:
            return sum(one.values()) * self.penalty(one)

        def union(one: Group, other: Group) -> Group:
            return {t: one.get(t, 0) + other.get(t, 0) for t in {**one, **other}}

        raised, partner = min((summed(union(group, groups[i])) - summed(groups[i]), i) for i in others)
        lacks = self.k - sum(group.values())
        rich = [i for i in others if sum(groups[i].values()) >= self.k + lacks]
        if rich:
            _, donor = min((self.penalty([*group, t]), i) for i in rich for t in groups[i])
            rest, stub = dict(groups[donor]), {}
            for t in sorted(rest, key=lambda t: (self.penalty([*group, t]), t)):
                stub[t] = min(rest[t], lacks - sum(stub.values()))
            stub = {t: rows for t, rows in stub.items() if rows}
            rest = {t: rows - stub.get(t, 0) for t, rows in rest.items() if rows > stub.get(t, 0)}
            if summed(union(group, stub)) + summed(rest) - summed(groups[donor]) < raised:
                groups[place], groups[donor] = union(group, stub), rest
                return
        groups[place], groups[partner] = {}, union(group, groups[partner])
