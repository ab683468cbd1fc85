"""The one loop that numba compiles: it takes the windows of windows.py, pool after pool.

With numpy, every window taken costs some passes over all places of all generalizations, which must be sorted first.
Here a class is found by its hash, one of fewer than k rows is dropped at once, and a generalization is looked at again
only when its turn has come. On Adult that is a fifth of the time, which effort 'best' spends on more and wider pools.

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


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, without Python's lock."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(nogil=True)(function)


@compiled
def scan(k, line, first, size, ranks, worth, start, hashes, losses, measure, found):
    """Say of each row which window of its pool it is in, in the order they were taken; others stay as they are.

    A pool has `size` rows from `first` on, in the order of the line: `ranks` are attributes × rows, and a row's `worth`
    makes its window cheaper. `start` is where the level of each generalization begins in the hashes and losses of
    classes: pools × generalizations × attributes. `measure` is that of the line.
    """
    pools, many, _ = start.shape
    most = size.max()
    # Of each generalization: its rows by class, where the classes end, how many, what they lose, and the best window.
    member = np.empty((many, most), np.uint32)
    ends = np.empty((many, most // k + 1), np.int64)
    loss = np.empty((many, most // k + 1), np.float32)
    classes = np.empty(many, np.int64)
    cost = np.empty(many, np.float32)
    place = np.empty(many, np.int64)
    looked = np.empty(many, np.int64)
    for pool in range(pools):
        mine = slice(first[pool], first[pool] + size[pool])
        at, value, taken = ranks[line, mine], worth[mine], found[mine]
        for g in range(many):
            key = _hashes(line, ranks[:, mine], start[pool, g], hashes)
            classes[g] = _classes(k, key, member[g], ends[g])
            for c in range(classes[g]):
                row = first[pool] + member[g, ends[g, c] - 1]
                loss[g, c] = 0
                for j in range(len(ranks)):
                    if j != line:
                        loss[g, c] += losses[start[pool, g, j] + ranks[j, row]]
            cost[g], place[g] = _best(k, member[g], ends[g, : classes[g]], loss[g], at, value, measure)
            looked[g] = 0
        number = 0
        while cost.min() < np.inf:
            best = cost.argmin()
            if looked[best] < number:
                classes[best] = _left(k, taken, member[best], ends[best, : classes[best]], loss[best])
                cost[best], place[best] = _best(
                    k, member[best], ends[best, : classes[best]], loss[best], at, value, measure
                )
                looked[best] = number
                continue
            for i in range(place[best], place[best] + k):
                taken[member[best, i]] = number
            number += 1


@compiled
def _hashes(line, ranks, start, hashes):
    """Of each row, the hash of its class."""
    key = np.zeros(ranks.shape[1], np.uint64)
    for j in range(len(ranks)):
        if j != line:
            level, mine = hashes[start[j] :], ranks[j]
            for row in range(len(key)):
                key[row] += level[mine[row]]
    return key


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
def _best(k, member, ends, loss, at, worth, measure):
    """What the best window costs, and where it begins."""
    position, table, whole = measure
    ranks = int(np.sqrt(len(table)))
    least, place, begin = np.float32(np.inf), 0, 0
    for c in range(len(ends)):
        inside = np.float32(0)
        for i in range(begin, begin + k - 1):
            inside += worth[member[i]]
        for i in range(begin, ends[c] - k + 1):
            last = member[i + k - 1]
            inside += worth[last]
            if ranks:
                stretch = table[at[member[i]] * ranks + at[last]]
            else:
                stretch = min(position[at[last]] - position[at[member[i]]], whole)
            cost = loss[c] + stretch - inside
            if cost < least:
                least, place = cost, i
            inside -= worth[member[i]]
        begin = ends[c]
    return least, place
