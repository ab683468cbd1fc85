"""Lists between Arrow and numpy: the tuples that DuckDB collected as a problem, and groups as lists again.

pyarrow's own conversions (pa.array, to_numpy) import pandas, a quarter of a second and some 40 MiB of a small release.
"""

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
    return pa.ListArray.from_arrays(arrow(offsets, np.int32), pa.concat_arrays(parts))


def arrow(values: Any, kind: Any = np.int64) -> pa.Array:
    """Numbers as an Arrow array of this kind; NaN is NULL."""
    flat = np.ascontiguousarray(values, dtype=kind)
    is_missing = flat != flat
    bits = pa.py_buffer(np.packbits(~is_missing, bitorder="little")) if is_missing.any() else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [bits, pa.py_buffer(flat)])


def _numpy(array: Any) -> Any:
    """Numbers of an Arrow array; NULL is NaN."""
    kind = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.zeros(0, kind)
    present, values = array.buffers()
    found = np.frombuffer(values, kind, len(array), array.offset * kind.itemsize)
    if not array.null_count:
        return found
    bits = np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")
    return np.where(bits[array.offset :][: len(array)], found, np.nan)


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
        return lo[mine].astype(np.int64), hi[mine].astype(np.int64), level[mine]

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
    return _numpy(structs.field(field).flatten()).reshape(len(structs), -1)


def column(structs: Any, field: str) -> Any:
    return _numpy(structs.field(field))


def deals_of(groups: Groups) -> pa.StructArray:
    """Which rows of a tuple go to which group: from the `first`, counted from 1, this many `rows`."""
    order = np.lexsort((groups.group, groups.tuple))
    tuples, group, rows = groups.tuple[order], groups.group[order], groups.rows[order]
    before = np.cumsum(rows) - rows
    begins = np.flatnonzero(np.diff(tuples, prepend=-1))
    first = before - np.repeat(before[begins], np.diff(begins, append=len(tuples))) + 1
    columns = (tuples, group, rows, first)
    return pa.StructArray.from_arrays(
        [arrow(column) for column in columns], names=["tuple", "group_id", "rows", "first"]
    )


def ranges_of(problem: Problem, groups: Groups) -> pa.StructArray:
    """For each group the smallest and largest rank of every attribute, as they are to be released."""
    lo, hi, rows = groups.closure(problem)
    width = lo.shape[1]
    offsets = np.arange(0, width * len(rows) + 1, width)
    return pa.StructArray.from_arrays(
        [arrow(np.arange(len(rows))), *(_vectors(ends.reshape(-1), offsets) for ends in (lo, hi))],
        names=["group_id", "lo", "hi"],
    )


def _vectors(flat: Any, offsets: Any) -> pa.ListArray:
    return pa.ListArray.from_arrays(arrow(offsets, np.int32), arrow(flat))
