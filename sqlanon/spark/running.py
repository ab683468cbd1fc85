"""A policy file run on Spark, from a source to a target that appears whole or not at all."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from sqlanon.errors import CatalogError, PolicyError, replacing
from sqlanon.pipeline.promises import classes_of
from sqlanon.policy.job import Job
from sqlanon.privacy.proof import entity_of
from sqlanon.spark.failures import in_our_words
from sqlanon.spark.making import anonymize
from sqlanon.spark.proving import prove
from sqlanon.spark.release import SparkRelease
from sqlanon.spark.staging import delete, drop_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def session_of(url: str) -> SparkSession:
    """The session of a Spark Connect server, sc://host:15002, or of a Spark of its own, local[2]."""

    def opened() -> SparkSession:
        builder = SparkSession.builder
        return (builder.remote(url) if url.startswith("sc://") else builder.master(url)).getOrCreate()

    return in_our_words("connecting", opened)


def run_policy(
    session: SparkSession,
    job: Job,
    source: str,
    target: str,
    *,
    staging: str | None = None,
    staging_table: str | None = None,
    key: bytes | None = None,
    replace: bool = False,
) -> SparkRelease:
    """Anonymize a source under a policy file and write the release to the target, proved there again.

    Each is a table's name, or a folder of Parquet files if it has a slash. Steps are kept next to the target unless a
    staging is named.
    """
    if job.suggest:
        raise PolicyError("suggest is not available on Spark: draft with sqlanon hierarchy suggest, and define it")
    place = Target(session, target, replace)
    place.refuse_taken()
    if staging is None and staging_table is None:
        staging, staging_table = place.staging
    frame = in_our_words("reading the source", lambda: _read(session, source))
    release = anonymize(
        frame, policy=job.policy, define=job.define, staging=staging, staging_table=staging_table, key=key
    )
    try:
        in_our_words("writing the target", lambda: place.write(release))
    finally:
        with suppress(Exception):  # the target stands on its own, and a failure has its own reason
            release.discard()
    return release


def _read(session: SparkSession, source: str) -> DataFrame:
    found = session.read.parquet(source) if "/" in source else session.table(source)
    if not found.columns:  # Connect looks for the table only now, and Sail reads a folder that is not there
        raise CatalogError(f"There is nothing to read in '{source}'")
    return found


@dataclass(frozen=True)
class Target:
    """Where a release goes: a table, or a folder if its name has a slash."""

    session: SparkSession
    name: str
    replace: bool = False

    @property
    def is_folder(self) -> bool:
        """Is it a folder of files, not a table?"""
        return "/" in self.name

    @property
    def staging(self) -> tuple[str | None, str | None]:
        """The folder, or else the schema, that the target is in."""
        if self.is_folder:
            return self.name.rstrip("/").rpartition("/")[0] or "/", None
        schema = self.name.rpartition(".")[0]
        if not schema:
            raise PolicyError(f"Name the schema of '{self.name}', such as catalog.schema.{self.name}, or a --staging")
        return None, schema

    def refuse_taken(self) -> None:
        """Raise if the target is there and not to be replaced."""
        if self.is_folder and self.replace:
            raise PolicyError("A folder is not replaced: name a new one, and remove the old one")
        if not self.replace and in_our_words("looking for the target", self._exists):
            how = "name a new folder" if self.is_folder else f"to replace it, use {replacing()}"
            raise CatalogError(f"'{self.name}' already exists; {how}")

    def _exists(self) -> bool:
        if not self.is_folder:
            return bool(self.session.catalog.tableExists(self.name))
        if "://" not in self.name and Path(self.name).exists():
            return True
        with suppress(Exception):  # it is not there
            return bool(self.session.read.parquet(self.name).columns)
        return False

    def write(self, release: SparkRelease) -> None:
        """Write the rows, and prove them as they are read back from there; remove them if that fails."""
        if self.is_folder:
            self._write_folder(release)
        else:
            self._write_table(release)

    def _write_table(self, release: SparkRelease) -> None:
        writer = release.df.writeTo(self.name)
        is_written = False
        try:
            writer.createOrReplace() if self.replace else writer.create()
            is_written = True
            _prove(release, self.session.table(self.name))
        except BaseException:
            if is_written or not self.replace:  # until it is written, a table that is replaced stays what it was
                with suppress(Exception):
                    drop_table(self.session, self.name)
            raise

    def _write_folder(self, release: SparkRelease) -> None:
        folder, _, last = self.name.rstrip("/").rpartition("/")
        draft = f"{folder}/.{last}.{secrets.token_hex(6)}"
        try:
            release.df.write.parquet(draft)
            _prove(release, self.session.read.parquet(draft))
            _move(draft, self.name.rstrip("/"))
        except BaseException:
            delete(draft)
            raise


def _prove(release: SparkRelease, written: DataFrame) -> None:
    """What was proved of the release holds of the rows that were written."""
    promise = classes_of(release.policy, release.printed, entity_of(written.columns, release.policy))
    with release.desk() as desk:
        proof = prove(written, promise, release.policy, desk, desk.reading.sensitive)
    if proof.rows != release.proof.rows:
        raise CatalogError("The target does not have the rows that were written: it was removed")


def _move(draft: str, target: str) -> None:
    """Give a folder its name, in one step where the file system can."""
    from pyarrow import fs

    try:
        if "://" not in draft:
            Path(draft).rename(target)
            return
        system, inside = fs.FileSystem.from_uri(draft)
        _, place = fs.FileSystem.from_uri(target)
        system.move(inside, place)
    except (OSError, ValueError) as problem:
        raise CatalogError(f"'{target}' cannot be written from here ({type(problem).__name__}): name a table") from None
