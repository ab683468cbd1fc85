"""Disk, memory, files and a source that changed under a stored policy: an error in words, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.engine.errors import translated
from sqlanon.errors import CatalogError, DataError, PolicyError, ResourceError, SqlanonError

QUASI = ["age", "zip"]
PEOPLE = (
    "create table people as select i % 90 as age, (i % 7)::varchar as zip, md5(i::varchar) as illness "
    "from range({}) as r(i)"
)
OPTIONS: dict[str, Any] = {"method": "peel", "sensitive": ["illness"], "kind": "view"}
PROGRAM = f"""
import os, resource, signal, sys
import sqlanon
from sqlanon.errors import ResourceError

path, action, room = sys.argv[1], sys.argv[2], int(sys.argv[3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing then fails, as on a full disk
con = sqlanon.connect(path)
con.execute("set enable_progress_bar = false")
if room:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    if action == "create":
        con.execute("pragma disable_checkpoint_on_shutdown; set wal_autocheckpoint = '1TB'")
        sqlanon.anonymize(con, "people", {QUASI!r}, 8, name="old", replace=True, **{OPTIONS!r})
    else:
        sqlanon.open_release(con, "old").publish(action, replace=True)
    print("done")
except ResourceError as problem:
    print(problem)
"""


@lru_cache
def database(rows: int) -> bytes:
    """A file with this many people and a release of them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.duckdb"
        with sqlanon.connect(path) as con:
            con.execute(PEOPLE.format(rows))
            sqlanon.anonymize(con, "people", QUASI, 5, name="old", **OPTIONS)
        return path.read_bytes()


def made(path: Path, rows: int) -> Path:
    path.write_bytes(database(rows))
    return path


def with_room_for(path: Path, action: str, room: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), action, str(room)], capture_output=True, text=True, timeout=300
    )
    assert done.stderr == ""
    return done.stdout


def assert_nothing_is_lost(path: Path, rows: int) -> None:
    with sqlanon.connect(path) as con:
        assert con.execute("select count(*) from people").fetchall() == [(rows,)]
        release = sqlanon.open_release(con, "old")
        assert release.policy.k == 5
        assert release.verify() == release.proof
        sqlanon.anonymize(con, "people", QUASI, 8, name="old", replace=True, **OPTIONS)


@pytest.mark.parametrize("file", ["out.duckdb", "out.parquet", "out.csv"])
def test_a_full_disk_while_publishing_is_a_clear_error_and_the_old_file_stays(tmp_path: Path, file: str) -> None:
    path, out = made(tmp_path / "people.duckdb", 5000), tmp_path / file
    assert with_room_for(path, str(out)) == "done\n"
    before = out.read_bytes()
    assert "make room" in with_room_for(path, str(out), room=4096)
    assert out.read_bytes() == before
    assert sorted(left.name for left in tmp_path.iterdir()) == sorted(["people.duckdb", file])
    assert_nothing_is_lost(path, 5000)


def test_a_full_disk_while_a_release_is_stored_keeps_the_old_release(tmp_path: Path) -> None:
    path = made(tmp_path / "people.duckdb", 30_000)
    assert "Nothing was stored" in with_room_for(path, "create", room=64 * 1024)
    assert_nothing_is_lost(path, 30_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's")
def test_a_disk_without_room_is_a_clear_error_and_nothing_is_lost(small_disk: Path) -> None:
    path = made(small_disk / "people.duckdb", 5000)
    with (small_disk / "filler").open("wb") as filler:
        filler.write(bytes(max(0, os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize - 8192)))
    assert "make room" in with_room_for(path, str(small_disk / "out.csv"))
    assert "Nothing was stored" in with_room_for(path, "create")
    (small_disk / "filler").unlink()
    assert_nothing_is_lost(path, 5000)


@pytest.mark.parametrize("temporary", [{"temp_directory": ""}, {"max_temp_directory_size": "100KB"}])
def test_too_little_memory_is_a_clear_error_and_nothing_is_lost(tmp_path: Path, temporary: dict[str, str]) -> None:
    path = made(tmp_path / "people.duckdb", 150_000)
    with sqlanon.connect(path, memory_limit="30MB", threads=1, **temporary) as con:
        with pytest.raises(ResourceError, match=r"memory_limit|make room") as caught:
            sqlanon.anonymize(
                con, "select *, i::varchar from people, range(3) as r(i)", QUASI, 8, name="new", **OPTIONS
            )
        assert "\n" not in str(caught.value)
        assert con.execute("select name from anon.releases").fetchall() == [("old",)]
    with sqlanon.connect(path) as con:
        assert sqlanon.open_release(con, "old").verify().rows == 150_000


def test_a_file_that_may_not_be_written_is_a_clear_error(tmp_path: Path) -> None:
    path = made(tmp_path / "people.duckdb", 100)
    path.chmod(0o444)
    tmp_path.chmod(0o755)
    code = f"""
import os, sqlanon
from sqlanon.errors import SqlanonError
sqlanon.connect().close()  # imports what the other user could not
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    sqlanon.connect({str(path)!r})
except SqlanonError as problem:
    print(type(problem).__name__, problem)
"""
    if os.geteuid() == 0:
        for folder in [tmp_path, *tmp_path.parents][:4]:
            folder.chmod(folder.stat().st_mode | 0o055)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert "people.duckdb' cannot be opened" in done.stdout
    assert "Permission denied" in done.stdout


@pytest.mark.parametrize("content", [b"", b"a", b"age,zip\n1,2\n" * 2000, bytes(20_000), b"DUCK" * 5000])
@pytest.mark.parametrize("name", ["file.duckdb", "people.csv"])
def test_a_file_of_another_kind_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for opening in (sqlanon.connect, sqlanon.open_readonly):
        with pytest.raises(SqlanonError, match=rf"'.*{name}' (is not a DuckDB database|cannot be opened)"):
            opening(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("path", ["no/such/folder/people.duckdb", "a\0b.duckdb", 5, None, b"people.duckdb"])
def test_a_path_that_is_none_is_refused(tmp_path: Path, path: Any) -> None:
    where = tmp_path / path if isinstance(path, str) else path
    with pytest.raises(CatalogError, match=r"cannot be opened|not the path of a database"):
        sqlanon.connect(where)
    assert list(tmp_path.iterdir()) == []


CHANGES = {
    "alter table people alter age type integer[] using [age]": (PolicyError, r"Column 'age' has type INTEGER\[\]"),
    "alter table people alter age type time using time '10:00'": (PolicyError, "Column 'age' has type TIME"),
    "alter table people alter age type date using date '2020-01-01'": (
        PolicyError,
        "does not fit column 'age' of dates",
    ),
    "alter table people drop age": (CatalogError, "Column 'age' is not in 'people'"),
    "alter table people rename age to years": (CatalogError, "Column 'age' is not in 'people'"),
    "alter table people drop illness": (CatalogError, "Column 'illness' is not in 'people'"),
    "update people set age = null": (DataError, "Column 'age' has only NULLs"),
    "delete from people": (DataError, "The source has no rows"),
    "drop table people": (CatalogError, "Table 'people' does not exist"),
    "drop table people; create view people as from nowhere.people": (CatalogError, ""),
    "delete from anon.hierarchies": (PolicyError, "Unknown hierarchy 'ages'"),
}


@pytest.mark.sweep
@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_changed_under_a_stored_policy_is_a_clear_error_and_the_release_stays(change: str) -> None:
    error, sentence = CHANGES[change]
    with sqlanon.connect() as con:
        con.execute(PEOPLE.format(60))
        sqlanon.create_hierarchy(con, "ages", intervals=[5, 10])
        sqlanon.anonymize(con, "people", QUASI, 5, name="old", hierarchies={"age": "ages"}, **OPTIONS)
        release = sqlanon.open_release(con, "old")
        try:
            con.execute(change)
        except duckdb.Error:
            pytest.skip("DuckDB refuses the change itself")
        with pytest.raises(error, match=sentence):
            sqlanon.anonymize(con, release.source, policy=release.policy, name="old", kind="view", replace=True)
        again = sqlanon.open_release(con, "old")
        assert (again.proof, again.policy) == (release.proof, release.policy)
        assert again.verify() == release.proof


@pytest.mark.parametrize(
    "change",
    ["alter table anon.release_1 rename age to years", "drop table anon.release_1", "drop view old"],
)
def test_a_release_whose_table_was_changed_says_so_and_can_be_made_again(tmp_path: Path, change: str) -> None:
    with sqlanon.connect() as con:
        con.execute(PEOPLE.format(60))
        release = sqlanon.anonymize(con, "people", QUASI, 5, name="old", **OPTIONS)
        con.execute(change)
        for use in (release.verify, lambda: release.publish(tmp_path / "out.csv")):
            with pytest.raises(CatalogError, match="Release 'old' has changed since it was made"):
                use()
        with pytest.raises(SqlanonError):
            release.df()
        assert list(tmp_path.iterdir()) == []
        sqlanon.anonymize(con, "people", QUASI, 5, name="old", replace=True, **OPTIONS)
        assert sqlanon.open_release(con, "old").verify().rows == 60


UDF = "Python exception occurred while executing the UDF: "
NESTED = 'IO Error: x {"exception_type":"IO","exception_message":"No space left on device"}'


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (duckdb.FatalException("FATAL Error: database has been invalidated"), "Open the database again"),
        (duckdb.TransactionException("TransactionContext Error: Failed to commit: No space left"), "make room"),
        (duckdb.IOException(NESTED), "make room"),
        (duckdb.InvalidInputException(f"{UDF}MemoryError"), "memory_limit"),
    ],
)
def test_what_cannot_be_brought_about_here_has_its_sentence(problem: Exception, sentence: str) -> None:
    ours = translated(problem)
    assert isinstance(ours, ResourceError)
    assert sentence in str(ours)
    assert "{" not in str(ours)


def test_a_fault_of_our_own_is_not_hidden() -> None:
    assert translated(duckdb.InvalidInputException(f"{UDF}FaultError: sqlanon fails with KeyError")) is None
    assert translated(duckdb.ParserException("Parser Error: syntax error")) is None
