"""Two engines for one contract: DuckDB, and Spark where it is installed, as Sail or as Spark itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sqlanon
from sqlanon.pipeline.proof import Proof

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    """What an engine made: the rows, what was proved and what was lost."""

    rows: pa.Table
    proof: Proof
    metrics: dict[str, float]


class Duck:
    """Releases by DuckDB."""

    name = "duckdb"

    def release(self, table: pa.Table, hierarchies: dict[str, Any] | None = None, **options: Any) -> Outcome:
        with sqlanon.connect() as con:
            con.duckdb.register("given", table)
            con.execute("create table source as from given")
            bound = {}
            for column, definition in (hierarchies or {}).items():
                sqlanon.create_hierarchy(con, column, **definition)
                bound[column] = column
            made = sqlanon.anonymize(con, "source", hierarchies=bound or None, **options)
            made.verify()
            return Outcome(made.arrow(), made.proof, made.metrics())


class Sparks:
    """Releases by Spark; nothing may be left in its staging afterwards."""

    name = "spark"

    def __init__(self, session: Any, folder: Path) -> None:
        self.session, self.folder = session, folder

    def frame(self, table: pa.Table) -> Any:
        return self.session.createDataFrame(table)

    def make(self, table: Any, **options: Any) -> Any:
        import sqlanon.spark

        frame = self.frame(table) if isinstance(table, pa.Table) else table
        return sqlanon.spark.anonymize(frame, staging=str(self.folder), **options)

    def release(self, table: Any, **options: Any) -> Outcome:
        made = self.make(table, **options)
        made.verify()
        rows = made.df.toArrow()
        made.discard()
        assert not list(self.folder.glob("*"))
        return Outcome(rows, made.proof, made.metrics())


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """A session of Sail where that is installed, else of Spark on two cores, over Spark Connect if SPARK_REMOTE says
    where; skipped where neither is."""
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install 'sqlanon[spark]'")
    from pyspark.sql import SparkSession

    if find_spec("pysail") is not None:
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        _, port = server.listening_address
        found = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
        yield found
        found.stop()
        server.stop()
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(ROOT)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
    }
    remote = os.environ.get(
        "SPARK_REMOTE"
    )  # such as local[2,3]: pyspark then starts a server; a failed task runs again
    builder = SparkSession.builder.remote(remote) if remote else SparkSession.builder.master("local[2,3]")
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    found = builder.getOrCreate()
    yield found
    found.stop()


@pytest.fixture
def is_sail() -> bool:
    """Is it Sail, which is quick, or Spark itself?"""
    return find_spec("pysail") is not None


@pytest.fixture
def spark(session: Any, tmp_path: Path) -> Sparks:
    """Spark with a staging folder of the test's own."""
    folder = tmp_path / "staging"
    folder.mkdir()
    return Sparks(session, folder)


@pytest.fixture
def duck() -> Duck:
    """DuckDB."""
    return Duck()
