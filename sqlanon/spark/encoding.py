"""From the user's DataFrame to tuples of ranks: the source is read once and staged, its domains go to the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlanon.errors import DataError, PolicyError
from sqlanon.pipeline.guard import nearly_unique, nobody, too_few
from sqlanon.pipeline.plan import request_of
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.spark.desk import SOURCE, Desk
from sqlanon.spark.workers import Book, Task, pseudonymize
from sqlanon.udfs.problem import Ints

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_VALUES = 1_000_000
"""Distinct values that a column may have: they all pass through the driver."""
PACKED = 1 << 62
"""Ranks are packed into one number as long as it stays below this."""
BINARY = "UTF8_BINARY"
WHO = "who"
"""The column that tells people apart, where they are counted."""
TEXTS = (T.StringType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.DecimalType, T.DateType, T.BooleanType)
"""What Spark and DuckDB write in the same way."""


def column(name: str) -> Column:
    """A column by its exact name, dots and all."""
    return F.col("`" + name.replace("`", "``") + "`")


def named(frame: DataFrame, policy: Policy) -> Source:
    """The DataFrame's columns, which know how names are looked up; their types are not known yet."""
    source = Source(SOURCE, SOURCE, dict.fromkeys(frame.columns, ""))
    for role in ("quasi", "sensitive", "keep", "unsafe_keep", "pseudonymize"):
        source.resolve_names(getattr(policy, role))
    return source


def needed(frame: DataFrame, policy: Policy, key: bytes | None) -> DataFrame:
    """The columns that have a role, in their order, with pseudonyms in place of what is to be pseudonymized."""
    source = named(frame, policy)
    roles = (*policy.quasi, *policy.sensitive, *policy.keep, *policy.unsafe_keep, *policy.pseudonymize)
    asked = set(source.resolve_names([*roles, *([policy.entity] if policy.entity is not None else [])]))
    found = frame.select(*(column(name) for name in frame.columns if name in asked))
    hidden = source.resolve_names(policy.pseudonymize)
    if not hidden or key is None:
        return found
    fields = {each.name: each for each in found.schema.fields}
    for name in hidden:
        if not isinstance(fields[name].dataType, TEXTS):
            raise PolicyError(f"Column '{name}' cannot be pseudonymized on Spark: cast it to text in the source")
    texts = found.select(*(column(n).cast("string").alias(n) if n in hidden else column(n) for n in found.columns))
    return texts.mapInArrow(pseudonymize(tuple(hidden), key), texts.schema)


def collation(kind: T.DataType) -> str | None:
    """The collation of a text that is not compared by its bytes."""
    found = getattr(kind, "collation", BINARY)
    return found if isinstance(kind, T.StringType) and found != BINARY else None


def by_bytes(name: str, kind: T.DataType) -> Column:
    """A column whose texts are equal only if their bytes are, whatever its collation holds equal."""
    return F.collate(column(name), BINARY) if collation(kind) else column(name)


def comparable(name: str, kind: T.DataType) -> Column:
    """A column that two rows have in common only if their values are the same to DuckDB: text by its bytes, and 0 for
    -0."""
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        found = column(name)
        return F.when(found == 0, F.lit(0.0).cast(kind)).otherwise(found)
    return by_bytes(name, kind)


def staged_columns(frame: DataFrame, desk: Desk) -> list[Column]:
    """The source's columns by their names inside: quasi-identifiers, then what is kept or looked at."""
    kinds = {each.name: each.dataType for each in frame.schema.fields}
    read = [comparable(a.column, kinds[a.column]).alias(a.value) for a in desk.reading.attributes]
    return read + [by_bytes(name, kinds[name]).alias(inside) for name, inside in desk.columns.kept.items()]


@dataclass(frozen=True)
class Coded:
    """A column whose values have numbers: its values, the number of each, and the column that gets it."""

    read: str
    number: str
    kind: T.DataType
    values: pa.Array
    numbers: Ints

    def frame(self, spark: Any) -> DataFrame:
        """The numbers as a DataFrame, to be joined."""
        kind = T.StringType() if isinstance(self.kind, T.StringType) else self.kind  # whatever its collation
        schema = T.StructType([T.StructField(f"v_{self.number}", kind), T.StructField(self.number, T.LongType())])
        table = pa.table({f"v_{self.number}": self.values, self.number: pa.array(self.numbers, pa.int64())})
        return spark.createDataFrame(table, schema=schema)


@dataclass(frozen=True)
class Encoding:
    """How rows become tuples: the numbers of values, and how ranks are packed into keys."""

    coded: tuple[Coded, ...]
    books: tuple[Book, ...]
    radix: Mapping[str, tuple[tuple[int, int], ...]]
    codes: tuple[str, ...]
    trees: Mapping[str, Book]
    """The trees of sensitive columns whose distance is one, by the names of their codes."""
    entity: str | None
    rows: int

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that make a tuple."""
        return (*self.radix, *self.codes, *((WHO,) if self.entity else ()))

    def cells_of(self, staged: DataFrame, kept: Sequence[str]) -> DataFrame:
        """The rows of the source as their tuples, with the columns that are kept: those that are alike as one, with how
        many `rows` they are."""
        found = staged
        for one in self.coded:
            numbers = one.frame(staged.sparkSession)
            same = comparable(one.read, one.kind).eqNullSafe(numbers[f"v_{one.number}"])
            found = found.join(F.broadcast(numbers), same, "left").drop(f"v_{one.number}")
        ranks = iter(range(1, len(self.books) + 1))
        keys = [
            reduce(lambda x, y: x + y, [F.col(f"r{next(ranks)}") * F.lit(multiplier) for multiplier, _ in parts]).alias(
                key
            )
            for key, parts in self.radix.items()
        ]
        people = [F.xxhash64(column(self.entity)).alias(WHO)] if self.entity else []
        found = found.select(*keys, *self.codes, *people, *kept)
        return found.groupBy(*self.ids, *kept).agg(F.count(F.lit(1)).alias("rows"))

    def decoded(self, rows: DataFrame, keys: Mapping[str, str]) -> DataFrame:
        """The rows of tuples with a value of each rank again, as they were staged. `keys` says what keys are called."""
        places = [(keys[key], by, size) for key, parts in self.radix.items() for by, size in parts]
        for one, (key, by, size) in zip(self.coded, places, strict=False):  # sensitive columns are kept as they are
            numbers, first = np.unique(one.numbers, return_index=True)
            values = replace(one, values=one.values.take(pa.array(first)), numbers=numbers).frame(rows.sparkSession)
            found = F.expr(f"({key} div {by}) % {size}") == values[one.number]
            rows = rows.join(F.broadcast(values), found, "left").drop(one.number)
            rows = rows.withColumnRenamed(f"v_{one.number}", one.read)
        return rows.drop(*keys.values())


def encode(staged: DataFrame, desk: Desk) -> Encoding:
    """The numbers of all values, made by the driver from the distinct ones."""
    reading, columns = desk.reading, desk.columns
    coded_kinds = {each.name: each.dataType for each in staged.schema.fields}
    entity = None if columns.entity is None else columns.kept[columns.entity]
    seen = [name for name in columns.seen if name != entity]
    read = [attribute.value for attribute in reading.attributes]
    rows = _counted(staged, desk)
    shown = {a.value: a.column for a in reading.attributes} | {inside: name for name, inside in columns.kept.items()}
    values = {name: _values(staged, name, coded_kinds[name], shown[name]) for name in (*read, *seen)}
    coded, books, trees = [], [], {}
    for attribute in reading.attributes:
        book, ranks = desk.book(attribute, values[attribute.value])
        books.append(book)
        kind = coded_kinds[attribute.value]
        coded.append(Coded(attribute.value, attribute.rank, kind, values[attribute.value], ranks))
    by_tree = {tree.value: tree for tree in columns.trees}
    for number, name in enumerate(seen, 1):
        if (tree := by_tree.get(name)) is not None:
            trees[f"s{number}"], codes = desk.book(tree, values[name], may_be_empty=True)
        else:
            codes = desk.codes(values[name])
        coded.append(Coded(name, f"s{number}", coded_kinds[name], values[name], codes))
    codes_of = tuple(f"s{number}" for number in range(1, len(seen) + 1))
    return Encoding(tuple(coded), tuple(books), _radix(books), codes_of, trees, entity, rows)


def _counted(staged: DataFrame, desk: Desk) -> int:
    """How many rows there are; an error in words where the data stand in the way."""
    policy, columns, source = desk.policy, desk.columns, desk.reading.source
    keep = {name: columns.kept[name] for name in source.resolve_names(policy.keep)}
    counts = [F.count_distinct(F.col(inside)).alias(f"k_{inside}") for inside in keep.values()]
    if columns.entity is not None:
        counts.append(F.count(F.col(columns.kept[columns.entity])).alias("people"))
    found = staged.agg(F.count(F.lit(1)).alias("rows"), *counts).collect()[0].asDict()
    rows = int(found["rows"])
    if not rows:
        raise DataError("The source has no rows.")
    if rows < policy.k:
        raise DataError(too_few(policy.k, "source", rows))
    for name, inside in keep.items():
        if 2 * found[f"k_{inside}"] > rows:
            raise DataError(nearly_unique(name))
    if columns.entity is not None and found["people"] < rows:
        raise DataError(nobody(columns.entity))
    return rows


def _values(staged: DataFrame, name: str, kind: T.DataType, shown: str) -> pa.Array:
    """The distinct values of a column, NULL among them. One column at a time: a sum over one column is compiled, a set
    for each of them all is not, and no more values than are allowed ever reach the driver."""
    found = staged.select(comparable(name, kind).alias("value")).distinct().limit(MOST_VALUES + 1).toArrow()
    if found.num_rows > MOST_VALUES:
        raise DataError(
            f"Column '{shown}' has more than {MOST_VALUES:,} different values, which is too many for Spark's driver: "
            f"round them in the source, such as timestamps to days"
        )
    return found["value"].combine_chunks()


def _radix(books: Sequence[Book]) -> dict[str, tuple[tuple[int, int], ...]]:
    """The multiplier and size of each rank, in as few keys as hold them all."""
    keys: list[list[tuple[int, int]]] = [[]]
    product = 1
    for book in books:
        if product * book.size >= PACKED:
            keys.append([])
            product = 1
        keys[-1].append((product, book.size))
        product *= book.size
    return {f"key{number}": tuple(parts) for number, parts in enumerate(keys, 1)}


def task_of(desk: Desk, encoding: Encoding, tuples: DataFrame, count: int, seed: int) -> Task:
    """What workers are told, with the shares of the whole table's sensitive values."""
    shares = []
    by_code = {one.number: one for one in encoding.coded}
    for code in encoding.codes:
        size = encoding.trees[code].size if code in encoding.trees else int(by_code[code].numbers.max()) + 1
        held = np.zeros(size)
        for row in tuples.groupBy(code).agg(F.sum("rows").alias("rows")).collect():
            held[row[code]] = row["rows"]
        shares.append(held / held.sum())
    request = request_of(desk.reading)
    distances: list[Any] = []
    for code, distance in zip(encoding.codes, request.distances, strict=True):
        distances.append(encoding.trees[code].nodes if code in encoding.trees else distance)
    return Task(
        request=request,
        books=encoding.books,
        radix=dict(encoding.radix),
        codes=encoding.codes,
        who=WHO if encoding.entity else None,
        shares=tuple(shares),
        distances=tuple(distances),
        seed=seed,
        tuples=count,
    )
