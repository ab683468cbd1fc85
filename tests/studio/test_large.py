"""A million rows: every screen answers within a second, and what takes longer is counted in the background."""

import resource
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from asking import Client, said

from sqlanon import samples

ROWS = 1_000_000
PROMPT = 3.0
"""Seconds for what takes one when the machine does nothing else."""
QUASI = ("age", "workclass", "education", "marital_status", "race", "sex")
STEPS = ("data", "columns", "columns/live", "hierarchies", "hierarchies/1", "promise", "result", "release", "strip")


@pytest.fixture
def million(opened: Callable[..., Client], tmp_path: Path) -> Client:
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as con:
        samples.create(con, "adult", rows=ROWS)
    return opened(path).enter()


def slowest(client: Client) -> tuple[float, str]:
    """The longest that a screen takes, of three tries each the best: other processes are not the studio's."""
    found = []
    for step in STEPS:
        times = []
        for _ in range(3):
            start = time.monotonic()
            assert client.ask("GET", f"{client.base}/t/adult/{step}").status_code in (200, 202)
            times.append(time.monotonic() - start)
        found.append((min(times), step))
    return max(found)


def test_every_screen_answers_within_a_second(million: Client) -> None:
    assert slowest(million)[0] < PROMPT
    assert "1,000,000 rows and 9 columns" in said(million.get("/t/adult/data"))
    desk = million.server.studio.desks["adult"]
    names = million.server.studio.profile(desk.source, wait=60).value.names
    million.post("/t/adult/columns", {f"role-{names.index(name)}": "quasi" for name in QUASI})
    assert slowest(million)[0] < PROMPT
    million.post("/t/adult/run", {"k": "10", "effort": "fast"})
    assert slowest(million)[0] < PROMPT
    assert million.wait(300).problem is None
    assert slowest(million)[0] < PROMPT
    million.post("/t/adult/result/attacks", {"run": "1"})
    assert slowest(million)[0] < PROMPT
    million.server.studio.background.close()


def test_memory_stays_bounded_over_many_runs(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    clinic.post("/t/patients/columns/suggest")
    for number in range(16):
        k = str(2 + number % 5)
        clinic.post("/t/patients/run", {"k": "other", "k_other": k, "effort": "fast"})
        assert clinic.wait().problem is None
        clinic.get("/t/patients/result")
        if number == 9:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(list(clinic.server.studio.desks["patients"].runs)) == 8
    assert after - before < 100_000  # kilobytes
