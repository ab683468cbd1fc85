"""Grids that ranges are snapped to: how wide a cell is, and the ends of the cell that holds a value, as SQL."""

from __future__ import annotations

from sqlanon.errors import PolicyError, did_you_mean, option_name
from sqlanon.families import DATE, TIMESTAMP, TypeFamily

Width = float | str
"""The width of a cell: a number, of days for dates, or one of UNITS."""
UNITS = {
    "week": "7 days",
    "month": "1 month",
    "quarter": "3 months",
    "year": "1 year",
    "decade": "10 years",
    "century": "100 years",
}
"""The cells of dates that have names. Weeks begin on Mondays."""


def width_of(column: str, given: object) -> Width:
    """A width as a policy has it, checked as far as that goes without the column's type. A number may be text: in a
    SQL map all values are, where one is."""
    if isinstance(given, str) and given.strip().lower() in UNITS:
        return given.strip().lower()
    try:
        number = float(given) if isinstance(given, (int, float, str)) and not isinstance(given, bool) else 0.0
    except (ValueError, OverflowError):
        number = 0.0
    if not 0 < number < 1e300:
        hint = did_you_mean(given, UNITS) if isinstance(given, str) else ""
        raise PolicyError(
            f"{option_name('grid')}: '{column}' must have a width above 0, or {', '.join(UNITS)} for dates.{hint}"
        )
    return int(number) if number.is_integer() else number


def check(column: str, family: TypeFamily, width: Width) -> None:
    """Refuse a width that does not fit the column's type."""
    is_date = family in (DATE, TIMESTAMP)
    if isinstance(width, str) and not is_date:
        raise PolicyError(
            f"{option_name('grid')}: '{column}' holds {family.name}, which have no {width}: give a number"
        )
    if isinstance(width, float) and (family.is_whole or is_date):
        raise PolicyError(
            f"{option_name('grid')}: '{column}' holds {family.name}: give a whole number{' of days' if is_date else ''}"
        )
