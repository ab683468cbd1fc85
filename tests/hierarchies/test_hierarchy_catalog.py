"""Hierarchies in the catalog: names, replacing, dropping, missing values, and how columns are bound to them."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hierarchies_stored import WORK, catalog, nodes, paths, released

import sqlanon
from sqlanon.errors import CatalogError, PolicyError, SqlanonError

STRANGE = ['a "b" c; drop', "größe 🦆", "it's", "a.b", "select", "-- x", "$1", "{nodes}", "%s"]


@pytest.mark.parametrize("name", STRANGE)
def test_a_hierarchy_may_have_any_name(scratch: sqlanon.Connection, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    scratch.execute(f"create hierarchy {quoted} as values ('a', 'x', '*'), ('b', 'x', '*'), ('c', 'y', '*')")
    assert scratch.execute("select name from anon.hierarchies").fetchall() == [(name,)]
    scratch.execute(f"create table t ({quoted} varchar)")
    scratch.execute("insert into t values ('a'), ('b'), ('c'), ('c')")
    released = sqlanon.anonymize(scratch, "t", quasi=[name], k=2, hierarchies={name: name})
    assert sorted(released.relation().fetchall()) == [("c",), ("c",), ("x",), ("x",)]
    assert scratch.execute("from anon.hierarchy_gaps('t', $1, $1)", [name]).fetchall() == []
    scratch.execute(f"drop hierarchy {quoted}")
    assert catalog(scratch) == [[], []]


@pytest.mark.sweep
@pytest.mark.parametrize("label", [*STRANGE, "", " ", "*", "NULL", "a\nb"])
def test_a_leaf_may_have_any_label(scratch: sqlanon.Connection, label: str) -> None:
    sqlanon.create_hierarchy(scratch, "c", rows=[(label, "*"), ("other", "*")])
    scratch.execute("create table t (c varchar)")
    scratch.executemany("insert into t values (?)", [[label]] * 2)
    assert sqlanon.anonymize(scratch, "t", quasi="c", k=2).relation().fetchall() == [(label,)] * 2


def test_a_table_and_column_may_have_any_name(scratch: sqlanon.Connection) -> None:
    table, column = '"t; ""1"".x"', '"c \'ü\' ""q"" .y"'
    scratch.execute(f"create table {table} ({column} varchar)")
    scratch.execute(f"insert into {table} values ('a')")
    scratch.execute(f"create hierarchy h flat on {table}.{column}")
    assert paths(scratch, "h") == {"a": ["*"]}


def test_a_hierarchy_that_exists_is_not_overwritten(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    before = catalog(scratch)
    with pytest.raises(CatalogError, match="Hierarchy 'WORK' already exists"):
        scratch.execute("create hierarchy WORK using prefix")
    assert catalog(scratch) == before


def test_a_refused_duplicate_changes_nothing_in_the_callers_transaction(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    before = catalog(scratch)
    scratch.execute("begin")
    with pytest.raises(CatalogError, match="already exists"):
        sqlanon.create_hierarchy(scratch, "work", prefix=True)
    scratch.execute("commit")
    assert catalog(scratch) == before


def test_or_replace_replaces_whatever_the_case(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    scratch.execute("create or replace hierarchy WORK as values ('a', '*')")
    assert scratch.execute("select name, height, leaves from anon.hierarchies").fetchall() == [("WORK", 2, 1)]
    assert scratch.execute("select distinct name from anon.hierarchy_nodes").fetchall() == [("WORK",)]


def test_or_replace_makes_what_is_not_there(scratch: sqlanon.Connection) -> None:
    scratch.execute("create or replace hierarchy h using prefix")
    assert scratch.execute("select name, kind from anon.hierarchies").fetchall() == [("h", "prefix")]


def test_a_rolled_back_hierarchy_is_gone(scratch: sqlanon.Connection) -> None:
    scratch.execute("begin")
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    assert len(nodes(scratch, "work")) == 5
    scratch.execute("rollback")
    assert catalog(scratch) == [[], []]


def test_dropping_takes_the_nodes_along_whatever_the_case(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    sqlanon.create_hierarchy(scratch, "zip", prefix=True)
    assert scratch.execute("drop hierarchy WORK").fetchall() == [("WORK",)]
    sqlanon.drop_hierarchy(scratch, "Zip")
    assert catalog(scratch) == [[], []]


def test_dropping_what_is_not_there_is_refused_with_the_nearest(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    with pytest.raises(CatalogError, match=r"Unknown hierarchy 'wrok' \(hierarchies: work\)\. Did you mean 'work'\?"):
        scratch.execute("drop hierarchy wrok")
    with pytest.raises(CatalogError, match="Unknown hierarchy"):
        sqlanon.drop_hierarchy(scratch, "wrok")


def test_if_exists_drops_what_is_there_and_accepts_what_is_not(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h using prefix")
    scratch.execute("drop hierarchy if exists h")
    scratch.execute("drop hierarchy if exists h")
    sqlanon.drop_hierarchy(scratch, "h", missing_ok=True)
    assert catalog(scratch) == [[], []]


def test_hierarchies_are_refused_on_a_connection_without_sqlanon() -> None:
    with duckdb.connect() as plain, pytest.raises(CatalogError, match=r"call sqlanon\.load\(con\) first"):
        sqlanon.create_hierarchy(plain, "h", prefix=True)


def gaps(con: sqlanon.Connection, column: str, hierarchy: str) -> list[Any]:
    rows: list[Any] = con.execute("from anon.hierarchy_gaps('t', $1, $2)", [column, hierarchy]).fetchall()
    return rows


def test_gaps_of_a_tree_are_the_values_that_are_no_leaf_with_their_counts(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    scratch.execute("create table t as select unnest(['Private', 'Gov', 'x', 'x', 'State', null, '*', 'federal']) as c")
    assert gaps(scratch, "c", "work") == [("x", 2), ("*", 1), ("Gov", 1), ("federal", 1)]
    assert gaps(scratch, "C", "WORK") == gaps(scratch, "c", "work")


def test_gaps_of_intervals_are_what_is_no_finite_number(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h using intervals (5)")
    scratch.execute("create table t as select unnest(['1', '2.5', '-1e3', 'x', 'x', 'nan', 'inf', '', null]) as c")
    assert gaps(scratch, "c", "h") == [("x", 2), ("", 1), ("inf", 1), ("nan", 1)]


def test_gaps_of_dates_are_what_is_no_finite_date(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h using dates")
    scratch.execute("create table t as select unnest(['2024-01-31', '2024-01-32', 'infinity', 'x', null]) as c")
    assert gaps(scratch, "c", "h") == [("2024-01-32", 1), ("infinity", 1), ("x", 1)]


def test_a_prefix_has_no_gaps(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h using prefix")
    scratch.execute("create table t as select unnest(['4350', '', null]) as c")
    assert gaps(scratch, "c", "h") == []


@pytest.mark.parametrize("rows", ["select 'a' as c", "select null::varchar as c", "select 'a' as c limit 0"])
def test_gaps_of_an_unknown_hierarchy_are_an_error(scratch: sqlanon.Connection, rows: str) -> None:
    scratch.execute(f"create table t as {rows}")
    with pytest.raises(duckdb.Error, match="There is no hierarchy 'nope'"):
        gaps(scratch, "c", "nope")


def test_gaps_of_an_unknown_column_or_table_are_an_error(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h using prefix")
    with pytest.raises(duckdb.Error, match="does not exist"):
        gaps(scratch, "c", "h")
    scratch.execute("create table t as select 1 as a")
    with pytest.raises(duckdb.BinderException, match='"nope"'):
        gaps(scratch, "nope", "h")


def test_running_with_gaps_is_an_error_that_counts_them_and_changes_nothing(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    scratch.execute("create table t as select unnest(['Private', 'Private', 'secret1', 'secret2', 'secret2']) as job")
    before = scratch.execute("select database_name, table_name from duckdb_tables() order by all").fetchall()
    message = r"2 of the values of column 'job' .*'work'.*anon\.hierarchy_gaps\('.*', 'job', 'work'\)"
    with pytest.raises(SqlanonError, match=message) as caught:
        scratch.execute("create anonymized view v as from t options (quasi = [job], k = 2, hierarchies = {job: work})")
    assert "secret" not in str(caught.value)
    with pytest.raises(duckdb.Error, match=message):
        scratch.execute(
            "create table u as from anon.anonymize('t', quasi := ['job'], k := 2, hierarchies := MAP {'job': 'work'})"
        )
    assert scratch.execute("select database_name, table_name from duckdb_tables() order by all").fetchall() == before
    assert scratch.execute("from anon.releases").fetchall() == []


def test_a_column_takes_the_hierarchy_of_its_name_whatever_the_case(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([21, 24]) as Age")
    scratch.execute("create hierarchy aGE using intervals (5)")
    assert released(scratch, "quasi := ['age']") == [("[20-24]",)] * 2


def test_one_hierarchy_serves_several_columns(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([21, 24]) as a, unnest([7, 8]) as b")
    scratch.execute("create hierarchy fives using intervals (5)")
    options = "quasi := ['a', 'b'], hierarchies := MAP {'a': 'fives', 'B': 'FIVES'}"
    assert released(scratch, options) == [("[20-24]", "[5-9]")] * 2


def test_one_stored_tree_serves_several_columns(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    scratch.execute(
        "create table t as select unnest(['Federal', 'State']) as now, unnest(['State', 'Private']) as before"
    )
    options = "quasi := ['now', 'before'], hierarchies := MAP {'now': 'work', 'before': 'work'}"
    assert released(scratch, options) == [("Gov", "*")] * 2


def test_a_hierarchy_bound_to_null_is_none(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([21, 24]) as age")
    scratch.execute("create hierarchy age using intervals (5)")
    assert released(scratch, "quasi := ['age'], hierarchies := MAP {'age': NULL}") == [("[21-24]",)] * 2
    made = sqlanon.anonymize(scratch, "t", quasi="age", k=2, hierarchies={"age": None})
    assert made.relation().fetchall() == [("[21-24]",)] * 2


def test_an_unknown_hierarchy_is_refused_with_the_nearest(scratch: sqlanon.Connection) -> None:
    scratch.execute("create table t as select unnest([21, 24]) as age")
    scratch.execute("create hierarchy fives using intervals (5)")
    with pytest.raises(PolicyError, match=r"Unknown hierarchy 'fife' \(hierarchies: fives\)\. Did you mean 'fives'\?"):
        sqlanon.anonymize(scratch, "t", quasi="age", k=2, hierarchies={"age": "fife"})


def test_null_has_its_own_place_under_the_top(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "job", rows=WORK)
    scratch.execute("create table t as select unnest(['Federal', 'State', null, null]) as job")
    assert released(scratch, "quasi := ['job']") == [("Gov",), ("Gov",), (None,), (None,)]
