"""What there is to see of a source before anything is released: its columns, and whom they single out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlanon
from sqlanon.studio.facade import Session, quoted
from sqlanon.studio.workspace import Source

SAMPLE = 10
"""Rows that are shown after somebody has asked for them."""
NEARLY_UNIQUE = 0.9
KINDS = {"BOOLEAN": "yes or no", "VARCHAR": "text", "ENUM": "choice", "STRUCT": "record"}
"""Types in a word."""
SUGGESTED = {"identifier": "out", "quasi": "quasi", "sensitive": "sensitive", "keep": "keep"}
"""From the roles of `detect` to those of a draft."""
_ORDERED = r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|U?BIGNUM|VARINT|DECIMAL\(.*\)|FLOAT|REAL|DOUBLE"

_POSTCODES = re.compile(r"(^|_)(zip|plz|pcode|post(al)?_?code|cap|cp)(_?code)?(_|$)")


@dataclass(frozen=True)
class Looked:
    """A column as it is."""

    number: int
    name: str
    type: str
    distinct: int
    nulls: int
    rows: int
    suggested: str
    reason: str

    @property
    def is_number(self) -> bool:
        return re.fullmatch(_ORDERED, self.type) is not None

    @property
    def is_whole(self) -> bool:
        return self.is_number and "INT" in self.type

    @property
    def is_date(self) -> bool:
        return self.type == "DATE" or self.type.startswith("TIMESTAMP")

    @property
    def is_ranged(self) -> bool:
        """Is it released as ranges where it has no hierarchy?"""
        return self.is_number or self.is_date

    @property
    def is_nearly_unique(self) -> bool:
        return self.rows > 0 and self.distinct / self.rows >= NEARLY_UNIQUE

    @property
    def kind(self) -> str:
        """The type in a word."""
        if self.is_number:
            return "number"
        if self.is_date:
            return "date" if self.type == "DATE" else "date and time"
        if self.type.endswith("]"):
            return "list"
        kind = self.type.partition("(")[0]  # an enum's type lists its values
        return KINDS.get(kind, kind.lower())


@dataclass(frozen=True)
class Profile:
    """A source: its columns with what `detect` thinks, and the smallest sets that single people out."""

    rows: int
    columns: tuple[Looked, ...]
    sets: tuple[tuple[tuple[str, ...], float], ...]
    codes: tuple[str, ...]
    """Columns that look like codes whose prefixes mean something, such as postal codes."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> Looked:
        return next(column for column in self.columns if column.name == name)

    @property
    def person(self) -> Looked | None:
        """The column that tells whom a row is about, as far as `detect` can say: a person's number that repeats."""
        return next((column for column in self.columns if column.suggested == "person"), None)


def columns_of(con: Session, source: Source) -> list[tuple[str, str]]:
    """Names and types, at once."""
    return [(row[0], row[1]) for row in con.execute(f"describe from {source.relation}").fetchall()]


def count_of(con: Session, source: Source) -> int:
    """The rows."""
    return int(con.execute(f"select count(*) from {source.relation}").fetchall()[0][0])


def profile_of(con: Session, source: Source) -> Profile:
    """Look at every column, once."""
    types = dict(columns_of(con, source))
    found = sqlanon.detect(con, source.asked)
    missing = ", ".join(f"count(*) - count({quoted(column)})" for column in types)
    nulls = con.execute(f"select {missing} from {source.relation}").fetchall()[0]
    columns = tuple(
        Looked(
            number,
            column,
            types[column],
            each.distinct,
            int(absent),
            found.rows,
            "person" if column == found.entity else SUGGESTED.get(each.role or "", "out"),
            f"{each.reason}, and it repeats" if column == found.entity else each.reason,
        )
        for number, (column, each, absent) in enumerate(zip(types, found.columns, nulls, strict=True))
    )
    singles = [each for each in found.columns if each.role != "identifier" and (each.unique_rows or 0) > found.share]
    sets = tuple((each.columns, each.unique_rows or 0.0) for each in (*singles, *found.sets))
    codes = [
        column.name
        for column in columns
        if (column.is_whole and _POSTCODES.search(column.name.lower()))
        or (not column.is_ranged and _is_code(con, source, column.name))
    ]
    return Profile(found.rows, columns, sets, tuple(codes))


def _is_code(con: Session, source: Source, column: str) -> bool:
    """Are most values short codes with a digit, many of them, as postal codes and diagnoses' codes are?"""
    text = f"cast({quoted(column)} as varchar)"
    sample = f"select {text} as value from {source.relation} where {quoted(column)} is not null limit 2000"
    ((share, several),) = con.execute(
        f"select avg(regexp_matches(value, '^[A-Za-z]{{0,2}}[0-9][A-Za-z0-9. -]{{1,7}}$')::int), count(distinct value) "
        f"from ({sample})"
    ).fetchall()
    return share is not None and share >= 0.8 and several > 5


@dataclass(frozen=True)
class Alone:
    """How many are unique by some columns."""

    alone: int
    people: int

    @property
    def share(self) -> float:
        return self.alone / self.people if self.people else 0.0


def alone_of(con: Session, source: Source, columns: Sequence[str], person: str | None) -> Alone:
    """How many rows, or people, have a combination of these columns to themselves. NULL is a value."""
    if not columns:
        return Alone(0, people_of(con, source, person))
    listed = ", ".join(map(quoted, columns))
    if person is None:
        classes = f"select count(*) as n from {source.relation} group by {listed}"
        ((alone, people),) = con.execute(
            f"select count(*) filter (where n = 1), coalesce(sum(n), 0) from ({classes})"
        ).fetchall()
        return Alone(int(alone), int(people))
    who = quoted(person)
    classes = f"select min({who}) as who from {source.relation} group by {listed} having count(distinct {who}) = 1"
    ((alone,),) = con.execute(f"select count(distinct who) from ({classes})").fetchall()
    return Alone(int(alone), people_of(con, source, person))


def people_of(con: Session, source: Source, person: str | None) -> int:
    """How many people there are: by their column, or a row each."""
    counted = "count(*)" if person is None else f"count(distinct {quoted(person)})"
    return int(con.execute(f"select {counted} from {source.relation}").fetchall()[0][0])


def combinations_of(con: Session, source: Source, columns: Sequence[str]) -> int:
    """How many different combinations there are."""
    listed = ", ".join(map(quoted, columns))
    return int(con.execute(f"select count(*) from (select distinct {listed} from {source.relation})").fetchall()[0][0])


def largest_share(con: Session, source: Source, column: str) -> float:
    """The share of a column's most frequent value: no class can promise an l above its inverse."""
    counted = f"select count(*) as n from {source.relation} group by {quoted(column)}"
    ((share,),) = con.execute(f"select max(n) / sum(n) from ({counted})").fetchall()
    return float(share or 1.0)


def some_rows(con: Session, source: Source) -> tuple[list[str], list[list[str]]]:
    """Ten rows drawn at random, as text."""
    found = con.execute(f"select columns(*)::varchar from {source.relation} using sample {SAMPLE} rows")
    names = [str(column[0]) for column in found.description or ()]
    return names, [["NULL" if cell is None else str(cell)[:80] for cell in row] for row in found.fetchall()]
