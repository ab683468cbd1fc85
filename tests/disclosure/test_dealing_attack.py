"""The attack that runs the program on guesses: it finds who is dealt by value, and nothing where chance deals."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

import sqlanon
from sqlanon.disclosure.attacks import Attack
from sqlanon.udfs.problem import Groups, Ints, Problem

Con = duckdb.DuckDBPyConnection
SIX = (
    "create table six as from (values (1, 'tb'), (1, 'ulcer'), (2, 'hiv'), (2, 'hiv'), (3, 'asthma'), (3, 'flu')) "
    "as t(x, ill)"
)


def dealing(con: Con, **options: Any) -> Attack:
    asked: dict[str, Any] = {"sensitive": ["ill"], "l": 3, "method": "kmember"} | options
    sqlanon.anonymize(con, "six", ["x"], 3, name="pub", replace=True, **asked)
    (found,) = [row for row in sqlanon.attack(con, "pub").rows if row.attack == "dealing"]
    return found


def by_value(groups: Groups, place: Ints, counts: Ints, rng: np.random.Generator) -> Groups:
    """Dealing as it must not be: in the order of the values."""
    order = np.lexsort((np.arange(len(place)), place))
    by_tuple = np.argsort(groups.tuple, kind="stable")
    group = np.repeat(groups.group[by_tuple], groups.rows[by_tuple])
    rows = np.repeat(order, counts[order])
    return Groups.collect(rows, group, np.ones(len(rows), dtype=np.int64), groups.report)


def in_order(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Ints]:
    return problem, np.arange(len(problem.counts))


@pytest.mark.parametrize("method", ["kmember", "mdav", "mondrian", "hilbert"])
def test_guesses_about_people_who_were_dealt_by_chance_cannot_be_ruled_out(con: Con, method: str) -> None:
    con.execute(SIX)
    found = dealing(con, method=method, forming="blind")
    assert found.verdict == "holds"
    assert found.promise == found.chance


@pytest.mark.parametrize(("forming", "verdict"), [("free", "open"), ("blind", "BROKEN")])
def test_people_who_are_dealt_in_the_order_of_values_are_given_away(
    con: Con, monkeypatch: pytest.MonkeyPatch, forming: str, verdict: str
) -> None:
    con.execute(SIX)
    monkeypatch.setattr("sqlanon.udfs.solve.spread", by_value)
    monkeypatch.setattr("sqlanon.udfs.after.form.spread", by_value)
    monkeypatch.setattr("sqlanon.udfs.after.blocks.in_random_order", in_order)
    found = dealing(con, forming=forming, method="mdav")
    assert found.got is not None
    assert found.got >= 1 / 3
    assert found.verdict == verdict


def test_large_releases_and_those_without_models_are_not_tried(con: Con) -> None:
    con.execute(SIX)
    con.execute("create or replace table six as select i as x, 'v' || i % 7 as ill from range(600) as r(i)")
    assert dealing(con, l=2).verdict == "not tried"
    sqlanon.anonymize(con, "six", ["x"], 3, name="plain")
    assert not [row for row in sqlanon.attack(con, "plain").rows if row.attack == "dealing"]


def test_the_source_is_left_as_it_is(con: Con) -> None:
    con.execute(SIX)
    before = con.execute("from six").fetchall()
    dealing(con)
    assert con.execute("from six").fetchall() == before
    assert con.execute("select count(*) from duckdb_tables() where temporary").fetchall() == [(0,)]
