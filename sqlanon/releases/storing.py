"""Storing a release: its rows as a table, or as two where sensitive values stand apart or people are recognized."""

from __future__ import annotations

from typing import Any

import duckdb

from sqlanon.catalog.places import Target, members_of
from sqlanon.engine.session import run
from sqlanon.pipeline.digests import ADDED, DIGEST
from sqlanon.pipeline.plan import Plan
from sqlanon.pipeline.promises import GROUP
from sqlanon.privacy.proof import prove
from sqlanon.sqltext import fresh_name, names
from sqlanon.sqltext import name as quoted


def store(
    con: duckdb.DuckDBPyConnection, planned: Plan, target: Target, recognized: Plan | None
) -> dict[str, Any] | None:
    """Make the release's rows: a table; or two, where sensitive values stand apart or people are `recognized`, by a
    plan with their digests. Where people are counted by an entity that is not released, nobody can count them later:
    the rows are proved with it, and the proof comes back."""
    temporary = "temporary " if target.name is None else ""
    sensitive_table, proof = target.sensitive(planned.policy), None
    if recognized is None and planned.whole is None and sensitive_table is None:
        run(con, f"create {temporary}table {target.storage} as {planned.sql}")
        return None
    whole = f"temp.main.{quoted(fresh_name('whole'))}"
    sql = recognized.sql if recognized is not None else planned.whole or planned.sql
    run(con, f"create temporary table {whole} as {sql}")
    if sensitive_table is not None:
        _store_apart(con, planned, target.storage, sensitive_table, whole)
    else:
        run(con, f"create {temporary}table {target.storage} as select {names(planned.columns)} from {whole}")
    if planned.whole is not None:
        proof = prove(con, whole, planned.promise, planned.policy)
    if recognized is not None:
        listed = f"{DIGEST}, 1 as {ADDED}, {names(planned.columns)}"
        run(con, f"create table {members_of(target.storage)} as select {listed} from {whole} order by {DIGEST}")
    run(con, f"drop table {whole}")
    return proof


def _store_apart(con: duckdb.DuckDBPyConnection, planned: Plan, storage: str, sensitive_table: str, whole: str) -> None:
    (column,) = planned.source.spelt(planned.policy.sensitive)
    run(con, f"create table {storage} as select * exclude ({quoted(column)}) from {whole}")
    entries = f"select {GROUP}, unnest(map_entries(any_value({quoted(column)}))) as entry from {whole} group by {GROUP}"
    run(
        con,
        f"create table {sensitive_table} as select {GROUP}, entry.key as {quoted(column)}, entry.value as rows "
        f"from ({entries}) order by all",
    )
