"""Families of column types: what the pipeline must know of a column's type, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlanon.errors import PolicyError, option_name


@dataclass(frozen=True)
class TypeFamily:
    """What the pipeline must know of a column's type."""

    name: str
    is_ordered: bool = False
    is_whole: bool = False
    may_be_infinite: bool = False
    position: str = "cast(null as double)"
    separator: str = "-"
    center: str = "mean"


WHOLE = TypeFamily("whole numbers", is_ordered=True, is_whole=True, position="cast(value as double)")
DECIMAL = TypeFamily("decimals", is_ordered=True, position="cast(value as double)")
FLOAT = TypeFamily("floats", is_ordered=True, may_be_infinite=True, position="cast(value as double)")
DATE = TypeFamily("dates", True, may_be_infinite=True, position="epoch(value)", separator=" - ", center="median")
TIMESTAMP = replace(DATE, name="timestamps")
TEXT = TypeFamily("text")
_FAMILIES: tuple[tuple[str, TypeFamily], ...] = (
    (r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|U?BIGNUM|VARINT", WHOLE),
    (r"DECIMAL\(.*\)", DECIMAL),
    (r"FLOAT|REAL|DOUBLE", FLOAT),
    (r"DATE", DATE),
    (r"TIMESTAMP(?!TZ_NS).*", TIMESTAMP),
    (r"VARCHAR.*|BOOLEAN|ENUM\(.*\)|UUID", TEXT),
)


BEYOND = ("UHUGEINT", "BIGNUM", "VARINT")
"""Whole numbers that HUGEINT may not hold."""


def is_fine(type_name: str) -> bool:
    """Does nearly everybody have a value of their own in a column of this type, as in timestamps and amounts?"""
    family = known_family(type_name)
    return family in (FLOAT, TIMESTAMP) or (family is DECIMAL and not type_name.endswith(",0)"))


def distance_sql(type_name: str, value: str, origin: str) -> str:
    """How far a value lies above the column's smallest one, the origin: exact where its place on the line, a double,
    may not be. Floats and dates are doubles as they are."""
    family = known_family(type_name)
    if family is WHOLE or family is DECIMAL:
        kind = "HUGEINT" if family is WHOLE and type_name not in BEYOND else type_name
        exact = f"try(cast(cast({value} as {kind}) - cast({origin} as {kind}) as double))"
        return f"coalesce({exact}, cast({value} as double) - cast({origin} as double))"
    if family is TIMESTAMP:
        unit, digits = ("ns", "1e9") if type_name.endswith("_NS") else ("us", "1e6")
        return f"cast(cast(epoch_{unit}({value}) as hugeint) - epoch_{unit}({origin}) as double) / {digits}"
    return (family or TEXT).position.replace("value", value)


def known_family(type_name: str) -> TypeFamily | None:
    """The family of a type, if it has one."""
    if not type_name.endswith("]"):
        for pattern, family in _FAMILIES:
            if re.fullmatch(pattern, type_name, re.DOTALL):
                return family
    return None


def type_family(column: str, type_name: str) -> TypeFamily:
    """The family of a column's type, or an error that says which types a quasi-identifier may have."""
    if (family := known_family(type_name)) is not None:
        return family
    if type_name == '"NULL"':
        raise PolicyError(f"Column '{column}' has only NULLs. Leave it out of {option_name('quasi')}.")
    quoted = '"' + column.replace('"', '""') + '"'
    cast = f"select * replace (cast({quoted} as varchar) as {quoted}) from ..."
    raise PolicyError(
        f"Column '{column}' has type {type_name}; a quasi-identifier must be a number, date, timestamp, boolean, "
        f"enum or text. Cast it in a query as the source: {cast}"
    )
