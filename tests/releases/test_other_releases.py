"""Releases without classes of k equal rows, end to end: a box for each row, and sensitive values apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from databases import Databases
from reading import rows

import sqlanon
from sqlanon.cli.main import main
from sqlanon.comparison.prediction import predict
from sqlanon.engine import functions
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, PolicyError
from sqlanon.pipeline.proof import Proof
from sqlanon.udfs.problem import Groups, Problem

Con = duckdb.DuckDBPyConnection
QUASI = ["age", "sex", "zip"]
BOXES: dict[str, Any] = {"quasi": QUASI, "k": 4, "method": "nonhomogeneous", "partition": "mondrian"}
APART: dict[str, Any] = {"quasi": QUASI, "k": 4, "l": 3, "method": "anatomy", "sensitive": ["diagnosis"]}
IN_BOXES = "quasi := ['age', 'sex', 'zip'], k := 4, method := 'nonhomogeneous', partition := 'mondrian'"
IN_GROUPS = "quasi := ['age', 'sex', 'zip'], k := 4, l := 3, method := 'anatomy', sensitive := ['diagnosis']"
PATIENTS = (
    "create table patients as select 20 + i * 7 % 31 as age, if(i % 3 = 0, 'f', 'm') as sex, "
    "'10' || i * 13 % 17 as zip, "
    "['flu', 'cold', 'asthma', 'none', 'flu', 'ulcer'][1 + i * 5 % 6] as diagnosis, i % 2 = 0 as insured "
    "from range(60) as r(i)"
)


in_memory_and_in_a_file = pytest.mark.parametrize("hospital", [":memory:", "hospital.duckdb"], indirect=True)


@pytest.fixture
def hospital(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Con]:
    """A database with patients, in memory or, where a test says so, in a file."""
    if not hasattr(request, "param") or request.param == ":memory:":
        con: Con = request.getfixturevalue("con")
        con.execute(PATIENTS)
        yield con
    else:
        with duckdb.connect(tmp_path / request.param) as con:
            sqlanon.load(con)
            con.execute(PATIENTS)
            yield con


def tables(con: Con) -> set[str]:
    found = rows(
        con,
        "select table_name from duckdb_tables() union all select view_name from duckdb_views() where not internal",
    )
    return {name for (name,) in found}


@in_memory_and_in_a_file
def test_every_row_has_a_box_of_its_own_and_k_is_proved_by_matching(hospital: Con) -> None:
    release = sqlanon.anonymize(hospital, "patients", **BOXES, sensitive=["diagnosis"], name="boxes")
    assert release.proof.property == "non-homogeneous k-anonymity"
    assert release.proof.k >= 4
    assert release.proof.rows == 60
    assert "l" not in release.proof.models
    assert rows(hospital, "select anon.k_anonymity('boxes', ['age', 'sex', 'zip']) < 4") == [(True,)]
    assert release.verify() == release.proof == sqlanon.open_release(hospital, "boxes").verify()
    ((proof,),) = rows(hospital, "select proof from anon.releases")
    assert Proof.of_json(proof) == release.proof


def test_boxes_lose_less_than_their_partition(hospital: Con) -> None:
    parts = sqlanon.anonymize(hospital, "patients", QUASI, 4, method="mondrian")
    assert sqlanon.anonymize(hospital, "patients", **BOXES).metrics()["gcp"] < parts.metrics()["gcp"]


def test_rows_keep_their_other_columns_and_are_in_their_boxes(hospital: Con) -> None:
    hospital.execute("create or replace table patients as select *, age as known from patients")
    found = rows(
        hospital, f"from anon.anonymize('patients', {IN_BOXES}, ranges := 'columns', unsafe_keep := ['known'])"
    )
    assert Counter(row[-1] for row in found) == Counter(age for (age,) in rows(hospital, "select age from patients"))
    assert all(low <= known <= high for low, high, *_, known in found)


def test_the_seed_does_not_tell_which_row_has_which_box(hospital: Con) -> None:
    query = f"from anon.anonymize('patients', {IN_BOXES}, unsafe_keep := ['insured', 'diagnosis'], seed := 1)"
    assert len({frozenset(Counter(rows(hospital, query)).items()) for _ in range(5)}) > 1


@pytest.mark.parametrize("ranges", ["text", "columns", "snapped"])
def test_boxes_are_read_as_they_are_printed(hospital: Con, ranges: str) -> None:
    hospital.execute("insert into patients values (null, 'f', '101', 'flu', true), (30, null, '102', 'cold', false)")
    sqlanon.create_hierarchy(hospital, "zip", prefix=True)
    release = sqlanon.anonymize(hospital, "patients", **BOXES, ranges=ranges)
    assert release.verify().rows == 62


def test_a_changed_row_a_missing_row_and_a_changed_source_no_longer_verify(hospital: Con) -> None:
    release = sqlanon.anonymize(hospital, "patients", **BOXES, name="boxes")
    hospital.execute("begin")
    hospital.execute("update boxes set age = '20' where rowid = (select max(rowid) from boxes where age <> '20')")
    with pytest.raises(BrokenPromiseError, match="A released row matches only"):
        release.verify()
    hospital.execute("rollback")
    assert release.verify() == release.proof
    hospital.execute("begin")
    hospital.execute("update boxes set zip = 'unheard of' where rowid = (select max(rowid) from boxes)")
    with pytest.raises(DataError, match="Column 'zip' has labels that are not a value"):
        release.verify()
    hospital.execute("rollback")
    hospital.execute("delete from boxes where rowid = (select max(rowid) from boxes)")
    with pytest.raises(BrokenPromiseError, match="only 0 records"):
        release.verify()
    hospital.execute("drop table patients")
    with pytest.raises(CatalogError, match="'patients' does not exist"):
        release.verify()


def test_rows_that_match_fewer_than_k_records_are_not_released(hospital: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "least_matches", lambda *lists: 3)
    with pytest.raises(duckdb.Error, match=r"only 3 records.*k is 4: nothing is released"):
        rows(hospital, f"from anon.anonymize('patients', {IN_BOXES})")
    with pytest.raises(BrokenPromiseError, match="only 3 records"):
        sqlanon.anonymize(hospital, "patients", **BOXES, name="boxes")
    assert "boxes" not in tables(hospital)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l": 2, "sensitive": ["diagnosis"]}, "promises nothing about sensitive values"),
        ({"refine": True}, "refine does not apply to nonhomogeneous"),
        ({"represent": "center"}, "represent does not apply to nonhomogeneous"),
    ],
)
def test_what_boxes_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.Policy.of(BOXES | options)


@in_memory_and_in_a_file
def test_values_are_exact_and_sensitive_ones_stand_apart(hospital: Con) -> None:
    release = sqlanon.anonymize(hospital, "patients", **APART, keep=["insured"], name="p")
    assert release.proof.property == "l-diversity of groups (anatomy)"
    assert release.proof.models["l"]["diagnosis"] >= 3
    assert Counter(rows(hospital, "select age, sex, zip, insured from p")) == Counter(
        rows(hospital, "select age, sex, zip, insured from patients")
    )
    assert rows(hospital, "select diagnosis, sum(rows) from p_sensitive group by all order by all") == rows(
        hospital, "select diagnosis, count(*) from patients group by all order by all"
    )
    assert rows(hospital, "select anon.k_anonymity('p', ['group_id']) >= 4") == [(True,)]
    # Every patient's own diagnosis is among those of a group with such quasi-identifiers.
    assert rows(
        hospital,
        "select count(*) from patients where not exists (from p join p_sensitive using (group_id) where "
        "(p.age, p.sex, p.zip, diagnosis) = (patients.age, patients.sex, patients.zip, patients.diagnosis))",
    ) == [(0,)]
    assert release.metrics()["gcp"] == 0
    assert "lower_bound" not in release.metrics()


def test_as_one_relation_the_sensitive_values_of_a_group_are_a_map(hospital: Con) -> None:
    hospital.execute(f"create table whole as from anon.anonymize('patients', {IN_GROUPS})")
    assert rows(hospital, "select column_name, column_type from (describe whole)") == [
        ("age", "BIGINT"),
        ("sex", "VARCHAR"),
        ("zip", "VARCHAR"),
        ("diagnosis", "MAP(VARCHAR, BIGINT)"),
        ("group_id", "BIGINT"),
    ]
    for group, size, lists, counts in rows(
        hospital,
        "select group_id, count(*), count(distinct diagnosis), any_value(diagnosis) from whole group by group_id",
    ):
        assert group >= 0
        assert lists == 1
        assert sum(counts.values()) == size >= 4
        assert max(counts.values()) * 3 <= size
    unnamed = sqlanon.anonymize(hospital, "patients", **APART)
    assert unnamed.sensitive_table is None
    assert unnamed.relation().columns == ["age", "sex", "zip", "diagnosis", "group_id"]
    assert unnamed.verify() == unnamed.proof
    with pytest.raises(PolicyError, match="anatomy releases no row with its sensitive value"):
        predict(unnamed, "diagnosis")


@in_memory_and_in_a_file
@pytest.mark.parametrize("kind", ["table", "view"])
def test_both_tables_are_replaced_opened_and_dropped_together(hospital: Con, kind: str) -> None:
    before = tables(hospital)
    sqlanon.anonymize(hospital, "patients", **APART, name="p", kind=kind)
    made = sqlanon.anonymize(hospital, "patients", **APART | {"k": 6}, name="p", kind=kind, replace=True)
    assert tables(hospital) >= before | {"p", "p_sensitive"}
    assert sqlanon.open_release(hospital, "p").verify() == made.proof
    sqlanon.drop_release(hospital, "p")
    assert tables(hospital) == before


def test_a_table_of_somebody_else_is_neither_overwritten_nor_dropped(hospital: Con) -> None:
    hospital.execute("create table p_sensitive as select 42 as answer")
    with pytest.raises(CatalogError, match="'p_sensitive' already exists"):
        sqlanon.anonymize(hospital, "patients", **APART, name="p")
    assert "p" not in tables(hospital)
    hospital.execute("drop table p_sensitive")
    sqlanon.anonymize(hospital, "patients", **APART, name="p")
    hospital.execute("create or replace table p_sensitive as select 42 as answer")
    sqlanon.drop_release(hospital, "p")
    assert rows(hospital, "from p_sensitive") == [(42,)]
    assert "p" not in tables(hospital)


@pytest.mark.parametrize(
    "change",
    [
        "update p_sensitive set rows = rows + 1 where rowid = 0",
        "update p_sensitive set diagnosis = 'flu'",
        "delete from p_sensitive where rowid = 0",
        "insert into p_sensitive values (1000, 'flu', 1), (1000, 'cold', 1), (1000, 'none', 1)",
        "update p_sensitive set diagnosis = null where rowid = 0",
        "delete from p where rowid = 0",
        "update p set group_id = 1 where group_id = 0",
        "update p set group_id = null where rowid = 0",
    ],
)
def test_changed_groups_no_longer_verify(databases: Databases, change: str) -> None:
    with databases.lent() as con:
        con.execute(PATIENTS)
        release = sqlanon.anonymize(con, "patients", **APART, name="p")
        con.execute(change)
        with pytest.raises(BrokenPromiseError, match=r"A released (class reaches l = |group has only)"):
            release.verify()


def test_groups_that_are_not_diverse_are_not_released(hospital: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.engine.functions.solve", lambda request, problem, *more, **named: _all_alike(problem))
    with pytest.raises(duckdb.Error, match=r"reaches l = 1.* in diagnosis, l is 3: nothing"):
        rows(hospital, f"from anon.anonymize('patients', {IN_GROUPS.replace('k := 4', 'k := 2')})")


def _all_alike(problem: Problem) -> Groups:
    """A group for each sensitive value."""
    assert problem.sensitive is not None
    return Groups.collect(np.arange(len(problem.counts)), problem.sensitive[:, 0], problem.counts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensitive": []}, "l needs a sensitive column"),
        (
            {"l": None, "sensitive": []},
            r"exactly one sensitive column, such as sensitive=\['diagnosis'\]; 0 are " r"named",
        ),
        ({"sensitive": ["diagnosis", "insured"]}, "exactly one sensitive column.* 2 are named"),
        ({"l": None}, "anatomy needs a whole number l of 2 or more.*l=2"),
        ({"l": 2.5}, "anatomy needs a whole number l"),
        ({"l": 1}, "anatomy needs a whole number l"),
        ({"refine": True}, "refine does not apply to anatomy"),
        ({"represent": "center"}, "represent does not apply to anatomy"),
        ({"ranges": "columns"}, "ranges does not apply to anatomy"),
    ],
)
def test_what_anatomy_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.Policy.of(APART | options)


def test_names_that_anatomy_needs_and_null_are_refused(hospital: Con) -> None:
    source = "select age as group_id, * exclude (age) from patients"
    with pytest.raises(PolicyError, match="anatomy would release two columns called 'group_id'; rename one"):
        sqlanon.anonymize(hospital, source, **APART | {"quasi": ["group_id", "sex"]})
    with pytest.raises(PolicyError, match="anatomy stores stores counts in a column called 'rows': rename 'Rows'"):
        sqlanon.anonymize(hospital, 'select *, diagnosis as "Rows" from patients', **APART | {"sensitive": ["Rows"]})
    hospital.execute("insert into patients values (30, 'f', '101', null, true)")
    with pytest.raises(DataError, match=r"'diagnosis' holds NULL.*coalesce\(diagnosis, 'unknown'\)"):
        sqlanon.anonymize(hospital, "patients", **APART)
    with pytest.raises(DataError, match="only reaches"):
        sqlanon.anonymize(hospital, "select * from patients where diagnosis is not null", **APART | {"l": 30})


def test_columns_may_be_called_like_the_steps_of_the_query(hospital: Con) -> None:
    quasi = ["source", "printed", "boxes", "listed", "turn"]
    cells = ", ".join(f"(i * {place + 3} % 5) as {step}" for place, step in enumerate(quasi))
    hospital.execute(f"create table people as select {cells}, i % 4 as counts, i % 3 as value from range(30) as r(i)")
    options = {"quasi": quasi, "k": 3, "sensitive": ["counts"], "keep": ["value"]}
    for own in ({"method": "nonhomogeneous", "partition": "mondrian"}, {"method": "anatomy", "l": 2}):
        release = sqlanon.anonymize(hospital, "people", **options, **own, name="pub", replace=True)
        assert release.verify().rows == 30


def test_statements_make_and_drop_both() -> None:
    with sqlanon.connect() as con:
        con.execute(PATIENTS)
        select = "select age, sex, zip, diagnosis from patients"
        options = "quasi = [age, sex, zip], k = 4, sensitive = [diagnosis]"
        con.execute(
            f"create anonymized table boxes as {select} options ({options}, method = 'nonhomogeneous', "
            f"partition = 'mondrian')"
        )
        con.execute(f"create anonymized view p as {select} options ({options}, method = 'anatomy', l = 3)")
        assert con.execute("select count(*) from p join p_sensitive using (group_id)").fetchone()[0] >= 180
        con.execute("drop anonymized view p")
        con.execute("drop anonymized table boxes")
        assert con.execute("select count(*) from anon.releases").fetchall() == [(0,)]
        assert tables(con.duckdb) & {"boxes", "p", "p_sensitive"} == set()


def test_the_command_line_says_what_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hospital.duckdb"
    with duckdb.connect(file) as con:
        con.execute(PATIENTS)
    options = ["--quasi", "age,sex,zip", "--k", "4", "--sensitive", "diagnosis"]
    common = ["anonymize", "patients", "--db", str(file), *options]
    assert not main([*common, "--method", "nonhomogeneous", "--partition", "mondrian", "--name", "boxes"])
    assert "non-homogeneous k-anonymity, k = 4" in capsys.readouterr().err
    assert not main([*common, "--method", "anatomy", "--l", "3", "--name", "p"])
    assert "l-diversity of groups (anatomy), k = " in capsys.readouterr().err
    assert main([*common, "--method", "anatomy"]) == 2
    assert "anatomy needs a whole number l of 2 or more" in capsys.readouterr().err
    with duckdb.connect(file) as con:
        assert rows(con, "select name, json_extract_string(proof, '$.property') from anon.releases order by all") == [
            ("boxes", "non-homogeneous k-anonymity"),
            ("p", "l-diversity of groups (anatomy)"),
        ]
