"""Arrays between Arrow and numpy, as pyarrow itself converts them, but without pandas."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sqlanon.engine.arrays import arrow, column, matrix

NUMBERS = [3.5, None, -1.0, 2.0, None, 0.0, 7.0, 8.0, 9.0, None, 11.0]
RELEASE = """
import sys, sqlanon
with sqlanon.connect() as con:
    con.execute("create table people as select r % 9 as age, r % 2 as sex, r % 3 as ill from range(60) t(r)")
    sqlanon.anonymize(con, "people", ["age", "sex"], 3, sensitive=["ill"], name="public", method="mondrian")
sys.exit("pandas" in sys.modules)
"""


@pytest.mark.parametrize("start", [0, 1, 3, 9, 11])
@pytest.mark.parametrize("values", [pa.array(NUMBERS), pa.array(range(11)), pa.array(range(11), pa.uint64())], ids=str)
def test_numbers_are_read_as_pyarrow_reads_them(values: pa.Array, start: int) -> None:
    structs = pa.StructArray.from_arrays([values], ["value"])[start:]
    expected = structs.field("value").to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(column(structs, "value"), expected)


def test_lists_of_one_length_are_a_matrix() -> None:
    lists = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int64()))
    assert matrix(pa.StructArray.from_arrays([lists], ["ranks"])[1:], "ranks").tolist() == [[3, 4], [5, 6]]


def test_numbers_are_written_as_pyarrow_writes_them_and_what_is_unknown_is_null() -> None:
    assert arrow(NUMBERS, np.float64).equals(pa.array(NUMBERS))
    assert arrow(np.arange(10)[::2]).equals(pa.array([0, 2, 4, 6, 8]))
    assert arrow([]).equals(pa.array([], pa.int64()))


@pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1.5 imports pandas itself to call Arrow functions")
def test_a_release_of_a_table_does_not_wait_for_pandas() -> None:
    subprocess.run([sys.executable, "-c", RELEASE], check=True)
