"""Limits per column: the finest and the coarsest that a release may show of it, as levels or widths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlanon.errors import PolicyError, option, option_name

ENDS = ("finest", "coarsest")
UNITS = ("day", "month", "quarter", "year", "decade")
"""The levels of dates, by name."""
EXAMPLE = {"age": {"finest": 5, "coarsest": 20}}
Limit = dict[str, float | str]
"""What `finest` and `coarsest` are, each if it is given."""


def limit_of(column: str, given: Any) -> Limit:
    """A limit as a policy has it: from a mapping, one value for a fixed level, or text such as 5..20."""
    if isinstance(given, str) and ".." in given:
        first, _, last = given.partition("..")
        given = {"finest": first or None, "coarsest": last or None}
    if not isinstance(given, Mapping):
        given = dict.fromkeys(ENDS, given)
    if unknown := [str(key) for key in given if key not in ENDS]:
        raise PolicyError(
            f"{option_name('limits')}: '{column}' has '{unknown[0]}'; it may have finest and coarsest: {_example()}"
        )
    found = {end: _end(column, given[end]) for end in ENDS if given.get(end) is not None}
    if not found:
        raise PolicyError(f"{option_name('limits')}: '{column}' has neither finest nor coarsest: {_example()}")
    finest, coarsest = found.get("finest"), found.get("coarsest")
    if isinstance(finest, (int, float)) and isinstance(coarsest, (int, float)) and finest > coarsest:
        raise PolicyError(
            f"{option_name('limits')}: '{column}' has a finest ({finest:g}) that is coarser than its coarsest "
            f"({coarsest:g})"
        )
    return found


def _example() -> str:
    return option("limits", EXAMPLE)


def _end(column: str, given: Any) -> float | str:
    text = str(given).strip().lower()
    if text in UNITS:
        return text
    if isinstance(given, bool) or not re.fullmatch(r"\d+(\.\d+)?", text):
        raise PolicyError(
            f"{option_name('limits')}: '{column}' must have a level of its hierarchy, a width for numbers, or "
            f"{', '.join(UNITS)} for dates: {_example()}"
        )
    number = float(text)
    return int(number) if number.is_integer() else number


def widths_of(column: str, limit: Limit) -> list[float]:
    """The widths of the intervals that a number with this limit is released in."""
    finest, coarsest = limit.get("finest"), limit.get("coarsest")
    for end in (finest, coarsest):
        if isinstance(end, str) or end == 0:
            raise PolicyError(f"{option_name('limits')}: '{column}' holds numbers: give widths above 0, {_example()}")
    if finest is None:
        assert coarsest is not None
        return [float(coarsest)]
    first = float(finest)
    if coarsest is None:
        return [first * 2**step for step in range(8)]
    ratio = float(coarsest) / first
    if ratio != int(ratio):
        raise PolicyError(
            f"{option_name('limits')}: '{column}': the coarsest ({coarsest:g}) must be a multiple of the finest "
            f"({finest:g})"
        )
    steps = [2**step for step in range(int(ratio).bit_length()) if int(ratio) % 2**step == 0 and 2**step < ratio]
    return [first * step for step in steps] + [float(coarsest)]
