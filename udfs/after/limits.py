"""Limits per attribute: how fine and how coarse its released nodes may be, for any method.

Ours. The finest level is taken before the method sees the table: every rank becomes the first rank of its node there.
The coarsest level cuts the table into cells, a node of each attribute, and the method runs in each cell by itself, so
that no group can be coarser. A cell of fewer than k rows, or that breaks a model as a whole, is suppressed. With all
levels fixed a cell is a class: the same transformation for whatever table has the hierarchies. A full-domain method
runs once, on all rows that are left, and chooses among the levels within the limits: one for all rows.

Time that of the method over all cells; memory O(E d) for E tuples with d attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sqlanon.errors import DataError, option, option_name
from sqlanon.udfs import legality
from sqlanon.udfs.after.suppress import allowed
from sqlanon.udfs.problem import SUPPRESSED, Groups, Ints, Problem, Tree
from sqlanon.udfs.request import Request

Solve = Callable[[Request, Problem], Groups]


def limited(request: Request, problem: Problem, solve: Solve) -> Groups:
    """The groups that `solve` finds within the limits, or an error that says which limit is in the way."""
    problem.need_rows(request.k)
    legality.check_legal(problem)
    ends = [_ends(request, problem, j) for j in range(len(problem.attributes))]
    first = np.column_stack([lo[rank] for (lo, _, _), rank in zip(ends, problem.ranks.T, strict=True)])
    cells = np.column_stack([cell[rank] for (_, _, cell), rank in zip(ends, problem.ranks.T, strict=True)])
    cell = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    gone = _illegal(problem, cell, request.k)
    _refuse_too_many(request, problem, cells, gone)
    coarse = replace(request, limits=(), max_suppression=0.0, run=None)
    if request.core.is_full_domain:
        coarse = replace(coarse, parameters={**request.parameters, "limits": request.limits})
        cell = np.asarray(gone, dtype=np.int64)
    tuples, groups, rows, boxes = [], [], [], []
    count, report, levels = 0, {}, None
    order = np.argsort(cell, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
        if gone[mine[0]]:
            tuples.append(mine)
            groups.append(np.full(len(mine), SUPPRESSED))
            rows.append(problem.counts[mine])
            continue
        found = _cell(coarse, _part(problem, mine, first), solve)
        tuples.append(mine[found.tuple])
        groups.append(np.where(found.group >= 0, found.group + count, found.group))
        rows.append(found.rows)
        lo, hi, _ = found.closure(_part(problem, mine, first))
        boxes.append((lo, hi))
        count += len(lo)
        if request.core.is_full_domain:
            report, levels = found.report, found.levels
    none = np.empty((0, len(ends)), dtype=np.int64)
    lo = np.concatenate([none, *(box[0] for box in boxes)])
    hi = np.concatenate([none, *(box[1] for box in boxes)])
    for j, (first_of, last_of, _) in enumerate(ends):
        lo[:, j], hi[:, j] = first_of[lo[:, j]], last_of[hi[:, j]]
    every, group, copies = (np.concatenate(part) for part in (tuples, groups, rows))
    return Groups.collect(every, group, copies, report, (lo, hi), levels)


def _ends(request: Request, problem: Problem, j: int) -> tuple[Ints, Ints, Ints]:
    """For each rank the ends of its node at the finest level, and its node at the coarsest; as they are without."""
    attribute, limit = problem.attributes[j], request.limits[j]
    if not isinstance(attribute, Tree):
        ranks = np.arange(len(attribute.at))
        return ranks, ranks, np.zeros_like(ranks)
    top = attribute.height - 1
    finest, coarsest = limit if limit is not None else (None, None)
    for level in (finest, coarsest):
        if level is not None and not 0 <= level <= top:
            raise DataError(f"limits: '{request.names[j]}' has levels 0 to {top}, and {level} is not one of them")
    node = attribute.path[top - (finest or 0)]
    cell = attribute.path[top - (top if coarsest is None else coarsest)]
    return attribute.lo[node], attribute.hi[node], cell


def _part(problem: Problem, mine: Ints, first: Ints) -> Problem:
    sensitive = None if problem.sensitive is None else problem.sensitive[mine].copy()
    return replace(problem, ranks=first[mine].copy(), counts=problem.counts[mine].copy(), sensitive=sensitive)


def _cell(request: Request, part: Problem, solve: Solve) -> Groups:
    """The groups of a cell: one where its tuples are alike or too few for two."""
    codes = part.sensitive
    seen = part.ranks if codes is None else np.column_stack([part.ranks, codes])
    kinds, place = np.unique(seen, axis=0, return_inverse=True)
    place = place.reshape(-1)
    is_one = len(np.unique(part.ranks, axis=0)) == 1
    if is_one or part.rows < 2 * request.k:
        tuples = np.arange(len(part.counts))
        return Groups.collect(tuples, np.zeros_like(tuples), part.counts)
    counts = np.bincount(place, weights=part.counts).astype(np.int64)
    width = part.ranks.shape[1]
    merged = replace(
        part,
        ranks=np.ascontiguousarray(kinds[:, :width]),
        counts=counts,
        sensitive=None if codes is None else np.ascontiguousarray(kinds[:, width:]),
    )
    found = solve(request, merged)
    return _dealt(found, place, part.counts)


def _dealt(groups: Groups, place: Ints, counts: Ints) -> Groups:
    """Groups of merged tuples as groups of the tuples that they were merged from, in their order."""
    order = np.argsort(place, kind="stable")
    of_row = np.repeat(order, counts[order])
    by_tuple = np.lexsort((groups.group, groups.tuple))
    group = np.repeat(groups.group[by_tuple], groups.rows[by_tuple])
    return Groups.collect(of_row, group, np.ones_like(of_row), groups.report, groups.box, groups.levels)


def _illegal(problem: Problem, cell: Ints, k: int) -> Ints:
    """Which tuples are in a cell that cannot be released."""
    rows = np.bincount(cell, weights=problem.counts)
    is_gone = rows < k
    if problem.models:
        tuples = np.arange(len(cell))
        is_gone |= ~legality.are_legal(problem, tuples, cell, problem.counts)
    return np.asarray(is_gone[cell])


def _refuse_too_many(request: Request, problem: Problem, cells: Ints, gone: Ints) -> None:
    """Raise if more rows must go than may go, and name the limit that is most in the way."""
    rows, share = int(problem.counts[gone].sum()), request.max_suppression or 0.0
    if rows <= allowed(problem, share):
        return
    left = []
    for j in range(cells.shape[1]):
        others = np.delete(cells, j, axis=1)
        cell = (
            np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
            if others.shape[1]
            else np.zeros_like(gone, int)
        )
        left.append(int(problem.counts[_illegal(problem, cell, request.k)].sum()))
    limits = [j for j in range(len(left)) if len(np.unique(cells[:, j])) > 1]
    worst = min(limits, key=lambda j: left[j])
    needed = -(-rows * 1000 // problem.rows) / 1000
    raise DataError(
        f"With these limits {rows:,} of {problem.rows:,} rows ({rows / problem.rows:.1%}) are in classes that are too "
        f"small or break a model, and {option_name('max_suppression')} allows {allowed(problem, share):,}. Most in the "
        f"way is the coarsest level of '{request.names[worst]}': without it {left[worst]:,} rows would be. Allow a "
        f"coarser level, or {option('max_suppression', needed)}."
    )
