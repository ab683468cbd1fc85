"""The one loop that numba compiles: it takes the windows of windows.py, pool after pool.

With numpy, every window taken costs some passes over all places of all generalizations, which must be sorted first.
Here a class is found by its hash, one of fewer than k rows is dropped at once, and a generalization is looked at again
only when its turn has come. On Adult that is a tenth of the time or less, which effort 'best' spends on more pools.

The first call compiles, for some seconds; the code is kept next to this file or in the user's cache folder.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.grid import Small
from sqlanon.udfs.space.machine import inner, loop

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""What a hash is multiplied by, so that its first bits depend on all."""
SAME = 1e-9
"""Losses that differ by less are those of the same groups."""


class Levels(NamedTuple):
    """For every level and rank of all attributes, in one long table each: its class, that class's hash and loss."""

    hashes: Any
    classes: Ints
    losses: Floats
    begin: Ints
    """Where an attribute begins,"""
    apart: Ints
    """how far its levels are apart,"""
    depth: Ints
    """and how many it has."""


class Lines(NamedTuple):
    """What ranges of ranks lose on the attributes that are lines: by the place of each rank, or by a table."""

    place: Floats
    table: Floats
    begin: Ints
    """Where a line begins in the one or the other."""
    size: Ints
    """How many ranks its table has; 0 where places are told."""
    whole: Floats
    """What the whole line loses; -1 if it is not a line."""


class Drawing(NamedTuple):
    """How often a pool is tried, and with what; see windows.py."""

    tries: int
    generalizations: int
    mixed: float
    moved: float
    shares: Floats
    choices: int
    """How many shares there are."""


class Room(NamedTuple):
    """Where a pool is clustered: room for its rows, its groups and some generalizations."""

    state: Any
    """The random numbers'."""
    taken: Ints
    worth: Floats
    key: Any
    """A number for each row,"""
    owner: Small
    """and a table to find the rows of a class by it."""
    kind: Small
    begin: Small
    rows: Small
    """The class of each row, and where a class begins and how many rows it has."""
    hashed: Any
    """The hash of every row's class: attributes × levels × rows."""
    node: Ints
    """Generalizations × attributes."""
    member: Small
    ends: Ints
    loss: Floats
    """The rows of a generalization by class, where the classes end and what they lose: generalizations × rows."""
    classes: Ints
    cost: Floats
    place: Ints
    looked: Ints
    seen: Any
    """How many classes it has, what its best window costs, where that is, when it was looked for, and a number for the
    generalization."""
    head: Ints
    held: Ints
    lost: Floats
    """Of each group its first row, how many it has and what each loses,"""
    level: Ints
    low: Ints
    high: Ints
    """and for every attribute the level that its rows share, and their range: groups × attributes."""
    own: Ints
    """The levels of the groups as they were."""


def room_for(rows: int, groups: int, levels: Levels, drawing: Drawing) -> Room:
    """Room for a pool of no more rows and groups."""
    attributes, depth = len(levels.depth), int(levels.depth.max())
    many = max(drawing.generalizations, groups + 1)
    boxes = np.empty((4, groups + 1, attributes), np.int64)
    return Room(
        state=np.empty(1, np.uint64),
        taken=np.empty(rows, np.int64),
        worth=np.empty(rows),
        key=np.empty(rows, np.uint64),
        owner=np.empty(4 * rows, np.int32),
        kind=np.empty(rows, np.int32),
        begin=np.empty(rows, np.int32),
        rows=np.empty(rows, np.int32),
        hashed=np.empty((attributes, depth, rows), np.uint64),
        node=np.empty((many, attributes), np.int64),
        member=np.empty((many, rows), np.int32),
        ends=np.empty((many, groups + 1), np.int64),
        loss=np.empty((many, groups + 1)),
        classes=np.empty(many, np.int64),
        cost=np.empty(many),
        place=np.empty(many, np.int64),
        looked=np.empty(many, np.int64),
        seen=np.empty(many, np.uint64),
        head=np.empty(groups + 1, np.int64),
        held=np.empty(groups + 1, np.int64),
        lost=np.empty(groups + 1),
        level=boxes[0],
        low=boxes[1],
        high=boxes[2],
        own=boxes[3],
    )


@loop
def propose(k, line, first, size, pools, ranks, group, price, limit, seeds, levels, lines, drawing, room, found):
    """For each pool the first clustering that loses less, or at most `limit` more: the new group of each of its rows.

    A pool has `size` rows from `first` on, in the order of the line: `ranks` are attributes × rows, `group` the number
    of each row's group within its pool, `price` what the row loses. Rows of a pool for which
    nothing is found stay as they are in `found`.
    """
    first, size, ranks, group, price = bare(first), bare(size), bare(ranks), bare(group), bare(price)
    limit, seeds, found = bare(limit), bare(seeds), bare(found)
    taken, worth, attributes = room.taken, room.worth, len(ranks)
    for pool in range(pools):
        at, rows, groups = first[pool], size[pool], np.int64(0)
        room.state[0] = seeds[pool]
        hash_classes(ranks, at, rows, levels, room)
        for row in range(rows):
            taken[row] = group[at + row]
            groups = max(groups, taken[row] + 1)
        before = fill(ranks, at, rows, groups, levels, lines, room)
        # No row was without a group, so that these are the boxes of the groups as they are.
        for g in range(groups):
            for j in range(attributes):
                room.own[g, j] = room.level[g, j]
        for _ in range(drawing.tries):
            many = _draw(groups, attributes, levels, drawing, room)
            share = drawing.shares[_below(room, drawing.choices)] / k
            for row in range(rows):
                worth[row], taken[row] = price[at + row] * share, -1
            new = scan(k, line, ranks, at, rows, many, levels, lines, room)
            total = fill(ranks, at, rows, new, levels, lines, room)
            if total < before - SAME or before + SAME < total < before + limit[pool]:
                for row in range(rows):
                    found[at + row] = taken[row]
                break


@inner
def _draw(groups, attributes, levels, drawing, room):
    """Generalizations: those of the groups, the top, and those of groups with some attributes changed. How many."""
    own, depth, node = room.own, levels.depth, room.node
    many = max(drawing.generalizations, groups + 1)
    for j in range(attributes):
        for g in range(groups):
            node[g, j] = own[g, j]
        node[groups, j] = depth[j] - 1
    for g in range(groups + 1, many):
        one, other = _below(room, groups), _below(room, groups)
        for j in range(attributes):
            dice = _below(room, 1 << 40)
            level = own[other, j] if (dice & 0xFFFFF) < drawing.mixed * (1 << 20) else own[one, j]
            dice >>= 20
            if dice < drawing.moved * (1 << 20):
                level += 1
            elif dice >= (1 - drawing.moved) * (1 << 20):
                level -= 1
            node[g, j] = min(max(level, 0), depth[j] - 1)
    return many


@inner
def hash_classes(ranks, at, rows, levels, room):
    """The hash of every row's class by attribute and level."""
    for j in range(len(ranks)):
        mine = ranks[j]
        for level in range(levels.depth[j]):
            begin, hashed = levels.begin[j] + level * levels.apart[j], room.hashed[j, level]
            for row in range(rows):
                hashed[row] = levels.hashes[begin + mine[at + row]]


@inner
def scan(k, line, ranks, at, rows, many, levels, lines, room):
    """Say of each row which window it is in, in the order they were taken; others stay as they are. How many there are.

    A row's worth makes its window cheaper; generalizations are in `room.node`.
    """
    attributes, classes, cost, place, looked = len(ranks), room.classes, room.cost, room.place, room.looked
    for g in range(many):
        cost[g], looked[g] = np.inf, 0
        if _is_known(line, attributes, g, room):
            continue
        _add(line, attributes, g, rows, room)
        classes[g] = _classes(k, rows, g, room)
        for c in range(classes[g]):
            row, lost = room.member[g, room.ends[g, c] - 1], 0.0
            for j in range(attributes):
                if j != line:
                    lost += _rate(np.int64(ranks[j, at + row]), room.node[g, j], j, levels)
            room.loss[g, c] = lost
        _look(k, line, ranks, at, g, lines, room)
    number = 0
    while True:
        best = 0
        for g in range(1, many):
            if cost[g] < cost[best]:
                best = g
        if cost[best] == np.inf:
            return number
        if looked[best] < number:
            classes[best] = _left(k, best, room)
            _look(k, line, ranks, at, best, lines, room)
            looked[best] = number
            continue
        for i in range(place[best], place[best] + k):
            room.taken[room.member[best, i]] = number
        number += 1


@inner
def _is_known(line, attributes, g, room):
    """Is there the same generalization among those before? The level of the line is none."""
    seen = np.uint64(0)
    for j in range(attributes):
        if j != line:
            seen = seen * GOLDEN + np.uint64(room.node[g, j] + 1)
    room.seen[g] = seen
    other = 0
    while other < g and room.seen[other] != seen:
        other += 1
    return other < g


@inner
def _add(line, attributes, g, rows, room):
    """Of each row, the hash of its class."""
    key = room.key
    for row in range(rows):
        key[row] = 0
    for j in range(attributes):
        if j != line:
            level = room.hashed[j, room.node[g, j]]
            for row in range(rows):
                key[row] += level[row]


@inner
def _classes(k, rows, g, room):
    """Put the rows of each class of k or more side by side; where each class ends, and how many there are."""
    key, owner, kind, first, count = room.key, room.owner, room.kind, room.begin, room.rows
    member, ends, bits = room.member[g], room.ends[g], 1
    while 1 << bits < 2 * rows:
        bits += 1
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    for slot in range(1 << bits):
        owner[slot] = -1
    kinds = 0
    for row in range(rows):
        if row and key[row] == key[row - 1]:
            kind[row] = kind[row - 1]
            count[kind[row]] += 1
            continue
        slot = np.int64((key[row] * GOLDEN) >> shift)
        while owner[slot] >= 0 and key[first[owner[slot]]] != key[row]:
            slot = (slot + 1) & np.int64(mask)
        if owner[slot] < 0:
            owner[slot], first[kinds], count[kinds] = kinds, row, 0
            kinds += 1
        kind[row] = owner[slot]
        count[kind[row]] += 1
    classes, end = 0, 0
    for c in range(kinds):
        first[c] = end if count[c] >= k else -1
        if count[c] >= k:
            end += count[c]
            ends[classes] = end
            classes += 1
    if classes:
        for row in range(rows):
            c = kind[row]
            if first[c] >= 0:
                member[first[c]] = row
                first[c] += 1
    return classes


@inner
def _left(k, g, room):
    """Drop the rows that are taken, and classes that then have fewer than k; how many classes are left."""
    taken, member, ends, loss = room.taken, room.member[g], room.ends[g], room.loss[g]
    classes, end, i = 0, 0, 0
    for c in range(room.classes[g]):
        begin, until = end, ends[c]
        while i < until:
            if taken[member[i]] < 0:
                member[end] = member[i]
                end += 1
            i += 1
        if end - begin >= k:
            ends[classes], loss[classes] = end, loss[c]
            classes += 1
        else:
            end = begin
    return classes


@inner
def _look(k, line, ranks, at, g, lines, room):
    """What the best window of a generalization costs, and where it begins."""
    mine, member, ends, loss, worth = ranks[line], room.member[g], room.ends[g], room.loss[g], room.worth
    least, place, begin = np.inf, 0, 0
    for c in range(room.classes[g]):
        inside = 0.0
        for i in range(begin, begin + k - 1):
            inside += worth[member[i]]
        for i in range(begin, ends[c] - k + 1):
            last = member[i + k - 1]
            inside += worth[last]
            low, high = np.int64(mine[at + member[i]]), np.int64(mine[at + last])
            cost = loss[c] + _ranged(lines, line, low, high) - inside
            if cost < least:
                least, place = cost, i
            inside -= worth[member[i]]
        begin = ends[c]
    room.cost[g], room.place[g] = least, place


@inner
def _ranged(lines, j, lo, hi):
    """What a range of ranks of a line loses."""
    begin, size = lines.begin[j], lines.size[j]
    if size:
        return lines.table[begin + lo * size + hi]
    return min(lines.place[begin + hi] - lines.place[begin + lo], lines.whole[j])


@inner
def _rate(rank, level, j, levels):
    """What the class of a rank loses at a level of an attribute."""
    return levels.losses[levels.begin[j] + level * levels.apart[j] + rank]


@inner
def _enclose(ranks, at, row, g, levels, room):
    """Widen the box of a group so that it holds one more row."""
    for j in range(len(ranks)):
        rank = np.int64(ranks[j, at + row])
        room.level[g, j] = _shared(ranks, at, rank, g, j, levels, room)
        room.low[g, j], room.high[g, j] = min(room.low[g, j], rank), max(room.high[g, j], rank)


@inner
def _shared(ranks, at, rank, g, j, levels, room):
    """The level of an attribute that a group would share with one more rank."""
    first, level = np.int64(ranks[j, at + room.head[g]]), room.level[g, j]
    place = levels.begin[j] + level * levels.apart[j]
    while levels.classes[place + rank] != levels.classes[place + first]:
        place += levels.apart[j]
        level += 1
    return level


@inner
def _joint(ranks, at, row, g, levels, lines, room):
    """What a row of the group would lose if it held one more row; any row of its own for what it loses as it is."""
    loss = 0.0
    for j in range(len(ranks)):
        rank = np.int64(ranks[j, at + row])
        if lines.whole[j] >= 0:
            loss += _ranged(lines, j, min(room.low[g, j], rank), max(room.high[g, j], rank))
        else:
            loss += _rate(rank, _shared(ranks, at, rank, g, j, levels, room), j, levels)
    return loss


@inner
def fill(ranks, at, rows, groups, levels, lines, room):
    """Add every row without a group to the one whose loss it raises least; what all rows lose then."""
    group, head, held, lost = room.taken, room.head, room.held, room.lost
    for g in range(groups):
        head[g], held[g] = -1, 0
    for row in range(rows):
        g = group[row]
        if g >= 0:
            if head[g] < 0:
                head[g] = row
                for j in range(len(ranks)):
                    room.level[g, j], room.low[g, j], room.high[g, j] = 0, ranks[j, at + row], ranks[j, at + row]
            held[g] += 1
            _enclose(ranks, at, row, g, levels, room)
    for g in range(groups):
        lost[g] = _joint(ranks, at, head[g], g, levels, lines, room)
    for row in range(rows):
        if group[row] >= 0:
            continue
        least, joint, home = np.inf, 0.0, np.int64(0)
        for g in range(groups):
            raised = _joint(ranks, at, row, g, levels, lines, room)
            added = raised * (held[g] + 1) - lost[g] * held[g]
            if added < least:
                least, joint, home = added, raised, g
        group[row] = home
        held[home] += 1
        lost[home] = joint
        _enclose(ranks, at, row, home, levels, room)
    total = 0.0
    for g in range(groups):
        total += lost[g] * held[g]
    return total


@inner
def _below(room, limit):
    """A random whole number below the limit: splitmix64, as a pool must draw the same in whatever thread it is."""
    room.state[0] += GOLDEN
    bits = room.state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((bits ^ (bits >> np.uint64(31))) >> np.uint64(1)) % limit
