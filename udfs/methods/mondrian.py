"""Mondrian: cut the table along its widest attribute, and the parts again, while both sides keep k rows.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006; see also section 6.2.2 of Goldberger &
Tassa 2010. cuts = 'strict' cuts between values only, so that equal tuples are always in one group; cuts = 'relaxed'
also parts the rows of one value where nothing else helps, so that no group of 2k rows or more loses anything.

Time O(E (d + log E)) for each try of a cut, up to d tries for each level of cuts, and about log2(n / k) levels; memory
O(E d) for n rows in E distinct tuples with d attributes: all parts of a level are cut at once. Good at very large
tables, and where equal tuples should be released alike (strict).

Decided where the paper is silent, or where another reading is clearly better:
- An attribute is as wide as its NCP times its weight; of equals the first is cut. Where it allows no cut, the next
  widest is tried. A part that loses nothing is final.
- Numbers are cut between values. A tree is cut between children of the closest common node, in depth-first order: cut
  after cut its children part, while small ones stay together with their neighbors.
- Of the places that leave k rows on both sides the one nearest to the median is taken, the lower of two. The median
  alone, as printed, would leave parts uncut that have an allowable cut, although the paper cuts while there is one.
- cuts = 'printed' is the relaxed algorithm to the letter: every part of 2k rows or more is halved at the median of its
  widest attribute, equal values being dealt to both sides.
- Relaxed: a part is halved along its widest attribute, in the order of values and then of tuples, only where no cut
  between values is allowed along any. Always halving along the widest, as printed, loses almost four times as much on
  Adult with k = 10: both sides then share the frequent values of all categories.
- NULL is cut off from the numbers first, if both have k rows. Otherwise it comes after the largest.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Floats, Groups, Ints, Problem
from sqlanon.udfs.space.axes import Coordinates, Parts, Table, TreeAxis

NONE = np.iinfo(np.int64).max
"""No place to cut."""


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress, *, cuts: str = "relaxed") -> Groups:
    """Level by level. Nothing is drawn at random."""
    problem.need_rows(k)
    table = Table(problem, k)
    parts, final, done = table.whole(), [], 0
    while parts.count:
        progress(done, problem.rows)
        if cuts == "printed":
            parts, rest = halve(table, parts, k)
        else:
            parts, rest = cut_between_values(table, parts, k)
        if cuts == "relaxed":
            halves, rest = halve(table, rest, k)
            parts = Parts.join([parts, halves])
        final.append(rest)
        done += rest.total
    progress(problem.rows, problem.rows)
    groups = Parts.join(final)
    return Groups.collect(table.tuple[groups.entry], groups.group, groups.rows)


def cut_between_values(table: Table, parts: Parts, k: int) -> tuple[Parts, Parts]:
    """Both sides of every part that can be cut, and the parts that cannot."""
    halves, rest = [], []
    width = widths(table, parts, k)
    while parts.count:
        is_open = width.max(axis=0) > 0
        rest.append(parts.only(~is_open))
        parts, width = parts.only(is_open), width[:, is_open]
        widest = width.argmax(axis=0)
        line = Line(table, parts, widest)
        left = line.best_cut(k)
        halves.append(line.cut(left))
        width[widest, np.arange(parts.count)] = 0
        parts, width = parts.only(left == 0), width[:, left == 0]
    return Parts.join(halves), Parts.join(rest)


def halve(table: Table, parts: Parts, k: int) -> tuple[Parts, Parts]:
    """Both halves of every part that has rows enough and loses something, and the other parts."""
    width = widths(table, parts, k)
    is_open = width.max(axis=0) > 0
    some = parts.only(is_open)
    return Line(table, some, width[:, is_open].argmax(axis=0)).cut(some.size // 2), parts.only(~is_open)


def widths(table: Table, parts: Parts, k: int) -> Floats:
    """What each part loses in each attribute, attributes × parts; nothing if it has rows for one group only."""
    width = np.stack([axis.apart(*bounds(axis.x[parts.entry], parts)) for axis in table.axes])
    return np.where(parts.size < 2 * k, 0.0, width)


def bounds(x: Coordinates, parts: Parts) -> tuple[Coordinates, Coordinates]:
    """The smallest and the largest coordinate of each part."""
    if not parts.count:
        return x, x
    return np.minimum.reduceat(x, parts.first), np.maximum.reduceat(x, parts.first)


class Line:
    """Parts with their entries in the order of one attribute, another for each part."""

    def __init__(self, table: Table, parts: Parts, along: Ints) -> None:
        self.parts = parts
        x, value = np.zeros(len(parts.entry)), np.zeros(len(parts.entry))
        is_null = np.zeros(len(parts.entry), dtype=bool)
        for j in np.unique(along):
            axis, some, inside = table.axes[j], parts.only(along == j), np.repeat(along == j, parts.length)
            x[inside] = at = axis.x[some.entry]
            if isinstance(axis, TreeAxis):
                one, other = (axis.tree.path[:, end] for end in bounds(at, some))
                step = (one == other).sum(axis=0)  # so far below the root the ways to both ends part
                value[inside] = axis.tree.path[np.repeat(step, some.length), at]
            else:
                value[inside], is_null[inside] = at, at > axis.most
        self.order = np.lexsort((x, parts.group))
        self.rows = parts.rows[self.order]
        self.before = np.cumsum(self.rows) - self.rows - np.repeat(parts.before[parts.first], parts.length)
        self.is_new = np.diff(value[self.order], prepend=np.nan) != 0
        self.is_null = is_null[self.order]

    def best_cut(self, k: int) -> Ints:
        """How many rows of each part come before the best cut between two values; 0 where there is none."""
        size = np.repeat(self.parts.size, self.parts.length)
        is_legal = self.is_new & (self.before >= k) & (self.before <= size - k)
        off = np.where(self.is_new & self.is_null, 0, 1 + np.abs(2 * self.before - size))
        key = np.where(is_legal, off * (self.parts.total + 1) + self.before, NONE)
        best = np.minimum.reduceat(key, self.parts.first) if self.parts.count else key
        return np.where(best < NONE, best % (self.parts.total + 1), 0)

    def cut(self, left: Ints) -> Parts:
        """So many rows of each part and its other rows, as two parts; none where it is 0."""
        parts = self.parts
        taken = np.empty_like(parts.rows)
        taken[self.order] = np.clip(np.repeat(left, parts.length) - self.before, 0, self.rows)
        inside = np.repeat(left > 0, parts.length)
        entry, rows, taken, group = parts.entry[inside], parts.rows[inside], taken[inside], 2 * parts.group[inside]
        return Parts.regroup(np.tile(entry, 2), np.append(taken, rows - taken), np.append(group, group + 1))


METHOD = Method(
    name="mondrian",
    paper="LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006",
    cost="O(E d (d + log E) log(n / k)) time, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="very large tables: the fastest; cuts = 'strict' releases equal tuples alike",
    cluster=cluster,
    parameters=(
        Parameter(
            "cuts",
            "relaxed",
            "cut between values only (strict), split rows with the same value if there is no other cut (relaxed), or "
            "always halve the widest column at its median, as the paper prints it (printed)",
            choices=("relaxed", "strict", "printed"),
        ),
    ),
    block_size=None,
)
