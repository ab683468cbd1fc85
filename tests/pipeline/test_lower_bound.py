"""anon.lower_bound: what nobody can go below, from SQL and in every release's metrics."""

import duckdb
import pytest

import sqlanon
from sqlanon import samples


@pytest.fixture(autouse=True)
def microdata(con: duckdb.DuckDBPyConnection) -> None:
    samples.create(con, "microdata")


def test_the_papers_example_is_above_its_bound_and_the_bound_is_stored_with_the_release(
    con: duckdb.DuckDBPyConnection,
) -> None:
    ((bound, how),) = con.execute("from anon.lower_bound('microdata', quasi := ['age', 'zip'], k := 2)").fetchall()
    release = sqlanon.anonymize(con, "microdata", ["age", "zip"], 2, name="pub")
    assert 0.15 < bound <= release.metrics()["gcp"]  # He et al.'s own release, the best there is, loses 0.1893
    assert how.startswith("prices")
    assert release.metrics()["lower_bound"] == pytest.approx(bound, rel=0.01)
    assert con.execute("select value from anon.utility('pub') where measure = 'lower_bound'").fetchall() == [
        (pytest.approx(bound),)
    ]


def test_k_identical_rows_may_lose_nothing_and_all_different_ones_must_lose(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "create table same as select 1 as a from range(5); create table other as select range as a from range(5)"
    )
    assert con.execute("select gcp from anon.lower_bound('same', quasi := ['a'], k := 5)").fetchall() == [(0,)]
    ((gcp,),) = con.execute("select gcp from anon.lower_bound('other', quasi := ['a'], k := 5)").fetchall()
    assert gcp == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'microdata', quasi := ['age'], k := 99", "has only 7 rows"),
        ("'microdata', quasi := ['agee']", "Did you mean 'age'"),
        ("'microdata'", "quasi is missing"),
        ("'nothing', quasi := ['age']", "does not exist"),
    ],
)
def test_bad_input_is_explained(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"from anon.lower_bound({call})").fetchall()


def test_models_of_two_values_cost_more_than_k_and_the_release_says_how_that_was_proven(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("create table ends as select range // 10 * 100 as age, range >= 10 as ill from range(20)")
    bound = "from anon.lower_bound('ends', quasi := ['age'], k := 5"
    assert con.execute(f"select gcp {bound})").fetchall() == [(0,)]
    ((gcp, how),) = con.execute(f"{bound}, sensitive := ['ill'], l := 1.5)").fetchall()
    assert 0.49 < gcp < 1
    assert "unlike sensitive values" in how
    release = sqlanon.anonymize(con, "ends", ["age"], 5, sensitive=["ill"], l=1.5)
    assert release.metrics()["gcp"] == 1
    assert release.metrics()["lower_bound"] == pytest.approx(gcp, abs=0.01)
    assert release.learned["lower_bound_by"] == how
    assert "with this k and these models" in str(release)
