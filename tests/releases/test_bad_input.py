"""Bad input, whichever way it comes in: an error in words, nothing changed, nobody's value in the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from reading import everything

import sqlanon
from sqlanon.errors import CatalogError, DataError, HierarchyError, PolicyError, SqlanonError

Con = duckdb.DuckDBPyConnection
SECRET = "SECRET-VALUE"


@dataclass(frozen=True)
class Case:
    """What is asked, and the sentence and the error that must come back."""

    sentence: str
    error: type[SqlanonError] = PolicyError
    source: str = "people"
    options: dict[str, Any] = field(default_factory=dict)

    def asked(self) -> dict[str, Any]:
        return {"quasi": ["age"], "k": 2} | self.options


CASES = {
    "unknown table": Case(r"Table 'peple' does not exist. Did you mean 'people'\?", CatalogError, "peple"),
    "unknown column": Case(
        r"Column 'agee' is not in '?(people|the query)'? \(columns: .*\)\. Did you mean 'age'\?",
        CatalogError,
        options={"quasi": ["agee"]},
    ),
    "unknown sensitive column": Case("Column 'ill' is not in", CatalogError, options={"sensitive": ["ill"]}),
    "unknown kept column": Case("Column 'nope' is not in", CatalogError, options={"keep": ["nope"]}),
    "k of 1": Case("k is 1; it must be a whole number of 2 or more", options={"k": 1}),
    "k of 0": Case("k is 0; it must be a whole number of 2 or more", options={"k": 0}),
    "negative k": Case("k is -3; it must be a whole number of 2 or more", options={"k": -3}),
    "half a k": Case("k is 2.5; it must be a whole number", options={"k": 2.5}),
    "k in words": Case("k is 'two'; it must be a whole number", options={"k": "two"}),
    "k larger than the table": Case(
        "k is 7, but the source has only 6 rows: ask for a smaller k", DataError, options={"k": 7}
    ),
    "k beyond 64 bits": Case("whole number|only 6 rows", SqlanonError, options={"k": 10**15}),
    "empty table": Case("The source has no rows", DataError, "nobody"),
    "no quasi": Case("quasi is empty: name the columns", options={"quasi": []}),
    "a quasi that is no name": Case("quasi must be a list of column names", options={"quasi": [1]}),
    "the same column twice": Case("quasi names 'age' twice", options={"quasi": ["age", "age"]}),
    "the same column in two cases": Case(
        "quasi names both 'age' and 'AGE', one column to DuckDB", options={"quasi": ["age", "AGE"]}
    ),
    "quasi and sensitive": Case("'Age' is both quasi and sensitive", options={"sensitive": ["Age"]}),
    "quasi and keep": Case("'age' is both quasi and keep", options={"keep": ["age"]}),
    "sensitive and keep": Case(
        "'illness' is both sensitive and keep", options={"sensitive": ["illness"], "keep": ["illness"]}
    ),
    "a list as quasi-identifier": Case(
        r"Column 'lists' has type BIGINT\[\]; a quasi-identifier must be", options={"quasi": ["lists"]}
    ),
    "bytes as quasi-identifier": Case("Column 'bytes' has type BLOB", options={"quasi": ["bytes"]}),
    "a time as quasi-identifier": Case("Column 'hour' has type TIME", options={"quasi": ["hour"]}),
    "a struct as quasi-identifier": Case("Column 'pair' has type STRUCT", options={"quasi": ["pair"]}),
    "hierarchy gaps": Case(
        r"1 of the values of column 'name' are not in hierarchy 'names'.*anon\.hierarchy_gaps\(",
        SqlanonError,
        options={"quasi": ["name"], "hierarchies": {"name": "names"}},
    ),
    "unknown hierarchy": Case(
        r"Unknown hierarchy 'namez' \(hierarchies: .*\)\. Did you mean 'names'\?",
        options={"hierarchies": {"age": "namez"}},
    ),
    "a hierarchy that does not fit": Case("does not fit column 'age'", options={"hierarchies": {"age": "months"}}),
    "a hierarchy for another column": Case(
        "hierarchies names 'name', which is not in quasi", options={"hierarchies": {"name": "names"}}
    ),
    "unknown method": Case(
        r"Unknown method 'kaka' \(methods: .*\)\. Did you mean 'kaca'\?", options={"method": "kaka"}
    ),
    "another method's parameter": Case(
        "'beta' is an option of kaca, wfcmeans, not of kacpc", options={"method": "kacpc", "beta": 1}
    ),
    "a parameter out of range": Case(
        "threshold is 7; it must be a number from 0 to 1", options={"method": "kaca", "threshold": 7}
    ),
    "unknown ranges": Case("Unknown ranges option 'colums'.*Did you mean 'columns'", options={"ranges": "colums"}),
    "a negative seed": Case("seed is -1; it must be a whole number of 0 or more", options={"seed": -1}),
    "a weight of 0": Case("weights: 'age' must have a number above 0", options={"weights": {"age": 0}}),
    "a weight for another column": Case(
        "weights names 'name', which is not in quasi", options={"weights": {"name": 1}}
    ),
    "NULL alone": Case("Column 'nothing' has only NULLs", DataError, options={"quasi": ["nothing"]}),
    "not a number": Case("Column 'nan' has NaN or infinite values", DataError, options={"quasi": ["nan"]}),
    "infinity": Case("Column 'endless' has NaN or infinite values", DataError, options={"quasi": ["endless"]}),
    "a date without end": Case("Column 'forever' has NaN or infinite", DataError, options={"quasi": ["forever"]}),
    "a nearly unique kept column": Case("Column 'name' is in keep", PolicyError, options={"keep": ["name"]}),
    "a hostile name that is not there": Case(
        r"""Column 'a "b'c"; drop table people; --' is not in""",
        CatalogError,
        options={"quasi": ["""a "b'c"; drop table people; --"""]},
    ),
    "a name of spaces": Case("Column '  ' is not in", CatalogError, options={"quasi": ["  "]}),
    "a Unicode name that is not there": Case("Column 'größe' is not in", CatalogError, options={"quasi": ["größe"]}),
    "two printed columns of one name": Case(
        "would release two columns called 'age_min'", options={"ranges": "columns", "keep": ["age_min"]}
    ),
}


@pytest.fixture(scope="module")
def loaded(shared: duckdb.DuckDBPyConnection) -> sqlanon.Connection:
    connection = sqlanon.Connection(shared)
    connection.execute(
        "create table people as select (20 + i)::integer as age, i % 2 as age_min, "
        f"'{SECRET}' || case when i > 0 then i::varchar else '' end as name, '{SECRET}' as illness, "
        f"[i] as lists, '{SECRET}'::blob as bytes, time '10:00' as hour, {{'a': i}} as pair, "
        "null::integer as nothing, if(i = 0, 'nan'::double, i) as nan, if(i = 0, 'inf'::float, i) as endless, "
        "if(i = 0, 'infinity'::date, date '2020-01-01') as forever from range(6) as r(i)"
    )
    connection.execute("create table nobody as from people where false")
    leaves = [(f"{SECRET}{i}", "*") for i in range(1, 6)]
    sqlanon.create_hierarchy(connection, "names", rows=leaves)
    sqlanon.create_hierarchy(connection, "months", dates=True)
    return connection


@pytest.fixture
def hospital(loaded: sqlanon.Connection) -> Iterator[sqlanon.Connection]:
    yield loaded
    sqlanon.drop_release(loaded, "pub", missing_ok=True)  # where a test fails, the next one starts clean
    loaded.execute("drop table if exists pub")


def literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "MAP {" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return repr(value)


def call(case: Case) -> str:
    options = ", ".join(f"{option} := {literal(value)}" for option, value in case.asked().items())
    return f"anon.anonymize({literal(case.source)}, {options})"


def assert_reads_like_ours(message: str, sentence: str) -> None:
    assert re.search(sentence, message), message
    for trace in ("Traceback", ".py(", "Python exception", 'File "', SECRET):
        assert trace not in message


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_python_raises_our_error_and_changes_nothing(hospital: sqlanon.Connection, case: Case) -> None:
    before = everything(hospital)
    with pytest.raises(case.error) as caught:
        sqlanon.anonymize(hospital, case.source, name="pub", **case.asked())
    assert_reads_like_ours(str(caught.value), case.sentence)
    assert everything(hospital) == before


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sql_fails_with_our_sentence_and_changes_nothing(hospital: sqlanon.Connection, case: Case) -> None:
    before = everything(hospital)
    with pytest.raises(duckdb.Error) as caught:
        hospital.duckdb.execute(f"create table pub as select * from {call(case)}")
    assert_reads_like_ours(str(caught.value), case.sentence)
    assert everything(hospital) == before


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_statement_raises_our_error_and_changes_nothing(hospital: sqlanon.Connection, case: Case) -> None:
    before = everything(hospital)
    options = ", ".join(f"{option} = {literal(value)}" for option, value in case.asked().items())
    roles = [c for role in ("quasi", "sensitive", "keep") for c in case.asked().get(role, []) if isinstance(c, str)]
    known = [row[0] for row in hospital.execute("describe people").fetchall()]
    selected = ", ".join(column for column in known if column in {role.lower() for role in roles}) or "age"
    sentence = case.sentence
    if case.source == "peple":
        sentence = "The source query does not run: .*peple"
    elif not set(roles) & set(known) and case.error is not PolicyError:
        sentence = f"{sentence}|'age' selected without a role"
    with pytest.raises(SqlanonError) as caught:
        hospital.execute(f"create anonymized view pub as select {selected} from {case.source} options ({options})")
    assert_reads_like_ours(str(caught.value), sentence)
    assert everything(hospital) == before


@pytest.mark.parametrize("case", ["unknown table", "unknown column", "k of 1", "no quasi", "unknown method"])
def test_our_sentence_comes_through_whatever_is_done_with_the_release(hospital: sqlanon.Connection, case: str) -> None:
    asked = call(CASES[case])
    for query in (
        f"select age from {asked}",
        f"select count(*) from {asked} where age = '20'",
        f"from {asked} order by age",
        f"explain from {asked}",
    ):
        with pytest.raises(duckdb.Error) as caught:
            hospital.duckdb.execute(query).fetchall()
        assert_reads_like_ours(str(caught.value), CASES[case].sentence)


def test_an_unknown_option_is_refused_with_a_suggestion(hospital: sqlanon.Connection) -> None:
    with pytest.raises(PolicyError, match=r"Unknown option 'sensitiv' \(options: .*\)\. Did you mean 'sensitive'\?"):
        sqlanon.anonymize(hospital, "people", quasi=["age"], sensitiv=["illness"])
    with pytest.raises(PolicyError, match=r"Unknown option 'sensitiv' .*Did you mean 'sensitive'\?"):
        hospital.execute(
            "create anonymized table pub as select age from people options (quasi = [age], sensitiv = [age])"
        )
    with pytest.raises(duckdb.Error, match="sensitive := NULL"):
        hospital.duckdb.execute("from anon.anonymize('people', quasi := ['age'], sensitiv := ['illness'])")


@pytest.mark.parametrize("source", ["", "   ", "select", "select 1; drop table people", "drop table people", "from"])
def test_a_source_that_is_no_query_and_no_table_is_refused(hospital: sqlanon.Connection, source: str) -> None:
    before = everything(hospital)
    with pytest.raises(CatalogError):
        sqlanon.anonymize(hospital, source, quasi=["age"], k=2)
    with pytest.raises(duckdb.Error) as caught:
        hospital.duckdb.execute("from anon.anonymize($1, quasi := ['age'], k := 2)", [source]).fetchall()
    assert_reads_like_ours(str(caught.value), "source|does not exist")
    assert everything(hospital) == before


@pytest.mark.parametrize("source", [f"select nope from people where name = '{SECRET}'", "select * from people where"])
def test_a_query_that_does_not_run_says_so_without_a_traceback(hospital: sqlanon.Connection, source: str) -> None:
    with pytest.raises(CatalogError, match="The source query does not run") as caught:
        sqlanon.anonymize(hospital, source, quasi=["age"], k=2)
    assert_reads_like_ours(str(caught.value), "does not run")


def test_a_query_that_fails_on_a_persons_value_does_not_show_it(hospital: sqlanon.Connection) -> None:
    before = everything(hospital)
    with pytest.raises(SqlanonError) as caught:
        sqlanon.anonymize(hospital, "select name::integer as age from people", quasi=["age"], k=2)
    assert SECRET not in str(caught.value)
    assert everything(hospital) == before


def test_a_policy_without_quasi_says_what_is_missing(hospital: sqlanon.Connection) -> None:
    with pytest.raises(PolicyError, match="quasi is missing"):
        sqlanon.anonymize(hospital, "people", k=2)
    with pytest.raises(duckdb.Error, match="quasi is missing"):
        hospital.duckdb.execute("from anon.anonymize('people', k := 2)")


def test_what_is_not_a_connection_is_refused() -> None:
    with pytest.raises(CatalogError, match="Expected a duckdb connection, got str"):
        sqlanon.anonymize("people.duckdb", "people", quasi=["age"], k=2)


def test_a_connection_without_sqlanon_says_how_to_load_it() -> None:
    with duckdb.connect() as plain:
        plain.execute("create table people as select 1 as age from range(4)")
        with pytest.raises(CatalogError, match=r"sqlanon\.load\(con\)"):
            sqlanon.anonymize(plain, "people", quasi=["age"], k=2)


def test_a_hierarchy_that_is_no_tree_changes_nothing(hospital: sqlanon.Connection) -> None:
    before = everything(hospital)
    with pytest.raises(HierarchyError, match="two parents"):
        sqlanon.create_hierarchy(hospital, "broken", rows=[("a", "b", "*"), ("a", "c", "*")])
    with pytest.raises(HierarchyError, match="2 tops"):
        sqlanon.create_hierarchy(hospital, "names", rows=[("a", "b"), ("c", "d")], replace=True)
    assert everything(hospital) == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database file with a table of people and sqlanon loaded."""
    path = tmp_path / "people.duckdb"
    with sqlanon.connect(path) as con:
        con.execute("create table people as select i as age from range(6) as r(i)")
    return path


def test_a_read_only_database_is_refused_where_something_would_be_stored(file: Path) -> None:
    with sqlanon.connect(file, read_only=True) as con:
        for kind in ("table", "view"):
            with pytest.raises(SqlanonError, match="read-only"):
                sqlanon.anonymize(con, "people", quasi=["age"], k=2, name="pub", kind=kind)
        with pytest.raises(SqlanonError, match="read-only"):
            con.execute("create anonymized view pub as select age from people options (quasi = [age], k = 2)")
        with pytest.raises(SqlanonError, match="read-only"):
            sqlanon.create_hierarchy(con, "age", intervals=[5])
        assert con.execute("select count(*) from anon.releases").fetchall() == [(0,)]


def test_a_read_only_database_can_be_anonymized_into_the_session(file: Path) -> None:
    with sqlanon.connect(file, read_only=True) as con:
        assert con.execute("select count(*) from anon.anonymize('people', quasi := ['age'], k := 3)").fetchall() == [
            (6,)
        ]
        assert sqlanon.anonymize(con, "people", quasi=["age"], k=3).proof.k >= 3


def test_a_read_only_database_without_sqlanon_says_what_to_do(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "plain.duckdb")).close()
    with pytest.raises(CatalogError, match="is read-only and has no sqlanon"):
        sqlanon.connect(tmp_path / "plain.duckdb", read_only=True)


def test_a_table_dropped_after_preparing_is_an_error_in_words() -> None:
    with sqlanon.connect() as con:
        con.execute("create table people as select i as age from range(6) as r(i)")
        con.execute("prepare p as from anon.anonymize('people', quasi := ['age'], k := 2)")
        con.execute("drop table people")
        with pytest.raises(duckdb.Error) as caught:
            con.execute("execute p").fetchall()
        assert_reads_like_ours(str(caught.value), "people.* does not exist")


def test_a_table_dropped_in_the_same_transaction_is_an_error_in_words() -> None:
    with sqlanon.connect() as con:
        con.execute("create table people as select i as age from range(6) as r(i)")
        con.execute("begin; drop table people")
        with pytest.raises(duckdb.Error) as caught:
            con.execute("from anon.anonymize('people', quasi := ['age'], k := 2)")
        assert_reads_like_ours(str(caught.value), "people.* does not exist")
        con.execute("rollback; begin; drop table people")
        with pytest.raises(CatalogError, match="'people' does not exist"):
            sqlanon.anonymize(con, "people", quasi=["age"], k=2)
        con.execute("rollback")
        assert sqlanon.anonymize(con, "people", quasi=["age"], k=2).proof.rows == 6


def test_a_column_dropped_after_preparing_is_an_error_in_words() -> None:
    with sqlanon.connect() as con:
        con.execute("create table people as select i as age, i as size from range(6) as r(i)")
        con.execute("prepare p as from anon.anonymize('people', quasi := ['age'], k := 2)")
        con.execute("alter table people drop column age")
        with pytest.raises(duckdb.Error) as caught:
            con.execute("execute p").fetchall()
        assert_reads_like_ours(str(caught.value), "age")
