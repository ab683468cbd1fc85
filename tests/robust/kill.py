"""Kill a process at random moments of an action on a database file: the file then has the old state or the new, whole.

python tests/robust/kill.py --moments 100
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

import sqlanon

QUASI = ["age", "zip"]
SOURCE = "people"
ROWS = 1000
State = Any


def prepare(folder: Path) -> None:
    """A database with people and two releases, one as a view, and a published file."""
    with sqlanon.connect(folder / "people.duckdb") as con:
        con.execute(
            f"create table {SOURCE} as select (i * 7919) % 90 as age, ((i * 104729) % 50)::varchar as zip, "
            f"'illness ' || (i % 11) as illness from range({ROWS}) as r(i)"
        )
        for name, kind, k in (("seen", "view", 5), ("kept", "table", 10)):
            sqlanon.anonymize(con, SOURCE, QUASI, k, method="kacpc", sensitive=["illness"], name=name, kind=kind)
        sqlanon.open_release(con, "kept").publish(folder / "out.duckdb")


def create(con: sqlanon.Connection, folder: Path) -> None:
    sqlanon.anonymize(con, SOURCE, QUASI, 8, method="kacpc", sensitive=["illness"], name="new", kind="view")


def replace(con: sqlanon.Connection, folder: Path) -> None:
    options: dict[str, Any] = {"method": "kacpc", "sensitive": ["illness"], "name": "seen", "kind": "view"}
    sqlanon.anonymize(con, f"from {SOURCE}", QUASI, 8, replace=True, **options)


def drop(con: sqlanon.Connection, folder: Path) -> None:
    sqlanon.drop_release(con, "seen")
    con.execute("checkpoint")


def refresh(con: sqlanon.Connection, folder: Path) -> None:
    con.execute("begin")
    con.execute(f"insert into {SOURCE} select age, zip, illness from {SOURCE} limit {ROWS // 4}")
    sqlanon.refresh(con, "seen")
    con.execute("commit")
    con.execute("checkpoint")


def publish(con: sqlanon.Connection, folder: Path) -> None:
    sqlanon.open_release(con, "seen").publish(folder / "out.duckdb", replace=True)


def publish_new(con: sqlanon.Connection, folder: Path) -> None:
    sqlanon.open_release(con, "seen").publish(folder / "new.parquet")


def hierarchy(con: sqlanon.Connection, folder: Path) -> None:
    rows = [(str(zip_code), f"{zip_code // 10}*", "*") for zip_code in range(50)]
    sqlanon.create_hierarchy(con, "zip", rows=rows)
    con.execute("checkpoint")


ACTIONS: dict[str, Callable[[sqlanon.Connection, Path], None]] = {
    "create": create,
    "replace": replace,
    "drop": drop,
    "refresh": refresh,
    "publish": publish,
    "publish_new": publish_new,
    "hierarchy": hierarchy,
}
"""What is killed. An action is one line here; it starts from what `prepare` left."""


def state(folder: Path) -> State:
    """All that a reader finds in the files, and whether it is whole: every release proves itself and has its rows."""
    with sqlanon.connect(folder / "people.duckdb") as con:
        found = con.execute("select name, kind, k, rows from anon.releases order by name").fetchall()
        for name, _, _, rows in found:
            release = sqlanon.open_release(con, name)
            assert release.verify() == release.proof
            assert con.execute(f"select count(*) from {name}").fetchall() == [(rows,)]
            assert con.execute(f"select count(*) from anon.utility('{name}')").fetchall()[0][0] > 0
        stored = con.execute(
            "select count(*) filter (where table_name ~ '^release_[0-9]+$'), "
            "count(*) filter (where schema_name = 'main') from duckdb_tables()"
        ).fetchall()
        measured = con.execute("select distinct release from anon.release_labels order by all").fetchall()
        nodes = con.execute("select name, count(*) from anon.hierarchy_nodes group by all order by all").fetchall()
        trees = con.execute("select name, leaves from anon.hierarchies order by all").fetchall()
        people = con.execute(f"select count(*), sum(age), count(distinct illness) from {SOURCE}").fetchall()
    published = {path.name: _published(path) for path in sorted(folder.glob("*.*")) if _is_published(path)}
    return found, stored, measured, nodes, trees, people, published


def _is_published(path: Path) -> bool:
    return path.suffix in (".duckdb", ".parquet") and path.name != "people.duckdb" and not path.name.startswith(".")


def _published(path: Path) -> Any:
    """What a published file says of itself; what cannot be read whole fails here."""
    with duckdb.connect() as con:
        if path.suffix == ".parquet":
            return con.execute(
                "select count(*), count(distinct (age, zip)) from read_parquet($1)", [str(path)]
            ).fetchall()
        con.execute(f"attach '{path}' as file (read_only)")
        return con.execute("select property, k, rows, classes from file.about").fetchall()


def _child(action: str, folder: Path, ready: Connection) -> None:
    """Everything that is slow about starting comes first; then the action, from the moment that the parent says so."""
    os.setpgrp()
    with sqlanon.connect(folder / "people.duckdb") as con:
        ready.send("ready")
        ready.recv()
        ACTIONS[action](con, folder)
        ready.send("done")


@dataclass(frozen=True)
class Moment:
    """One try: which action, when it was killed, and what was found afterwards."""

    action: str
    seconds: float
    outcome: str


def run(action: str, folder: Path, kill_after: float | None = None) -> float:
    """Carry the action out in a child, killed after this many seconds if it is not done by then; how long it took."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kill", "pyarrow", "pandas"])
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(action, folder, there))
    child.start()
    there.close()
    try:
        assert here.recv() == "ready"
        start = time.monotonic()
        here.send("go")
        if here.poll(120 if kill_after is None else kill_after):
            assert here.recv() == "done"
        else:
            assert kill_after is not None, f"{action} took more than two minutes"
        took = time.monotonic() - start
    finally:
        if kill_after is None:
            child.join(60)
        child.kill()
        child.join(60)
    assert child.exitcode in (0, -signal.SIGKILL)
    return took


def _copied(origin: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in origin.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def kill_at_random(origin: Path, folder: Path, action: str, moments: int, rng: random.Random) -> list[Moment]:
    """Kill the action at random moments, spread over as long as it takes; raise where a file is neither old nor new."""
    before = state(_copied(origin, folder / "before"))
    whole = _copied(origin, folder / "whole")
    seconds = run(action, whole)
    after = state(whole)
    assert before != after, f"{action} changes nothing, so killing it tells nothing"
    tried: list[Moment] = []
    for number in range(moments):
        at = seconds * 1.2 * (number + rng.random()) / moments
        copy = _copied(origin, folder / f"moment_{number}")
        run(action, copy, kill_after=at)
        found = state(copy)
        assert found in (before, after), f"{action}, killed after {at:.3f} s, left neither old nor new"
        if found == before:
            run(action, copy)  # the next run works
            assert state(copy) == after
        tried.append(Moment(action, at, "old" if found == before else "new"))
    return tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=100, help="random moments for each action (default 100)")
    parser.add_argument("--actions", default=",".join(ACTIONS), help=f"default {','.join(ACTIONS)}")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for action in arguments.actions.split(","):
        with tempfile.TemporaryDirectory() as origin, tempfile.TemporaryDirectory() as folder:
            prepare(Path(origin))
            tried = kill_at_random(Path(origin), Path(folder), action, arguments.moments, random.Random(arguments.seed))
        print(action, f"{arguments.moments} moments:", dict(Counter(moment.outcome for moment in tried)), flush=True)


if __name__ == "__main__":
    main()
