"""sqlanon.open_readonly: reading the database works, everything else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import sqlanon
from sqlanon.errors import CatalogError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readonly")
    with duckdb.connect(str(path / "public.duckdb")) as con:
        sqlanon.load(con)
        con.execute("create table people as select i % 2 as age, repeat('x', 20) as note from range(100000) r(i)")
    duckdb.connect(str(path / "other.duckdb")).close()
    (path / "secret.csv").write_text("a\n1\n")
    return path


@pytest.fixture
def readonly(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with sqlanon.open_readonly(folder / "public.duckdb") as connection:
        yield connection


def test_tables_and_check_macros_are_read(readonly: duckdb.DuckDBPyConnection) -> None:
    assert readonly.execute("select count(*), max(note) from people").fetchall() == [(100000, "x" * 20)]
    assert readonly.execute("select anon.k_anonymity('people', ['age'])").fetchall() == [(50000,)]


@pytest.mark.parametrize(
    "statement",
    [
        "from '{folder}/secret.csv'",
        "from read_csv('{folder}/secret.csv')",
        "from read_text('{folder}/secret.csv')",
        "select size from read_blob('{folder}/public.duckdb')",
        "from glob('{folder}/*')",
        "from read_csv('/dev/stdin')",
        "from 'https://example.com/x.csv'",
        "attach '{folder}/other.duckdb' as other",
        "attach '{folder}/other.duckdb' as other (read_only)",
        "attach '{folder}/new.duckdb' as other",
        "attach ':memory:' as other",
        "copy people to '{folder}/out.csv'",
        "copy people to '{folder}/out.parquet'",
        "copy (select 1) to '/dev/stdout'",
        "export database '{folder}/out'",
        "install httpfs",
        "install httpfs from community",
        "load httpfs",
        "load '{folder}/secret.csv'",
        "set threads = 1",
        "set session threads = 1",
        "reset threads",
        "pragma threads = 1",
        "set enable_external_access = true",
        "set disabled_filesystems = ''",
        "set lock_configuration = false",
        "set temp_directory = '{folder}'",
        "create table more as select 1",
        "insert into people values (1, '')",
        "delete from people",
        "drop table people",
        "from frame",
    ],
)
def test_whatever_is_not_reading_it_is_refused(
    readonly: duckdb.DuckDBPyConnection, folder: Path, statement: str
) -> None:
    frame = pd.DataFrame({"a": [1]})
    before = sorted(folder.iterdir())
    with pytest.raises(duckdb.Error) as refused:
        readonly.execute(statement.format(folder=folder)).fetchall()
    assert not isinstance(refused.value, duckdb.ParserException)
    assert sorted(folder.iterdir()) == before
    assert len(frame) == 1


def test_every_statement_that_is_refused_there_is_possible_elsewhere(folder: Path) -> None:
    """So that the refusals above are about the connection, not about typing errors."""
    with duckdb.connect(str(folder / "other.duckdb")) as con:
        con.execute("create table people as select 1 as age, '' as note")
        for statement in (
            "from '{folder}/secret.csv'",
            "select size from read_blob('{folder}/public.duckdb')",
            "from glob('{folder}/*')",
            "attach ':memory:' as more",
            "set threads = 1",
            "set disabled_filesystems = ''",
            "insert into people values (1, '')",
        ):
            con.execute(statement.format(folder=folder)).fetchall()


def test_a_database_that_is_not_there_is_an_error_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"There is no database '.*missing\.duckdb'"):
        sqlanon.open_readonly(tmp_path / "missing.duckdb")
    assert list(tmp_path.iterdir()) == []
