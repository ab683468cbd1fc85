"""sqlanon.connect(): DuckDB's connection with sqlanon's statements in it, and nothing of DuckDB's lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.errors import CatalogError, PolicyError, SqlanonError, StatementError

PEOPLE = "create table people as select unnest([21, 24, 61, 64]) as age, unnest(['a', 'b', 'b', 'b']) as ward"
VIEW = "create anonymized view pub as select age, ward from people options (quasi = [age], sensitive = [ward], k = 2)"
AGES = [("[21-24]",), ("[21-24]",), ("[61-64]",), ("[61-64]",)]


@pytest.fixture
def people(connection: sqlanon.Connection) -> sqlanon.Connection:
    connection.execute(PEOPLE)
    return connection


def ages(con: sqlanon.Connection, release: str = "pub") -> list[Any]:
    return sorted(con.execute(f"select age from {release}").fetchall())


def tables(con: sqlanon.Connection) -> list[Any]:
    rows: list[Any] = con.execute(
        "select database_name, schema_name, table_name from duckdb_tables() "
        "union all select database_name, schema_name, view_name from duckdb_views() where not internal order by all"
    ).fetchall()
    return rows


def test_a_release_answers_with_its_proof(people: sqlanon.Connection) -> None:
    people.execute(VIEW)
    names = [column[0] for column in people.description]
    (row,) = people.fetchall()
    answer = dict(zip(names, row, strict=True))
    assert list(answer) == ["release", "rows", "classes", "k", "l", "gcp"]
    assert (answer["release"], answer["rows"], answer["classes"], answer["k"]) == ("pub", 4, 2, 2)
    assert answer["l"] == {"ward": 1.0}
    assert 0 < answer["gcp"] < 1
    assert ages(people) == AGES


def test_a_table_is_a_table_and_a_view_a_view(people: sqlanon.Connection) -> None:
    people.execute(VIEW)
    people.execute(VIEW.replace("view pub", "table kept"))
    kinds = "select table_name, table_type from information_schema.tables where table_name in ('pub', 'kept')"
    assert dict(people.execute(kinds).fetchall()) == {"pub": "VIEW", "kept": "BASE TABLE"}
    assert ages(people, "kept") == AGES


def test_or_replace_replaces_a_release(people: sqlanon.Connection) -> None:
    people.execute(VIEW)
    with pytest.raises(CatalogError, match="'pub' already exists"):
        people.execute(VIEW)
    people.execute(VIEW.replace("create", "create or replace").replace("k = 2", "k = 4"))
    assert ages(people) == [("[21-64]",)] * 4


def test_dropping_a_release_takes_all_of_it(people: sqlanon.Connection) -> None:
    before = tables(people)
    people.execute(VIEW)
    assert people.execute("drop anonymized view PUB").fetchall() == [("PUB",)]
    assert tables(people) == before
    with pytest.raises(CatalogError, match="Unknown release 'pub'"):
        people.execute("drop anonymized view pub")
    people.execute("drop anonymized view if exists pub")


def test_dropping_a_view_as_a_table_is_refused(people: sqlanon.Connection) -> None:
    people.execute(VIEW)
    with pytest.raises(CatalogError, match="'pub' is a view: DROP ANONYMIZED VIEW pub"):
        people.execute("drop anonymized table pub")
    assert ages(people) == AGES


@pytest.mark.parametrize("name", ['a "b" c; drop', "größe 🦆", "it's", "a.b", "select"])
def test_a_release_may_have_any_name(people: sqlanon.Connection, name: str) -> None:
    before = tables(people)
    quoted = '"' + name.replace('"', '""') + '"'
    assert people.execute(VIEW.replace("pub", quoted)).fetchall()[0][1:4] == (4, 2, 2)
    assert ages(people, quoted) == AGES
    assert people.execute("select table_name from anon.releases").fetchall() == [(name,)]
    people.execute(f"drop anonymized view {quoted}")
    assert tables(people) == before


def test_a_release_can_be_made_in_another_schema(people: sqlanon.Connection) -> None:
    people.execute("create schema open")
    people.execute(VIEW.replace("pub", "open.pub"))
    assert ages(people, "open.pub") == AGES
    people.execute("drop anonymized view open.pub")


def test_a_selected_column_without_a_role_is_refused_by_name(people: sqlanon.Connection) -> None:
    before = tables(people)
    with pytest.raises(PolicyError, match="'ward' selected without a role"):
        people.execute("create anonymized view pub as from people options (quasi = [AGE], k = 2)")
    assert tables(people) == before


@pytest.mark.parametrize(
    "select",
    [
        "(select age from people)",
        "from people select age",
        "with p as (from people) select age from p",
        "select age from people -- all\n",
        "table people",
    ],
)
def test_the_select_may_be_written_in_any_of_duckdbs_ways(people: sqlanon.Connection, select: str) -> None:
    people.execute("alter table people drop ward")
    people.execute(f"create anonymized view pub as {select} options (quasi = [age], k = 2)")
    assert ages(people) == AGES


def test_execute_runs_what_is_ours_and_fetches_its_answer(people: sqlanon.Connection) -> None:
    assert people.execute("create hierarchy zip using prefix").fetchall() == [("zip", "prefix", None, None)]
    assert people.execute("create or replace hierarchy zip using prefix").fetchone() == ("zip", "prefix", None, None)


def test_sql_returns_a_relation_for_ours_and_for_theirs(people: sqlanon.Connection) -> None:
    made = people.sql("create hierarchy zip using prefix")
    assert made is not None
    assert made.columns == ["hierarchy", "kind", "height", "leaves"]
    assert made.fetchall() == [("zip", "prefix", None, None)]
    plain = people.sql("select age from people", alias="p")
    assert plain is not None
    assert plain.filter("p.age < 22").fetchall() == [(21,)]


def test_query_is_sql(people: sqlanon.Connection) -> None:
    relation = people.query(VIEW)
    assert relation is not None
    assert relation.fetchall()[0][0] == "pub"


def test_a_relation_of_a_release_can_be_queried_further(people: sqlanon.Connection) -> None:
    relation = people.sql("create table seen (a int); " + VIEW)
    assert relation is not None
    assert relation.project("rows + 1 as more").fetchall() == [(5,)]


def test_parameters_are_bound_in_plain_sql(people: sqlanon.Connection) -> None:
    assert people.execute("select age from people where age > ? order by age", [60]).fetchall() == [(61,), (64,)]
    assert people.execute("select $a + 1 as hierarchy", {"a": 1}).fetchall() == [(2,)]
    relation = people.sql("select ? as anonymized", params=[7])
    assert relation is not None
    assert relation.fetchall() == [(7,)]


@pytest.mark.parametrize("parameters", [[2], {"k": 2}])
def test_parameters_are_refused_in_ours(people: sqlanon.Connection, parameters: Any) -> None:
    before = tables(people)
    with pytest.raises(SqlanonError, match="take no parameters"):
        people.execute(VIEW, parameters)
    with pytest.raises(SqlanonError, match="take no parameters"):
        people.sql(VIEW, params=parameters)
    assert tables(people) == before


def test_a_script_runs_in_order_and_answers_for_its_last(people: sqlanon.Connection) -> None:
    script = f"""
        -- hierarchy first; then the release
        create hierarchy age using intervals (10);
        insert into people values (22, 'it''s; a'), (29, $$ drop hierarchy age; $$);
        {VIEW};
        select distinct age from pub order by age;
    """
    assert people.execute(script).fetchall() == [("[20-29]",), ("[60-69]",)]
    assert people.execute("select count(*) from people where ward like '%;%'").fetchall() == [(2,)]


def test_a_script_stops_at_its_first_error(people: sqlanon.Connection) -> None:
    with pytest.raises(duckdb.CatalogException):
        people.execute("create hierarchy a using prefix; select * from nowhere; create hierarchy b using prefix")
    assert people.execute("select name from anon.hierarchies").fetchall() == [("a",)]


def test_a_script_with_a_statement_that_does_not_parse_runs_nothing(people: sqlanon.Connection) -> None:
    with pytest.raises(StatementError, match="line 2, column 20"):
        people.execute("create hierarchy a using prefix;\ncreate hierarchy b form 'x.csv'")
    assert people.execute("select name from anon.hierarchies").fetchall() == []


def test_statements_join_the_callers_transaction(people: sqlanon.Connection) -> None:
    before = tables(people)
    people.execute("begin; insert into people values (22, 'c'); create hierarchy age using intervals (10)")
    people.execute(VIEW)
    assert ages(people) == [("[20-29]",)] * 3 + [("[60-69]",)] * 2
    people.execute("rollback")
    assert tables(people) == before
    assert people.execute("select count(*) from anon.hierarchies").fetchall() == [(0,)]


def test_a_failed_replace_in_the_callers_transaction_keeps_the_release(people: sqlanon.Connection) -> None:
    people.execute(VIEW)
    people.execute("begin")
    with pytest.raises(SqlanonError, match="'nope'"):
        sqlanon.anonymize(people, "people", quasi=["age", "nope"], k=2, name="pub", kind="view", replace=True)
    people.execute("commit")
    assert ages(people) == AGES


def test_a_failed_release_leaves_no_temporary_tables_in_the_callers_transaction(people: sqlanon.Connection) -> None:
    before = tables(people)
    people.execute("begin")
    with pytest.raises(SqlanonError, match="'nope'"):
        sqlanon.anonymize(people, "select age from people", quasi="nope", k=2)
    people.execute("commit")
    assert tables(people) == before


def test_a_refused_statement_leaves_the_connection_usable(people: sqlanon.Connection) -> None:
    with pytest.raises(SqlanonError):
        people.execute(VIEW.replace("k = 2", "k = 5"))
    assert people.execute("select 1").fetchall() == [(1,)]
    people.execute(VIEW)
    assert ages(people) == AGES


def test_a_cursor_understands_the_statements(people: sqlanon.Connection) -> None:
    with people.cursor() as cursor:
        cursor.execute(VIEW)
        assert sorted(cursor.execute("from anon.anonymize('people', quasi := ['age'], k := 2)").fetchall()) == AGES
    assert ages(people) == AGES


def test_a_cursor_serves_when_nobody_holds_the_connection_it_came_from() -> None:
    with sqlanon.connect().cursor() as cursor:
        cursor.execute(PEOPLE)
        assert sorted(cursor.execute("from anon.anonymize('people', quasi := ['age'], k := 2)").fetchall()) == AGES


def test_leaving_the_context_closes_the_connection_also_after_an_error() -> None:
    with sqlanon.connect() as con:
        con.execute("select 1")
    with pytest.raises(duckdb.ConnectionException):
        con.execute("select 1")
    with pytest.raises(ZeroDivisionError), sqlanon.connect() as con:
        raise ZeroDivisionError
    with pytest.raises(duckdb.ConnectionException):
        con.execute("select 1")


def test_duckdbs_own_attributes_are_there(people: sqlanon.Connection) -> None:
    assert people.table("people").aggregate("count(*)").fetchall() == [(4,)]
    people.executemany("insert into people values (?, ?)", [(30, "a"), (31, "a")])
    people.execute("select age from people order by age")
    assert people.description[0][0] == "age"
    assert people.fetchone() == (21,)
    assert people.fetchmany(2) == [(24,), (30,)]
    assert people.execute("select 1 as a").df().to_dict("list") == {"a": [1]}
    assert isinstance(people.duckdb, duckdb.DuckDBPyConnection)


def test_what_returns_the_connection_returns_ours(people: sqlanon.Connection) -> None:
    assert people.execute("select 1") is people
    people.begin().execute("create hierarchy a using prefix").commit().execute("create hierarchy b using prefix")
    people.executemany("insert into people values (?, ?)", [(1, "a")]).execute("create hierarchy c using prefix")
    assert people.execute("select name from anon.hierarchies order by name").fetchall() == [("a",), ("b",), ("c",)]


def test_an_unknown_attribute_is_an_attribute_error(people: sqlanon.Connection) -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        people.no_such_thing  # noqa: B018


def test_prepared_statements_pass_through(people: sqlanon.Connection) -> None:
    (statement,) = people.extract_statements("select ? + 1")
    assert people.execute(statement, [1]).fetchall() == [(2,)]


def test_python_functions_take_the_connection_or_duckdbs(people: sqlanon.Connection) -> None:
    for given in (people, people.duckdb):
        assert sorted(sqlanon.anonymize(given, "people", quasi="age", k=2).relation().fetchall()) == AGES


def test_connect_opens_files_with_their_configuration(tmp_path: Path) -> None:
    with sqlanon.connect(tmp_path / "people.duckdb", threads=1) as con:
        con.execute(PEOPLE)
        assert con.execute("select current_setting('threads')").fetchall() == [(1,)]
    with sqlanon.connect(str(tmp_path / "people.duckdb")) as con:
        con.execute(VIEW)
        assert ages(con) == AGES


def test_connect_refuses_to_load_into_a_read_only_file_and_lets_go_of_it(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    duckdb.connect(str(file)).close()
    with pytest.raises(CatalogError, match="'people' is read-only"):
        sqlanon.connect(file, read_only=True)
    with sqlanon.connect(file) as con:
        con.execute(PEOPLE)
        con.execute(VIEW)


def test_a_read_only_connection_reads_releases_and_refuses_to_make_one(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with sqlanon.connect(file) as con:
        con.execute(PEOPLE)
        con.execute(VIEW)
    with sqlanon.connect(file, read_only=True) as con:
        assert ages(con) == AGES
        with pytest.raises(SqlanonError, match="read-only"):
            con.execute(VIEW.replace("pub", "second"))
        with pytest.raises(SqlanonError, match="read-only"):
            con.execute("create hierarchy h using prefix")
        assert ages(con) == AGES


def test_connect_refuses_an_unknown_setting() -> None:
    with pytest.raises(SqlanonError, match="no_such_setting"):
        sqlanon.connect(no_such_setting=1)
