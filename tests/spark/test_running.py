"""`sqlanon run policy.toml --spark`: the target appears whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from people import people

from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, CatalogError
from sqlanon.policy.job import Job

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark's own

POLICY = """
quasi = ["age", "zip", "sex"]
k = 5
effort = "fast"
sensitive = ["illness"]

[hierarchy.zip]
prefix = true
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY, encoding="utf-8")
    return file


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "patients"
    folder.mkdir()
    pq.write_table(people(200), folder / "part.parquet")
    return folder


@pytest.fixture
def as_given(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of the tests for whatever URL."""
    from sqlanon.spark import running

    monkeypatch.setattr(running, "session_of", lambda url: session)


def test_a_folder_is_written_whole(
    job: Path, source: Path, tmp_path: Path, as_given: None, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out" / "public"
    target.parent.mkdir()
    given = ["--spark", "sc://here", "--source", f"{source}", "--target", f"{target}", "--json"]
    assert main(["run", str(job), *given]) in (0, None)
    told = json.loads(capsys.readouterr().out)
    assert told["proof"]["k"] >= 5
    assert pq.read_table(target).num_rows == 200
    assert list(target.parent.iterdir()) == [target]
    assert main(["run", str(job), *given]) == 2
    assert "already exists" in capsys.readouterr().err


def test_a_table_is_written_whole_or_not_at_all(
    job: Path, source: Path, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlanon.spark
    from sqlanon.spark import running

    session.sql(f"create database sqlanon_target location '{tmp_path}/tables'").collect()
    asked = (session, Job.from_toml(job), f"{source}", "sqlanon_target.public")

    def broken(*_: Any) -> None:
        raise BrokenPromiseError("A released class has only 1 rows, k is 5")

    with monkeypatch.context() as patched:
        patched.setattr(running, "_prove", broken)
        with pytest.raises(BrokenPromiseError):
            sqlanon.spark.run_policy(*asked)
    assert not session.sql("show tables in sqlanon_target").collect()
    sqlanon.spark.run_policy(*asked)
    assert [row["tableName"] for row in session.sql("show tables in sqlanon_target").collect()] == ["public"]
    assert session.table("sqlanon_target.public").count() == 200
    with pytest.raises(CatalogError, match="already exists"):
        sqlanon.spark.run_policy(*asked)
    session.sql("drop database sqlanon_target cascade").collect()


def test_a_folder_that_fails_is_not_there(job: Path, source: Path, session: Any, tmp_path: Path) -> None:
    import sqlanon.spark
    from sqlanon.spark import running

    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(running, "_move", lambda *_: (_ for _ in ()).throw(CatalogError("no")))
        with pytest.raises(CatalogError, match="no"):
            sqlanon.spark.run_policy(session, Job.from_toml(job), f"{source}", f"{folder}/public")
    assert not list(folder.iterdir())


def test_a_source_that_is_not_there_is_named_in_our_words(job: Path, session: Any, tmp_path: Path) -> None:
    import sqlanon.spark

    with pytest.raises(CatalogError, match="does not find a table"):
        sqlanon.spark.run_policy(session, Job.from_toml(job), "nowhere.patients", f"{tmp_path}/public")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--target", "x.y"], "--target goes with --spark"),
        (["--spark", "sc://here", "--db", "a.duckdb"], "--spark writes to --target"),
        (["--spark", "sc://here"], "needs a --source and a --target"),
    ],
)
def test_what_does_not_go_together_is_said(
    job: Path, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(job), *given]) == 2
    assert said in capsys.readouterr().err
