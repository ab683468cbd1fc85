"""A clustering as compiled moves see it, and a draft of the few groups that a move touches."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.after.shelves import shelve, unshelve
from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.grid import Small
from sqlanon.udfs.space.machine import inner


class Clusters(NamedTuple):
    """Groups: `tuple` and `rows` of each entry, groups × entries, and what is known of each group.

    `low` and `high` are a group's box on each attribute: the node of a tree in `low`, the range of a line in both.
    """

    tuple: Small
    rows: Small
    length: Ints
    size: Ints
    loss: Floats
    low: Small
    high: Small


class Owners(NamedTuple):
    """The groups of each tuple, from `begin` on: which they are, and how many of its rows each has."""

    begin: Ints
    count: Ints
    group: Small
    rows: Small
    of_row: Small
    """The tuple of each row of the table,"""
    total: int
    """and how many rows there are."""


class Boxes(NamedTuple):
    """Boxes that no release can do much better with: their loss and members, and the boxes of each tuple."""

    loss: Floats
    end: Ints
    member: Small
    first: Ints
    of_tuple: Small


class Draft(NamedTuple):
    """What a move does, in `Clusters` of its own; marks are valid if they hold the number of the move."""

    groups: Any
    source: Ints
    """The group that a slot is a copy of; -1 for a new one."""
    is_changed: Any
    slot: Ints
    group_mark: Ints
    held: Ints
    """How many rows of a group are in the box that a move opens."""
    held_mark: Ints
    loose: Small
    """How many rows of a tuple have no group,"""
    loose_tuples: Ints
    """and which tuples these are."""
    box_mark: Ints
    box_score: Floats
    box_list: Ints
    offer_tuple: Ints
    offer_group: Ints
    offer_rows: Ints
    offer_key: Floats
    offer_order: Ints
    key: Floats
    """By which they are put in order."""
    guess: Floats
    """What housing a row of a tuple cost when it was last tried; more than that, if it cost too much."""
    numbers: Ints
    """Slots in use, loose tuples, the number of the move, and the work done: groups, members and boxes looked at."""
    vacant: Ints
    """Numbers of groups that are empty;"""
    used: Ints
    """how many of them, and how many numbers of groups are in use."""


@inner
def close(grid, groups, g):
    """Find the box of a group, and its loss."""
    total = 0.0
    for j in range(len(grid.ranks)):
        ranks, begin = grid.ranks[j], grid.begin[j]
        low = high = ranks[groups.tuple[g, 0]]
        for i in range(1, groups.length[g]):
            rank = ranks[groups.tuple[g, i]]
            low, high = min(low, rank), max(high, rank)
        if grid.is_line[j]:
            groups.low[g, j], groups.high[g, j] = low, high
            total += min(grid.first[begin + high] - grid.first[begin + low], grid.whole[j])
        else:
            node = grid.leaf[begin + low]
            while grid.high[node] < high:
                node = grid.parent[node]
            groups.low[g, j] = node
            total += grid.loss[node]
    groups.loss[g] = total


@inner
def joined(grid, groups, g, t, most):
    """What a row of a group loses if a tuple joins it, or at least `most`."""
    total = 0.0
    for j in range(len(grid.ranks)):
        rank = grid.ranks[j, t]
        if grid.is_line[j]:
            begin = grid.begin[j]
            low, high = min(rank, groups.low[g, j]), max(rank, groups.high[g, j])
            total += min(grid.first[begin + high] - grid.first[begin + low], grid.whole[j])
        else:
            node = np.int64(groups.low[g, j])
            while rank < grid.low[node] or rank > grid.high[node]:
                node = grid.parent[node]
            total += grid.loss[node]
        if total >= most:
            break
    return total


@inner
def copied(clusters, draft, g, move):
    """The slot of a group in the draft."""
    if draft.group_mark[g] == move:
        return draft.slot[g]
    groups, slot = draft.groups, draft.numbers[0]
    draft.numbers[0] += 1
    draft.group_mark[g], draft.slot[g], draft.source[slot], draft.is_changed[slot] = move, slot, g, False
    groups.length[slot], groups.size[slot], groups.loss[slot] = clusters.length[g], clusters.size[g], clusters.loss[g]
    for i in range(clusters.length[g]):
        groups.tuple[slot, i], groups.rows[slot, i] = clusters.tuple[g, i], clusters.rows[g, i]
    for j in range(clusters.low.shape[1]):
        groups.low[slot, j], groups.high[slot, j] = clusters.low[g, j], clusters.high[g, j]
    return slot


@inner
def give(groups, slot, t, rows):
    """Rows of a tuple go to a slot. False if it has no room for another tuple."""
    place = groups.length[slot]
    for i in range(groups.length[slot]):
        if groups.tuple[slot, i] == t:
            place = i
            break
    if place == groups.tuple.shape[1]:
        return False
    if place == groups.length[slot]:
        groups.tuple[slot, place], groups.rows[slot, place] = t, 0
        groups.length[slot] += 1
    groups.rows[slot, place] += rows
    groups.size[slot] += rows
    return True


@inner
def take(draft, slot, t, rows):
    """Rows of a tuple leave a slot."""
    groups = draft.groups
    for i in range(groups.length[slot]):
        if groups.tuple[slot, i] != t:
            continue
        groups.rows[slot, i] -= rows
        if groups.rows[slot, i] == 0:
            last = groups.length[slot] - 1
            groups.tuple[slot, i], groups.rows[slot, i] = groups.tuple[slot, last], groups.rows[slot, last]
            groups.length[slot] = last
            draft.is_changed[slot] = True
        break
    groups.size[slot] -= rows


@inner
def loosen(draft, t, rows):
    """Rows of a tuple have no group."""
    if draft.loose[t] == 0:
        draft.loose_tuples[draft.numbers[1]] = t
        draft.numbers[1] += 1
    draft.loose[t] += rows


@inner
def commit(clusters, owners, shelves, draft):
    """The groups of the draft take the places of those that they were copied from."""
    groups = draft.groups
    for slot in range(draft.numbers[0]):
        g = draft.source[slot]
        if g < 0:
            continue
        for i in range(clusters.length[g]):
            t = clusters.tuple[g, i]
            for e in range(owners.begin[t], owners.begin[t] + owners.count[t]):
                if owners.group[e] == g:
                    owners.count[t] -= 1
                    last = owners.begin[t] + owners.count[t]
                    owners.group[e], owners.rows[e] = owners.group[last], owners.rows[last]
                    break
        unshelve(shelves, clusters, g)
        clusters.length[g] = 0
        draft.vacant[draft.used[0]] = g
        draft.used[0] += 1
    for slot in range(draft.numbers[0]):
        if groups.length[slot] == 0:
            continue
        draft.used[0] -= 1
        g = draft.vacant[draft.used[0]]
        draft.used[1] = max(draft.used[1], g + 1)
        clusters.length[g], clusters.size[g] = groups.length[slot], groups.size[slot]
        clusters.loss[g] = groups.loss[slot]
        for j in range(clusters.low.shape[1]):
            clusters.low[g, j], clusters.high[g, j] = groups.low[slot, j], groups.high[slot, j]
        for i in range(groups.length[slot]):
            t, rows = groups.tuple[slot, i], groups.rows[slot, i]
            clusters.tuple[g, i], clusters.rows[g, i] = t, rows
            e = owners.begin[t] + owners.count[t]
            owners.group[e], owners.rows[e] = g, rows
            owners.count[t] += 1
        shelve(shelves, clusters, g)
