"""The check macros: pure SQL, right on any table, strict about names, and usable without sqlanon."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from databases import Databases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import value
from sweeping import examples

import sqlanon

Con = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]

HOSTILE = ['a "b" c; drop', "ü", "select", " ", "it's", "n", "class_size", "q1", "t", "quasi", "counted"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, None]), st.sampled_from(["x", "", None]), st.sampled_from(["flu", "gout", "mumps", None])
    ),
    min_size=1,
    max_size=25,
)


def store(con: Con, rows: list[Row]) -> None:
    con.execute("create or replace table people (age integer, ward varchar, illness varchar)")
    con.executemany("insert into people values (?, ?, ?)", rows)


def classes_of(rows: list[Row]) -> dict[Row, list[Any]]:
    """The obvious grouping: NULL equals NULL."""
    classes = defaultdict(list)
    for age, ward, illness in rows:
        classes[age, ward].append(illness)
    return classes


def shares(illnesses: list[Any]) -> list[float]:
    return [count / len(illnesses) for count in Counter(illnesses).values()]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_checks_agree_with_plain_python_on_any_table(shared: Con, rows: list[Row]) -> None:
    store(shared, rows)
    classes = classes_of(rows)
    arguments = "('people', ['age', 'ward'], 'illness')"
    assert value(shared, "select anon.k_anonymity('people', ['age', 'ward'])") == min(map(len, classes.values()))
    assert value(shared, f"select anon.l_diversity{arguments}") == pytest.approx(
        min(1 / max(shares(illnesses)) for illnesses in classes.values())
    )
    assert value(shared, f"select anon.distinct_l_diversity{arguments}") == min(len(set(c)) for c in classes.values())
    assert value(shared, f"select anon.entropy_l_diversity{arguments}") == pytest.approx(
        min(math.exp(-sum(p * math.log(p) for p in shares(c))) for c in classes.values())
    )


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, k=st.integers(1, 6))
def test_classes_and_violations_agree_with_plain_python_on_any_table(shared: Con, rows: list[Row], k: int) -> None:
    store(shared, rows)
    expected = {key: len(illnesses) for key, illnesses in classes_of(rows).items()}
    found = shared.execute("from anon.equivalence_classes('people', ['age', 'ward'])").fetchall()
    assert {row[:2]: row[2] for row in found} == expected
    assert [row[2] for row in found] == sorted(expected.values())
    broken = shared.execute("from anon.violations('people', ['age', 'ward'], k := $1)", [k]).fetchall()
    assert {row[:2]: row[2] for row in broken} == {key: size for key, size in expected.items() if size < k}


def test_violations_take_five_for_k_when_not_told(shared: Con) -> None:
    store(shared, [(1, "x", "flu")] * 4 + [(2, "x", "flu")] * 5)
    assert shared.execute("from anon.violations('people', ['age'])").fetchall() == [(1, 4)]


def test_names_fold_case_as_duckdbs_do(shared: Con) -> None:
    store(shared, [(1, "x", "flu"), (1, "y", "gout")])
    assert value(shared, "select anon.k_anonymity('PEOPLE', ['AGE'])") == 2
    assert value(shared, "select anon.l_diversity('People', ['Age'], 'ILLNESS')") == 2


@pytest.mark.parametrize(
    ("check", "missing"),
    [
        ("select anon.k_anonymity('people', ['age', 'wart'])", "wart"),
        ("select anon.l_diversity('people', ['age', 'wart'], 'illness')", "wart"),
        ("select anon.l_diversity('people', ['age'], 'wart')", "wart"),
        ("select anon.distinct_l_diversity('people', ['age'], 'wart')", "wart"),
        ("select anon.entropy_l_diversity('people', ['age', 'wart'], 'illness')", "wart"),
        ("from anon.equivalence_classes('people', ['age', 'wart'])", "wart"),
        ("from anon.violations('people', ['age', 'wart'], k := 2)", "wart"),
        ("select anon.k_anonymity('people', ['people'])", "people"),
        ("select anon.k_anonymity('people', ['rowid'])", "rowid"),
        ("select anon.k_anonymity('people', ['*'])", "*"),
        ("select anon.k_anonymity('people', ['age, ward'])", "age, ward"),
        ("from anon.equivalence_classes('people', ['class_size'])", "class_size"),
        ("select anon.l_diversity('people', ['n'], 'illness')", "n"),
        ("select anon.k_anonymity('peeple', ['age'])", "peeple"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_that_names_it(shared: Con, check: str, missing: str) -> None:
    store(shared, [(1, "x", "flu"), (1, "y", "gout")])
    with pytest.raises((duckdb.BinderException, duckdb.CatalogException), match=rf"\W{re.escape(missing)}\W"):
        shared.execute(check)


@pytest.mark.parametrize("quasi", ["[]", "null", "[]::varchar[]"])
@pytest.mark.parametrize(
    "check",
    [
        "select anon.k_anonymity('people', {})",
        "select anon.l_diversity('people', {}, 'illness')",
        "select anon.distinct_l_diversity('people', {}, 'illness')",
        "select anon.entropy_l_diversity('people', {}, 'illness')",
        "from anon.equivalence_classes('people', {})",
        "from anon.violations('people', {}, k := 2)",
    ],
)
def test_no_quasi_identifier_at_all_is_an_error_that_says_so(shared: Con, check: str, quasi: str) -> None:
    store(shared, [(1, "x", "flu"), (1, "y", "gout")])
    with pytest.raises(duckdb.Error, match="quasi is empty"):
        shared.execute(check.format(quasi))


@pytest.mark.parametrize("name", HOSTILE)
def test_columns_and_tables_may_have_any_name(shared: Con, name: str) -> None:
    if '"' in name and duckdb.__version__.startswith("1."):
        pytest.skip("DuckDB 1's query_table cannot read a table whose name has a quote in it")
    quoted = '"' + name.replace('"', '""') + '"'
    shared.execute(f"create table {quoted} (age integer, ward varchar, {quoted} varchar)")
    shared.executemany(f"insert into {quoted} values (?, ?, ?)", [(1, "x", "flu"), (1, "x", "gout"), (2, "x", "flu")])
    assert value(shared, "select anon.k_anonymity($1, ['ward', $2])", [quoted, name]) == 1
    assert value(shared, "select anon.l_diversity($1, ['age'], $2)", [quoted, name]) == 1
    assert value(shared, "select anon.l_diversity($1, [$2], 'age')", [quoted, name]) == 1
    assert value(shared, "select anon.distinct_l_diversity($1, ['ward', $2], 'age')", [quoted, name]) == 1
    found = shared.execute("from anon.equivalence_classes($1, [$2])", [quoted, name]).fetchall()
    assert found == [("gout", 1), ("flu", 2)]
    assert shared.execute("from anon.violations($1, [$2], k := 2)", [quoted, name]).fetchall() == [("gout", 1)]
    shared.execute(f"drop table {quoted}")


def test_violations_count_rows_even_where_a_column_is_called_class_size(shared: Con) -> None:
    shared.execute("create or replace table sizes as select unnest([1, 1, 7]) as class_size")
    assert shared.execute("from anon.violations('sizes', ['class_size'], k := 2)").fetchall() == [(7, 1)]


def test_an_empty_table_has_no_smallest_class_and_no_violations(shared: Con) -> None:
    shared.execute("create or replace table people (age integer, ward varchar, illness varchar)")
    assert value(shared, "select anon.k_anonymity('people', ['age'])") is None
    assert value(shared, "select anon.l_diversity('people', ['age'], 'illness')") is None
    assert value(shared, "select anon.distinct_l_diversity('people', ['age'], 'illness')") is None
    assert value(shared, "select anon.entropy_l_diversity('people', ['age'], 'illness')") is None
    assert shared.execute("from anon.violations('people', ['age'])").fetchall() == []


def test_checks_see_views_temporary_tables_other_schemas_and_attached_databases(shared: Con) -> None:
    store(shared, [(1, "x", "flu"), (1, "y", "gout")])
    shared.execute("create or replace view seen as from people; create or replace temp table passing as from people")
    shared.execute("create schema if not exists side; create or replace table side.people as from people")
    shared.execute("attach if not exists ':memory:' as other; create or replace table other.main.people as from people")
    for table in ("seen", "passing", "side.people", "other.main.people"):
        assert value(shared, "select anon.k_anonymity($1, ['age'])", [table]) == 2


def test_checks_work_in_a_reopened_file_without_sqlanon(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(str(file)) as con:
        sqlanon.load(con)
        store(con, [(1, "x", "flu"), (1, "x", "gout"), (2, "y", "flu"), (2, "y", "flu"), (2, "y", "gout")])
        sqlanon.anonymize(con, "people", quasi=["age"], k=2, sensitive=["illness"], name="pub", kind="view")
    code = f"""
import sys
sys.modules["sqlanon"] = None
import duckdb
con = duckdb.connect({str(file)!r}, read_only=True)
print(con.execute('''
    select anon.k_anonymity('people', ['age', 'ward']), anon.l_diversity('people', ['age'], 'illness'),
        anon.distinct_l_diversity('people', ['age'], 'illness'),
        round(anon.entropy_l_diversity('people', ['age'], 'illness'), 4),
        (select count(*) from anon.violations('people', ['age'], k := 3)),
        (select count(*) from anon.equivalence_classes('pub', ['age'])), anon.gcp('pub'),
        (select value from anon.utility('pub') where measure = 'dm')
''').fetchall())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.strip() == "[(2, 1.5, 2, 1.8899, 1, 2, 0.0, 13.0)]"


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(databases: Databases, tmp_path: Path) -> None:
    (tmp_path / "data[1].csv").write_text("age\n20\n20\n30\n")
    (tmp_path / "data1.csv").write_text("age\n20\n20\n20\n")
    with databases.lent() as con:
        assert sqlanon.check(con, str(tmp_path / "data[1].csv"), ["age"], 2).k == 1
