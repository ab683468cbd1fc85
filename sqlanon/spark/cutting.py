"""Blocks on Spark: rules that are cut on a sample of the tuples, and applied to all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlanon.spark.workers import Task, judge_block, place_block
from sqlanon.udfs.after import blocks
from sqlanon.udfs.after.blocks import Cut, Rule
from sqlanon.udfs.problem import Ints, Problem
from sqlanon.udfs.solve import seams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 200_000
"""Tuples that the driver looks at, about, to find where to cut."""
MODULUS = 1 << 20
EXPRESSED = 400
"""Blocks that are found by an expression; more are found by Python."""


@dataclass(frozen=True)
class Blocks:
    """How tuples are cut: the rule, how many blocks there are, and the other rule for refining across their seams, if
    they are refined."""

    rule: Rule
    count: int
    other: Rule | None = None


WHOLE = Blocks(0, 1)


def cut(tuples: DataFrame, task: Task, count: int) -> Blocks:
    """The blocks of a table of this many tuples: one where it is small enough."""
    request, method = task.request, task.request.core
    size = request.tuples_at_once
    filled = count
    if size is not None and method.counts_rows:
        filled = int(tuples.agg(F.sum("rows").alias("n")).collect()[0]["n"])
    if size is None or filled <= size:
        return WHOLE
    some, share = _sample(tuples, task, count)
    filling = some.counts.astype(np.float64) if method.counts_rows else np.ones(len(some.counts))
    least = max(2.0, request.k * share * (1 if share == 1 else 2))

    def is_legal(mine: Ints) -> bool:
        return bool(some.counts[mine].sum() >= least)

    rule = blocks.cut(some, filling, max(2, int(size * share)), is_legal)
    rule = _legal(tuples, task, rule)
    if isinstance(rule, int):
        return WHOLE
    if seams(request) is None:
        return Blocks(rule, len(leaves(rule)))
    larger = max(2, int(max(size, blocks.POLISHED) * share))
    return Blocks(rule, len(leaves(rule)), blocks.other_cut(some, larger, task.seeds))


def _sample(tuples: DataFrame, task: Task, count: int) -> tuple[Problem, float]:
    """Some tuples by a hash of their keys, the same whatever the partitions, and which share of all they are."""
    keys = list(task.radix)
    wanted = int(min(1.0, SAMPLE / count) * MODULUS) + 1
    drawn = tuples.where(F.pmod(F.xxhash64(*keys), F.lit(MODULUS)) < wanted).select(*keys, "rows")
    table = drawn.toArrow()
    ranks = task.ranks(table)
    order = np.lexsort(ranks.T[::-1])
    counts = table["rows"].to_numpy().astype(np.int64)[order]
    attributes = tuple(book.attribute for book in task.books)
    weights = np.array(task.request.weights, dtype=np.float64)
    return Problem(np.ascontiguousarray(ranks[order]), counts, attributes, weights), len(ranks) / count


def _legal(tuples: DataFrame, task: Task, rule: Rule) -> Rule:
    """The rule with blocks that cannot be clustered on their own joined to their nearest, as often as that takes."""
    doubtful: set[int] | None = None
    while isinstance(rule, Cut):
        broken = _broken(with_block(tuples, task, rule, "block"), task, doubtful)
        if not broken:
            break
        joins = _nearest(rule, broken)
        rule = renamed(rule, joins)
        doubtful = set(joins.values())
        if len(leaves(rule)) == 1:
            return 0
    return _numbered(rule)


def _broken(cut_up: DataFrame, task: Task, doubtful: set[int] | None) -> set[int]:
    """The blocks, of those in doubt, that have fewer than k rows or break a model as a whole."""
    if doubtful is not None:
        cut_up = cut_up.where(F.col("block").isin(*doubtful))
    if task.request.models or task.who:
        judged = cut_up.groupBy("block").applyInArrow(
            judge_block(task), "block bigint, tuples bigint, is_legal boolean"
        )
        return {int(row["block"]) for row in judged.collect() if not row["is_legal"]}
    counted = cut_up.groupBy("block").agg(F.sum("rows").alias("n")).collect()
    return {int(row["block"]) for row in counted if row["n"] < task.request.k}


def leaves(rule: Rule) -> list[int]:
    """The blocks of a rule, each once, in order."""
    found: list[int] = []
    todo = [rule]
    while todo:
        one = todo.pop()
        if isinstance(one, int):
            found.append(one)
        else:
            todo += [one.above, one.below]
    return list(dict.fromkeys(found))


def _nearest(rule: Rule, broken: set[int]) -> dict[int, int]:
    """For each broken block the one that it joins: the first on the other side of the lowest cut beside it."""
    joins: dict[int, int] = {}

    def look(one: Rule) -> None:
        if isinstance(one, int):
            return
        look(one.below)
        look(one.above)
        below, above = leaves(one.below), leaves(one.above)
        for block in below:
            if block in broken and block not in joins and (to := _other(above, block)) is not None:
                joins[block] = to
        for block in above:
            if block in broken and block not in joins and (to := _other(below[::-1], block)) is not None:
                joins[block] = to

    look(rule)
    # Two that chose each other, or a chain of them, become the one that the chain ends in.
    ends: dict[int, int] = {}
    for block in joins:
        seen, to = [block], joins[block]
        while to in joins and to not in seen:
            seen.append(to)
            to = joins[to]
        end = min(seen[seen.index(to) :]) if to in seen else to
        ends[block] = end
    return {block: end for block, end in ends.items() if block != end} or {}


def _other(listed: list[int], block: int) -> int | None:
    return next((one for one in listed if one != block), None)


def renamed(rule: Rule, to: Mapping[int, int]) -> Rule:
    """The rule with other numbers for some blocks."""
    if isinstance(rule, int):
        return to.get(rule, rule)
    return Cut(rule.attribute, rule.edge, renamed(rule.below, to), renamed(rule.above, to))


def _numbered(rule: Rule) -> Rule:
    """The rule with its blocks numbered from 0."""
    return renamed(rule, {block: number for number, block in enumerate(leaves(rule))})


def with_block(tuples: DataFrame, task: Task, rule: Rule, column: str) -> DataFrame:
    """The tuples with the number of their block."""
    if isinstance(rule, int):
        return tuples.withColumn(column, F.lit(rule).cast("bigint"))
    if len(leaves(rule)) <= EXPRESSED:
        return tuples.withColumn(column, F.expr(_expression(rule, _ranks(task))).cast("bigint"))
    schema = T.StructType([*tuples.schema.fields, T.StructField(column, T.LongType())])
    return tuples.mapInArrow(place_block(rule, task, column), schema)


def _ranks(task: Task) -> list[str]:
    """How Spark reads each rank from its key."""
    return [f"(({key} div {by}) % {size})" for key, parts in task.radix.items() for by, size in parts]


def _expression(rule: Rule, ranks: list[str]) -> str:
    if isinstance(rule, int):
        return str(rule)
    below, above = _expression(rule.below, ranks), _expression(rule.above, ranks)
    return f"case when {ranks[rule.attribute]} < {rule.edge} then {below} else {above} end"


def by_block(frame: DataFrame, count: int, column: str) -> DataFrame:
    """The tuples in as many partitions as there are blocks: otherwise Spark merges small ones, as it does not know how
    long a block takes."""
    return frame.repartition(count, F.col(column)) if count > 1 else frame
