"""What would be lost if something else were asked: a quick clustering of the same tuples for each such question.

Ours. Every question is answered by peel with the models repaired, the table as it is among them, so that answers
compare with each other and not with what a longer search found. Mondrian, which is quicker, answers for tables of
numbers alone, and where there are more than `PEELED` attributes. It is misled by text without a hierarchy: it cuts that
first, though nothing is kept of it, at the others' expense. A table of more than `TUPLES` tuples is thinned to that
many, its rows in proportion.

Time O(d) runs of the method for d attributes, on at most `TUPLES` tuples; memory O(E d) for E tuples. Nothing is drawn
at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sqlanon.errors import DataError
from sqlanon.udfs.after.suppress import suppress
from sqlanon.udfs.method import quiet
from sqlanon.udfs.problem import Floats, Groups, Ints, Numbers, Problem, Tree
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import solve_block

TUPLES = 3_000
"""Tuples that are looked at, at most, in a table of up to six attributes; fewer of a wider one."""
PEELED = 10
"""Attributes up to which peel is quick enough."""
SHARES = (0.01, 0.05)
"""The shares of rows that could be suppressed."""
STEPS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
"""The customary k."""
CELLS = 20
"""The parts of a number's range that stand for its first level."""


@dataclass(frozen=True)
class Answer:
    """A question, the attribute it is about if it is about one, and the loss as it is and as it would be. Without an
    attribute that loss is the mean of the others, now and then; otherwise it is that of all."""

    question: str
    attribute: int | None
    value: float | None
    now: float
    then: float


def answers(problem: Problem, request: Request) -> list[Answer]:
    """What each attribute costs the others, and what suppression and a smaller k would save."""
    problem = thinned(problem)
    has_tree = any(isinstance(attribute, Tree) for attribute in problem.attributes)
    method, parameters = ("mondrian", {"cuts": "relaxed"})
    if has_tree and len(problem.attributes) <= PEELED:
        method, parameters = "peel", {}
    plain = replace(request, method=method, parameters=parameters, max_suppression=None, refine=False)
    now = _Run(problem, plain)
    found = []
    width = len(problem.attributes)
    for j in range(width if width > 1 else 0):
        others = [i for i in range(width) if i != j]
        then = _Run(_restricted(problem, others), plain)
        found.append(Answer("without", j, None, _mean(now.losses[others], problem.weights[others]), then.total))
    for j in range(width):
        cells = cells_of(problem.attributes[j])
        if cells is not None:
            found.append(
                Answer("coarser", j, None, now.total, _Run(_coarsened(problem, j, cells), plain, j, cells).total)
            )
    for share in SHARES:
        fewer = suppress(problem, now.groups, request.k, share, quiet)
        found.append(Answer("suppression", None, share, now.total, _total(problem, fewer)))
    lower = max((k for k in STEPS if k < request.k), default=None)
    if lower is not None:
        then = _Run(problem, replace(plain, k=lower))
        found.append(Answer("k", None, lower, now.total, then.total))
    return found


def thinned(problem: Problem) -> Problem:
    """The problem with at most TUPLES tuples, evenly taken from all in the order of their ranks."""
    tuples, most = len(problem.counts), TUPLES * 6 // max(6, len(problem.attributes))
    if tuples <= most:
        return problem
    some = np.linspace(0, tuples - 1, most).astype(np.int64)
    sensitive = None if problem.sensitive is None else problem.sensitive[some].copy()
    return replace(problem, ranks=problem.ranks[some].copy(), counts=problem.counts[some].copy(), sensitive=sensitive)


def cells_of(attribute: Numbers | Tree) -> tuple[Ints, Ints] | None:
    """For each rank the ends of what it is at the first level; None where there is no level below the top."""
    if isinstance(attribute, Tree):
        if attribute.height < 3:
            return None
        node = attribute.path[-2]
        return attribute.lo[node], attribute.hi[node]
    unit = attribute.unit
    cell = np.where(np.isnan(unit), CELLS, np.minimum(np.nan_to_num(unit) * CELLS, CELLS - 1).astype(np.int64))
    if len(unit) <= CELLS:
        return None
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    last = np.append(first[1:], len(cell)) - 1
    length = last - first + 1
    return np.repeat(first, length), np.repeat(last, length)


class _Run:
    """A quick clustering, and what each attribute loses in it."""

    def __init__(
        self, problem: Problem, request: Request, coarse: int | None = None, cells: tuple[Ints, Ints] | None = None
    ) -> None:
        rng = np.random.default_rng(request.seed)
        try:
            self.groups = solve_block(request, problem, rng, quiet)
        except DataError:  # too few rows are left, so that all are one group
            tuples = np.arange(len(problem.counts))
            self.groups = Groups.collect(tuples, np.zeros_like(tuples), problem.counts)
        lo, hi, rows = self.groups.closure(problem)
        if coarse is not None and cells is not None:
            lo[:, coarse], hi[:, coarse] = cells[0][lo[:, coarse]], cells[1][hi[:, coarse]]
        self.losses = losses(problem, lo, hi, rows)
        self.total = _mean(self.losses, problem.weights)


def losses(problem: Problem, lo: Ints, hi: Ints, rows: Ints) -> Floats:
    """What each attribute loses in a row on average."""
    each = [attribute.loss(lo[:, j], hi[:, j]) @ rows for j, attribute in enumerate(problem.attributes)]
    return np.asarray(each, dtype=np.float64) / float(max(1, rows.sum()))


def _total(problem: Problem, groups: Groups) -> float:
    """The loss of all, suppressed rows included."""
    lo, hi, rows = groups.closure(problem)
    gone = problem.rows - rows.sum()
    return float((_mean(losses(problem, lo, hi, rows), problem.weights) * rows.sum() + gone) / problem.rows)


def _mean(found: Floats, weights: Floats) -> float:
    return float(found @ weights / weights.sum())


def _restricted(problem: Problem, others: list[int]) -> Problem:
    attributes = tuple(problem.attributes[i] for i in others)
    return _merged(replace(problem, attributes=attributes, weights=problem.weights[others]), problem.ranks[:, others])


def _coarsened(problem: Problem, j: int, cells: tuple[Ints, Ints]) -> Problem:
    ranks = problem.ranks.copy()
    ranks[:, j] = cells[0][ranks[:, j]]
    return _merged(problem, ranks)


def _merged(problem: Problem, ranks: Ints) -> Problem:
    """The problem with other ranks, its tuples distinct again."""
    codes = problem.sensitive
    seen = ranks if codes is None else np.column_stack([ranks, codes])
    distinct, place = np.unique(seen, axis=0, return_inverse=True)
    counts = np.bincount(place.reshape(-1), weights=problem.counts).astype(np.int64)
    width = ranks.shape[1]
    sensitive = None if codes is None else np.ascontiguousarray(distinct[:, width:])
    return replace(problem, ranks=np.ascontiguousarray(distinct[:, :width]), counts=counts, sensitive=sensitive)
