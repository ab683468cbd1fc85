"""Privacy models: what every class must keep about its sensitive values.

A model says of each class how much of it is reached, from the rows of each value there: the l of the diversities
(Machanavajjhala et al., TKDD 2007; frequency l as in He et al. 2012 and Goldberger & Tassa 2010), the alpha of (alpha,
k)-anonymity (Wong et al., KDD 2006), the t of t-closeness (Li et al., ICDE 2007), the beta of beta-likeness (Cao,
Karras, VLDB 2012) and the delta of delta-disclosure (Brickell, Shmatikov, KDD 2008). O(E log E) time and O(E) memory
for E pairs of a class and a value there, whatever the number of values: those that a class lacks are never listed.

All are monotone: the union of two classes that keep a model keeps it, so that merging classes only ever helps and the
best that any release can reach is that of the whole table. Why, for a class with the shares q of its values:
- the largest share, |q - p| summed up (t), q / p (beta, delta): convex in q, and the q of a union is a mean of theirs;
- entropy: concave in q; distinct values: none is lost;
- recursive: r1 of the union is no more than the sum of both r1, and the l - 1 most frequent values of the union have
  no more rows than those of both, so that the rest has no fewer.

Decided where the papers are silent or differ:
- NULL is a value. t, beta and delta compare with the whole table.
- t: 'equal' is half of Σ|q - p|; 'ordered' the earth mover's distance of values in a row, NULL last; 'hierarchical'
  that of leaves as far apart as their closest common node is high: the mean of 'equal' over all levels below the top.
- Enhanced beta: a value that gains more than -ln p breaks it for every beta; then infinity is reached.
- Delta: a class that lacks a value breaks it for every delta, as the paper says. ARX and pycanon forgive it, but then a
  union may break what its parts keep. The logarithm is natural.
- Recursive is strict, r1 < c (r_l + ... + r_m), the others hold at the bound.
- With several sensitive columns, see `Problem.is_strict`.
- With an entity, k, l and alpha are about people: a value's share is that of the class's people who have it in some row
  there. A person may be in two classes, so that this l is not monotone, but merging ends with the whole table at the
  latest. The other models go on counting rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from sqlanon.udfs.method import Parameter
from sqlanon.udfs.problem import Bools, Floats, Ints, Problem, Tree

Numeric = TypeVar("Numeric", Ints, Floats)
SLACK = 1e-9
DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Cells:
    """The sensitive values of many classes: class after class, each value once and in order, with its rows.

    `first` holds the first cell of each class; none is empty. Where people are counted instead of rows, `people` holds
    how many each class has, which is less than the sum of its cells where somebody has several values.
    """

    value: Ints
    rows: Ints
    first: Ints
    people: Ints | None = None

    @classmethod
    def collect(cls, key: Ints, value: Ints, rows: Ints) -> Cells:
        """Cells from entries whose classes are in order, such as 0, 0, 1; their values are in any order."""
        order = np.lexsort((value, key))
        key, value, rows = key[order], value[order], rows[order]
        starts = np.diff(key, prepend=-1) != 0
        cells = np.flatnonzero(starts | (np.diff(value, prepend=-1) != 0))
        return cls(value[cells], np.add.reduceat(rows, cells), np.flatnonzero(starts[cells]))

    @cached_property
    def length(self) -> Ints:
        """How many values each class has."""
        return np.diff(self.first, append=len(self.value))

    @cached_property
    def size(self) -> Ints:
        """How many rows each class has."""
        return self.sum(self.rows) if self.people is None else self.people

    @cached_property
    def share(self) -> Floats:
        """Each value's share of its class."""
        return self.rows / self.spread(self.size)

    def spread(self, per_class: Ints) -> Ints:
        """What each class has, for each of its cells."""
        return np.repeat(per_class, self.length)

    def sum(self, of_cell: Numeric) -> Numeric:
        """The sum over each class."""
        return np.add.reduceat(of_cell, self.first)

    def most(self, of_cell: Floats) -> Floats:
        """The largest of each class."""
        return np.asarray(np.maximum.reduceat(of_cell, self.first))

    def generalized(self, codes: Ints) -> Cells:
        """The same classes with codes[value] in place of each value."""
        return Cells.collect(self.spread(np.arange(len(self.first))), codes[self.value], self.rows)


@dataclass(frozen=True)
class Check:
    """A check macro: its name, what it answers with, and the parameters that it has after t, quasi and sensitive, with
    their defaults as SQL or None."""

    macro: str
    about: str
    parameters: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model:
    """What is required of one sensitive column: `expected` holds the share of each value in the whole table."""

    asked: float
    column: int
    shown: str
    expected: Floats = field(repr=False)

    option: ClassVar[Parameter]
    is_floor: ClassVar[bool] = True
    """Must at least as much be reached as is required? Otherwise at most."""
    counts_people: ClassVar[bool] = False
    """Where there is an entity, does it count people instead of rows?"""
    is_relative: ClassVar[bool] = False
    """Does it compare a class with the whole table, so that rows elsewhere matter?"""
    check: ClassVar[Check]
    """The macro that measures it in any table."""
    sentence: ClassVar[str]
    """What it asks of a {column}, for people; {value} is what was required."""

    @property
    def name(self) -> str:
        """The option that asks for it."""
        return self.option.name

    def reached(self, cells: Cells) -> Floats:
        """What each class reaches: it keeps the model for this and all that is easier."""
        raise NotImplementedError

    def margin(self, cells: Cells) -> Floats:
        """How much better each class is than asked; below 0 it breaks the model."""
        return (self.reached(cells) - self.asked) * (1 if self.is_floor else -1)

    def holds(self, cells: Cells) -> Bools:
        """Does each class keep it?"""
        return np.asarray(self.margin(cells) >= -SLACK)


class FrequencyL(Model):
    """No value holds more than 1/l of a class."""

    option = Parameter("l", None, "no sensitive value may take more than 1/l of a class", low=1)
    check = Check(
        "l_diversity",
        "The largest l for which t is l-diverse: the smallest over classes of 1 / share of the most frequent "
        "sensitive value, as He et al. 2012 and Goldberger & Tassa 2010 define it. NULL for an empty table.",
    )
    sentence = "no value of {column} takes more than 1/{value} of a class (l = {value})"
    counts_people = True

    def reached(self, cells: Cells) -> Floats:
        return 1 / cells.most(cells.share)


class DistinctL(Model):
    """A class has l distinct values."""

    option = Parameter(
        "distinct_l", None, "every class must have at least this many distinct sensitive values", low=1, is_whole=True
    )
    check = Check(
        "distinct_l_diversity",
        "The smallest number of distinct sensitive values in a class; NULL counts as a value. NULL for an empty table.",
    )
    sentence = "every class has at least {value} different values of {column} (distinct l = {value})"

    def reached(self, cells: Cells) -> Floats:
        return cells.length.astype(np.float64)


class EntropyL(Model):
    """The entropy of a class is ln(l) or more."""

    option = Parameter(
        "entropy_l", None, "every class must be at least as diverse as this many equally frequent values", low=1
    )
    check = Check(
        "entropy_l_diversity",
        "The largest l for which t is entropy l-diverse: the smallest over classes of exp(entropy of the "
        "sensitive values). NULL for an empty table.",
    )
    sentence = "the values of {column} are as mixed in every class as {value} equally frequent ones (entropy l)"

    def reached(self, cells: Cells) -> Floats:
        return np.asarray(np.exp(-cells.sum(cells.share * np.log(cells.share))))


@dataclass(frozen=True, eq=False)
class RecursiveL(Model):
    """The most frequent value has fewer rows than c times those that are left without the l - 1 most frequent."""

    c: float = 1.0

    option = Parameter(
        "recursive_l",
        None,
        "recursive (c, l)-diversity: the most frequent value has fewer than recursive_c times the rows of the l-th and "
        "all rarer ones",
        low=1,
        is_whole=True,
    )
    check = Check(
        "recursive_l_diversity",
        "The largest l for which t is recursively (c, l)-diverse; 0 where it is for none. NULL for an empty table.",
        {"c": None},
    )
    sentence = "the most frequent value of {column} does not outweigh the rarer ones (recursive l = {value})"

    def reached(self, cells: Cells) -> Floats:
        ordered = np.lexsort((-cells.rows, cells.spread(np.arange(len(cells.first)))))
        rows = cells.rows[ordered]
        before = np.cumsum(rows) - rows
        rest = cells.spread(cells.size + before[cells.first]) - before
        return cells.sum((cells.spread(rows[cells.first]) < self.c * rest - SLACK).astype(np.float64))


class Alpha(Model):
    """No value holds more than alpha of a class."""

    option = Parameter("alpha", None, "the largest share that a sensitive value may have in a class", high=1)
    check = Check(
        "alpha",
        "The smallest alpha for which t is (alpha, k)-anonymous: the largest share of a sensitive value in a "
        "class. NULL for an empty table.",
    )
    sentence = "no value of {column} has a share above {value:.0%} of a class (alpha)"
    is_floor = False
    counts_people = True

    def reached(self, cells: Cells) -> Floats:
        return cells.most(cells.share)


@dataclass(frozen=True, eq=False)
class Closeness(Model):
    """The shares of a class are within t of the whole table's, values being apart or leaves of a hierarchy."""

    levels: tuple[Ints, ...] = ()
    """The node of each value at every level below the top; one level where all values are as far from each other."""

    option = Parameter("t", None, "how far the sensitive values of a class may be from those of the table", high=1)
    check = Check(
        "t_closeness",
        "The smallest t for which t is t-close: the largest distance of a class's sensitive values to the "
        "whole table's, 'equal', 'ordered' or 'hierarchical' by a stored hierarchy. NULL for an empty table.",
        {"distance": "'equal'", "hierarchy": "null"},
    )
    sentence = "the values of {column} in every class are within {value} of the whole table's (t-closeness)"
    is_relative = True
    is_floor = False

    def reached(self, cells: Cells) -> Floats:
        apart = np.zeros(len(cells.first))
        for codes in self.levels:
            expected = np.bincount(codes, weights=self.expected)
            there = cells.generalized(codes)
            apart += there.sum(np.maximum(there.share - expected[there.value], 0))
        return apart / max(len(self.levels), 1)


class OrderedCloseness(Closeness):
    """The same with values in a row: the area between the cumulative shares of a class and of the table.

    Between two values of a class its cumulative share stays the same while the table's rises, so that the area there is
    two pieces, before and after they meet, of sums that are known for the table.
    """

    def reached(self, cells: Cells) -> Floats:
        values = len(self.expected)
        upto = np.cumsum(self.expected)
        area = np.append(0, np.cumsum(upto))
        held = np.cumsum(cells.rows)
        held = held - cells.spread(held[cells.first] - cells.rows[cells.first])
        share = held / cells.spread(cells.size)
        begin, end = cells.value, np.append(cells.value[1:], values)
        end[cells.first[1:] - 1] = values
        meet = np.clip(np.searchsorted(upto, share), begin, end)
        pieces = share * (2 * meet - begin - end) - 2 * area[meet] + area[begin] + area[end]
        return np.asarray((cells.sum(pieces) + area[begin[cells.first]]) / max(values - 1, 1))


class BasicBeta(Model):
    """No value's share of a class exceeds that of the table by more than beta times the latter."""

    option = Parameter(
        "basic_beta", None, "how much a value's share may grow in a class, relative to its share in the table"
    )
    check = Check(
        "basic_beta_likeness",
        "The smallest beta for which t has basic beta-likeness: the most that a sensitive value's share gains "
        "in a class, relative to its share of the table. NULL for an empty table.",
    )
    sentence = "no value of {column} gains more than {value} times its share of the table (basic beta)"
    is_relative = True
    is_floor = False

    def reached(self, cells: Cells) -> Floats:
        return cells.most(cells.share / self.expected[cells.value]) - 1


class EnhancedBeta(BasicBeta):
    """Nor by more than -ln p times: a frequent value may gain less."""

    option = Parameter("enhanced_beta", None, "the same, but at most -ln of the share in the table")
    check = Check(
        "enhanced_beta_likeness",
        "The smallest beta for which t has enhanced beta-likeness; infinity where no beta will do. NULL for "
        "an empty table.",
    )
    sentence = "no value of {column} gains more than {value} times its share of the table (enhanced beta)"

    def reached(self, cells: Cells) -> Floats:
        expected = self.expected[cells.value]
        excess = cells.most(cells.share / expected - 1 + np.log(expected))
        return np.where(excess > SLACK, np.inf, super().reached(cells))


class Delta(Model):
    """No value's share of a class is more than e^delta times that of the table, or less than e^-delta times."""

    option = Parameter("delta", None, "how far a value's share in a class may be from the table's, as |ln|")
    check = Check(
        "delta_disclosure",
        "The smallest delta for which t has delta-disclosure privacy: the largest |ln| of a share in a class "
        "over that in the table; infinity where a class lacks a value. NULL for an empty table.",
    )
    sentence = "no value of {column} is e^{value} times more or less frequent in a class than in the table (delta)"
    is_relative = True
    is_floor = False

    def reached(self, cells: Cells) -> Floats:
        apart = cells.most(np.abs(np.log(cells.share / self.expected[cells.value])))
        return np.where(cells.length < np.count_nonzero(self.expected), np.inf, apart)


class People(DistinctL):
    """A class has rows of k people: what k asks for where there is an entity."""

    option = Parameter("k", None, "every class must have rows of at least this many people")


MODELS: dict[str, type[Model]] = {
    model.option.name: model
    for model in (FrequencyL, DistinctL, EntropyL, RecursiveL, Alpha, Closeness, BasicBeta, EnhancedBeta, Delta)
}
RELATIVE = tuple(name for name, model in MODELS.items() if model.is_relative)
"""The models that compare a class with the whole table."""


def promise(
    problem: Problem,
    asked: Mapping[str, float | Mapping[str, float]],
    *,
    is_strict: bool = True,
    c: float = 1.0,
    columns: Sequence[str] = (),
    distances: Sequence[str | Tree] = (),
    people: int | None = None,
    shares: Sequence[Floats] | None = None,
) -> Problem:
    """The problem with models for all its sensitive columns, compared with its own rows, or with the `shares` of each
    column's values where the problem is a part of a larger table.

    `asked` maps options to their values, or to the values of the columns that are named, and `c` goes with recursive_l;
    `columns` are shown in errors; `distances` are those of t: 'equal', 'ordered', or the tree whose leaves the codes
    are. If every group must have rows of this many `people`, the last column of codes tells who they are.
    """
    sensitive = problem.sensitive
    assert sensitive is not None
    models: list[Model] = []
    if people is not None:
        entity = sensitive.shape[1] - 1
        problem = replace(problem, entity=entity)
        models.append(People(people, entity, columns[-1] if columns else "entity", np.ones(1)))
    for column, codes in enumerate(sensitive.T):
        if column == problem.entity:
            continue
        distance = distances[column] if distances else "equal"
        size = distance.leaves if isinstance(distance, Tree) else 0 if shares is None else len(shares[column])
        held = np.bincount(codes, weights=problem.counts, minlength=size)
        shown = columns[column] if columns else f"sensitive column {column + 1}"
        for option, given in asked.items():
            value = given.get(shown) if isinstance(given, Mapping) else given
            if value is None:
                continue
            expected = held / held.sum() if shares is None else shares[column]
            plain = (value, column, shown, expected)
            if option == "t" and distance == "ordered":
                models.append(OrderedCloseness(*plain))
            elif option == "t":
                models.append(Closeness(*plain, levels=_levels(distance, len(held))))
            elif option == "recursive_l":
                models.append(RecursiveL(*plain, c=c))
            else:
                models.append(MODELS[option](*plain))
    return replace(problem, models=tuple(models), is_strict=is_strict)


def _levels(distance: str | Tree, values: int) -> tuple[Ints, ...]:
    if isinstance(distance, Tree):
        return tuple(np.unique(nodes, return_inverse=True)[1] for nodes in distance.path[1:])
    return (np.arange(values),)
