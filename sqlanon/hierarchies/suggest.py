"""A draft of a hierarchy from the values of a column: what they look like, and groups that are round or alike.

Codes become prefixes, numbers intervals whose ends are round and hold about as many rows, dates months and years, and
categories groups: the rarest one is joined with the one that is most like it until few are left.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from sqlanon.errors import HierarchyError, option, reading
from sqlanon.sqltext import name
from sqlanon.wording import plural

Path_ = tuple[str, ...]
"""A value, its labels from the narrowest to the widest, and *."""
SHARE = 0.95
"""The share of values that must look alike."""
MOST_CATEGORIES = 500
RARE = 3
"""A value of fewer people is in no label of a drafted group: it may be a name that was typed into the wrong column."""
LONG = 40
"""Text of this many characters on average is free text."""
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
NAMED_DATES = ("%b %d, %Y", "%d %b %Y", "%B %d, %Y", "%d %B %Y", "%d-%b-%Y")
"""Dates with the names of months."""
_COMMA = re.compile(r"-?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?")
_POINT = re.compile(r"-?\d+(\.\d+)?")
_THOUSANDS = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")
_SPACED = re.compile(r"-?([1-9]\d{0,2}([ \u00a0\u202f\u2009]\d{3})+|[1-9]\d{0,2}(['’]\d{3})+|\d+)([.,]\d+)?")
SPACED = "numbers with spaces or apostrophes between thousands"
_SPACES = re.compile(r"[ \u00a0\u202f\u2009'’]")
"""What stands between thousands: spaces in France and Poland, apostrophes in Switzerland."""
_UNIT = re.compile(
    r"([€$£¥]?)[ \u00a0\u202f]?(-?[0-9](?:[0-9.,'’]|[ \u00a0\u202f\u2009](?=[0-9]))*)[ \u00a0\u202f]?"
    r"(%|‰|[€$£¥]|EUR|USD|GBP|CHF|k?g|mg|[ckm]?m|m?l|years?|Jahre?)?",
    re.IGNORECASE,
)
"""A number with a sign before it or a unit behind it."""
_CODE = re.compile(r"[A-Za-z]{0,4}[0-9][A-Za-z0-9.\-]{1,11}|[A-Za-z]{1,3}[0-9][A-Za-z0-9]? ?[0-9][A-Za-z]{2}")
_IDENTIFIER = re.compile(
    r"\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?|[0-9a-f]{24,}|\S+@\S+\.\w+", re.IGNORECASE
)
"""UUIDs, hashes and e-mail addresses: whatever they begin with, people who share it have nothing in common."""
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b.*\d", re.IGNORECASE)


@dataclass(frozen=True)
class Suggestion:
    """A draft: what the values look like, what was made of them, and a row for each value in ARX's shape."""

    column: str
    looks_like: str
    made: str
    rows: tuple[Path_, ...]

    @property
    def levels(self) -> int:
        """How many levels it has, values and top among them."""
        return max((len(row) for row in self.rows), default=0)

    def csv(self) -> str:
        """The rows as a file to edit, from the value to *; hierarchy create --csv reads it."""
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(self.rows)
        return text.getvalue()

    def save(self, path: str | Path) -> None:
        """Write the csv file, unless there is one already."""
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.write(self.csv())
        except FileExistsError:
            raise HierarchyError(f"'{path}' already exists, and is not overwritten") from None
        except OSError as problem:
            raise HierarchyError(f"Cannot write '{path}': {problem.strerror}") from problem

    def __str__(self) -> str:
        levels, values = plural(self.levels, "level"), plural(len(self.rows), "value")
        return f"{self.column}: {self.looks_like}; {self.made}, {levels} over {values}"


def looks_like(values: Sequence[str]) -> str:
    """What the distinct texts of a column look like: identifiers, dates, numbers, codes, free text or categories."""
    if not values:
        return "no values"
    if sum(bool(_IDENTIFIER.fullmatch(value)) for value in values) >= SHARE * len(values):
        return "identifiers"
    if _date_formats(values):
        return "dates"
    bare = _without_unit(values)
    if bare is not None and looks_like(bare).startswith("numbers"):
        return "numbers with a unit"
    thousands = [value for value in values if _THOUSANDS.fullmatch(value)]
    grouped = [value for value in thousands if "," in value]
    is_whole = sum(value.endswith("0") for value in grouped) > len(grouped) / 2  # 52,000 are thousands, 72,315 are not
    if len(thousands) >= SHARE * len(values) and grouped and (is_whole or not all(map(_COMMA.fullmatch, grouped))):
        return "numbers with commas between thousands"
    spaced = [value for value in values if _SPACED.fullmatch(value)]
    is_amount = len(set(map(len, spaced))) > 1 or any("," in value or "." in value for value in spaced)
    if len(spaced) >= SHARE * len(values) and is_amount and any(map(_SPACES.search, spaced)):
        return SPACED
    numbers = [value for value in values if _COMMA.fullmatch(value)]
    if len(numbers) >= SHARE * len(values) and any("," in value for value in numbers):
        return "numbers with a decimal comma"
    lengths = {len(value) for value in values}
    padded = any(value.startswith("0") and value.isdigit() and len(value) > 1 for value in values)
    is_number = sum(bool(_POINT.fullmatch(value)) for value in values) >= SHARE * len(values)
    if is_number and not padded and (len(lengths) > 1 or any("." in value for value in values)):
        return "numbers"
    if sum(bool(_CODE.fullmatch(value)) for value in values) >= SHARE * len(values) and max(lengths) >= 3:
        return "codes"
    if sum(map(len, values)) >= LONG * len(values):
        return "free text"
    return "categories"


MENDED = {
    "dates": "dates as {example}: read them with strptime({column}, [{formats}]) in the source query",
    "numbers with a decimal comma": "numbers with a decimal comma{thousands}: read the file with {decimal}",
    "numbers with commas between thousands": "numbers with commas between thousands: read the file with FROM "
    "read_csv(..., thousands = ',')",
    SPACED: f"{SPACED}: take them out in the source query, and cast the rest",
    "numbers with a unit": "numbers with a unit: take it off in the source query, and cast the rest",
    "numbers": "numbers stored as text: cast the column in the source query",
    "codes": "codes, such as postcodes: generalize them by prefix",
    "identifiers": "identifiers, which no hierarchy can generalize: leave it out",
    "free text": "free text, which no hierarchy can generalize: leave it out",
    "categories": "categories: group them",
    "too many": "text with many different values, which no draft can group: leave it out, or write a hierarchy as a "
    "csv file",
    "no values": "nothing",
}
"""What a column of text looks like, and what mends it."""


def mended(column: str, values: Sequence[str]) -> str:
    """What the column looks like and how it can be read better, without showing a value."""
    formats = _date_formats(values)
    shown = " and ".join(date(2024, 12, 31).strftime(format) for format in formats)
    listed = ", ".join(f"'{format}'" for format in formats)
    decimal, thousands = reading("decimal", "decimal_separator", ","), ""
    if any("." in value for value in values):
        thousands = " and points between thousands"
        decimal = "FROM read_csv(..., decimal_separator = ',', thousands = '.')"
    found = looks_like(values)
    kind = found if can_be_drafted(values) or found in ("identifiers", "free text") else "too many"
    return MENDED[kind].format(column=name(column), example=shown, formats=listed, decimal=decimal, thousands=thousands)


def can_be_drafted(values: Sequence[str]) -> bool:
    """Can a hierarchy be drafted for these texts?"""
    kind = looks_like(values)
    return kind not in ("identifiers", "free text", "no values") and (
        kind != "categories" or len(values) <= MOST_CATEGORIES
    )


def suggest(column: str, counts: Mapping[str, int], likeness: Callable[[str, str], float] | None = None) -> Suggestion:
    """A hierarchy for a column of text with these values and how many people have them; `likeness` says how alike two
    categories are, from 0 to 1."""
    values = sorted(counts)
    kind = looks_like(values)
    if kind == "dates":
        return Suggestion(column, kind, "months, years and decades", _dates(values))
    if kind.startswith("numbers"):
        read = _numbers(values, kind)
        return suggest_numbers(column, {value: (read[value], rows) for value, rows in counts.items()}, kind)
    if kind == "codes":
        return Suggestion(column, kind, "prefixes", _prefixes(values))
    if kind == "identifiers":
        raise HierarchyError(
            f"Column '{column}' looks like an identifier (UUIDs, hashes or e-mail addresses): groups of its values "
            f"would mean nothing. Leave it out, or count people by it with {option('entity', column)}"
        )
    if not can_be_drafted(values):
        what = "no values" if kind == "no values" else f"{kind} with {len(values):,} different values"
        raise HierarchyError(
            f"Column '{column}' has {what}: no hierarchy can be drafted. Leave it out, or write one as a csv file"
        )
    return Suggestion(column, kind, "groups of rare and similar values", _groups(counts, likeness))


def suggest_numbers(column: str, numbers: Mapping[str, tuple[float, int]], kind: str = "numbers") -> Suggestion:
    """Intervals with round ends over numbers, given as text → (number, rows)."""
    points = sorted(numbers.values())
    edges = _round_edges(points)
    levels = [edges]
    while len(levels[-1]) > 3:
        levels.append(_coarser(levels[-1]))
    paths = []
    for value, (number, _) in sorted(numbers.items(), key=lambda item: item[1][0]):
        labels = [_interval(number, level) for level in levels if len(level) > 2]
        paths.append((value, *labels, "*"))
    return Suggestion(column, kind, "intervals with round ends that hold about as many rows", tuple(paths))


def suggest_dates(column: str, values: Mapping[str, date]) -> Suggestion:
    """Months, years and decades over dates, given as text → date."""
    paths = (_of_date(text, day) for text, day in sorted(values.items(), key=lambda item: item[1]))
    return Suggestion(column, "dates", "months, years and decades", tuple(paths))


def _without_unit(values: Sequence[str]) -> list[str] | None:
    """The numbers before a unit, or behind a sign, that most values have: the same one, or there is no telling what
    they measure."""
    found = [match for match in map(_UNIT.fullmatch, values) if match and (match[1] or match[3])]
    has_one = len({(match[1], match[3]) for match in found}) == 1
    return [match[2] for match in found] if has_one and len(found) >= SHARE * len(values) else None


def _numbers(values: Sequence[str], kind: str) -> dict[str, float]:
    """The number that each text is."""
    if kind == "numbers with a unit":
        kind = looks_like(_without_unit(values) or ())
        bare = {value: match[2] for value in values if (match := _UNIT.fullmatch(value)) is not None}
        return {value: _number(bare.get(value, value), kind) for value in values}
    return {value: _number(value, kind) for value in values}


def _number(value: str, kind: str) -> float:
    if kind == "numbers with commas between thousands":
        value = value.replace(",", "")
    if kind == SPACED:
        value = _SPACES.sub("", value).replace(",", ".")
    try:
        return float(value.replace(".", "").replace(",", ".") if "decimal comma" in kind else value)
    except ValueError:
        return math.inf


def _round_edges(points: Sequence[tuple[float, int]], parts: int = 16) -> list[float]:
    """Ends of at most this many intervals that hold about as many rows each, on the coarsest grid that tells them
    apart; the last one lies beyond the largest number."""
    finite = [(number, rows) for number, rows in points if math.isfinite(number)]
    if not finite:
        return [0.0, 1.0]
    wanted: list[float] = []
    total, seen = sum(rows for _, rows in finite), 0
    for number, rows in finite:
        if seen * parts // total != (seen + rows) * parts // total or not wanted:
            wanted.append(number)
        seen += rows
    low, high = finite[0][0], finite[-1][0]
    if low == high:
        return [low, low + 1]
    power = 10.0 ** math.floor(math.log10(high - low))
    steps = [unit * power * 10.0**-digits for digits in range(4) for unit in (1, 0.5, 0.2)]
    for step in steps:
        found = sorted({_snap(number, step) for number in wanted})
        if len(found) >= 0.7 * len(wanted) or step == steps[-1]:
            break
    found[0] = min(found[0], _snap(low, step))
    end = _snap(high, step)
    edges = [*found, end + step if end >= found[-1] else found[-1] + step]
    last = sum(rows for number, rows in finite if number >= edges[-2])
    if len(edges) > 3 and 2 * last * (len(edges) - 1) < total:
        edges.pop(-2)
    # The outer ends are no finer than their intervals are wide: the richest person's income is not to be read off them.
    above, below = _unit(edges[1] - low, step), _unit(high - edges[-2], step)
    return [_snap(low, above), *edges[1:-1], _snap(high, below) + below]


def _unit(width: float, step: float) -> float:
    """The power of ten that a width has, or the step of the grid if that is more."""
    return max(step, 10.0 ** math.floor(math.log10(width))) if width > 0 else step


def _coarser(edges: Sequence[float]) -> list[float]:
    """The ends of half as many intervals: two of them become one, and the last three of five, seven and so on."""
    starts = list(edges[:-1:2])
    return [*(starts[:-1] if len(starts) > 2 and len(edges) % 2 == 0 else starts), edges[-1]]


def _snap(number: float, step: float) -> float:
    return float(f"{math.floor(number / step) * step:.12g}")


def _interval(number: float, edges: Sequence[float]) -> str:
    if not math.isfinite(number):
        return "other"
    below = max(index for index, edge in enumerate(edges[:-1]) if edge <= number or index == 0)
    return f"[{edges[below]:.12g}-{edges[below + 1]:.12g})"


def _date_formats(values: Sequence[str]) -> list[str]:
    """The formats that read most values as dates, as few as needed; none if they are not dates."""
    left, formats = list(values), []
    tried = (*DATES, *NAMED_DATES) if any(map(_MONTH.search, values)) else DATES
    for _ in tried:
        best = max(tried, key=lambda format: sum(_parsed(value, format) is not None for value in left))
        rest = [value for value in left if _parsed(value, best) is None]
        if len(rest) == len(left):
            break
        formats.append(best)
        left = rest
    return formats if values and len(left) <= (1 - SHARE) * len(values) else []


def _parsed(value: str, format: str) -> date | None:
    if not 8 <= len(value) <= 18:
        return None
    try:
        found = datetime.strptime(value, format).date()
    except ValueError:
        return None
    return found if 1850 <= found.year <= 2150 else None


def _dates(values: Sequence[str]) -> tuple[Path_, ...]:
    formats = _date_formats(values)
    days = {value: next(filter(None, (_parsed(value, each) for each in formats)), None) for value in values}
    order = sorted(values, key=lambda value: (days[value] is None, days[value] or date.max))
    return tuple(_of_date(value, days[value]) for value in order)


def _of_date(text: str, day: date | None) -> Path_:
    if day is None:
        return (text, "not a date", "not a date", "not a date", "*")
    return (text, f"{day:%Y-%m}", f"{day:%Y}", f"{day.year // 10 * 10}s", "*")


def _prefixes(values: Sequence[str]) -> tuple[Path_, ...]:
    longest = max(map(len, values))
    return tuple(
        (value, *(value[: longest - level] + "*" * level for level in range(1, longest)), "*") for value in values
    )


def _groups(counts: Mapping[str, int], likeness: Callable[[str, str], float] | None) -> tuple[Path_, ...]:
    """Levels of about half as many groups each: the rarest group joins the one most like it, or the next rarest."""
    groups: list[tuple[tuple[str, ...], int]] = [
        ((value,), rows) for value, rows in sorted(counts.items(), key=lambda item: (item[1], item[0]))
    ]
    paths: dict[str, list[str]] = {value: [value] for value in counts}
    named: dict[str, tuple[str, ...]] = {}
    while len(groups) > 3:
        target = max(2, (len(groups) + 1) // 2)
        while len(groups) > target:
            rarest = groups.pop(0)
            near = max(range(len(groups)), key=lambda other: (_alike(rarest[0], groups[other][0], likeness), -other))
            joined, rows = groups.pop(near)
            groups.append((tuple(sorted((*joined, *rarest[0]), key=lambda v: (-counts[v], v))), rows + rarest[1]))
            groups.sort(key=lambda group: (group[1], group[0]))
        for members, _ in groups:
            label = _group_label(members, counts, named)
            for value in members:
                paths[value].append(label)
    return tuple((*path, "*") for path in paths.values())


def _alike(one: Sequence[str], other: Sequence[str], likeness: Callable[[str, str], float] | None) -> float:
    if likeness is None:
        return 0.0
    pairs = [(a, b) for a in one[:8] for b in other[:8]]
    return sum(likeness(a, b) for a, b in pairs) / len(pairs)


def _group_label(members: tuple[str, ...], counts: Mapping[str, int], named: dict[str, tuple[str, ...]]) -> str:
    """A label that only these values have: some of them, but none that is one or two people's, as it is released with
    everybody in the group. `named` are the labels that were given."""
    if len(members) == 1:
        return members[0]
    shown = [value for value in members if counts[value] >= RARE][:4]
    more = len(members) - len(shown)
    label = " | ".join([*shown, *([f"{more} more"] if more else [])]) if shown else f"{more} rare values"
    number = 1
    while named.setdefault(text := label if number == 1 else f"{label} ({number})", members) != members:
        number += 1
    return text
