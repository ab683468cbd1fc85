"""Values as digests that are the same in a copy of a table, whatever types its columns have there, as SQL."""

from __future__ import annotations

from sqlanon.families import DATE, DECIMAL, FLOAT, TIMESTAMP, WHOLE, known_family
from sqlanon.pipeline.digests import ZONED
from sqlanon.sqltext import literal, name


def digest_sql(column: str, kind: str, salt: str) -> str:
    """The salted digest of a column's value, a number of 64 bits; NULL has one too."""
    return f"cast('0x' || left(sha256({literal(salt)} || coalesce({_text(name(column), kind)}, '')), 16) as ubigint)"


def _text(value: str, kind: str) -> str:
    """The value as text: 7, 7.0, 7.00 and '7' are one, and so are a day and its midnight."""
    family = known_family(kind)
    if family is WHOLE:
        return f"cast({value} as varchar)"
    if family in (DATE, TIMESTAMP):
        moment = f"cast({value} as timestamp)" if kind == ZONED else value
        return f"replace(cast({moment} as varchar), ' 00:00:00', '')"
    text = f"cast({value} as varchar)"
    number = f"try_cast({value if family in (DECIMAL, FLOAT) else text} as double)"
    is_whole = f"abs({number}) < 9007199254740992 and {number} = trunc({number})"
    written = f"case when {is_whole} then cast(cast({number} as bigint) as varchar) else printf('%.6g', {number}) end"
    return f"case when isfinite({number}) then {written} else trim({text}) end"
