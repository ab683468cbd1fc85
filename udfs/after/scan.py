"""The one loop that numba compiles: it takes the windows of windows.py, pool after pool.

With numpy, every window taken costs some passes over all places of all generalizations, which must be sorted first.
Here a class is found by its hash, one of fewer than k rows is dropped at once, and a generalization is looked at again
only when its turn has come. On Adult that is a tenth of the time or less, which effort 'best' spends on more pools.

The first call compiles, for some seconds; the code is kept next to this file or in the user's cache folder.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.machine import compiled, inner

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


class Box(NamedTuple):
    """Of each group its first row, and for every attribute the level that its rows share, and their range."""

    head: Ints
    level: Ints
    lo: Ints
    hi: Ints


@compiled
def propose(k, line, first, size, ranks, group, price, limit, seeds, levels, lines, drawing, found):
    """For each pool the first clustering that loses less, or at most `limit` more: the new group of each of its rows.

    A pool has `size` rows from `first` on, in the order of the line: `ranks` are attributes × rows, `group` the number
    of each row's group within its pool, `price` what the row loses. Rows of a pool for which
    nothing is found stay as they are in `found`.
    """
    attributes, most = len(ranks), _most(size)
    hashed = np.empty((attributes, _most(levels.depth), most), np.uint64)
    taken, worth = np.empty(most, np.int64), np.empty(most)
    state = np.empty(1, np.uint64)
    for pool in range(len(first)):
        begin, rows = first[pool], size[pool]
        mine, new, value = np.empty((attributes, rows), np.uint32), taken[:rows], worth[:rows]
        for row in range(rows):
            new[row] = group[begin + row]
            for j in range(attributes):
                mine[j, row] = ranks[j, begin + row]
        state[0] = seeds[pool]
        _hash(mine, levels, hashed)
        groups = _most(new) + 1
        own = _boxes(mine, new, groups, levels).level
        before = _filled(mine, new, groups, levels, lines)
        for _ in range(drawing.tries):
            nodes = _draw(own, levels.depth, drawing, state)
            share = drawing.shares[_below(state, len(drawing.shares))] / k
            for row in range(rows):
                value[row] = price[begin + row] * share
                new[row] = -1
            groups = scan(k, line, mine, value, nodes, hashed, levels, lines, new)
            total = _filled(mine, new, groups, levels, lines)
            if total < before - SAME or before + SAME < total < before + limit[pool]:
                for row in range(rows):
                    found[begin + row] = new[row]
                break


@inner
def _draw(own, depth, drawing, state):
    """Generalizations: those of the groups, the top, and those of groups with some attributes changed."""
    groups, attributes = own.shape
    nodes = np.empty((max(drawing.generalizations, groups + 1), attributes), np.int64)
    for j in range(attributes):
        for g in range(groups):
            nodes[g, j] = own[g, j]
        nodes[groups, j] = depth[j] - 1
    for g in range(groups + 1, len(nodes)):
        one, other = _below(state, groups), _below(state, groups)
        for j in range(attributes):
            dice = _below(state, 1 << 40)
            level = own[other, j] if (dice & 0xFFFFF) < drawing.mixed * (1 << 20) else own[one, j]
            dice >>= 20
            if dice < drawing.moved * (1 << 20):
                level += 1
            elif dice >= (1 - drawing.moved) * (1 << 20):
                level -= 1
            nodes[g, j] = min(max(level, 0), depth[j] - 1)
    return nodes


@compiled
def _hash(ranks, levels, hashed):
    """The hash of every row's class by attribute and level."""
    for j in range(len(ranks)):
        for level in range(levels.depth[j]):
            here = levels.hashes[levels.begin[j] + level * levels.apart[j] :]
            for row in range(ranks.shape[1]):
                hashed[j, level, row] = here[ranks[j, row]]


@compiled
def scan(k, line, ranks, worth, nodes, hashed, levels, lines, taken):
    """Say of each row which window it is in, in the order they were taken; others stay as they are. How many there are.

    A row's `worth` makes its window cheaper; `nodes` are generalizations × attributes.
    """
    many, attributes = nodes.shape
    rows = ranks.shape[1]
    # Of each generalization: its rows by class, where the classes end, how many, what they lose, and the best window.
    member = np.empty((many, rows), np.uint32)
    ends = np.empty((many, rows // k + 1), np.int64)
    loss = np.empty((many, rows // k + 1))
    classes = np.empty(many, np.int64)
    cost = np.empty(many)
    place = np.empty(many, np.int64)
    looked = np.zeros(many, np.int64)
    seen = np.empty(many, np.uint64)
    key = np.empty(rows, np.uint64)
    for g in range(many):
        cost[g] = np.inf
        if _is_known(line, nodes[g], g, seen):
            continue
        _add(line, nodes[g], hashed, key)
        classes[g] = _classes(k, key, member[g], ends[g])
        for c in range(classes[g]):
            row = member[g, ends[g, c] - 1]
            loss[g, c] = 0
            for j in range(attributes):
                if j != line:
                    loss[g, c] += _rate(ranks[j, row], nodes[g, j], j, levels)
        cost[g], place[g] = _best(k, line, member[g], ends[g, : classes[g]], loss[g], ranks, worth, lines)
    number = 0
    while True:
        best = 0
        for g in range(1, many):
            if cost[g] < cost[best]:
                best = g
        if cost[best] == np.inf:
            return number
        if looked[best] < number:
            classes[best] = _left(k, taken, member[best], ends[best, : classes[best]], loss[best])
            cost[best], place[best] = _best(
                k, line, member[best], ends[best, : classes[best]], loss[best], ranks, worth, lines
            )
            looked[best] = number
            continue
        for i in range(place[best], place[best] + k):
            taken[member[best, i]] = number
        number += 1


@inner
def _is_known(line, node, g, seen):
    """Is there the same generalization among those before? The level of the line is none."""
    seen[g] = 0
    for j in range(len(node)):
        if j != line:
            seen[g] = seen[g] * GOLDEN + np.uint64(node[j] + 1)
    for other in range(g):  # noqa: SIM110 (numba has no generators)
        if seen[other] == seen[g]:
            return True
    return False


@inner
def _add(line, node, hashed, key):
    """Of each row, the hash of its class."""
    for row in range(len(key)):
        key[row] = 0
    for j in range(len(node)):
        if j != line:
            level = hashed[j, node[j]]
            for row in range(len(key)):
                key[row] += level[row]


@inner
def _classes(k, key, member, ends):
    """Put the rows of each class of k or more side by side; where each class ends, and how many there are."""
    rows, bits = len(key), 1
    while 1 << bits < 2 * rows:
        bits += 1
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    owner = np.full(1 << bits, -1, np.int32)
    kind, first, count = np.empty(rows, np.int32), np.empty(rows, np.int32), np.zeros(rows, np.int32)
    kinds = 0
    for row in range(rows):
        if row and key[row] == key[row - 1]:
            kind[row] = kind[row - 1]
            count[kind[row]] += 1
            continue
        slot = (key[row] * GOLDEN) >> shift
        while owner[slot] >= 0 and key[first[owner[slot]]] != key[row]:
            slot = (slot + np.uint64(1)) & mask
        if owner[slot] < 0:
            owner[slot], first[kinds] = kinds, row
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
def _left(k, taken, member, ends, loss):
    """Drop the rows that are taken, and classes that then have fewer than k; how many classes are left."""
    classes, end, i = 0, 0, 0
    for c in range(len(ends)):
        begin = end
        while i < ends[c]:
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
def _best(k, line, member, ends, loss, ranks, worth, lines):
    """What the best window costs, and where it begins."""
    at = ranks[line]
    least, place, begin = np.inf, 0, 0
    for c in range(len(ends)):
        inside = 0.0
        for i in range(begin, begin + k - 1):
            inside += worth[member[i]]
        for i in range(begin, ends[c] - k + 1):
            last = member[i + k - 1]
            inside += worth[last]
            cost = loss[c] + _ranged(lines, line, at[member[i]], at[last]) - inside
            if cost < least:
                least, place = cost, i
            inside -= worth[member[i]]
        begin = ends[c]
    return least, place


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
def _boxes(ranks, group, count, levels):
    """The box of each group; rows of no group count nowhere."""
    shape = (count, len(ranks))
    box = Box(np.full(count, -1), np.zeros(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64))
    for row in range(ranks.shape[1]):
        g = group[row]
        if g < 0:
            continue
        if box.head[g] < 0:
            box.head[g] = row
            for j in range(len(ranks)):
                box.lo[g, j], box.hi[g, j] = ranks[j, row], ranks[j, row]
        for j in range(len(ranks)):
            box.level[g, j], box.lo[g, j], box.hi[g, j] = _with(ranks, row, g, j, box, levels)
    return box


@inner
def _with(ranks, row, g, j, box, levels):
    """A group's level and range on one attribute, if it held one more row."""
    rank, first, level = ranks[j, row], ranks[j, box.head[g]], box.level[g, j]
    place = levels.begin[j] + level * levels.apart[j]
    while levels.classes[place + rank] != levels.classes[place + first]:
        place += levels.apart[j]
        level += 1
    return level, min(box.lo[g, j], rank), max(box.hi[g, j], rank)


@inner
def _loss(ranks, row, g, box, levels, lines):
    """What a row of the group would lose if it held one more row; any row of its own for what it loses as it is."""
    loss = 0.0
    for j in range(len(ranks)):
        level, lo, hi = _with(ranks, row, g, j, box, levels)
        is_line = lines.whole[j] >= 0
        loss += _ranged(lines, j, lo, hi) if is_line else _rate(ranks[j, row], level, j, levels)
    return loss


@compiled
def _filled(ranks, group, count, levels, lines):
    """Add every row without a group to the one whose loss it raises least; what all rows lose then."""
    box = _boxes(ranks, group, count, levels)
    rows, loss = np.zeros(count, np.int64), np.zeros(count)
    for g in range(count):
        loss[g] = _loss(ranks, box.head[g], g, box, levels, lines)
    for row in range(len(group)):
        if group[row] >= 0:
            rows[group[row]] += 1
    for row in range(len(group)):
        if group[row] >= 0:
            continue
        least, joint = np.inf, 0.0
        for g in range(count):
            raised = _loss(ranks, row, g, box, levels, lines)
            added = raised * (rows[g] + 1) - loss[g] * rows[g]
            if added < least:
                least, joint, group[row] = added, raised, g
        g = group[row]
        rows[g] += 1
        loss[g] = joint
        for j in range(len(ranks)):
            box.level[g, j], box.lo[g, j], box.hi[g, j] = _with(ranks, row, g, j, box, levels)
    total = 0.0
    for g in range(count):
        total += loss[g] * rows[g]
    return total


@inner
def _most(numbers):
    """The largest of some whole numbers."""
    most = numbers[0]
    for number in numbers:
        most = max(most, number)
    return most


@inner
def _below(state, limit):
    """A random whole number below the limit: splitmix64, as a pool must draw the same in whatever thread it is."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((bits ^ (bits >> np.uint64(31))) >> np.uint64(1)) % limit
