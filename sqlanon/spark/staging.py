"""Where a run keeps its steps: files in a folder, or tables in a schema. Each is written, then read back."""

from __future__ import annotations

import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlanon.errors import PolicyError
from sqlanon.sqltext import split_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Staging(Protocol):
    """What a run needs of a place to keep its steps in."""

    def keep(self, frame: DataFrame, step: str) -> DataFrame:
        """Write the rows, and read them back: what follows does not compute them again."""

    def drop(self, *steps: str) -> None:
        """Remove these steps, or all."""


def staging_of(spark: SparkSession, folder: str | None, schema: str | None) -> Staging:
    """The place that the user named."""
    if (folder is None) == (schema is None):
        raise PolicyError(
            "Give either staging, a folder that Spark's workers can write to, or staging_table, a schema for tables: "
            "staging='s3://bucket/tmp' or staging_table='catalog.schema'"
        )
    run = f"sqlanon_{secrets.token_hex(6)}"
    if schema is not None:
        if split_name(schema) is None:
            raise PolicyError(f"staging_table is {schema!r}; it must be the name of a schema, such as 'catalog.schema'")
        return Tables(spark, schema, run)
    return Folder(spark, f"{str(folder).rstrip('/')}/{run}")


@dataclass
class Folder:
    """Parquet files below a folder of the run's own."""

    spark: SparkSession
    path: str
    kept: list[str] = field(default_factory=list)

    def keep(self, frame: DataFrame, step: str) -> DataFrame:
        """Write the rows to files, and read them."""
        self.kept.append(step)
        frame.write.mode("overwrite").parquet(f"{self.path}/{step}")
        return self.spark.read.schema(frame.schema).parquet(f"{self.path}/{step}")

    def drop(self, *steps: str) -> None:
        """Remove the files. Where the folder cannot be removed from here, Spark writes empty files over them."""
        for step in steps or tuple(self.kept):
            if step in self.kept:
                self.kept.remove(step)
                self._remove(f"{self.path}/{step}")
        if not self.kept:
            delete(self.path)

    def _remove(self, path: str) -> None:
        if not delete(path):
            with suppress(Exception):  # what never came to be cannot be read
                self.spark.read.parquet(path).limit(0).write.mode("overwrite").parquet(f"{path}_empty")
                self.spark.read.parquet(f"{path}_empty").write.mode("overwrite").parquet(path)


def delete(path: str) -> bool:
    """Remove a folder, and say whether that could be done: on this machine, or by Arrow's file systems."""
    local = path.removeprefix("file://") if path.startswith("file://") else path
    if "://" not in local:
        is_there = Path(local).exists()
        shutil.rmtree(local, ignore_errors=True)
        return is_there and not Path(local).exists()
    from pyarrow import fs

    try:
        system, inside = fs.FileSystem.from_uri(path)
        system.delete_dir(inside)
    except Exception:  # no such file system here, or no right to it
        return False
    return True


@dataclass
class Tables:
    """Tables of a schema, with the run in their names."""

    spark: SparkSession
    schema: str
    run: str
    kept: list[str] = field(default_factory=list)

    def table(self, step: str) -> str:
        """The table of a step."""
        return f"{self.schema}.{self.run}_{step}"

    def keep(self, frame: DataFrame, step: str) -> DataFrame:
        """Write the rows to a table, and read it."""
        self.kept.append(step)
        frame.write.saveAsTable(self.table(step))
        return self.spark.table(self.table(step))

    def drop(self, *steps: str) -> None:
        """Drop the tables."""
        for step in steps or tuple(self.kept):
            if step in self.kept:
                self.kept.remove(step)
                drop_table(self.spark, self.table(step))


def drop_table(spark: SparkSession, table: str) -> None:
    """Drop a table, emptied before: not every catalog removes the files of a table that is dropped."""
    with suppress(Exception):  # it may never have been made
        empty = spark.createDataFrame([], spark.table(table).schema)
        empty.write.insertInto(table, overwrite=True)
    spark.sql(f"drop table if exists {table}").collect()
