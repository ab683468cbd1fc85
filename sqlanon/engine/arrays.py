"""Lists between Arrow and numpy: the tuples that DuckDB collected as a problem, and groups as lists again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Attribute, Groups, Numbers, Problem, Tree
from sqlanon.udfs.request import Request


def lists_of(parts: list[pa.StructArray]) -> pa.ListArray:
    """One list per part."""
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.concat_arrays(parts))


def chunks(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def problem_of(request: Request, nodes: Any, tuples: Any) -> Problem:
    """The lists that DuckDB collected, sorted: collecting promises no order."""
    order = np.argsort(column(tuples, "tuple"))
    ranks, codes = matrix(tuples, "ranks"), matrix(tuples, "codes")
    number, lo = column(nodes, "attribute"), column(nodes, "lo")
    hi, level, at = column(nodes, "hi"), column(nodes, "level"), column(nodes, "place")

    def tree(index: int) -> tuple[Any, Any, Any]:
        mine = np.flatnonzero(number == index)
        return lo[mine], hi[mine], level[mine]

    attributes: list[Attribute] = []
    for index, kind in enumerate(request.kinds, 1):
        mine = np.flatnonzero(number == index)
        mine = mine[np.argsort(lo[mine], kind="stable")]
        attributes.append(Numbers(at[mine]) if kind == "numbers" else Tree(*tree(index)))
    problem = Problem(
        ranks=np.ascontiguousarray(ranks[order], dtype=np.int64),
        counts=np.ascontiguousarray(column(tuples, "rows")[order], dtype=np.int64),
        attributes=tuple(attributes),
        weights=np.array(request.weights, dtype=np.float64),
        sensitive=np.ascontiguousarray(codes[order], dtype=np.int64) if codes.shape[1] else None,
    )
    entity = request.entity
    if not request.models and entity is None:
        return problem
    distances = [Tree(*tree(distance)) if isinstance(distance, int) else distance for distance in request.distances]
    return promise(
        problem,
        request.models,
        is_strict=request.is_strict,
        c=request.recursive_c or 1.0,
        columns=[*request.sensitive, *([entity] if entity else ())],
        distances=distances,
        people=request.k if entity else None,
    )


def released_rows(tuples: Any) -> Any:
    """How many rows of each tuple are released, in the order of the problem."""
    return column(tuples, "released")[np.argsort(column(tuples, "tuple"))]


def matrix(structs: Any, field: str) -> Any:
    """A field of lists of one length, as rows of a matrix."""
    return structs.field(field).flatten().to_numpy(zero_copy_only=False).reshape(len(structs), -1)


def column(structs: Any, field: str) -> Any:
    return structs.field(field).to_numpy(zero_copy_only=False)


def deals_of(groups: Groups) -> pa.StructArray:
    """Which rows of a tuple go to which group: from the `first`, counted from 1, this many `rows`."""
    order = np.lexsort((groups.group, groups.tuple))
    tuples, group, rows = groups.tuple[order], groups.group[order], groups.rows[order]
    before = np.cumsum(rows) - rows
    begins = np.flatnonzero(np.diff(tuples, prepend=-1))
    first = before - np.repeat(before[begins], np.diff(begins, append=len(tuples))) + 1
    columns = (tuples, group, rows, first)
    return pa.StructArray.from_arrays(
        [pa.array(column, pa.int64()) for column in columns], names=["tuple", "group_id", "rows", "first"]
    )


def ranges_of(problem: Problem, groups: Groups) -> pa.StructArray:
    """For each group the smallest and largest rank of every attribute, as they are to be released."""
    lo, hi, rows = groups.closure(problem)
    width = lo.shape[1]
    offsets = np.arange(0, width * len(rows) + 1, width)
    return pa.StructArray.from_arrays(
        [pa.array(np.arange(len(rows))), *(_vectors(ends.reshape(-1), offsets) for ends in (lo, hi))],
        names=["group_id", "lo", "hi"],
    )


def _vectors(flat: Any, offsets: Any) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat, pa.int64()))
