"""Somebody who keeps every version of a view and is even told who is behind which row; not their illnesses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from reading import Con, rows

Class = tuple[frozenset[int], Counter[str]]
"""The people of a class, and the values that are released for them."""


def classes(con: Con, view: str = "pub") -> list[Class]:
    """The classes of a view that releases the column `tag`, which says whose a row is, for the sake of the test."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for age, tag, illness in rows(con, f"select age, tag, illness from {view}"):
        found[str(age)].append((tag, illness))
    return [(frozenset(tag for tag, _ in both), Counter(illness for _, illness in both)) for both in found.values()]


def observations(versions: list[list[Class]]) -> list[Class]:
    """Everything that can be read off: classes, and what is left of one when another inside it is taken away."""
    seen = {people: values for version in versions for people, values in version}
    while True:
        found = {
            one - other: values - seen[other]
            for one, values in seen.items()
            for other in seen
            if other < one and not seen[other] - values
        }
        new = {people: values for people, values in found.items() if people not in seen}
        if not new:
            return list(seen.items())
        seen |= new


def candidates(seen: Iterable[Class]) -> dict[int, Counter[str]]:
    """For each person the rows that may be theirs in everything that was seen."""
    left: dict[int, Counter[str]] = {}
    for people, values in seen:
        for person in people:
            left[person] = values & left[person] if person in left else values
    return left
