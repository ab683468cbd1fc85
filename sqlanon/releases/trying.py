"""What a core would make of a source, tried without a release: what the same policy loses at other k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.arrays import chunks, problem_of, released_rows
from sqlanon.errors import DataError
from sqlanon.pipeline.encode import Columns, comma, encoding
from sqlanon.pipeline.plan import request_of
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import render, with_ctes
from sqlanon.udfs.method import quiet
from sqlanon.udfs.problem import Groups, Ints, Problem
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import findings, solve


def tuples_of(catalog: Catalog, reading: Reading) -> tuple[Request, Any, Any]:
    """What a core is asked for this reading, and the lists of nodes and tuples that it sees."""
    columns, request = Columns.of(reading), request_of(reading)
    trees = {tree.value: tree.rank for tree in columns.trees}
    sql = render(
        "steps/explain/problem.sql",
        counted="people" if reading.policy.kind.counts == "people" else "rows",
        ranks=comma(attribute.rank for attribute in reading.attributes),
        codes=f"cast([{comma(trees.get(column, f'{column}_code') for column in columns.seen)}] as bigint[])",
    )
    table = catalog.con.sql(with_ctes(encoding(reading, columns), sql)).to_arrow_table()
    nodes, tuples = (chunks(table.column(part)).values for part in ("nodes", "tuples"))
    return request, nodes, tuples


def losses_by_k(
    catalog: Catalog, reading: Reading, several: Iterable[int]
) -> Iterator[tuple[int, float, float | None]]:
    """Each k, the smallest first, with the GCP and its lower bound, up to the first that the rows are too few for."""
    request, nodes, tuples = tuples_of(catalog, reading)
    released = released_rows(tuples)
    for k in sorted(several):
        asked = replace(request, k=k)
        problem = problem_of(asked, nodes, tuples)
        try:
            groups = solve(asked, problem, quiet, released=released)
        except DataError:
            return
        yield k, _gcp(problem, groups, released), findings(asked, problem, groups).get("lower_bound")


def _gcp(problem: Problem, groups: Groups, released: Ints) -> float:
    """What the rows that are released lose; those without a class lose all."""
    lo, hi, _ = groups.closure(problem)
    loss = np.append(problem.loss(lo, hi, groups.levels) / problem.weights.sum(), 1.0)
    rows = groups.rows * released[groups.tuple] / problem.counts[groups.tuple]
    return float(loss[np.maximum(groups.group, -1)] @ rows / released.sum())
