"""sqlanon.load: on any connection, quietly, again and again; and what it leaves in a database for those without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.errors import CatalogError, SqlanonError
from sqlanon.version import SCHEMA_VERSION, __version__

PEOPLE = "create table people as select unnest([21, 24, 61, 64]) as age, unnest(['a', 'a', 'b', 'b']) as ward"
RELEASE = "from anon.anonymize('people', quasi := ['age'], k := 2)"
ROWS = [("[21-24]",), ("[21-24]",), ("[61-64]",), ("[61-64]",)]
ROOT = Path(__file__).parents[2]


def release(con: duckdb.DuckDBPyConnection, sql: str = RELEASE) -> list[Any]:
    return sorted(con.execute(sql).fetchall())


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, from the checkout."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)


def everything(con: duckdb.DuckDBPyConnection) -> list[Any]:
    return [
        con.execute("select database_name, schema_name, table_name from duckdb_tables() order by all").fetchall(),
        con.execute(
            "select function_oid, function_name from duckdb_functions() where schema_name = 'anon' order by all"
        ).fetchall(),
        con.execute("from anon.version").fetchall(),
    ]


def test_loading_again_changes_nothing(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    sqlanon.create_hierarchy(plain, "h", prefix=True)
    before = everything(plain)
    sqlanon.load(plain)
    assert everything(plain) == before
    assert plain.execute("from anon.version").fetchall() == [(SCHEMA_VERSION, __version__)]
    assert plain.execute("select name from anon.hierarchies").fetchall() == [("h",)]
    assert release(plain) == ROWS


@pytest.mark.compiles
def test_loading_prints_nothing(plain: duckdb.DuckDBPyConnection, capfd: pytest.CaptureFixture[str]) -> None:
    plain.execute("set enable_progress_bar = false")  # DuckDB's own, on a machine that takes seconds
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    release(plain)
    sqlanon.anonymize(plain, "people", quasi="age", k=2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("path", [":memory:", "people.duckdb"])
def test_a_process_that_exits_without_closing_says_nothing(path: str, tmp_path: Path) -> None:
    where = path if path == ":memory:" else str(tmp_path / path)
    done = run(
        f"import duckdb, sqlanon\ncon = duckdb.connect({where!r})\nsqlanon.load(con)\ncon.execute({PEOPLE!r})\n"
        "con.execute('set enable_progress_bar = false')\n"  # DuckDB's own, on a machine that takes seconds
        f"rows = con.execute({RELEASE!r}).fetchall()\ncursor = con.cursor()\nsqlanon.load(cursor)\n"
        f"made = sqlanon.anonymize(con, 'people', quasi='age', k=2)\nother = sqlanon.connect()\nassert len(rows) == 4"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_process_that_ends_in_an_error_of_ours_shows_no_leaks() -> None:
    done = run(
        f"import sqlanon\ncon = sqlanon.connect()\ncon.execute({PEOPLE!r})\n"
        "con.execute(\"from anon.anonymize('people', quasi := ['nope'], k := 2)\")"
    )
    assert done.returncode == 1
    assert "leaked" not in done.stderr
    assert "Invalid Input Error: sqlanon: Column 'nope' is not in 'people'" in done.stderr


def test_a_file_is_loaded_once_and_for_all(tmp_path: Path) -> None:
    file = str(tmp_path / "people.duckdb")
    for _ in range(2):
        with duckdb.connect(file) as con:
            sqlanon.load(con)
            con.execute(PEOPLE.replace("create table", "create or replace table"))
            assert release(con) == ROWS


@pytest.mark.parametrize("name", ["other", "an other", "my.db", 'a "b".c; drop'])
def test_an_attached_database_is_loaded_when_it_is_used(plain: duckdb.DuckDBPyConnection, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    plain.execute(f"attach ':memory:' as {quoted}; use {quoted}")
    sqlanon.load(plain)
    plain.execute(PEOPLE)
    assert release(plain) == ROWS
    assert plain.execute("select distinct database_name from duckdb_tables()").fetchall() == [(name,)]
    before = everything(plain)
    sqlanon.anonymize(plain, "people", quasi="age", k=2, name="pub", kind="view")
    sqlanon.anonymize(plain, "people", quasi="age", k=2, name="kept")
    assert release(plain, "from pub") == release(plain, "from kept") == ROWS
    plain.execute("use memory")
    assert release(plain, f"from {quoted}.pub") == ROWS
    plain.execute(f"use {quoted}")
    sqlanon.drop_release(plain, "pub")
    sqlanon.drop_release(plain, "kept")
    assert everything(plain) == before


def test_an_attached_database_that_is_not_in_use_is_left_alone(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute("attach ':memory:' as other")
    sqlanon.load(plain)
    assert plain.execute("select distinct database_name from duckdb_tables()").fetchall() == [("memory",)]


def test_a_schema_in_use_is_where_names_are_looked_up(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute("create schema clinic; use memory.clinic")
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    assert release(plain) == ROWS


def test_a_cursor_of_a_loaded_connection_anonymizes(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    with plain.cursor() as cursor:
        assert release(cursor) == ROWS


def test_what_a_cursor_loaded_serves_its_parent_when_the_cursor_is_closed(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    with plain.cursor() as cursor:
        sqlanon.load(cursor)
        assert release(cursor) == ROWS
        assert release(plain) == ROWS
    sqlanon.load(plain)
    assert release(plain) == ROWS


def test_without_any_loaded_connection_left_the_error_says_to_load_again(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    with plain.cursor() as cursor:
        sqlanon.load(cursor)
    with pytest.raises(duckdb.Error, match=r"call sqlanon\.load\(con\) again"):
        plain.execute(RELEASE)


def test_a_closed_cursor_that_loaded_last_does_not_hide_the_parent(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    for _ in range(3):
        with plain.cursor() as cursor:
            sqlanon.load(cursor)
    assert release(plain) == ROWS


def test_a_second_connection_to_the_same_file_is_loaded_too(tmp_path: Path) -> None:
    file = str(tmp_path / "people.duckdb")
    with duckdb.connect(file) as first, duckdb.connect(file) as second:
        sqlanon.load(first)
        sqlanon.load(second)
        first.execute(PEOPLE)
        first.close()
        assert release(second) == ROWS


def test_loading_keeps_the_callers_transaction_open(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute("begin")
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    plain.execute("commit")
    assert release(plain) == ROWS


def test_a_rolled_back_load_leaves_nothing_and_can_be_repeated(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    plain.execute("begin")
    sqlanon.load(plain)
    plain.execute("rollback")
    assert plain.execute("select table_name from duckdb_tables()").fetchall() == [("people",)]
    sqlanon.load(plain)
    assert release(plain) == ROWS


def test_a_rolled_back_load_does_not_undo_an_earlier_one(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    plain.execute("begin")
    sqlanon.load(plain)
    plain.execute("rollback")
    assert release(plain) == ROWS


def test_an_older_schema_is_upgraded_and_keeps_its_hierarchies(plain: duckdb.DuckDBPyConnection) -> None:
    sqlanon.load(plain)
    sqlanon.create_hierarchy(plain, "h", prefix=True)
    plain.execute("update anon.version set schema_version = 0, sqlanon = '0.0.1'")
    plain.execute("drop macro anon.k_anonymity; drop macro table anon.violations; drop table anon.release_classes")
    sqlanon.load(plain)
    plain.execute(PEOPLE)
    assert plain.execute("select anon.k_anonymity('people', ['ward'])").fetchall() == [(2,)]
    assert plain.execute("from anon.violations('people', ['ward'], k := 2)").fetchall() == []
    assert plain.execute("from anon.version").fetchall() == [(SCHEMA_VERSION, __version__)]
    assert plain.execute("select name from anon.hierarchies").fetchall() == [("h",)]


def test_a_schema_whose_version_was_lost_is_upgraded(plain: duckdb.DuckDBPyConnection) -> None:
    sqlanon.load(plain)
    plain.execute("delete from anon.version")
    sqlanon.load(plain)
    assert plain.execute("from anon.version").fetchall() == [(SCHEMA_VERSION, __version__)]


def test_an_upgrade_that_fails_changes_nothing(
    plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlanon.load(plain)
    plain.execute("update anon.version set schema_version = 0; drop macro anon.k_anonymity")
    before = everything(plain)
    failing = "drop table anon.releases; select error('sqlanon: half way')"
    monkeypatch.setattr("sqlanon.catalog.schema.UPGRADES", {0: failing})
    with pytest.raises(SqlanonError, match="half way"):
        sqlanon.load(plain)
    assert everything(plain) == before


def test_a_newer_schema_is_refused_with_both_versions(plain: duckdb.DuckDBPyConnection) -> None:
    sqlanon.load(plain)
    plain.execute("update anon.version set schema_version = 99, sqlanon = '9.9.9'")
    before = everything(plain)
    with pytest.raises(CatalogError, match=rf"'memory' .*newer sqlanon \(9\.9\.9, schema 99\).*{__version__}.*upgrade"):
        sqlanon.load(plain)
    assert everything(plain) == before


@pytest.mark.parametrize("theirs", ["create table anon.users (id int)", "create view anon.version as select 1 as v"])
def test_somebody_elses_schema_anon_is_refused_and_left_alone(plain: duckdb.DuckDBPyConnection, theirs: str) -> None:
    plain.execute(f"create schema anon; {theirs}")
    with pytest.raises(CatalogError, match=r"Schema 'anon' of database 'memory' .*not sqlanon's \((users|version)\)"):
        sqlanon.load(plain)
    names = "select table_name from duckdb_tables() union all select view_name from duckdb_views() where not internal"
    assert plain.execute(names).fetchall() in ([("users",)], [("version",)])


def test_an_empty_schema_anon_is_taken(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute("create schema anon")
    plain.execute(PEOPLE)
    sqlanon.load(plain)
    assert release(plain) == ROWS


def test_a_read_only_database_without_sqlanon_is_refused_with_a_way_out(tmp_path: Path) -> None:
    file = str(tmp_path / "people.duckdb")
    with duckdb.connect(file) as con:
        con.execute(PEOPLE)
    with (
        duckdb.connect(file, read_only=True) as con,
        pytest.raises(CatalogError, match=r"'people' is read-only .*attach it to an in-memory"),
    ):
        sqlanon.load(con)
    with duckdb.connect() as con:
        con.execute(f"attach '{file}' as people_file (read_only)")
        sqlanon.load(con)
        assert release(con, RELEASE.replace("'people'", "'people_file.people'")) == ROWS


def test_a_read_only_database_with_sqlanon_in_it_is_loaded(tmp_path: Path) -> None:
    file = str(tmp_path / "people.duckdb")
    with duckdb.connect(file) as con:
        sqlanon.load(con)
        con.execute(PEOPLE)
    with duckdb.connect(file, read_only=True) as con:
        sqlanon.load(con)
        assert release(con) == ROWS


@pytest.mark.parametrize("what", [None, 5, "people.duckdb"])
def test_what_is_no_connection_is_refused(what: Any) -> None:
    with pytest.raises(CatalogError, match="Expected a duckdb connection"):
        sqlanon.load(what)


def stored(file: Path) -> None:
    with sqlanon.connect(file) as con:
        con.execute(PEOPLE)
        con.execute(
            "create anonymized view pub as select age, ward from people "
            "options (quasi = [age], sensitive = [ward], k = 2)"
        )
        con.execute("create anonymized table kept as select age from people options (quasi = [age], k = 2)")
        con.execute("drop table people")


@pytest.mark.parametrize("name", ["people", "renamed"])
def test_a_file_serves_readers_without_sqlanon_even_when_renamed(tmp_path: Path, name: str) -> None:
    stored(tmp_path / "people.duckdb")
    file = (tmp_path / "people.duckdb").rename(tmp_path / f"{name}.duckdb")
    code = f"""
import duckdb, sys
with duckdb.connect({str(file)!r}, read_only=True) as con:
    print(con.execute("select age, ward from pub order by all").fetchall())
    print(con.execute("select age from kept order by all").fetchall())
    print(con.execute("select anon.k_anonymity('pub', ['age']), anon.l_diversity('pub', ['age'], 'ward')").fetchall())
    print(con.execute("select count(*) from anon.equivalence_classes('kept', ['AGE'])").fetchall())
    print(con.execute("from anon.violations('pub', ['age'], k := 3)").fetchall())
    print(con.execute("select value from anon.utility('pub') where measure = 'average_class_size'").fetchall() != [])
    print("sqlanon" in sys.modules)
"""
    done = run(code)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[('[21-24]', 'a'), ('[21-24]', 'a'), ('[61-64]', 'b'), ('[61-64]', 'b')]",
        "[('[21-24]',), ('[21-24]',), ('[61-64]',), ('[61-64]',)]",
        "[(2, 1.0)]",
        "[(2,)]",
        "[('[21-24]', 2), ('[61-64]', 2)]",
        "True",
        "False",
    ]


def test_a_release_can_be_read_from_a_file_attached_under_another_name(
    plain: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    stored(tmp_path / "people.duckdb")
    plain.execute(f"attach '{tmp_path / 'people.duckdb'}' as other (read_only)")
    assert release(plain, "select age from other.main.pub") == ROWS
    assert release(plain, "select age from other.kept") == ROWS


def test_the_checks_of_an_attached_file_work_when_it_is_used(plain: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    stored(tmp_path / "people.duckdb")
    plain.execute(f"attach '{tmp_path / 'people.duckdb'}' as other (read_only); use other")
    assert plain.execute("select anon.k_anonymity('pub', ['age'])").fetchall() == [(2,)]


def test_two_databases_in_one_process_know_nothing_of_each_other() -> None:
    with sqlanon.connect() as one, sqlanon.connect() as two:
        for con, width in ((one, 10), (two, 50)):
            con.execute(PEOPLE)
            con.execute(f"create hierarchy age using intervals ({width})")
        assert release(one.duckdb) == [("[20-29]",)] * 2 + [("[60-69]",)] * 2
        assert release(two.duckdb) == [("[0-49]",)] * 2 + [("[50-99]",)] * 2
        one.close()
        assert release(two.duckdb) == [("[0-49]",)] * 2 + [("[50-99]",)] * 2


def test_two_loaded_databases_attached_together_are_told_apart(plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute("attach ':memory:' as one; attach ':memory:' as two")
    for database, width in (("one", 10), ("two", 50)):
        plain.execute(f"use {database}")
        sqlanon.load(plain)
        plain.execute(PEOPLE)
        sqlanon.create_hierarchy(plain, "age", intervals=[width])
    assert release(plain) == [("[0-49]",)] * 2 + [("[50-99]",)] * 2
    plain.execute("use one")
    assert release(plain) == [("[20-29]",)] * 2 + [("[60-69]",)] * 2
    plain.execute("use memory")
    with pytest.raises(CatalogError, match=r"Several databases have sqlanon loaded \(one, two\): USE one"):
        sqlanon.create_hierarchy(plain, "h", prefix=True)


def test_a_closed_database_is_not_kept_open(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    con = sqlanon.connect(file)
    con.execute(PEOPLE)
    assert release(con.duckdb) == ROWS
    con.close()
    done = run(f"import duckdb\nduckdb.connect({str(file)!r}).execute('create table mine (a int)')")
    assert (done.returncode, done.stderr) == (0, "")
