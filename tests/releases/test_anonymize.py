"""anon.anonymize and sqlanon.anonymize: what they print, wherever and however they are called."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import sqlanon
from sqlanon import samples
from sqlanon.errors import BrokenPromiseError, DataError
from sqlanon.udfs import methods
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Groups, Problem

Con = duckdb.DuckDBPyConnection
BY_SEX_AND_AGE = "anon.anonymize('patients', quasi := ['age', 'sex'], k := 4, sensitive := ['diagnosis'])"


@pytest.fixture
def con() -> Iterator[Con]:
    with duckdb.connect() as connection:
        sqlanon.load(connection)
        samples.create(connection, "patients")
        yield connection


@pytest.fixture(scope="module")
def shared() -> Iterator[Con]:
    """One connection for tests that replace the table they use."""
    with duckdb.connect() as connection:
        sqlanon.load(connection)
        samples.create(connection, "patients")
        connection.execute("set timezone = 'UTC'")
        yield connection


def rows(con: Con, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
    return con.execute(sql, values).fetchall()


def multiset(found: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(found)


def columns(con: Con, relation: str) -> list[str]:
    return [row[0] for row in rows(con, f"describe from {relation}")]


def by_id(con: Con, call: str) -> dict[int, Any]:
    """The only printed column of a release, by the id that was kept."""
    return {row[-1]: row[0] if len(row) == 2 else row[:-1] for row in rows(con, f"from {call}")}


def test_create_table_as_stores_a_release_that_holds_k(con: Con) -> None:
    con.execute(f"create table pub as from {BY_SEX_AND_AGE}")
    assert rows(con, "select count(*), anon.k_anonymity('pub', ['age', 'sex']) >= 4 from pub") == [(16, True)]


def test_copy_to_writes_a_release_that_plain_duckdb_reads(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "pub.parquet"
    con.execute(f"copy (from {BY_SEX_AND_AGE}) to '{file}' (format parquet)")
    with duckdb.connect() as plain:
        smallest = rows(plain, f"select min(n) from (select count(*) n from '{file}' group by age, sex)")
    assert smallest[0][0] >= 4


def test_the_output_holds_quasi_sensitive_and_keep_in_the_order_of_the_source_and_nothing_else(con: Con) -> None:
    call = "anon.anonymize('patients', quasi := ['sex', 'age'], k := 2, sensitive := ['diagnosis'], keep := ['ward'])"
    assert columns(con, call) == ["age", "sex", "ward", "diagnosis"]


def test_python_and_sql_print_the_same_release(con: Con) -> None:
    release = sqlanon.anonymize(con, "patients", quasi=["age", "sex"], k=4, sensitive=["diagnosis"])
    assert multiset(release.relation().fetchall()) == multiset(rows(con, f"from {BY_SEX_AND_AGE}"))


def test_the_printed_sql_of_a_release_makes_the_same_release(con: Con) -> None:
    release = sqlanon.anonymize(con, "patients", quasi=["age", "sex"], k=4, sensitive=["diagnosis"])
    assert multiset(rows(con, release.sql)) == multiset(release.relation().fetchall())


def test_inside_a_transaction_it_sees_uncommitted_rows(con: Con) -> None:
    con.execute("begin")
    con.execute("insert into patients values ('Zoe', 999, '4350', 'female', 'Surgery', 'Hernia')")
    found = rows(con, "from anon.anonymize('patients', quasi := ['age'], k := 2)")
    con.execute("rollback")
    assert len(found) == 17
    assert any("999" in age for (age,) in found)


def test_a_python_release_inside_a_transaction_goes_away_with_it(con: Con) -> None:
    con.execute("begin")
    con.execute("create table fresh as select * from patients")
    sqlanon.anonymize(con, "fresh", quasi=["age"], k=4, name="pub")
    con.execute("rollback")
    assert rows(con, "select name from anon.releases") == []
    assert rows(con, "select table_name from duckdb_tables() where table_name in ('pub', 'fresh')") == []


def test_a_table_made_in_the_running_transaction_is_refused_with_the_reason(con: Con) -> None:
    con.execute("begin")
    con.execute("create table fresh as select * from patients")
    with pytest.raises(duckdb.Error, match="commit first"):
        rows(con, "from anon.anonymize('fresh', quasi := ['age'], k := 2)")
    con.execute("rollback")


def test_table_quasi_and_k_may_be_parameters(con: Con) -> None:
    sql = "select age from anon.anonymize($1, quasi := $2, k := $3)"
    assert min(Counter(rows(con, sql, ["patients", ["age"], 5])).values()) >= 5


def test_a_prepared_statement_runs_again_with_other_values(con: Con) -> None:
    con.execute("prepare p as from anon.anonymize($1, quasi := $2, k := $3)")
    assert min(Counter(rows(con, "execute p('patients', ['age'], 3)")).values()) >= 3
    assert min(Counter(rows(con, "execute p('patients', ['sex', 'zip'], 8)")).values()) >= 8


def test_explain_shows_a_plan_and_runs_no_core(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any) -> Groups:
        raise AssertionError("the core ran")

    monkeypatch.setitem(methods.METHODS, "auto", dataclasses.replace(METHODS["auto"], cluster=run))
    assert rows(con, f"explain from {BY_SEX_AND_AGE}")


def test_a_cursor_of_the_loaded_connection_can_anonymize(con: Con) -> None:
    with con.cursor() as cursor:
        assert multiset(rows(cursor, f"from {BY_SEX_AND_AGE}")) == multiset(rows(con, f"from {BY_SEX_AND_AGE}"))


def test_a_condition_on_the_release_leaves_the_proof_on_the_whole_release(con: Con) -> None:
    everything = rows(con, f"from {BY_SEX_AND_AGE}")
    few = rows(con, f"from {BY_SEX_AND_AGE} where diagnosis = 'Asthma'")
    assert multiset(few) == multiset([row for row in everything if row[-1] == "Asthma"])
    assert rows(con, f"select count(*) from {BY_SEX_AND_AGE}") == [(16,)]


def test_a_source_in_an_attached_database_is_named_in_full(con: Con) -> None:
    con.execute("attach ':memory:' as other; create table other.main.people as from patients")
    found = rows(con, "from anon.anonymize('other.main.people', quasi := ['age'], k := 4)")
    assert min(Counter(found).values()) >= 4
    assert sqlanon.anonymize(con, "other.main.people", quasi=["age"], k=4).proof["rows"] == 16


@pytest.mark.parametrize("method", ["auto", "kaca", "sequential", "incognito"])
def test_the_same_seed_gives_the_same_release_whatever_the_threads_and_the_row_order(method: str) -> None:
    call = (
        "anon.anonymize('people', quasi := ['age', 'education', 'race'], k := 5, sensitive := ['occupation'], "
        f"method := '{method}', seed := 7)"
    )
    releases = []
    for threads, order in ((1, "rowid"), (4, "rowid"), (4, "-rowid"), (2, "hash(rowid)")):
        with duckdb.connect(config={"threads": threads}) as con:
            sqlanon.load(con)
            samples.create(con, "adult", rows=600)
            con.execute(f"create table people as select * from adult order by {order}")
            releases.append(multiset(rows(con, f"from {call}")))
    assert releases[0] == releases[1] == releases[2] == releases[3]


def test_another_seed_may_give_other_groups(con: Con) -> None:
    call = "from anon.anonymize('patients', quasi := ['age'], k := 3, method := 'kaca'"
    releases = {frozenset(multiset(rows(con, f"{call}, seed := {seed})"))) for seed in range(6)}
    assert len(releases) > 1


@pytest.mark.parametrize("extra", ["", ", seed := 1"])
def test_the_order_of_rows_is_another_each_time_whatever_the_seeds(con: Con, extra: str) -> None:
    con.execute("create table people as select 1 as age, range as id from range(3000)")
    call = f"select id from anon.anonymize('people', quasi := ['age'], k := 2, unsafe_keep := ['id']{extra})"
    orders = []
    for _ in range(2):
        con.execute("select setseed(0.5)")
        orders.append([row[0] for row in rows(con, call)])
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(3000))
    for one, other in ((orders[0], orders[1]), (orders[0], range(3000)), (orders[1], range(3000))):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.15  # eight standard deviations of a random order
    assert sum(abs(a - b) == 1 for a, b in zip(orders[0], orders[0][1:], strict=False)) < 30


def test_a_stored_release_is_shuffled_too(con: Con) -> None:
    con.execute("create table people as select 1 as age, range as id from range(3000)")
    stored = sqlanon.anonymize(con, "people", quasi=["age"], k=2, unsafe_keep=["id"], name="pub")
    order = [row[0] for row in rows(con, f"select id from {stored.table} order by rowid")]
    assert abs(np.corrcoef(order, range(3000))[0, 1]) < 0.15


def test_ranges_as_columns_keep_the_types_of_numbers_and_dates(con: Con) -> None:
    con.execute(
        "create table stays as select * from (values (30, date '2024-01-05', 'a'), (31, date '2024-02-01', 'a'), "
        "(60, date '2020-01-01', 'b'), (64, date '2020-06-30', 'b')) as v(age, admitted, ward)"
    )
    con.execute(
        "create table pub as from anon.anonymize('stays', quasi := ['age', 'admitted', 'ward'], k := 2, "
        "ranges := 'columns')"
    )
    assert rows(con, "select column_name, column_type from (describe pub)") == [
        ("age_min", "INTEGER"),
        ("age_max", "INTEGER"),
        ("admitted_min", "DATE"),
        ("admitted_max", "DATE"),
        ("ward", "VARCHAR"),
    ]
    day = datetime.date
    assert sorted(rows(con, "select distinct * from pub")) == [
        (30, 31, day(2024, 1, 5), day(2024, 2, 1), "a"),
        (60, 64, day(2020, 1, 1), day(2020, 6, 30), "b"),
    ]


def test_ranges_as_columns_are_null_where_numbers_and_null_are_mixed(con: Con) -> None:
    con.execute("create table people as select unnest([1, null]) as age")
    found = rows(con, "from anon.anonymize('people', quasi := ['age'], k := 2, ranges := 'columns')")
    assert found == [(None, None), (None, None)]


TYPES = [
    # type, two values as they are written and printed, and both together
    ("TINYINT", "-5", "7", "[-5-7]"),
    ("SMALLINT", "-300", "-20", "[-300--20]"),
    ("INTEGER", "0", "100000", "[0-100000]"),
    ("BIGINT", "-9223372036854775808", "9223372036854775807", "[-9223372036854775808-9223372036854775807]"),
    ("HUGEINT", f"-{2**127 - 1}", "1", f"[-{2**127 - 1}-1]"),
    ("UTINYINT", "0", "255", "[0-255]"),
    ("USMALLINT", "1", "65535", "[1-65535]"),
    ("UINTEGER", "1", "4294967295", "[1-4294967295]"),
    ("UBIGINT", "1", "18446744073709551615", "[1-18446744073709551615]"),
    ("UHUGEINT", "1", f"{2**128 - 1}", f"[1-{2**128 - 1}]"),
    ("FLOAT", "-0.1", "1e+20", "[-0.1-1e+20]"),
    ("DOUBLE", "-1e-07", "2.5", "[-1e-07-2.5]"),
    ("DOUBLE", "-1.7976931348623157e+308", "1.7976931348623157e+308", None),
    ("DECIMAL(9,2)", "-1.50", "2.00", "[-1.50-2.00]"),
    ("DECIMAL(38,10)", "-2.0000000000", "-1.0000000000", "[-2.0000000000--1.0000000000]"),
    ("DATE", "1999-12-31", "2024-02-29", "[1999-12-31 - 2024-02-29]"),
    ("DATE", "0044-03-15 (BC)", "2024-02-29", "[0044-03-15 (BC) - 2024-02-29]"),
    ("TIMESTAMP", "2024-01-01 10:00:00", "2024-01-02 11:30:00.5", "[2024-01-01 10:00:00 - 2024-01-02 11:30:00.5]"),
    ("TIMESTAMP_S", "2024-01-01 10:00:00", "2024-01-02 11:30:00", "[2024-01-01 10:00:00 - 2024-01-02 11:30:00]"),
    ("TIMESTAMP_NS", "2024-01-01 10:00:00", "2024-01-02 11:30:00", "[2024-01-01 10:00:00 - 2024-01-02 11:30:00]"),
    ("TIMESTAMPTZ", "2024-01-01 10:00:00+00", "2024-06-02 11:30:00+00", None),
    ("BOOLEAN", "false", "true", "*"),
    ("ENUM('low', 'high')", "low", "high", "*"),
    ("VARCHAR", "", "a 'quoted' thing", "*"),
    ("UUID", "6d8c6b0b-f55c-e994-0000-000000000001", "6d8c6b0b-f55c-e994-0000-000000000002", "*"),
]


@pytest.mark.parametrize(("type_name", "first", "second", "together"), TYPES)
def test_every_type_prints_one_value_as_itself_and_measures_no_loss(
    shared: Con, type_name: str, first: str, second: str, together: str | None
) -> None:
    shared.execute(f"create or replace table people (x {type_name})")
    shared.executemany("insert into people values ($1)", [[first], [first], [second], [second]])
    release = sqlanon.anonymize(shared, "people", quasi=["x"], k=2)
    assert multiset(release.relation().fetchall()) == {(first,): 2, (second,): 2}
    assert release.metrics()["gcp"] == release.metrics()["modification_rate"] == 0


@pytest.mark.parametrize(("type_name", "first", "second", "together"), TYPES)
def test_every_type_prints_two_values_as_a_range_or_a_star_and_measures_the_whole_loss(
    shared: Con, type_name: str, first: str, second: str, together: str | None
) -> None:
    shared.execute(f"create or replace table people (x {type_name})")
    shared.executemany("insert into people values ($1)", [[first], [second]])
    separator = " - " if type_name.startswith("TIME") else "-"
    expected = together or f"[{first}{separator}{second}]"
    release = sqlanon.anonymize(shared, "people", quasi=["x"], k=2)
    assert release.relation().fetchall() == [(expected,)] * 2
    assert release.metrics()["gcp"] == release.metrics()["modification_rate"] == 1


@pytest.mark.parametrize("method", ["kaca", "kacpc", "bisecting"])
def test_null_is_a_value_of_its_own(shared: Con, method: str) -> None:
    shared.execute(
        "create or replace table people as from (values (30, 'a'), (30, 'a'), (null, null), (null, null)) v(x, y)"
    )
    found = rows(shared, f"from anon.anonymize('people', quasi := ['x', 'y'], k := 2, method := '{method}')")
    assert multiset(found) == {("30", "a"): 2, (None, None): 2}


@pytest.mark.parametrize("type_name", ["INTEGER", "VARCHAR", "DOUBLE", "BOOLEAN"])
def test_null_mixed_with_values_prints_a_star(shared: Con, type_name: str) -> None:
    shared.execute(f"create or replace table people as select unnest(['1', null, null])::{type_name} as x")
    assert rows(shared, "from anon.anonymize('people', quasi := ['x'], k := 3)") == [("*",)] * 3


def test_a_split_tuple_deals_its_sensitive_values_to_both_groups(con: Con) -> None:
    con.execute(
        "create table people as select 30 as age, unnest(['cold', 'cold', 'cold', 'flu', 'flu', 'flu']) as illness "
        "union all select 40, unnest(['gout', 'gout'])"
    )
    found = rows(con, "from anon.anonymize('people', quasi := ['age'], k := 4, sensitive := ['illness'])")
    assert multiset(found) == {
        ("30", "cold"): 2,
        ("30", "flu"): 2,
        ("[30-40]", "cold"): 1,
        ("[30-40]", "flu"): 1,
        ("[30-40]", "gout"): 2,
    }


@pytest.mark.parametrize("method", ["kaca", "kacpc", "bisecting"])
@pytest.mark.parametrize(("heavy", "expected"), [("x", {"0", "10"}), ("y", {"[0-10]"})])
def test_a_heavier_attribute_is_generalized_less(shared: Con, method: str, heavy: str, expected: set[str]) -> None:
    shared.execute("create or replace table people as from (values (0, 0), (0, 10), (10, 0), (10, 10)) v(x, y)")
    found = rows(
        shared,
        f"select x from anon.anonymize('people', quasi := ['x', 'y'], k := 2, method := '{method}', "
        f"weights := MAP {{'{heavy}': 9}})",
    )
    assert {x for (x,) in found} == expected


KACA = "method := 'kaca', threshold := 0.05"


def test_outliers_beyond_the_threshold_are_suppressed_and_hide_among_themselves(con: Con) -> None:
    con.execute("create table people as select unnest([1, 2, 3, 4, 5000, 9000]) as x, unnest(range(6)) as id")
    call = f"anon.anonymize('people', quasi := ['x'], k := 2, {KACA}, unsafe_keep := ['id'])"
    printed = by_id(con, call)
    assert printed[4] == printed[5] == "*"
    assert "*" not in [printed[row] for row in range(4)]


def test_suppressed_rows_print_a_star_in_every_quasi_identifier(con: Con) -> None:
    con.execute(
        "create table people as select unnest([1, 2, 3, 4, 5000, 9000]) as x, "
        "unnest(['a', 'a', 'a', 'a', 'b', 'b']) as y, unnest(range(6)) as id"
    )
    call = f"anon.anonymize('people', quasi := ['x', 'y'], k := 2, {KACA}, unsafe_keep := ['id'])"
    printed = by_id(con, call)
    assert printed[4] == printed[5] == ("*", "*")
    assert by_id(con, call.replace("k := 2", "k := 2, ranges := 'columns'"))[4] == (None, None, "*")


def test_a_lonely_outlier_is_generalized_rather_than_printed_alone(con: Con) -> None:
    con.execute("create table people as select unnest([1, 2, 3, 4, 5000]) as x, unnest(range(5)) as id")
    printed = by_id(
        con,
        f"anon.anonymize('people', quasi := ['x'], k := 2, {KACA}, unsafe_keep := ['id'])",
    )
    assert printed[4].startswith("[")
    assert min(Counter(printed.values()).values()) >= 2


def test_a_nearly_unique_column_is_kept_only_by_those_who_insist(con: Con) -> None:
    with pytest.raises(duckdb.Error, match=r"Kept column 'name' is nearly unique.*unsafe_keep"):
        rows(con, "from anon.anonymize('patients', quasi := ['age'], k := 2, keep := ['name'])")
    with pytest.raises(DataError, match=r"Kept column 'name' is nearly unique.*unsafe_keep"):
        sqlanon.anonymize(con, "patients", quasi=["age"], k=2, keep=["name"])
    found = rows(con, "select name from anon.anonymize('patients', quasi := ['age'], k := 2, unsafe_keep := ['name'])")
    assert multiset(found) == multiset(rows(con, "select name from patients"))


STEPS = re.findall(
    r"\w+",
    """
    source tuples rows rank label lo hi level group_id smallest place released value total deal deals printed nodes
    encoded guard clustered ranges assigned proof answer entry q1 r1 lo1 c1 domain_1 nodes_1 k attribute
    """,
)


@pytest.mark.parametrize("method", ["auto", "kaca"])
def test_columns_may_be_called_like_the_steps_of_the_query(con: Con, method: str) -> None:
    cells = ", ".join(f"(i * {place + 3} % 5)::integer as {step}" for place, step in enumerate(STEPS))
    con.execute(f"create table people as select {cells} from range(30) as r(i)")
    quasi, sensitive, keep = STEPS[:20], STEPS[20:25], STEPS[25:]
    found = rows(
        con,
        f"from anon.anonymize('people', quasi := $1, k := 3, method := '{method}', sensitive := $2, keep := $3)",
        [quasi, sensitive, keep],
    )
    assert multiset([row[20:] for row in found]) == multiset(
        rows(con, f"select {', '.join(sensitive + keep)} from people")
    )
    assert min(Counter(row[:20] for row in found).values()) >= 3
    release = sqlanon.anonymize(con, "people", quasi=quasi, k=3, method=method, sensitive=sensitive, name="pub")
    assert rows(con, "select value from anon.utility('pub') where measure = 'gcp'") == [(release.metrics()["gcp"],)]


@pytest.mark.parametrize("table", ["source", "tuples", "released", "printed", "nodes", "domain_1", "select", "from"])
def test_a_table_may_be_called_like_a_step_of_the_query(shared: Con, table: str) -> None:
    shared.execute(f'create or replace table "{table}" as from patients')
    expected = multiset(rows(shared, "from anon.anonymize('patients', quasi := ['age'], k := 4)"))
    assert multiset(rows(shared, "from anon.anonymize($1, quasi := ['age'], k := 4)", [table])) == expected
    query = f'select * from "{table}"'
    assert multiset(rows(shared, "from anon.anonymize($1, quasi := ['age'], k := 4)", [query])) == expected
    assert multiset(sqlanon.anonymize(shared, table, quasi=["age"], k=4).relation().fetchall()) == expected


def test_names_that_differ_by_an_umlauts_case_are_two_columns_as_in_duckdb(con: Con) -> None:
    con.execute("""create table people as select * from (values (1, 'x'), (1, 'x')) as v("Ü", "ü")""")
    assert rows(con, """from anon.anonymize('people', quasi := ['Ü'], k := 2)""") == [("1",), ("1",)]
    assert rows(con, """from anon.anonymize('people', quasi := ['ü'], k := 2)""") == [("x",), ("x",)]
    assert rows(con, """from anon.anonymize('people', quasi := ['Ü', 'ü'], k := 2)""") == [("1", "x")] * 2


def test_a_prefix_hierarchy_over_numbers_covers_what_it_prints(con: Con) -> None:
    con.execute("create table people as from (values (1, 1), (1, 2), (2, 3), (10, 4), (20, 5), (20, 6)) v(code, id)")
    sqlanon.create_hierarchy(con, "code", prefix=True)
    printed = by_id(con, "anon.anonymize('people', quasi := ['code'], k := 2, unsafe_keep := ['id'])")
    codes = dict(rows(con, "select id, code::varchar from people"))
    assert all(codes[row].startswith(label.rstrip("*")) for row, label in printed.items())


def test_an_interval_hierarchy_prints_large_decimals_exactly(con: Con) -> None:
    con.execute("create table people as select unnest([1234567.25, 1234567.75, 1234571.5, 1234571.75])::double as x")
    sqlanon.create_hierarchy(con, "x", intervals=[1, 2, 4])
    found = rows(con, "select distinct x from anon.anonymize('people', quasi := ['x'], k := 2)")
    assert sorted(found) == [("[1234567-1234568)",), ("[1234571-1234572)",)]


@pytest.mark.parametrize("type_name", ["UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"])
def test_an_interval_hierarchy_reaches_below_its_anchor_in_unsigned_columns(con: Con, type_name: str) -> None:
    con.execute(f"create table people as select unnest([3, 4, 101, 103])::{type_name} as x")
    sqlanon.create_hierarchy(con, "x", intervals=[5], anchor=5)
    found = rows(con, "select distinct x from anon.anonymize('people', quasi := ['x'], k := 2)")
    assert sorted(found) == [("[0-4]",), ("[100-104]",)]


def test_text_that_compares_without_case_is_anonymized_like_other_text(con: Con) -> None:
    con.execute("create table people (x varchar collate nocase, id integer)")
    con.execute("insert into people values ('a', 1), ('A', 2), ('b', 3), ('B', 4)")
    printed = by_id(con, "anon.anonymize('people', quasi := ['x'], k := 2, unsafe_keep := ['id'])")
    assert all(printed[row].lower() in (value, "*") for row, value in {1: "a", 2: "a", 3: "b", 4: "b"}.items())


def test_each_column_may_have_its_own_kind_of_hierarchy_or_none(con: Con) -> None:
    for column, paths in samples.hierarchy_rows("patients").items():
        sqlanon.create_hierarchy(con, column, rows=paths)
    sqlanon.create_hierarchy(con, "decades", intervals=[10, 20])
    call = "anon.anonymize('patients', quasi := ['age', 'zip'], k := 4, hierarchies := MAP {{'age': {}, 'zip': {}}})"
    bound = rows(con, f"from {call.format(repr('decades'), 'NULL')}")
    assert all(age.startswith("[") or age == "*" or age.isdigit() for age, _ in bound)
    assert {zip_code[-2:] for _, zip_code in bound if "*" in zip_code} <= {"*"}
    own = rows(con, f"from {call.format('NULL', 'NULL').replace(', hierarchies', ', seed := 1, hierarchies')}")
    by_name = rows(con, "select zip from anon.anonymize('patients', quasi := ['age', 'zip'], k := 4)")
    assert any(zip_code.endswith("*") and len(zip_code) == 4 for (zip_code,) in by_name)
    assert not any(zip_code.endswith("*") and len(zip_code) == 4 for _, zip_code in own)


def everybody_alone(problem: Problem, *_: Any, **__: Any) -> Groups:
    tuples = np.repeat(np.arange(len(problem.counts)), problem.counts)
    return Groups.collect(tuples, np.arange(len(tuples)), np.ones(len(tuples)))


def test_a_core_that_breaks_k_is_caught_on_the_printed_values_and_nothing_is_stored(
    con: Con, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(methods.METHODS, "auto", dataclasses.replace(METHODS["auto"], cluster=everybody_alone))
    with pytest.raises(duckdb.Error, match="A printed class holds only 1 rows, k is 4: nothing is released"):
        con.execute(f"create table pub as from {BY_SEX_AND_AGE}")
    with pytest.raises(duckdb.Error, match="A printed class holds only 1 rows"):
        rows(con, f"select count(*) from {BY_SEX_AND_AGE}")
    with pytest.raises(duckdb.Error, match="A printed class holds only 1 rows"):
        rows(con, f"select diagnosis from {BY_SEX_AND_AGE} where diagnosis = 'Asthma' limit 1")
    with pytest.raises(BrokenPromiseError, match="A printed class holds only 1 rows"):
        sqlanon.anonymize(con, "patients", quasi=["age", "sex"], k=4, name="pub")
    assert rows(con, "select table_name from duckdb_tables() where table_name = 'pub'") == []
    assert rows(con, "select name from anon.releases") == []
