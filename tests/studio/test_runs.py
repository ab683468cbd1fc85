"""Runs: cancelled within a second, two at once, and bounded in what they keep."""

import threading
import time
from collections.abc import Iterator

import duckdb
import pytest
from asking import Client, said
from sweeping import IS_WHOLE

from sqlanon import samples
from sqlanon.reporting.columns import Column, Step
from sqlanon.studio import runs as running
from sqlanon.studio import telling
from sqlanon.studio.gate import BusyError, Gate
from sqlanon.studio.serving import Server
from sqlanon.studio.state import Studio

QUASI = ("age", "workclass", "education", "marital_status", "race", "sex")


PROMPT = 3.0
"""Seconds for what takes one when the machine does nothing else."""


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """15,000 people, and six quasi-identifiers chosen."""
    path = tmp_path_factory.mktemp("census") / "census.duckdb"
    with duckdb.connect(str(path)) as con:
        samples.create(con, "adult", rows=15_000)
        con.execute("create table again as from adult")
    server = Server(Studio([str(path)], path.parent / "out"))
    server.studio.warm()
    server.studio.background.ask(("warm",), lambda: None, wait=120)
    client = Client(server).enter()
    for slug in ("adult", "again"):
        names = (
            client.get(f"/t/{slug}/data")
            and client.server.studio.profile(client.server.studio.desks[slug].source, wait=30).value.names
        )
        client.post(f"/t/{slug}/columns", {f"role-{names.index(name)}": "quasi" for name in QUASI})
    yield client
    server.studio.close()
    server.socket.close()


@pytest.mark.parametrize("after", [0.0, 0.3, 2.0, 4.0] if IS_WHOLE else [0.0, 0.3, 3.0])
def test_cancel_works_within_a_second_wherever_the_run_is(census: Client, after: float) -> None:
    census.post("/t/adult/run", {"k": "5", "effort": "best"})
    (job,) = census.server.studio.jobs.running()
    time.sleep(after)
    census.post(f"/t/adult/jobs/{job.number}/cancel")
    census.wait(5)
    assert job.ended - job.cancelled < PROMPT
    assert job.problem == "Cancelled. Nothing was stored."
    assert "Cancelled" in said(census.get(f"/t/adult/promise?job={job.number}"))
    census.post("/t/adult/run", {"k": "50", "effort": "fast"})
    assert census.wait().problem is None


def test_two_runs_at_once_do_not_disturb_each_other(census: Client) -> None:
    census.post("/t/adult/run", {"k": "5", "effort": "best"})
    census.post("/t/adult/run", {"k": "10", "effort": "fast"})
    census.post("/t/again/run", {"k": "20", "effort": "fast"})
    best, first, second = census.server.studio.jobs.running()[:3]
    time.sleep(0.5)
    best.cancel()
    census.wait()
    assert best.problem is not None
    assert (first.problem, second.problem) == (None, None)
    assert (first.result.facts.k, second.result.facts.k) == (10, 20)
    assert first.result.policy.k == 10


def test_progress_is_of_the_run_itself(census: Client) -> None:
    census.post("/t/adult/run", {"k": "5", "effort": "best"})
    census.post("/t/again/run", {"k": "5", "effort": "best"})
    slow, other = census.server.studio.jobs.running()
    time.sleep(3)
    page = census.get(f"/t/adult/jobs/{slow.number}", headers={"hx-request": "true"})
    assert "so far" in said(page)
    assert 0 < slow.share < 1
    other.cancel()
    time.sleep(0.5)
    assert not slow.is_over
    slow.cancel()
    census.wait(5)


@pytest.mark.parametrize(("limit", "most"), [("KEPT", 2), ("KEPT_ROWS", 40)])
def test_old_runs_are_dropped_from_memory(
    clinic: Client, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(running, limit, most)
    clinic.get("/t/patients/data")
    clinic.post("/t/patients/columns/suggest")
    for k in ("2", "3", "4"):
        clinic.post("/t/patients/run", {"k": "other", "k_other": k, "effort": "fast"})
        assert clinic.wait().problem is None
    assert [result.number for result in clinic.server.studio.desks["patients"].runs] == [2, 3]
    assert clinic.get("/t/patients/result?run=1").status_code == 404


def test_a_hierarchy_that_is_edited_does_not_change_an_earlier_run(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    clinic.post("/t/patients/columns", {"role-1": "quasi", "role-2": "quasi"})
    for way in ({"way": "prefix"}, {"way": "rows", "rows": "\n".join(f"{zip_}\t*" for zip_ in ZIPS)}):
        clinic.post("/t/patients/hierarchies/2", way)
        clinic.post("/t/patients/run", {"k": "5", "effort": "fast"})
        assert clinic.wait().problem is None
    first, second = clinic.server.studio.desks["patients"].runs
    assert first.policy.hierarchies["zip"] != second.policy.hierarchies["zip"]
    clinic.post("/t/patients/release/publish", {"file": "first.csv", "run": "1"})
    assert clinic.wait().problem is None
    clinic.post("/t/patients/release/report", {"file": "first.html", "run": "1"})
    assert clinic.wait().problem is None


ZIPS = ("4350", "4352", "4355", "4361", "4364", "4410", "4413", "4420", "4427")


def test_pages_answer_while_a_release_is_stored(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    clinic.post("/t/patients/columns/suggest")
    workspace = clinic.server.studio.workspaces[0]
    with workspace.writing("a test"):
        for step in ("data", "columns", "hierarchies", "promise", "result", "release"):
            start = time.monotonic()
            answer = clinic.get(f"/t/patients/{step}")
            assert answer.status_code == 200, step
            assert time.monotonic() - start < PROMPT


def test_a_writer_goes_before_work_that_can_wait() -> None:
    gate, order = Gate(), []
    with gate.reading():
        writer = threading.Thread(target=lambda: _write(gate, order))
        writer.start()
        time.sleep(0.1)
        reader = threading.Thread(target=lambda: _read(gate, order, 10))
        reader.start()
        _read(gate, order, 0.5)
    writer.join(5)
    reader.join(5)
    assert order == [0.5, "written", 10]
    with gate.writing("a test"), pytest.raises(BusyError, match="a test"), gate.reading(0.1):
        pass


def _write(gate: Gate, order: list[object]) -> None:
    with gate.writing("a test"):
        order.append("written")


def _read(gate: Gate, order: list[object], wait: float) -> None:
    with gate.reading(wait):
        order.append(wait)


def test_the_words_for_a_column_account_for_every_row() -> None:
    shares = {"as it was": 0.01, "level 1 of 5": 0.15, "level 2 of 5": 0.01, "level 4 of 5": 0.16, "anything (*)": 0.67}
    steps = tuple(Step(name, place / 4, share) for place, (name, share) in enumerate(shares.items()))
    said = telling._loss(Column("zip", "zip", 0.77, 0.01, steps, None), None)
    assert said.endswith("67.0 % anything (*)")
    assert said.count("%") == len(shares)
