"""Cells of comparisons, kept so that a comparison goes on where it was interrupted."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.session import now, transaction
from sqlanon.version import __version__


@dataclass(frozen=True)
class StoredCell:
    """A method at one k, as the catalog has it: `comparison` tells rows and hierarchies apart, `policy` what was asked,
    and `measures` and `proof` are JSON."""

    comparison: str
    policy: str
    method: str
    k: int
    status: str
    message: str | None
    seconds: float | None
    measures: str
    proof: str


COLUMNS = "comparison, policy, method, k, status, message, seconds, measures, proof"


def finished_cells(catalog: Catalog, comparison: str, time_limit: float | None) -> list[StoredCell]:
    """The cells that need not be run again: done, or stopped after as long as is given now."""
    rows = catalog.run(
        f"select {COLUMNS} from {catalog.schema}.comparisons where comparison = $id and sqlanon = $version "
        "and (status = 'done' or coalesce(status = 'timeout' and time_limit >= $timeout, false))",
        {"id": comparison, "version": __version__, "timeout": time_limit},
    )
    return [StoredCell(*row) for row in rows]


def stored_cells(catalog: Catalog, source: str, rows: int) -> list[StoredCell]:
    """The cells of all comparisons of this many rows of a source that are done, the latest first."""
    found = catalog.run(
        f"select {COLUMNS} from {catalog.schema}.comparisons where source = $source and rows = $rows "
        "and status = 'done' order by created_at desc",
        {"source": source, "rows": rows},
    )
    return [StoredCell(*row) for row in found]


def store_cell(
    catalog: Catalog,
    cell: StoredCell,
    source: str,
    rows: int,
    l: float | None,  # noqa: E741 - the field's own name
    seed: int,
    time_limit: float | None,
) -> None:
    """Store a cell, in the place of an earlier run's."""
    with transaction(catalog.con):
        catalog.run(
            f"delete from {catalog.schema}.comparisons where comparison = $1 and sqlanon = $2 and policy = $3",
            [cell.comparison, __version__, cell.policy],
        )
        own = {"source": source, "rows": rows, "l": l, "seed": seed, "time_limit": time_limit}
        values = asdict(cell) | own | {"sqlanon": __version__, "created_at": now()}
        listed = ", ".join(f"${column} as {column}" for column in values)
        catalog.run(f"insert into {catalog.schema}.comparisons by name select {listed}", values)
