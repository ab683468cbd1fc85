"""MDAV-generic: k rows around the row farthest from the average, and k around the row farthest from that one.

Domingo-Ferrer, Torra: Ordinal, Continuous and Heterogeneous k-Anonymity through Microaggregation, Data Mining and
Knowledge Discovery 11, 2005: the algorithm MDAV-generic, as it is commonly told; the paper itself was not at hand.
Wang et al. 2022 compare with it and say how nominal categories differ (section 2).

Time O(n E d / k) and memory O(E d) for n rows in E distinct tuples with d attributes. Good at tables of numbers, at
groups of exactly k rows, and where the answer must not depend on a seed.

Decided:
- The distance of two rows is the root of the sum of squared distances over attributes, each from 0 to 1: numbers
  differ by their share of the domain, and NULL from a number by 1. Attributes count by their weights.
- The average of numbers is the mean of those known.
- Categories have the paper's two kinds by choice: `nominal`, any two differ by 1 and the average is the most frequent
  one; `ordinal`, in the order of their ranks, two differ by the share of ranks from one to the other and the average is
  the lower median. The default is not of the paper: by `hierarchy`, two differ by their NCP together and the average is
  the most frequent one. On Adult, that halves the loss.
- Ties go to the lowest tuple, and of frequent values to the lowest rank. The rows of a tuple may belong to several
  groups.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sqlanon.udfs.loops.greedy import HELD, Rows, gathered, tuple_sums
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Attribute, Floats, Groups, Numbers, Problem, Tree, exact
from sqlanon.udfs.space.gauges import Gauge, number_distance

CATEGORIES = ("hierarchy", "ordinal", "nominal")


def cluster(
    problem: Problem, k: int, rng: np.random.Generator, progress: Progress, *, categories: str = "hierarchy"
) -> Groups:
    """MDAV-generic. The seed has no effect."""
    problem.need_rows(k)
    table, parts = Averaged(problem, categories), []
    for _ in table.turns(3 * k, progress):
        outlier = table.outlier()
        ranks = table.ranks[:, outlier]
        parts.append(table.take(outlier, k))
        parts.append(table.take(table.farthest(table.distance(ranks)), k))
    if table.rows.sum() >= 2 * k:
        parts.append(table.take(table.outlier(), k))
    return gathered([*parts, table.rest()])


def gauge(attribute: Attribute, weight: float, categories: str) -> Gauge:
    """The squared distance from a rank to every rank, with those kept that were asked for last."""
    ranks = np.arange(attribute.leaves if isinstance(attribute, Tree) else len(attribute.at))

    @lru_cache(maxsize=max(1, HELD // len(ranks)))
    def squared(rank: int) -> Floats:
        if isinstance(attribute, Numbers):
            apart = number_distance(attribute, rank)
        elif categories == "hierarchy":
            apart = attribute.loss(ranks, ranks[rank])
        elif categories == "ordinal":
            apart = (ranks - rank) / len(ranks)
        else:
            apart = (ranks != rank).astype(np.float64)
        return exact(weight * apart**2)

    return squared


class Averaged(Rows):
    """The rows that have no group yet, and their average."""

    def __init__(self, problem: Problem, categories: str) -> None:
        self.problem, self.categories = problem, categories
        columns = zip(problem.attributes, problem.weights.tolist(), strict=True)
        super().__init__(problem, [gauge(*column, categories) for column in columns])

    def outlier(self) -> int:
        """The place of the tuple farthest from the average."""
        return self.farthest(tuple_sums((self._from_average(j) for j in range(len(self.ranks))), self.ranks))

    def _from_average(self, j: int) -> Floats:
        """The squared distance from the average of an attribute to every rank."""
        attribute, held = self.problem.attributes[j], np.bincount(self.ranks[j], weights=self.rows)
        if isinstance(attribute, Numbers):
            at = exact(attribute.unit)
            known = np.flatnonzero(~np.isnan(at[: len(held)]))
            if held[known].any():
                away = at - held[known] @ at[known] / held[known].sum()
                return exact(self.problem.weights[j] * np.where(np.isnan(away), 1.0, away**2))
        elif self.categories == "ordinal":
            upto = np.cumsum(held)
            return self.gauges[j](int(np.searchsorted(upto, upto[-1] / 2)))
        return self.gauges[j](int(held.argmax()))


METHOD = Method(
    name="mdav",
    paper="Domingo-Ferrer, Torra: Ordinal, Continuous and Heterogeneous k-Anonymity through Microaggregation, 2005",
    cost="O(n E d / k) time, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="numbers; groups of exactly k rows; does not depend on the seed",
    cluster=cluster,
    parameters=(
        Parameter(
            "categories", "hierarchy", "how categories differ: by tree, by order, or all by 1", choices=CATEGORIES
        ),
    ),
)
