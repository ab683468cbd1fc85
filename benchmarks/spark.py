"""The same release on Spark and on DuckDB: loss, CPU seconds and memory, as ratios.

    python benchmarks/spark.py [--rows 1000000 10000000] [--engines duckdb sail spark] [--k 10] [--kept] [--write FILE]

Rows of eight columns, each drawn on its own from the generator's table like Adult, lie in one Parquet file that all
engines read. A cell runs in a process of its own. `sail` is Spark's protocol without a JVM, in that process; `spark` is
Spark itself on `--cores` cores, whose JVM and Python workers are processes of their own and are counted too. Engines
that are not installed are left out. CPU seconds are what to compare: they start when the session does, and depend less
than seconds on whatever else the machine does.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cells import Cell, Table, parser, peak_memory, run, setting, write

import sqlanon
from sqlanon import samples

EIGHT = ["age", "workclass", "education", "marital_status", "race", "sex", "native_country", "occupation"]
KEPT = "salary_class"
"""A ninth column, released as it is where that is asked for: rows are then told apart by more than their labels."""
ENGINES = ("duckdb", "sail", "spark")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Print a row for each engine and size."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    options.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    options.add_argument("--k", type=int, default=10)
    options.add_argument("--effort", default="balanced")
    options.add_argument("--cores", type=int, default=2)
    options.add_argument("--kept", action="store_true", help=f"release {KEPT} too, as it is")
    asked = options.parse_args()
    made = setting()
    table = Table(
        {"engine": (8, None), "rows": (11, 0), "seconds": (8, 1), "CPU s": (8, 1), "/ DuckDB's": (6, 2)}
        | {"GCP": (8, 5), "loss / DuckDB's": (7, 4), "driver MiB": (7, 0), "JVM MiB": (7, 0), "workers MiB": (7, 0)}
    )
    with tempfile.TemporaryDirectory() as folder:
        for rows in asked.rows:
            file = Path(folder) / f"{rows}.parquet"
            _independent(file, rows)
            by_duckdb: Cell = {}
            for engine in asked.engines:
                if not _is_installed(engine):
                    continue
                cell = {"file": str(file), "k": asked.k, "effort": asked.effort, "cores": asked.cores}
                cell |= {"engine": engine, "kept": [KEPT] if asked.kept else []}
                found = {"engine": engine, "rows": rows} | run("spark", "cell", asked.timeout, **cell)
                by_duckdb = found if engine == "duckdb" else by_duckdb
                if "GCP" in found and "GCP" in by_duckdb:
                    found["loss / DuckDB's"] = found["GCP"] / by_duckdb["GCP"]
                    found["/ DuckDB's"] = found["CPU s"] / by_duckdb["CPU s"]
                table.add(found)
    if asked.write:
        write(asked.write, "spark", made, "\n".join(table.lines))


def _is_installed(engine: str) -> bool:
    has_sail = find_spec("pysail") is not None
    return {"duckdb": True, "sail": has_sail, "spark": find_spec("pyspark") is not None and not has_sail}[engine]


def _independent(file: Path, rows: int) -> None:
    """Write rows whose columns are each drawn on their own."""
    rng, every = np.random.default_rng(1), [*EIGHT, KEPT]
    with sqlanon.connect() as con:
        samples.create(con.duckdb, "adult", rows=100_000)
        drawn = con.sql(f"select {', '.join(every)} from adult")
        assert drawn is not None
        some = drawn.to_arrow_table()
    with pq.ParquetWriter(file, some.schema) as writer:
        for start in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - start)
            writer.write_table(pa.table({c: some[c].take(pa.array(rng.integers(0, len(some), size))) for c in every}))


def cell(file: str, k: int, effort: str, cores: int, engine: str, kept: list[str]) -> Cell:
    """One release, with what it took."""
    hierarchies = {
        column: {"rows": rows} for column, rows in samples.hierarchy_rows("adult").items() if column in EIGHT
    }
    asked: dict[str, Any] = {"quasi": EIGHT, "k": k, "effort": effort, "seed": 1, "keep": kept}
    if engine == "duckdb":
        return _by_duckdb(file, hierarchies, asked)
    with tempfile.TemporaryDirectory() as folder, Watch() as watch:
        start = time.perf_counter()
        session, stop = _session(engine, cores)
        import sqlanon.spark

        made = sqlanon.spark.anonymize(session.read.parquet(file), hierarchies=hierarchies, staging=folder, **asked)
        found = {"seconds": time.perf_counter() - start, "GCP": made.metrics()["gcp"]}
        watch.look()
        stop()
    return found | watch.found()


def _by_duckdb(file: str, hierarchies: dict[str, Any], asked: dict[str, Any]) -> Cell:
    with sqlanon.connect() as con:
        for column, definition in hierarchies.items():
            sqlanon.create_hierarchy(con, column, **definition)
        start = time.perf_counter()
        made = sqlanon.anonymize(con, f"from '{file}'", **asked)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "CPU s": time.process_time(), "GCP": made.metrics()["gcp"], "driver MiB": peak_memory()}


def _session(engine: str, cores: int) -> tuple[Any, Any]:
    """A session, and what ends it."""
    from pyspark.sql import SparkSession

    if engine == "sail":
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()

        def stop() -> None:
            session.stop()  # before the server, which it would look for otherwise
            server.stop()

        return session, stop
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", "3g")
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "8"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    return session, session.stop


class Watch:
    """CPU seconds and peak memory of this process and of all that it starts, looked at several times a second."""

    def __init__(self) -> None:
        self.cpu: dict[int, float] = {}
        self.peaks = {"JVM MiB": 0.0, "workers MiB": 0.0}
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.is_over.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.is_over.wait(0.25):
            self.look()

    def look(self) -> None:
        """Look at the processes that were started by this one."""
        own, parents, memory = os.getpid(), {}, dict.fromkeys(self.peaks, 0.0)
        facts: dict[int, tuple[str, float, float]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                except OSError:
                    continue  # it has ended
                parts = rest.split()
                parents[int(entry.name)] = int(parts[1])
                facts[int(entry.name)] = (
                    name,
                    (int(parts[11]) + int(parts[12])) / TICKS,
                    int(parts[21]) * PAGE / 2**20,
                )
        for pid, (name, seconds, resident) in facts.items():
            above = pid
            while above in parents and above != own:
                above = parents[above]
            if above == own and pid != own:
                self.cpu[pid] = seconds
                memory["JVM MiB" if "java" in name else "workers MiB"] += resident
        self.peaks = {kind: max(peak, memory[kind]) for kind, peak in self.peaks.items()}

    def found(self) -> Cell:
        """What was seen."""
        seen = {kind: peak for kind, peak in self.peaks.items() if peak}
        return {"CPU s": time.process_time() + sum(self.cpu.values()), "driver MiB": peak_memory(), **seen}


if __name__ == "__main__":
    main()
