"""k, l and alpha over people: a person with several rows counts once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import numpy as np
import pytest
from databases import Databases
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.cli.main import main
from sqlanon.udfs.legality import margins
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Numbers, Problem

QUASI = ["age", "sex"]
EQUAL_ROWS = [method.name for method in METHODS.values() if method.is_homogeneous]


@pytest.fixture(autouse=True)
def visits_of_thirty(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "create table visits as select i // 3 as patient, 20 + (i // 3 * 7) % 50 as age, "
        "case when i // 3 % 2 = 0 then 'f' else 'm' end as sex, "
        "['flu', 'cold', 'leg', 'arm', 'eye'][1 + i % 5] as diagnosis from range(90) as t(i)"
    )


def literal_l(rows: list[tuple[int, object]]) -> float:
    """People of a class over those who have its most frequent value; rows are pairs of a person and a value."""
    having: dict[object, set[int]] = defaultdict(set)
    for person, value in rows:
        having[value].add(person)
    return len({person for person, _ in rows}) / max(len(people) for people in having.values())


def test_three_rows_of_one_patient_are_not_three_people(con: duckdb.DuckDBPyConnection) -> None:
    rows = sqlanon.anonymize(con, "visits", quasi=QUASI, k=3)
    assert rows.proof.property == "k-anonymity"
    assert rows.metrics()["gcp"] == 0
    people = sqlanon.anonymize(con, "visits", quasi=QUASI, k=3, entity="PATIENT")
    assert people.proof.property == "k-anonymity of entities, row by row"
    assert 3 <= people.proof.k <= 6
    assert people.df().columns.tolist() == QUASI
    assert people.verify().k >= 9  # rows: the patients are not printed


@pytest.mark.sweep
@pytest.mark.parametrize("method", EQUAL_ROWS)
def test_every_method_counts_people(con: duckdb.DuckDBPyConnection, method: str) -> None:
    release = sqlanon.anonymize(
        con, "visits", quasi=QUASI, k=5, entity="patient", unsafe_keep=["patient"], sensitive=["diagnosis"], l=1.2,
        method=method,
    )  # fmt: skip
    classes: dict[tuple[str, str], list[tuple[int, object]]] = defaultdict(list)
    for row in release.df().itertuples():
        classes[row.age, row.sex].append((row.patient, row.diagnosis))
    assert min(len({patient for patient, _ in rows}) for rows in classes.values()) == release.proof.k >= 5
    assert min(map(literal_l, classes.values())) == pytest.approx(release.proof.models["l"]["diagnosis"])
    assert release.proof.models["l"]["diagnosis"] >= 1.2
    assert release.verify() == release.proof


visits = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 9), st.sampled_from("fm"), st.sampled_from(["a", "b", None])),
    min_size=2,
    max_size=40,
)


@settings(max_examples=examples(25), deadline=None)
@given(visits, st.integers(2, 4), st.floats(1, 2), st.sampled_from(["auto", "mondrian", "bisecting", "datafly"]))
def test_any_table_keeps_k_and_l_over_people_or_says_why_not(databases: Databases,
    rows: list[tuple[int, int, str, str | None]], k: int, l: float, method: str  # noqa: E741
) -> None:  # fmt: skip
    with databases.lent() as con:
        con.execute("create table visits(patient int, age int, sex varchar, diagnosis varchar)")
        con.executemany("insert into visits values (?, ?, ?, ?)", rows)
        people = len({row[0] for row in rows})
        options = {"quasi": QUASI, "k": k, "l": l, "sensitive": ["diagnosis"], "entity": "patient", "method": method}
        best = literal_l([(row[0], row[3]) for row in rows])
        if people < k or best < l - 1e-9:
            with pytest.raises(sqlanon.SqlanonError):
                sqlanon.anonymize(con, "visits", **options)
            return
        release = sqlanon.anonymize(con, "visits", unsafe_keep=["patient"], **options)
        printed = release.relation().fetchall()
        place = {column: i for i, column in enumerate(release.relation().columns)}
        classes: dict[tuple[object, object], list[tuple[int, object]]] = defaultdict(list)
        for row in printed:
            classes[row[place["age"]], row[place["sex"]]].append((row[place["patient"]], row[place["diagnosis"]]))
        assert all(len({patient for patient, _ in members}) >= k for members in classes.values())
        assert all(literal_l(members) >= l - 1e-9 for members in classes.values())


def test_people_of_a_class_are_counted_like_the_definition() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        size = int(rng.integers(2, 30))
        codes = np.column_stack([rng.integers(0, 3, size), rng.integers(0, 6, size)])
        ones = np.ones(size, dtype=np.int64)
        problem = Problem(np.zeros((size, 1), dtype=np.int64), ones, (Numbers(np.zeros(1)),), np.ones(1), codes)
        group = np.unique(rng.integers(0, 3, size), return_inverse=True)[1]
        asked = promise(problem, {"l": 1.0}, people=1)
        found = margins(asked, np.arange(size), group, ones)
        for number in range(group.max() + 1):
            members = [(int(person), int(value)) for value, person in codes[group == number]]
            people = len({person for person, _ in members})
            assert found[number] == pytest.approx(min(people - 1, literal_l(members) - 1))


def test_one_query_and_a_view_count_people_too(con: duckdb.DuckDBPyConnection) -> None:
    shown = con.sql("from anon.anonymize('visits', quasi := ['age', 'sex'], k := 4, entity := 'patient')")
    assert shown.columns == QUASI
    with sqlanon.connect() as own:
        own.execute(
            "create table visits as select * from (values (1, 20), (1, 21), (2, 22), (3, 23), (3, 24)) v(who, age)"
        )
        own.execute(
            "create anonymized view public as select who, age from visits options (quasi = [age], k = 2, entity = who)"
        )
        assert own.execute("select * from public").fetchall()
        assert [column[0] for column in own.description] == ["age"]
        with pytest.raises(sqlanon.SqlanonError, match="k = 4 is impossible for who"):
            own.execute("create anonymized view more as from visits options (quasi = [age], k = 4, entity = who)")


def test_rows_may_have_a_value_more_often_than_people(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table often as select who, 30 as age, d from (values (1, 'flu'), (1, 'flu'), (1, 'flu'), "
                "(2, 'cold'), (3, 'leg'), (4, 'eye')) as t(who, d)")  # fmt: skip
    release = sqlanon.anonymize(con, "often", quasi=["age"], k=4, entity="who", sensitive=["d"], l=4)
    assert release.proof.models["l"] == {"d": 4}
    assert release.verify().models["l"] == {"d": 2}  # of rows, which is all that is released, and no broken promise


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entity": "patien"}, "Did you mean 'patient'"),
        ({"entity": "age"}, "cannot be in quasi"),
        ({"entity": 3}, "entity must be a column's name"),
        ({"entity": "patient", "k": 31}, "the whole table only reaches 30"),
        ({"entity": "patient", "method": "nonhomogeneous"}, "entity does not apply"),
        ({"entity": "maybe"}, "NULL in some rows"),
    ],
)
def test_what_cannot_be_counted_is_refused(
    con: duckdb.DuckDBPyConnection, options: dict[str, object], message: str
) -> None:
    con.execute("alter table visits add column maybe int")
    with pytest.raises(sqlanon.SqlanonError, match=message):
        sqlanon.anonymize(con, "visits", **({"quasi": QUASI, "k": 3} | options))


def test_checks_count_people(con: duckdb.DuckDBPyConnection) -> None:
    ((rows, people),) = con.execute(
        "select anon.k_anonymity('visits', ['sex']), anon.k_anonymity('visits', ['sex'], entity := 'patient')"
    ).fetchall()
    assert (rows, people) == (45, 15)
    broken = con.execute("from anon.violations('visits', ['age'], k := 2, entity := 'patient')").fetchall()
    assert broken
    assert all(size == 1 for *_, size in broken)
    found = sqlanon.check(con, "visits", ["sex"], 16, entity="patient", sensitive=["diagnosis"])
    assert (found.k, found.violations, found.holds) == (15, 2, False)
    assert found.reached["l"]["diagnosis"] == pytest.approx(5 / 3)


def test_the_command_line_counts_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,age\n1,20\n1,20\n2,30\n2,31\n3,40\n3,41\n")
    assert main(["check", str(path), "--quasi", "age", "--k", "2", "--entity", "who", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["k"] == 1
    out = tmp_path / "public.csv"
    assert main(["anonymize", str(path), "--quasi", "age", "--k", "3", "--entity", "who", "-o", str(out)]) == 0
    assert out.read_text().splitlines()[0] == "age"
    # One class, or two with a row of each person.
    assert min(Counter(out.read_text().splitlines()[1:]).values()) >= 3
