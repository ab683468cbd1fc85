"""Whatever the table: classes of k or more, labels that cover their rows, every row and every sensitive value there."""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.udfs.methods import METHODS

Con = duckdb.DuckDBPyConnection
Covers = Callable[[Any, str], bool]

PRINTING_CLASSES = [name for name, method in METHODS.items() if method.is_homogeneous]
PRINTING_CLOSURES = [name for name in PRINTING_CLASSES if name not in ("incognito", "datafly")]

NAMES = [
    'a "b" c; drop',
    "ü",
    "select",
    " ",
    "it's",
    "x.y",
    "{k}",
    "{count}",
    "$1",
    "%s",
    "source",
    "rank",
    "label",
    "-- no",
    "q1",
    "名前",
]
TREE = [
    ("apple", "pome", "fruit", "food"),
    ("pear", "pome", "fruit", "food"),
    ("cherry", "stone", "fruit", "food"),
    ("salt", None, None, "food"),
    ("leek", None, "vegetable", "food"),
    ("never used", "pome", "fruit", "food"),
]


def covers_number(value: Any, label: str) -> bool:
    number = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
    found = re.fullmatch(rf"\[{number}-{number}[\])]", label)
    return bool(found) and Decimal(found[1]) <= Decimal(str(value)) <= Decimal(found[2])


def covers_moment(value: Any, label: str) -> bool:
    first, last = (type(value).fromisoformat(end) for end in label.strip("[])").split(" - "))
    return bool(first <= value <= last)


def covers_nothing_more(value: Any, label: str) -> bool:
    return False


def covers_node(value: Any, label: str) -> bool:
    return any(value in path and label in path[path.index(value) :] for path in TREE)


def covers_prefix(value: Any, label: str) -> bool:
    stem = label.rstrip("*")
    return label.endswith("*") and str(value).startswith(stem)


def covers_interval(value: Any, label: str) -> bool:
    if label.startswith("<"):
        return bool(value < Decimal(label[1:]))
    if label.startswith(">="):
        return bool(value >= Decimal(label[2:]))
    found = re.fullmatch(r"\[(-?[0-9.]+)-(-?[0-9.]+)([\])])", label)
    assert found, label
    low, high = Decimal(found[1]), Decimal(found[2])
    return bool(low <= Decimal(value) <= high) if found[3] == "]" else bool(low <= Decimal(value) < high)


def covers_period(value: Any, label: str) -> bool:
    year, quarter = value.year, (value.month + 2) // 3
    periods = (f"{value:%Y-%m-%d}", f"{value:%Y-%m}", f"{year:04}-Q{quarter}", f"{year:04}", f"{year // 10 * 10}s")
    return label in periods


@dataclass(frozen=True)
class Kind:
    """A kind of column: its type, hierarchy, values, and what a label other than the value or the top may cover."""

    type: str
    values: st.SearchStrategy[Any]
    covers: Covers
    hierarchy: str | None = None
    top: str = "*"


FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6)
DATES = st.dates(datetime.date(1985, 1, 1), datetime.date(2029, 12, 31))
TIMES = st.datetimes(datetime.datetime(1985, 1, 1), datetime.datetime(2029, 12, 31))
KINDS = {
    "whole": Kind("BIGINT", st.integers(-60, 60), covers_number),
    "huge": Kind("HUGEINT", st.integers(-(10**30), 10**30), covers_number),
    "float": Kind("DOUBLE", FLOATS, covers_number),
    "decimal": Kind("DECIMAL(9, 2)", st.decimals(-500, 500, places=2), covers_number),
    "date": Kind("DATE", DATES, covers_moment),
    "timestamp": Kind("TIMESTAMP", TIMES, covers_moment),
    "text": Kind("VARCHAR", st.sampled_from(["", "*", "NULL", "[1-2]", "a", "b'b", 'c"c', "é"]), covers_nothing_more),
    "boolean": Kind("BOOLEAN", st.booleans(), covers_nothing_more),
    "enum": Kind("ENUM('low', 'mid', 'high')", st.sampled_from(["low", "mid", "high"]), covers_nothing_more),
    "tree": Kind("VARCHAR", st.sampled_from([path[0] for path in TREE]), covers_node, "food", top="food"),
    "code": Kind("VARCHAR", st.text("12ab*", min_size=1, max_size=4), covers_prefix, "prefixes"),
    "number code": Kind("INTEGER", st.sampled_from([1, 2, 3, 10, 20, 30, 100]), covers_prefix, "prefixes"),
    "interval": Kind("INTEGER", st.integers(-60, 130), covers_interval, "widths"),
    "decimal interval": Kind("DECIMAL(9, 2)", st.decimals(-60, 130, places=2), covers_interval, "widths"),
    "period": Kind("DATE", DATES, covers_period, "periods"),
    "timed period": Kind("TIMESTAMP", TIMES, covers_period, "periods"),
}


@dataclass(frozen=True)
class Table:
    """Quasi-identifiers with their kinds, and rows of them with one sensitive value."""

    columns: dict[str, Kind]
    rows: list[tuple[Any, ...]]
    k: int


@st.composite
def tables(draw: st.DrawFn) -> Table:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    kinds = [KINDS[draw(st.sampled_from(sorted(KINDS)))] for _ in names]
    size = draw(st.integers(2, 14))
    pools = [draw(st.lists(kind.values, min_size=1, max_size=6)) for kind in kinds]
    rows = [tuple(draw(st.sampled_from([*pool, None])) for pool in pools) for _ in range(size)]
    rows[0] = tuple(pool[0] for pool in pools)  # a column of NULL alone is refused
    illnesses = draw(st.lists(st.sampled_from(["flu", "gout", None]), min_size=size, max_size=size))
    with_illness = [(*row, illness) for row, illness in zip(rows, illnesses, strict=True)]
    return Table(dict(zip(names, kinds, strict=True)), with_illness, draw(st.integers(2, size)))


@pytest.fixture(scope="module", autouse=True)
def hierarchies(shared: Con) -> None:
    sqlanon.create_hierarchy(shared, "food", rows=TREE)
    sqlanon.create_hierarchy(shared, "prefixes", prefix=True)
    sqlanon.create_hierarchy(shared, "widths", intervals=[5, 10, 20], anchor=1, below=-30, above=100)
    sqlanon.create_hierarchy(shared, "periods", dates=True)


def quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def stored(con: Con, table: Table) -> list[tuple[Any, ...]]:
    """Put the table into the database and return its cells as text, in the order of their ids."""
    declared = "".join(f"{quoted(column)} {kind.type}, " for column, kind in table.columns.items())
    con.execute(f"create or replace table people ({declared}illness varchar, id integer)")
    marks = ", ".join("?" * (len(table.columns) + 2))
    con.executemany(f"insert into people values ({marks})", [(*row, i) for i, row in enumerate(table.rows)])
    texts = ", ".join(f"{quoted(column)}::varchar" for column in table.columns)
    return con.execute(f"select {texts} from people order by id").fetchall()


def released(con: Con, table: Table, method: str) -> list[tuple[Any, ...]]:
    """The release in the order of the ids: labels, illness."""
    found = con.execute(
        "select * from anon.anonymize('people', quasi := $1, k := $2, method := $3, sensitive := ['illness'], "
        "hierarchies := $4::json, unsafe_keep := ['id'], seed := 3)",
        [
            list(table.columns),
            table.k,
            method,
            json.dumps({column: kind.hierarchy for column, kind in table.columns.items()}),
        ],
    ).fetchall()
    return [row[:-1] for row in sorted(found, key=lambda row: row[-1])]


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=st.sampled_from(PRINTING_CLASSES), table=tables())
def test_every_printed_class_holds_k_rows_and_every_label_covers_its_row(
    shared: Con, method: str, table: Table
) -> None:
    texts = stored(shared, table)
    release = released(shared, table, method)
    assert len(release) == len(table.rows)
    assert [row[-1] for row in release] == [row[-1] for row in table.rows]
    classes = Counter(row[:-1] for row in release)
    assert min(classes.values()) >= table.k
    for place, kind in enumerate(table.columns.values()):
        for row, text, printed in zip(table.rows, texts, release, strict=True):
            value, label = row[place], printed[place]
            is_covered = label in (text[place], kind.top) or (value is not None and kind.covers(value, label))
            is_covered |= method == "datafly" and set(printed[:-1]) == {"*"}  # it suppresses its last few rows
            assert is_covered, f"{label!r} does not cover {value!r}"


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=st.sampled_from(PRINTING_CLOSURES), table=tables())
def test_a_class_whose_rows_share_a_value_prints_that_value(shared: Con, method: str, table: Table) -> None:
    texts = stored(shared, table)
    members: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for text, printed in zip(texts, released(shared, table, method), strict=True):
        members[printed[:-1]].append(text)
    for printed, inside in members.items():
        for place, label in enumerate(printed):
            if len({text[place] for text in inside}) == 1:
                assert label == inside[0][place]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=st.sampled_from(PRINTING_CLASSES), table=tables())
def test_a_python_release_proves_and_measures_itself_for_any_table(shared: Con, method: str, table: Table) -> None:
    stored(shared, table)
    release = sqlanon.anonymize(
        shared,
        "people",
        quasi=list(table.columns),
        k=table.k,
        method=method,
        sensitive=["illness"],
        hierarchies={column: kind.hierarchy for column, kind in table.columns.items()},
    )
    assert release.verify() == release.proof
    assert release.proof.k >= table.k
    metrics = release.metrics()
    for measure in ("gcp", "lm", "precision", "modification_rate", "distortion_ratio"):
        assert -1e-9 <= metrics[measure] <= 1 + 1e-9
    assert metrics["average_class_size"] >= 1
    shared.execute(f"drop table {release.table}")
