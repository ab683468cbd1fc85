"""All worlds that could have led to a release: who could have which sensitive value, counted exactly.

A world gives each person one of the values. Groups that were formed without values are dealt people at random, and the
groups that break a model are repaired; so the chance of each release in each world can be counted, and with it what
somebody learns who knows the program, everybody's quasi-identifiers and the policy, and thinks all worlds equally
likely beforehand.

python tests/helpers/worlds.py --tables 5000    random tables, methods and models
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.after.repair import repair
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Groups, Numbers, Problem
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import solve

Released = tuple[tuple[int, int, tuple[int, ...]], ...]
"""The classes of a release: smallest and largest place, and the values."""
World = tuple[int, ...]
Home = tuple[int, ...]
"""The group of each person."""
Form = Callable[[Problem, Groups], Groups]
"""From groups of people with their values to those that are released."""


SEES_NO_VALUE = [method.name for method in METHODS.values() if not method.is_diverse and method.is_homogeneous]
"""The methods that are run without sensitive values, unless l is all that is required."""


def quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""


def worlds(values: Sequence[int]) -> list[World]:
    """Every way to give the people these values."""
    found: list[World] = []
    left: dict[int, int] = {value: list(values).count(value) for value in sorted(set(values))}

    def give(so_far: World) -> None:
        if len(so_far) == len(values):
            found.append(so_far)
            return
        for value, count in left.items():
            if count:
                left[value] -= 1
                give((*so_far, value))
                left[value] += 1

    give(())
    return found


@dataclass(frozen=True)
class People:
    """People on a line, sorted by place, and what every class of them must keep."""

    places: tuple[int, ...]
    known: tuple[int, ...]
    """The values that somebody has: what a release shows anyway."""
    k: int
    models: Mapping[str, float]
    method: str = "kmember"

    def problem(self, world: World) -> Problem:
        """Their table in a world: tuples are distinct in place and value."""
        pairs, counts = np.unique(np.column_stack([self.places, world]), axis=0, return_counts=True)
        line = Numbers(np.arange(max(self.places) + 1.0))
        plain = Problem(pairs[:, :1].copy(), counts, (line,), np.ones(1), pairs[:, 1:].copy())
        return promise(plain, self.models) if self.models else plain

    @cached_property
    def blind(self) -> Groups:
        """The groups of the method, which sees places alone."""
        method = METHODS[self.method]
        merged, _ = self.problem((0,) * len(self.places)).merged()
        rng = np.random.default_rng(0)
        return method.cluster(merged, self.k, rng, quiet, **method.check({}))

    @cached_property
    def dealings(self) -> list[Home]:
        """Every way to deal the people of each place to the groups that share it: all are equally likely."""
        where = np.unique(self.places, return_inverse=True)[1]
        ways = []
        for place in range(int(where.max()) + 1):
            mine = self.blind.tuple == place
            row = np.repeat(self.blind.group[mine], self.blind.rows[mine]).tolist()
            ways.append(sorted(set(itertools.permutations(row))))
        return [tuple(itertools.chain(*way)) for way in itertools.product(*ways)]

    def groups(self, world: World, home: Home) -> tuple[Problem, Groups]:
        """The people in their groups, with the values of a world."""
        problem = self.problem(world)
        assert problem.sensitive is not None
        number = {
            (place, value): t
            for t, (place, value) in enumerate(
                zip(problem.ranks[:, 0].tolist(), problem.sensitive[:, 0].tolist(), strict=True)
            )
        }
        tuples = [number[person] for person in zip(self.places, world, strict=True)]
        return problem, Groups.collect(tuples, home, np.ones(len(home), dtype=np.int64))

    def is_kept(self, world: World, home: Home) -> bool:
        """Do the dealt groups keep every model as they are?"""
        return all(self._keeps(values) for _, _, values in self.classes(world, home))

    def classes(self, world: World, home: Home) -> list[tuple[int, int, tuple[int, ...]]]:
        """The dealt groups: their ends and values."""
        held: dict[int, list[tuple[int, int]]] = {}
        for place, value, group in zip(self.places, world, home, strict=True):
            held.setdefault(group, []).append((place, value))
        return [(min(group)[0], max(group)[0], tuple(sorted(value for _, value in group))) for group in held.values()]

    def _keeps(self, values: tuple[int, ...]) -> bool:
        if values not in self._kept:
            codes = np.array(values)[:, None]
            group = Problem(np.zeros_like(codes), np.ones(len(codes), dtype=np.int64), (), np.ones(0), codes)
            whole = self.problem(self.known)
            models = replace(group, models=whole.models)
            zeros = np.zeros(len(codes), dtype=np.int64)
            self._kept[values] = bool(legality.are_legal(models, np.arange(len(codes)), zeros, group.counts).all())
        return self._kept[values]

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], bool]:
        return {}

    @cached_property
    def _released(self) -> dict[object, Released]:
        return {}

    def released(self, world: World, home: Home, form: Form) -> Released:
        """What is released of people who were dealt so."""
        key = (form, home, tuple(sorted(zip(home, self.places, world, strict=True))))
        if key not in self._released:
            problem, groups = self.groups(world, home)
            self._released[key] = shown(problem, form(problem, groups))
        return self._released[key]


def repaired(problem: Problem, groups: Groups) -> Groups:
    """The usual way of forming: what breaks a model is merged with the nearest."""
    return repair(problem, groups, quiet)


def shown(problem: Problem, groups: Groups) -> Released:
    """The classes of a core's groups as anybody sees them."""
    assert problem.sensitive is not None
    lo, hi, _ = groups.closure(problem)
    ends = [(int(lo[group, 0]), int(hi[group, 0])) for group in groups.group]
    entries = zip(ends, problem.sensitive[groups.tuple, 0].tolist(), groups.rows.tolist(), strict=True)
    return merged((*label, (value,) * rows) for label, value, rows in entries)


def merged(classes: Iterable[tuple[int, int, tuple[int, ...]]]) -> Released:
    """Groups with the same label are one class."""
    found: dict[tuple[int, int], list[int]] = {}
    for lo, hi, values in classes:
        found.setdefault((lo, hi), []).extend(values)
    return tuple((*label, tuple(sorted(values))) for label, values in sorted(found.items()))


@dataclass
class Posterior:
    """What a release tells: how likely it is, and the chance of each person (row) to have each value (column)."""

    weight: float
    chances: Any


def posteriors(cases: Iterator[tuple[Released, World, float]], people: int, values: int) -> dict[Released, Posterior]:
    """From releases with the world and chance of each to what each release tells."""
    found: dict[Released, Posterior] = {}
    for release, world, chance in cases:
        one = found.setdefault(release, Posterior(0.0, np.zeros((people, values))))
        one.weight += chance
        one.chances[np.arange(people), world] += chance
    for one in found.values():
        one.chances /= one.weight
    return found


def dealt(people: People) -> dict[Released, Posterior]:
    """What each release tells that needed no repair: nothing was decided by a value."""

    def cases() -> Iterator[tuple[Released, World, float]]:
        for world in worlds(people.known):
            for home in people.dealings:
                if people.is_kept(world, home):
                    yield merged(people.classes(world, home)), world, 1.0

    return posteriors(cases(), len(people.places), max(people.known) + 1)


def formed(people: People, form: Form = repaired) -> dict[Released, Posterior]:
    """What each release tells, repaired or not."""

    def cases() -> Iterator[tuple[Released, World, float]]:
        for world in worlds(people.known):
            for home in people.dealings:
                yield people.released(world, home, form), world, 1.0

    return posteriors(cases(), len(people.places), max(people.known) + 1)


def drawn(people: People, runs: int, **asked: Any) -> dict[Released, Posterior]:
    """What each release tells, by running the whole program this often in each world, with secret random numbers."""
    method = METHODS[people.method]
    request = Request(
        k=people.k, kinds=("numbers",), weights=(1.0,), method=people.method, parameters=method.check({}),
        models=people.models, sensitive=("ill",), **asked,
    )  # fmt: skip

    def cases() -> Iterator[tuple[Released, World, float]]:
        for world in worlds(people.known):
            problem = people.problem(world)
            for _ in range(runs):
                yield shown(problem, solve(request, problem, quiet, workers=1)), world, 1.0

    return posteriors(cases(), len(people.places), max(people.known) + 1)


def exposed(found: Mapping[Released, Posterior], most: float) -> tuple[float, float, float]:
    """Over all releases as they are likely: the share of people about whom somebody guesses right with a chance above
    `most`, the share whose value is certain, and the best guess of all."""
    total = sum(one.weight for one in found.values())
    best = [(one.weight / total, one.chances.max(axis=1)) for one in found.values()]
    above = sum(weight * float(np.mean(guess > most + 1e-9)) for weight, guess in best)
    certain = sum(weight * float(np.mean(guess > 1 - 1e-9)) for weight, guess in best)
    return above, certain, max(float(guess.max()) for _, guess in best)


def random_people(rng: np.random.Generator, method: str) -> People | None:
    """People of a small table with something to ask of them; None where the whole table does not keep it."""
    size, k = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    places = tuple(sorted(rng.integers(0, int(rng.integers(1, 5)), size).tolist()))
    values = tuple(sorted(np.unique(rng.integers(0, int(rng.integers(2, 5)), size), return_inverse=True)[1].tolist()))
    share = max(Counter(values).values()) / size
    model, asked = [("l", 2.0), ("l", 3.0), ("alpha", 0.5), ("alpha", 0.7), ("distinct_l", 2)][rng.integers(5)]
    most = {"l": 1 / asked, "alpha": asked, "distinct_l": 0.99}[model]
    if share > most or len(worlds(values)) > 300 or size < k:
        return None
    people = People(places, values, k, {model: asked}, method)
    return people if len(people.dealings) <= 40 else None


def promised(people: People) -> float:
    """The best guess that the model allows."""
    ((model, asked),) = people.models.items()
    return {"l": 1 / asked, "alpha": asked, "distinct_l": 1 - 1e-6}[model]


def assert_nobody_is_told(rng: np.random.Generator, tables: int) -> int:
    """Over random tables, methods and models: no release that needed no repair tells more than it promises."""
    releases = 0
    while tables:
        people = random_people(rng, SEES_NO_VALUE[tables % len(SEES_NO_VALUE)])
        if people is not None:
            found = dealt(people)
            releases += len(found)
            assert not found or exposed(found, promised(people))[2] <= promised(people) + 1e-9, people
            tables -= 1
    return releases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    releases = assert_nobody_is_told(np.random.default_rng(arguments.seed), arguments.tables)
    print(f"{arguments.tables:,} tables, {releases:,} releases: nobody is told more than was promised")


if __name__ == "__main__":
    main()
