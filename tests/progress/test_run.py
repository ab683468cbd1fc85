"""A run is its own: two in two threads hear only of themselves, are cancelled apart, and leave nothing behind."""

from __future__ import annotations

import threading
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon import samples
from sqlanon.errors import InterruptedRunError, SqlanonError
from sqlanon.progress.run import Run

QUASI = ["age", "workclass", "education", "sex"]


@pytest.fixture
def adult(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    samples.create(con, "adult", rows=400)
    return con


def in_threads(con: duckdb.DuckDBPyConnection, *works: Any) -> list[Any]:
    """What each work returns, or raises, given a cursor of its own; all at the same time."""
    found: list[Any] = [None] * len(works)
    ready = threading.Barrier(len(works))

    def run(number: int) -> None:
        cursor = con.cursor()
        ready.wait(30)
        try:
            found[number] = works[number](cursor)
        except BaseException as problem:
            found[number] = problem

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


def test_a_run_hears_of_its_own_progress_only(adult: duckdb.DuckDBPyConnection) -> None:
    def heard(method: str) -> Any:
        def work(con: duckdb.DuckDBPyConnection) -> set[str]:
            methods = set()
            with Run(lambda name, done, total, facts: methods.add(name)):
                sqlanon.anonymize(con, "adult", quasi=QUASI, k=5, method=method)
            return methods

        return work

    assert in_threads(adult, heard("kaca"), heard("kacpc"), heard("peel")) == [{"kaca"}, {"kacpc"}, {"peel"}]


def test_plain_sql_reports_to_the_run_that_is_open(adult: duckdb.DuckDBPyConnection) -> None:
    methods = set()
    with Run(lambda name, done, total, facts: methods.add(name)):
        adult.execute(f"from anon.anonymize('adult', quasi := {QUASI}, k := 5, method := 'kaca')").fetchall()
    assert methods == {"kaca"}
    adult.execute(f"from anon.anonymize('adult', quasi := {QUASI}, k := 5, method := 'peel')").fetchall()
    assert methods == {"kaca"}


def test_cancelling_one_run_leaves_the_other_alone(adult: duckdb.DuckDBPyConnection) -> None:
    def cancelled(con: duckdb.DuckDBPyConnection) -> Any:
        run = Run()
        run.listener = lambda *progress: run.cancel()
        with run:
            return sqlanon.anonymize(con, "adult", quasi=QUASI, k=5, method="kaca", name="one")

    def finished(con: duckdb.DuckDBPyConnection) -> Any:
        with Run():
            return sqlanon.anonymize(con, "adult", quasi=QUASI, k=5, method="kaca", name="two")

    one, two = in_threads(adult, cancelled, finished)
    assert isinstance(one, (KeyboardInterrupt, InterruptedRunError))
    assert two.verify().k >= 5
    assert adult.execute("select name from anon.releases").fetchall() == [("two",)]


def test_an_inner_run_reports_to_the_outer_one_and_ends_with_it() -> None:
    heard = []
    with Run(lambda *progress: heard.append("outer")) as outer, Run(lambda *progress: heard.append("inner")) as inner:
        inner.tell("kaca", 1, 2, {})
        assert heard == ["inner", "outer"]
        outer.cancel()
        with pytest.raises(InterruptedRunError):
            inner.tell("kaca", 2, 2, {})
    assert Run.active() is None


@pytest.mark.parametrize(
    "options", [{}, {"name": "pub", "kind": "view"}, {"entity": "age"}, {"method": "nonhomogeneous"}]
)
def test_a_failed_run_leaves_no_table_and_no_run_behind(
    adult: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    def fail(*arguments: Any, **named: Any) -> None:
        raise SqlanonError("in the middle")

    monkeypatch.setattr("sqlanon.releases.making.measure", fail)
    quasi = ["workclass", "education"]
    for _ in range(2):
        with pytest.raises(SqlanonError, match="in the middle"):
            sqlanon.anonymize(adult, "adult", quasi=quasi, k=3, **options)
    assert adult.execute("select table_name from duckdb_tables() where temporary").fetchall() == []
    assert adult.execute("select count(*) from anon.releases").fetchall() == [(0,)]
    assert Run.active() is None


@pytest.mark.parametrize(
    "options", [{}, {"kind": "view", "name": "pub"}, {"entity": "age", "seed": 1}, {"max_suppression": 0.1}]
)
def test_the_sql_of_a_release_is_what_ran_and_runs_again(
    adult: duckdb.DuckDBPyConnection, options: dict[str, Any]
) -> None:
    release = sqlanon.anonymize(adult, "adult", quasi=["workclass", "education"], k=3, method="kacpc", **options)
    *steps, query = release.sql.split(";\n\n")
    for step in steps:
        adult.execute(step)
    columns = ", ".join(release.relation().columns)
    again = adult.execute(f"select {columns} from ({query}) order by all").fetchall()
    assert again == adult.execute(f"select {columns} from {release.table} order by all").fetchall()
