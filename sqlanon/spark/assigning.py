"""From groups to released rows: each row of the source gets the labels of its group.

Rows that are alike in their tuple and in all columns that are kept are a cell, with a number of rows; cells become rows
again when the release is written. The cells of a tuple that one group has are joined with it. The rows of those that
several groups share are dealt out by a keyed hash with a secret salt: as good as at random, and a task that Spark runs
again finds the same. No row has a number of its own on Spark, so the rows of a cell are numbered. A tuple with very
many rows is dealt in buckets, so that no task sees all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlanon.spark.desk import Desk
from sqlanon.spark.encoding import Encoding, collation, column
from sqlanon.sqltext import fold
from sqlanon.udfs.problem import LEFT_OUT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BUCKET = 50_000
"""Rows that are put in order together."""
STRETCH = 4_096
"""Rows that one row becomes at a time when counts are spread out."""
COPIES = "copies"
"""The column that says how many rows are alike."""
ORDER = "sqlanon_order"
"""The column with the number of a row in the random order."""
FILE = 2_000_000
"""Rows of a file of the release."""


def dealt(entries: DataFrame, encoding: Encoding, labels: Sequence[str], is_split: bool) -> DataFrame:
    """The entries with how many rows of their tuple there are in all, and where theirs begin. `is_split` says that the
    groups of a tuple may come from several parts."""
    ids = list(encoding.ids)
    parts = entries.groupBy(*ids, "part").agg(F.sum("rows").alias("held"), F.count(F.lit(1)).alias("entries"))
    same = Window.partitionBy(*ids)
    if is_split:
        before = same.orderBy("part").rowsBetween(Window.unboundedPreceding, -1)
        parts = parts.select(
            *ids,
            "part",
            F.coalesce(F.sum("held").over(before), F.lit(0)).alias("offset"),
            F.sum("held").over(same).alias("total"),
            F.sum("entries").over(same).alias("several"),
        )
    else:
        counted = (F.col("held").alias("total"), F.col("entries").alias("several"))
        parts = parts.select(*ids, "part", F.lit(0).cast("bigint").alias("offset"), *counted)
    return entries.join(parts, [*ids, "part"]).select(
        *ids, "grp", "rows", (F.col("first") + F.col("offset")).alias("first"), "total", "several", *labels
    )


def assign(
    cells: DataFrame, entries: DataFrame, encoding: Encoding, kept: Sequence[str], labels: Sequence[str], salt: str
) -> DataFrame:
    """The rows of the release, with the columns that are kept, the labels, and how many rows are alike; those of
    LEFT_OUT are left out. Where nothing is kept, the rows of a tuple are all alike, and nobody is dealt out."""
    ids = list(encoding.ids)
    printed = entries.where(f"grp > {LEFT_OUT}")
    if not kept:
        return printed.select(*labels, F.col("rows").alias(COPIES))
    alone = printed.where("several = 1").select(*ids, *labels)
    plain = cells.join(alone, ids).select(*kept, *labels, F.col("rows").alias(COPIES))
    shared = entries.where("several > 1")
    if shared.limit(1).count() == 0:
        return plain
    tuples = shared.groupBy(*ids).agg(F.max("total").alias("total"))
    single = _spread(cells.join(tuples, ids), F.lit(0), F.col("rows"), "place", [*ids, "total", *kept])
    turns = _turns(single, ids, kept, salt)
    places = _spread(shared.where(f"grp > {LEFT_OUT}"), F.col("first"), F.col("rows"), "turn", [*ids, *labels])
    found = turns.join(places, [*ids, "turn"]).select(*kept, *labels, F.lit(1).cast("bigint").alias(COPIES))
    return plain.unionByName(found)


def spread_out(rows: DataFrame) -> DataFrame:
    """The rows, each as often as there are rows that are alike."""
    columns = [name for name in rows.columns if name != COPIES]
    return _spread(rows, F.lit(1), F.col(COPIES), "place", columns).drop("place")


def _spread(frame: DataFrame, first: Column, rows: Column, number: str, columns: Sequence[str]) -> DataFrame:
    """Each row this many times, numbered from the first; in stretches, so that no list is long."""
    named = frame.select(*columns, first.cast("bigint").alias("begin"), (first + rows - 1).cast("bigint").alias("end"))
    stretch = F.explode(F.sequence(F.lit(0).cast("bigint"), F.floor((F.col("end") - F.col("begin")) / STRETCH)))
    parts = named.select(*columns, "begin", "end", stretch.alias("stretch"))
    begin = F.col("begin") + F.col("stretch") * STRETCH
    every = F.explode(F.sequence(begin, F.least(F.col("end"), begin + (STRETCH - 1))))
    return parts.select(*columns, every.alias(number))


def _turns(rows: DataFrame, ids: Sequence[str], kept: Sequence[str], salt: str) -> DataFrame:
    """The rows of shared tuples with their turn in an order that only the salt decides."""
    alike = F.xxhash64(*(column(name) for name in kept)) if kept else F.lit(0)
    told = [
        F.lit(salt),
        *(F.col(name).cast("string") for name in ids),
        alike.cast("string"),
        F.col("place").cast("string"),
    ]
    drawn = rows.withColumn("chance", F.sha2(F.concat_ws("|", *told), 256))
    buckets = F.ceil(F.col("total") / BUCKET).cast("bigint")
    drawn = drawn.withColumn("bucket", F.pmod(F.xxhash64(F.col("chance")), buckets))
    sizes = drawn.groupBy(*ids, "bucket").agg(F.count(F.lit(1)).alias("held"))
    before = Window.partitionBy(*ids).orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1)
    sizes = sizes.select(*ids, "bucket", F.coalesce(F.sum("held").over(before), F.lit(0)).alias("offset"))
    inside = F.row_number().over(Window.partitionBy(*ids, "bucket").orderBy("chance"))
    numbered = drawn.withColumn("inside", inside).join(sizes, [*ids, "bucket"])
    return numbered.select(*ids, *kept, (F.col("offset") + F.col("inside") - 1).alias("turn"))


def with_pairs(rows: DataFrame, desk: Desk, encoding: Encoding) -> DataFrame:
    """The rows with the typed ends of ranges that are released as two columns; NULL where one ends at NULL."""
    for attribute, coded in zip(desk.reading.attributes, encoding.coded, strict=False):
        if len(attribute.printed) != 2:
            continue
        values = coded.frame(rows.sparkSession)
        for end, printed in zip(("lo", "hi"), attribute.printed, strict=True):
            ends = values.select(F.col(coded.number).alias(f"{end}_rank"), F.col(f"v_{coded.number}").alias(printed))
            found = rows[f"{end}{attribute.number}"] == ends[f"{end}_rank"]
            rows = rows.join(F.broadcast(ends), found, "left").drop(f"{end}_rank")
        smallest, largest = (F.col(printed) for printed in attribute.printed)
        rows = rows.withColumn(attribute.printed[0], F.when(largest.isNotNull(), smallest))
    return rows


def shuffled(rows: DataFrame, count: int, salt: str) -> DataFrame:
    """The rows in a random order, with their number in it: by a keyed hash of what is released. Rows that are alike
    stay together, which tells no more than that they are alike, so that they are put in order as one and spread out
    afterwards. A task that Spark runs again finds the order again.

    The number is written too and dropped when the rows are read: an order that no column needs is not kept by every
    Spark when it writes.
    """
    chance = F.xxhash64(F.lit(salt), *(name for name in rows.columns if name != COPIES))
    files = max(1, -(-count // FILE))
    window = Window.partitionBy(F.pmod(chance, F.lit(files))).orderBy(chance)
    ordered = rows.withColumn(ORDER, F.row_number().over(window))
    return spread_out(ordered) if COPIES in rows.columns else ordered


def outputs(rows: DataFrame, desk: Desk, source: T.StructType) -> DataFrame:
    """The columns of the release in the source's order, by their own names and types; their order, if they have one,
    is the last."""
    attributes = {attribute.column: attribute for attribute in desk.reading.attributes}
    kept, there = desk.columns.kept, set(rows.columns)
    found: dict[str, Column] = {}
    for each in source.fields:
        if (attribute := attributes.get(each.name)) is not None:
            inside = attribute.printed if len(attribute.printed) == 2 else (f"p{attribute.number}",)
            found |= {out: column(one) for one, out in zip(inside, attribute.output, strict=True)}
        elif kept.get(each.name) in there:
            text = collation(each.dataType)
            one = column(kept[each.name])
            found[each.name] = F.collate(one, text) if text else one
    if ORDER in there:
        found[order_column(list(found))] = column(ORDER)
    return rows.select(*(one.alias(name) for name, one in found.items()))


def order_column(columns: Sequence[str]) -> str:
    """A name for the number of a row in the random order that no column has."""
    order = ORDER
    while any(fold(order) == fold(name) for name in columns):
        order += "_"
    return order
