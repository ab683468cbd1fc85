"""The cells of a grid that snapped ranges end on, as SQL."""

from __future__ import annotations

from decimal import Decimal

from sqlanon.families import DATE, DECIMAL, TIMESTAMP, TypeFamily
from sqlanon.policy.grid import UNITS, Width
from sqlanon.sqltext import render

_BELOW_SECONDS = {"TIMESTAMP_NS": ("ns", 9), "TIMESTAMP_MS": ("ms", 3)}
"""How the digits of a second are counted: most types have microseconds."""


def closing(family: TypeFamily) -> str:
    """The bracket behind a range: whole numbers and dates print the last one, whatever is continuous prints where the
    next cell begins."""
    return "]" if family.is_whole or family is DATE else ")"


def scale_of(type_name: str) -> int:
    """How many digits a DECIMAL(width, scale) has behind its point."""
    return int(type_name.rstrip(")").partition(",")[2])


def units_sql(value: str) -> str:
    """A decimal as the number of its last digits, which HUGEINT always holds."""
    return f"cast(replace(cast({value} as varchar), '.', '') as hugeint)"


def cells_sql(domain: str, type_name: str, family: TypeFamily, width: Width | None) -> str:
    """The query that gives each value the two ends of its cell."""
    if family in (DATE, TIMESTAMP):
        return _dates_sql(domain, type_name, family, width)
    if family.is_whole:
        ends = "cast(floor as varchar)", "cast(ceiling as varchar)"
        return _exact_sql(domain, "cast(value as hugeint)", 0, ends, width, is_closed=True)
    if family is DECIMAL:
        scale = scale_of(type_name)
        units = None if width is None else Decimal(repr(width)).scaleb(scale)
        if units is None or units == int(units):
            ends = _decimal_text("floor", scale), _decimal_text("ceiling", scale)
            return _exact_sql(domain, units_sql("value"), scale, ends, None if units is None else int(units))
    return render("steps/encode/cells_numbers.sql", domain=domain, width="null" if width is None else repr(width))


def _exact_sql(
    domain: str, number: str, digits: int, ends: tuple[str, str], width: Width | None = None, is_closed: bool = False
) -> str:
    """The cells of values that are counted in units, of which 10 to the power of these digits are one."""
    return render(
        "steps/encode/cells_exact.sql",
        domain=domain,
        number=number,
        units=f"1e{digits}",
        width="null" if width is None else repr(width),
        first=ends[0],
        last=ends[1],
        is_closed=str(int(is_closed)),
    )


def _decimal_text(units: str, scale: int) -> str:
    """A number of units as the decimal that it is, without zeros at its end."""
    one, digits = f"{10**scale}::hugeint", f"if({units} < 0, -{units}, {units})"
    fraction = f"lpad(cast({digits} % {one} as varchar), {scale}, '0')"
    whole = f"if({units} < 0, '-', '') || cast({digits} // {one} as varchar)"
    return f"rtrim(rtrim({whole} || '.' || {fraction}, '0'), '.')"


def _dates_sql(domain: str, type_name: str, family: TypeFamily, width: Width | None) -> str:
    """The cells of a calendar; those of a second's digits where all values are within a few seconds."""
    given = "null" if width is None else f"interval '{UNITS.get(str(width)) or f'{width} days'}'"
    last, shortest = ("cast(next as date) - 1", "7") if family is DATE else ("next", "0")
    calendar = render("steps/encode/cells_dates.sql", domain=domain, width=given, last=last, shortest=shortest)
    if family is DATE or width is not None or type_name == "TIMESTAMP_S":
        return calendar
    unit, digits = _BELOW_SECONDS.get(type_name, ("us", 6))
    ends = _instant_text("floor", unit, type_name), _instant_text("ceiling", unit, type_name)
    fine = _exact_sql(domain, f"cast(epoch_{unit}(value) as hugeint)", digits, ends)
    return render("steps/encode/cells_times.sql", domain=domain, calendar=calendar, fine=fine)


def _instant_text(units: str, unit: str, type_name: str) -> str:
    """A number of units since 1970 as the timestamp that it is."""
    number = f"cast({units} as bigint)"
    if unit == "ns":
        return f"cast(make_timestamp_ns({number}) as varchar)"
    zone = "tz" if "TIME ZONE" in type_name or type_name == "TIMESTAMPTZ" else ""
    made = f"make_timestamp{zone}({number}{' * 1000' if unit == 'ms' else ''})"
    return f"cast({made} as varchar)"
