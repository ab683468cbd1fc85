"""The run of one request on one problem, whatever the engine: method, blocks, repair, suppression, refining, trimming.

DuckDB's functions, workers of other engines and tests call `solve` alike. It knows no connection and no table.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlanon.udfs.after import blind, blocks
from sqlanon.udfs.after.form import form
from sqlanon.udfs.after.limits import limited
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.after.repair import spread
from sqlanon.udfs.after.suppress import settle, suppress
from sqlanon.udfs.after.trim import trim
from sqlanon.udfs.evaluate.centers import information_distortion
from sqlanon.udfs.exchange.run import SEARCHED, WORK, exchanged
from sqlanon.udfs.method import THOUSANDTHS, Progress, between, measure_of, quiet
from sqlanon.udfs.problem import Groups, Ints, Problem
from sqlanon.udfs.request import Request
from sqlanon.udfs.space.costs import OBJECTIVES

if TYPE_CHECKING:
    from sqlanon.udfs.evaluate.prices import Certificate


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
    rng = generator(request, problem)
    if request.is_linked:
        return _linked(request, problem, rng, progress)
    work = _blind if request.forming == "blind" and problem.models else _clustered
    groups = work(request, problem, rng, progress, workers)
    if request.max_suppression is not None:
        groups = settle(problem, groups, request.k)
    if request.has_population and released is not None:
        groups = trim(problem, groups, request.k, released)
    return groups


def generator(request: Request, problem: Problem) -> np.random.Generator:
    """The random numbers of a run: those of its seed; without one, or where no seed may bring them back, secret ones if
    groups can depend on sensitive values, as whoever could repeat the run would test guesses of them."""
    is_secret = request.core.draws_in_secret or (request.seed is None and problem.sensitive is not None)
    return np.random.default_rng(secrets.randbits(128) if is_secret else request.seed or 0)


def _clustered(
    request: Request, problem: Problem, rng: np.random.Generator, progress: Progress, workers: int | None
) -> Groups:
    method = request.core
    size = request.tuples_at_once
    work = partial(solve_block, request)
    polished_by = seams(request)
    return blocks.cluster(problem, request.k, size, rng, progress, work, method.counts_rows, workers, polished_by)


def seams(request: Request) -> str | None:
    """The measure by which groups are polished across the borders of blocks: the one that the method keeps low. None
    where no search knows it, the method is asked for as printed, or nobody wants it."""
    measure = measure_of(request.parameters)
    is_literal = request.parameters.get("ending") == "paper"
    return measure if request.polish and measure in OBJECTIVES and not is_literal else None


def _blind(
    request: Request, problem: Problem, rng: np.random.Generator, progress: Progress, workers: int | None
) -> Groups:
    """Groups that the method finds without sensitive values, joined where these break a model."""
    mixed, order = blocks.in_random_order(problem, rng)
    merged, place = mixed.merged()
    groups = _clustered(request, merged, rng, between(progress, 0, 900), workers)
    dealt = spread(groups, place, mixed.counts, rng)
    return blind.form(mixed, dealt, between(progress, 900, THOUSANDTHS)).of(order)


def _linked(request: Request, problem: Problem, rng: np.random.Generator, progress: Progress) -> Groups:
    """People by all of their rows. Imported when needed: numba alone takes longer than many a run."""
    from sqlanon.udfs.linked import cluster as linked

    return linked.cluster(
        problem,
        request.k,
        rng,
        progress,
        price=request.row_price,
        order=request.row_order,
        effort=str(request.parameters.get("effort", "balanced")),
        size=request.block_size,
    )


def solve_block(
    request: Request,
    problem: Problem,
    rng: np.random.Generator,
    progress: Progress,
    part: float = 1.0,
    share: float = 1.0,
) -> Groups:
    """Cluster a table, or a block that is this `part` of one and has this `share` of its time."""
    if part < 1:
        narrow, values = problem.narrowed()
        return _in_random_order(request, narrow, rng, progress, part, share).widened(values)
    return _in_random_order(request, problem, rng, progress, part, share)


def _in_random_order(
    request: Request, problem: Problem, rng: np.random.Generator, progress: Progress, part: float, share: float
) -> Groups:
    if problem.sensitive is None:
        return _solve_block(request, problem, rng, progress, part, share)
    mixed, order = blocks.in_random_order(problem, rng)
    return _solve_block(request, mixed, rng, progress, part, share).of(order)


def _solve_block(
    request: Request, problem: Problem, rng: np.random.Generator, progress: Progress, part: float, share: float
) -> Groups:
    k, method, parameters = request.k, request.core, dict(request.parameters)
    if method.is_timed:
        seconds = parameters["time_budget"]
        parameters |= {"part": part, "time_budget": None if seconds is None else share * seconds}
    may_go = request.max_suppression
    if method.suppresses:
        parameters["max_suppression"] = may_go
    groups = form(method, parameters, problem, k, rng, progress)
    if may_go and not method.suppresses:
        groups = suppress(problem, groups, k, may_go, progress)
    return _refined(request, problem, groups, rng, progress) if request.refine else groups


def _refined(
    request: Request, problem: Problem, groups: Groups, rng: np.random.Generator, progress: Progress
) -> Groups:
    """The groups after a search for less of what the method keeps low: with models the one that exchanges rows, where
    it knows them."""
    k, objective, found = request.k, measure_of(request.parameters), None
    if problem.models and problem.rows >= SEARCHED:
        found = exchanged(problem, groups, k, rng, progress, work=WORK * problem.rows, objective=objective)
    return refine(problem, groups, k, rng, progress, objective=objective) if found is None else found


def findings(request: Request, problem: Problem, groups: Groups) -> dict[str, Any]:
    """What no released table shows: the core's own report, how far rows are from the centers of their groups, and how
    little k can cost."""
    found: dict[str, Any] = dict(groups.report)
    if request.has_population:
        found.pop("proven", None)
        found.pop("proven_by", None)
        return found
    if not request.core.draws_in_secret:
        found["information_distortion"] = information_distortion(problem, groups)
    proven, by = found.pop("proven", None), found.pop("proven_by", None)
    if request.core.is_exact:
        return found
    if proven is None or any(limit is not None for limit in request.limits):  # then it is that of a part of the table
        proof = certified(problem, request.k, quiet, _effort(request), request.core.is_homogeneous)
        proven, by = proof.bound, proof.how
    found["lower_bound"], found["lower_bound_by"] = proven, by
    return found


def certified(
    problem: Problem, k: int, progress: Progress, effort: str = "best", is_homogeneous: bool = True
) -> Certificate:
    """Prices that prove how little k, or the models, can cost. Imported when needed: numba alone takes a quarter of a
    second."""
    from sqlanon.udfs.evaluate.prices import certify

    proof = certify(problem, k, progress, effort=effort, is_homogeneous=is_homogeneous)
    if problem.models and is_homogeneous:
        from sqlanon.udfs.evaluate.transport import transported

        other = transported(problem, effort, progress)
        if other is not None and other.bound > proof.bound:
            return other
    return proof


def _effort(request: Request) -> str:
    """How long to look for a bound: no longer than the method itself looks for groups."""
    return str(request.parameters.get("effort", "fast"))
