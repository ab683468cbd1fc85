"""The same people in another table: recognized by their digests, and strangers are not."""

from __future__ import annotations

import duckdb
import pytest

import sqlanon
from sqlanon.catalog import people as kept
from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.people import look_at
from sqlanon.engine.names import resolve
from sqlanon.privacy.recognizing import are_the_same

Con = duckdb.DuckDBPyConnection
PATIENTS = """
create or replace table {} as
select range as id, 20 + cast(60 * random() as integer) as age, 10000 + cast(900 * random() as integer) as zip,
    ['f', 'm'][1 + cast(random() as integer)] as sex, round(9000 * random(), 2) as income,
    date '2020-01-01' + cast(900 * random() as integer) as admitted,
    ['flu', 'gout', 'cold', 'hiv'][1 + cast(3 * random() as integer)] as illness
from range({})
"""


def recognized(con: Con, one: str, other: str) -> bool:
    catalog = Catalog.of(con)
    mine, theirs = resolve(con, one), resolve(con, other)
    common = [column for column in mine.columns if column in theirs.columns]
    sample = look_at(catalog, mine, mine.columns, "salt", kept.SAMPLE)
    return are_the_same(sample, look_at(catalog, theirs, common, "salt"))


@pytest.fixture
def patients(con: Con) -> Con:
    sqlanon.load(con)
    con.execute("select setseed(0.5)")
    con.execute(PATIENTS.format("patients", 3000))
    return con


@pytest.mark.sweep
@pytest.mark.parametrize(
    "copied",
    [
        "from patients",
        "select * from patients order by random()",
        "select id, age, zip, illness from patients",
        "select age, zip, sex, income from patients",
        "select * replace (age + 1 as age) from patients",
        "select * replace (cast(id as varchar) as id, cast(income as decimal(12, 4)) as income, "
        "cast(admitted as timestamp) as admitted, cast(zip as double) as zip) from patients",
        "select * replace (cast(income as float) as income) from patients",
        "select * from patients where sex = 'f'",
        "select * from patients where id % 10 = 0",
        "select * from patients union all select id + 9000, 20, 10000, 'f', 5.5, admitted, 'flu' from patients",
        "select sex, age // 20 as age, illness from patients",
    ],
)
def test_a_copy_is_recognized_in_any_order_with_other_types_fewer_columns_and_other_rows(
    patients: Con, copied: str
) -> None:
    patients.execute(f"create table copied as {copied}")
    is_recognized = "age //" not in copied
    assert recognized(patients, "patients", "copied") is is_recognized
    assert recognized(patients, "copied", "patients") is is_recognized


@pytest.mark.parametrize("columns", ["*", "id, sex", "age, sex", "age, sex, illness", "age, zip, sex, illness", "zip"])
def test_strangers_with_the_same_columns_are_not_taken_for_them(patients: Con, columns: str) -> None:
    patients.execute(PATIENTS.format("strangers", 3000))
    patients.execute(f"create table one as select {columns} from patients")
    patients.execute(f"create table other as select {columns} from strangers")
    assert not recognized(patients, "one", "other")


def test_rows_that_all_occur_many_times_are_recognized_by_how_often(patients: Con) -> None:
    patients.execute("create table coarse as select age // 10 as age, sex, illness from patients")
    patients.execute("create table copied as from coarse order by random()")
    patients.execute(PATIENTS.format("strangers", 3000))
    patients.execute("create table others as select age // 10 as age, sex, illness from strangers")
    assert recognized(patients, "coarse", "copied")
    assert not recognized(patients, "coarse", "others")


def test_a_copy_of_a_table_larger_than_what_is_looked_at_is_recognized(
    patients: Con, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients.execute(PATIENTS.format("patients", 40_000))
    patients.execute("create table copied as from patients")
    patients.execute(PATIENTS.format("strangers", 40_000))
    monkeypatch.setattr(kept, "SAMPLE", 400)
    monkeypatch.setattr(kept.look_at, "__defaults__", (4000, True))
    assert recognized(patients, "patients", "copied")
    assert not recognized(patients, "patients", "strangers")
