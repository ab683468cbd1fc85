"""Linked k-anonymity: groups of k people or more who print the same rows, all together.

Ours, on the k-member clustering of Byun et al. 2007 and the alignment of Needleman & Wunsch 1970. k people behind every
single row (`entity`) do not protect a person whose rows are known: their classes together are often nobody else's. Here
a group of people has a profile, boxes in the order of their rows (`profiles.py`), and every person of the group has one
row in each box. Other rows are dropped, at a price: a row costs what its box loses, from 0 to 1, or the price.

Time O(n min(n, 2000) c² d) for n people of c rows and d attributes to form groups, and O((300 k + n / k) c² d) for each
of the steps of the search that follow, 3 n by default; memory O(n c d). More people than `size` are cut into blocks by
their middle rows, so that time is linear from there on. Same seed, same groups.

Decided:
- Models are about the people of a group: l and alpha look at the share of them who have a value in any released row,
  the others at the rows of each box. A group that breaks one is merged with another, the cheapest that mends it;
  models that compare with the table compare with the rows that are left in the end.
- Of a person with more than 64 rows, 64 are looked at, evenly spread, and the others dropped: k people with as many are
  rare, and the time of an alignment grows with the square.
- Equal rows of a person are in random order, so that which of them is dropped says nothing about other columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sqlanon.errors import DataError
from sqlanon.udfs.after import blocks
from sqlanon.udfs.legality import check_legal, margins
from sqlanon.udfs.linked.profiles import Desk, Histories, Losses, build, rows_in_boxes
from sqlanon.udfs.linked.search import POOLED, SAMPLED, State, anneal, greedy, scatter
from sqlanon.udfs.method import THOUSANDTHS, Progress, between
from sqlanon.udfs.models import SLACK
from sqlanon.udfs.problem import LEFT_OUT, Floats, Groups, Ints, Problem

BLOCK = 10_000
"""People who are grouped together."""
MOST_ROWS = 64
"""Rows of a person that are looked at."""
STEPS = {"fast": 0.0, "balanced": 3.0, "best": 12.0}
"""Steps of the search for each person, by effort."""
WARM, COLD = 0.4, 0.008
"""The temperature at the beginning and at the end, in units of what a row can lose."""
MERGED = 200
"""Groups that a broken one is compared with."""
TIED = 16
"""How many of the cheapest unions are compared by what they keep."""


@dataclass(frozen=True)
class People:
    """The rows of people in order: `tuple` is each row's, and person p has the rows from first[p] on."""

    tuple: Ints
    first: Ints
    size: Ints

    @classmethod
    def of(cls, problem: Problem, order: int | None, rng: np.random.Generator) -> People:
        """The people of a problem, their rows in the order of an attribute, or of all from the first on."""
        assert problem.sensitive is not None
        assert problem.entity is not None
        tuples = np.repeat(np.arange(len(problem.counts)), problem.counts)
        tuples = tuples[rng.permutation(len(tuples))]
        columns = [*range(problem.ranks.shape[1])]
        if order is not None:
            columns = [order, *(column for column in columns if column != order)]
        who = problem.sensitive[tuples, problem.entity]
        tuples = tuples[np.lexsort([*(problem.ranks[tuples, j] for j in reversed(columns)), who])]
        who = problem.sensitive[tuples, problem.entity]
        size = np.bincount(who)
        first = np.cumsum(size) - size
        return cls(tuples, first[size > 0], size[size > 0])._thinned()

    def _thinned(self) -> People:
        """Nobody with more rows than are looked at."""
        if self.size.max(initial=0) <= MOST_ROWS:
            return self
        kept = np.minimum(self.size, MOST_ROWS)
        place = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        spread = place * np.repeat(self.size, kept) // np.repeat(kept, kept)
        return People(self.tuple[np.repeat(self.first, kept) + spread], np.cumsum(kept) - kept, kept)

    def histories(self, problem: Problem, some: Ints, price: float) -> Histories:
        """The rows of some people, as the search takes them."""
        size = self.size[some]
        first = np.cumsum(size) - size
        rows = np.repeat(self.first[some] - first, size) + np.arange(size.sum())
        return Histories(np.ascontiguousarray(problem.ranks[self.tuple[rows]]), first, size, float(price), len(size))


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    price: float = 1.0,
    order: int | None = None,
    effort: str = "balanced",
    size: int | None = None,
) -> Groups:
    """Groups of rows, each a box of a profile; rows that are dropped are LEFT_OUT.

    `price` is that of dropping a row, `order` the attribute that rows are in order of, and `size` how many people are
    grouped at a time.
    """
    people = People.of(problem, order, rng)
    number = len(people.size)
    if number < k:
        raise DataError(f"k = {k} needs at least {k} people, but there are only {number}. Choose a smaller k.")
    check_legal(problem)
    groups: list[Ints] = []
    parts = _blocks(problem, people, k, size or BLOCK)
    done, steps = 0, STEPS.get(effort, STEPS["best"])
    for some in parts:
        low, high = 900 * done // number, 900 * (done + len(some)) // number
        found = _grouped(problem, people, some, k, rng, between(progress, low, high), price, steps)
        groups += [some[group] for group in found]
        done += len(some)
    profiles = Profiles(problem, people, price, int(rng.integers(1 << 62)))
    boxes = [profiles.boxes(group) for group in groups]
    if len(problem.models) > 1:
        boxes = Repair(problem, profiles, between(progress, 900, THOUSANDTHS), rng).mend(groups, boxes)
    progress(THOUSANDTHS, THOUSANDTHS)
    if not any(box.size for box in boxes):
        raise DataError(f"At a row_price of {price:g} it pays to drop every row, so nothing is left. Set a higher one.")
    report: dict[str, object] = {"groups_of_people": len(boxes)}
    return _collected(problem, boxes, report | ({"blocks": len(parts)} if parts[1:] else {}))


def _blocks(problem: Problem, people: People, k: int, size: int) -> list[Ints]:
    """People in blocks of at most this many, cut by their middle rows as tables are."""
    middle = people.tuple[people.first + people.size // 2]
    ones = np.ones(len(middle), dtype=np.int64)
    heads = replace(problem, ranks=problem.ranks[middle], counts=ones, sensitive=None, models=(), entity=None)
    rule = blocks.cut(heads, ones.astype(np.float64), max(size, 2 * k), lambda some: len(some) >= k)
    return blocks.blocks_of(rule, heads.ranks)


def _grouped(
    problem: Problem,
    people: People,
    some: Ints,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    price: float,
    steps: float,
) -> list[Ints]:
    """The groups of some people, by their numbers among them."""
    losses, histories = Losses.of(problem), people.histories(problem, some, price)
    number, rows, width, room = len(some), int(histories.size.max()), problem.ranks.shape[1], 3 * k
    desk = Desk.of(rows, width, room, int(rng.integers(1 << 62)))
    wanted = number // k
    state = State.of_groups(wanted + 1, room, rows, width, number)
    order = rng.permutation(number)
    free = order[np.argsort(histories.size[order], kind="stable")]
    left, made = number, 0
    while made < wanted:
        upto = min(wanted, made + max(1, 200_000 // max(left * k, 1)))
        left = greedy(losses, histories, state, k, free, left, made, upto, desk)
        made = upto
        progress(300 * made // wanted, THOUSANDTHS)
    scatter(losses, histories, state, free, left, desk)
    new = State.of_groups(5 * k + 3, room, rows, width, 0)
    sample, pool = np.zeros(SAMPLED + room, dtype=np.int64), np.zeros(POOLED * k, dtype=np.int64)
    total, at_once = int(steps * number), max(1, 500 // k)
    for begin in range(0, total, at_once):
        warmth = WARM * (COLD / WARM) ** (begin / total)
        anneal(losses, histories, state, new, k, min(at_once, total - begin), warmth, sample, pool, desk)
        progress(300 + 700 * begin // total, THOUSANDTHS, loss=float(state.cost.sum() / histories.size.sum()))
    return [state.who[g, : state.size[g]].copy() for g in np.flatnonzero(state.size)]


class Profiles:
    """The profiles of groups of any size."""

    def __init__(self, problem: Problem, people: People, price: float, seed: int) -> None:
        self.losses, self.people, self.seed = Losses.of(problem), people, seed
        self.histories = people.histories(problem, np.arange(len(people.size)), price)

    def _room(self, group: Ints) -> tuple[Ints, Ints, Floats, Desk]:
        rows, width = int(self.histories.size[group].max()), self.histories.ranks.shape[1]
        box = (rows, width)
        desk = Desk.of(rows, width, len(group), self.seed)
        return np.zeros(box, dtype=np.int64), np.zeros(box, dtype=np.int64), np.zeros(rows), desk

    def cost(self, group: Ints) -> float:
        """What a group costs; its people are put in the best order found."""
        lo, hi, loss, desk = self._room(group)
        return float(build(self.losses, self.histories, group, len(group), lo, hi, loss, desk)[0])

    def boxes(self, group: Ints) -> Ints:
        """The tuples of a group's rows: people × boxes."""
        self.cost(group)
        lo, hi, loss, desk = self._room(group)
        found = np.zeros((len(group), len(loss)), dtype=np.int64)
        boxes: int = rows_in_boxes(self.losses, self.histories, group, len(group), lo, hi, loss, found, desk)
        rows: Ints = self.people.first[group][:, None] + found[:, :boxes]
        return np.asarray(self.people.tuple[rows])


class Repair:
    """Groups of people merged until each keeps all models."""

    def __init__(self, problem: Problem, profiles: Profiles, progress: Progress, rng: np.random.Generator) -> None:
        self.problem, self.profiles, self.progress, self.rng = problem, profiles, progress, rng
        self.by_person = replace(problem, models=tuple(model for model in problem.models if model.counts_people))
        self.by_row = tuple(m for m in problem.models if not m.counts_people and m.column != problem.entity)

    def mend(self, groups: list[Ints], boxes: list[Ints]) -> list[Ints]:
        """The boxes of groups that all keep the models, from those of groups that may not."""
        groups, boxes = list(groups), list(boxes)
        costs = [self.profiles.cost(group) for group in groups]
        total = len(groups)
        while True:
            by_row = self._compared(boxes)
            broken = [g for g, kept in enumerate(self._margins(boxes, by_row)) if kept < -SLACK]
            if not broken:
                return boxes
            if len(groups) == 1:
                raise DataError(
                    "Not even all people together, as one group, keep what is asked of the sensitive columns: ask for "
                    "less, or for a higher row_price."
                )
            gone: set[int] = set()
            for one in broken:
                if one not in gone and len(groups) - len(gone) > 1:
                    gone.add(self._merge(one, gone, groups, boxes, costs, by_row))
                    self.progress(total - len(groups) + len(gone), total)
            for each in sorted(gone, reverse=True):
                del groups[each], boxes[each], costs[each]

    def _compared(self, boxes: list[Ints]) -> Problem:
        """The problem with the models about rows, those that compare with the table comparing with what is left."""
        assert self.problem.sensitive is not None
        kept = np.concatenate([box.reshape(-1) for box in boxes])
        models = []
        for model in self.by_row:
            held = np.bincount(self.problem.sensitive[kept, model.column], minlength=len(model.expected))
            is_compared = model.is_relative and held.sum() > 0
            models.append(replace(model, expected=held / held.sum()) if is_compared else model)
        return replace(self.problem, models=tuple(models))

    def _margins(self, boxes: list[Ints], by_row: Problem) -> Floats:
        """How much better each group is than asked; below 0 it breaks a model. A group without rows keeps all."""
        least = np.full(len(boxes), np.inf)
        some = [g for g, box in enumerate(boxes) if box.size]
        if not some:
            return least
        tuples = np.concatenate([boxes[g].reshape(-1) for g in some])
        rows = np.ones_like(tuples)
        if self.by_person.models:
            group = np.repeat(np.arange(len(some)), [boxes[g].size for g in some])
            least[some] = margins(self.by_person, tuples, group, rows)
        if by_row.models:
            width = np.array([boxes[g].shape[1] for g in some])
            first = np.cumsum(width) - width
            place = [np.tile(first[i] + np.arange(width[i]), len(boxes[g])) for i, g in enumerate(some)]
            found = margins(by_row, tuples, np.concatenate(place), rows)
            least[some] = np.minimum(least[some], np.minimum.reduceat(found, first))
        return least

    def _merge(
        self, one: int, gone: set[int], groups: list[Ints], boxes: list[Ints], costs: list[float], by_row: Problem
    ) -> int:
        """Merge a group with the best of some others: the one that is gone then."""
        others = np.array([g for g in range(len(groups)) if g != one and g not in gone])
        if len(others) > MERGED:
            others = self.rng.choice(others, MERGED, replace=False)
        unions = [np.concatenate([groups[one], groups[other]]) for other in others]
        total = np.array([self.profiles.cost(union) for union in unions])
        added = total - np.array([costs[other] for other in others])
        nearest = np.argsort(added, kind="stable")[:TIED]
        found = [self.profiles.boxes(unions[i]) for i in nearest]
        kept = self._margins(found, by_row)
        legal = np.flatnonzero(kept >= -SLACK)
        chosen = int(legal[0]) if len(legal) else int(kept.argmax())
        other = int(others[nearest[chosen]])
        groups[other], boxes[other] = unions[nearest[chosen]], found[chosen]
        costs[other] = float(total[nearest[chosen]])
        return one


def _collected(problem: Problem, boxes: list[Ints], report: dict[str, object]) -> Groups:
    """Every box is a group; rows in none are left out."""
    width = [box.shape[1] for box in boxes]
    first = np.cumsum([0, *width])
    tuples = np.concatenate([box.reshape(-1) for box in boxes])
    places = [
        np.tile(np.arange(begin, begin + box.shape[1]), len(box)) for begin, box in zip(first, boxes, strict=False)
    ]
    group = np.concatenate(places)
    rest = problem.counts - np.bincount(tuples, minlength=len(problem.counts))
    dropped = np.flatnonzero(rest)
    return Groups.collect(
        np.concatenate([tuples, dropped]),
        np.concatenate([group, np.full(len(dropped), LEFT_OUT)]),
        np.concatenate([np.ones_like(tuples), rest[dropped]]),
        report,
    )
