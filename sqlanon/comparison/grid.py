"""Running a comparison: every cell on the same rows, one after the other, each stored as soon as it is done."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.comparisons import StoredCell, finished_cells, store_cell
from sqlanon.comparison.cells import Asked, Cell
from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import is_in_transaction, temporary, translate_errors
from sqlanon.errors import DataError, InterruptedRunError, PolicyError, SqlanonError
from sqlanon.pipeline.source import Source
from sqlanon.policy.options import ROLES
from sqlanon.policy.policy import Policy
from sqlanon.policy.words import added_in_words
from sqlanon.progress.run import Run
from sqlanon.releases.making import anonymize
from sqlanon.releases.release import Release
from sqlanon.sqltext import literal, name, names, render

if TYPE_CHECKING:
    from sqlanon.comparison.comparison import Comparison


def run(comparison: Comparison) -> None:
    """Run the cells that are not stored yet."""
    con = comparison.con
    if is_in_transaction(con):
        raise SqlanonError("A comparison stores its cells one by one: commit or roll back your transaction first")
    comparison.cells = []
    with translate_errors(), _same_rows(comparison) as table, Run() as whole:
        catalog = Catalog.of(con)
        found = [] if comparison.fresh else finished_cells(catalog, comparison.id, comparison.timeout)
        stored = {_key(cell.policy): Cell.of(cell) for cell in found}
        comparison.fresh = False  # what this run stores is not run again
        for number, asked in enumerate(comparison.asked):
            whole.tell("comparison", number, len(comparison.asked), {})
            cell = stored.get(asked.key)
            if cell is None:
                cell = _cell(comparison, table, asked)
                _store(catalog, comparison, asked, cell)
            comparison.cells.append(cell)


def _key(policy: str) -> str:
    """What a cell was asked, as it is written now: options that came later have their defaults."""
    try:
        return Policy.of(json.loads(policy)).json()
    except PolicyError:
        return policy


@contextmanager
def _same_rows(comparison: Comparison) -> Iterator[str]:
    """The rows for all cells, in a temporary table; sets `rows` and `id`."""
    policy, catalog = comparison.policy, Catalog.of(comparison.con)
    with registered(catalog.con) as named:
        source = resolve(catalog.con, named(comparison.source if comparison.frame is None else comparison.frame))
        columns = source.resolve_names([column for role in ROLES for column in getattr(policy, role)])
        attributes = catalog.read(source, policy).attributes
        with temporary(catalog.con, "compared", _rows_sql(comparison, source, columns)) as table:
            comparison.rows, content = _fingerprint(catalog, table, columns)
            if not comparison.rows:
                raise DataError(f"'{source.shown}' has no rows: there is nothing to compare")
            seen: list[Any] = [content, [(column, source.types[column]) for column in columns]]
            for attribute in attributes:
                hierarchy = attribute.hierarchy
                seen.append(str(hierarchy))
                if hierarchy is not None and attribute.is_stored:
                    nodes = f"(from {attribute.stored.nodes} where name = {literal(hierarchy.name)})"
                    seen.append(_fingerprint(catalog, nodes, ("parent", "label", "level", "lo", "hi")))
            comparison.id = hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]
            yield table


def _rows_sql(comparison: Comparison, source: Source, columns: Sequence[str]) -> str:
    if comparison.sample is None:
        return f"select {names(columns)} from {source.relation}"
    values = [f"v{number}" for number in range(1, len(columns) + 1)]
    pairs = list(zip(values, map(name, columns), strict=True))
    return render(
        "steps/compare/sample.sql",
        source=source.relation,
        columns=", ".join(f"{column} as {value}" for value, column in pairs),
        named=", ".join(f"{value} as {column}" for value, column in pairs),
        values=", ".join(values),
        seed=str(comparison.policy.seed or 0),
        rows=str(comparison.sample),
    )


def _cell(comparison: Comparison, table: str, asked: Asked) -> Cell:
    """Make a release, measure and drop it. Whatever goes wrong is the cell's, unless the user wants to stop."""
    if asked.policy is None:
        return Cell(asked.method, asked.k, "failed", asked.problem)
    with Run(limit=comparison.timeout) as timed:
        try:
            release = anonymize(comparison.con, table, policy=asked.policy)
        except InterruptedRunError:
            raise
        except Exception as problem:
            if timed.is_over:
                message = f"stopped after {timed.limit:g} s"
                return Cell(asked.method, asked.k, "timeout", message, timed.seconds)
            message = _without_values(problem).replace(table, comparison.source)
            return Cell(asked.method, asked.k, "failed", message, timed.seconds)
    release.discard()
    measures = release.metrics() | {"time": timed.seconds} | _risks(release)
    added = added_in_words(release.policy, release.learned) or None
    return Cell(asked.method, asked.k, "done", added, timed.seconds, measures, release.proof.as_dict())


def _store(catalog: Catalog, comparison: Comparison, asked: Asked, cell: Cell) -> None:
    texts = (json.dumps(dict(part), ensure_ascii=False) for part in (cell.measures, cell.proof))
    stored = StoredCell(comparison.id, asked.key, cell.method, cell.k, cell.status, cell.message, cell.seconds, *texts)
    policy = comparison.policy
    l = None if isinstance(policy.l, Mapping) else policy.l  # noqa: E741 - of each column its own: the policy says it
    store_cell(catalog, stored, comparison.source, comparison.rows, l, policy.seed or 0, comparison.timeout)


def _fingerprint(catalog: Catalog, relation: str, columns: Sequence[str]) -> tuple[int, str]:
    ((rows, content),) = catalog.run(render("steps/compare/fingerprint.sql", columns=names(columns), source=relation))
    return rows, content


def _risks(release: Release) -> dict[str, float]:
    """The risk that a person's row is distinguished, where classes or matches bound it."""
    kind, proof = release.policy.kind, release.proof
    risks = {} if kind.prints_exact else {"risk": 1 / proof.k}
    if kind.has_classes:
        risks["mean_risk"] = proof.classes / proof.rows
    return risks


def _without_values(problem: Exception) -> str:
    """What went wrong. Our own messages show no person's value; others' might, so only their kind is shown."""
    if isinstance(problem, SqlanonError):
        return str(problem)
    signs = (r"sqlanon fails with (\w+)", r"Python exception occurred while executing the UDF: (\w+)")
    inside = next((found for sign in signs if (found := re.search(sign, str(problem)))), None)
    return f"{inside[1] if inside else type(problem).__name__} while it ran"
