"""The Python functions that run inside DuckDB: lists of tuples in, groups, bounds and counts out."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.engine.arrays import chunks, column, dealt, lists_of, matrix, problem_of, ranges_of, released_rows
from sqlanon.errors import InterruptedRunError, SqlanonError
from sqlanon.keys import DIGITS, _key
from sqlanon.progress.run import running, time_run
from sqlanon.sqltext import fresh_name
from sqlanon.udfs.after import blocks
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.after.repair import repair, spread
from sqlanon.udfs.after.suppress import settle, suppress
from sqlanon.udfs.after.trim import trim
from sqlanon.udfs.evaluate.bounds import lower_bounds
from sqlanon.udfs.evaluate.centers import information_distortion
from sqlanon.udfs.evaluate.divergence import divergence
from sqlanon.udfs.evaluate.matches import least_matches
from sqlanon.udfs.evaluate.population import fewest_inside
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Groups, Problem
from sqlanon.udfs.space.costs import PRIVATE


def pseudonyms(tokens: Any, values: Any) -> pa.Array:
    """The HMAC-SHA256 of each text, cut to 128 bits, in hexadecimal digits. NULL stays NULL."""
    texts = values.to_pylist()
    if not texts:
        return pa.array([], pa.string())
    key = _key(tokens[0].as_py())
    hashed = (None if text is None else hmac.digest(key, text.encode(), "sha256").hex()[:DIGITS] for text in texts)
    return pa.array(hashed, pa.string())


NODE = 'STRUCT(attribute INTEGER, lo BIGINT, hi BIGINT, "level" INTEGER, place DOUBLE)'
TUPLE = 'STRUCT(tuple BIGINT, "rows" BIGINT, released BIGINT, ranks BIGINT[], codes BIGINT[])'
BOX = 'STRUCT("rows" BIGINT, lo BIGINT[], hi BIGINT[])'
COUNTED = 'STRUCT("rows" BIGINT, ranks BIGINT[])'
BOUNDS = "STRUCT(error VARCHAR, pair DOUBLE, box DOUBLE, gcp DOUBLE)"
ANSWER = (
    "STRUCT(error VARCHAR, deals STRUCT(tuple BIGINT, deal BIGINT[])[], "
    "ranges STRUCT(group_id BIGINT, lo BIGINT[], hi BIGINT[])[])"
)
_reports: dict[str, dict[str, Any] | None] = {}


def shuffle(column: pa.Array) -> pa.Array:
    """A sort key per row from the operating system's cryptographic source: no seed can bring the old order back."""
    return pa.array(np.frombuffer(secrets.token_bytes(8 * len(column)), dtype=np.uint64))


def divergences(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """The divergence of the classes from the tuples, for each pair of lists."""
    pairs = zip(chunks(boxes), chunks(tuples), strict=True)
    return pa.array([divergence(*_compared(*pair)) for pair in pairs], pa.float64())


def _compared(boxes: Any, tuples: Any) -> tuple[Any, Any, Any, Any, Any]:
    """lo, hi and rows of a list of boxes, ranks and rows of a list of tuples."""
    box, row = boxes.values, tuples.values
    return matrix(box, "lo"), matrix(box, "hi"), column(box, "rows"), matrix(row, "ranks"), column(row, "rows")


def matches(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """How many records a row may stand for at least, and rows a record, for each pair of lists; 0 if one is empty."""
    return _least(least_matches, boxes, tuples)


def inside(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """How many people a box covers at least, for each pair of lists; 0 if one is empty."""
    return _least(fewest_inside, boxes, tuples)


def _least(count: Callable[..., int], boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    found = [
        count(*_compared(box_list, tuple_list)) if box_list.is_valid and tuple_list.is_valid else 0
        for box_list, tuple_list in zip(chunks(boxes), chunks(tuples), strict=True)
    ]
    return pa.array(found, pa.int64())


def bounds(requests: pa.Array, nodes: pa.Array, tuples: pa.Array) -> pa.Array:
    """The lower bounds for one list of tuples per row."""
    answers: list[dict[str, Any]] = []
    for request, node_list, tuple_list in zip(chunks(requests), chunks(nodes), chunks(tuples), strict=True):
        asked = json.loads(request.as_py())
        try:
            with running("lower bound") as report:
                problem = problem_of(asked, node_list.values, tuple_list.values)
                answers.append(asdict(lower_bounds(problem, asked["k"], report)) | {"error": None})
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        except SqlanonError as found:
            answers.append({"error": str(found)})
    kinds = [("error", pa.string()), *((bound, pa.float64()) for bound in ("pair", "box", "gcp"))]
    return pa.array(answers, pa.struct(kinds))


def cluster(requests: pa.Array, nodes: pa.Array, tuples: pa.Array) -> pa.Array:
    """Run a core on one list of tuples per row. What the user can mend comes back as text, see Instance._planning."""
    errors: list[str | None] = []
    deals: list[pa.StructArray] = []
    ranges: list[pa.StructArray] = []
    for request, node_list, tuple_list in zip(chunks(requests), chunks(nodes), chunks(tuples), strict=True):
        asked = json.loads(request.as_py())
        problem = problem_of(asked, node_list.values, tuple_list.values)
        try:
            groups = _cluster(asked, problem)
            if asked["has_population"]:
                groups = trim(problem, groups, asked["k"], released_rows(tuple_list.values))
            errors.append(None)
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        except SqlanonError as found:
            errors.append(str(found))
            groups = Groups.collect([], [], [])
        deals.append(dealt(groups))
        ranges.append(ranges_of(problem, groups))
    return pa.StructArray.from_arrays(
        [pa.array(errors, pa.string()), lists_of(deals), lists_of(ranges)], names=["error", "deals", "ranges"]
    )


def _cluster(request: dict[str, Any], problem: Problem) -> Groups:
    method = METHODS[request["method"]]
    rng = np.random.default_rng(secrets.randbits(128) if method.draws_in_secret else request["seed"])
    size = request["block_size"] or blocks.default_size(method.block_size, len(problem.attributes))
    with running(method.name, request["run"]) as report:
        work = partial(_block, request, method)
        groups = blocks.cluster(problem, request["k"], size, rng, report, work, method.counts_rows)
    if request["max_suppression"] is not None:
        groups = settle(problem, groups, request["k"])
    if request["run"] in _reports:
        told = {} if request["has_population"] else _told(problem, groups, request["k"], method)
        _reports[request["run"]] = groups.report | told
    return groups


def _told(problem: Problem, groups: Groups, k: int, method: Method) -> dict[str, float]:
    """What no printed table tells: where the centres of the groups are, and how little k can cost."""
    told: dict[str, float] = {}
    if not method.draws_in_secret:
        told["information_distortion"] = information_distortion(problem, groups)
    if not method.is_exact:
        quiet: Progress = lambda *done, **facts: None  # noqa: E731
        told["lower_bound"] = lower_bounds(problem.merged()[0], k, quiet, is_brief=True).gcp
    return told


def _block(
    request: dict[str, Any],
    method: Method,
    problem: Problem,
    rng: np.random.Generator,
    report: Progress,
    part: float,
) -> Groups:
    """Cluster a table, or a block that is this part of one."""
    k, parameters = request["k"], request["parameters"]
    if "time_budget" in parameters:
        seconds, share = parameters["time_budget"], min(1.0, part * blocks.workers())
        parameters = parameters | {"part": part, "time_budget": None if seconds is None else share * seconds}
    may_go = request["max_suppression"]
    if method.suppresses:
        parameters = parameters | {"max_suppression": may_go}
    is_plain = not problem.models or problem.l is not None
    if problem.sensitive is None or method.is_diverse or (method.is_l_diverse and is_plain):
        groups = method.cluster(problem, k, rng, report, **parameters)
    elif parameters.get("cost") in PRIVATE:
        groups = method.cluster(replace(problem, models=()), k, rng, report, **parameters)
    else:
        merged, place = problem.merged()
        groups = spread(method.cluster(merged, k, rng, report, **parameters), place, problem.counts)
    groups = repair(problem, groups, report)
    if may_go and not method.suppresses:
        groups = suppress(problem, groups, k, may_go, report)
    return refine(problem, groups, k, rng, report) if request["refine"] else groups


def await_report() -> str:
    """A name for a run whose core's report is wanted."""
    token = fresh_name("run")
    _reports[token] = None
    time_run(token)
    return token


def take_report(run: str) -> dict[str, Any]:
    """What the core of a named run told beside its groups."""
    return _reports.pop(run, None) or {}
