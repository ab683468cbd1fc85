"""What would be lost if something else were asked: a quick clustering of the same tuples for each such question.

Ours. Every question is answered by mondrian with the models repaired, the table as it is among them, so that answers
compare with each other and not with what a longer search found. Mondrian cuts a column of many values without levels
(text without a hierarchy) though that keeps nothing of it, at the others' expense: such columns are not cut where the
table as it is then loses less. A table of more than `TUPLES` tuples is thinned to that many, its
rows in proportion.

Time O(d) runs of mondrian for d attributes, each O(E d log E) for E tuples; memory O(E d). Nothing is drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sqlanon.errors import DataError
from sqlanon.udfs.after.suppress import suppress
from sqlanon.udfs.problem import Floats, Groups, Ints, Numbers, Problem, Tree
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import solve_block

TUPLES = 3_000
"""Tuples that are looked at, at most, in a table of up to six attributes; fewer of a wider one."""
SHARES = (0.01, 0.05)
"""The shares of rows that could be suppressed."""
STEPS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
"""The customary k."""
FLAT = 4
"""Columns without levels that are left uncut, at most."""
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
    plain = replace(request, method="mondrian", parameters={"cuts": "relaxed"}, max_suppression=None, refine=False)
    width = len(problem.attributes)
    now, is_cut = _as_it_is(problem, plain)
    found = []
    for j in range(width if width > 1 else 0):
        others = [i for i in range(width) if i != j]
        then = _Run(_restricted(problem, others), plain, is_cut[others])
        found.append(Answer("without", j, None, _mean(now.losses[others], problem.weights[others]), then.total))
    for j in range(width):
        cells = cells_of(problem.attributes[j])
        if cells is not None:
            then = _Run(_coarsened(problem, j, cells), plain, is_cut, j, cells)
            found.append(Answer("coarser", j, None, now.total, then.total))
    for share in SHARES:
        fewer = suppress(problem, now.groups, request.k, share, _quiet)
        found.append(Answer("suppression", None, share, now.total, _total(problem, fewer)))
    lower = max((k for k in STEPS if k < request.k), default=None)
    if lower is not None:
        then = _Run(problem, replace(plain, k=lower), is_cut)
        found.append(Answer("k", None, lower, now.total, then.total))
    return found


def _as_it_is(problem: Problem, plain: Request) -> tuple[_Run, Ints]:
    """The table as it is, and which attributes are cut: all, or all but the flat ones with the most values."""
    attributes = problem.attributes
    trees = {j: a for j, a in enumerate(attributes) if isinstance(a, Tree) and a.height == 2 and a.leaves > 2}
    flat = sorted(trees, key=lambda j: -trees[j].leaves)
    tried = []
    for ignored in range(min(len(flat), FLAT, len(attributes) - 1) + 1):
        is_cut = np.ones(len(attributes), dtype=np.int64)
        is_cut[flat[:ignored]] = 0
        tried.append((_Run(problem, plain, is_cut), is_cut))
    return min(tried, key=lambda each: each[0].total)


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
        self,
        problem: Problem,
        request: Request,
        is_cut: Ints,
        coarse: int | None = None,
        cells: tuple[Ints, Ints] | None = None,
    ) -> None:
        self.groups = _clustered(replace(problem, weights=problem.weights * is_cut), request)
        lo, hi, rows = self.groups.closure(problem)
        if coarse is not None and cells is not None:
            lo[:, coarse], hi[:, coarse] = cells[0][lo[:, coarse]], cells[1][hi[:, coarse]]
        self.losses = losses(problem, lo, hi, rows)
        self.total = _mean(self.losses, problem.weights)


def _clustered(problem: Problem, request: Request) -> Groups:
    """Groups by the request's method, or one group where too few rows are left for two."""
    try:
        return solve_block(request, problem, np.random.default_rng(request.seed), _quiet)
    except DataError:
        tuples = np.arange(len(problem.counts))
        return Groups.collect(tuples, np.zeros_like(tuples), problem.counts)


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


def _quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""
