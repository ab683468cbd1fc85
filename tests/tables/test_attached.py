"""Sources and targets outside DuckDB: SQLite, DuckLake and Excel, each through DuckDB's own extension."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from reading import Con, rows

import sqlanon
from sqlanon.engine.sources import packaged_extension
from sqlanon.errors import CatalogError, SqlanonError

PEOPLE = (
    "select 20 + range % 30 as age, ['f', 'm'][1 + (range % 2)::int] as sex, 'd' || range % 3 as diagnosis "
    "from range(60)"
)


def extended(con: Con, extension: str) -> Con:
    """The connection with an extension that was installed as a wheel; skipped where it was not."""
    file = packaged_extension(con, extension)
    if file is None:
        pytest.skip(f"duckdb-extension-{extension.replace('_', '-')} is not installed for this DuckDB")
    con.execute(f"load '{file}'")
    return con


def test_a_table_of_an_attached_sqlite_database_is_a_source(con: Con, tmp_path: Path) -> None:
    extended(con, "sqlite_scanner")
    with sqlite3.connect(tmp_path / "people.sqlite") as lite:
        lite.execute("create table people (age integer, sex text, diagnosis text)")
        lite.executemany("insert into people values (?, ?, ?)", rows(con, PEOPLE))
    con.execute(f"attach '{tmp_path}/people.sqlite' as lite (type sqlite)")
    made = sqlanon.anonymize(con, "lite.people", ["age", "sex"], 5, sensitive=["diagnosis"], name="people_public")
    assert made.verify().k >= 5
    assert sqlanon.detect(con, "lite.people").rows == 60


@pytest.fixture
def postgres() -> Iterator[str]:
    """A PostgreSQL server of Debian's package that nobody else knows, reached by its socket; skipped without one."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    is_root = os.geteuid() == 0
    other = ["runuser", "-u", "postgres", "--"] if is_root else []  # the server refuses to run as root
    with TemporaryDirectory() as folder:
        if is_root:
            shutil.chown(folder, "postgres")

        def call(program: str, *arguments: str) -> None:
            command = [*other, str(programs[-1].with_name(program)), "-D", f"{folder}/data", *arguments]
            subprocess.run(command, check=True, capture_output=True, cwd="/")

        call("initdb", "-A", "trust", "-U", "postgres")
        call("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -h ''", "start")
        try:
            yield f"host={folder} dbname=postgres user=postgres"
        finally:
            call("pg_ctl", "-m", "immediate", "stop")


def test_a_table_of_an_attached_postgres_database_is_a_source(con: Con, request: pytest.FixtureRequest) -> None:
    extended(con, "postgres_scanner")
    con.execute(f"attach '{request.getfixturevalue('postgres')}' as pg (type postgres)")
    con.execute(f"create table pg.people as {PEOPLE}")
    made = sqlanon.anonymize(con, "pg.public.people", ["age", "sex"], 5, sensitive=["diagnosis"], name="people_public")
    assert made.verify().k >= 5
    con.execute("create table pg.people_public as from people_public")
    assert rows(con, "select count(*) from pg.people_public") == [(60,)]


def test_ducklake_is_a_source_and_a_target(con: Con, tmp_path: Path) -> None:
    extended(con, "ducklake")
    con.execute(f"attach 'ducklake:{tmp_path}/lake.ducklake' as lake (data_path '{tmp_path}/data')")
    con.execute(f"create table lake.people as {PEOPLE}")
    released = "anon.anonymize('lake.people', quasi := ['age', 'sex'], k := 5, sensitive := ['diagnosis'])"
    con.execute(f"create table lake.people_public as from {released}")
    assert rows(
        con, "select count(*), anon.k_anonymity('lake.people_public', ['age', 'sex']) >= 5 from lake.people_public"
    ) == [(60, True)]


def test_a_release_is_not_stored_in_another_database(con: Con, tmp_path: Path) -> None:
    con.execute(f"create table people as {PEOPLE}")
    con.execute(f"attach '{tmp_path}/other.duckdb' as lake")
    with pytest.raises(
        CatalogError, match=r"'lake' is another database than .*\.relation\(\)\.create\('lake\.public'\)"
    ):
        sqlanon.anonymize(con, "people", ["age", "sex"], 5, name="lake.public")
    with pytest.raises(
        CatalogError, match=r"There is no schema 'nope' for 'nope\.public': CREATE SCHEMA \"nope\" first"
    ):
        sqlanon.anonymize(con, "people", ["age", "sex"], 5, name="nope.public")
    sqlanon.anonymize(con, "people", ["age", "sex"], 5).relation().create("lake.public")
    assert rows(con, "select count(*) from lake.public") == [(60,)]


def test_a_sheet_of_an_excel_file_is_a_source(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "people.xlsx"
    extended(con, "excel").execute(f"copy ({PEOPLE}) to '{file}' (format xlsx, header true)")
    assert sqlanon.anonymize(con, str(file), ["age", "sex"], 5, sensitive=["diagnosis"]).verify().k >= 5
    assert sqlanon.detect(con, sqlanon.file_query(file, sheet="Sheet1")).rows == 60
    with pytest.raises(CatalogError, match=r"it has no sheet 'Nope'$"):
        sqlanon.detect(con, sqlanon.file_query(file, sheet="Nope"))


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        ([[]], r"the sheet is empty$"),
        (
            [["Staff in 2024"], [], ["age", "sex"], [30, "f"]],
            r"first empty row.*FROM read_xlsx\('.*', range = 'A3:F1000'",
        ),
    ],
)
def test_a_sheet_that_is_no_table_is_refused_in_words(
    con: Con, sheet: list[list[object]], said: str, tmp_path: Path
) -> None:
    extended(con, "excel")
    book = pytest.importorskip("openpyxl").Workbook()
    for row in sheet:
        book.active.append(row)
    book.save(tmp_path / "sheet.xlsx")
    with pytest.raises(CatalogError, match=said):
        sqlanon.detect(con, str(tmp_path / "sheet.xlsx"))


def test_a_cell_of_another_kind_is_named_without_its_value(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "mixed.xlsx"
    extended(con, "excel")
    book = pytest.importorskip("openpyxl").Workbook()
    for row in [["age"], *([20 + number] for number in range(20)), ["unknown"]]:
        book.active.append(row)
    book.save(file)
    with pytest.raises(SqlanonError, match="cell A22 is of another kind") as raised:
        sqlanon.detect(con, str(file))
    assert "unknown" not in str(raised.value)
    assert "all_varchar = true" in str(raised.value)


def test_a_file_that_is_not_excel_is_not_a_missing_extension(con: Con, tmp_path: Path) -> None:
    extended(con, "excel")
    (tmp_path / "people.xlsx").write_bytes(b"age,sex\n")
    with pytest.raises(CatalogError, match="it is not an Excel file, or a damaged one"):
        sqlanon.detect(con, str(tmp_path / "people.xlsx"))


def test_an_excel_file_without_the_extension_says_what_is_missing(con: Con, tmp_path: Path) -> None:
    if packaged_extension(con, "excel") is not None:
        pytest.skip("the extension is installed")
    con.execute("set autoinstall_known_extensions = false")
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    with pytest.raises(CatalogError, match="Excel files need DuckDB's extension 'excel'"):
        sqlanon.anonymize(con, str(tmp_path / "people.xlsx"), ["age"], 5)


def test_how_a_file_is_read_goes_with_its_kind() -> None:
    read = sqlanon.file_query("a.csv", encoding="latin1", decimal=",", delimiter="tab")
    assert read == "from read_csv('a.csv', encoding = 'latin-1', decimal_separator = ',', delim = '\t')"
    assert sqlanon.file_query("a.xlsx", sheet="s") == "from read_xlsx('a.xlsx', sheet = 's')"
    assert sqlanon.file_query("a.parquet") == "from 'a.parquet'"
    with pytest.raises(CatalogError, match=r"encoding goes with csv files; .a\.xlsx. is an Excel file"):
        sqlanon.file_query("a.xlsx", encoding="latin-1")
    for wrong in (
        {"path": "a.parquet", "decimal": ","},
        {"path": "a.csv", "sheet": "s"},
        {"path": "a.csv", "decimal": ";"},
    ):
        with pytest.raises(CatalogError):
            sqlanon.file_query(**wrong)


def test_the_file_of_a_sqlite_database_is_read_by_a_query_which_is_said(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "people.sqlite"
    with sqlite3.connect(file) as own:
        own.execute("create table people (age integer, diagnosis text)")
        own.executemany("insert into people values (?, ?)", [(20 + n % 9, "abc"[n % 3]) for n in range(60)])
    own.close()
    with pytest.raises(CatalogError, match=r"is a SQLite database\. Name a table of it by a query: FROM sqlite_scan"):
        sqlanon.detect(con, str(file))
    with pytest.raises(CatalogError, match=r"is a SQLite database|is not a DuckDB database"):
        sqlanon.connect(file)
    if packaged_extension(con, "sqlite_scanner") is None:
        pytest.skip("duckdb-extension-sqlite-scanner is not installed for this DuckDB")
    assert sqlanon.anonymize(con, f"FROM sqlite_scan('{file}', 'people')", ["age"], 5).verify().rows == 60


def test_a_source_that_needs_an_extension_names_it() -> None:
    """It could not be read for "Error"."""
    plain = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    sqlanon.load(plain)
    with plain, pytest.raises(CatalogError, match=r"needs DuckDB's extension 'httpfs', .*: INSTALL httpfs$"):
        sqlanon.detect(plain, "https://example.org/people.csv")
