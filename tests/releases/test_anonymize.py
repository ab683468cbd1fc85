"""anon.anonymize and sqlanon.anonymize: one release, wherever and however they are called."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from reading import Con, rows

import sqlanon
from sqlanon import samples
from sqlanon.udfs import methods
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import Groups

BY_SEX_AND_AGE = "anon.anonymize('patients', quasi := ['age', 'sex'], k := 4, sensitive := ['diagnosis'])"

pytestmark = pytest.mark.usefixtures("patients")


def columns(con: Con, relation: str) -> list[str]:
    return [row[0] for row in rows(con, f"describe from {relation}")]


def test_create_table_as_stores_a_release_that_holds_k(con: Con) -> None:
    con.execute(f"create table pub as from {BY_SEX_AND_AGE}")
    assert rows(con, "select count(*), anon.k_anonymity('pub', ['age', 'sex']) >= 4 from pub") == [(16, True)]


def test_copy_to_writes_a_release_that_plain_duckdb_reads(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "pub.parquet"
    con.execute(f"copy (from {BY_SEX_AND_AGE}) to '{file}' (format parquet)")
    with duckdb.connect() as plain:
        smallest = rows(plain, f"select min(n) from (select count(*) n from '{file}' group by age, sex)")
    assert smallest[0][0] >= 4


def test_the_output_holds_quasi_sensitive_and_keep_in_the_order_of_the_source_and_nothing_else(con: Con) -> None:
    call = "anon.anonymize('patients', quasi := ['sex', 'age'], k := 2, sensitive := ['diagnosis'], keep := ['ward'])"
    assert columns(con, call) == ["age", "sex", "ward", "diagnosis"]


def test_python_and_sql_print_the_same_release(con: Con) -> None:
    release = sqlanon.anonymize(con, "patients", quasi=["age", "sex"], k=4, sensitive=["diagnosis"])
    assert Counter(release.relation().fetchall()) == Counter(rows(con, f"from {BY_SEX_AND_AGE}"))


def test_the_printed_sql_of_a_release_makes_the_same_release(con: Con) -> None:
    release = sqlanon.anonymize(con, "patients", quasi=["age", "sex"], k=4, sensitive=["diagnosis"])
    assert Counter(rows(con, release.sql)) == Counter(release.relation().fetchall())


def test_inside_a_transaction_it_sees_uncommitted_rows(con: Con) -> None:
    con.execute("begin")
    con.execute("insert into patients values ('Zoe', 999, '4350', 'female', 'Surgery', 'Hernia')")
    found = rows(con, "from anon.anonymize('patients', quasi := ['age'], k := 2)")
    con.execute("rollback")
    assert len(found) == 17
    assert any("999" in age for (age,) in found)


def test_a_python_release_inside_a_transaction_goes_away_with_it(con: Con) -> None:
    con.execute("begin")
    con.execute("create table fresh as select * from patients")
    sqlanon.anonymize(con, "fresh", quasi=["age"], k=4, name="pub")
    con.execute("rollback")
    assert rows(con, "select name from anon.releases") == []
    assert rows(con, "select table_name from duckdb_tables() where table_name in ('pub', 'fresh')") == []


def test_a_table_made_in_the_running_transaction_is_refused_with_the_reason(con: Con) -> None:
    con.execute("begin")
    con.execute("create table fresh as select * from patients")
    with pytest.raises(duckdb.Error, match="commit first"):
        rows(con, "from anon.anonymize('fresh', quasi := ['age'], k := 2)")
    con.execute("rollback")


def test_table_quasi_and_k_may_be_parameters(con: Con) -> None:
    sql = "select age from anon.anonymize($1, quasi := $2, k := $3)"
    assert min(Counter(rows(con, sql, ["patients", ["age"], 5])).values()) >= 5


def test_a_prepared_statement_runs_again_with_other_values(con: Con) -> None:
    con.execute("prepare p as from anon.anonymize($1, quasi := $2, k := $3)")
    assert min(Counter(rows(con, "execute p('patients', ['age'], 3)")).values()) >= 3
    assert min(Counter(rows(con, "execute p('patients', ['sex', 'zip'], 8)")).values()) >= 8


def test_explain_shows_a_plan_and_runs_no_core(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any) -> Groups:
        raise AssertionError("the core ran")

    monkeypatch.setitem(methods.METHODS, "auto", dataclasses.replace(METHODS["auto"], cluster=run))
    assert rows(con, f"explain from {BY_SEX_AND_AGE}")


def test_a_cursor_of_the_loaded_connection_can_anonymize(con: Con) -> None:
    with con.cursor() as cursor:
        assert Counter(rows(cursor, f"from {BY_SEX_AND_AGE}")) == Counter(rows(con, f"from {BY_SEX_AND_AGE}"))


def test_a_condition_on_the_release_leaves_the_proof_on_the_whole_release(con: Con) -> None:
    everything = rows(con, f"from {BY_SEX_AND_AGE}")
    few = rows(con, f"from {BY_SEX_AND_AGE} where diagnosis = 'Asthma'")
    assert Counter(few) == Counter([row for row in everything if row[-1] == "Asthma"])
    assert rows(con, f"select count(*) from {BY_SEX_AND_AGE}") == [(16,)]


def test_a_source_in_an_attached_database_is_named_in_full(con: Con) -> None:
    con.execute("attach ':memory:' as other; create table other.main.people as from patients")
    found = rows(con, "from anon.anonymize('other.main.people', quasi := ['age'], k := 4)")
    assert min(Counter(found).values()) >= 4
    assert sqlanon.anonymize(con, "other.main.people", quasi=["age"], k=4).proof.rows == 16


@pytest.mark.parametrize("method", ["auto", "kaca", "sequential", "incognito"])
def test_the_same_seed_gives_the_same_classes_whatever_the_threads_and_the_row_order(method: str) -> None:
    # Who of several people with the same quasi-identifiers is in which class is drawn again each time.
    call = (
        "anon.anonymize('people', quasi := ['age', 'education', 'race'], k := 5, sensitive := ['occupation'], "
        f"method := '{method}', seed := 7)"
    )
    releases = []
    for threads, order in ((1, "rowid"), (4, "rowid"), (4, "-rowid"), (2, "hash(rowid)")):
        with duckdb.connect(config={"threads": threads}) as con:
            sqlanon.load(con)
            samples.create(con, "adult", rows=600)
            con.execute(f"create table people as select * from adult order by {order}")
            releases.append(Counter(rows(con, f"select * exclude (occupation) from {call}")))
    assert releases[0] == releases[1] == releases[2] == releases[3]


def test_another_seed_may_give_other_groups(con: Con) -> None:
    call = "from anon.anonymize('patients', quasi := ['age'], k := 3, method := 'kaca'"
    releases = {frozenset(Counter(rows(con, f"{call}, seed := {seed})"))) for seed in range(6)}
    assert len(releases) > 1


@pytest.mark.parametrize("extra", ["", ", seed := 1"])
def test_the_order_of_rows_is_another_each_time_whatever_the_seeds(con: Con, extra: str) -> None:
    con.execute("create table people as select 1 as age, range as id from range(3000)")
    call = f"select id from anon.anonymize('people', quasi := ['age'], k := 2, unsafe_keep := ['id']{extra})"
    orders = []
    for _ in range(2):
        con.execute("select setseed(0.5)")
        orders.append([row[0] for row in rows(con, call)])
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(3000))
    for one, other in ((orders[0], orders[1]), (orders[0], range(3000)), (orders[1], range(3000))):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.15  # eight standard deviations of a random order
    assert sum(abs(a - b) == 1 for a, b in zip(orders[0], orders[0][1:], strict=False)) < 30


def test_a_stored_release_is_shuffled_too(con: Con) -> None:
    con.execute("create table people as select 1 as age, range as id from range(3000)")
    stored = sqlanon.anonymize(con, "people", quasi=["age"], k=2, unsafe_keep=["id"], name="pub")
    order = [row[0] for row in rows(con, f"select id from {stored.table} order by rowid")]
    assert abs(np.corrcoef(order, range(3000))[0, 1]) < 0.15
