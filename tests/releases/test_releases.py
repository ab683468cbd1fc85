"""Stored releases: named, replaced, dropped and opened; all or nothing; nothing visible but the release."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from databases import Databases
from reading import everything, rows, storage
from sweeping import IS_WHOLE

import sqlanon
from sqlanon import samples
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, SqlanonError
from sqlanon.releases import making, storing

Con = duckdb.DuckDBPyConnection
KINDS = ("table", "view")

pytestmark = pytest.mark.usefixtures("patients")


def make(con: Con, **options: Any) -> sqlanon.Release:
    arguments = {"quasi": ["age", "sex"], "k": 4, "sensitive": ["diagnosis"], "method": "mondrian"} | options
    return sqlanon.anonymize(con, arguments.pop("source", "patients"), **arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_a_named_release_is_stored_listed_and_found_again(con: Con, kind: str) -> None:
    made = make(con, name="pub", kind=kind)
    assert rows(con, "select count(*), anon.k_anonymity('pub', ['age', 'sex']) >= 4 from pub") == [(16, True)]
    assert rows(con, "select name, schema_name, kind, source, printed, k, rows, sqlanon from anon.releases") == [
        ("pub", "main", kind, "patients", ["age", "sex"], 4, 16, sqlanon.__version__)
    ]
    ((recent,),) = rows(con, "select created_at between now() - interval 1 hour and now() from anon.releases")
    assert recent
    opened = sqlanon.open_release(con, "PUB")
    assert (opened.policy, opened.proof, opened.metrics(), opened.printed) == (
        made.policy,
        made.proof,
        made.metrics(),
        made.printed,
    )
    assert opened.verify() == made.proof
    assert Counter(opened.relation().fetchall()) == Counter(rows(con, "from pub"))


def test_the_proof_counts_what_is_printed(con: Con) -> None:
    proof = make(con, name="pub").proof
    assert rows(con, "select anon.k_anonymity('pub', ['age', 'sex'])") == [(proof.k,)]
    assert rows(con, "select count(*) from anon.equivalence_classes('pub', ['age', 'sex'])") == [(proof.classes,)]
    assert rows(con, "select count(*) from pub") == [(proof.rows,)]
    assert rows(con, "select anon.l_diversity('pub', ['age', 'sex'], 'diagnosis')") == [
        (proof.models["l"]["diagnosis"],)
    ]


def test_a_release_is_a_data_frame_too(con: Con) -> None:
    frame = make(con).df()
    assert list(frame.columns) == ["age", "sex", "diagnosis"]
    assert len(frame) == 16
    assert frame.groupby(["age", "sex"]).size().min() >= 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_replacing_leaves_one_release_of_the_name_and_nothing_of_the_old_one(con: Con, kind: str, other: str) -> None:
    make(con, name="pub", kind=kind)
    with pytest.raises(CatalogError, match="'Pub' already exists"):
        make(con, name="Pub", kind=other)
    make(con, name="Pub", kind=other, k=8, replace=True)
    assert rows(con, "select k, kind from anon.releases") == [(8, other)]
    assert rows(con, "select anon.k_anonymity('pub', ['age', 'sex']) >= 8") == [(True,)]
    assert rows(con, "select distinct release from anon.release_classes") == [("Pub",)]
    stored = rows(
        con, "select count(*) from duckdb_tables() where table_name ilike 'pub' or table_name ~ 'release_[0-9]+$'"
    )
    assert stored == [(1,)]


@pytest.mark.parametrize("kind", KINDS)
def test_dropping_a_release_leaves_the_database_as_it_was_before_it(con: Con, kind: str) -> None:
    before = everything(con)
    make(con, name="pub", kind=kind)
    assert everything(con) != before
    sqlanon.drop_release(con, "PUB")
    assert everything(con) == before


def test_dropping_what_is_not_there_is_an_error_unless_that_is_fine(con: Con) -> None:
    make(con, name="pub")
    with pytest.raises(CatalogError, match=r"Unknown release 'pud'.*Did you mean 'pub'"):
        sqlanon.drop_release(con, "pud")
    with pytest.raises(CatalogError, match="Unknown release 'pud'"):
        sqlanon.open_release(con, "pud")
    with pytest.raises(CatalogError, match="Release 'pub' is a table"):
        sqlanon.drop_release(con, "pub", kind="view")
    sqlanon.drop_release(con, "pud", missing_ok=True)
    assert rows(con, "select name from anon.releases") == [("pub",)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_or_view_that_is_no_release_is_never_replaced(con: Con, kind: str) -> None:
    con.execute("create table mine as select 42 as answer; create view seen as from mine")
    before = everything(con)
    for taken in ("mine", "seen", "patients", "anon.releases"):
        with pytest.raises(CatalogError, match="not a release, so it is not replaced"):
            make(con, name=taken, kind=kind, replace=True)
    assert everything(con) == before


def test_a_table_that_took_the_place_of_a_dropped_release_is_not_replaced(con: Con) -> None:
    make(con, name="pub")
    con.execute("drop table pub; create table pub as select 42 as answer")
    with pytest.raises(CatalogError, match="not a release"):
        make(con, name="pub", replace=True)
    assert rows(con, "from pub") == [(42,)]


def test_a_table_that_took_the_place_of_a_dropped_release_is_not_dropped(con: Con) -> None:
    make(con, name="pub")
    con.execute("drop table pub; create table pub as select 42 as answer")
    sqlanon.drop_release(con, "pub")
    assert rows(con, "from pub") == [(42,)]
    assert rows(con, "from anon.releases") == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_may_live_in_another_schema(con: Con, kind: str) -> None:
    con.execute("create schema outside")
    make(con, name="pub", kind=kind)
    make(con, name="outside.pub", kind=kind, k=8)
    assert sorted(rows(con, "select name, schema_name, k from anon.releases")) == [
        ("outside.pub", "outside", 8),
        ("pub", "main", 4),
    ]
    assert sqlanon.open_release(con, "outside.pub").verify().k >= 8
    assert rows(con, "select anon.gcp('outside.pub') > anon.gcp('pub')") == [(True,)]
    sqlanon.drop_release(con, "outside.pub")
    assert rows(con, "select name from anon.releases") == [("pub",)]
    assert rows(con, "select count(*) from pub") == [(16,)]


def test_a_dot_inside_a_quoted_name_is_not_another_schema(con: Con) -> None:
    con.execute("create schema outside")
    make(con, name="outside.pub", k=8)
    make(con, name='"outside.pub"', k=4)
    assert sqlanon.open_release(con, "outside.pub").policy.k == 8
    assert sqlanon.open_release(con, '"outside.pub"').policy.k == 4
    sqlanon.drop_release(con, '"outside.pub"')
    assert rows(con, "select count(*) from outside.pub") == [(16,)]


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ['a "b" c; drop', "ü", "select", " ", "it's", "x.y", "{k}", "release_1"])
def test_a_release_may_have_any_name_and_columns_of_any_name(databases: Databases, kind: str, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    with databases.lent() as con:
        con.execute(f"create table people ({quoted} integer, illness varchar)")
        con.executemany("insert into people values (?, ?)", [(1, "flu"), (1, "gout"), (2, "flu"), (3, "flu")])
        made = sqlanon.anonymize(con, "people", [name], 2, sensitive=["illness"], name=quoted, kind=kind)
        assert min(Counter(rows(con, f"select {quoted} from {quoted}")).values()) >= 2
        opened = sqlanon.open_release(con, quoted)
        assert opened.verify() == made.proof
        assert opened.policy.quasi == (name,)
        sqlanon.drop_release(con, quoted)
        assert rows(con, "select name from anon.releases") == []


def test_a_name_that_is_no_name_is_refused(con: Con) -> None:
    before = everything(con)
    for name in ("", 'a"b', "a.b.c.d", "nowhere.pub"):
        with pytest.raises(SqlanonError):
            make(con, name=name)
    assert everything(con) == before


def test_a_view_is_read_by_plain_duckdb_after_the_file_moved(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "first.duckdb")) as con:
        sqlanon.load(con)
        samples.create(con, "patients")
        make(con, name="pub", kind="view")
    (tmp_path / "first.duckdb").rename(tmp_path / "second.duckdb")
    code = f"""
import sys
sys.modules["sqlanon"] = None
import duckdb
with duckdb.connect({str(tmp_path / "second.duckdb")!r}, read_only=True) as con:
    print(con.execute("select count(*), anon.k_anonymity('pub', ['age', 'sex']) >= 4 from pub").fetchall())
with duckdb.connect() as con:
    con.execute("attach '{tmp_path / "second.duckdb"}' as elsewhere (read_only)")
    print(con.execute("select count(*) from elsewhere.pub").fetchall())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr) == (["[(16, True)]", "[(16,)]"], "")


def test_a_view_shows_the_release_and_nothing_of_its_source(con: Con) -> None:
    make(con, source="select * from patients where age > 20", name="pub", kind="view")
    ((sql,),) = rows(con, "select sql from duckdb_views() where view_name = 'pub'")
    assert "patients" not in sql
    assert [row[0] for row in rows(con, "describe pub")] == ["age", "sex", "diagnosis"]
    assert sorted(row[0] for row in rows(con, f"describe {storage(con)}")) == ["age", "diagnosis", "sex"]
    con.execute("drop table patients")
    assert len(rows(con, "from pub")) == 16


def test_a_release_does_not_follow_its_source(con: Con) -> None:
    make(con, name="pub", kind="view")
    before = Counter(rows(con, "from pub"))
    con.execute("update patients set diagnosis = 'changed', age = age + 100")
    assert Counter(rows(con, "from pub")) == before


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("in the middle")


QUERY = "select * from patients"
EACH_ONCE = [("table", QUERY), ("view", "patients"), (None, QUERY)]


@pytest.mark.parametrize(("kind", "source"), product([*KINDS, None], ["patients", QUERY]) if IS_WHOLE else EACH_ONCE)
@pytest.mark.parametrize("stage", ["plan", "store", "prove", "measure", "register"])
def test_a_failure_at_any_stage_leaves_the_database_exactly_as_before(
    con: Con, monkeypatch: pytest.MonkeyPatch, stage: str, kind: str | None, source: str
) -> None:
    if kind is None and stage == "register":
        pytest.skip("what has no name is not registered")
    make(con, name="pub", kind=kind or "table")
    before = everything(con)
    for module in (making, storing):  # who stores some kinds proves them too
        monkeypatch.setattr(module, stage, fail, raising=module is making)
    options = {"name": "pub", "kind": kind, "replace": True} if kind else {}
    with pytest.raises(RuntimeError, match="in the middle"):
        make(con, source=source, k=8, **options)
    assert everything(con) == before
    assert sqlanon.open_release(con, "pub").policy.k == 4
    monkeypatch.undo()
    assert make(con, source=source, k=8, **options).proof.k >= 8


def test_a_broken_promise_keeps_the_old_release(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    make(con, name="pub", kind="view")
    before = everything(con)

    def break_it(*_: Any) -> Any:
        raise BrokenPromiseError("The smallest printed class holds 1 rows, k is 4")

    for module in (making, storing):
        monkeypatch.setattr(module, "prove", break_it)
    with pytest.raises(BrokenPromiseError):
        make(con, name="pub", kind="view", replace=True)
    assert everything(con) == before


def test_a_failure_inside_the_callers_transaction_never_commits_half_of_a_replacement(con: Con) -> None:
    make(con, name="pub", kind="view")
    before = everything(con)
    con.execute("begin")
    with pytest.raises(DataError, match="only 16 rows"):
        make(con, source="select * from patients", name="pub", kind="view", k=99, replace=True)
    with pytest.raises(duckdb.TransactionException):
        con.execute("select 1").fetchall()
    con.execute("rollback")
    assert everything(con) == before


def test_only_the_release_itself_is_left_in_temporary_tables(con: Con) -> None:
    temporary = "select table_name from duckdb_tables() where temporary order by all"
    made = [make(con, source=source) for source in ("patients", "select * from patients", "from patients")]
    assert sorted(f'temp.main."{name}"' for (name,) in rows(con, temporary)) == sorted(one.table for one in made)
    for name in ("one", "two"):
        make(con, source="from patients", name=name, kind="view")
    assert len(rows(con, temporary)) == 3


@pytest.mark.parametrize("kind", [*KINDS, None])
def test_verify_counts_again_and_notices_a_changed_table(con: Con, kind: str | None) -> None:
    made = make(con, name="pub", kind=kind) if kind else make(con)
    table = storage(con) if kind == "view" else made.table
    assert made.verify() == made.proof
    con.execute(f"update {table} set age = '99' where rowid = (select min(rowid) from {table})")
    with pytest.raises(BrokenPromiseError, match="A released class has only 1 rows, k is 4"):
        made.verify()
    con.execute(f"delete from {table}")
    with pytest.raises(BrokenPromiseError, match="has only 0 rows"):
        made.verify()


def test_a_source_that_reads_differently_each_time_is_released_and_measured_on_the_same_rows(con: Con) -> None:
    source = "select (random() * 1000)::integer as x from range(80)"
    made = sqlanon.anonymize(con, source, quasi=["x"], k=80, name="dice")
    assert made.metrics()["gcp"] == 1
    assert rows(con, "select anon.lm('dice')") == [(1.0,)]


@pytest.mark.parametrize("table", ["releases", "hierarchies", "hierarchy_nodes"])
def test_the_catalog_is_read_from_python_with_what_sqlanon_installs(con: Con, table: str) -> None:
    sqlanon.create_hierarchy(con, "zip", rows=samples.hierarchy_rows("patients")["zip"])
    make(con, name="pub")
    assert rows(con, f"from anon.{table}")


def test_a_release_without_a_name_is_listed_nowhere(con: Con) -> None:
    before = everything(con)
    made = make(con)
    assert made.name is None
    con.execute(f"drop table {made.table}")
    assert everything(con) == before


def test_policy_and_options_together_are_refused(con: Con) -> None:
    policy = sqlanon.Policy(quasi=("age",), k=4)
    assert sqlanon.anonymize(con, "patients", policy=policy).policy == policy
    with pytest.raises(SqlanonError, match="a policy or its options, not both"):
        sqlanon.anonymize(con, "patients", policy=policy, k=5)
    with pytest.raises(SqlanonError, match=r"Unknown kind 'vieww'.*Did you mean 'view'"):
        make(con, name="pub", kind="vieww")


def test_a_release_whose_table_was_dropped_by_hand_can_be_made_again() -> None:
    with sqlanon.connect() as con:
        samples.create(con.duckdb, "patients")
        for _ in range(2):
            sqlanon.anonymize(con, "patients", ["age", "sex"], 4, name="pub")
            con.execute("drop table pub")
        sqlanon.anonymize(con, "patients", ["age", "sex"], 4, name="pub")
        assert con.execute("select count(*) from anon.releases").fetchall() == [(1,)]
        assert len(con.execute("from anon.utility('pub')").fetchall()) == 16
