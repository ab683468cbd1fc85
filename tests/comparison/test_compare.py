"""Comparing methods: a grid that is stored cell by cell, outlives what goes wrong in one, and goes on where it was."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from compared import QUASI, TWO, add_method

import sqlanon
from sqlanon import samples
from sqlanon.cli.main import main
from sqlanon.comparison import grid
from sqlanon.errors import DataError, InterruptedRunError, SqlanonError
from sqlanon.pipeline.metrics import METRICS, OURS
from sqlanon.progress.run import Run
from sqlanon.udfs.methods import METHODS

pytestmark = pytest.mark.usefixtures("patients", "zip_prefixes")


def stored(con: Any, columns: str = "method, k, status") -> list[Any]:
    return list(con.execute(f"select {columns} from anon.comparisons order by all").fetchall())


def test_every_method_runs_at_every_k_and_the_best_comes_first(con: duckdb.DuckDBPyConnection) -> None:
    before = con.execute("select table_name from duckdb_tables() order by all").fetchall()
    found = sqlanon.compare(con, "patients", QUASI, [2, 4], methods=TWO, metrics=["gcp", "time", "risk", "mean_risk"])
    frame = found.df()
    assert list(frame["k"]) == [2, 2, 4, 4]
    assert (frame["status"] == "done").all()
    for _, rows in frame.groupby("k"):
        assert rows["gcp"].is_monotonic_increasing
        assert sorted(rows["method"]) == TWO
    assert (frame["risk"] == 1 / frame["smallest_class"]).all()
    assert (frame["mean_risk"] == frame["classes"] / 16).all()
    assert stored(con) == [("kacpc", 2, "done"), ("kacpc", 4, "done"), ("mondrian", 2, "done"), ("mondrian", 4, "done")]
    assert con.execute("select table_name from duckdb_tables() order by all").fetchall() == before


def test_a_cell_measures_what_the_release_itself_measures(con: duckdb.DuckDBPyConnection) -> None:
    options: dict[str, Any] = {"sensitive": ["diagnosis"], "l": 2, "weights": {"age": 2.0}, "seed": 3}
    release = sqlanon.anonymize(con, "patients", QUASI, 4, method="kacpc", **options)
    (cell,) = sqlanon.compare(con, "patients", QUASI, 4, methods="kacpc", metrics="cm,gcp", **options).cells
    assert {metric: cell.measures[metric] for metric in release.metrics()} == pytest.approx(release.metrics())
    assert cell.proof == release.proof.as_dict()
    ((policy, l, seed, rows),) = stored(con, "policy, l, seed, rows")  # noqa: E741
    assert (json.loads(policy), l, seed, rows) == (release.policy.options(), 2, 3, 16)


def test_a_measure_of_several_sensitive_columns_is_one_metric_for_each(con: duckdb.DuckDBPyConnection) -> None:
    found = sqlanon.compare(con, "patients", QUASI, 4, methods=TWO, metrics="cm", sensitive=["Diagnosis", "ward"])
    assert found.metrics == ("cm(diagnosis)", "cm(ward)")
    assert found.df()["cm(ward)"].between(0, 1).all()


def test_metrics_are_the_measures_of_a_release(con: duckdb.DuckDBPyConnection) -> None:
    sqlanon.anonymize(con, "patients", QUASI, 4, method="wfcmeans", sensitive=["diagnosis"], name="pub")
    rows = con.execute("select measure, better from anon.utility('pub')").fetchall()
    assert {measure: better.split()[0] for measure, better in rows} | OURS == METRICS


def test_metrics_of_which_more_is_better_sort_the_other_way(con: duckdb.DuckDBPyConnection) -> None:
    found = sqlanon.compare(con, "patients", QUASI, 4, methods=[*TWO, "datafly"], metrics=["precision"])
    assert found.df()["precision"].is_monotonic_decreasing
    assert found.df()["precision"].nunique() > 1


def test_rows_that_are_suppressed_count_as_lost(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(1, "a")] * 8 + [(1, "b")] * 8 + [(50, "c"), (100, "d")]
    con.execute("create table odd (number integer, letter varchar)")
    con.executemany("insert into odd values (?, ?)", rows)
    options = {"method": "kaca", "threshold": 0.5}
    release = sqlanon.anonymize(con, "odd", ["number", "letter"], 2, **options)  # type: ignore[arg-type]
    printed = release.relation().fetchall()
    assert printed.count(("*", "*")) == 2
    (cell,) = sqlanon.compare(con, "odd", ["number", "letter"], 2, methods="kaca", threshold=0.5).cells
    assert cell.measures["gcp"] == pytest.approx(2 / 18)


def test_the_same_call_runs_nothing_again(con: duckdb.DuckDBPyConnection, ran: list[tuple[str, int]]) -> None:
    first = sqlanon.compare(con, "patients", QUASI, [2, 4], methods=TWO)
    assert len(ran) == 4
    again = sqlanon.compare(
        con, "select * from patients order by name desc", QUASI, [2, 4], methods=TWO, metrics="lm,gcp"
    )
    assert len(ran) == 4
    assert sorted(map(str, again.cells)) == sorted(map(str, first.cells))
    sqlanon.compare(con, "patients", QUASI, [2, 4, 8], methods=TWO)
    assert ran[4:] == [("kacpc", 8), ("mondrian", 8)]
    sqlanon.compare(con, "patients", QUASI, [2], methods=TWO, fresh=True)
    assert ran[6:] == [("kacpc", 2), ("mondrian", 2)]
    assert len(stored(con)) == 6


@pytest.mark.parametrize(
    "change",
    [
        "update patients set age = age + 1 where name = 'Tom Okafor'",
        "insert into patients from patients limit 1",
        "alter table patients alter age type double",
        "update anon.comparisons set sqlanon = '0.0.0'",
    ],
)
def test_other_rows_or_another_version_run_again(
    con: duckdb.DuckDBPyConnection, ran: list[tuple[str, int]], change: str
) -> None:
    sqlanon.compare(con, "patients", QUASI, 2, methods="kacpc")
    con.execute(change)
    sqlanon.compare(con, "patients", QUASI, 2, methods="kacpc")
    assert ran == [("kacpc", 2)] * 2
    assert len(stored(con)) == 2


def test_another_hierarchy_or_policy_runs_again(con: duckdb.DuckDBPyConnection, ran: list[tuple[str, int]]) -> None:
    def rows(middle: str) -> list[list[str]]:
        values = [value for (value,) in con.execute("select distinct zip from patients order by zip").fetchall()]
        return [[zip_, middle if zip_ < "4360" else "rest", "*"] for zip_ in values]

    for middle in ("low", "lower"):
        sqlanon.create_hierarchy(con, "zip", rows=rows(middle), replace=True)
        sqlanon.compare(con, "patients", QUASI, 2, methods="kacpc")
    assert len(ran) == 2
    sqlanon.compare(con, "patients", QUASI, 2, methods="kacpc", seed=1)
    sqlanon.compare(con, "patients", QUASI, 2, methods="kacpc", hierarchies={"zip": None})
    assert len(ran) == 4


def test_a_method_that_takes_too_long_is_a_marked_cell(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    add_method(monkeypatch, "endless")
    found = sqlanon.compare(con, "patients", QUASI, [2, 4], methods=["endless", "kacpc"], timeout=0.2)
    assert [cell.method for cell in found.ranked(4)] == ["kacpc", "endless"]
    late = stored(con, "status, message, time_limit, seconds >= 0.2")[-2:]
    assert late == [("timeout", "stopped after 0.2 s", 0.2, True)] * 2
    assert "stopped after 0.2 s" in str(found)
    kept = stored(con, "k, created_at")
    sqlanon.compare(con, "patients", QUASI, [2, 4], methods=["endless", "kacpc"], timeout=0.1)
    assert stored(con, "k, created_at") == kept
    sqlanon.compare(con, "patients", QUASI, [2, 4], methods=["endless", "kacpc"], timeout=0.3)
    assert stored(con, "time_limit") == [(0.2,)] * 2 + [(0.3,)] * 2
    assert ran == [("kacpc", 2), ("kacpc", 4)]


def test_a_time_limit_stops_nobody_elses_run(con: duckdb.DuckDBPyConnection) -> None:
    problems: list[Exception] = []

    def elsewhere() -> None:
        try:
            with con.cursor() as cursor:
                sqlanon.anonymize(cursor, "patients", QUASI, 4, method="kaca")
        except Exception as problem:
            problems.append(problem)

    with Run(limit=0) as stopwatch:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert problems == []
        with pytest.raises(DataError, match="kaca was stopped after 0 seconds"):
            sqlanon.anonymize(con, "patients", QUASI, 4, method="kaca")
    assert stopwatch.is_over
    sqlanon.anonymize(con, "patients", QUASI, 4, method="kaca")


def test_a_method_that_fails_is_a_marked_cell_without_anybodys_value(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(monkeypatch, "broken", ValueError("Ada Lindqvist, 24"))
    add_method(monkeypatch, "honest", SqlanonError("there are too few"))
    found = sqlanon.compare(
        con, "patients", QUASI, 4, methods=["broken", "kacpc", "honest", "sequential"], block_size=500
    )
    assert {cell.method: (cell.status, cell.message) for cell in found.cells} == {
        "broken": ("failed", "ValueError while it ran"),
        "kacpc": ("done", None),
        "honest": ("failed", "there are too few"),
        "sequential": ("done", None),
    }
    assert "Ada" not in str(found) + str(stored(con, "*")) + json.dumps(found.as_dict())
    sqlanon.compare(con, "patients", QUASI, 4, methods=["broken", "honest"])
    assert len(stored(con)) == 6  # another policy: without a block size


def test_a_policy_that_one_method_refuses_is_that_methods_failure(con: duckdb.DuckDBPyConnection) -> None:
    whole = next(name for name, method in METHODS.items() if method.block_size is None and name != "anatomy")
    found = sqlanon.compare(con, "patients", QUASI, 4, methods=[whole, "kacpc"], block_size=500)
    assert [(cell.method, cell.is_done) for cell in found.ranked(4)] == [("kacpc", True), (whole, False)]
    assert f"block_size does not apply to {whole}" in str(found)


def test_a_method_with_another_promise_is_labelled_and_no_rival(con: duckdb.DuckDBPyConnection) -> None:
    options: dict[str, Any] = {"sensitive": ["diagnosis"], "l": 2, "metrics": ["average_class_size", "time"]}
    found = sqlanon.compare(con, "patients", QUASI, 4, methods=["anatomy", "kacpc"], **options)
    first, last = found.ranked(4)
    assert (first.method, last.method, last.status) == ("kacpc", "anatomy", "done")
    assert last.note.startswith("a different promise")
    assert "risk" not in last.measures
    assert found.is_best(first, "time")
    assert not found.is_best(last, "time")
    assert "anatomy †" in [text.get_text() for text in found.plot("loss_by_k").axes[0].texts]


def test_an_interrupted_grid_keeps_what_is_done_and_goes_on(
    con: duckdb.DuckDBPyConnection, ran: list[tuple[str, int]]
) -> None:
    def stop(method: str, done: int, total: int, facts: dict[str, float]) -> None:
        if method == "kaca":
            raise InterruptedRunError("Interrupted")

    asked = {"methods": ["kacpc", "kaca"], "k": [2, 4]}
    with Run(stop), pytest.raises(KeyboardInterrupt):
        sqlanon.compare(con, "patients", QUASI, **asked)  # type: ignore[arg-type]
    assert stored(con) == [("kacpc", 2, "done")]
    assert con.execute("select count(*) from duckdb_tables() where database_name = 'temp'").fetchall() == [(0,)]
    assert len(sqlanon.compare(con, "patients", QUASI, **asked).cells) == 4  # type: ignore[arg-type]
    assert ran == [("kacpc", 2), ("kaca", 2), ("kacpc", 4), ("kaca", 4)]


def test_the_command_line_shows_what_was_done_before_an_interrupt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(method: str, done: int, total: int, facts: dict[str, float]) -> None:
        if method == "kaca":
            raise InterruptedRunError("Interrupted")

    with sqlanon.connect(tmp_path / "h.duckdb") as con:
        samples.create(con.duckdb, "patients")
    command = ["compare", "patients", "--quasi", "age,sex", "--k", "4", "--methods", "kacpc,kaca"]
    command += ["--db", str(tmp_path / "h.duckdb")]
    with Run(stop):
        assert main(command) == 130
    said = capsys.readouterr()
    assert re.search(r"^kacpc +0\.", said.out, re.MULTILINE)
    assert said.err == "sqlanon: interrupted with 1 of 2 cells done: the same command continues from here\n"
    assert main([*command, "--json"]) == 0
    assert {cell["method"] for cell in json.loads(capsys.readouterr().out)["cells"]} == {"kacpc", "kaca"}


def test_a_sample_is_drawn_once_by_the_seed_whatever_the_order(con: duckdb.DuckDBPyConnection) -> None:
    con.execute('create table many as select i % 40 as age, \'x\' as "a ""b"" c; drop" from range(2000) t(i)')
    quasi = ["age", 'a "b" c; drop']
    found = sqlanon.compare(con, "many", quasi, 2, methods=TWO, sample=400)
    assert {cell.proof["rows"] for cell in found.cells} == {400}
    turned = sqlanon.compare(con, "from many order by random()", quasi, 2, methods="kacpc", sample=400)
    assert turned.id == found.id
    other = sqlanon.compare(con, "many", quasi, 2, methods="kacpc", sample=400, seed=1)
    assert other.id != found.id
    assert sqlanon.compare(con, "many", quasi, 2, methods="kacpc", sample=9999).rows == 2000


def test_copies_of_a_row_are_sampled_one_by_one(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table two as select i % 2 as age from range(1000) t(i)")
    prepared = sqlanon.compare(con, "two", "age", 2, methods="kacpc", sample=100)
    with grid._same_rows(prepared) as table:
        counts = con.execute(f"select count(*) from {table} group by age").fetchall()
    assert all(30 < count < 70 for (count,) in counts)
    assert len(counts) == 2


def test_a_callers_transaction_is_refused_and_left_open(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("begin; create table mine (a int)")
    with pytest.raises(SqlanonError, match="commit or roll back"):
        sqlanon.compare(con, "patients", QUASI, 4, methods=TWO)
    con.execute("commit; from mine")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"methods": "kaka"}, r"Unknown method 'kaka' .*Did you mean 'kaca'\?"),
        ({"methods": []}, "methods is empty"),
        ({"metrics": "gpc"}, r"Unknown metric 'gpc'\. Did you mean 'gcp'\?"),
        ({"metrics": ""}, "metrics is empty"),
        ({"metrics": "cm"}, "cm looks at a sensitive column"),
        ({"k": []}, r"k is \[\]; it must be whole numbers"),
        ({"k": "5,10"}, "k is '5,10'; it must be whole numbers"),
        ({"k": [2, 2.5]}, r"k is \[2, 2.5\]; it must be whole numbers"),
        ({"k": [1, 4]}, "k is 1; it must be a whole number of 2 or more"),
        ({"l": 2}, "l needs a sensitive column"),
        ({"beta": 1}, "'beta' is an option of none of kacpc, mondrian"),
        ({"colour": 1}, "Unknown option 'colour'"),
        ({"sample": 1}, "sample is 1; it must be a whole number of 2 or more"),
        ({"timeout": "long"}, "timeout is 'long'; it must be a number of seconds"),
        ({"quasi": ["agee"]}, r"Column 'agee' is not in 'patients' .*Did you mean 'age'\?"),
        ({"hierarchies": {"zip": "zap"}}, r"Unknown hierarchy 'zap'"),
        ({"source": "patient"}, r"'patient' does not exist. Did you mean 'patients'\?"),
        ({"source": "from patients limit 0"}, "has no rows: there is nothing to compare"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_an_error_before_anything_runs(
    con: duckdb.DuckDBPyConnection, changed: dict[str, Any], message: str
) -> None:
    asked: dict[str, Any] = {"source": "patients", "quasi": QUASI, "k": 4, "methods": TWO} | changed
    with pytest.raises(SqlanonError, match=message):
        sqlanon.compare(con, **asked)
    assert stored(con) == []
