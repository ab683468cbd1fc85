"""Families of column types: what the pipeline must know of a column's type, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlanon.errors import PolicyError


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
    (r"TIMESTAMP.*", TIMESTAMP),
    (r"VARCHAR.*|BOOLEAN|ENUM\(.*\)|UUID", TEXT),
)


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
    raise PolicyError(
        f"Column '{column}' has type {type_name}; a quasi-identifier must be a number, date, timestamp, boolean, "
        f"enum or text. Cast it in the source query."
    )
