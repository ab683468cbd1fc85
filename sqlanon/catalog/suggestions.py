"""Drafts of hierarchies for the columns of a table: the values are read here, and grouped by hierarchies.suggest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlanon.engine.frames import readable, registered
from sqlanon.engine.names import resolve, split_column
from sqlanon.engine.session import Session, run, translate_errors, unwrap
from sqlanon.errors import CatalogError, HierarchyError
from sqlanon.families import DATE, TEXT, TIMESTAMP, type_family
from sqlanon.hierarchies.suggest import (
    LONG,
    MOST_CATEGORIES,
    Suggestion,
    can_be_drafted,
    looks_like,
    mended,
    suggest,
    suggest_dates,
    suggest_numbers,
)
from sqlanon.pipeline.source import Source
from sqlanon.policy.validation import column_names
from sqlanon.sqltext import answer_sql, is_path, name

FEW = 500
"""How many values are looked at to see whether they are dates or numbers."""
MOST = 100_000
"""How many different values a draft can have."""
COMPANIONS = 6
"""How many other columns are looked at to find out which categories are alike."""


def suggest_hierarchy(
    con: Any, column: str, source: Any = None, hint: str = "", quasi: str | Sequence[str] | None = None
) -> Suggestion:
    """Draft a hierarchy for `table.column` from its values, or for a column of a source: a table, file, query or frame.

    Look at it, edit its `csv()` where the groups mean nothing, and make it with `create_hierarchy(con, name,
    rows=draft.rows)` or from the edited file. Which categories are alike is seen in the columns of `quasi`, or in all.
    """
    raw = unwrap(con)
    known = None if quasi is None else column_names("quasi", quasi)
    with translate_errors(), registered(raw) as named:
        if source is not None:
            return _draft(raw, resolve(raw, named(readable(source)), hint), column, known)
        if is_path(column) and Path(column).is_file():
            raise CatalogError(f"Which column of '{column}'? Write '{column}.COLUMN'")
        table, asked = column.rpartition(".")[::2]
        if '"' in column or not table:
            table, asked = split_column(column)
        return _draft(raw, resolve(raw, table, hint), asked, known)


def _draft(con: Session, source: Source, column: str, known: Sequence[str] | None) -> Suggestion:
    return suggest_for(con, source, column, known=None if known is None else source.resolve_names(known))


def suggest_for(
    con: Session, source: Source, asked: str, entity: str | None = None, known: Sequence[str] | None = None
) -> Suggestion:
    """The draft for one column of a source; people are counted by `entity`, or by rows where they have one each. Which
    categories are alike is seen in the columns that are `known` to others, or in all where nobody says which are."""
    (column,) = source.resolve_names([asked])
    family = type_family(column, source.types[column])
    number = "cast(null as double)"
    if family.is_ordered and family not in (DATE, TIMESTAMP):
        number = f"cast({name(column)} as double)"
    day = f"cast({name(column)} as date)" if family in (DATE, TIMESTAMP) else "cast(null as date)"
    people = "count(*)" if entity is None else f"count(distinct {name(entity)})"
    found = run(
        con,
        f"select cast({name(column)} as varchar), {people}, any_value({number}), any_value({day}) "
        f"from {source.relation} where {name(column)} is not null group by 1 order by 1 limit {MOST + 1}",
    )
    if not found:
        raise HierarchyError(f"Column '{column}' has no values")
    if len(found) > MOST:
        raise HierarchyError(
            f"Column '{column}' has more than {MOST:,} values: use a rule, such as prefix or intervals"
        )
    if family in (DATE, TIMESTAMP):
        return suggest_dates(column, {text: value for text, _, _, value in found})
    if family is not TEXT:
        return suggest_numbers(column, {text: (value, rows) for text, rows, value, _ in found})
    counts = {text: rows for text, rows, _, _ in found}
    others = [other for other in source.columns if known is None or other in known]
    likeness = _likeness(con, source, column, others) if len(counts) <= MOST_CATEGORIES else None
    return suggest(column, counts, likeness)


def described(column: str, values: Sequence[str]) -> tuple[str, bool]:
    """What a text column looks like and how it can be read better, without showing a value; can a hierarchy be drafted
    for it?"""
    return mended(column, values), can_be_drafted(values)


def amounts(con: Session, source: Source, columns: Sequence[str]) -> dict[str, str]:
    """The text columns whose values are dates, or numbers as people write them, with what they look like and how they
    can be read better. Plain digits may be somebody's number, and are not among them."""
    found = {}
    for column in columns:
        text = f"cast({name(column)} as varchar)"
        values = run(con, f"select distinct {text} from {source.relation} where {text} <> '' limit {FEW}")
        texts = [value for (value,) in values]
        if looks_like(texts) not in ("identifiers", "numbers", "codes", "free text", "categories", "no values"):
            found[column] = mended(column, texts)
    return found


def suggestion_sql(draft: Suggestion) -> str:
    """A query that answers with the draft: value, level_1, ..., one row for each value."""
    width = draft.levels
    kinds = {"value": "varchar"} | {f"level_{level}": "varchar" for level in range(1, width)}
    return answer_sql(kinds, draft.rows)


def _likeness(con: Session, source: Source, column: str, known: Sequence[str]) -> Callable[[str, str], float]:
    """How alike two values are: the cosine of how often they occur with the values of a few other columns, each
    relative to what is expected."""
    vectors: dict[str, dict[tuple[str, str], float]] = {}
    others = [other for other in known if other != column and not source.types[other].endswith("]")]
    for other in others[: 4 * COMPANIONS]:
        shown = f"cast({name(other)} as varchar)"
        ((distinct, length),) = run(
            con, f"select count(distinct {shown}), coalesce(avg(length({shown})), 0) from {source.relation}"
        )
        if not 2 <= distinct <= 50 or length > LONG:
            continue
        both = run(
            con,
            f"select cast({name(column)} as varchar), {shown}, count(*) "
            f"from {source.relation} "
            f"where {name(column)} is not null and {name(other)} is not null group by all",
        )
        own: dict[str, int] = {}
        its: dict[str, int] = {}
        for value, with_, rows in both:
            own[value] = own.get(value, 0) + rows
            its[with_] = its.get(with_, 0) + rows
        total = sum(own.values())
        for value, with_, rows in both:
            vectors.setdefault(value, {})[other, with_] = rows / own[value] / math.sqrt(its[with_] / total)

    def alike(one: str, other: str) -> float:
        a, b = vectors.get(one, {}), vectors.get(other, {})
        length = math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))
        return sum(x * b.get(key, 0.0) for key, x in a.items()) / length if length else 0.0

    return alike
