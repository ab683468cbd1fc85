"""What a row loses when its group covers a range of ranks: the measures of Goldberger & Tassa 2010 as look-ups on [lo,
hi].

Goldberger, Tassa: Efficient Anonymizations with Enhanced Utility, Transactions on Data Privacy 2010, sections 3 to 5
and 8.4; NCP is from He et al. 2012, and precision from Wang et al. 2022, as a loss, 1 - precision. Every measure is a
sum over rows and attributes of a rate that depends on the closure of the group, and for PMI on the row's sensitive
value. MI and PMI also have a part that depends on the row's own value only: it is the same in every clustering, so
rates leave it out and `baseline` adds it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlanon.errors import PolicyError
from sqlanon.udfs.problem import Attribute, Floats, Groups, Ints, Numbers, Problem, Tree, exact

COSTS = ("ncp", "lm", "mi", "pmi", "wmi", "suppression")
OBJECTIVES = ("ncp", "lm", "precision", "mi", "pmi")
"""The measures that `peel`, `refine` and `auto` can search by."""
PRIVATE = ("pmi", "wmi")
"""The measures that look at a sensitive column."""


@dataclass(frozen=True)
class Rate:
    """The rates of one attribute, times its weight.

    `seen` holds, for MI and its kin, how many rows have a rank below r and each sensitive value: ranks + 1 × values.
    """

    attribute: Attribute
    weight: float
    cost: str
    mi_weight: float
    seen: Ints

    @property
    def ranks(self) -> int:
        """How many ranks the attribute has."""
        return len(self.seen) - 1

    @property
    def values(self) -> int:
        """How many sensitive values it tells apart: 1 where the measure is blind to them."""
        return int(self.seen.shape[1])

    @property
    def is_linear(self) -> bool:
        """Is the rate the share of the number line that the range covers?"""
        return isinstance(self.attribute, Numbers) and self.cost in ("ncp", "lm", "precision")

    def __call__(self, lo: Ints, hi: Ints) -> Floats:
        """The rate of a row in a group that covers [lo, hi], for each sensitive value in the last dimension.

        Only values with rows in the range have a meaning there. The measures that are blind to them have one column.
        """
        return exact(self.weight * self._rate(lo, hi))

    @cached_property
    def by_node(self) -> Floats:
        """The rate in each node of the tree, for each sensitive value: what ranges are charged by their common node."""
        assert isinstance(self.attribute, Tree)
        return self(self.attribute.lo, self.attribute.hi)

    def _rate(self, lo: Ints, hi: Ints) -> Floats:
        if self.cost == "ncp" or self.is_linear:
            return np.asarray(self.attribute.loss(lo, hi)[..., None])
        if self.cost == "suppression":
            return np.asarray((lo != hi)[..., None], dtype=np.float64)
        if self.cost == "precision" and isinstance(self.attribute, Tree):
            node = self.attribute.common(lo, hi)
            level = np.where(self.attribute.node_loss[node] > 0, self.attribute.level[node], 0)
            return np.asarray((level / max(self.attribute.height - 1, 1))[..., None])
        lo, hi = covered(self.attribute, lo, hi)
        if self.cost == "lm":
            return np.asarray(((hi - lo) / max(self.ranks - 1, 1))[..., None])
        # At least one row each: a range that holds none is never asked for by a group.
        held = np.maximum(self.seen[hi + 1] - self.seen[lo], 1)
        within = np.log2(np.maximum(self.seen[hi + 1].sum(axis=-1) - self.seen[lo].sum(axis=-1), 1))[..., None]
        mi, pmi = within - np.log2(self.seen[-1].sum()), within - np.log2(held)
        share = {"mi": 1.0, "pmi": 0.0}.get(self.cost, self.mi_weight)
        return np.asarray(share * mi + (1 - share) * pmi if share < 1 else np.broadcast_to(mi, held.shape))


def rates(problem: Problem, cost: str, mi_weight: float = 0.5) -> tuple[list[Rate], Ints]:
    """The rates of every attribute, and the sensitive value of each tuple as they see it."""
    value = np.zeros(len(problem.counts), dtype=np.int64)
    if cost in PRIVATE:
        if problem.sensitive is None or problem.sensitive.shape[1] == 0:
            raise PolicyError(f"cost = '{cost}' needs a sensitive column. Name one, or choose another cost.")
        value = problem.sensitive[:, 0]
    columns = zip(problem.attributes, problem.weights.tolist(), problem.ranks.T, strict=True)
    return [
        Rate(attribute, weight, cost, mi_weight, _seen(attribute, ranks, value, problem.counts))
        for attribute, weight, ranks in columns
    ], value


def covered(attribute: Attribute, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The first and last rank that the closure of [lo, hi] covers. Numbers together with NULL cover everything."""
    if isinstance(attribute, Tree):
        node = attribute.common(lo, hi)
        return attribute.lo[node], attribute.hi[node]
    mixed = np.isnan(attribute.at[hi]) & (lo != hi)
    return np.where(mixed, 0, lo), hi


def charges(rates: list[Rate], lo: Ints, hi: Ints, mass: Floats) -> Floats:
    """What the rows of each group are charged: lo and hi are groups × attributes, mass is groups × sensitive values."""
    return np.asarray(sum((rate(lo[:, j], hi[:, j]) * mass).sum(axis=1) for j, rate in enumerate(rates)))


def own(problem: Problem, rates: list[Rate], value: Ints) -> Floats:
    """What a row of each tuple is charged in the original table."""
    charged = np.zeros(len(value))
    for rate, ranks in zip(rates, problem.ranks.T, strict=True):
        charged += rate(ranks, ranks)[np.arange(len(ranks)), value]
    return charged


def baseline(problem: Problem, rates: list[Rate], value: Ints) -> float:
    """What the original table is charged, so that a clustering's charge can be told relative to it."""
    return float((own(problem, rates, value) * problem.counts).sum())


def excess(problem: Problem, groups: Groups, cost: str) -> float:
    """What the rows of groups are charged beyond the original table; those that are suppressed, nothing."""
    measure, value = rates(problem, cost)
    lo, hi, _ = groups.closure(problem)
    values, kept = measure[0].values, groups.group >= 0
    cell = groups.group[kept] * values + value[groups.tuple[kept]]
    mass = np.bincount(cell, weights=groups.rows[kept], minlength=len(lo) * values).astype(np.float64)
    return float(charges(measure, lo, hi, mass.reshape(-1, values)).sum()) - baseline(problem, measure, value)


def losses(problem: Problem, groups: Groups, cost: str) -> Floats:
    """What a row of each tuple loses on average in its groups, none of them suppressed, by a measure that is blind to
    sensitive values."""
    lo, hi, _ = groups.closure(problem)
    loss = charges(rates(problem, cost)[0], lo, hi, np.ones((len(lo), 1)))
    lost = np.bincount(groups.tuple, weights=groups.rows * loss[groups.group], minlength=len(problem.counts))
    return np.asarray(lost / problem.counts)


def _seen(attribute: Attribute, ranks: Ints, value: Ints, counts: Ints) -> Ints:
    size = attribute.leaves if isinstance(attribute, Tree) else len(attribute.at)
    values = int(value.max(initial=0)) + 1
    held = np.bincount(ranks * values + value, weights=counts, minlength=size * values).reshape(size, values)
    return np.concatenate([np.zeros((1, values)), held.cumsum(axis=0)]).astype(np.int64)
