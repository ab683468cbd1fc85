"""An hour with the studio in a few minutes: how long each screen takes, and whether memory grows.

    python benchmarks/studio.py [--rows 1000000] [--rounds 40]

Two browser tabs work on one table at the same time. In each round both choose other columns and another k, look at
every screen, run, look at the result while quick runs go on, and now and then attack, publish and store. Every answer
should take less than a second. The first quarter of the rounds fills what is kept of runs; from then on memory should
stay as it is.
"""

from __future__ import annotations

import argparse
import http.client
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlencode

QUASI = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country")
SCREENS = ("data", "columns", "columns/live", "hierarchies", "hierarchies/1", "promise", "result", "release", "strip")
KS = (5, 10, 11, 20, 50)
PAUSE = 0.1


class Tab:
    """One tab of a browser, in one session with the others."""

    def __init__(self, port: int, base: str, cookie: str, times: dict[str, list[float]]) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.base, self.times = base, times
        self.headers = {"cookie": cookie, "sec-fetch-site": "same-origin", "origin": f"http://127.0.0.1:{port}"}

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> str:
        """One request; where it leads, or the page."""
        body = urlencode(form or {}) if method == "POST" else None
        headers = self.headers | ({"content-type": "application/x-www-form-urlencoded"} if body is not None else {})
        started = time.monotonic()
        address = f"{self.base}/t/adult/{path}"
        try:
            self.connection.request(method, address, body, headers)
            answer = self.connection.getresponse()
        except ConnectionError:  # it was idle for long; a browser asks again
            self.connection.close()
            self.connection.request(method, address, body, headers)
            answer = self.connection.getresponse()
        page = answer.read().decode()
        self.times[path.partition("?")[0]].append(time.monotonic() - started)
        assert answer.status in (200, 202, 303, 400), (path, answer.status)
        return answer.headers.get("location") or page

    def look(self) -> None:
        """Every screen once."""
        for screen in SCREENS:
            self.ask("GET", screen)


def play(tab: Tab, number: int, rounds: int, memory: list[float]) -> None:
    """What one person does in some rounds."""
    for turn in range(rounds):
        chosen = {f"role-{j}": "quasi" if (turn + j + number) % 4 else "out" for j in range(len(QUASI))}
        tab.ask("POST", "columns", chosen)
        tab.ask("POST", f"hierarchies/{turn % 2}", {"way": "intervals" if turn % 2 else "none", "widths": "5, 10"})
        tab.look()
        place = tab.ask("POST", "run", {"k": "other", "k_other": str(KS[(turn + number) % len(KS)]), "effort": "fast"})
        job = place.rpartition("job=")[2]
        while job.isdigit() and "Cancel" in tab.ask("GET", f"promise?job={job}"):
            tab.ask("GET", "strip")
            time.sleep(PAUSE)
        tab.look()
        if turn % 5 == 2:
            tab.ask("POST", "result/attacks")
        if turn % 5 == 3:
            tab.ask("POST", "release/publish", {"file": f"tab{number}.parquet", "confirm": "1"})
        if turn % 5 == 4:
            tab.ask("POST", "release/store", {"name": f"public_{number}", "kind": "table", "confirm": "1"})
        tab.look()
        memory.append(resident())


def resident() -> float:
    """MiB of memory that this process has now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def main() -> None:
    """Open the studio on a table, and let two tabs play."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args()
    import duckdb

    from sqlanon import samples
    from sqlanon.studio.serving import Server
    from sqlanon.studio.state import Studio

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.duckdb"
        with duckdb.connect(str(path)) as con:
            samples.create(con, "adult", rows=asked.rows)
        server = Server(Studio([str(path)], Path(folder) / "out"))
        serving = threading.Thread(target=server.run, daemon=True)
        serving.start()
        times: dict[str, list[float]] = defaultdict(list)
        memory: list[list[float]] = [[], []]
        tabs = [Tab(server.port, server.keys.path, server.keys.cookie().split(";")[0], times) for _ in memory]
        server.studio.profile(server.studio.desks["adult"].source, wait=120)
        playing = [
            threading.Thread(target=play, args=(tab, number, asked.rounds, memory[number]))
            for number, tab in enumerate(tabs)
        ]
        for thread in playing:
            thread.start()
        for thread in playing:
            thread.join()
        server.stop()
        serving.join(30)
    show(times, [max(pair) for pair in zip(*memory, strict=False)])
    sys.stdout.flush()
    os._exit(0)  # quick runs in the background are inside the database and cannot be waited for


def show(times: dict[str, list[float]], memory: list[float]) -> None:
    """A table of the screens, and the memory of each quarter."""
    print("| screen | requests | median s | slowest s |\n| --- | --- | --- | --- |")
    for screen, taken in sorted(times.items()):
        print(f"| {screen} | {len(taken)} | {statistics.median(taken):.3f} | {max(taken):.3f} |")
    quarters = [memory[len(memory) * i // 4 : len(memory) * (i + 1) // 4] for i in range(4)]
    medians = [f"{statistics.median(quarter):.0f}" for quarter in quarters if quarter]
    print(f"\nMemory after a round, median of each quarter of the rounds, MiB: {', '.join(medians)}")


if __name__ == "__main__":
    main()
