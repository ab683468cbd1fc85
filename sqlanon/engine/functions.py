"""The Python functions that run inside DuckDB: lists of tuples in, groups, bounds and counts out."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa

from sqlanon.engine.arrays import (
    arrow,
    chunks,
    column,
    deals_of,
    lists_of,
    matrix,
    problem_of,
    ranges_of,
    released_rows,
)
from sqlanon.errors import SQL_FUNCTION, InterruptedRunError, SqlanonError, read_in
from sqlanon.keys import DIGITS, key_of_token
from sqlanon.progress.run import Run, interruptible
from sqlanon.udfs.evaluate.divergence import divergence
from sqlanon.udfs.evaluate.matches import least_matches
from sqlanon.udfs.evaluate.population import fewest_inside
from sqlanon.udfs.problem import Groups, Levels, Problem
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import certified, findings, solve

log = logging.getLogger("sqlanon")

NODE = 'STRUCT(attribute INTEGER, lo INTEGER, hi INTEGER, "level" INTEGER, place DOUBLE)'
TUPLE = 'STRUCT(tuple BIGINT, "rows" BIGINT, released BIGINT, ranks INTEGER[], codes BIGINT[])'
BOX = 'STRUCT("rows" BIGINT, lo BIGINT[], hi BIGINT[])'
COUNTED = 'STRUCT("rows" BIGINT, ranks BIGINT[])'
BOUNDS = "STRUCT(error VARCHAR, gcp DOUBLE, how VARCHAR)"
ANSWER = (
    'STRUCT(error VARCHAR, deals STRUCT(tuple BIGINT, group_id BIGINT, "rows" BIGINT, first BIGINT)[], '
    "ranges STRUCT(group_id BIGINT, lo BIGINT[], hi BIGINT[])[], levels BIGINT[])"
)


def shuffle(column: pa.Array) -> pa.Array:
    """A sort key per row from the operating system's cryptographic source: no seed can bring the old order back."""
    return arrow(np.frombuffer(secrets.token_bytes(8 * len(column)), dtype=np.uint64), np.uint64)


def divergences(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """The divergence of the classes from the tuples, for each pair of lists."""
    pairs = zip(chunks(boxes), chunks(tuples), strict=True)
    return arrow([divergence(*_compared(*pair)) for pair in pairs], np.float64)


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
    return arrow(found)


def pseudonyms(tokens: Any, values: Any) -> pa.Array:
    """The HMAC-SHA256 of each text, cut to 128 bits, in hexadecimal digits. NULL stays NULL."""
    texts = values.to_pylist()
    if not texts:
        return pa.array([], pa.string())
    key = key_of_token(tokens[0].as_py())
    hashed = (None if text is None else hmac.digest(key, text.encode(), "sha256").hex()[:DIGITS] for text in texts)
    return pa.array(hashed, pa.string())


class Cores:
    """The functions that run a core for a database instance, and the runs that want to hear of it."""

    def __init__(self) -> None:
        self.runs: WeakValueDictionary[str, Run] = WeakValueDictionary()

    def bounds(self, requests: pa.Array, nodes: pa.Array, tuples: pa.Array) -> pa.Array:
        """The lower bound for one list of tuples per row, and how it was found."""
        answers: list[dict[str, Any]] = []
        for text, node_list, tuple_list in zip(chunks(requests), chunks(nodes), chunks(tuples), strict=True):
            request = Request.of_json(text.as_py())
            try:
                with self._run_of(request).core("lower bound") as report:
                    problem = problem_of(request, node_list.values, tuple_list.values)
                    found = certified(problem, request.k, report)
                    answers.append({"error": None, "gcp": found.bound, "how": found.how})
            except InterruptedRunError:
                raise KeyboardInterrupt from None
            except SqlanonError as failure:
                answers.append({"error": str(failure)})
        return pa.array(answers, pa.struct([("error", pa.string()), ("gcp", pa.float64()), ("how", pa.string())]))

    def cluster(self, requests: pa.Array, nodes: pa.Array, tuples: pa.Array) -> pa.Array:
        """Run a core on one list of tuples per row. What the user can mend comes back as text: an exception inside a
        function would show as a traceback."""
        errors: list[str | None] = []
        deals: list[pa.StructArray] = []
        ranges: list[pa.StructArray] = []
        levels: list[Levels | None] = []
        for text, node_list, tuple_list in zip(chunks(requests), chunks(nodes), chunks(tuples), strict=True):
            request = Request.of_json(text.as_py())
            problem = problem_of(request, node_list.values, tuple_list.values)
            run = self._run_of(request)
            try:
                with run.core(request.method) as report:
                    groups = solve(request, problem, report, released=released_rows(tuple_list.values))
                if request.run is not None:
                    run.findings = _found(request, problem, groups)
                errors.append(None)
            except InterruptedRunError:
                raise KeyboardInterrupt from None
            except SqlanonError as found:
                errors.append(str(found))
                groups = Groups.collect([], [], [])
            deals.append(deals_of(groups))
            ranges.append(ranges_of(problem, groups))
            levels.append(groups.levels)
        return pa.StructArray.from_arrays(
            [
                _optional(errors, pa.string()),
                lists_of(deals),
                lists_of(ranges),
                _optional(levels, pa.list_(pa.int64())),
            ],
            names=["error", "deals", "ranges", "levels"],
        )

    def _run_of(self, request: Request) -> Run:
        """The run that a request belongs to; one of its own where nobody wants to hear of it, which Ctrl-C ends."""
        if (found := self.runs.get(request.run or "")) is not None:
            return found
        with read_in(SQL_FUNCTION):
            return interruptible(Run())


def _optional(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values that are usually missing, without pandas where they all are."""
    return pa.array(values, kind) if any(values) else pa.nulls(len(values), kind)


def _found(request: Request, problem: Problem, groups: Groups) -> dict[str, Any]:
    """What the core found out in addition to the groups. A measure that cannot be computed is NULL: the fault is ours,
    and never takes a release down."""
    try:
        return findings(request, problem, groups)
    except InterruptedRunError:
        raise
    except Exception as fault:
        log.warning("The measures of the core could not be computed (%s): they are NULL", type(fault).__name__)
        return dict(groups.report) | dict.fromkeys(("information_distortion", "lower_bound"))
