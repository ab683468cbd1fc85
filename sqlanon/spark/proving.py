"""Proving a release on Spark, on the rows that were written: the checks of sql/, in Spark's dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlglot
from pyspark.sql import functions as F
from pyspark.sql import types as T
from sqlglot import exp

from sqlanon.errors import BrokenPromiseError
from sqlanon.pipeline.models import Asked, Sensitive, asked_of, homogeneous_sql
from sqlanon.pipeline.promises import TIED, Promise
from sqlanon.pipeline.proof import Proof
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import say_homogeneous
from sqlanon.spark.encoding import Coded, column, comparable
from sqlanon.spark.workers import reached as reached_by
from sqlanon.sqltext import fresh_name
from sqlanon.udfs.models import MODELS, Closeness, Model, OrderedCloseness
from sqlanon.udfs.problem import Tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sqlanon.spark.desk import Desk

MANY = 50_000
"""Cells of a class and a value that are looked at together."""


def as_spark(sql: str) -> str:
    """A check of ours in Spark's dialect. What is grouped by is written out, as not every Spark knows GROUP BY ALL."""
    query = sqlglot.parse_one(sql, read="duckdb")
    for select in query.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.args.get("all"):
            plain = [one.unalias() for one in select.expressions if one.find(exp.AggFunc) is None]
            select.set("group", exp.Group(expressions=[one.copy() for one in plain]))
    return str(query.sql(dialect="spark"))


def binary(frame: DataFrame) -> DataFrame:
    """The rows with text that differs wherever its bytes do, whatever its collation."""
    fields = frame.schema.fields
    if not any(getattr(each.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY" for each in fields):
        return frame
    return frame.select(*(comparable(each.name, each.dataType).alias(each.name) for each in fields))


@contextmanager
def viewed(frame: DataFrame) -> Iterator[str]:
    """A name by which a query reads the rows."""
    name = fresh_name("rows")
    binary(frame).createOrReplaceTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def one_row(frame: DataFrame, sql: str) -> tuple[Any, ...]:
    """The row that a check answers with."""
    return tuple(frame.sparkSession.sql(as_spark(sql)).collect()[0])


def prove(frame: DataFrame, promise: Promise, policy: Policy, desk: Desk, sensitive: Sequence[Sensitive]) -> Proof:
    """What holds of released rows; BrokenPromiseError if that is less than the policy asks for."""
    with viewed(frame) as view:
        smallest, classes, rows = one_row(frame, promise.proof(view))
        if smallest is None or smallest < policy.k:
            raise BrokenPromiseError(f"{promise.kind.shortfall.format(smallest or 0)}, k is {policy.k}")
        linked_k = None
        if promise.entity is not None:
            linked_k = linked(frame, promise.printed, promise.entity)
            if promise.is_tied and linked_k < policy.k:
                raise BrokenPromiseError(f"{TIED[0]}{linked_k}{TIED[1].format(entity=policy.entity, k=policy.k)}")
        models: dict[str, dict[str, float | None]] = {}
        for asked, one in asked_of(policy, sensitive, promise.kind.measured, promise.entity is not None):
            found = reached(frame, view, promise, asked, one, desk)
            if not asked.holds(found):
                before, after = asked.shortfall
                raise BrokenPromiseError(f"{before}{found:g}{after.format(one.column)}")
            models.setdefault(asked.name, {})[one.column] = found
    return Proof(promise.kind.property, int(smallest), int(classes), int(rows), models, linked_k=linked_k)


def warn_of_homogeneous(frame: DataFrame, printed: Sequence[str], sensitive: Sequence[str], proof: Proof) -> None:
    """Say how many people's sensitive values can be read off, where nothing was asked to prevent it."""
    with viewed(frame) as view:
        for one in sensitive:
            classes, rows, overall = one_row(frame, homogeneous_sql(view, printed, one))
            say_homogeneous(one, int(classes), int(rows), float(overall), proof)


def reached(
    frame: DataFrame, view: str, promise: Promise, asked: Asked, sensitive: Sensitive, desk: Desk
) -> float | None:
    """What a sensitive column reaches of a model: by SQL, and by Python where classes are compared with the whole
    table, as that query would gather all classes in one task."""
    if MODELS[asked.name].is_relative:
        return _compared(frame, [*promise.printed, *sensitive.known], asked, sensitive, desk)
    assert promise.reached is not None
    (found,) = one_row(frame, promise.reached(view, asked, sensitive))
    return None if found is None else float(found)


def linked(frame: DataFrame, printed: Sequence[str], entity: str) -> int:
    """How many people share the rarest set of rows."""
    row = F.struct(*(column(name).alias(f"q{number}") for number, name in enumerate(printed, 1)))
    history = frame.groupBy(column(entity).alias("entity")).agg(F.sort_array(F.collect_list(row)).alias("history"))
    people = history.groupBy("history").agg(F.count(F.lit(1)).alias("people"))
    return int(people.agg(F.min("people").alias("least")).collect()[0]["least"])


def _compared(frame: DataFrame, classes: Sequence[str], asked: Asked, sensitive: Sensitive, desk: Desk) -> float | None:
    """How far the values of the worst class are from those of all rows."""
    kinds = {each.name: each.dataType for each in frame.schema.fields}
    names = tuple(f"q{number}" for number in range(1, len(classes) + 1))
    value = comparable(sensitive.column, kinds[sensitive.column])
    keys = [comparable(c, kinds[c]).alias(q) for c, q in zip(classes, names, strict=True)]
    counted = frame.select(*keys, value.alias("v")).groupBy(*names, "v").agg(F.count(F.lit(1)).alias("n"))
    sums = counted.groupBy("v").agg(F.sum("n").alias("n")).toArrow()
    values = sums["v"].combine_chunks()
    if not len(values):
        return None
    is_tree = asked.name == "t" and sensitive.attribute is not None
    if is_tree and sensitive.attribute is not None:
        book, codes = desk.book(sensitive.attribute, values, may_be_empty=True)
        assert isinstance(book.attribute, Tree)
        levels = tuple(np.unique(nodes, return_inverse=True)[1] for nodes in book.attribute.path[1:])
        size = book.size
    else:
        codes = desk.codes(values)
        size = int(codes.max()) + 1
        levels = (np.arange(size),)
    held = np.bincount(codes, weights=sums["n"].to_numpy(), minlength=size)
    plain = (0.0, 0, sensitive.column, held / held.sum())
    if asked.name != "t":
        model: Model = MODELS[asked.name](*plain)
    else:
        model = (OrderedCloseness if sensitive.distance == "ordered" else Closeness)(*plain, levels)
    numbers = Coded("v", "code", kinds[sensitive.column], values, codes).frame(frame.sparkSession)
    cells = counted.join(F.broadcast(numbers), counted["v"].eqNullSafe(numbers["v_code"]), "left")
    parts = max(1, counted.count() // MANY)
    bucket = F.pmod(F.xxhash64(*names), F.lit(parts))
    texts = [F.col(q).cast("string").alias(q) for q in names]
    looked = cells.select(*texts, bucket.alias("bucket"), "code", "n").groupBy("bucket")
    found = looked.applyInArrow(reached_by(model, names), T.StructType([T.StructField("reached", T.DoubleType())]))
    worst = float(found.agg(F.max("reached").alias("reached")).collect()[0]["reached"])
    return round(worst, 10) if asked.name == "t" else worst
