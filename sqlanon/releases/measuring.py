"""Measuring a release: what its rows lost, kept in the catalog for `anon.utility`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.releases import keep_measures, losses_sql
from sqlanon.engine.session import keep_steps
from sqlanon.pipeline.encode import Held
from sqlanon.pipeline.measures import PARTS, empty_sql, measurement, measures_sql
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import literal

FROM_THE_CORE = ("information_distortion", "information_distortion_own", "lower_bound")
"""Measures that need the groups or the tuples, which no released table shows."""


class Measured(NamedTuple):
    """The measures by name, and what each quasi-identifier lost."""

    measures: dict[str, float]
    losses: dict[str, float]


class UnmeasuredError(Exception):
    """A measure overflows or cannot be computed otherwise: our own fault, not one of the data."""


def measure(
    catalog: Catalog,
    reading: Reading,
    relation: str,
    name: str | None,
    findings: Mapping[str, Any],
    tolerance: Tolerance,
    held: Held | None = None,
    left_out: int = 0,
) -> Measured:
    """Measure the rows of a release against what it was made from; the parts of a named one go into the catalog. Rows
    that were `left_out` before count as suppressed."""
    policy = reading.policy
    is_apart = policy.kind.prints_exact  # no row is released with its sensitive value
    sensitive = [] if is_apart else reading.source.resolve_names(policy.sensitive)
    ctes = measurement(reading, relation, sensitive, tolerance, policy.represent, held, left_out)
    with keep_steps(catalog.con, ctes) as (kept, _):
        parts = {part: kept[part] if part in kept else f"({empty_sql(part)})" for part in PARTS}
        found = [f"({literal(m)}, {literal(findings[m])})" for m in FROM_THE_CORE if m in findings]
        if found:
            parts["others"] = f"(from {parts['others']} union all values {', '.join(found)})"
        rows = catalog.run(measures_sql(parts, str(policy.k), has_sensitive=bool(sensitive)))
        losses = dict(catalog.run(losses_sql(parts["labels"])))
        if name is not None:
            keep_measures(catalog, name, {part: parts[part] for part in PARTS if part in kept})
    is_single = len(policy.sensitive) == 1
    measures = {
        measure if column is None or is_single else f"{measure}({column})": value
        for measure, column, value in rows
        if value is not None
    }
    return Measured(measures, losses)
