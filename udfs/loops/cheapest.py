"""Cheapest: of all boxes with k rows the one that loses least leaves as a group, then the next, until no rows are left.

Ours: peel (methods/peel.py) class by class instead of level by level. A box takes every attribute but one to a level,
and of the last, the line, an exact range. Combinations of levels wait in the order of the least that a box of theirs
with k rows lost when they were last looked at. As rows only leave, it cannot lose less since: the first one is looked
at again, all its boxes that lose no more than that leave, and it waits for the next that it has. On a
million rows of eight independent columns it loses 5 to 7 % less than peel, in blocks in less time.

Time O(E d) a look at E tuples that are left, for d attributes; memory O(E d). Two to five looks at a
combination are needed there, most of them at few tuples.

Decided:
- The line is the number that differs most. Where there is none, a class is cut every k rows, in the order of tuples.
- Boxes that lose hardly more (`SAME`) leave with the cheapest: fewer looks, and no difference in loss to speak of.
  Where that takes too many looks (`PATIENCE`), boxes leave that lose ever more, so that time is bounded by the tuples.
- A range has the values that are needed for k rows. Rows of its first and last value that are left join it.
- Classes are told apart by a hash. Two that are taken for one make a larger group, which is charged as what it is.
- What is left in the end, fewer than k rows, joins the group whose loss it raises least, tuple by tuple.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Floats, Groups, Ints, Numbers, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.costs import Rate
from sqlanon.udfs.space.grid import Small
from sqlanon.udfs.space.levels import class_losses, fitting_lattice
from sqlanon.udfs.space.machine import inner, loop
from sqlanon.udfs.space.records import Recorded

MOST = 5_000
"""Combinations of levels that are looked at: of more, most looks find nothing."""
SAME, TINY = 0.02, 1e-9
"""Boxes leave that lose this share more than the cheapest, and as much more as rounding may be."""
PATIENCE = 1_000
"""Each time that all tuples could have been looked at this often, boxes may lose four times as much more to leave: with
several columns of many numbers nearly all boxes lose different amounts, and few would leave at a time."""
PAUSE = 16
"""Looks between two reports of progress."""


class Table(NamedTuple):
    """The tuples in the order of the line, and their classes at the levels of the other attributes."""

    ranks: Small
    """Tuples × other attributes."""
    counts: Ints
    value: Ints
    """The rank of each tuple on the line,"""
    place: Floats
    """where each rank is on it, times its weight,"""
    whole: float
    """and what it loses at most."""
    key: Ints
    """For the levels of all other attributes one after the other, and each rank: what tells its class from others,"""
    loss: Floats
    """and what it loses."""
    left: Ints
    """The tuples that have no group yet; the first `numbers[LEFT]` of these."""
    group: Ints
    after: Ints
    """Of each tuple of a range: the next."""
    classes: Ints
    """A hash table of classes: entries × what is known of each."""
    made: Ints
    """Entries that made a group in this look."""
    numbers: Ints


LEFT, GROUPS, LOOKS = range(3)
"""In `numbers`: how many tuples are left, how many groups there are, and how many looks there were."""
LOOK, KEY, HEAD, TAIL, ROWS, FIRST, END, OWNER, KNOWN = range(9)
"""Of a class: the look that it is of, its key, the first and last tuple of its range, the rows of the range and those
of its first value, the last value of its latest group, and that group."""


@inner
def _leave(table, made):
    """Rows of the last values of new groups join these, and whoever has a group leaves the list."""
    classes, group, left, numbers = table.classes, table.group, table.left, table.numbers
    for i in range(made):
        c = table.made[i]
        head, rows = classes[c + HEAD], classes[c + ROWS]
        while rows > 0 and table.value[head] <= classes[c + END]:
            group[head] = classes[c + OWNER]
            rows -= table.counts[head]
            head = table.after[head]
    stay = 0
    for i in range(numbers[LEFT]):
        if group[left[i]] < 0:
            left[stay] = left[i]
            stay += 1
    numbers[LEFT] = stay


@loop
def _look(table, start, k, limit):
    """Let all ranges of k rows leave whose boxes, at these levels, lose no more than the limit; the least of others."""
    width, start = len(start), bare(start)
    ranks, counts, value, key, after = table.ranks, table.counts, table.value, table.key, table.after
    group, left, classes, numbers = table.group, table.left, table.classes, table.numbers
    numbers[LOOKS] += 1
    look, groups, made, least, size = numbers[LOOKS], numbers[GROUPS], 0, np.inf, 1
    while size < 2 * numbers[LEFT]:
        size *= 2
    for i in range(numbers[LEFT]):
        t, word = left[i], 0
        for j in range(width):
            word += key[start[j] + ranks[width * t + j]]
        slot = (word ^ (word >> 31)) & (size - 1)
        while classes[KNOWN * slot + LOOK] == look and classes[KNOWN * slot + KEY] != word:
            slot = (slot + 1) & (size - 1)
        c = KNOWN * slot
        if classes[c + LOOK] != look:
            classes[c + LOOK], classes[c + KEY], classes[c + ROWS], classes[c + END] = look, word, 0, -1
        if classes[c + ROWS] == 0:
            classes[c + HEAD], classes[c + FIRST] = t, 0
        else:
            after[classes[c + TAIL]] = t
        classes[c + TAIL] = t
        classes[c + ROWS] += counts[t]
        head = classes[c + HEAD]
        if value[t] == value[head]:
            classes[c + FIRST] += counts[t]
        while classes[c + ROWS] - classes[c + FIRST] >= k:  # those of its first value are not needed
            classes[c + ROWS] -= classes[c + FIRST]
            first = value[head]
            while value[head] == first:
                if first <= classes[c + END]:
                    group[head] = classes[c + OWNER]
                head = after[head]
            classes[c + HEAD], u, rows = head, head, counts[head]
            while u != t and value[after[u]] == value[head]:
                u = after[u]
                rows += counts[u]
            classes[c + FIRST] = rows
        if classes[c + ROWS] < k:
            continue
        loss = min(table.place[value[t]] - table.place[value[head]], table.whole)
        for j in range(width):
            loss += table.loss[start[j] + ranks[width * t + j]]
        if loss > limit:
            least = min(least, loss)
            continue
        while head != t:
            group[head] = groups
            head = after[head]
        group[t] = groups
        if classes[c + END] < 0:
            table.made[made] = c
            made += 1
        classes[c + ROWS], classes[c + END], classes[c + OWNER] = 0, value[t], groups
        groups += 1
    numbers[GROUPS] = groups
    _leave(table, made)
    return least


def cluster(problem: Problem, k: int, progress: Progress, objective: str = "ncp") -> Groups | None:
    """The groups, by a measure whose losses on a line of numbers are those of ranges; None if there are too many
    combinations of levels. Chance has no part in it."""
    problem.need_rows(k)
    rates, _ = costs.rates(problem, objective)
    lines = [j for j, rate in enumerate(rates) if isinstance(rate.attribute, Numbers)]
    line = max(lines, key=lambda j: (rates[j].ranks, -j), default=None)
    others = [j for j in range(len(rates)) if j != line]
    lattice = fitting_lattice(tuple(problem.attributes[j] for j in others), MOST)
    if math.prod(len(codes) for codes in lattice) > MOST:
        return None
    losses = [class_losses(rates[j], codes) for j, codes in zip(others, lattice, strict=True)]
    value = np.zeros(len(problem.counts), np.int64) if line is None else problem.ranks[:, line]
    order = np.argsort(value, kind="stable")
    draw = np.random.default_rng(0)
    words = [draw.integers(1 << 62, size=int(code.max()) + 1)[code] for codes in lattice for code in codes]
    place, whole = (np.zeros(1), 0.0) if line is None else _places(rates[line])
    size = len(order)
    room = 1 << (2 * size).bit_length()
    table = Table(
        ranks=problem.ranks[order][:, others].astype(np.int32).ravel(),
        counts=problem.counts[order],
        value=value[order],
        place=place,
        whole=whole,
        key=np.concatenate([np.zeros(0, np.int64), *words]),
        loss=np.concatenate([np.zeros(0), *(loss.ravel() for loss in losses)]),
        left=np.arange(size),
        group=np.full(size, -1),
        after=np.zeros(size, np.int64),
        classes=np.zeros(KNOWN * room, np.int64),
        made=np.zeros(size, np.int64),
        numbers=np.array([size, 0, 0]),
    )
    _walk(table, k, losses, progress)
    group = np.empty_like(table.group)
    group[order] = table.group
    _settle(problem, group, rates)
    return Groups.collect(np.arange(size), group, problem.counts)


def _places(rate: Rate) -> tuple[Floats, float]:
    """Where ranks are on a line, and what all of it loses. NULL lies as far beyond the line as the line is long."""
    assert isinstance(rate.attribute, Numbers)
    unit = rate.attribute.unit
    return rate.weight * np.where(np.isnan(unit), 2.0, unit), rate.weight


def _walk(table: Table, k: int, losses: list[Floats], progress: Progress) -> None:
    """Look at one combination of levels after the other, until no rows are left or no box has k."""
    size = len(table.counts)
    sizes = [len(loss) for loss in losses]
    levels = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1) if sizes else np.zeros((1, 0), int)
    first = np.cumsum([0, *(loss.size for loss in losses)])[:-1]
    start = first + levels * np.array([loss.shape[1] for loss in losses], dtype=np.int64)
    least = np.zeros(len(levels))
    for j, loss in enumerate(losses):
        least += loss[:, np.unique(table.ranks[j :: len(losses)])].min(axis=1)[levels[:, j]]
    record = Recorded(table)
    queue = list(zip(least.tolist(), range(len(levels)), strict=True))
    heapq.heapify(queue)
    looked = 0
    while queue and table.numbers[LEFT]:
        if table.numbers[LOOKS] % PAUSE == 0:
            progress(size - int(table.numbers[LEFT]), size)
        loss, which = heapq.heappop(queue)
        looked += int(table.numbers[LEFT])
        more = SAME * 4 ** (looked // (PATIENCE * size))
        least_left = _look(record, start[which], k, loss * (1 + more) + TINY)
        if np.isfinite(least_left):
            heapq.heappush(queue, (least_left, which))
    progress(size, size)


def _settle(problem: Problem, group: Ints, rates: list[Rate]) -> None:
    """Let tuples without a group join the one whose loss they raise least, for the rows of both."""
    rest = np.flatnonzero(group < 0)
    if not len(rest):
        return
    inside = np.flatnonzero(group >= 0)
    lo, hi, held = Groups.collect(inside, group[inside], problem.counts[inside]).closure(problem)
    size = held.astype(np.float64)
    for t in rest.tolist():
        ranks, rows = problem.ranks[t], problem.counts[t]
        low, high = np.minimum(lo, ranks), np.maximum(hi, ranks)
        before = costs.charges(rates, lo, hi, size[:, None])
        after = costs.charges(rates, low, high, size[:, None] + rows)
        best = int(np.round(np.subtract(after, before), 9).argmin())
        group[t] = best
        lo[best], hi[best], size[best] = low[best], high[best], size[best] + rows
