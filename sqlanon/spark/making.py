"""Making a release on Spark: read, encode, cut, cluster, refine, assign, write, prove, measure; or nothing at all."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from sqlanon.engine.instances import key_named
from sqlanon.errors import BrokenPromiseError, DataError
from sqlanon.keys import key_of_token
from sqlanon.pipeline.printing import releasing
from sqlanon.pipeline.promises import classes_of
from sqlanon.pipeline.proof import Proof
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import entity_of
from sqlanon.releases.explaining import notes_of
from sqlanon.releases.identifiers import SAMPLE
from sqlanon.spark import assigning
from sqlanon.spark.asking import Asked, asked_of
from sqlanon.spark.cutting import Blocks, by_block, cut, leaves, with_block
from sqlanon.spark.desk import Desk, desk_of
from sqlanon.spark.encoding import Encoding, column, encode, named, needed, staged_columns, task_of
from sqlanon.spark.failures import in_our_words
from sqlanon.spark.measuring import classes_in, measure
from sqlanon.spark.proving import prove, warn_of_homogeneous
from sqlanon.spark.release import RELEASED, SparkRelease
from sqlanon.spark.staging import Staging, staging_of
from sqlanon.spark.suppressing import settled
from sqlanon.spark.workers import Task, cluster_block, columns_of, refine_block
from sqlanon.statements.connection import connect
from sqlanon.udfs.problem import LEFT_OUT, SUPPRESSED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMED = ("cells", "tuples", "entries", "refined", "dealt")
"""The steps from which groups are made."""


def anonymize(
    df: DataFrame,
    quasi: Any = None,
    k: int | None = None,
    *,
    policy: Policy | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    define: Mapping[str, Mapping[str, Any]] | None = None,
    staging: str | None = None,
    staging_table: str | None = None,
    key: bytes | None = None,
    **options: Any,
) -> SparkRelease:
    """Anonymize a Spark DataFrame and return the verified release, whose `df` reads the rows that were written.

    The policy is given as options, as in `sqlanon.anonymize`, or as a Policy. `hierarchies` maps a column to how its
    hierarchy is made, with the options of `create_hierarchy` ({"prefix": True}, {"csv": "zip.csv"}), to the name of one
    in `define`, or to None. Steps are kept in `staging`, a folder that driver and workers reach, or as tables in the
    schema `staging_table`; all but the release's are removed afterwards, and all if it fails. `key` is for
    `pseudonymize`. The same seed gives the same groups, however the rows are partitioned.
    """
    asked = asked_of(policy, {"quasi": quasi, "k": k, **options}, hierarchies, define)
    place = staging_of(df.sparkSession, staging, staging_table)
    named(df, asked.policy)

    def made() -> SparkRelease:
        with ExitStack() as stack:
            return Making(df, asked, place, stack).make(key)

    try:
        return in_our_words("making the release", made)
    except BaseException:
        with suppress(Exception):  # what cannot be removed now must not hide why
            place.drop()
        raise


@dataclass(frozen=True)
class Made:
    """The groups: a row for each tuple and group, with labels. `is_split` says that a tuple's may come in parts."""

    entries: DataFrame
    is_split: bool


@dataclass(frozen=True)
class Formed:
    """Groups, with all that they were made from; the salt decides how rows that several share are dealt out."""

    desk: Desk
    encoding: Encoding
    cells: DataFrame
    tuples: DataFrame
    task: Task
    made: Made
    salt: str

    @property
    def leaves_out(self) -> bool:
        """Are there rows that are not released?"""
        may_be = self.task.request.max_suppression is not None
        return may_be and bool(self.made.entries.where(f"grp = {LEFT_OUT}").limit(1).count())


@dataclass(frozen=True)
class Making:
    """One release in the making."""

    df: DataFrame
    asked: Asked
    staging: Staging
    stack: ExitStack

    @property
    def policy(self) -> Policy:
        """What the release is asked to be."""
        return self.asked.policy

    def make(self, key: bytes | None) -> SparkRelease:
        """All steps, one after another."""
        read = needed(self.df, self.policy, self._key(key))
        zone = str(self.df.sparkSession.conf.get("spark.sql.session.timeZone"))
        first = read.limit(SAMPLE).toArrow()
        desk = self.stack.enter_context(desk_of(self.policy, self.asked.define, first, zone))
        desk.refuse_identifiers()
        releasing(desk.reading, desk.columns)  # refuses two columns of one name
        staged = self.staging.keep(read.select(*staged_columns(read, desk)), "source")
        formed = self._form(staged, desk)
        rows = formed.encoding.rows
        if formed.leaves_out:
            formed = self._without_left_out(formed)
        whole = self._assign(formed)
        return self._prove(whole, formed, rows, desk, read, zone)

    def _form(self, staged: DataFrame, desk: Desk) -> Formed:
        """The groups of staged rows, in the numbers of their own values."""
        encoding = encode(staged, desk)
        kept = list(desk.columns.kept.values())
        cells = self.staging.keep(encoding.cells_of(staged, kept), "cells")
        self.staging.drop("source", "rest")
        counted = cells.groupBy(*encoding.ids).agg(F.sum("rows").alias("rows"))
        tuples = self.staging.keep(counted, "tuples") if kept else cells
        count = _complete(tuples, encoding)
        task = task_of(desk, encoding, tuples, count, self._seed())
        made = self._cluster(tuples, task, cut(tuples, task, count))
        made = replace(made, entries=settled(made.entries, task))
        return Formed(desk, encoding, cells, tuples, task, made, secrets.token_hex(32))

    def _without_left_out(self, formed: Formed) -> Formed:
        """The groups of the rows that are not left out: labels, groups and losses would tell the values of the others,
        as they depend on the whole domain. All rows that were suppressed were left out then, and none is now."""
        keys = {key: f"of_{key}" for key in formed.encoding.radix}
        entries = formed.made.entries.withColumns({of: F.col(key) for key, of in keys.items()})
        rest = self._dealt(replace(formed, made=replace(formed.made, entries=entries)), list(keys.values()))
        rest = self.staging.keep(assigning.spread_out(formed.encoding.decoded(rest, keys)), "rest")
        self.staging.drop(*FORMED)
        policy = replace(formed.desk.policy, max_suppression=None)
        return self._form(rest, replace(formed.desk, policy=policy))

    def _key(self, key: bytes | None) -> bytes | None:
        """The key of pseudonyms: this one, or the environment's."""
        if not self.policy.pseudonymize:
            return None
        with connect() as connection, key_named(connection.duckdb, True, key) as token:
            assert token is not None
            return key_of_token(token)

    def _seed(self) -> int:
        """The seed of all random numbers: a secret one where none is given and groups may depend on values."""
        if self.policy.seed is None and self.policy.sees_sensitive:
            return secrets.randbits(62)
        return self.policy.seed or 0

    def _cluster(self, tuples: DataFrame, task: Task, blocks: Blocks) -> Made:
        """The groups of every block, refined across the seams of blocks."""
        is_whole = blocks.count == 1
        placed = by_block(with_block(tuples, task, blocks.rule, "block"), blocks.count, "block")
        work = cluster_block(task, blocks.other, is_whole)
        found = placed.groupBy("block").applyInArrow(work, columns_of(task, blocks.other is None))
        entries = self.staging.keep(found, "entries")
        _refuse_failed(entries)
        if blocks.other is None:
            return Made(entries, is_split=False)
        parts = len(leaves(blocks.other))
        inner = by_block(entries.where(f"grp > {SUPPRESSED}"), parts, "part2")
        refined = inner.groupBy("part2").applyInArrow(refine_block(task), columns_of(task, True))
        given_up = entries.where(f"grp = {SUPPRESSED}").withColumn("part", F.lit(-1).cast("bigint"))
        for number, book in enumerate(task.books, 1):
            for name in (f"lo{number}", f"hi{number}") if book.is_pair else (f"p{number}",):
                empty = F.lit(None).cast("bigint") if book.is_pair else F.lit("*")
                given_up = given_up.withColumn(name, empty)
        both = self.staging.keep(refined.unionByName(given_up.select(*refined.columns)), "refined")
        _refuse_failed(both)
        return Made(both, is_split=True)

    def _assign(self, formed: Formed) -> DataFrame:
        """The rows of the release, with what is hidden of each, and how many there are of each."""
        labels = [
            name
            for number, book in enumerate(formed.encoding.books, 1)
            for name in ((f"lo{number}", f"hi{number}") if book.is_pair else (f"p{number}",))
        ]
        return assigning.with_pairs(self._dealt(formed, labels), formed.desk, formed.encoding)

    def _dealt(self, formed: Formed, labels: list[str]) -> DataFrame:
        """The rows that are not left out, with these columns of their groups."""
        kept, entries = list(formed.desk.columns.kept.values()), formed.made.entries
        if kept:
            found = assigning.dealt(entries, formed.encoding, labels, formed.made.is_split)
            entries = self.staging.keep(found, "dealt")
        return assigning.assign(formed.cells, entries, formed.encoding, kept, labels, formed.salt)

    def _prove(
        self, whole: DataFrame, formed: Formed, rows: int, desk: Desk, read: DataFrame, zone: str
    ) -> SparkRelease:
        """Write the rows, read them back, and prove and measure what was read."""
        hidden = [desk.columns.kept[name] for name in desk.columns.hidden]
        printed, sensitive = desk.reading.released, desk.reading.sensitive
        proof: Proof | None = None
        if hidden:
            whole = self.staging.keep(assigning.spread_out(whole), "whole")
            promise = classes_of(self.policy, printed, desk.columns.entity)
            proof = prove(assigning.outputs(whole, desk, read.schema), promise, self.policy, desk, sensitive)
            whole = whole.drop(*hidden)
        ordered = assigning.shuffled(whole, rows, formed.salt)
        written = self.staging.keep(assigning.outputs(ordered, desk, read.schema), RELEASED)
        released = written.select(*(column(name) for name in written.columns[:-1]))  # the last is their order
        entity = entity_of(released.columns, self.policy)
        again = prove(released, classes_of(self.policy, printed, entity), self.policy, desk, sensitive)
        proof = proof or again
        left_out = rows - again.rows
        if again.rows != proof.rows or left_out < 0 or (left_out and not self.policy.may_drop):
            raise BrokenPromiseError(f"{again.rows:,} rows would be released of {rows:,}: nothing is released")
        if self.policy.may_drop:
            proof = replace(proof, left_out=left_out)
        if not self.policy.models:
            warn_of_homogeneous(released, printed, [one.column for one in sensitive], proof)
        classes = self.staging.keep(classes_in(released, desk), "classes")
        measured = measure(released, classes, formed.tuples, formed.task, formed.desk, left_out)
        self.staging.drop(*FORMED, "whole", "classes")
        return SparkRelease(
            df=released,
            policy=self.policy,
            proof=proof,
            printed=printed,
            measured=measured,
            staging=self.staging,
            define=self.asked.define,
            empty=read.limit(0).toArrow(),
            zone=zone,
            rows=rows,
            notes=notes_of(desk.reading),
        )


def _complete(tuples: DataFrame, encoding: Encoding) -> int:
    """How many tuples there are; an error if not every row of the source is in one of them."""
    lost = [F.sum(F.col(name).isNull().cast("int")).alias(f"lost_{name}") for name in encoding.ids]
    found = tuples.agg(F.count(F.lit(1)).alias("tuples"), F.sum("rows").alias("rows"), *lost).collect()[0].asDict()
    if found["rows"] != encoding.rows or any(found[f"lost_{name}"] for name in encoding.ids):
        raise DataError("Some values of the source are not found again, such as NaN: replace them, for example by NULL")
    return int(found["tuples"])


def _refuse_failed(entries: DataFrame) -> None:
    """Raise what a worker said."""
    said = entries.agg(F.min("error").alias("error")).collect()[0]["error"]
    if said is not None:
        raise DataError(said)
