"""Suppressed rows on Spark: are those of all blocks together a class that may be released, or are they left out?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from sqlanon.spark.workers import Task
from sqlanon.udfs import legality
from sqlanon.udfs.models import Cells, Model
from sqlanon.udfs.problem import LEFT_OUT, SUPPRESSED, Ints

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def settled(entries: DataFrame, task: Task) -> DataFrame:
    """The entries, in which suppressed rows that cannot be released as a class of their own are left out."""
    if task.request.max_suppression is None or _may_be_released(entries.where(f"grp = {SUPPRESSED}"), task):
        return entries
    left = F.when(F.col("grp") == SUPPRESSED, F.lit(LEFT_OUT).cast("bigint")).otherwise(F.col("grp"))
    return entries.withColumn("grp", left)


def _may_be_released(gone: DataFrame, task: Task) -> bool:
    """Are these entries none, or a class that keeps k and all models? Spark counts rows and people for each combination
    of sensitive values, so that the driver sees no more than these."""
    people = [F.count_distinct(F.col(task.who)).alias("people")] if task.who else []
    counted = gone.groupBy(*task.codes).agg(F.sum("rows").alias("rows")).toArrow()
    rows = np.array([held or 0 for held in counted["rows"].to_pylist()], dtype=np.int64)
    if not rows.sum():
        return True
    held = gone.agg(*people).collect()[0]["people"] if people else rows.sum()
    if held < task.request.k:
        return False
    problem = replace(task, who=None).problem(np.zeros((len(rows), len(task.books)), dtype=np.int64), rows, counted)
    by_people = tuple(model for model in problem.models if task.who and model.counts_people)
    by_rows = replace(problem, models=tuple(model for model in problem.models if model not in by_people))
    every = np.arange(len(rows))
    if not legality.are_legal(by_rows, every, np.zeros_like(every), rows).all():
        return False
    return all(_keeps(gone, task, model, problem.is_strict) for model in by_people)


def _keeps(gone: DataFrame, task: Task, model: Model, is_strict: bool) -> bool:
    """Do people keep a model that counts them, whoever knows their other sensitive values?"""
    code = task.codes[model.column]
    known = [other for other in task.codes if is_strict and other != code]
    people = F.count_distinct(F.col(str(task.who))).alias("people")
    cells = gone.groupBy(*known, code).agg(people).toArrow()
    classes = gone.groupBy(*known).agg(people).toArrow()
    cells, classes = (table.take(_order(table, [*known, *more])) for table, more in ((cells, [code]), (classes, [])))
    ids = np.column_stack([np.zeros(len(cells), dtype=np.int64), *(cells[other].to_numpy() for other in known)])
    first = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]).any(axis=1)])
    found = Cells(cells[code].to_numpy(), cells["people"].to_numpy(), first, classes["people"].to_numpy())
    return bool(model.holds(found).all())


def _order(table: pa.Table, columns: list[str]) -> Ints:
    """The rows in the order of these columns."""
    return np.lexsort([np.zeros(len(table)), *(table[name].to_numpy() for name in reversed(columns))])
