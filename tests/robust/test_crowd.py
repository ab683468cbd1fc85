"""Many at once: eight threads or two processes create, read and drop releases. No wrong result, no deadlock; whoever
is in another's way gets an error that says so."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sqlanon
from sqlanon.errors import CatalogError, ConflictError, SqlanonError

THREADS = 8
QUASI = ["age", "zip"]
OPTIONS: dict[str, Any] = {"method": "kacpc", "sensitive": ["illness"]}
PEOPLE = (
    "create table people as select i % 40 as age, (i % 7)::varchar as zip, 'x' || (i % 5) as illness "
    "from range(200) as r(i)"
)
LONG = 120
"""Seconds after which it is taken for a deadlock."""


def together(*works: Any) -> list[BaseException]:
    """Run all at once, each in a thread; what they raised."""
    problems: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def one(work: Any) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=one, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    return problems


def assert_whole(con: sqlanon.Connection) -> None:
    """Every release in the catalog is there, proves itself and has its rows; nothing else is stored."""
    stored = con.execute("select name, k, rows from anon.releases order by all").fetchall()
    assert len({name for name, _, _ in stored}) == len(stored)
    for name, k, rows in stored:
        assert sqlanon.open_release(con, name).verify().k >= k
        assert con.execute(f"select count(*) from {name}").fetchall() == [(rows,)]
    shown = con.execute(
        "select name from (select table_name as name from duckdb_tables() where schema_name = 'main' union all "
        "select view_name from duckdb_views() where not internal and schema_name = 'main') "
        "where name <> 'people' and name not like 'sqlanon_%' order by all"
    ).fetchall()
    assert shown == [(name,) for name, _, _ in stored]
    views = con.execute("select count(*) from anon.releases where kind = 'view'").fetchall()
    assert views == con.execute("select count(*) from duckdb_tables() where table_name ~ '^release_[0-9]+$'").fetchall()
    measured = con.execute("select distinct release from anon.release_labels order by all").fetchall()
    assert measured == [(name,) for name, _, _ in stored]


def test_eight_threads_create_read_and_drop_at_once(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    with sqlanon.connect(tmp_path / "people.duckdb") as con:
        con.execute(PEOPLE)

        def work(number: int) -> None:
            rng = random.Random(number)
            with con.cursor() as mine:
                for _ in range(6):
                    name, action = f"pub_{rng.randrange(3)}", rng.choice(["create", "create", "read", "drop", "tree"])
                    try:
                        if action == "create":
                            kind = rng.choice(["view", "table"])
                            sqlanon.anonymize(mine, "people", QUASI, 5, name=name, kind=kind, replace=True, **OPTIONS)
                        elif action == "tree":
                            sqlanon.create_hierarchy(mine, "zip", prefix=True, replace=True)
                        elif action == "drop":
                            sqlanon.drop_release(mine, name, missing_ok=True)
                        else:
                            assert sqlanon.check(mine, name, QUASI, 5).holds
                        told["done"] += 1
                    except ConflictError as problem:
                        told["conflict" if "try again" in str(problem) else str(problem)] += 1
                    except CatalogError as problem:
                        told["not there" if "does not exist" in str(problem) else str(problem)] += 1

        assert together(*(lambda number=number: work(number) for number in range(THREADS))) == []
        assert_whole(con)
    assert set(told) <= {"done", "conflict", "not there"}
    assert told["done"] > 0


def test_releases_of_different_names_are_made_at_once_without_a_conflict() -> None:
    with sqlanon.connect() as con:
        con.execute(PEOPLE)
        sqlanon.create_hierarchy(con, "zip", prefix=True)

        def work(number: int) -> None:
            with con.cursor() as mine:
                for kind in ("view", "table"):
                    sqlanon.anonymize(mine, "people", QUASI, 5, name=f"{kind}_{number}", kind=kind, **OPTIONS)

        assert together(*(lambda number=number: work(number) for number in range(THREADS))) == []
        assert con.execute("select count(*) from anon.releases").fetchall() == [(2 * THREADS,)]
        assert_whole(con)


def test_eight_threads_open_and_load_a_new_database_at_once(tmp_path: Path) -> None:
    opened: list[sqlanon.Connection] = []

    def work() -> None:
        con = sqlanon.connect(tmp_path / "new.duckdb")
        opened.append(con)
        query = "select count(*) from anon.anonymize('from range(20)', quasi := ['range'], k := 3)"
        assert con.execute(query).fetchall() == [(20,)]

    assert together(*[work] * THREADS) == []
    for con in opened:
        con.close()


def test_two_transactions_that_make_the_same_release_end_in_one_release_and_one_clear_error() -> None:
    with sqlanon.connect() as con, con.cursor() as other:
        con.execute(PEOPLE)
        con.execute("begin")
        other.execute("begin")
        sqlanon.anonymize(con, "people", QUASI, 5, name="pub", **OPTIONS)
        with pytest.raises(ConflictError, match="Nothing was stored: try again"):
            sqlanon.anonymize(other, "people", QUASI, 5, name="pub", **OPTIONS)
        con.execute("commit")
        with pytest.raises(ConflictError, match="ROLLBACK it, then try again"):
            sqlanon.drop_release(other, "pub")
        other.execute("rollback")
        assert_whole(con)
        sqlanon.drop_release(other, "pub")


CHILD = f"""
import random, sys, time
import sqlanon
from sqlanon.errors import CatalogError, ConflictError

path, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
told = {{"done": 0, "locked": 0, "not there": 0}}
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 60
while told["done"] < 4 and time.monotonic() < end:
    try:
        with sqlanon.connect(path) as con:
            name = f"pub_{{rng.randrange(2)}}"
            action = rng.choice(["create", "read", "drop"])
            if action == "create":
                sqlanon.anonymize(con, "people", {QUASI!r}, 5, name=name, kind="view", replace=True, **{OPTIONS!r})
            elif action == "drop":
                sqlanon.drop_release(con, name, missing_ok=True)
            else:
                sqlanon.open_release(con, name).verify()
        told["done"] += 1
    except ConflictError as problem:
        assert "is open in another process" in str(problem), problem
        told["locked"] += 1
        time.sleep(rng.random() / 20)
    except CatalogError as problem:
        assert "Unknown release" in str(problem), problem
        told["not there"] += 1
print(told["done"], flush=True)
"""


def test_two_processes_share_a_file_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with sqlanon.connect(path) as con:
        con.execute(PEOPLE)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in (1, 2)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        ends = [child.communicate(timeout=LONG) for child in children]
    finally:
        for child in children:
            child.kill()
    assert [(out.splitlines()[-1:], err) for out, err in ends] == [(["4"], "")] * 2
    with sqlanon.connect(path) as con:
        assert_whole(con)


def test_a_file_that_another_process_has_open_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    code = f"import duckdb, sys; con = duckdb.connect({str(path)!r}); print('open', flush=True); sys.stdin.readline()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        for opening in (sqlanon.connect, sqlanon.open_readonly):
            with pytest.raises(ConflictError, match=rf"'.*people.duckdb' is open in another process.*{child.pid}"):
                opening(path)
    finally:
        child.communicate("\n", timeout=60)
    sqlanon.connect(path).close()


def test_two_processes_read_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with sqlanon.connect(path) as con:
        con.execute(PEOPLE)
        sqlanon.anonymize(con, "people", QUASI, 5, name="pub", **OPTIONS)
    with sqlanon.connect(path, read_only=True) as con:
        code = (
            f"import sqlanon; con = sqlanon.connect({str(path)!r}, read_only=True); "
            "print(sqlanon.open_release(con, 'pub').verify().k >= 5)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG)
        assert (done.stdout, done.stderr) == ("True\n", "")
        assert sqlanon.check(con, "pub", QUASI, 5).holds


def test_a_file_open_in_this_process_with_other_settings_is_a_clear_error(tmp_path: Path) -> None:
    with (
        sqlanon.connect(tmp_path / "people.duckdb"),
        pytest.raises(ConflictError, match="open in this process with other settings"),
    ):
        sqlanon.connect(tmp_path / "people.duckdb", read_only=True)


def test_a_connection_that_was_closed_is_a_clear_error() -> None:
    con = sqlanon.connect()
    con.close()
    with pytest.raises(SqlanonError, match=r"closed.*open the database again"):
        sqlanon.anonymize(con, "people", QUASI, 5)
