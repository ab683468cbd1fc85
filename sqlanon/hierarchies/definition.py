"""How a hierarchy is to be made: one way of several, with what goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlanon.errors import HierarchyError, in_words
from sqlanon.hierarchies.rules import Rule

WAYS = ("csv", "table", "edges", "query", "rows", "intervals", "prefix", "dates", "flat")
"""The ways to make a hierarchy, of which one is chosen."""
BOUNDS = ("anchor", "below", "above")
"""What goes with intervals."""


def _on() -> str:
    return in_words(python="on='table.column'", sql="ON table.column", command="--on table.column")


@dataclass(frozen=True)
class Definition:
    """One of: `csv`, `table`, `query` or `rows` in ARX's shape (leaf, level 1, ..., top); `edges`, a table of (child,
    parent); a rule, `intervals`, `prefix` or `dates`, for any column of a fitting type, or `on` one; `flat` on one."""

    csv: str | Path | None = None
    table: str | None = None
    edges: str | None = None
    query: str | None = None
    rows: Sequence[Sequence[str | None]] | None = None
    intervals: Sequence[float] | None = None
    anchor: float | None = None
    below: float | None = None
    above: float | None = None
    prefix: bool = False
    dates: bool = False
    flat: bool = False
    on: str | None = None

    def __post_init__(self) -> None:
        chosen = [way for way in WAYS if getattr(self, way) not in (None, False)]
        if len(chosen) != 1:
            raise HierarchyError(f"Give exactly one of {', '.join(WAYS)} (given: {', '.join(chosen) or 'none'})")
        given = [bound for bound in BOUNDS if getattr(self, bound) is not None]
        if given and self.intervals is None:
            raise HierarchyError(f"{', '.join(given)} goes with intervals, not with {chosen[0]}")
        if self.flat and self.on is None:
            raise HierarchyError(f"A flat hierarchy needs its column: {_on()}")
        if self.on is not None and self.rule is None:
            raise HierarchyError(f"{_on()} goes with intervals, prefix, dates or flat, not with {chosen[0]}")

    @property
    def rule(self) -> Rule | None:
        """The rule that makes it, if it is one."""
        if self.intervals is not None:
            return Rule.intervals(self.intervals, 0 if self.anchor is None else self.anchor, self.below, self.above)
        return next((Rule(way) for way in ("prefix", "dates", "flat") if getattr(self, way)), None)
