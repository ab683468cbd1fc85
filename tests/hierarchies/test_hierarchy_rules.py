"""Hierarchies by rule: intervals of numbers, prefixes of codes, parts of dates, and flat ones."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hierarchies_stored import catalog, paths
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.errors import HierarchyError, PolicyError, SqlanonError


def test_intervals_of_whole_numbers_are_printed_with_both_ends(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([17, 18, 19, 20, 25, 79, 80, 99]) as age")
    scratch.execute("create hierarchy age using intervals (5, 10) below 18 above 80 on t.age")
    assert paths(scratch, "age") == {
        "17": ["<18", "*"],
        "18": ["[18-19]", "*"],
        "19": ["[18-19]", "*"],
        "20": ["[20-24]", "[20-29]", "*"],
        "25": ["[25-29]", "[20-29]", "*"],
        "79": ["[75-79]", "[70-79]", "*"],
        "80": [">=80", "*"],
        "99": [">=80", "*"],
    }


def test_intervals_of_negative_numbers_count_from_the_anchor(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([-11, -7, -6, -2, -1, 0, 4]) as v")
    sqlanon.create_hierarchy(scratch, "v", intervals=[5, 10], anchor=-1, on="t.v")
    assert paths(scratch, "v") == {
        "-11": ["[-11--7]", "[-11--2]", "*"],
        "-7": ["[-11--7]", "[-11--2]", "*"],
        "-6": ["[-6--2]", "[-11--2]", "*"],
        "-2": ["[-6--2]", "[-11--2]", "*"],
        "-1": ["[-1-3]", "[-1-8]", "*"],
        "0": ["[-1-3]", "[-1-8]", "*"],
        "4": ["[4-8]", "[-1-8]", "*"],
    }


def test_intervals_of_decimals_are_printed_half_open(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([-0.25, 0.0, 0.5, 0.75]::decimal(4, 2)[]) as v")
    sqlanon.create_hierarchy(scratch, "v", intervals=[0.5, 1], on="t.v")
    assert paths(scratch, "v") == {
        "-0.25": ["[-0.5-0)", "[-1-0)", "*"],
        "0.00": ["[0-0.5)", "[0-1)", "*"],
        "0.50": ["[0.5-1)", "[0-1)", "*"],
        "0.75": ["[0.5-1)", "[0-1)", "*"],
    }


def test_intervals_of_one_are_the_numbers_themselves(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([1, 2]) as v")
    sqlanon.create_hierarchy(scratch, "v", intervals=[1, 2], on="t.v")
    assert paths(scratch, "v") == {"1": ["[0-1]", "*"], "2": ["[2-3]", "*"]}


NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def contains(label: str, value: Decimal) -> bool:
    """Does the interval, as it is released, hold the value?"""
    if label == "*":
        return True
    if bounds := re.fullmatch(rf"\[({NUMBER})-({NUMBER})([\])])", label):
        low, high = Decimal(bounds[1]), Decimal(bounds[2])
        return low <= value < high or (bounds[3] == "]" and value == high)
    if coded := re.fullmatch(rf"(<|>=)({NUMBER})", label):
        return value < Decimal(coded[2]) if coded[1] == "<" else value >= Decimal(coded[2])
    return Decimal(label) == value


INTERVALS = [
    ("decimal(6,1)", "i / 10", "range(-35, 36)", {"intervals": [0.1, 0.5]}),
    ("double", "i / 10", "range(-35, 36)", {"intervals": [0.1, 0.5]}),
    ("double", "i / 100", "range(0, 200, 7)", {"intervals": [0.01, 0.07], "anchor": 0.03, "below": 0.1, "above": 1.7}),
    ("float", "i / 10", "range(-35, 36)", {"intervals": [0.1, 0.3]}),
    ("double", "1234567.5 + i", "range(0, 40)", {"intervals": [5, 10], "below": 1234570, "above": 1234599}),
    ("decimal(18,3)", "98765432.125 + i", "range(0, 40)", {"intervals": [0.5, 5]}),
    ("bigint", "9007199254740992 + i", "range(0, 30)", {"intervals": [5, 10]}),
    ("bigint", "-9007199254740992 - i", "range(0, 30)", {"intervals": [5, 10]}),
    ("integer", "999990 + i", "range(0, 30)", {"intervals": [2.5, 5], "below": 999995, "above": 1000010}),
    ("utinyint", "i", "range(0, 256)", {"intervals": [5, 10, 20], "anchor": 3, "below": 18, "above": 80}),
    ("hugeint", "i", "range(-9, 10)", {"intervals": [3], "anchor": 1}),
]


@pytest.mark.parametrize(("type_name", "value", "numbers", "arguments"), INTERVALS)
def test_every_printed_interval_contains_its_values(
    scratch: sqlanon.Connection, type_name: str, value: str, numbers: str, arguments: dict[str, Any]
) -> None:
    scratch.execute(f"create table t as select cast({value} as {type_name}) as v from {numbers} as r(i)")
    sqlanon.create_hierarchy(scratch, "v", **arguments, on="t.v")
    wrong = {
        leaf: above
        for leaf, above in paths(scratch, "v").items()
        if not all(contains(label, Decimal(leaf)) for label in above)
    }
    assert wrong == {}


@pytest.mark.sweep
@pytest.mark.parametrize(("type_name", "value", "numbers", "arguments"), INTERVALS)
def test_every_released_interval_contains_its_values(
    scratch: sqlanon.Connection, type_name: str, value: str, numbers: str, arguments: dict[str, Any]
) -> None:
    scratch.execute(f"create table t as select cast({value} as {type_name}) as v from {numbers} as r(i)")
    sqlanon.create_hierarchy(scratch, "v", **arguments)
    released = sqlanon.anonymize(scratch, "select v, v::varchar as was from t", quasi="v", unsafe_keep="was", k=2)
    wrong = [row for row in released.relation().fetchall() if not contains(row[0], Decimal(row[1]))]
    assert wrong == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intervals": []}, "at least one width"),
        ({"intervals": [0]}, "widths must be above 0"),
        ({"intervals": [-5]}, "widths must be above 0"),
        ({"intervals": [5, 12]}, "intervals of 12 do not nest over those of 5"),
        ({"intervals": [10, 5]}, "do not nest"),
        ({"intervals": [5, 5]}, "do not nest"),
        ({"intervals": [0.1, 0.25]}, "do not nest"),
        ({"intervals": [float("nan")]}, "finite number"),
        ({"intervals": [float("inf")]}, "finite number"),
        ({"intervals": ["5"]}, "must be a number"),
        ({"intervals": [True]}, "must be a number"),
        ({"intervals": [5], "anchor": float("inf")}, "anchor is inf"),
        ({"intervals": [5], "below": 80, "above": 18}, r"below \(80\) must be less than above \(18\)"),
        ({"intervals": [5], "below": 18, "above": 18}, "must be less than"),
        ({"intervals": [5], "below": float("nan")}, "below is nan"),
        ({"intervals": [5], "above": "80"}, "above is '80'"),
        ({"intervals": [5], "above": float("inf")}, "above is inf"),
    ],
)
def test_intervals_that_make_no_hierarchy_are_refused(
    scratch: sqlanon.Connection, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(scratch, "h", **arguments)
    assert catalog(scratch) == [[], []]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_intervals_on_a_column_that_holds_no_finite_number_somewhere_are_refused(
    scratch: sqlanon.Connection, value: str
) -> None:
    scratch.execute(f"create table t as select unnest([1.0::double, 2.0::double, '{value}'::double]) as v")
    with pytest.raises(SqlanonError, match="infinite"):
        scratch.execute("create hierarchy v using intervals (5) on t.v")
    assert catalog(scratch) == [[], []]


@pytest.mark.parametrize("extra", [{"anchor": 5}, {"below": 18}, {"above": 80}])
def test_bounds_without_intervals_are_refused(scratch: sqlanon.Connection, extra: dict[str, Any]) -> None:
    with pytest.raises(HierarchyError, match="intervals"):
        sqlanon.create_hierarchy(scratch, "h", prefix=True, **extra)


def test_widths_written_as_decimals_nest_as_written(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h using intervals (0.1, 0.3, 0.6)")
    assert scratch.execute("select kind, height, leaves from anon.hierarchies").fetchall() == [
        ("intervals", None, None)
    ]


def test_prefixes_of_codes_end_in_stars(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest(['4350', '4351', '4400']) as zip")
    scratch.execute("create hierarchy zip using prefix on t.zip")
    assert paths(scratch, "zip") == {
        "4350": ["435*", "43**", "4***", "*"],
        "4351": ["435*", "43**", "4***", "*"],
        "4400": ["440*", "44**", "4***", "*"],
    }


def starts(label: str, value: str) -> bool:
    return value.startswith(label.rstrip("*"))


def test_prefixes_of_codes_of_different_length_are_prefixes(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest(['4', '43', '4350', '5', '52', '52å0']) as zip")
    scratch.execute("create hierarchy zip using prefix on t.zip")
    assert all(starts(label, leaf) for leaf, above in paths(scratch, "zip").items() for label in above)


CODES = st.lists(st.text(alphabet="124", min_size=1, max_size=4), min_size=4)


@pytest.mark.parametrize("type_name", ["varchar", "integer"])
@given(codes=CODES)
@settings(max_examples=examples(15), deadline=None)
def test_every_released_prefix_is_a_prefix_of_its_codes(
    database: sqlanon.Connection, type_name: str, codes: list[str]
) -> None:
    sqlanon.create_hierarchy(database, "prefixes", prefix=True, replace=True)
    listed = ", ".join(f"'{code}'" for code in codes)
    source = f"select code::{type_name} as code, code as was from (select unnest([{listed}]) as code)"
    made = sqlanon.anonymize(database, source, quasi="code", unsafe_keep="was", k=2, hierarchies={"code": "prefixes"})
    assert [row for row in made.relation().fetchall() if not starts(*row)] == []


def test_whole_numbers_of_different_length_get_prefixes_of_their_own(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([5, 43, 52, 430, 431, 52, 5, 43]) as code")
    sqlanon.create_hierarchy(scratch, "code", prefix=True)
    for k in (2, 3, 4):
        source = "select code, code::varchar as was from t"
        released = sqlanon.anonymize(scratch, source, quasi="code", unsafe_keep="was", k=k)
        assert [row for row in released.relation().fetchall() if not starts(*row)] == []


def test_enum_codes_get_prefixes_of_their_own_whatever_the_enums_order(scratch: sqlanon.Connection) -> None:
    scratch.execute("create type code as enum ('43', '52', '44', '51')")
    scratch.execute("create table t as select unnest(['43', '52', '44', '51'])::code as code")
    sqlanon.create_hierarchy(scratch, "code", prefix=True)
    source = "select code, code::varchar as was from t"
    released = sqlanon.anonymize(scratch, source, quasi="code", unsafe_keep="was", k=2)
    assert [row for row in released.relation().fetchall() if not starts(*row)] == []


def test_dates_rise_by_month_quarter_year_and_decade(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([date '1999-12-31', date '2000-01-01']) as born")
    scratch.execute("create hierarchy born using dates on t.born")
    assert paths(scratch, "born") == {
        "1999-12-31": ["1999-12", "1999-Q4", "1999", "1990s", "*"],
        "2000-01-01": ["2000-01", "2000-Q1", "2000", "2000s", "*"],
    }


@pytest.mark.parametrize("type_name", ["timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"])
def test_timestamps_rise_by_day_first(scratch: sqlanon.Connection, type_name: str) -> None:
    scratch.execute(f"create table t as select '2024-05-06 07:08:09'::{type_name} as seen")
    sqlanon.create_hierarchy(scratch, "seen", dates=True, on="t.seen")
    assert paths(scratch, "seen") == {"2024-05-06 07:08:09": ["2024-05-06", "2024-05", "2024-Q2", "2024", "2020s", "*"]}


def test_a_released_date_is_the_part_that_its_class_shares(scratch: sqlanon.Connection) -> None:
    scratch.execute(
        "create table t as select unnest(['2024-01-01', '2024-01-09', '1999-05-05', '1999-08-08'])::date as d"
    )
    scratch.execute("create hierarchy parts using dates")
    sql = "select distinct d from anon.anonymize('t', quasi := ['d'], k := 2, hierarchies := MAP {'d': 'parts'})"
    assert sorted(scratch.execute(sql).fetchall()) == [("1999",), ("2024-01",)]


def test_a_flat_hierarchy_puts_every_value_under_the_top_and_leaves_null_out(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest(['a', 'b', null, 'a']) as c")
    scratch.execute("create hierarchy c flat on t.c")
    assert paths(scratch, "c") == {"a": ["*"], "b": ["*"]}


def test_a_rule_on_a_column_without_values_is_refused(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select null::integer as c")
    with pytest.raises(HierarchyError, match=r"Column 't\.c' has no values"):
        scratch.execute("create hierarchy c using intervals (5) on t.c")


@pytest.mark.parametrize(
    ("rule", "column"),
    [("intervals (5)", "word"), ("intervals (5)", "day"), ("dates", "word"), ("dates", "number"), ("prefix", "day")],
)
def test_a_rule_that_does_not_fit_the_columns_type_is_refused(
    scratch: sqlanon.Connection, rule: str, column: str
) -> None:
    scratch.execute("create table t as select 'x' as word, 1 as number, date '2024-01-01' as day from range(4)")
    with pytest.raises(PolicyError, match=f"does not fit column '{column}'"):
        scratch.execute(f"create hierarchy h using {rule} on t.{column}")
    scratch.execute(f"create hierarchy h using {rule}")
    with pytest.raises(PolicyError, match=f"Hierarchy 'h' .* does not fit column '{column}'"):
        sqlanon.anonymize(scratch, "t", quasi=column, k=2, hierarchies={column: "h"})
