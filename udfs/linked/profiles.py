"""Profiles: what a group of people prints. A profile is a list of boxes in order, one row of every person in each.

A person is aligned to a profile as sequences are (Needleman & Wunsch 1970): a row goes into a box at what widening it
costs everybody, or is dropped at a price, and a box may be dropped for all. Time O(m c d) for a profile of m boxes, a
person of c rows and d attributes. All of it is compiled.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.problem import Bools, Floats, Ints, Problem, Tree
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.machine import inner, loop, uniform


class Losses(NamedTuple):
    """What ranges of ranks lose, in long tables over all attributes: places on lines, or nodes on the way to leaves."""

    is_tree: Bools
    begin: Ints
    """Where an attribute begins in `place`, or in `path`,"""
    height: Ints
    leaves: Ints
    nodes: Ints
    """and in `node`."""
    place: Floats
    path: Ints
    node: Floats
    weight: Floats

    @classmethod
    def of(cls, problem: Problem) -> Losses:
        """The losses of a problem's attributes, weighted so that a row that loses everything loses 1."""
        weight = problem.weights / problem.weights.sum()
        places, paths, nodes = [np.zeros(1)], [np.zeros(1, dtype=np.int64)], [np.zeros(1)]
        begin, height, leaves, first = (np.zeros(len(weight), dtype=np.int64) for _ in range(4))
        for j, attribute in enumerate(problem.attributes):
            if isinstance(attribute, Tree):
                begin[j], first[j] = sum(map(len, paths)), sum(map(len, nodes))
                height[j], leaves[j] = attribute.height, attribute.leaves
                paths.append(attribute.path.reshape(-1))
                nodes.append(weight[j] * attribute.node_loss)
            else:
                begin[j] = sum(map(len, places))
                places.append(attribute.unit)
        is_tree = np.array([isinstance(attribute, Tree) for attribute in problem.attributes])
        tables = np.concatenate(places), np.concatenate(paths), np.concatenate(nodes)
        return cls(is_tree, begin, height, leaves, first, *tables, weight)


class Histories(NamedTuple):
    """The rows of people, person after person and in order: ranks of person p are those from first[p], size[p] of them.

    `price` is that of dropping a row, `total` the number of people.
    """

    ranks: Ints
    first: Ints
    size: Ints
    price: float
    total: int


class Desk(NamedTuple):
    """Room to work in: the table of an alignment and its way back, which box gets which row, a profile, an order, and
    the state of the random numbers."""

    cost: Floats
    step: Any
    match: Ints
    lo: Ints
    hi: Ints
    loss: Floats
    order: Ints
    random: Any

    @classmethod
    def of(cls, rows: int, attributes: int, people: int, seed: int) -> Desk:
        """A desk for people of at most this many rows, and groups of at most this many people."""
        box = (rows, attributes)
        return cls(
            np.zeros((rows + 1, rows + 1)),
            np.zeros((rows + 1, rows + 1), dtype=np.int8),
            np.zeros(rows, dtype=np.int64),
            np.zeros(box, dtype=np.int64),
            np.zeros(box, dtype=np.int64),
            np.zeros(rows),
            np.zeros(people, dtype=np.int64),
            np.array([seed | 1], dtype=np.uint64),
        )


@inner
def widened(losses, attributes, lo, hi, row):
    """What a box loses once it covers the row, too."""
    total = 0.0
    for j in range(attributes):
        a, b = min(lo[j], row[j]), max(hi[j], row[j])
        if a == b:
            continue
        begin = losses.begin[j]
        if losses.is_tree[j]:
            at = begin + (losses.height[j] - 1) * losses.leaves[j]
            while losses.path[at + a] != losses.path[at + b]:
                at -= losses.leaves[j]
            total += losses.node[losses.nodes[j] + losses.path[at + a]]
        else:
            width = losses.place[begin + b] - losses.place[begin + a]
            total += losses.weight[j] * (1.0 if np.isnan(width) else width)
    return total


@inner
def aligned(losses, people, lo, hi, loss, boxes, size, person, limit, desk):
    """What a person costs a group of `size` people with this profile; `limit` or more if it is that much."""
    rows, start, price = people.size[person], people.first[person], people.price
    if price >= 1.0 and (rows - boxes) * price >= limit:
        return limit
    cost, step, attributes = desk.cost, desk.step, lo.shape[1]
    for j in range(1, rows + 1):
        cost[0, j], step[0, j] = j * price, 2
    for i in range(1, boxes + 1):
        without = size * (price - loss[i - 1])
        cost[i, 0], step[i, 0] = cost[i - 1, 0] + without, 1
        for j in range(1, rows + 1):
            wide = widened(losses, attributes, lo[i - 1], hi[i - 1], people.ranks[start + j - 1])
            best, way = cost[i - 1, j - 1] + (size + 1) * wide - size * loss[i - 1], 3
            if cost[i - 1, j] + without < best:
                best, way = cost[i - 1, j] + without, 1
            if cost[i, j - 1] + price < best:
                best, way = cost[i, j - 1] + price, 2
            cost[i, j], step[i, j] = best, way
    return cost[boxes, rows]


@inner
def matched(people, boxes, person, desk):
    """Which row of the person goes into which box, after `aligned`: its number among theirs, or -1."""
    i, j = boxes, people.size[person]
    for b in range(boxes):
        desk.match[b] = -1
    while i or j:
        way = desk.step[i, j]
        if way == 3:
            desk.match[i - 1] = j - 1
        i, j = i - (way != 2), j - (way != 1)


@inner
def put(losses, people, lo, hi, loss, boxes, size, person, desk):
    """Take a person into a group: what that costs, and how many boxes are left."""
    start, rows = people.first[person], people.size[person]
    if size == 0:
        for i in range(rows):
            loss[i] = 0.0
            for j in range(lo.shape[1]):
                lo[i, j] = people.ranks[start + i, j]
                hi[i, j] = people.ranks[start + i, j]
        return 0.0, rows
    added = aligned(losses, people, lo, hi, loss, boxes, size, person, np.inf, desk)
    matched(people, boxes, person, desk)
    left = 0
    for i in range(boxes):
        if desk.match[i] < 0:
            continue
        row = people.ranks[start + desk.match[i]]
        loss[left] = widened(losses, lo.shape[1], lo[i], hi[i], row)
        for j in range(lo.shape[1]):
            low, high = min(lo[i, j], row[j]), max(hi[i, j], row[j])
            lo[left, j], hi[left, j] = low, high
        left += 1
    return added, left


@inner
def sort_by_size(people, who, number, sign, random):
    """Put people in the order of how many rows they have, those with as many at random."""
    for i in range(number - 1, 0, -1):
        other = int(uniform(random) * (i + 1))
        who[i], who[other] = who[other], who[i]
    for i in range(1, number):
        one = who[i]
        j = i - 1
        while j >= 0 and sign * people.size[who[j]] > sign * people.size[one]:
            who[j + 1] = who[j]
            j -= 1
        who[j + 1] = one


@inner
def profile(losses, people, who, number, lo, hi, loss, desk):
    """The profile of people taken one after another: what it costs, and how many boxes it has."""
    total, boxes = 0.0, 0
    for i in range(number):
        added, boxes = put(losses, people, lo, hi, loss, boxes, i, who[i], desk)
        total += added
    return total, boxes


@inner
def copy_boxes(lo, hi, loss, to_lo, to_hi, to_loss, boxes):
    """Copy a profile. Loops compile in a fraction of the time that slices take."""
    for i in range(boxes):
        to_loss[i] = loss[i]
        for j in range(lo.shape[1]):
            to_lo[i, j] = lo[i, j]
            to_hi[i, j] = hi[i, j]


@inner
def better(losses, people, who, number, lo, hi, loss, desk):
    """The better profile of two orders, those with most rows first or last; `who` is left in that order."""
    sort_by_size(people, who, number, -1, desk.random)
    total, boxes = profile(losses, people, who, number, lo, hi, loss, desk)
    other = desk.order
    for i in range(number):
        other[i] = who[i]
    sort_by_size(people, other, number, 1, desk.random)
    second, left = profile(losses, people, other, number, desk.lo, desk.hi, desk.loss, desk)
    if second < total:
        for i in range(number):
            who[i] = other[i]
        copy_boxes(desk.lo, desk.hi, desk.loss, lo, hi, loss, left)
        return second, left
    return total, boxes


@loop
def build(losses, people, who, number, lo, hi, loss, desk):
    """The same for the arrays of Python."""
    return better(losses, people, bare(who), number, bare(lo), bare(hi), bare(loss), desk)


@loop
def rows_in_boxes(losses, people, who, number, lo, hi, loss, found, desk):
    """Which row goes where: found[i, b] is the number of the row, among those of who[i], in box b of the final profile.

    Returns how many boxes there are.
    """
    who, lo, hi, loss, found = bare(who), bare(lo), bare(hi), bare(loss), bare(found)
    boxes = 0
    for i in range(number):
        before = boxes
        _, boxes = put(losses, people, lo, hi, loss, boxes, i, who[i], desk)
        if i == 0:
            for b in range(boxes):
                found[0, b] = b
            continue
        left = 0
        for b in range(before):
            if desk.match[b] < 0:
                continue
            for earlier in range(i):
                found[earlier, left] = found[earlier, b]
            found[i, left] = desk.match[b]
            left += 1
    return boxes
