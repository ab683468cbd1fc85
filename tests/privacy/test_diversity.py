"""l-diversity: every method keeps it, it is verified as printed, and an illegal l says the largest legal one."""

import duckdb
import numpy as np
import pytest
from adult import DATA, needs_data
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon import samples
from sqlanon.errors import BrokenPromiseError, DataError, PolicyError
from sqlanon.udfs.after.repair import repair, spread
from sqlanon.udfs.legality import best
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Groups, Numbers, Problem

QUASI = ["age", "education", "sex"]
PRINTING_CLASSES = [name for name, method in METHODS.items() if method.is_homogeneous and not method.is_exact]


@pytest.fixture(scope="module", autouse=True)
def adult(shared: duckdb.DuckDBPyConnection) -> None:
    samples.create(shared, "adult", rows=300, seed=3)
    for column in ("education", "sex"):
        sqlanon.create_hierarchy(shared, column, rows=samples.hierarchy_rows("adult")[column])


@pytest.mark.sweep
@pytest.mark.parametrize("method", PRINTING_CLASSES)
def test_every_method_keeps_l_in_every_sensitive_column(shared: duckdb.DuckDBPyConnection, method: str) -> None:
    options = {"k": 4, "sensitive": ["occupation", "salary_class"], "l": 1.2, "several": "separate", "method": method}
    release = sqlanon.anonymize(shared, "adult", QUASI, **options)
    assert release.proof.k >= 4
    assert all(diversity >= 1.2 for diversity in release.proof.models["l"].values())
    assert release.proof.classes > 1 or method == "datafly"  # one level too many leaves it a single class


@pytest.mark.parametrize("method", ["kaca", "sequential"])
def test_sql_keeps_l_too(shared: duckdb.DuckDBPyConnection, method: str) -> None:
    shared.execute(
        "create or replace temporary table pub as from anon.anonymize('adult', quasi := ['age', 'education', 'sex'], "
        f"k := 4, sensitive := ['occupation'], l := 2.5, method := '{method}')"
    )
    ((diversity,),) = shared.execute(
        "select anon.l_diversity('pub', ['age', 'education', 'sex'], 'occupation')"
    ).fetchall()
    assert diversity >= 2.5


@pytest.mark.parametrize("method", PRINTING_CLASSES)
def test_an_illegal_l_says_the_largest_legal_one(shared: duckdb.DuckDBPyConnection, method: str) -> None:
    ((largest,),) = shared.execute(
        "select sum(n) / max(n) from (select count(*) as n from adult group by salary_class)"
    ).fetchall()
    with pytest.raises(DataError, match=f"the whole table only reaches {int(largest * 100) / 100:g}"):
        sqlanon.anonymize(shared, "adult", QUASI, 4, sensitive=["salary_class"], l=2, method=method)


def test_l_without_a_sensitive_column_or_below_1_is_refused() -> None:
    with pytest.raises(PolicyError, match="l needs a sensitive column"):
        sqlanon.Policy(quasi=("age",), l=2)
    with pytest.raises(PolicyError, match="1 or more"):
        sqlanon.Policy(quasi=("age",), sensitive=("ill",), l=0.5)


def test_a_release_that_loses_its_diversity_no_longer_verifies(shared: duckdb.DuckDBPyConnection) -> None:
    release = sqlanon.anonymize(shared, "adult", QUASI, 4, sensitive=["occupation"], l=2, name="diverse", replace=True)
    shared.execute("update diverse set occupation = 'Sales'")
    with pytest.raises(BrokenPromiseError, match="reaches l = 1 in occupation, l is 2"):
        release.verify()


def test_a_core_that_breaks_l_is_stopped_by_the_query_itself(
    shared: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlanon.udfs.after.form.repair", lambda problem, groups, report: groups)
    with pytest.raises(duckdb.InvalidInputException, match=r"A released class reaches l = .* in occupation, l is 5"):
        shared.execute(
            "from anon.anonymize('adult', quasi := ['age', 'education', 'sex'], k := 4, method := 'kacpc', "
            "sensitive := ['occupation'], l := 5)"
        )


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_repair_keeps_k_and_reaches_l_by_merging_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tuples, groups = int(rng.integers(4, 20)), int(rng.integers(2, 6))
    codes = rng.integers(0, 3, tuples)
    line = Numbers(np.arange(20.0))
    ranks = np.sort(rng.integers(0, 20, tuples))[:, None]
    table = Problem(ranks, rng.integers(1, 4, tuples), (line,), np.ones(1), codes[:, None])
    easy = promise(table, {"l": 1.0})
    wanted = promise(table, {"l": 1 + (best(easy, easy.models[0]) - 1) * float(rng.random())})
    home = np.unique(np.sort(rng.integers(0, groups, tuples)), return_inverse=True)[1]
    before = Groups.collect(np.arange(tuples), home, table.counts)
    after = repair(wanted, before, lambda done, total, **facts: None)
    moved = dict(zip(after.tuple.tolist(), after.group.tolist(), strict=True))
    assert after.rows.sum() == before.rows.sum()
    for old in set(home.tolist()):  # groups are only merged: each old one lies in one new one
        assert len({moved[t] for t in np.flatnonzero(home == old).tolist()}) == 1
    for new in set(moved.values()):
        mine = after.group == new
        counts = np.bincount(codes[after.tuple[mine]], weights=after.rows[mine])
        assert counts.max() * wanted.l <= counts.sum() + 1e-6


def test_spreading_deals_by_chance_and_keeps_the_sizes_of_groups() -> None:
    # Two groups of two rows share a tuple that has two rows of each of two values.
    merged = Groups.collect([0, 0], [0, 1], [2, 2])
    dealings = set()
    for seed in range(40):
        found = spread(merged, np.array([0, 0]), np.array([2, 2]), np.random.default_rng(seed))
        assert np.bincount(found.group, weights=found.rows).tolist() == [2, 2]
        assert np.bincount(found.tuple, weights=found.rows).tolist() == [2, 2]
        dealings.add(tuple(zip(found.tuple.tolist(), found.group.tolist(), found.rows.tolist(), strict=True)))
    assert len(dealings) == 3


def test_centres_are_means_medians_and_modes() -> None:
    with sqlanon.connect() as con:
        con.execute(
            "create table t as from (values (1, date '2024-01-01', 'a', 'x'), (2, date '2024-01-03', 'b', 'y'), "
            "(6, date '2024-01-09', 'b', 'z'), (100, null, 'q', 'x'), (100, null, 'q', 'y'), (103, null, null, 'z')) "
            "v(n, d, w, s)"
        )
        release = sqlanon.anonymize(
            con, "t", ["n", "d", "w"], 3, method="kacpc", represent="center", sensitive=["s"], name="pub"
        )
        found = con.execute("select distinct n, d::varchar, w from pub order by n").fetchall()
        assert found == [(3.0, "2024-01-03", "b"), (101.0, None, "q")]
        assert "gcp" not in release.metrics()
        assert release.metrics()["information_distortion"] > 0
        assert release.verify().k == 3


def test_learned_weights_come_with_the_release_and_stay_with_it() -> None:
    with sqlanon.connect() as con:
        con.execute("create table t as select i % 7 as a, i % 3 as b from range(60) r(i)")
        release = sqlanon.anonymize(con, "t", ["a", "b"], 5, method="wfcmeans", name="pub")
        assert len(release.learned["weights"]) == 2
        assert sqlanon.open_release(con, "pub").learned == release.learned


@needs_data
def test_the_largest_legal_l_of_adult_is_that_of_paper_002(shared: duckdb.DuckDBPyConnection) -> None:
    shared.execute(
        "create or replace temporary table whole as select *, 1 as everyone from read_csv($1)",
        [str(DATA / "adult_45222.csv")],
    )
    for column, expected in (("salary_class", 1.3295), ("education", 3.06)):
        ((found,),) = shared.execute(f"select anon.l_diversity('whole', ['everyone'], '{column}')").fetchall()
        assert found == pytest.approx(expected, abs=5e-3 if column == "education" else 5e-5)


@pytest.mark.parametrize("method", ["kaca", "kacpc", "wfcmeans"])
def test_refining_loses_less_and_keeps_every_promise(shared: duckdb.DuckDBPyConnection, method: str) -> None:
    options = {"k": 4, "sensitive": ["occupation"], "l": 1.5, "method": method}
    plain = sqlanon.anonymize(shared, "adult", QUASI, **options)
    refined = sqlanon.anonymize(shared, "adult", QUASI, **options, refine=True)
    assert refined.metrics()["gcp"] < plain.metrics()["gcp"]
    assert refined.proof.k >= 4
    assert refined.proof.models["l"]["occupation"] >= 1.5


@pytest.mark.parametrize(
    ("rare", "proposed"),
    [(10, "To prevent this: l=2"), (5, "To prevent this: l=1.3"), (1, "leave out 's', which hardly")],
)
def test_the_warning_proposes_an_l_that_the_table_can_keep(
    con: duckdb.DuckDBPyConnection, caplog: pytest.LogCaptureFixture, rare: int, proposed: str
) -> None:
    con.execute(f"create table t as select i // 5 as q, if(i < {rare}, 'rare', 'common') as s from range(20) as r(i)")
    sqlanon.anonymize(con, "t", ["q"], 5, sensitive=["s"], method="mondrian")
    assert proposed in caplog.text
    if (proposed := proposed.partition("l=")[2]) != "":
        sqlanon.anonymize(con, "t", ["q"], 5, sensitive=["s"], method="mondrian", l=float(proposed))
