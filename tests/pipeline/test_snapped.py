"""ranges = 'snapped': ends on a grid that hold their values and show none of them, and a loss that counts both."""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.errors import PolicyError
from sqlanon.families import DATE, FLOAT, TIMESTAMP, WHOLE, TypeFamily, distance_sql
from sqlanon.pipeline.cells import cells_sql

Con = duckdb.DuckDBPyConnection


@pytest.fixture(scope="module", autouse=True)
def utc(shared: Con) -> None:
    shared.execute("set time zone 'UTC'")


def snap(con: Con, values: list[Any], kind: str, k: int = 2, width: Any = None) -> tuple[sqlanon.Release, list[Any]]:
    """The release of one column, and its released labels."""
    con.execute(f"create or replace temp table t (row integer, x {kind})")
    con.executemany("insert into t values (?, ?)", list(enumerate(values)))
    grid = {} if width is None else {"x": width}
    made = sqlanon.anonymize(con, "t", ["x"], k, ranges="snapped", grid=grid, method="kaca", unsafe_keep=["row"])
    rows = con.execute(f"select x from {made.table} order by row").fetchall()
    return made, [label for (label,) in rows]


def number(text: str) -> float:
    return math.inf if text == "inf" else -math.inf if text == "-inf" else float(text)


def ends(label: str) -> tuple[float, float]:
    """The two ends of a released range of numbers, a lone number's twice."""
    if not label.startswith("["):
        return number(label), number(label)
    found = re.fullmatch(r"\[(-?[^-]+(?:e-\d+)?)-(-?.+?)[\])]", label)
    assert found, label
    return number(found[1]), number(found[2])


def test_ages_print_cells_of_five(shared: Con) -> None:
    _, labels = snap(shared, [26, 28, 43, 44, 61, 69], "integer", width=5)
    assert labels == ["[25-29]", "[25-29]", "[40-44]", "[40-44]", "[60-69]", "[60-69]"]


def test_a_value_that_fills_a_class_alone_prints_its_cell(shared: Con) -> None:
    _, labels = snap(shared, [27, 27, 91, 91], "integer", width=10)
    assert labels == ["[20-29]", "[20-29]", "[90-99]", "[90-99]"]


def test_cells_below_zero_begin_at_multiples_of_the_width_too(shared: Con) -> None:
    _, labels = snap(shared, [-7, -7, -5, -5, -1, -1, 0, 0], "integer", width=5)
    assert labels == ["[-10--6]"] * 2 + ["[-5--1]"] * 4 + ["[0-4]"] * 2


def test_a_cell_of_one_whole_number_is_that_number(shared: Con) -> None:
    made, labels = snap(shared, [3, 3, 8, 8], "integer", width=1)
    assert labels == ["3", "3", "8", "8"]
    assert made.metrics()["gcp"] == 0
    assert made.metrics()["modification_rate"] == 0


def test_continuous_numbers_print_where_the_next_cell_begins(shared: Con) -> None:
    _, labels = snap(shared, [0.3, 0.34, 0.7, 0.79], "double", width=0.1)
    assert labels == ["[0.3-0.4)", "[0.3-0.4)", "[0.7-0.8)", "[0.7-0.8)"]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        ("month", "[2024-02-01 - 2024-02-29]"),
        ("quarter", "[2024-01-01 - 2024-03-31]"),
        ("year", "[2024-01-01 - 2024-12-31]"),
        ("Decade", "[2020-01-01 - 2029-12-31]"),
        ("week", "[2024-02-05 - 2024-02-11]"),
        (7, "[2024-02-05 - 2024-02-11]"),
    ],
)
def test_dates_print_the_first_and_the_last_day_of_their_cell(shared: Con, width: Any, expected: str) -> None:
    days = [date(2024, 2, 7), date(2024, 2, 9)]
    _, labels = snap(shared, days, "date", width=width)
    assert labels == [expected] * 2


def test_times_print_when_their_cell_begins_and_the_next_one_does(shared: Con) -> None:
    times = [datetime(2024, 2, 7, 11, 59), datetime(2024, 2, 29, 23, 59, 59)]
    _, labels = snap(shared, times, "timestamp", width="month")
    assert labels == ["[2024-02-01 00:00:00 - 2024-03-01 00:00:00)"] * 2


def test_null_prints_null_alone_and_a_star_with_others(shared: Con) -> None:
    _, labels = snap(shared, [None, None, 41, 42], "integer", width=10)
    assert labels == [None, None, "[40-49]", "[40-49]"]
    made, labels = snap(shared, [None, 41, 42], "integer", k=3, width=10)
    assert labels == ["*"] * 3
    assert made.metrics()["gcp"] == 1


@pytest.mark.parametrize(
    ("lowest", "highest", "width"),
    [(17, 90, 5), (0, 6, 2), (1, 40, 2), (1, 41, 2), (0, 100, 5), (1000, 90000, 5000), (-3, 390, 20)],
)
def test_the_default_cell_is_a_nice_twentieth_of_the_span(shared: Con, lowest: int, highest: int, width: int) -> None:
    first, last = cells(shared, [lowest, highest], WHOLE, "integer", None)[lowest]
    assert int(last) - int(first) + 1 == width


def test_extremes_do_not_show_by_default(shared: Con) -> None:
    values = [18, 21, 33, 34, 47, 48, 66, 93]
    for one in (18, 17, 16):
        _, labels = snap(shared, [one, *values[1:]], "integer", k=8)
        assert labels == ["[15-94]"] * 8


def test_the_loss_counts_what_is_printed_but_nothing_beyond_the_values(shared: Con) -> None:
    made, _ = snap(shared, [10, 12, 52, 54, 108, 110], "integer", width=10)
    # [10-19], [50-59] and [100-119], whose last cell ends behind 110
    assert made.metrics()["gcp"] == pytest.approx((9 + 9 + 10) / 3 / 100)
    made, _ = snap(shared, [12, 18], "integer", width=100)
    assert made.metrics()["gcp"] == 1


def test_a_measure_of_the_printed_table_reads_the_ranges_back(shared: Con) -> None:
    shared.execute(
        "create or replace table people as select i * 37 % 83 as age, i * 0.71 as height from range(60) r(i)"
    )
    options = "quasi := ['age', 'height'], k := 3, ranges := 'snapped'"
    shared.execute(f"create or replace table public as from anon.anonymize('people', {options}, grid := {{'age': 10}})")
    ((gcp,),) = shared.execute(
        f"select value from anon.measure('public', source := 'people', {options}) where measure = 'gcp'"
    ).fetchall()
    loss = 0.0
    for column in ("age", "height"):
        ((lowest, highest),) = shared.execute(
            f"select min({column})::double, max({column})::double from people"
        ).fetchall()
        labels = shared.execute(f"select {column} from public").fetchall()
        loss += sum(
            (min(hi, highest) - max(lo, lowest)) / (highest - lowest) for lo, hi in (ends(x) for (x,) in labels)
        )
    assert gcp == pytest.approx(loss / 120)


def test_a_label_that_means_nothing_is_an_error(shared: Con) -> None:
    shared.execute("create or replace table people as select i as age from range(20) r(i)")
    for label in ("young", "[30-39]", "[5-", "[5-4]"):
        shared.execute("create or replace table public as select $1 as age from range(20)", [label])
        with pytest.raises(duckdb.Error, match="Column 'age' has labels that are not a value"):
            shared.execute(
                "from anon.measure('public', source := 'people', quasi := ['age'], ranges := 'snapped')"
            ).fetchall()


@settings(max_examples=5, deadline=None)
@given(
    st.lists(st.none() | st.integers(-(2**40), 2**40) | st.integers(-30, 30), min_size=3, max_size=12),
    st.none() | st.integers(1, 1000),
)
def test_k_holds_on_what_is_printed_and_the_loss_lies_between_that_of_exact_ranges_and_everything(
    shared: Con, values: list[int | None], width: int | None
) -> None:
    values = [0, *values]
    made, labels = snap(shared, values, "bigint", width=width)
    assert min(Counter(labels).values()) >= 2
    for value, label in zip(values, labels, strict=True):
        if value is None or label == "*":
            assert label in (None, "*")
        else:
            lo, hi = ends(label)
            assert lo <= value <= hi
    classes = [[value for value, shown in zip(values, labels, strict=True) if shown == label] for label in set(labels)]
    exact = sum(len(rows) * lost(rows, values) for rows in classes) / len(values)
    assert exact - 1e-9 <= made.metrics()["gcp"] <= 1 + 1e-9


def lost(rows: list[int | None], values: list[int | None]) -> float:
    """What a row of a class loses that is released as the range of its values: everything if a NULL is among them."""
    inside, every = ([value for value in those if value is not None] for those in (rows, values))
    if not inside or max(every) == min(every):
        return 0.0
    return 1.0 if None in rows else (max(inside) - min(inside)) / (max(every) - min(every))


def cells(con: Con, values: list[Any], family: TypeFamily, kind: str, width: Any) -> dict[Any, tuple[str, str]]:
    """Each value's cell, as the pipeline asks for it."""
    con.execute(f"create or replace temp table d (rank integer, value {kind})")
    con.executemany("insert into d values (?, ?)", list(enumerate(values)))
    distance = distance_sql(kind.upper(), "value", "(select min(value) from d)").replace("try(", "(")
    domain = f"(select *, {family.position} as place, {distance} as distance from d)"
    rows = con.execute(f"select rank, first, last from ({cells_sql(domain, kind.upper(), family, width)})").fetchall()
    return {values[rank]: (first, last) for rank, first, last in rows}


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False)
        | st.integers(-500, 500).map(lambda i: i / 10)
        | st.floats(1e10, 1e10 + 1e-3),
        min_size=1,
        max_size=12,
        unique=True,
    ),
    st.none() | st.sampled_from([0.1, 0.25, 0.5, 3, 1000, 1e-9]),
)
def test_numbers_lie_in_their_cells_which_are_one_width_wide(shared: Con, values: list[float], width: Any) -> None:
    for value, (first, last) in cells(shared, values, FLOAT, "double", width).items():
        assert number(first) <= value < number(last) or last == "inf"
        if width is not None and max(map(abs, values)) < 1e4:
            assert number(last) - number(first) == pytest.approx(max(width, max(map(abs, values)) / 1e13))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-99, 99), min_size=1, max_size=12, unique=True),
    st.none() | st.integers(1, 10**12),
)
def test_whole_numbers_lie_in_their_cells_which_do_not_overlap(
    shared: Con, values: list[int], width: int | None
) -> None:
    found = {value: (int(lo), int(hi)) for value, (lo, hi) in cells(shared, values, WHOLE, "bigint", width).items()}
    (width,) = {hi - lo + 1 for lo, hi in found.values()}
    assert all(lo <= value <= hi and lo % width == 0 for value, (lo, hi) in found.items())


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.dates(date(300, 1, 8), date(8999, 12, 31)), min_size=1, max_size=8, unique=True),
    st.none() | st.sampled_from(["week", "month", "year", "century", 1, 10]),
)
def test_dates_lie_in_their_cells(shared: Con, values: list[date], width: Any) -> None:
    for value, (first, last) in cells(shared, values, DATE, "date", width).items():
        assert date.fromisoformat(first) <= value <= date.fromisoformat(last)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "timestamp_s", "timestamp_ns"])
@pytest.mark.parametrize("days", [0.0004, 0.02, 0.1, 1.2, 5, 90, 4000])
def test_times_of_every_kind_lie_in_what_they_print(shared: Con, kind: str, days: float) -> None:
    values = [datetime(2001, 2, 3, 4, 5, 6) + timedelta(days=days * part / 7) for part in range(8)]
    for value, (first, last) in cells(shared, values, TIMESTAMP, kind, None).items():
        lo, hi = (datetime.fromisoformat(end.removesuffix("+00")) for end in (first, last))
        assert lo <= value.replace(microsecond=0) < hi
        assert hi - lo <= timedelta(days=days) / 3


@pytest.mark.parametrize("kind", ["float", "decimal(9,3)", "utinyint", "hugeint"])
def test_every_type_of_number_is_snapped_and_measured(shared: Con, kind: str) -> None:
    made, labels = snap(shared, [1, 3, 7, 9, 55, 60], kind)
    for value, label in zip([1, 3, 7, 9, 55, 60], labels, strict=True):
        lo, hi = ends(label)
        assert lo <= value <= hi
    assert 0 < made.metrics()["gcp"] <= 1


def test_columns_with_a_hierarchy_print_its_labels(shared: Con) -> None:
    shared.execute("create or replace table people as select i % 10 as age, i % 3 as sort from range(30) r(i)")
    sqlanon.create_hierarchy(shared, "fives", intervals=[5])
    made = sqlanon.anonymize(
        shared, "people", ["age", "sort"], 15, ranges="snapped", hierarchies={"age": "fives"}, method="kaca"
    )
    labels = {label for (label,) in shared.execute(f"select age from {made.table}").fetchall()}
    assert labels <= {"[0-4]", "[5-9]", "*"}
    with pytest.raises(PolicyError, match="grid names 'age', which is released as labels of its hierarchy"):
        sqlanon.anonymize(shared, "people", ["age"], 5, ranges="snapped", hierarchies={"age": "fives"}, grid={"age": 5})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranges": "text", "grid": {"age": 5}}, "grid needs ranges='snapped'"),
        ({"represent": "center", "grid": {"age": 5}}, "grid cannot be combined with represent"),
        ({"ranges": "columns", "grid": {"age": 5}}, "grid needs ranges='snapped'"),
        ({"ranges": "snapped", "represent": "center"}, "cannot be combined with represent"),
        ({"ranges": "snapped", "method": "anatomy", "sensitive": "s", "l": 2}, "ranges does not apply to anatomy"),
        ({"ranges": "snapped", "grid": {"zip": 5}}, "grid names 'zip', which is not in quasi"),
        *(
            ({"ranges": "snapped", "grid": {"age": width}}, "must have a width above 0")
            for width in (0, -5, math.nan, math.inf, True, None, "0", "wide", [5])
        ),
        ({"ranges": "snapped", "grid": {"age": "yaer"}}, r"Did you mean 'year'\?"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.Policy.of({"quasi": ["age"], **options})


@pytest.mark.parametrize(
    ("kind", "width", "message"),
    [
        ("integer", 2.5, "'x' holds whole numbers: give a whole number"),
        ("integer", "month", "'x' holds whole numbers, which have no month"),
        ("date", 1.5, "'x' holds dates: give a whole number of days"),
        ("varchar", 5, "grid names 'x', which holds text"),
    ],
)
def test_a_width_that_does_not_fit_the_type_is_refused(shared: Con, kind: str, width: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        snap(shared, [None, None], kind, width=width)


def test_a_grid_is_part_of_the_policy_and_the_same_in_sql(shared: Con) -> None:
    policy = sqlanon.Policy(quasi=("age", "born"), ranges="snapped", grid={"AGE": "5", "born": "Year"})
    assert policy.grid == {"age": 5, "born": "year"}
    assert sqlanon.Policy.of(policy.options()) == policy
    shared.execute(
        "create or replace table people as "
        "select i as age, date '1990-01-01' + i::integer * 100 as born from range(40) r(i)"
    )
    for grid in ("{'age': 20, 'born': 'year'}", "map {'age': '20', 'born': 'year'}"):
        found = shared.execute(
            f"select distinct age from anon.anonymize('people', quasi := ['age', 'born'], k := 2, ranges := 'snapped', "
            f"grid := {grid}) order by age"
        ).fetchall()
        assert {label for (label,) in found} <= {"[0-19]", "[0-39]", "[20-39]"}


def auto(con: Con, values: list[Any], kind: str, k: int = 2, **options: Any) -> tuple[sqlanon.Release, list[str]]:
    con.execute(f"create or replace temp table t (x {kind})")
    con.executemany("insert into t values (?)", [(value,) for value in values])
    made = sqlanon.anonymize(con, "t", ["x"], k, **{"method": "kaca"} | options)
    return made, sorted(label for (label,) in con.execute(f"select x from {made.table}").fetchall())


def test_by_default_fine_values_are_snapped_and_whole_numbers_are_not(shared: Con) -> None:
    whole = [21, 24, 47, 49]
    assert auto(shared, whole, "integer")[1] == ["[21-24]"] * 2 + ["[47-49]"] * 2
    assert auto(shared, whole, "decimal(9, 0)")[1] == ["[21-24]"] * 2 + ["[47-49]"] * 2
    assert auto(shared, whole, "integer", grid={"x": 5})[1] == ["[20-24]"] * 2 + ["[45-49]"] * 2
    fine = [21.37, 24.11, 47.93, 49.02]
    for kind in ("double", "float", "decimal(9, 2)"):
        assert auto(shared, fine, kind)[1] == ["[20-26)"] * 2 + ["[46-50)"] * 2
    moments = [datetime(2024, 1, 1 + day, 10, 11, 12 + day) for day in (0, 1, 20, 21)]
    labels = auto(shared, moments, "timestamp")[1]
    assert labels[0] == "[2024-01-01 00:00:00 - 2024-01-08 00:00:00)" or "10:11" not in "".join(labels)


def test_a_fine_value_that_a_whole_class_shares_is_released_as_it_is(shared: Con) -> None:
    made, labels = auto(shared, [0.5, 0.5, 0.5, 1.25, 1.25, 1.25], "double", k=3)
    assert labels == ["0.5"] * 3 + ["1.25"] * 3
    assert made.metrics()["gcp"] == 0


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["double", "decimal(12, 4)", "timestamp"])
@pytest.mark.parametrize("method", ["auto", "mondrian", "kaca"])
def test_no_end_of_a_range_is_the_value_of_one_person(shared: Con, kind: str, method: str) -> None:
    expression = "timestamp '2020-01-01' + to_seconds(cast(1 + hash(i) % 90000000 as bigint))"
    number = f"cast((hash(i) % 1000000) / 977.0 as {kind})"
    shared.execute(
        f"create or replace temp table t as select {expression if kind == 'timestamp' else number} as x "
        "from range(300) r(i)"
    )
    found = {}
    for ranges in ("auto", "text"):
        made = sqlanon.anonymize(shared, "t", ["x"], 5, method=method, ranges=ranges)
        (found[ranges],) = [row for row in sqlanon.attack(shared, made).rows if row.attack == "ends_of_ranges"]
        source = f"select count(*) from {made.table} as r semi join (select x::varchar as x from t) as s on "
        shown = "contains(r.x, s.x)"
        ((exact,),) = shared.execute(f"{source}{shown}").fetchall()
        assert (exact == 0) == (ranges == "auto")
    assert (found["auto"].got, found["auto"].verdict) == (0, "holds")
    assert found["text"].verdict == "open"


def test_the_method_sees_what_snapping_loses(shared: Con) -> None:
    edges = [e + d for e in range(1, 20) for d in (-0.1, 0.1)]  # pairs across the edge of a cell are nearest
    made, labels = auto(shared, [0.1, *edges, 19.9], "double", grid={"x": 1.0})
    assert {label for label in labels if len(label) > 0} == {f"[{cell}-{cell + 1})" for cell in range(20)}
    assert made.metrics()["gcp"] == pytest.approx(1 / 19.8, abs=0.002)
    assert made.metrics()["lower_bound"] <= made.metrics()["gcp"]


def test_a_table_with_real_ends_and_one_with_cells_are_both_read(shared: Con) -> None:
    shared.execute("create or replace table s as select unnest([1.25, 2.5, 3.75, 5.0])::double as x")
    for labels, loss in ((["[1.25-2.5]", "[3.75-5.0]"], 1 / 3), (["[1-3)", "[3-6)"], (1.75 / 3.75 + 2 / 3.75) / 2)):
        shared.execute(f"create or replace table p as select unnest({labels + labels}) as x")
        ((found,),) = shared.execute(
            "select value from anon.measure('p', source := 's', quasi := ['x']) where measure = 'gcp'"
        ).fetchall()
        assert found == pytest.approx(loss)
