"""Tables as they come: many columns, numbers beyond a double's digits, values that nobody can read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from reading import Con, rows

import sqlanon
from sqlanon.errors import DataError, PolicyError
from sqlanon.sqltext import text
from sqlanon.udfs.evaluate.divergence import divergence
from sqlanon.udfs.evaluate.prices import certify
from sqlanon.udfs.problem import Numbers, Problem


def wide(con: Con, columns: int, values: int = 40) -> list[str]:
    names = [f"q{number}" for number in range(columns)]
    listed = ", ".join(f"(hash(r * 1000 + {j}) % {values})::int as {column}" for j, column in enumerate(names))
    con.execute(f"create or replace table wide as select {listed} from range(60) t(r)")
    return names


def test_a_table_of_sixty_columns_is_released_and_measured(con: Con) -> None:
    made = sqlanon.anonymize(con, "wide", wide(con, 60), 5, method="mondrian", name="wide_public")
    assert made.verify().k >= 5
    measured = dict(rows(con, "select measure, value from anon.utility('wide_public')"))
    assert measured["am"] > 1e38
    assert 0 < measured["kl_divergence"] < np.inf


def test_no_statement_of_a_wide_release_draws_the_cells_of_all_columns_at_once(con: Con) -> None:
    columns = wide(con, 20)
    decimals = ", ".join(f"{column} / 7.0 as {column}" for column in columns)
    made = sqlanon.anonymize(con, f"select {decimals} from wide", columns, 5, method="mondrian")
    statements = made.sql.split(";\n\n")
    drawn = text("steps/encode/cells_numbers.sql").count("floor(")
    assert max(statement.count("floor(") for statement in statements) == drawn  # those of 60 columns took 700 MiB
    assert max(len(statement) for statement in statements) < 1000 * len(columns)


def test_a_measure_that_no_float_can_hold_is_null_and_says_why(con: Con) -> None:
    sqlanon.anonymize(con, "wide", wide(con, 2), 5, name="wide_public")
    con.execute("update anon.release_classes set combinations = 'inf'")
    ((value, note),) = rows(con, "select value, note from anon.utility('wide_public') where measure = 'am'")
    assert value is None
    assert "beyond 1e308" in note
    assert rows(
        con, "select count(*) from anon.utility('wide_public') where (value is null) <> (note is not null)"
    ) == [(0,)]


def test_three_hundred_quasi_identifiers_are_refused_in_words(con: Con) -> None:
    with pytest.raises(PolicyError, match="quasi names 300 columns, and 100 is the most"):
        sqlanon.anonymize(con, "wide", wide(con, 300), 5)


def test_the_divergence_of_many_columns_is_that_of_logarithms() -> None:
    ranks = np.repeat(np.array([[0], [9]]), 400, axis=1)
    whole = np.zeros((1, 400), dtype=np.int64), np.full((1, 400), 9)
    found = divergence(*whole, np.array([2]), ranks, np.array([1, 1]))
    assert found == pytest.approx(400 * np.log2(10) - 1)


def made(con: Con, table: str) -> sqlanon.Release:
    return sqlanon.anonymize(con, table, ["x"], 5, method="kaca", ranges="text")


@pytest.mark.parametrize(
    "values",
    [
        "(1000000000000000000::hugeint + range)::hugeint",
        "(170141183460469231731687303715884105720::uhugeint + range::uhugeint)",
        "cast(1000000 + range * 0.00000000000001::decimal(38, 20) as decimal(38, 20))",
        "make_timestamp_ns(1700000000000000000 + range)",
        "make_timestamp(1700000000000000 + range)",
        "(9007199254740993 + range)::bigint",
    ],
)
def test_numbers_beyond_a_double_lose_as_much_as_small_ones(con: Con, values: str) -> None:
    con.execute(f"create table large as select {values} as x from range(40)")
    con.execute("create table small as select range::int as x from range(40)")
    large, small = (made(con, table).metrics() for table in ("large", "small"))
    assert 0 < large["gcp"] < 0.2
    for measure in ("gcp", "lm", "precision", "distortion", "lower_bound"):
        assert large[measure] == pytest.approx(small[measure]), measure


def test_snapped_cells_of_large_numbers_are_those_of_their_span(con: Con) -> None:
    con.execute("create table large as select (1000000000000000000 + range)::bigint as x from range(40)")
    con.execute("create table small as select range::int as x from range(40)")
    large, small = (
        sqlanon.anonymize(con, table, ["x"], 5, method="kaca", ranges="snapped").metrics()["gcp"]
        for table in ("large", "small")
    )
    assert large == pytest.approx(small)


@pytest.mark.sweep
@pytest.mark.parametrize("ranges", ["auto", "snapped"])
@pytest.mark.parametrize(
    ("values", "small"),
    [
        ("12345678901234567.00 + range * 0.01 as decimal(38, 2)", "range * 0.01 as decimal(9, 2)"),
        ("-12345678901234568.00 + range * 0.01 as decimal(38, 2)", "range * 0.01 as decimal(9, 2)"),
        ("1000000 + range * 0.00000000000001::decimal(38, 20) as decimal(38, 20)", "range * 1e-8 as decimal(9, 8)"),
        ("'99999999999999999999999999999999999' || (950 + range) as decimal(38, 0)", "950 + range as decimal(9, 0)"),
        ("make_timestamp_ns(1700000000000000000 + range) as timestamp_ns", "range / 100.0 as decimal(9, 2)"),
        ("make_timestamp(1700000000000000 + range * 1000) as timestamp_ms", "range / 100.0 as decimal(9, 2)"),
        ("make_timestamp(1700000000000000 + range) as timestamp", "range / 100.0 as decimal(9, 2)"),
        ("170141183460469231731687303715884105688 + range as hugeint", "88 + range as integer"),
    ],
)
def test_cells_are_as_fine_as_those_of_small_numbers_whatever_the_digits(
    con: Con, values: str, small: str, ranges: str
) -> None:
    con.execute(f"create table large as select cast({values}) as x from range(40)")
    con.execute(f"create table small as select cast({small}) as x from range(40)")
    options = {"method": "kaca", "ranges": ranges, "name": "public", "replace": True}
    found = [sqlanon.anonymize(con, table, ["x"], 5, **options).metrics()["gcp"] for table in ("large", "small")]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] < 0.3  # it was 1: one cell for all of them


ENDS = re.compile(r"\[(-?[0-9.]+(?:e[+-]?[0-9]+)?)-(.*)\)")


@pytest.mark.parametrize("ranges", ["auto", "snapped"])
@pytest.mark.parametrize("first", [1e9, -1e9, 1e-21, 1e19, 0.0])
def test_cells_of_floats_are_as_fine_as_their_own_digits(con: Con, first: float, ranges: str) -> None:
    step = 64 * np.spacing(abs(first) or 1.0)
    values = first + step * np.arange(40)
    con.execute("create table floats (x double)")
    con.executemany("insert into floats values (?)", values[:, None].tolist())
    made = sqlanon.anonymize(con, "floats", ["x"], 5, method="kaca", ranges=ranges, name="public")
    assert made.metrics()["gcp"] < 0.3  # it was 1: one cell for all of them
    labels = [label for (label,) in rows(con, "select x from public")]
    ends = [(float(low), float(high)) for label in labels for low, high in ENDS.findall(label)]
    assert len(ends) == len(labels)
    for low, high in set(ends):
        assert np.count_nonzero((low <= values) & (values < high)) >= ends.count((low, high))


def test_numbers_at_both_ends_of_their_type_have_a_distance(con: Con) -> None:
    ends = "(case when range % 2 = 0 then 1 else -1 end * 170141183460469231731687303715884105727)::hugeint"
    con.execute(f"create table ends as select {ends} as x from range(9)")
    assert sqlanon.anonymize(con, "ends", ["x"], 5).metrics()["gcp"] == 1


def test_released_text_carries_no_collation(con: Con) -> None:
    con.execute("create table people as select 'ä' || range % 2 as town, range % 3 as age from range(12)")
    sqlanon.anonymize(con, "people", ["town", "age"], 2, name="people_public")
    ((made,),) = rows(con, "select sql from duckdb_tables() where table_name = 'people_public'")
    assert "COLLATE" not in made.upper()
    con.execute("create table by_query as from anon.anonymize('people', quasi := ['town', 'age'], k := 2)")
    ((made,),) = rows(con, "select sql from duckdb_tables() where table_name = 'by_query'")
    assert "COLLATE" not in made.upper()


def test_a_source_that_fails_is_told_from_a_fault_of_ours(con: Con) -> None:
    con.execute("create view broken as select cast('x' || range as integer) as age from range(9)")
    with pytest.raises(DataError, match=r"^The source cannot be read: a value cannot be converted to another type\."):
        sqlanon.anonymize(con, "broken", ["age"], 2)


def test_a_line_that_does_not_fit_is_named_without_its_value(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("age\n" + "1\n" * 30_000 + "secret\n")
    with pytest.raises(DataError, match=r"line 30,002: column 'age' was taken for BIGINT") as raised:
        sqlanon.anonymize(con, str(file), ["age"], 2)
    assert "secret" not in str(raised.value)


def test_the_bound_needs_no_table_of_values_times_values() -> None:
    import tracemalloc

    rng = np.random.default_rng(1)
    at = np.sort(rng.random(3000))
    ranks = np.stack([rng.permutation(3000), rng.permutation(3000)], axis=1)
    problem = Problem(ranks, np.ones(3000, dtype=np.int64), (Numbers(at), Numbers(at)), np.ones(2))
    tracemalloc.start()
    certify(problem, 5, lambda *_: None, work=30_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * 2**20
