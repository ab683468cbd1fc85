"""The one loop that numba compiles: it takes the windows of windows.py, pool after pool.

With numpy, every window taken costs some passes over all places of all generalizations, which must be sorted first.
Here a class is found by its hash, one of fewer than k rows is dropped at once, and a generalization is looked at again
only when its turn has come. On Adult that is a tenth of the time or less, which effort 'best' spends on more pools.

The first call compiles, which takes some seconds; the code is kept beside this file or in the user's cache folder.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""What a hash is multiplied by, so that its first bits depend on all."""
SAME = 1e-9
"""Losses that differ by less are those of the same groups."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, without Python's lock."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(nogil=True)(function)


@compiled
def propose(k, line, first, size, ranks, group, price, limit, seeds, lattice, measures, drawing, found):
    """For each pool the first clustering that loses less, or at most `limit` more: the new group of each of its rows.

    A pool has `size` rows from `first` on, in the order of the line: `ranks` are attributes × rows, `group` the number
    of each row's group within its pool, `price` what the row loses. For `lattice`, `measures` and `drawing` see
    windows.Lattice. Rows of a pool for which nothing is found stay as they are in `found`.
    """
    tries, many, mixed, moved, shares = drawing
    attributes, most = len(ranks), size.max()
    hashed = np.empty((attributes, lattice[5].max(), most), np.uint64)
    taken, worth = np.empty(most, np.int64), np.empty(most)
    state = np.empty(1, np.uint64)
    for pool in range(len(first)):
        rows = slice(first[pool], first[pool] + size[pool])
        mine, new, value = ranks[:, rows], taken[: size[pool]], worth[: size[pool]]
        state[0] = seeds[pool]
        _hash(mine, lattice, hashed)
        new[:] = group[rows]
        groups = new.max() + 1
        own = _boxes(mine, new, groups, lattice)[1]
        before = _filled(mine, new, groups, lattice, measures)
        for _ in range(tries):
            nodes = _draw(own, many, mixed, moved, lattice[5], state)
            value[:] = price[rows] * (shares[_below(state, len(shares))] / k)
            new[:] = -1
            groups = scan(k, line, mine, value, nodes, hashed, lattice, measures, new)
            total = _filled(mine, new, groups, lattice, measures)
            if total < before - SAME or before + SAME < total < before + limit[pool]:
                found[rows] = new
                break


@compiled
def _draw(own, many, mixed, moved, levels, state):
    """Generalizations: those of the groups, the top, and those of groups with some attributes changed."""
    groups, attributes = own.shape
    nodes = np.empty((max(many, groups + 1), attributes), np.int64)
    nodes[:groups] = own
    nodes[groups] = levels - 1
    for g in range(groups + 1, len(nodes)):
        one, other = _below(state, groups), _below(state, groups)
        for j in range(attributes):
            dice = _below(state, 1 << 40)
            level = own[other, j] if (dice & 0xFFFFF) < mixed * (1 << 20) else own[one, j]
            dice >>= 20
            if dice < moved * (1 << 20):
                level += 1
            elif dice >= (1 - moved) * (1 << 20):
                level -= 1
            nodes[g, j] = min(max(level, 0), levels[j] - 1)
    return nodes


@compiled
def _hash(ranks, lattice, hashed):
    """The hash of every row's class by attribute and level."""
    hashes, _, _, begin, apart, levels = lattice
    for j in range(len(ranks)):
        for level in range(levels[j]):
            here = hashes[begin[j] + level * apart[j] :]
            for row in range(ranks.shape[1]):
                hashed[j, level, row] = here[ranks[j, row]]


@compiled
def scan(k, line, ranks, worth, nodes, hashed, lattice, measures, taken):
    """Say of each row which window it is in, in the order they were taken; others stay as they are. How many there are.

    A row's `worth` makes its window cheaper; `nodes` are generalizations × attributes.
    """
    _, _, losses, begin, apart, _ = lattice
    many, attributes = nodes.shape
    rows = ranks.shape[1]
    # Of each generalization: its rows by class, where the classes end, how many, what they lose, and the best window.
    member = np.empty((many, rows), np.uint32)
    ends = np.empty((many, rows // k + 1), np.int64)
    loss = np.empty((many, rows // k + 1))
    classes = np.empty(many, np.int64)
    cost = np.full(many, np.inf)
    place = np.empty(many, np.int64)
    looked = np.zeros(many, np.int64)
    seen = np.empty(many, np.uint64)
    key = np.empty(rows, np.uint64)
    for g in range(many):
        if _is_known(line, nodes[g], g, seen):
            continue
        _add(line, nodes[g], hashed, key)
        classes[g] = _classes(k, key, member[g], ends[g])
        for c in range(classes[g]):
            row = member[g, ends[g, c] - 1]
            loss[g, c] = 0
            for j in range(attributes):
                if j != line:
                    loss[g, c] += losses[begin[j] + nodes[g, j] * apart[j] + ranks[j, row]]
        cost[g], place[g] = _best(k, line, member[g], ends[g, : classes[g]], loss[g], ranks, worth, measures)
    number = 0
    while cost.min() < np.inf:
        best = cost.argmin()
        if looked[best] < number:
            classes[best] = _left(k, taken, member[best], ends[best, : classes[best]], loss[best])
            cost[best], place[best] = _best(
                k, line, member[best], ends[best, : classes[best]], loss[best], ranks, worth, measures
            )
            looked[best] = number
            continue
        for i in range(place[best], place[best] + k):
            taken[member[best, i]] = number
        number += 1
    return number


@compiled
def _is_known(line, node, g, seen):
    """Is there the same generalization among those before? The level of the line is none."""
    seen[g] = 0
    for j in range(len(node)):
        if j != line:
            seen[g] = seen[g] * GOLDEN + np.uint64(node[j] + 1)
    return (seen[:g] == seen[g]).any()


@compiled
def _add(line, node, hashed, key):
    """Of each row, the hash of its class."""
    key[:] = 0
    for j in range(len(node)):
        if j != line:
            level = hashed[j, node[j]]
            for row in range(len(key)):
                key[row] += level[row]


@compiled
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


@compiled
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


@compiled
def _best(k, line, member, ends, loss, ranks, worth, measures):
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
            cost = loss[c] + _ranged(measures, line, at[member[i]], at[last]) - inside
            if cost < least:
                least, place = cost, i
            inside -= worth[member[i]]
        begin = ends[c]
    return least, place


@compiled
def _ranged(measures, j, lo, hi):
    """What a range of ranks of an attribute loses."""
    position, table, begin, size, whole = measures
    if size[j]:
        return table[begin[j] + lo * size[j] + hi]
    return min(position[begin[j] + hi] - position[begin[j] + lo], whole[j])


@compiled
def _boxes(ranks, group, count, lattice):
    """Of each group the first row, the level on every attribute that all its rows share, and its range there."""
    head = np.full(count, -1)
    level = np.zeros((count, len(ranks)), np.int64)
    lo, hi = np.empty((count, len(ranks)), np.int64), np.empty((count, len(ranks)), np.int64)
    for row in range(ranks.shape[1]):
        g = group[row]
        if g < 0:
            continue
        if head[g] < 0:
            head[g] = row
            lo[g], hi[g] = ranks[:, row], ranks[:, row]
        else:
            _widen(ranks, g, row, (head, level, lo, hi), lattice)
    return head, level, lo, hi


@compiled
def _widen(ranks, g, row, box, lattice):
    """Let a group hold one more row."""
    head, level, lo, hi = box
    for j in range(len(ranks)):
        lo[g, j], hi[g, j] = min(lo[g, j], ranks[j, row]), max(hi[g, j], ranks[j, row])
        level[g, j] = _shared(ranks[j, row], ranks[j, head[g]], level[g, j], j, lattice)


@compiled
def _shared(rank, other, level, j, lattice):
    """The first level, from this one on, at which two ranks are of one class."""
    _, classes, _, begin, apart, _ = lattice
    start = begin[j] + level * apart[j]
    while classes[start + rank] != classes[start + other]:
        start += apart[j]
        level += 1
    return level


@compiled
def _loss(ranks, g, box, lattice, measures):
    """What a row of the group loses."""
    head, level, lo, hi = box
    loss = 0.0
    for j in range(len(ranks)):
        loss += _part(ranks, g, j, level[g, j], lo[g, j], hi[g, j], head, lattice, measures)
    return loss


@compiled
def _part(ranks, g, j, level, lo, hi, head, lattice, measures):
    """What a row of the group loses on one attribute, if it has this level and range."""
    _, _, losses, begin, apart, _ = lattice
    if measures[4][j] >= 0:
        return _ranged(measures, j, lo, hi)
    return losses[begin[j] + level * apart[j] + ranks[j, head[g]]]


@compiled
def _filled(ranks, group, count, lattice, measures):
    """Add every row without a group to the one whose loss it raises least; what all rows lose then."""
    box = _boxes(ranks, group, count, lattice)
    head, level, lo, hi = box
    rows, loss = np.zeros(count, np.int64), np.zeros(count)
    for row in range(len(group)):
        if group[row] >= 0:
            rows[group[row]] += 1
    for g in range(count):
        loss[g] = _loss(ranks, g, box, lattice, measures)
    for row in range(len(group)):
        if group[row] >= 0:
            continue
        least = np.inf
        for g in range(count):
            joint = 0.0
            for j in range(len(ranks)):
                shared = _shared(ranks[j, row], ranks[j, head[g]], level[g, j], j, lattice)
                low, high = min(lo[g, j], ranks[j, row]), max(hi[g, j], ranks[j, row])
                joint += _part(ranks, g, j, shared, low, high, head, lattice, measures)
            if joint * (rows[g] + 1) - loss[g] * rows[g] < least:
                least, group[row] = joint * (rows[g] + 1) - loss[g] * rows[g], g
        g = group[row]
        rows[g] += 1
        _widen(ranks, g, row, box, lattice)
        loss[g] = _loss(ranks, g, box, lattice, measures)
    return (loss * rows).sum()


@compiled
def _below(state, limit):
    """A random whole number below the limit: splitmix64, as a pool must draw the same in whatever thread it is."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((bits ^ (bits >> np.uint64(31))) >> np.uint64(1)) % limit
