"""The driver's DuckDB: from the distinct values of each column to ranks, trees and label texts, by the steps of sql/.

It holds domains, hierarchies and a small sample of rows, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.hierarchies import create_hierarchy
from sqlanon.engine.session import Session, run, translate_errors
from sqlanon.errors import DataError
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.cells import closing
from sqlanon.pipeline.encode import Columns
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.policy import Policy
from sqlanon.releases.identifiers import refuse_identifiers
from sqlanon.spark.workers import Book
from sqlanon.sqltext import literal, name
from sqlanon.statements.connection import connect
from sqlanon.udfs.problem import Ints, Tree

SOURCE = "source"
"""What the DataFrame is called in messages."""


@dataclass(frozen=True)
class Desk:
    """A database in memory with the hierarchies of a policy, and the first rows of its source."""

    con: Session
    policy: Policy

    @cached_property
    def catalog(self) -> Catalog:
        """Its schema anon."""
        return Catalog.of(self.con)

    @cached_property
    def reading(self) -> Reading:
        """What the policy reads, by the names and types of the DataFrame."""
        with translate_errors():
            return self.catalog.read(SOURCE, self.policy)

    @cached_property
    def columns(self) -> Columns:
        """What columns are called inside."""
        return Columns.of(self.reading)

    def refuse_identifiers(self) -> None:
        """Refuse columns whose first values look like identifiers."""
        with translate_errors():
            refuse_identifiers(self.con, self.reading.source, self.policy)

    def book(self, attribute: Attribute, values: pa.Array, may_be_empty: bool = False) -> tuple[Book, Ints]:
        """What workers know of an attribute with these distinct values, NULL among them, and the rank of each."""
        with translate_errors():
            self._encode(attribute, values)
            ranks = self._ranks(attribute, may_be_empty)
            return (self._line(attribute) if attribute.is_range else self._tree(attribute)), ranks

    def codes(self, values: pa.Array) -> Ints:
        """The number of each value in their order, NULL last."""
        with translate_errors(), self._values(values, "value"):
            found = self.con.execute(
                "select dense_rank() over (order by value nulls last) - 1 as code from numbered order by number"
            ).fetchnumpy()
        return np.asarray(found["code"]).astype(np.int64)

    @contextmanager
    def _values(self, values: pa.Array, column: str) -> Iterator[None]:
        table = pa.table({"number": pa.array(np.arange(len(values))), column: values})
        self.con.register("numbered", table)
        try:
            yield
        finally:
            self.con.unregister("numbered")

    def _encode(self, attribute: Attribute, values: pa.Array) -> None:
        """Make the attribute's domain and nodes, by the steps of the pipeline."""
        with self._values(values, attribute.value):
            read = f"number, {attribute.value}{attribute.collation} as {attribute.value}"
            run(self.con, f"create or replace temp table tuples as select {read} from numbered")
        for cte in attribute.ctes:
            run(self.con, f"create or replace temp table {cte.name} as {cte.body}")

    def _ranks(self, attribute: Attribute, may_be_empty: bool) -> Ints:
        value = f"tuples.{attribute.value}"
        joined = f"tuples left join {attribute.domain} as domain on domain.value is not distinct from"
        run(
            self.con,
            f"create or replace temp table ranked as select number, {value}, cast(domain.rank as bigint) as "
            f"{attribute.rank} from {joined} {attribute.key(value)}",
        )
        for place, (count, condition, message) in enumerate(attribute.guards(SOURCE)):
            if place == 0 and may_be_empty:
                continue  # a sensitive column may hold nothing but NULL
            said = message.replace("{count}", "counted")
            ((found,),) = run(
                self.con,
                f"select case when counted{condition} then {said} end from (select {count} as counted from ranked)",
            )
            if found is not None:
                raise DataError(_without_query(found))
        found = self.con.execute(f"select {attribute.rank} as rank from ranked order by number").fetchnumpy()
        return np.asarray(found["rank"]).astype(np.int64)

    def _line(self, attribute: Attribute) -> Book:
        place = self.con.execute(f"select place from {attribute.nodes} order by lo").fetchnumpy()["place"]
        place = np.ma.filled(np.ma.asarray(place).astype(np.float64), np.nan)
        ends = f"select rank, label as first, label as last from {attribute.domain}"
        if attribute.is_snapped:
            ends = f"select rank, first, last from {attribute.cells}"
        # NULL is nobody's text: it ends a range as nothing, which is released as *.
        text = (
            f"select case when domain.value is not null then ends.first end as first, "
            f"case when domain.value is not null then ends.last end as last, domain.label "
            f"from {attribute.domain} as domain join ({ends}) as ends on ends.rank = domain.rank order by domain.rank"
        )
        texts = self.con.sql(text).to_arrow_table()  # as Arrow: a million Python objects would be large
        first, last, alone = (texts[column].combine_chunks().cast(pa.string()) for column in range(3))
        return Book(
            size=len(texts),
            weight=attribute.weight,
            place=place,
            first=first,
            last=last,
            alone=alone if attribute.may_be_tight else None,
            is_snapped=attribute.is_snapped,
            separator=attribute.family.separator,
            closing=closing(attribute.family) if attribute.is_snapped else "]",
            is_pair=len(attribute.printed) == 2,
        )

    def _tree(self, attribute: Attribute) -> Book:
        rows = run(self.con, f"select lo, hi, level, label from {attribute.nodes} order by lo, hi, level, label")
        lo, hi, level = (np.array([row[part] for row in rows], dtype=np.int64) for part in range(3))
        order = np.lexsort((level, hi - lo))[::-1]  # as Tree has its nodes
        labels = pa.array([rows[place][3] for place in order], pa.string())
        tree = Tree(lo, hi, level)
        return Book(size=tree.leaves, weight=attribute.weight, nodes=(lo, hi, level), labels=labels)


def _without_query(message: str) -> str:
    """A message without the query that DuckDB's users would run next."""
    said, sees, _ = message.partition(": see them with ")
    return f"{said}." if sees else said


@contextmanager
def desk_of(policy: Policy, define: Mapping[str, Mapping[str, Any]], rows: pa.Table, zone: str) -> Iterator[Desk]:
    """A desk for a policy, with these hierarchies and the first rows of the source. Times are written in the zone."""
    with connect() as connection:
        con = connection.duckdb
        with translate_errors():
            run(con, f"set TimeZone = {literal(zone)}")
            con.register("first_rows", rows)
            run(con, f"create table {name(SOURCE)} as from first_rows")
            con.unregister("first_rows")
        for hierarchy, definition in define.items():
            create_hierarchy(con, hierarchy, **definition)
        yield Desk(con, policy)
