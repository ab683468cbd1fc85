"""Running the program on guesses: does it release the same if two people of a class have each other's values?

Whoever knows the program, the policy and everybody's quasi-identifiers can run it on any guess of the sensitive values.
If it never releases what was released, the guess is wrong. Where rows are dealt to groups by chance, with random
numbers that nobody knows, and no value decided which groups there are, it does so for such a guess now and then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from secrets import SystemRandom

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.session import is_in_transaction, keep_steps, run, temporary, translate_errors
from sqlanon.errors import DataError
from sqlanon.pipeline.plan import encode, plan
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.policy import Policy
from sqlanon.privacy.covering import Covering, together
from sqlanon.sqltext import name, names

MOST_ROWS = 500
FIRST, RUNS, GUESSES = 3, 8, 8
"""How often the program runs on the truth to begin with, how often on a guess at most, and on how many guesses."""
ROW = "sqlanon_row"
UNRELEASED = ("keep", "unsafe_keep", "pseudonymize")
"""Roles that do not matter here."""


UNLIKELY = 1e-3


@dataclass(frozen=True)
class Guesses:
    """How many guesses were made and ruled out, and the chance that a guess is ruled out though it is as good as the
    truth; `why` says why none was made."""

    made: int = 0
    ruled_out: int = 0
    chance: float = 0.0
    why: str | None = None

    @property
    def got(self) -> float:
        """The share of guesses that are ruled out."""
        return self.ruled_out / max(1, self.made)

    @property
    def are_too_many(self) -> bool:
        """Are more ruled out than could be if all were as good as the truth?"""
        ways = (
            math.comb(self.made, count) * self.chance**count * (1 - self.chance) ** (self.made - count)
            for count in range(self.ruled_out, self.made + 1)
        )
        return sum(ways) < UNLIKELY


def exchange(catalog: Catalog, view: Covering) -> Guesses:
    """Exchange values of people who may be in one class, and run the program on that."""
    rows = len(view.ranks)
    if rows > MOST_ROWS or rows != len(view.lo) or not view.policy.kind.has_classes:
        return Guesses(
            why=f"only if everybody is released, in classes, and there are no more than {MOST_ROWS:,} people"
        )
    if is_in_transaction(catalog.con):
        return Guesses(why="only outside of a transaction, which a guess that cannot be released would abort")
    try:
        with translate_errors(), _replayed(catalog, view) as replay:
            return _guessed(view, replay)
    except DataError:
        return Guesses(why="the policy cannot be run on the source as it is")


def _guessed(view: Covering, replay: _Replay) -> Guesses:
    with replay.runs() as is_same:
        again = sum(is_same() for _ in range(FIRST))
        if not again:
            return Guesses()
        again += sum(is_same() for _ in range(FIRST, RUNS))
    guesses = [pair for pair, _ in zip(_pairs(view), range(GUESSES), strict=False)]
    ruled_out = sum(not replay.could_be(*pair) for pair in guesses)
    # Two people with one value can be dealt to two groups in one way, with two values in two.
    often = (again + 1) / (RUNS + 2) / 2
    return Guesses(len(guesses), ruled_out, (1 - often) ** RUNS)


@contextmanager
def _replayed(catalog: Catalog, view: Covering) -> Iterator[_Replay]:
    options = view.policy.options()
    policy = Policy.of({option: value for option, value in options.items() if option not in UNRELEASED})
    everybody = f"select row_number() over () - 1 as {ROW}, * from {view.source.relation}"
    with temporary(catalog.con, "world", everybody) as world:
        yield _Replay(catalog, view, policy, world)


@dataclass(frozen=True)
class _Replay:
    """The source in a table whose sensitive values may be exchanged."""

    catalog: Catalog
    view: Covering
    policy: Policy
    world: str

    @cached_property
    def _reading(self) -> Reading:
        return self.catalog.read(f"select * exclude ({ROW}) from {self.world}", self.policy)

    @contextmanager
    def runs(self) -> Iterator[Callable[[], bool]]:
        """What runs the program on the table as it is now, and says whether that gives what was released. All runs read
        the source as it was encoded for the first."""
        with keep_steps(self.catalog.con, encode(self._reading)) as (held, _):
            planned = plan(self._reading, held=held)
            columns, released = names(planned.columns), self.view.target.relation

            def is_same() -> bool:
                with temporary(self.catalog.con, "replay", planned.sql) as replay:
                    pair = [f"select {columns} from {relation}" for relation in (replay, released)]
                    differ = " union all ".join(f"({one} except all {other})" for one, other in (pair, pair[::-1]))
                    return not run(self.catalog.con, f"select 1 from ({differ}) limit 1")

            yield is_same

    def could_be(self, one: int, other: int) -> bool:
        """Does some run give what was released if these two have each other's values?"""
        self._swap(one, other)
        try:
            with self.runs() as is_same:
                return any(is_same() for _ in range(RUNS))
        finally:
            self._swap(one, other)

    def _swap(self, one: int, other: int) -> None:
        columns = [name(column) for column in self.view.sensitive]
        values = ", ".join(f"{column} = theirs.{column}" for column in columns)
        run(
            self.catalog.con,
            f"update {self.world} as mine set {values} from {self.world} as theirs "
            f"where (mine.{ROW} = $1 and theirs.{ROW} = $2) or (mine.{ROW} = $2 and theirs.{ROW} = $1)",
            [one, other],
        )


def _pairs(view: Covering) -> Iterator[tuple[int, int]]:
    """Two people of one class with different values and quasi-identifiers, those first whom several classes cover, in
    random order: in one way, found by matching, in which the release may have come about."""
    chance = SystemRandom()
    values = together([view.of_people[column] for column in view.sensitive], len(view.ranks)).tolist()
    home, fits = _explained(view, chance)
    _, place = view.tuples
    pairs = [
        (one, other)
        for one, other in itertools.combinations(range(len(home)), 2)
        if home[one] == home[other] >= 0 and values[one] != values[other] and place[one] != place[other]
    ]
    chance.shuffle(pairs)
    yield from sorted(pairs, key=lambda pair: max(fits[one] for one in pair) == 1)


def _explained(view: Covering, chance: SystemRandom) -> tuple[list[int], list[int]]:
    """A class for each person that covers them, such that every class has the values that it shows (-1 for people for
    whom none is left), and how many classes cover each person."""
    lo, hi, of_class, _ = view.classes
    of_people = together([view.of_people[column] for column in view.sensitive], len(view.ranks))
    of_rows = together([view.of_rows[column] for column in view.sensitive], len(view.lo))
    left: dict[tuple[int, int], int] = {}
    for place, value in zip(of_class.tolist(), of_rows.tolist(), strict=True):
        left[place, value] = left.get((place, value), 0) + 1
    covers = np.all((lo <= view.ranks[:, None]) & (view.ranks[:, None] <= hi), axis=2)
    wanted = [[place for place in np.flatnonzero(row).tolist() if (place, value) in left]
              for row, value in zip(covers, of_people.tolist(), strict=True)]  # fmt: skip
    home = [-1] * len(wanted)
    held: dict[tuple[int, int], list[int]] = {slot: [] for slot in left}

    def seat(person: int, seen: set[tuple[int, int]]) -> bool:
        for place in chance.sample(wanted[person], len(wanted[person])):
            slot = (place, int(of_people[person]))
            if slot in seen:
                continue
            seen.add(slot)
            if len(held[slot]) < left[slot]:
                held[slot].append(person)
                home[person] = place
                return True
            for other in held[slot]:
                if seat(other, seen):
                    held[slot].remove(other)
                    held[slot].append(person)
                    home[person] = place
                    return True
        return False

    for person in range(len(wanted)):
        seat(person, set())
    return home, covers.sum(axis=1).tolist()
