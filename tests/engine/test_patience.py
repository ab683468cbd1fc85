"""Others in the way, and interrupts: what waits, what gives up, and that nothing stays open."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.engine import patience, session
from sqlanon.errors import CatalogError, ConflictError, PolicyError
from sqlanon.sqltext import query_or_none, split_name

PEOPLE = "create table people as select i % 40 as age, 'x' || (i % 5) as illness from range(200) as r(i)"
THREADS = 8


def in_threads(work: Any) -> list[BaseException]:
    """The work of eight threads at once; what they raised."""
    problems: list[BaseException] = []
    barrier = threading.Barrier(THREADS)

    def one(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return problems


def test_eight_threads_refresh_one_view_and_each_waits_its_turn() -> None:
    with sqlanon.connect() as con:
        con.execute(PEOPLE)
        sqlanon.anonymize(con, "people", ["age"], 5, name="pub", kind="view", method="kacpc")

        def work(number: int) -> None:
            with con.cursor() as mine:
                mine.execute(f"insert into people select {number} + i % 40, 'y' from range(20) as r(i)")
                sqlanon.refresh(mine, "pub")

        assert in_threads(work) == []
        sqlanon.refresh(con, "pub")
        assert con.execute("select count(*) from pub").fetchall() == [(200 + 20 * THREADS,)]


def test_eight_threads_publish_database_files_at_once(tmp_path: Path) -> None:
    with sqlanon.connect() as con:
        con.execute(PEOPLE)
        sqlanon.anonymize(con, "people", ["age"], 5, name="pub", kind="view", method="kacpc")

        def work(number: int) -> None:
            with con.cursor() as mine:
                for turn in range(4):
                    sqlanon.open_release(mine, "pub").publish(tmp_path / f"{number}_{turn}.duckdb")

        assert in_threads(work) == []
    assert len(list(tmp_path.glob("*.duckdb"))) == 4 * THREADS


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def work() -> None:
        tries.append(time.monotonic())
        raise ConflictError("busy")

    with pytest.raises(ConflictError, match="busy"):
        patience.until_free(work, lambda problem: isinstance(problem, ConflictError), seconds=0.2)
    assert len(tries) > 2
    with pytest.raises(ConflictError):
        patience.until_free(work, lambda problem: False)


def test_a_refresh_in_the_callers_transaction_does_not_wait() -> None:
    with sqlanon.connect() as con, con.cursor() as other:
        con.execute(PEOPLE)
        sqlanon.anonymize(con, "people", ["age"], 5, name="pub", kind="view", method="kacpc")
        con.execute("insert into people select 50 + i, 'y' from range(20) as r(i)")
        con.execute("begin")
        other.execute("begin")
        sqlanon.refresh(con, "pub")
        begin = time.monotonic()
        with pytest.raises(ConflictError):
            sqlanon.refresh(other, "pub")
        assert time.monotonic() - begin < patience.PATIENCE / 2
        other.execute("rollback")
        con.execute("commit")


LINES, FIRST = inspect.getsourcelines(session.transaction.__wrapped__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", range(FIRST, FIRST + len(LINES)))
@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_at_any_line_of_a_transaction_leaves_none_open(line: int, fails: bool) -> None:
    def interrupt(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != session.__file__ or frame.f_code.co_name != "transaction":
            return None
        if event == "line" and frame.f_lineno == line:
            raise KeyboardInterrupt
        return interrupt

    with duckdb.connect() as con:
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            with session.transaction(con):
                con.execute("create table t as select 1 as a")
                if fails:
                    raise ValueError
        except (KeyboardInterrupt, ValueError):
            pass
        finally:
            sys.settrace(before)
        assert not session.is_in_transaction(con)


@pytest.mark.parametrize("opening", ["/**/" * 5000, "/* a */ -- b\n" * 2000, "/*" * 5000 + "*/" * 5000, "--\n" * 9000])
def test_comments_before_a_query_are_read_in_no_time(opening: str) -> None:
    begin = time.monotonic()
    assert query_or_none(opening + "select 1") == opening + "select 1"
    assert query_or_none(opening + "patients") is None
    assert time.monotonic() - begin < 1


def test_comments_nest_as_in_duckdb() -> None:
    for sql in ("/* /* */ */ select 1", "/* a */-- b\nfrom range(3)", "/*/**/*/ values (1)"):
        assert query_or_none(sql) == sql
        assert duckdb.sql(sql).fetchall()
    for text in ("/* /* */ select 1", "/* select 1", "-- select 1", "selected", "/", "*/ select 1"):
        assert query_or_none(text) is None


def test_a_blank_is_not_a_name_for_a_release() -> None:
    assert split_name(" ") is None
    assert split_name("a. .b") is None
    with sqlanon.connect() as con:
        con.execute(PEOPLE)
        for name in (" ", "\t", "main. ", "\x00", "a\nb"):
            with pytest.raises(CatalogError, match="is not a name for a release"):
                sqlanon.anonymize(con, "people", ["age"], 5, name=name)


def test_hundreds_of_quasi_identifiers_are_refused_with_a_reason() -> None:
    with pytest.raises(PolicyError, match="quasi names 300 columns, and 100 is the most"):
        sqlanon.Policy(quasi=tuple(f"c{number}" for number in range(300)))


def test_what_nests_too_deep_for_duckdb_is_said_in_words() -> None:
    deep = "(" * 1200 + "1" + "+1)" * 1200
    with duckdb.connect() as con, pytest.raises(sqlanon.SqlanonError, match="too deep"), session.translate_errors():
        con.execute(f"select {deep}")
