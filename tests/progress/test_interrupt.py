"""Ctrl-C in the middle of a long run: it stops soon, nothing is stored, and the connection goes on working."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import signal
import duckdb
import sqlanon
from sqlanon.progress.run import Run
from sqlanon import samples
from sqlanon.progress import run

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
con = duckdb.connect()
con.execute("set enable_progress_bar = false")  # DuckDB's own, on a machine that takes seconds
sqlanon.load(con)
samples.create(con, "adult", rows=120000)
QUASI = [
    "age", "workclass", "education", "marital_status", "race", "sex", "native_country", "occupation"
]
{before}

def told(method, done, total, facts):
    print("running", flush=True)

try:
    with Run(told):
        {call}
    print("finished")
except KeyboardInterrupt:
    print("KeyboardInterrupt")
except BaseException as problem:
    print(type(problem).__name__, str(problem).splitlines()[0])
{after}
print(con.execute("select count(*) from adult").fetchall())
print(con.execute("select count(*) from anon.releases").fetchall())
print(con.execute("select table_name from duckdb_tables() where schema_name = 'main' order by 1").fetchall())
con.execute("begin; create table more as select 1; commit")
print(con.execute("select count(*) from anon.anonymize('from adult limit 50', quasi := ['sex'], k := 5)").fetchall())
"""
PYTHON_CALL = "sqlanon.anonymize(con, 'adult', quasi=QUASI, k=5, method='kaca', name='pub', kind='view')"
QUERY_CALL = "sqlanon.anonymize(con, 'select * from adult', quasi=QUASI, k=5, method='kaca', name='pub')"
SQL_CALL = (
    "con.execute(\"create table pub as from anon.anonymize('adult', quasi := $1, k := 5, method := 'kaca')\", [QUASI])"
)


def interrupted(call: str, before: str = "", after: str = "") -> list[str]:
    """What the program printed after its first sign of progress, when it is interrupted then."""
    program = PROGRAM.format(call=call, before=before, after=after)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert err == ""
    assert process.returncode == 0
    return [line for line in out.splitlines() if line != "running"]


LEFT = ["[(120000,)]", "[(0,)]", "[('adult',)]", "[(50,)]"]


@pytest.mark.parametrize("call", [PYTHON_CALL, QUERY_CALL], ids=["table", "query"])
def test_ctrl_c_stops_a_python_run_and_leaves_everything_as_it_was(call: str) -> None:
    assert interrupted(call) == ["KeyboardInterrupt", *LEFT]


def test_ctrl_c_stops_plain_sql_and_leaves_everything_as_it_was() -> None:
    first, *left = interrupted(SQL_CALL)
    assert "KeyboardInterrupt" in first or "Query interrupted" in first  # which of the two is DuckDB's choice
    assert left == LEFT


def test_ctrl_c_inside_the_callers_transaction_can_be_rolled_back() -> None:
    first, *left = interrupted(PYTHON_CALL, before='con.execute("begin")', after='con.execute("rollback")')
    assert first == "KeyboardInterrupt"
    assert left == LEFT
