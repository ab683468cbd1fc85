"""Measuring a release: what its rows lost, kept in the catalog for `anon.utility`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from sqlanon.engine.session import run
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.measures import PARTS, measurement, measures_sql
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fresh_name, literal, with_ctes
from sqlanon.udfs.methods import METHODS

FROM_THE_CORE = ("information_distortion", "information_distortion_own", "lower_bound")
"""Measures that need the groups or the tuples, which no printed table tells."""


def measure(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    policy: Policy,
    attributes: tuple[Attribute, ...],
    relation: str,
    name: str | None,
    anon: str,
    learned: Mapping[str, Any],
    is_older: bool = False,
) -> dict[str, float]:
    """Measure the rows of a release; a named one's parts go into the catalog for anon.utility. `is_older` says that the
    source has changed since some of them were printed, and is here only the people whose rows they are."""
    is_apart = METHODS[policy.method].is_exact  # no row is printed with its sensitive value
    sensitive = [] if is_apart else source.spelt(policy.sensitive)
    may_lack_rows = policy.max_suppression is not None and not is_older
    ctes = measurement(source, attributes, relation, sensitive, policy.represent, may_lack_rows, is_older)
    every = f"temp.main.{fresh_name('measured')}"
    lists = ", ".join(f"(select list(entry) from {part} as entry) as {part}" for part in PARTS)
    run(con, f"create temporary table {every} as {with_ctes(ctes, f'select {lists}')}")
    parts = {part: f"(select unnest({part}, recursive := true) from {every})" for part in PARTS}
    told = [f"({literal(m)}, {literal(learned[m])})" for m in FROM_THE_CORE if m in learned]
    if told:
        parts["others"] = f"(from {parts['others']} union all values {', '.join(told)})"
    rows = run(con, f'select measure, "column", value from ({measures_sql(parts, str(policy.k))})')
    if name is not None:
        for part, measured in parts.items():
            run(con, f"delete from {anon}.release_{part} where release = $1", [name])
            run(con, f"insert into {anon}.release_{part} by name select $1 as release, * from {measured}", [name])
    run(con, f"drop table {every}")
    single = len(policy.sensitive) == 1
    return {
        measure if column is None or single else f"{measure}({column})": value
        for measure, column, value in rows
        if value is not None
    }
