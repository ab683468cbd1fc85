"""What is DuckDB's alone: registering Python functions, transactions, and carrying lists between Arrow and numpy.

The registered functions live as long as the database instance, whichever connection registered them, so they are
kept alive here and hold connections only weakly: a strong reference would keep a closed database open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Attribute, Groups, Numbers, Problem, Tree


def lists_of(parts: list[pa.StructArray]) -> pa.ListArray:
    """One list per part."""
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.concat_arrays(parts))


def chunks(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def problem_of(request: dict[str, Any], nodes: Any, tuples: Any) -> Problem:
    """The lists that DuckDB collected, sorted: collecting promises no order."""
    order = np.argsort(column(tuples, "tuple"))
    ranks, codes = matrix(tuples, "ranks"), matrix(tuples, "codes")
    number, lo = column(nodes, "attribute"), column(nodes, "lo")
    hi, level, at = column(nodes, "hi"), column(nodes, "level"), column(nodes, "place")

    def tree(index: int) -> tuple[Any, Any, Any]:
        mine = np.flatnonzero(number == index)
        return lo[mine], hi[mine], level[mine]

    attributes: list[Attribute] = []
    for index, kind in enumerate(request["kinds"], 1):
        mine = np.flatnonzero(number == index)
        mine = mine[np.argsort(lo[mine], kind="stable")]
        attributes.append(Numbers(at[mine]) if kind == "numbers" else Tree(*tree(index)))
    problem = Problem(
        ranks=np.ascontiguousarray(ranks[order], dtype=np.int64),
        counts=np.ascontiguousarray(column(tuples, "rows")[order], dtype=np.int64),
        attributes=tuple(attributes),
        weights=np.array(request["weights"], dtype=np.float64),
        sensitive=np.ascontiguousarray(codes[order], dtype=np.int64) if codes.shape[1] else None,
    )
    entity = request.get("entity")
    if not request["models"] and entity is None:
        return problem
    distances = [Tree(*tree(distance)) if isinstance(distance, int) else distance for distance in request["distances"]]
    return promise(
        problem,
        request["models"],
        is_strict=request["is_strict"],
        c=request["recursive_c"],
        columns=[*request["sensitive"], *([entity] if entity else ())],
        distances=distances,
        people=request["k"] if entity else None,
    )


def released_rows(tuples: Any) -> Any:
    """How many rows of each tuple are released, in the order of the problem."""
    return column(tuples, "released")[np.argsort(column(tuples, "tuple"))]


def matrix(structs: Any, field: str) -> Any:
    """A field of lists of one length, as rows of a matrix."""
    return structs.field(field).flatten().to_numpy(zero_copy_only=False).reshape(len(structs), -1)


def column(structs: Any, field: str) -> Any:
    return structs.field(field).to_numpy(zero_copy_only=False)


def dealt(groups: Groups) -> pa.StructArray:
    """For each tuple the groups that its rows go to: one group, or a turn per row with the groups interleaved.

    Interleaved in proportion (a group's j-th of m turns comes at (j + ½) / m), so that rows dealt out in the order of
    a sensitive value spread it over the groups.
    """
    entries = np.bincount(groups.tuple)
    turns = np.where(entries[groups.tuple] > 1, groups.rows, 1)
    of_entry = np.repeat(np.arange(len(turns)), turns)
    turn = np.arange(len(of_entry)) - np.repeat(np.cumsum(turns) - turns, turns)
    order = np.lexsort((groups.group[of_entry], (turn + 0.5) / turns[of_entry], groups.tuple[of_entry]))
    tuples, starts = np.unique(groups.tuple[of_entry][order], return_index=True)
    return pa.StructArray.from_arrays(
        [pa.array(tuples, pa.int64()), _vectors(groups.group[of_entry][order], np.append(starts, len(order)))],
        names=["tuple", "deal"],
    )


def ranges_of(problem: Problem, groups: Groups) -> pa.StructArray:
    """For each group the smallest and largest rank of every attribute, as they are to be printed."""
    lo, hi, rows = groups.closure(problem)
    width = lo.shape[1]
    offsets = np.arange(0, width * len(rows) + 1, width)
    return pa.StructArray.from_arrays(
        [pa.array(np.arange(len(rows))), *(_vectors(ends.reshape(-1), offsets) for ends in (lo, hi))],
        names=["group_id", "lo", "hi"],
    )


def _vectors(flat: Any, offsets: Any) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat, pa.int64()))
