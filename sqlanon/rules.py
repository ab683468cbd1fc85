"""Hierarchies that are a rule rather than a list: intervals over numbers, prefixes of a code, parts of a date."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlanon.errors import HierarchyError, PolicyError
from sqlanon.sources import DATE, TEXT, TIMESTAMP, TypeFamily
from sqlanon.sqltext import literal, render


@dataclass(frozen=True)
class Rule:
    """How to generalize any value: its kind and, for intervals, the widths, anchor and coding bounds."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def intervals(
        cls,
        widths: Sequence[float],
        anchor: float = 0,
        below: float | None = None,
        above: float | None = None,
    ) -> Rule:
        """Intervals of the given widths from the anchor, with all numbers below and above two bounds put together."""
        exact = [_exact("width", width) for width in widths]
        if not exact:
            raise HierarchyError("intervals needs at least one width, such as (5, 10, 20)")
        if exact[0] <= 0:
            raise HierarchyError("widths must be above 0")
        for narrow, wide in itertools.pairwise(exact):
            if wide <= narrow or (wide / narrow).denominator != 1:
                raise HierarchyError(
                    f"intervals of {_shown(wide)} do not nest over those of {_shown(narrow)}: "
                    f"each width must be a multiple of the one before"
                )
        _exact("anchor", anchor)
        if below is not None and above is not None and _exact("below", below) >= _exact("above", above):
            raise HierarchyError(f"below ({below:g}) must be less than above ({above:g})")
        return cls("intervals", {"widths": list(widths), "anchor": anchor, "below": below, "above": above})

    @classmethod
    def parse(cls, kind: str, settings: str) -> Rule:
        """A rule as the catalog stores it."""
        return cls(kind, json.loads(settings))

    def check(self, column: str, family: TypeFamily, hierarchy: str) -> None:
        """Refuse a column whose type the rule cannot generalize."""
        fits = {
            "intervals": family.is_ordered and family not in (DATE, TIMESTAMP),
            "dates": family in (DATE, TIMESTAMP),
            "prefix": family is TEXT or family.is_whole,
        }
        if not fits.get(self.kind, True):
            raise PolicyError(f"Hierarchy '{hierarchy}' ({self.kind}) does not fit column '{column}' of {family.name}")

    def levels_sql(self, domain: str, family: TypeFamily) -> str:
        """The query that gives each value its label at each level between itself and the top."""
        if self.kind == "intervals":
            return self._intervals_sql(domain, family)
        if self.kind == "dates":
            parts = [
                "strftime(value, '%Y-%m')",
                "strftime(value, '%Y') || '-Q' || quarter(value)",
                "strftime(value, '%Y')",
                "(year(value) // 10 * 10) || 's'",
            ]
            if family is TIMESTAMP:
                parts.insert(0, "strftime(value, '%Y-%m-%d')")
            return render("pipeline/levels_dates.sql", domain=domain, labels=f"[{', '.join(parts)}]")
        return render(f"pipeline/levels_{self.kind}.sql", domain=domain)

    def _intervals_sql(self, domain: str, family: TypeFamily) -> str:
        exact = [_exact("width", width) for width in self.settings["widths"]]
        anchor, below, above = (self.settings[key] for key in ("anchor", "below", "above"))
        bounds = [
            exact[0],
            *(_exact("bound", bound) for bound in (anchor, below, above) if bound is not None),
        ]
        return render(
            "pipeline/levels_intervals.sql",
            domain=domain,
            anchor=literal(anchor),
            narrowest=literal(self.settings["widths"][0]),
            ratios=literal([int(width / exact[0]) for width in exact]),
            below="cast(null as double)" if below is None else literal(below),
            above="cast(null as double)" if above is None else literal(above),
            below_text=literal(None if below is None else f"{below:g}"),
            above_text=literal(None if above is None else f"{above:g}"),
            is_whole=literal(family.is_whole and all(bound.denominator == 1 for bound in bounds)),
        )


def _exact(what: str, number: Any) -> Fraction:
    """The number as it was written, so that 0.3 is three times 0.1."""
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise HierarchyError(f"{what} is {number!r}; it must be a number")
    try:
        return Fraction(str(number))
    except ValueError as problem:
        raise HierarchyError(f"{what} is {number!r}; it must be a finite number") from problem


def _shown(number: Fraction) -> str:
    return f"{float(number):g}"
