"""The run of one request on one problem, whatever the engine: method, blocks, repair, suppression, refining, trimming.

DuckDB's functions, workers of other engines and tests call `solve` alike. It knows no connection and no table.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sqlanon.udfs.after import blocks
from sqlanon.udfs.after.limits import limited
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.after.repair import repair, spread
from sqlanon.udfs.after.suppress import settle, suppress
from sqlanon.udfs.after.trim import trim
from sqlanon.udfs.evaluate.bounds import lower_bounds
from sqlanon.udfs.evaluate.centers import information_distortion
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Groups, Ints, Problem
from sqlanon.udfs.request import Request


def solve(
    request: Request, problem: Problem, progress: Progress, *, released: Ints | None = None, workers: int | None = None
) -> Groups:
    """The groups that the request asks for.

    `released` holds how many rows of each tuple are released where the problem is a population's. At most this many
    `workers` are busy at once, by default one for each core; the groups do not depend on it.
    """
    if any(limit is not None for limit in request.limits):

        def within(part: Request, cell: Problem) -> Groups:
            return solve(part, cell, progress, workers=workers)

        groups = limited(request, problem, within)
        return settle(problem, groups, request.k)
    method = request.core
    rng = np.random.default_rng(secrets.randbits(128) if method.draws_in_secret else request.seed)
    size = request.block_size or method.block_size
    work = partial(solve_block, request)
    groups = blocks.cluster(problem, request.k, size, rng, progress, work, method.counts_rows, workers)
    if request.max_suppression is not None:
        groups = settle(problem, groups, request.k)
    if request.has_population and released is not None:
        groups = trim(problem, groups, request.k, released)
    return groups


def solve_block(
    request: Request,
    problem: Problem,
    rng: np.random.Generator,
    progress: Progress,
    part: float = 1.0,
    share: float = 1.0,
) -> Groups:
    """Cluster a table, or a block that is this `part` of one and has this `share` of its time."""
    k, method, parameters = request.k, request.core, dict(request.parameters)
    if method.is_timed:
        seconds = parameters["time_budget"]
        parameters |= {"part": part, "time_budget": None if seconds is None else share * seconds}
    may_go = request.max_suppression
    if method.suppresses:
        parameters["max_suppression"] = may_go
    is_plain = not problem.models or problem.l is not None
    if problem.sensitive is None or method.is_diverse or (method.is_l_diverse and is_plain):
        groups = method.cluster(problem, k, rng, progress, **parameters)
    elif method.sees_sensitive(parameters):
        groups = method.cluster(replace(problem, models=()), k, rng, progress, **parameters)
    else:
        merged, place = problem.merged()
        groups = spread(method.cluster(merged, k, rng, progress, **parameters), place, problem.counts)
    groups = repair(problem, groups, progress)
    if may_go and not method.suppresses:
        groups = suppress(problem, groups, k, may_go, progress)
    return refine(problem, groups, k, rng, progress) if request.refine else groups


def findings(request: Request, problem: Problem, groups: Groups) -> dict[str, Any]:
    """What no released table shows: the core's own report, how far rows are from the centers of their groups, and how
    little k can cost."""
    found: dict[str, Any] = dict(groups.report)
    if request.has_population:
        return found
    if not request.core.draws_in_secret:
        found["information_distortion"] = information_distortion(problem, groups)
    if not request.core.is_exact:
        found["lower_bound"] = lower_bounds(problem.merged()[0], request.k, _quiet, is_brief=True).gcp
    return found


def _quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""
