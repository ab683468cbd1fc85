"""Frames go in where a table's name does, and come out again."""

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import sqlanon
from sqlanon.errors import CatalogError, SqlanonError

ibis = pytest.importorskip("ibis")
pl = pytest.importorskip("polars")
# ibis calls what DuckDB 2 deprecates
pytestmark = pytest.mark.filterwarnings("ignore:.*fetch_arrow_table:DeprecationWarning")

ROWS = {
    "age": [24, 29, 38, 36, 71, 64],
    "zip": ["4350", "4352", "4361", "4364", "4427", None],
    "diagnosis": ["Asthma", "Hernia", "Asthma", "Flu", "Hernia", "Flu"],
}
ASKED: dict[str, Any] = {"quasi": ["age", "zip"], "k": 3, "sensitive": ["diagnosis"], "method": "kacpc"}


@pytest.fixture(autouse=True)
def patients(con: duckdb.DuckDBPyConnection) -> None:
    con.register("given", pa.table(ROWS))
    con.execute("create table patients as from given")
    con.unregister("given")


def pandas_frame(con: duckdb.DuckDBPyConnection) -> Any:
    return pd.DataFrame(ROWS, index=[f"p{number}" for number in range(6)])


def ibis_of_the_connection(con: duckdb.DuckDBPyConnection) -> Any:
    return ibis.duckdb.from_connection(con).table("patients").filter(ibis._.age > 0)


FRAMES: dict[str, Callable[[duckdb.DuckDBPyConnection], Any]] = {
    "pandas": pandas_frame,
    "polars": lambda con: pl.DataFrame(ROWS),
    "polars lazy": lambda con: pl.LazyFrame(ROWS).filter(pl.col("age") > 0),
    "arrow": lambda con: pa.table(ROWS),
    "arrow batch": lambda con: pa.RecordBatch.from_pydict(ROWS),
    "arrow stream": lambda con: pa.table(ROWS).to_reader(),
    "arrow dataset": lambda con: pa.dataset.dataset(pa.table(ROWS)),
    "ibis in memory": lambda con: ibis.memtable(pa.table(ROWS)),
    "ibis of the connection": ibis_of_the_connection,
    "relation": lambda con: con.sql("from patients where age > 0"),
    "relation of another connection": lambda con: duckdb.connect().from_arrow(pa.table(ROWS)),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_anonymized_as_the_table_with_its_rows_is(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    release = sqlanon.anonymize(con, FRAMES[kind](con), **ASKED)
    expected = sqlanon.anonymize(con, "patients", **ASKED)
    assert release.proof == expected.proof
    assert release.metrics() == expected.metrics()
    columns = ["age", "zip", "diagnosis"]
    assert sorted(release.df()[columns].to_numpy().tolist()) == sorted(expected.df()[columns].to_numpy().tolist())


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_checked_searched_measured_compared_and_attacked(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    def frame() -> Any:
        return FRAMES[kind](con)

    quasi = ["age", "zip"]
    assert sqlanon.check(con, frame(), quasi, 1) == sqlanon.check(con, "patients", quasi, 1)
    assert sqlanon.risk(con, frame(), quasi, population=frame()) == sqlanon.risk(con, "patients", quasi)
    assert sqlanon.detect(con, frame()).columns == sqlanon.detect(con, "patients").columns
    compared = sqlanon.compare(con, frame(), quasi, 3, methods="kacpc")
    assert (compared.source, compared.cells[0].status) == ("<frame>", "done")
    release = sqlanon.anonymize(con, "patients", **ASKED)
    attacks = sqlanon.attack(con, release.arrow(), source=frame(), quasi=quasi, k=3)
    assert {row.verdict for row in attacks.rows} <= {"holds", "open", "not tried"}


def test_a_release_comes_out_as_any_frame(con: duckdb.DuckDBPyConnection) -> None:
    release = sqlanon.anonymize(con, pl.DataFrame(ROWS), **ASKED)
    frame, table = release.pl(), release.arrow()
    assert isinstance(frame, pl.DataFrame)
    assert isinstance(table, pa.Table)
    assert frame.columns == table.column_names == list(release.df().columns)
    counted = release.ibis().group_by("age", "zip").agg(rows=ibis._.count()).to_pyarrow()
    assert counted["rows"].to_pylist() == [3, 3]


def test_ibis_own_connection_will_do(con: duckdb.DuckDBPyConnection) -> None:
    backend = ibis.duckdb.connect()
    sqlanon.load(backend)
    backend.con.from_arrow(pa.table(ROWS)).create("patients")
    table = backend.table("patients")
    sqlanon.anonymize(backend, table.filter(table.age < 100), name="patients_public", **ASKED)
    assert sqlanon.check(backend.con, backend.table("patients_public"), ["age", "zip"], 3).holds
    backend.disconnect()


def test_a_stored_release_says_that_its_source_was_a_frame(con: duckdb.DuckDBPyConnection) -> None:
    asked = ASKED | {"sensitive": [], "method": "nonhomogeneous"}
    release = sqlanon.anonymize(con, pd.DataFrame(ROWS), name="public", **asked)
    assert con.execute("select source from anon.releases").fetchall() == [("<frame>",)]
    assert release.verify().k == 3  # this one still holds the frame
    assert "4350" not in repr(release)
    con.execute('create table "<frame>" as from patients')  # not what it was made from
    with pytest.raises(CatalogError, match="made from a frame, which cannot be read again"):
        sqlanon.open_release(con, "public").verify()


def test_a_stream_is_read_once_and_remembered(con: duckdb.DuckDBPyConnection) -> None:
    asked = ASKED | {"sensitive": [], "method": "nonhomogeneous"}
    release = sqlanon.anonymize(con, pa.table(ROWS).to_reader(), **asked)
    assert release.verify() == release.proof


def test_nothing_of_a_frame_stays_behind(con: duckdb.DuckDBPyConnection) -> None:
    frame = pl.DataFrame(ROWS)
    sqlanon.anonymize(con, frame, **ASKED)
    with pytest.raises(CatalogError, match=r"Column 'aeg' is not in 'the frame'.*Did you mean 'age'"):
        sqlanon.check(con, frame, ["aeg"])
    views = "select view_name from duckdb_views() where view_name like 'sqlanon%'"
    assert con.execute(views).fetchall() == []


def test_a_frame_in_a_transaction_that_is_rolled_back(con: duckdb.DuckDBPyConnection) -> None:
    con.begin()
    sqlanon.anonymize(con, pd.DataFrame(ROWS), name="public", **ASKED)
    con.rollback()
    assert con.execute("select count(*) from anon.releases").fetchall() == [(0,)]
    assert sqlanon.check(con, pd.DataFrame(ROWS), ["age"], 1).holds


@pytest.mark.parametrize("wrong", [{"age": [1]}, [1], 3, pd.DataFrame])
def test_what_is_no_frame_is_refused_by_its_kind(con: duckdb.DuckDBPyConnection, wrong: Any) -> None:
    with pytest.raises(CatalogError, match=r"The source is a .*: give a table's name, a query, or a pandas"):
        sqlanon.anonymize(con, wrong, **ASKED)


def test_a_frame_that_cannot_be_read_says_so_without_values(con: duckdb.DuckDBPyConnection) -> None:
    broken = pl.LazyFrame(ROWS).with_columns(pl.col("zip").cast(pl.Int64, strict=True).alias("n") + pl.col("nothing"))
    with pytest.raises(CatalogError, match=r"^The polars LazyFrame cannot be read: ColumnNotFoundError$"):
        sqlanon.check(con, broken, ["age"])


def test_a_missing_library_is_named(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    release = sqlanon.anonymize(con, "patients", **ASKED)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(SqlanonError, match="pip install 'polars'"):
        release.pl()


def test_a_frame_without_columns_is_refused() -> None:
    with pytest.raises(CatalogError, match="The frame has no columns"):
        sqlanon.anonymize(pd.DataFrame(), ["age"], 2)


def test_a_release_lists_no_category_that_no_row_of_it_has(con: duckdb.DuckDBPyConnection) -> None:
    """A filtered frame keeps the categories of those who were filtered out, and to_parquet() writes them."""
    con.execute("create type ills as enum ('flu', 'cold', 'it''s ), a needle')")
    con.execute(
        "create table people as select range % 9 as age, (['flu', 'cold'])[1 + range % 2]::ills as ill, "
        "{'was': ill} as st from range(40)"
    )
    made = sqlanon.anonymize(con, "people", ["age"], 5, sensitive=["ill"], keep=["st"], method="mondrian")
    assert list(map(str, made.relation().types)) == ["VARCHAR", "VARCHAR", "STRUCT(was VARCHAR)"]
    frame = con.sql("select age, ill from people").df()
    assert "needle" in str(frame["ill"].dtype.categories)
    released = sqlanon.anonymize(con, frame, ["age"], 5, sensitive=["ill"], method="mondrian")
    assert not hasattr(released.df()["ill"].dtype, "categories")
