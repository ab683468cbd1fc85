"""What anonymize prints: every type, NULL, ranges as columns, suppressed rows, hierarchies, and columns of any name."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pytest
from reading import Con, rows
from sweeping import IS_WHOLE

import sqlanon
from sqlanon import samples
from sqlanon.errors import BrokenPromiseError, PolicyError
from sqlanon.udfs import methods
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Groups, Problem

BY_SEX_AND_AGE = "anon.anonymize('patients', quasi := ['age', 'sex'], k := 4, sensitive := ['diagnosis'])"

pytestmark = pytest.mark.usefixtures("patients")


@pytest.fixture(scope="module")
def utc(shared: Con) -> Con:
    """One connection for tests that replace the table they use."""
    samples.create(shared, "patients")
    shared.execute("set timezone = 'UTC'")
    return shared


def by_id(con: Con, call: str) -> dict[int, Any]:
    """The only printed column of a release, by the id that was kept."""
    return {row[-1]: row[0] if len(row) == 2 else row[:-1] for row in rows(con, f"from {call}")}


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


@pytest.mark.sweep
@pytest.mark.parametrize(("type_name", "first", "second", "together"), TYPES)
def test_every_type_prints_one_value_as_itself_and_measures_no_loss(
    utc: Con, type_name: str, first: str, second: str, together: str | None
) -> None:
    utc.execute(f"create or replace table people (x {type_name})")
    utc.executemany("insert into people values ($1)", [[first], [first], [second], [second]])
    release = sqlanon.anonymize(utc, "people", quasi=["x"], k=2)
    assert Counter(release.relation().fetchall()) == {(first,): 2, (second,): 2}
    assert release.metrics()["gcp"] == release.metrics()["modification_rate"] == 0


@pytest.mark.sweep
@pytest.mark.parametrize(("type_name", "first", "second", "together"), TYPES)
def test_every_type_prints_two_values_as_a_range_or_a_star_and_measures_the_whole_loss(
    utc: Con, type_name: str, first: str, second: str, together: str | None
) -> None:
    utc.execute(f"create or replace table people (x {type_name})")
    utc.executemany("insert into people values ($1)", [[first], [second]])
    separator = " - " if type_name.startswith("TIME") else "-"
    expected = together or f"[{first}{separator}{second}]"
    release = sqlanon.anonymize(utc, "people", quasi=["x"], k=2, ranges="text")
    assert release.relation().fetchall() == [(expected,)] * 2
    assert release.metrics()["gcp"] == release.metrics()["modification_rate"] == 1


@pytest.mark.parametrize("method", ["kaca", "kacpc", "bisecting"])
def test_null_is_a_value_of_its_own(utc: Con, method: str) -> None:
    utc.execute(
        "create or replace table people as from (values (30, 'a'), (30, 'a'), (null, null), (null, null)) v(x, y)"
    )
    found = rows(utc, f"from anon.anonymize('people', quasi := ['x', 'y'], k := 2, method := '{method}')")
    assert Counter(found) == {("30", "a"): 2, (None, None): 2}


@pytest.mark.parametrize("type_name", ["INTEGER", "VARCHAR", "DOUBLE", "BOOLEAN"])
def test_null_mixed_with_values_prints_a_star(utc: Con, type_name: str) -> None:
    utc.execute(f"create or replace table people as select unnest(['1', null, null])::{type_name} as x")
    assert rows(utc, "from anon.anonymize('people', quasi := ['x'], k := 3)") == [("*",)] * 3


def test_the_rows_of_a_split_tuple_are_dealt_to_both_groups_at_random(con: Con) -> None:
    con.execute(
        "create table people as select 30 as age, unnest(['cold', 'cold', 'cold', 'flu', 'flu', 'flu']) as illness "
        "union all select 40, unnest(['gout', 'gout'])"
    )
    dealt = set()
    for _ in range(40):  # each of the three dealings has a chance of a fifth or more
        found = rows(con, "from anon.anonymize('people', quasi := ['age'], k := 4, sensitive := ['illness'])")
        assert Counter(age for age, _ in found) == {"30": 4, "[30-40]": 4}
        assert Counter(illness for _, illness in found) == {"cold": 3, "flu": 3, "gout": 2}
        dealt.add(sum(row == ("30", "cold") for row in found))
        if len(dealt) == 3:
            break
    assert dealt == {1, 2, 3}


@pytest.mark.parametrize("method", ["kaca", "kacpc", "bisecting"])
@pytest.mark.parametrize(("heavy", "expected"), [("x", {"0", "10"}), ("y", {"[0-10]"})])
def test_a_heavier_attribute_is_generalized_less(utc: Con, method: str, heavy: str, expected: set[str]) -> None:
    utc.execute("create or replace table people as from (values (0, 0), (0, 10), (10, 0), (10, 10)) v(x, y)")
    found = rows(
        utc,
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
    with pytest.raises(duckdb.Error, match=r"Column 'name' is in keep.*unsafe_keep"):
        rows(con, "from anon.anonymize('patients', quasi := ['age'], k := 2, keep := ['name'])")
    with pytest.raises(PolicyError, match=r"Column 'name' is in keep.*unsafe_keep"):
        sqlanon.anonymize(con, "patients", quasi=["age"], k=2, keep=["name"])
    found = rows(con, "select name from anon.anonymize('patients', quasi := ['age'], k := 2, unsafe_keep := ['name'])")
    assert Counter(found) == Counter(rows(con, "select name from patients"))


STEPS = re.findall(
    r"\w+",
    """
    source tuples rows rank label lo hi level group_id smallest place released value total deal deals printed nodes
    encoded guard clustered ranges assigned proof answer entry q1 r1 lo1 c1 domain_1 nodes_1 k attribute
    """,
)


@pytest.mark.parametrize("method", ["auto", "kaca"] if IS_WHOLE else ["mondrian"])
def test_columns_may_be_called_like_the_steps_of_the_query(con: Con, method: str) -> None:
    cells = ", ".join(f"(i * {place + 3} % 5)::integer as {step}" for place, step in enumerate(STEPS))
    con.execute(f"create table people as select {cells} from range(30) as r(i)")
    quasi, sensitive, keep = STEPS[:20], STEPS[20:25], STEPS[25:]
    found = rows(
        con,
        f"from anon.anonymize('people', quasi := $1, k := 3, method := '{method}', sensitive := $2, keep := $3)",
        [quasi, sensitive, keep],
    )
    assert Counter([row[20:] for row in found]) == Counter(
        rows(con, f"select {', '.join(sensitive + keep)} from people")
    )
    assert min(Counter(row[:20] for row in found).values()) >= 3
    release = sqlanon.anonymize(con, "people", quasi=quasi, k=3, method=method, sensitive=sensitive, name="pub")
    assert rows(con, "select value from anon.utility('pub') where measure = 'gcp'") == [(release.metrics()["gcp"],)]


@pytest.mark.sweep
@pytest.mark.parametrize("table", ["source", "tuples", "released", "printed", "nodes", "domain_1", "select", "from"])
def test_a_table_may_be_called_like_a_step_of_the_query(utc: Con, table: str) -> None:
    utc.execute(f'create or replace table "{table}" as from patients')
    expected = Counter(rows(utc, "from anon.anonymize('patients', quasi := ['age'], k := 4)"))
    assert Counter(rows(utc, "from anon.anonymize($1, quasi := ['age'], k := 4)", [table])) == expected
    query = f'select * from "{table}"'
    assert Counter(rows(utc, "from anon.anonymize($1, quasi := ['age'], k := 4)", [query])) == expected
    assert Counter(sqlanon.anonymize(utc, table, quasi=["age"], k=4).relation().fetchall()) == expected


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
    with pytest.raises(duckdb.Error, match="A released class has only 1 rows, k is 4: nothing is released"):
        con.execute(f"create table pub as from {BY_SEX_AND_AGE}")
    with pytest.raises(duckdb.Error, match="A released class has only 1 rows"):
        rows(con, f"select count(*) from {BY_SEX_AND_AGE}")
    with pytest.raises(duckdb.Error, match="A released class has only 1 rows"):
        rows(con, f"select diagnosis from {BY_SEX_AND_AGE} where diagnosis = 'Asthma' limit 1")
    with pytest.raises(BrokenPromiseError, match="A released class has only 1 rows"):
        sqlanon.anonymize(con, "patients", quasi=["age", "sex"], k=4, name="pub")
    assert rows(con, "select table_name from duckdb_tables() where table_name = 'pub'") == []
    assert rows(con, "select name from anon.releases") == []
