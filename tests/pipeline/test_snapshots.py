"""The SQL that policies plan, as it is: whoever changes a step sees here what becomes of the query.

`make snapshots` writes tests/pipeline/snapshots/*.sql again; the test compares.
"""

import re
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.install import plan_release
from sqlanon.policy.policy import Policy

SNAPSHOTS = Path(__file__).resolve().parent / "snapshots"
AWKWARD = 'a "b" c; drop'
POLICIES: dict[str, dict[str, Any]] = {
    "defaults": {"quasi": ["age", "sex"]},
    "tree": {"quasi": ["job", "sex"], "k": 3, "method": "topdown", "weights": {"job": 2}},
    "intervals": {"quasi": ["age", "income"], "hierarchies": {"age": "years", "income": "brackets"}},
    "prefix_and_dates": {
        "quasi": ["zip", "born", "visited"],
        "hierarchies": {"zip": "codes", "born": "calendar", "visited": "calendar"},
        "method": "incognito",
    },
    "ranges_as_columns": {"quasi": ["age", "born", "sex"], "ranges": "columns", "keep": ["ward"]},
    "snapped": {
        "quasi": ["age", "income", "born", "visited"],
        "ranges": "snapped",
        "grid": {"age": 5, "born": "month"},
        "method": "mondrian",
    },
    "centers": {"quasi": ["age", "born", "sex", "job"], "represent": "center", "method": "mdav"},
    "diversity": {"quasi": ["age", "sex"], "sensitive": ["diagnosis"], "l": 2, "distinct_l": 2, "entropy_l": 1.5},
    "closeness": {
        "quasi": ["age"],
        "sensitive": ["diagnosis", "income"],
        "hierarchies": {"diagnosis": "job"},
        "t": 0.4,
        "several": "separate",
    },
    "likeness": {
        "quasi": ["age"],
        "sensitive": ["diagnosis"],
        "recursive_l": 2,
        "recursive_c": 2.5,
        "alpha": 0.6,
        "basic_beta": 2,
        "enhanced_beta": 2,
        "delta": 3,
    },
    "several_sensitive_columns": {"quasi": ["age", "sex"], "sensitive": ["diagnosis", "ward"], "l": 2},
    "entity": {"quasi": ["age", "sex"], "entity": "person", "sensitive": ["diagnosis"], "l": 2, "alpha": 0.5},
    "population": {"quasi": ["age", "sex"], "population": "everybody", "k": 3},
    "anatomy": {"quasi": ["age", "sex"], "method": "anatomy", "sensitive": ["diagnosis"], "l": 2},
    "nonhomogeneous": {"quasi": ["age", "job"], "method": "nonhomogeneous"},
    "suppression": {"quasi": ["age", "sex"], "max_suppression": 0.05, "refine": True, "block_size": 1000, "seed": 7},
    "pseudonyms": {"quasi": ["age"], "pseudonymize": ["person", "name"]},
    "awkward_names": {"quasi": [AWKWARD, "age"], "sensitive": ["it's"], "l": 2, "unsafe_keep": ["{k} __k__"]},
}


def database() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    sqlanon.load(con)
    sqlanon.set_key(con, bytes(range(32)))
    con.execute(
        f"create table people (person integer, name varchar, age integer, sex varchar, zip varchar, born date, "
        f"visited timestamp, income double, job varchar, ward varchar, diagnosis varchar, "
        f'"{AWKWARD.replace(chr(34), chr(34) * 2)}" varchar, "it\'s" varchar, "{{k}} __k__" varchar)'
    )
    con.execute("create table everybody (sex varchar, age integer)")
    sqlanon.create_hierarchy(con, "job", rows=[("nurse", "care", "*"), ("clerk", "office", "*")])
    sqlanon.create_hierarchy(con, "years", intervals=(5, 10, 20), above=80)
    sqlanon.create_hierarchy(con, "brackets", intervals=(0.5, 1), anchor=0.25)
    sqlanon.create_hierarchy(con, "codes", prefix=True)
    sqlanon.create_hierarchy(con, "calendar", dates=True)
    return con


def planned(con: duckdb.DuckDBPyConnection, policy: dict[str, Any]) -> str:
    """The query of a policy, with a word in the place of the database's number, by which its key is found."""
    sql = plan_release(con, "people", Policy.of(policy))
    return re.sub(r"sqlanon_pseudonym\('[^']*'", "sqlanon_pseudonym('<key>'", sql) + "\n"


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return database()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_plans_the_sql_that_it_did(con: duckdb.DuckDBPyConnection, policy: str) -> None:
    stored = (SNAPSHOTS / f"{policy}.sql").read_text(encoding="utf-8")
    assert planned(con, POLICIES[policy]) == stored, "if this is meant: make snapshots, and read the difference"


def test_every_snapshot_is_of_a_policy() -> None:
    assert {file.stem for file in SNAPSHOTS.iterdir()} == set(POLICIES)


def test_two_databases_plan_the_same_sql() -> None:
    with database() as one, database() as other:
        for policy in POLICIES.values():
            assert planned(one, policy) == planned(other, policy)


def write() -> None:
    """Write all snapshots again, and remove those of policies that are gone."""
    for file in SNAPSHOTS.glob("*.sql"):
        file.unlink()
    with database() as con:
        for name, policy in POLICIES.items():
            (SNAPSHOTS / f"{name}.sql").write_text(planned(con, policy), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write())
