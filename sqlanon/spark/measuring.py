"""What a release lost: Spark counts labels, values and classes, and the driver's DuckDB measures by the steps of sql/.

What must see source and release row by row is not measured here: divergence, ambiguity, and the information that
quasi-identifiers give about sensitive values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from sqlanon.catalog.releases import losses_sql
from sqlanon.engine.session import run, translate_errors
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.measures import PARTS, empty_sql, leaves_sql, measures_sql
from sqlanon.pipeline.readback import attribute_ctes, counts, known, label_sql
from sqlanon.reporting.columns import Column, column_from
from sqlanon.spark.desk import Desk
from sqlanon.spark.encoding import column
from sqlanon.spark.proving import as_spark, viewed
from sqlanon.spark.workers import Task
from sqlanon.sqltext import literal, name, render

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Measured:
    """What was measured: measures by name, what each column lost, what became of it, and the sizes of classes."""

    measures: dict[str, float]
    losses: dict[str, float]
    columns: tuple[Column, ...]
    sizes: tuple[tuple[int, int], ...]
    suppressed: int = 0
    """Rows that are released as * in every quasi-identifier."""
    sample: tuple[tuple[str, ...], ...] = field(default=(), repr=False)


def classes_in(released: DataFrame, desk: Desk) -> DataFrame:
    """What each class is released as, with how many rows it has: all that most measures look at."""
    printed = [column(out).alias(inside) for out, inside in _insides(desk.reading.attributes).items()]
    return (
        released.select(*printed)
        .groupBy(*_insides(desk.reading.attributes).values())
        .agg(F.count(F.lit(1)).alias("size"))
    )


def _insides(attributes: Sequence[Attribute]) -> dict[str, str]:
    """What released columns are called among the classes."""
    return {out: f"o{number}" for number, out in enumerate((out for a in attributes for out in a.output), 1)}


def measure(
    released: DataFrame, classes: DataFrame, tuples: DataFrame, task: Task, desk: Desk, left_out: int
) -> Measured:
    """What the rows of a release, in these classes, lost against the tuples of its source."""
    reading, policy = desk.reading, desk.policy
    with translate_errors():
        for number, attribute in enumerate(reading.attributes):
            _count_ranks(desk, attribute, tuples, task, number)
            _read_labels(desk, attribute, classes, left_out)
        sizes = _sizes(classes, reading.attributes, left_out)
        _keep(desk, "class_sizes", sizes)
        found = _diversities(released, desk, left_out)
        parts = {part: f"({empty_sql(part)})" for part in PARTS if part != "classes"}
        parts["labels"] = _union(f"select * exclude (lo, hi) from {known(a)}" for a in reading.attributes)
        parts["leaves"] = _union(leaves_sql(a) for a in reading.attributes)
        parts["classes"] = "(select *, cast(null as double) as combinations from class_sizes)"
        if found is not None:
            _keep(desk, "found_diversities", found)
            parts["diversities"] = "found_diversities"
        rows = run(desk.con, measures_sql(parts, str(policy.k), has_sensitive=found is not None))
        losses = dict(run(desk.con, losses_sql(parts["labels"])))
        columns = tuple(_column(desk, attribute) for attribute in reading.attributes)
    is_single = len(policy.sensitive) == 1
    measures = {m if c is None or is_single else f"{m}({c})": value for m, c, value in rows if value is not None}
    listed = sorted(zip(sizes["size"].to_pylist(), sizes["classes"].to_pylist(), strict=True))
    held = sizes.filter(pc.field("is_suppressed")) if sizes.num_rows else sizes
    gone = sum(held["size"].to_pylist()) - left_out
    return Measured(measures, losses, columns, tuple(listed), max(gone, 0), _sample(released))


def _union(queries: Any) -> str:
    return "(" + "\nunion all\n".join(queries) + ")"


def _keep(desk: Desk, table: str, rows: pa.Table) -> None:
    """A temporary table of the driver's DuckDB with these rows."""
    desk.con.register("counted_rows", rows)
    run(desk.con, f"create or replace temp table {table} as from counted_rows")
    desk.con.unregister("counted_rows")


def _count_ranks(desk: Desk, attribute: Attribute, tuples: DataFrame, task: Task, number: int) -> None:
    """Keep how many rows of the source have each rank of an attribute."""
    places = [(key, by, size) for key, parts in task.radix.items() for by, size in parts]
    key, by, size = places[number]
    rank = F.expr(f"({key} div {by}) % {size}").alias("rank")
    _keep(desk, counts(attribute), tuples.groupBy(rank).agg(F.sum("rows").alias("rows")).toArrow())


def _read_labels(desk: Desk, attribute: Attribute, classes: DataFrame, left_out: int) -> None:
    """Keep the released labels of an attribute with the ranks that each covers and what it loses."""
    insides = _insides(desk.reading.attributes)
    counted = classes.groupBy(*(insides[out] for out in attribute.output)).agg(F.sum("size").alias("rows")).toArrow()
    _keep(desk, "label_counts", counted.rename_columns([*attribute.output, "sqlanon rows"]))
    stars = f" union all select '*', {left_out}" if left_out else ""
    read = (
        f"select {label_sql(attribute)} as {attribute.labels}, {name('sqlanon rows')} as rows from label_counts{stars}"
    )
    run(
        desk.con,
        f"create or replace temp table printed as select {attribute.labels}, sum(rows)::bigint as copies "
        f"from ({read}) group by all",
    )
    (_, labels) = attribute_ctes(attribute, desk.reading.source)
    run(
        desk.con,
        f"create or replace temp table {known(attribute)} as select labels.* replace (printed.copies as rows) "
        f"from ({labels.body}) as labels join printed on printed.{attribute.labels} is not distinct from labels.label",
    )


def is_suppressed(attributes: Sequence[Attribute], named: Mapping[str, str]) -> SparkColumn:
    """Has a released row nothing but *? `named` says what its columns are called."""
    found = [[column(named[out]) for out in a.output] for a in attributes]
    stars = [each[1].isNull() if len(each) == 2 else F.coalesce(each[0] == "*", F.lit(False)) for each in found]
    return reduce(lambda x, y: x & y, stars)


def _sizes(classes: DataFrame, attributes: Sequence[Attribute], left_out: int) -> pa.Table:
    """How many classes there are of each size; rows that are left out count with the suppressed ones."""
    flagged = classes.select("size", is_suppressed(attributes, _insides(attributes)).alias("is_suppressed"))
    sizes = flagged.groupBy("size", "is_suppressed").agg(F.count(F.lit(1)).alias("classes")).toArrow()
    sizes = sizes.select(["size", "classes", "is_suppressed"])
    if not left_out:
        return sizes
    gone = np.array(sizes["is_suppressed"].to_pylist(), dtype=bool)
    size = np.array(sizes["size"].to_pylist(), dtype=np.int64)
    if not gone.any():
        more = pa.table({"size": [left_out], "classes": [1], "is_suppressed": [True]})
        return pa.concat_tables([sizes.cast(more.schema), more])
    return sizes.set_column(0, "size", pa.array(np.where(gone, size + left_out, size), pa.int64()))


def _diversities(released: DataFrame, desk: Desk, left_out: int) -> pa.Table | None:
    """A row for each sensitive column: how mixed its values are in the classes."""
    attributes = desk.reading.attributes
    sensitive = desk.reading.source.resolve_names(desk.policy.sensitive)
    if not sensitive:
        return None
    labels = [f"l{number}" for number in range(1, len(desk.reading.released) + 1)]
    found = []
    for value in sensitive:
        columns = [column(out).alias(label) for out, label in zip(desk.reading.released, labels, strict=True)]
        gone = is_suppressed(attributes, {out: out for out in desk.reading.released}).alias("is_gone")
        with viewed(released.select(*columns, gone, column(value).alias("value"))) as view:
            query = render(
                "steps/measure/diversities.sql",
                sensitive=literal(value),
                value="value",
                labels=", ".join([*labels, "is_gone"]),
                is_suppressed="is_gone",
            ).replace("from printed", f"from (select *, false as is_left_out from {view}) as printed")
            found.append(released.sparkSession.sql(as_spark(query)).toArrow())
    table = pa.concat_tables(found)
    place = table.schema.get_field_index("off_majority")
    more = pa.array([float(each or 0) + left_out for each in table["off_majority"].to_pylist()], pa.float64())
    return table.set_column(place, "off_majority", more)


def _column(desk: Desk, attribute: Attribute) -> Column:
    """What became of a column, for the report."""
    asked = {"counts": counts(attribute), "domain": attribute.domain, "nodes": attribute.nodes}
    query = render("steps/report/column.sql", **asked, labels=known(attribute))
    ((held, printed, nodes),) = run(desk.con, query)
    least = desk.policy.k if desk.policy.entity is None else math.inf  # rows of how many people is not counted here
    return column_from(attribute, (held or [], printed or [], nodes or []), least)


def _sample(released: DataFrame) -> tuple[tuple[str, ...], ...]:
    """A few released rows as text, below the names of their columns."""
    rows = released.limit(8).select(*(column(name).cast("string").alias(name) for name in released.columns)).collect()
    return (tuple(released.columns), *(tuple("NULL" if cell is None else cell for cell in row) for row in rows))
