"""The example project builds, and its tests find what breaks a promise. Run where dbt-duckdb is installed."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from dbt.cli.main import dbtRunner

import sqlanon

HERE = Path(__file__).resolve().parent
QUASI = ["age", "zip", "sex"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package and the example, built, in a folder of their own."""
    folder = tmp_path_factory.mktemp("dbt") / "dbt"
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("target", "logs", "dbt_packages", "*.duckdb"))
    example = folder / "example"
    schema = example / "models" / "schema.yml"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(example)
        patch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
        (example / "models" / "visits.sql").write_text(f"select * from (values {visits()}) as v(ward, age, cost)")
        schema.write_text(schema.read_text() + VISITS)
        assert dbt("deps") == {}
        yield example


def visits() -> str:
    """Rows with NULLs, classes of one row, and a value that most classes lack."""
    draw = random.Random(1)
    values = (["'a'", "'b'", "null"], [1, 2], [1, 2, 5, "null"])
    rows = [[draw.choice(column) for column in values] for _ in range(30)]
    return ", ".join(f"({ward}, {age}, {cost})" for ward, age, cost in [*rows, ["'c'", 1, 9]])


VISITS = """
  - name: visits
    config: {tags: [broken]}
    data_tests:
      - sqlanon.k_anonymity: {name: k, arguments: {quasi: [ward, age], k: 5}}
      - sqlanon.l_diversity: {name: l, arguments: {quasi: [ward, age], sensitive: cost, l: 2.5}}
      - sqlanon.l_diversity: {name: d, arguments: {quasi: [ward, age], sensitive: cost, l: 4, kind: distinct}}
      - sqlanon.l_diversity: {name: e, arguments: {quasi: [ward, age], sensitive: cost, l: 3, kind: entropy}}
      - sqlanon.t_closeness: {name: t, arguments: {quasi: [ward, age], sensitive: cost, t: 0.2}}
      - sqlanon.t_closeness: {name: o, arguments: {quasi: [ward, age], sensitive: cost, t: 0.1, distance: ordered}}
"""


def dbt(*arguments: str) -> dict[str, str]:
    """Run dbt; what became of each node. A crash of dbt itself is raised."""
    done = dbtRunner().invoke([*arguments, "--quiet"])
    if done.exception:
        raise done.exception
    results = getattr(done.result, "results", None) or []
    return {result.node.name: str(result.status) for result in results}


def test_the_example_builds_an_anonymized_model_and_its_tests_pass(project: Path) -> None:
    statuses = dbt("build", "--exclude", "tag:broken")
    assert len(statuses) == 9
    assert set(statuses.values()) == {"success", "pass"}
    with duckdb.connect(str(project / "hospital.duckdb")) as con:
        for model in ("patients_public", "patients_by_python"):
            assert con.execute(f"select anon.k_anonymity('{model}', {QUASI})").fetchall() == [(4,)]
            assert "name" not in [column for column, *_ in con.execute(f"describe {model}").fetchall()]


def test_a_broken_promise_fails_the_test_of_it_alone(project: Path) -> None:
    dbt("build", "--exclude", "tag:broken")
    statuses = dbt("test", "--exclude", "tag:broken", "--vars", json.dumps({"tested_k": 5}))
    assert {name for name, status in statuses.items() if status == "fail"} == {
        name for name in statuses if "k_anonymity" in name
    }
    assert len(statuses) == 6


def test_the_failing_rows_are_the_violating_classes(project: Path) -> None:
    dbt("run", "--select", "visits")
    statuses = dbt("test", "--select", "visits", "--store-failures")
    assert set(statuses.values()) == {"fail"}
    with duckdb.connect(str(project / "hospital.duckdb")) as con:
        sqlanon.load(con)
        of = "'visits', ['ward', 'age']"
        expected = {"k": f"anon.violations({of}, k := 5)"} | {
            test: f"anon.model_violations({of}, 'cost', '{model}', {asked}, distance := '{distance}')"
            for test, model, asked, distance in (
                ("l", "l", 2.5, "equal"),
                ("d", "distinct_l", 4, "equal"),
                ("e", "entropy_l", 3, "equal"),
                ("t", "t", 0.2, "equal"),
                ("o", "t", 0.1, "ordered"),
            )
        }
        for test, query in expected.items():
            reached = {"k": "class_size", "t": "t", "o": "t"}.get(test, "l")
            found = con.execute(f"select ward, age, round({reached}, 6) from main_dbt_test__audit.{test}").fetchall()
            wanted = con.execute(f"select ward, age, round(columns(* exclude (ward, age)), 6) from {query}").fetchall()
            assert sorted(map(repr, found)) == sorted(map(repr, wanted)), test
            assert found


def test_a_misspelt_kind_is_refused(project: Path) -> None:
    schema = project / "models" / "schema.yml"
    text = schema.read_text()
    schema.write_text(text.replace("kind: entropy", "kind: entrpy"))
    try:
        with pytest.raises(Exception, match="must be frequency, distinct or entropy"):
            dbt("compile", "--select", "visits")
    finally:
        schema.write_text(text)
