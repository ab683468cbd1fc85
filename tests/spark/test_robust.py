"""What can go wrong on Spark meanwhile: right or refused, in our words, and nothing is left."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from people import people

from sqlanon.errors import CatalogError, ResourceError, SqlanonError

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark's own

PLAIN: dict[str, Any] = {"quasi": ["age", "sex"], "k": 5, "keep": ["ward"], "effort": "fast", "seed": 7}
BLOCKS = PLAIN | {"quasi": ["age", "zip", "sex"], "hierarchies": {"zip": {"prefix": True}}, "block_size": 150}


@pytest.fixture
def same_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret salt is the same each time, so that releases can be compared row by row."""
    from sqlanon.spark import making

    monkeypatch.setattr(making.secrets, "token_hex", lambda length: "5a" * length)


def once(mark: str, work: Any, fail: Any) -> Any:
    """The work, but the first task that begins it fails instead."""

    def first(table: Any) -> Any:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return work(table)
        return fail()

    return first


@pytest.mark.parametrize("step", ["cluster_block", "refine_block"])
def test_a_worker_that_is_killed_changes_nothing(
    step: str, spark: Any, is_sail: bool, same_salt: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if is_sail:
        pytest.skip("Sail's workers are threads of its server")
    from sqlanon.spark import making

    expected = spark.release(people(400), **BLOCKS).rows
    mark, found = str(tmp_path / "killed"), getattr(making, step)
    monkeypatch.setattr(making, step, lambda *given: once(mark, found(*given), lambda: os._exit(1)))
    assert spark.release(people(400), **BLOCKS).rows.to_pylist() == expected.to_pylist()
    assert Path(mark).exists()


def test_a_task_that_fails_once_is_tried_again_or_nothing_is_released(
    spark: Any, is_sail: bool, same_salt: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from sqlanon.spark import making

    expected = spark.release(people(400), **BLOCKS).rows
    mark, found = str(tmp_path / "failed"), making.cluster_block

    def fail() -> None:
        raise OSError("Smith 4711")

    monkeypatch.setattr(making, "cluster_block", lambda *given: once(mark, found(*given), fail))
    if is_sail:  # which does not try again
        with pytest.raises(SqlanonError, match="Nothing is released"):
            spark.make(people(400), **BLOCKS)
        assert not list(spark.folder.glob("*"))
    else:
        assert spark.release(people(400), **BLOCKS).rows.to_pylist() == expected.to_pylist()
    assert Path(mark).exists()


def test_a_task_that_always_fails_shows_no_value_and_leaves_nothing(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlanon.spark import making

    def failing(*_: Any) -> Any:
        def work(table: Any) -> Any:
            raise ValueError("Smith 4711")

        return work

    monkeypatch.setattr(making, "cluster_block", failing)
    with pytest.raises(SqlanonError, match="Nothing is released") as found:
        spark.make(people(100), **PLAIN)
    assert "4711" not in str(found.value)
    assert found.value.__cause__ is None
    assert found.value.__context__ is None
    assert not list(spark.folder.glob("*"))


def test_whoever_stops_it_finds_nothing_left(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.spark import making

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(making, "measure", stopped)
    with pytest.raises(KeyboardInterrupt):
        spark.make(people(100), **PLAIN)
    assert not list(spark.folder.glob("*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Any]:
    """Makes a disk of this many KiB."""
    mounted: list[Path] = []

    def make(size: int) -> Path:
        folder = tmp_path / f"disk{size}"
        folder.mkdir()
        tool = shutil.which("mount")
        asked = [tool, "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
        if tool is None or subprocess.run([str(one) for one in asked], capture_output=True, check=False).returncode:
            pytest.skip("only root can mount a small disk")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("size", [16, 88, 130])
def test_a_full_disk_releases_nothing_and_leaves_nothing(size: int, session: Any, small_disk: Any) -> None:
    """The first is full with the source, the second with its cells, the third with the release."""
    import sqlanon.spark

    disk = small_disk(size)
    frame = session.createDataFrame(people(6000))
    with pytest.raises(ResourceError, match="no room"):
        sqlanon.spark.anonymize(frame, **PLAIN | {"unsafe_keep": ["seen", "fee"]}, staging=str(disk))
    assert not list(disk.iterdir())


def test_a_source_that_changes_meanwhile_is_released_as_it_was(
    spark: Any, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlanon.spark import making

    folder = tmp_path / "source"
    folder.mkdir()
    table = people(300)
    pq.write_table(table, folder / "part.parquet")
    found = making.encode

    def changed(*given: Any) -> Any:
        pq.write_table(people(200, seed=9), folder / "part.parquet")
        return found(*given)

    monkeypatch.setattr(making, "encode", changed)
    made = spark.release(session.read.parquet(str(folder)), **PLAIN)
    assert Counter(made.rows["ward"].to_pylist()) == Counter(table["ward"].to_pylist())


def test_a_source_that_is_gone_is_refused_in_our_words(spark: Any, session: Any, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    pq.write_table(people(300), folder / "part.parquet")
    frame = session.read.parquet(str(folder))
    assert frame.columns  # looked at now, by all of them
    shutil.rmtree(folder)
    with pytest.raises((SqlanonError, CatalogError)) as found:
        spark.make(frame, **PLAIN)
    assert str(tmp_path) not in str(found.value)
    assert not list(spark.folder.glob("*"))
