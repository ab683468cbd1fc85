"""What somebody finds who knows all rows of a person: the people whose released rows could be theirs, and their values.

Where the release shows which rows are one person's (pseudonyms), the attacker looks for the sets of rows that fit: each
released row covers another one of the person's rows. Where it does not, the value that a person has in every row must
be found among the rows that cover each of them. A release that may lack rows of the source rules out less.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlanon.privacy.covering import Codes, Covering

Bools = npt.NDArray[np.bool_]
PEOPLE = 2_000
"""How many people are looked for; of more, every second, third and so on."""


@dataclass(frozen=True)
class People:
    """Rows by the person whom they are about: `rows[first[p] : first[p + 1]]` are those of person p."""

    rows: Codes
    first: Codes

    @classmethod
    def of(cls, who: Codes) -> People:
        """The people of a table, by the hash of whom each row is about."""
        _, person = np.unique(who, return_inverse=True)
        person = person.reshape(-1)
        counts = np.bincount(person)
        return cls(np.argsort(person, kind="stable"), np.append(0, np.cumsum(counts)))

    def __len__(self) -> int:
        return len(self.first) - 1

    def rows_of(self, person: int) -> Codes:
        """The rows of one person."""
        return self.rows[self.first[person] : self.first[person + 1]]


class Linked:
    """A release as it looks to somebody who knows all rows of a person."""

    def __init__(self, view: Covering) -> None:
        assert view.who is not None
        self.view, self.people = view, People.of(view.who)
        self.tried = range(0, len(self.people), -(-len(self.people) // PEOPLE))
        self.may_lack = view.policy.may_drop or len(view.lo) < len(view.ranks)
        tied = view.of_rows.get(view.entity or "")
        self.sets = None if tied is None else People.of(tied)

    @cached_property
    def candidates(self) -> Codes:
        """For each person that is tried, how many released sets of rows could be theirs."""
        return np.array([len(fitting) for fitting in self._fitting])

    @cached_property
    def _fitting(self) -> list[Codes]:
        return [self._fits(self._covering(person)) for person in self.tried]

    def _covering(self, person: int) -> Bools:
        """Which class covers which row of a person: rows × classes."""
        lo, hi, _, _ = self.view.classes
        ranks = self.view.ranks[self.people.rows_of(person)]
        return np.asarray(((lo <= ranks[:, None]) & (ranks[:, None] <= hi)).all(axis=2))

    def _fits(self, inside: Bools) -> Codes:
        """The released sets of rows that could be those of a person whose rows are covered so."""
        assert self.sets is not None
        of_class, first = self.view.classes[2][self.sets.rows], self.sets.first
        size = np.diff(first)
        covered: Bools = np.asarray(inside.any(axis=0))
        could: Bools = np.asarray(np.logical_and.reduceat(covered[of_class], first[:-1]))
        could &= (size <= len(inside)) if self.may_lack else (size == len(inside))
        some = np.flatnonzero(could)
        return some[[_is_matched(inside[:, of_class[first[h] : first[h + 1]]]) for h in some]] if len(some) else some

    def certain(self, column: str) -> tuple[int, int]:
        """How many people the release leaves one value of a sensitive column for, and of how many: people with several
        rows and one value in all of them."""
        found, of_rows = np.unique(self.view.of_rows[column], return_inverse=True)
        codes = of_rows.reshape(-1)
        shown = np.zeros((len(self.view.classes[3]), len(found)), dtype=bool)
        shown[self.view.classes[2], codes] = True
        sure = asked = 0
        for number, person in enumerate(self.tried):
            rows = self.people.rows_of(person)
            own = self.view.of_people[column][rows]
            if len(rows) < 2 or (own != own[0]).any():
                continue
            asked += 1
            left = self._left(number, person, shown, codes)
            sure += int(left.sum() == 1 and found[left][0] == own[0])
        return sure, asked

    def _left(self, number: int, person: int, shown: Bools, codes: Codes) -> Bools:
        """The values that may be a person's."""
        if self.sets is not None:
            left = np.zeros(shown.shape[1], dtype=bool)
            for fitting in self._fitting[number]:
                left[codes[self.sets.rows_of(int(fitting))]] = True
            return left
        by_row = np.array([shown[covering].any(axis=0) for covering in self._covering(person)])
        return np.asarray(by_row.any(axis=0) if self.may_lack else by_row.all(axis=0))

    @property
    def worst(self) -> float:
        """The largest chance of picking a person's set of rows."""
        return float(1 / self.candidates[self.candidates > 0].min(initial=np.iinfo(np.int64).max))


@dataclass(frozen=True)
class Known:
    """How far an attack got that knows all rows of a person, and what is promised against it."""

    attack: str
    column: str | None
    tried: str
    got: float
    chance: float | None
    promise: float | None
    is_open: bool
    """Did it get anywhere?"""

    @property
    def told(self) -> dict[str, Any]:
        """All but whether it got anywhere."""
        return {key: value for key, value in asdict(self).items() if key != "is_open"}


def known_rows(view: Covering) -> list[Known]:
    """Somebody knows all rows of a person: how many released sets of rows could be theirs, and is one value left?"""
    policy = view.policy
    if policy.entity is None:
        return []
    linked = Linked(view)
    found = []
    if linked.sets is not None:
        tried = f"all rows of {len(linked.tried):,} people compared with {len(linked.sets):,} released sets of rows"
        worst, chance = linked.worst, 1 / len(linked.sets)
        promise = 1 / policy.k if policy.linked or policy.ties_rows else None
        found.append(Known("linked_rows", None, tried, worst, chance, promise, worst > chance))
    for column in view.sensitive:
        diverse, distinct, alpha = (policy.required(model, column) or 1 for model in ("l", "distinct_l", "alpha"))
        is_diverse = max(diverse, distinct, 1 / alpha) > 1
        sure, people = linked.certain(column)
        tried = f"{people:,} people with several rows and one value; {sure:,} have one value left"
        promise = 0.0 if policy.linked and is_diverse else None
        found.append(Known("linked_values", column, tried, sure / max(people, 1), None, promise, sure > 0))
    return found


def _is_matched(fits: Bools) -> bool:
    """Is there a row of its own for every released row? `fits` is rows × released rows (Kuhn 1955)."""
    taken: dict[int, int] = {}

    def place(released: int, seen: set[int]) -> bool:
        for row in np.flatnonzero(fits[:, released]).tolist():
            if row in seen:
                continue
            seen.add(row)
            if row not in taken or place(taken[row], seen):
                taken[row] = released
                return True
        return False

    return all(place(released, set()) for released in range(fits.shape[1]))
