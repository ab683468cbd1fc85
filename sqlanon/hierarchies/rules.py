"""Hierarchies that are a rule rather than a list: intervals over numbers, prefixes of a code, parts of a date."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlanon.errors import HierarchyError, PolicyError
from sqlanon.families import DATE, TEXT, TIMESTAMP, TypeFamily
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
        bounds = {"anchor": anchor, "below": below, "above": above}
        known = {what: _exact(what, bound) for what, bound in bounds.items() if bound is not None}
        if "below" in known and "above" in known and known["below"] >= known["above"]:
            raise HierarchyError(f"below ({below}) must be less than above ({above})")
        return cls("intervals", {"widths": list(widths), "anchor": anchor, "below": below, "above": above})

    @classmethod
    def parse(cls, kind: str, settings: str) -> Rule:
        """A rule as the catalog stores it."""
        return cls(kind, json.loads(settings))

    def fits(self, family: TypeFamily) -> bool:
        """Can the rule generalize values of this kind?"""
        fits = {
            "intervals": family.is_ordered and family not in (DATE, TIMESTAMP),
            "dates": family in (DATE, TIMESTAMP),
            "prefix": family is TEXT or family.is_whole,
        }
        return fits.get(self.kind, True)

    def check(self, column: str, family: TypeFamily, hierarchy: str) -> None:
        """Refuse a column whose type the rule cannot generalize."""
        if not self.fits(family):
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
            return render("steps/encode/levels_dates.sql", domain=domain, labels=f"[{', '.join(parts)}]")
        return render(f"steps/encode/levels_{self.kind}.sql", domain=domain)

    @property
    def order(self) -> str:
        """What puts the values in an order in which every label covers neighbors."""
        return "cast(value as varchar)" if self.kind == "prefix" else "value"

    def _intervals_sql(self, domain: str, family: TypeFamily) -> str:
        widths = [_exact("width", width) for width in self.settings["widths"]]
        bounds = {bound: self.settings[bound] for bound in ("anchor", "below", "above")}
        exact = [*widths, *(_exact(bound, number) for bound, number in bounds.items() if number is not None)]
        is_whole = family.is_whole and all(number.denominator == 1 for number in exact)
        kind = "hugeint" if is_whole else "double"
        fragments = {bound: f"cast({literal(number)} as {kind})" for bound, number in bounds.items()}
        if is_whole:
            listed = f"cast({literal([int(width) for width in widths])} as hugeint[])"
            return render("steps/encode/levels_intervals_whole.sql", domain=domain, widths=listed, **fragments)
        return render(
            "steps/encode/levels_intervals.sql",
            domain=domain,
            narrowest=f"cast({literal(self.settings['widths'][0])} as double)",
            ratios=literal([int(width / widths[0]) for width in widths]),
            **fragments,
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
