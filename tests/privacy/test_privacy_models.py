"""Privacy models end to end: methods of every kind keep them, the proof says what is reached, tampering is found."""

from __future__ import annotations

import json
import logging
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from databases import Databases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import value

import sqlanon
from sqlanon import samples
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, DataError, PolicyError
from sqlanon.udfs.models import MODELS

Con = duckdb.DuckDBPyConnection
QUASI = ["age", "education", "sex"]
ASKED: list[dict[str, float]] = [
    {"l": 2.5},
    {"distinct_l": 3},
    {"entropy_l": 3.0},
    {"recursive_l": 3, "recursive_c": 2.0},
    {"alpha": 0.4},
    {"t": 0.35},
    {"basic_beta": 3.0},
    {"enhanced_beta": 2.0},
    {"delta": 2.5},
    {"t": 0.5, "distinct_l": 4},
]
MACROS = {
    "l": "l_diversity",
    "distinct_l": "distinct_l_diversity",
    "entropy_l": "entropy_l_diversity",
    "recursive_l": "recursive_l_diversity",
    "alpha": "alpha",
    "t": "t_closeness",
    "basic_beta": "basic_beta_likeness",
    "enhanced_beta": "enhanced_beta_likeness",
    "delta": "delta_disclosure",
}


@pytest.fixture(scope="module", autouse=True)
def adult(shared: duckdb.DuckDBPyConnection) -> None:
    samples.create(shared, "adult", rows=200, seed=3)
    for column in ("education", "sex"):
        sqlanon.create_hierarchy(shared, column, rows=samples.hierarchy_rows("adult")[column])


@pytest.mark.sweep
@pytest.mark.parametrize("method", ["auto", "kaca", "incognito"])
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "+".join(asked))
def test_every_method_keeps_every_model_and_the_proof_says_what_is_reached(
    shared: Con, method: str, asked: dict[str, float]
) -> None:
    effort = {"effort": "fast"} if method == "auto" else {}
    release = sqlanon.anonymize(shared, "adult", QUASI, 4, sensitive=["occupation"], method=method, **asked, **effort)
    assert_kept(shared, release, asked)


def assert_kept(con: Con, release: sqlanon.Release, asked: dict[str, float]) -> None:
    """The proof says what the macros say, and that it is enough."""
    assert release.proof.k >= 4
    assert {"l", "t"} <= set(release.proof.models)
    for model in asked.keys() & MODELS.keys():
        c = f", {asked['recursive_c']}" if model == "recursive_l" else ""
        table = release.table.replace('"', "").split(".")[-1]
        reached = value(con, f"select anon.{MACROS[model]}('{table}', {QUASI}, 'occupation'{c})")
        assert release.proof.models[model] == {"occupation": reached}
        assert reached >= asked[model] - 1e-9 if MODELS[model].is_floor else reached <= asked[model] + 1e-9


@pytest.mark.parametrize("method", ["bisecting", "sequential"])
def test_methods_that_keep_l_by_themselves_keep_other_models_too(shared: Con, method: str) -> None:
    options = {"k": 4, "sensitive": ["occupation", "salary_class"], "method": method, "several": "separate"}
    release = sqlanon.anonymize(shared, "adult", QUASI, **options, l=1.1, t=0.5)
    assert all(reached >= 1.1 for reached in release.proof.models["l"].values())
    assert all(reached <= 0.5 for reached in release.proof.models["t"].values())
    assert release.proof.classes > 1


def test_a_cost_that_sees_sensitive_values_goes_with_any_model(shared: Con) -> None:
    options = {"sensitive": ["occupation"], "method": "sequential", "cost": "pmi", "distinct_l": 3}
    assert sqlanon.anonymize(shared, "adult", QUASI, 4, **options).proof.models["distinct_l"]["occupation"] >= 3


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "+".join(asked))
def test_a_release_that_was_tampered_with_no_longer_verifies(shared: Con, asked: dict[str, float]) -> None:
    release = sqlanon.anonymize(
        shared, "adult", QUASI, 4, sensitive=["occupation"], method="mondrian", name="kept", replace=True, **asked
    )
    assert release.verify() == release.proof
    assert_kept(shared, release, asked)
    # Four rows of the largest class become a class of their own, all of one value.
    largest = "select age, education, sex from kept group by all order by count(*) desc limit 1"
    shared.execute(
        "update kept set age = 'other', occupation = 'Sales' where rowid in "
        f"(select rowid from kept semi join ({largest}) using (age, education, sex) limit 4)"
    )
    with pytest.raises(BrokenPromiseError, match=f"A released class reaches ({'|'.join(asked)}) = .* in occupation"):
        release.verify()


def test_a_core_that_breaks_t_is_stopped_by_the_query_itself(shared: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.udfs.after.form.repair", lambda problem, groups, report: groups)
    with pytest.raises(
        duckdb.InvalidInputException, match=r"A released class reaches t = 0\.\d+ in occupation, t is 0\.2"
    ):
        shared.execute(
            f"from anon.anonymize('adult', quasi := {QUASI}, k := 4, method := 'kacpc', "
            "sensitive := ['occupation'], t := 0.2)"
        )


def test_what_the_whole_table_lacks_is_refused_with_the_best_that_it_has(shared: Con) -> None:
    distinct = value(shared, "select count(distinct occupation) from adult")
    with pytest.raises(DataError, match=f"distinct_l = 99 is impossible for occupation: .* only reaches {distinct}\\."):
        sqlanon.anonymize(shared, "adult", QUASI, 4, sensitive=["occupation"], distinct_l=99)
    most = value(shared, "select max(n) / sum(n) from (select count(*) as n from adult group by salary_class)")
    smallest = f"{math.ceil(most * 1e4) / 1e4:g}"
    with pytest.raises(DataError, match=f"alpha = 0.1 is impossible for salary_class: .* only reaches {smallest}\\."):
        sqlanon.anonymize(shared, "adult", QUASI, 4, sensitive=["salary_class"], alpha=0.1)


def test_several_columns_are_kept_from_those_who_know_the_others_unless_told_otherwise() -> None:
    with sqlanon.connect() as con:
        # Whoever knows a tells b: always the same.
        con.execute("create table t as select i as age, i % 2 as a, i % 2 as b, i % 3 as c from range(60) r(i)")
        with pytest.raises(
            DataError, match=r"l = 2 is impossible for a: .*only reaches 1 to whoever .* several='separate'"
        ):
            sqlanon.anonymize(con, "t", ["age"], 4, sensitive=["a", "b"], l=2)
        separate = sqlanon.anonymize(con, "t", ["age"], 4, sensitive=["a", "b"], l=2, several="separate")
        assert separate.proof.models["l"] == {"a": 2, "b": 2}
        strict = sqlanon.anonymize(con, "t", ["age"], 4, sensitive=["a", "c"], distinct_l=2, name="pub")
        for one, other in (("a", "c"), ("c", "a")):
            found = value(con.duckdb, f"select anon.distinct_l_diversity('pub', ['age', '{other}'], '{one}')")
            assert strict.proof.models["distinct_l"][one] == found >= 2


def test_t_goes_by_order_for_numbers_by_hierarchy_where_there_is_one_and_else_equal() -> None:
    with sqlanon.connect() as con:
        con.execute(
            "create table t as select i as age, (i * 7) % 20 as pay, ['a1', 'a2', 'b1', null][1 + i % 4] as ill, "
            "['x', 'y'][1 + i % 2] as job from range(80) r(i)"
        )
        rows = [("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*")]
        sqlanon.create_hierarchy(con, "ills", rows=rows)
        options = {"k": 4, "sensitive": ["pay", "ill", "job"], "several": "separate", "hierarchies": {"ill": "ills"}}
        release = sqlanon.anonymize(con, "t", ["age"], **options, t=0.2, name="pub")
        measure = "select anon.t_closeness('pub', ['age'], '{}', distance := '{}', hierarchy := 'ills')"
        for column, distance in (("pay", "ordered"), ("ill", "hierarchical"), ("job", "equal")):
            assert release.proof.models["t"][column] == value(con.duckdb, measure.format(column, distance)) <= 0.2
        equal = sqlanon.anonymize(con, "t", ["age"], **options, t=0.3, t_distance="equal", name="other")
        assert equal.proof.models["t"]["ill"] == value(con.duckdb, "select anon.t_closeness('other', ['age'], 'ill')")
        sqlanon.drop_hierarchy(con, "ills")
        with pytest.raises(PolicyError, match="Unknown hierarchy 'ills'"):
            release.verify()


def test_a_sensitive_column_may_have_a_hierarchy_where_something_else_than_t_is_asked_for(databases: Databases) -> None:
    with databases.lent() as con:
        con.execute("create table people as select i as age, if(i % 2 = 0, 'a', 'b') as ill from range(4) as t(i)")
        sqlanon.create_hierarchy(con, "ill", rows=[("a", "*"), ("b", "*"), ("c", "*")])
        release = sqlanon.anonymize(con, "people", quasi=["age"], k=2, sensitive=["ill"], l=2)
        assert release.proof.models["l"] == {"ill": 2.0}


def test_values_outside_the_hierarchy_are_refused_where_t_is_asked_for_and_else_stand_alone() -> None:
    with sqlanon.connect() as con:
        con.execute("create table t as select i as age, ['a', 'b', 'c'][1 + i % 3] as ill from range(30) r(i)")
        sqlanon.create_hierarchy(con, "ill", rows=[("a", "ab", "*"), ("b", "ab", "*")])
        with pytest.raises(DataError, match="1 of the values of column 'ill' are not in hierarchy 'ill'"):
            sqlanon.anonymize(con, "t", ["age"], 3, sensitive=["ill"], t=0.3)
        assert sqlanon.anonymize(con, "t", ["age"], 3, sensitive=["ill"]).proof.models["t"]["ill"] >= 0


ROWS = st.lists(
    st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["flu", "gout", "mumps", None])), min_size=1, max_size=25
)


def literal(rows: list[tuple[Any, Any]], model: str) -> float:
    """What a table reaches, class by class and NULL a value, by the definitions."""
    classes = defaultdict(list)
    for age, ill in rows:
        classes[age].append(ill)
    expected = {ill: n / len(rows) for ill, n in Counter(ill for _, ill in rows).items()}
    found = []
    for ills in classes.values():
        count = Counter(ills)
        share = {ill: count[ill] / len(ills) for ill in expected}
        often = sorted(count.values(), reverse=True)
        gain = {ill: share[ill] / p - 1 for ill, p in expected.items()}
        in_order = sorted(expected, key=lambda ill: (ill is None, ill))
        upto = [sum(share[ill] - expected[ill] for ill in in_order[: i + 1]) for i in range(len(in_order))]
        found.append(
            {
                "recursive_l": sum(often[0] < 2 * sum(often[i:]) for i in range(len(often))),
                "alpha": max(share.values()),
                "t": sum(abs(share[ill] - p) for ill, p in expected.items()) / 2,
                "ordered": sum(map(abs, upto)) / max(len(upto) - 1, 1),
                "basic_beta": max(gain.values()),
                "enhanced_beta": max(
                    gain[ill] if gain[ill] <= -math.log(p) + 1e-9 else math.inf for ill, p in expected.items()
                ),
                "delta": max(abs(math.log(share[ill] / p)) if share[ill] else math.inf for ill, p in expected.items()),
            }[model]
        )
    return min(found) if model == "recursive_l" else max(found)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_macros_agree_with_plain_python_on_any_table(shared: Con, rows: list[tuple[Any, Any]]) -> None:
    shared.execute("create or replace table people (age integer, ill varchar)")
    shared.executemany("insert into people values (?, ?)", rows)
    calls = {model: f"anon.{MACROS[model]}('people', ['age'], 'ill')" for model in MACROS}
    calls["recursive_l"] = calls["recursive_l"].replace("'ill')", "'ill', 2)")
    calls["ordered"] = calls["t"].replace("'ill')", "'ill', distance := 'ordered')")
    models = ("recursive_l", "alpha", "t", "ordered", "basic_beta", "enhanced_beta", "delta")
    found = shared.execute("select " + ", ".join(calls[model] for model in models)).fetchone()
    assert found == pytest.approx(tuple(literal(rows, model) for model in models), abs=1e-9)


def test_violations_are_the_classes_that_break_a_model(shared: Con) -> None:
    rows = "(1, 'a'), (1, 'b'), (2, 'a'), (2, 'a'), (null, 'b')"
    shared.execute(f"create or replace table people as from (values {rows}) v(age, ill)")
    found = shared.execute("from anon.model_violations('people', ['age'], 'ill', 'distinct_l', 2)").fetchall()
    assert found == [(2, 1), (None, 1)]
    found = shared.execute("from anon.model_violations('people', ['AGE'], 'ill', 'alpha', 0.5)")
    assert [column[0] for column in found.description] == ["AGE", "reached"]
    assert found.fetchall() == [(2, 1.0), (None, 1.0)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "anon.t_closeness('people', ['age'], 'ill', distance := 'far')",
            "must be one of equal, ordered, hierarchical",
        ),
        ("anon.t_closeness('people', ['age'], 'ill', distance := 'hierarchical')", "name the hierarchy"),
        (
            "anon.t_closeness('people', ['age'], 'ill', distance := 'hierarchical', hierarchy := 'no')",
            "no stored hierarchy no",
        ),
        ("anon.alpha('people', ['age'], 'il')", '"il"'),
        ("anon.alpha('people', [], 'ill')", "quasi is empty"),
    ],
)
def test_a_macro_refuses_what_it_does_not_know(shared: Con, call: str, message: str) -> None:
    shared.execute("create or replace table people as select 1 as age, 'a' as ill")
    with pytest.raises(duckdb.Error, match=message):
        shared.execute(f"select {call}")


def test_a_sensitive_column_of_which_nothing_is_asked_is_warned_about(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,ill\n" + "1,flu\n" * 5 + "9,flu\n" * 3 + "9,gout\n" * 2)
    with sqlanon.connect() as con, caplog.at_level(logging.WARNING, "sqlanon"):
        sqlanon.anonymize(con, str(path), ["age"], 5, sensitive=["ill"])
        assert "'ill': in 1 of 2 classes (5 of 10 rows) everyone has the same value" in caplog.text
        assert "flu" not in caplog.text
        caplog.clear()
        sqlanon.anonymize(con, str(path), ["age"], 5, sensitive=["ill"], name="public")
        look = re.search(r'con\.sql\("(FROM .*?)"\)', caplog.text)
        assert look is not None
        assert con.execute(look[1]).fetchall() == [("1", 1.0)]
        caplog.clear()
        sqlanon.anonymize(con, str(path), ["age"], 5, sensitive=["ill"], distinct_l=1)
        assert not caplog.records
    assert main(["anonymize", str(path), "--quasi", "age", "--sensitive", "ill"]) == 0
    assert "sqlanon: No l or t is set for sensitive column 'ill'" in capsys.readouterr().err


def test_the_command_line_asks_for_models_and_checks_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, public = tmp_path / "t.csv", tmp_path / "pub.csv"
    path.write_text("age,ill\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(60)))
    asked = ["--quasi", "age", "--sensitive", "ill", "--t", "0.25", "--distinct-l", "3"]
    assert main(["anonymize", str(path), *asked, "-o", str(public)]) == 0
    assert ", t = " in capsys.readouterr().err
    assert main(["check", str(public), *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["asked"] == {"distinct_l": 3, "t": 0.25}
    assert found["reached"]["distinct_l"] == {"ill": 3}
    assert found["holds"] is True
    assert main(["check", str(path), "--k", "1", "--quasi", "age", "--sensitive", "ill", "--delta", "1"]) == 1
    assert "delta = inf (required: 1) in ill" in capsys.readouterr().out
    assert main(["check", str(path), "--quasi", "age", "--sensitive", "ill", "--delta", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["reached"]["delta"] == {"ill": "infinity"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t": 1.5}, "t is 1.5; it must be a number from 0 to 1"),
        ({"distinct_l": 2.5}, "distinct_l is 2.5; it must be a whole number of 1 or more"),
        ({"entropy_l": math.inf}, "entropy_l is inf; it must be a number of 1 or more"),
        ({"recursive_l": 2}, "recursive_l and recursive_c go together"),
        ({"t_distance": "far"}, "one of equal, ordered, hierarchical"),
        ({"several": "both"}, "one of strict, separate"),
        ({"sensitive": (), "delta": 1}, "delta needs a sensitive column"),
        ({"method": "anatomy", "l": 2, "t": 0.5}, "anatomy enforces l and no other model. Leave out t"),
        ({"method": "nonhomogeneous", "t": 0.5}, "nonhomogeneous promises nothing about sensitive values"),
    ],
)
def test_a_model_out_of_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.Policy(**{"quasi": ("age",), "sensitive": ("ill",), **options})


def test_a_policy_with_models_is_the_same_again_from_its_options() -> None:
    policy = sqlanon.Policy.of(
        {"quasi": ["a"], "sensitive": ["b"], "recursive_l": 3, "recursive_c": 2, "T": 0.2, "several": "Separate"}
    )
    assert policy.models == {"recursive_l": 3, "t": 0.2}
    assert policy.several == "separate"
    assert sqlanon.Policy.of(policy.options()) == policy


def test_hierarchical_t_is_the_mean_over_the_levels_below_the_top() -> None:
    with sqlanon.connect() as con:
        con.execute(
            "create table t as from (values (1, 'a1'), (1, 'b1'), (2, 'a2'), (2, 'b2'), (3, 'a1'), (3, 'a2'), "
            "(4, 'b1'), (4, 'b2')) v(age, ill)"
        )
        rows = [("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*"), ("b2", "b", "*")]
        sqlanon.create_hierarchy(con, "ills", rows=rows)
        sqlanon.create_hierarchy(con, "codes", prefix=True)
        call = (
            "from anon.model_violations('t', ['age'], 'ill', 't', 0, distance := 'hierarchical', hierarchy := 'ills')"
        )
        # Both leaves of a pair are off by half at both levels, one leaf of each pair only at that of the leaves.
        assert con.execute(call).fetchall() == [(3, 0.5), (4, 0.5), (1, 0.25), (2, 0.25)]
        for hierarchy in ("ills", "codes"):  # a rule makes the same tree
            found = sqlanon.check(con, "t", ["age"], sensitive=["ill"], t=0.5, hierarchies={"ill": hierarchy})
            assert found.reached["t"] == {"ill": 0.5}
            release = sqlanon.anonymize(
                con,
                "t",
                ["age"],
                2,
                sensitive=["ill"],
                t=0.25,
                hierarchies={"ill": hierarchy},
                t_distance="hierarchical",
            )
            assert release.verify().models["t"]["ill"] <= 0.25
            assert release.proof.classes > 1
