"""The moves of the search in search.py, compiled: open a box, and find room for all whom that displaces.

A clustering is changed in a draft: copies of the few groups that a move touches, which take their places if the move is
accepted. All loops over groups give up as soon as the best so far cannot be reached.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.grid import Small
from sqlanon.udfs.space.machine import compiled, uniform

SLOTS = 256
"""Groups that one move touches, at most."""
SPARE = 40
"""So many of them are kept for groups that rows are put into at the end."""
OFFERS = 4096
"""Rows of tuples in groups that a box chooses from, at most."""
TRIES = 40
"""How often a badly placed row is looked for."""
ALL = 4096
"""Up to so many groups are all looked at for a row; of more, those near to it."""
NEAR = 12
"""Boxes around a row whose members' groups are near to it."""
PICKED = 1000
"""Boxes that displaced rows are grouped by, about."""
SAME = 1e-9


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
    """The tuple of each row of the table."""


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
    loose: Ints
    """How many rows of a tuple have no group,"""
    tuple_mark: Ints
    loose_tuples: Ints
    """and which tuples these are."""
    box_mark: Ints
    box_score: Floats
    box_list: Ints
    offer_tuple: Ints
    offer_group: Ints
    offer_rows: Ints
    offer_key: Floats
    numbers: Ints
    """Slots in use, loose tuples, and the number of the move."""
    vacant: Ints
    """Numbers of groups that are empty;"""
    used: Ints
    """how many of them, and how many numbers of groups are in use."""


@compiled
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


@compiled
def _joined(grid, groups, g, t, most):
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


@compiled
def _copy(clusters, draft, g, move):
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


@compiled
def _give(groups, slot, t, rows):
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


@compiled
def _take(draft, slot, t, rows):
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


@compiled
def _badly_placed(clusters, owners, boxes, prices, random):
    """A row that loses more than its price, its group, and a box around it that promises less; -1 if none is found."""
    for _ in range(TRIES):
        t = owners.of_row[int(uniform(random) * len(owners.of_row))]
        g = owners.group[owners.begin[t] + int(uniform(random) * owners.count[t])]
        loss = clusters.loss[g]
        many = boxes.first[t + 1] - boxes.first[t]
        if loss <= 0 or many == 0 or loss - prices[t] < 0.3 * uniform(random) * loss:
            continue
        box = boxes.of_tuple[boxes.first[t] + int(uniform(random) * many)]
        if boxes.loss[box] < loss * (0.8 + 0.4 * uniform(random)):
            return t, g, box
    return -1, -1, -1


@compiled
def _list_offers(clusters, owners, boxes, prices, draft, box, t, g, noise, random):
    """The members of a box in their groups, in the order of how much they lose and their prices ask for."""
    count = 0
    for i in range(boxes.end[box - 1] if box else 0, boxes.end[box]):
        u = boxes.member[i]
        for e in range(owners.begin[u], owners.begin[u] + owners.count[u]):
            if count == OFFERS:
                break
            other = owners.group[e]
            value = 0.5 * (clusters.loss[other] + max(prices[u], 0.0))
            value += noise * boxes.loss[box] * (uniform(random) - 0.5)
            draft.offer_tuple[count], draft.offer_group[count], draft.offer_rows[count] = u, other, owners.rows[e]
            draft.offer_key[count] = -np.inf if u == t and other == g else -value
            count += 1
    return count


@compiled
def _open(clusters, draft, loss, count, k, move):
    """Make a group of k rows in a box that loses so much, and of more where they gain and their groups keep k.

    False if the draft or the group has no room, or the box too few rows."""
    groups = draft.groups
    draft.numbers[0], draft.source[0], groups.length[0], groups.size[0] = 1, -1, 0, 0
    for i in np.argsort(draft.offer_key[:count]):
        u, g, rows = draft.offer_tuple[i], draft.offer_group[i], draft.offer_rows[i]
        if groups.size[0] >= k:
            left = groups.size[draft.slot[g]] if draft.group_mark[g] == move else clusters.size[g]
            if clusters.loss[g] <= loss or (left >= k and left - rows < k) or groups.size[0] + rows >= 2 * k:
                continue
        elif groups.size[0] + rows > k and clusters.loss[g] <= loss:
            rows = k - groups.size[0]
        if draft.numbers[0] >= SLOTS - SPARE:
            return False
        _take(draft, _copy(clusters, draft, g, move), u, rows)
        if not _give(groups, 0, u, rows):
            return False
    return groups.size[0] >= k


@compiled
def _free(grid, draft, k, move):
    """Groups that are left with fewer than k rows are dissolved. How many rows are loose then."""
    groups, freed = draft.groups, 0
    draft.numbers[1] = 0
    close(grid, groups, 0)
    for slot in range(1, draft.numbers[0]):
        if groups.size[slot] >= k:
            if draft.is_changed[slot]:
                close(grid, groups, slot)
            continue
        for i in range(groups.length[slot]):
            _loosen(draft, groups.tuple[slot, i], groups.rows[slot, i], move)
        freed += groups.size[slot]
        groups.length[slot], groups.size[slot] = 0, 0
    return freed


@compiled
def _loosen(draft, t, rows, move):
    """Rows of a tuple have no group."""
    if draft.tuple_mark[t] != move:
        draft.tuple_mark[t], draft.loose[t] = move, 0
        draft.loose_tuples[draft.numbers[1]] = t
        draft.numbers[1] += 1
    draft.loose[t] += rows


@compiled
def _filling(boxes, prices, draft, box, k, move, slot):
    """What filling a box with loose rows gains in prices, for k rows; -inf if they are too few. Into a slot, if any."""
    groups, loss, rows, gain = draft.groups, boxes.loss[box], 0, 0.0
    for i in range(boxes.end[box - 1] if box else 0, boxes.end[box]):
        u = boxes.member[i]
        if draft.tuple_mark[u] != move or draft.loose[u] == 0:
            continue
        some = draft.loose[u]
        if prices[u] <= loss:
            if rows >= k:
                break
            some = min(some, k - rows)
        if slot >= 0:
            if not _give(groups, slot, u, some):
                break
            draft.loose[u] -= some
        rows += some
        gain += some * (prices[u] - loss)
    return gain / rows * k if rows >= k else -np.inf


@compiled
def _regroup(grid, boxes, prices, draft, k, noise, move, random):
    """Form groups of loose rows in the boxes that gain most, one after the other; of many boxes some are drawn."""
    count, kept = 0, 0
    share = max(2, PICKED // max(1, draft.numbers[1]))
    for i in range(draft.numbers[1]):
        u = draft.loose_tuples[i]
        apart = max(1, (boxes.first[u + 1] - boxes.first[u]) // share)
        for place in range(boxes.first[u] + int(uniform(random) * apart), boxes.first[u + 1], apart):
            box = boxes.of_tuple[place]
            if draft.box_mark[box] != move:
                draft.box_mark[box] = move
                draft.box_list[count] = box
                count += 1
    for i in range(count):
        gain = _filling(boxes, prices, draft, draft.box_list[i], k, move, -1)
        if gain > -np.inf:
            draft.box_list[kept], draft.box_score[kept] = draft.box_list[i], gain + noise * (uniform(random) - 0.5)
            kept += 1
    while draft.numbers[0] < SLOTS - SPARE:
        best = -1
        for i in range(kept):
            if draft.box_score[i] > (draft.box_score[best] if best >= 0 else -np.inf):
                best = i
        if best < 0:
            break
        # What it gained when it was listed may be gone: then it waits for its turn again.
        now = _filling(boxes, prices, draft, draft.box_list[best], k, move, -1)
        if now < draft.box_score[best] - noise:
            draft.box_score[best] = now
            continue
        slot = draft.numbers[0]
        draft.numbers[0] += 1
        draft.source[slot], draft.groups.length[slot], draft.groups.size[slot] = -1, 0, 0
        _filling(boxes, prices, draft, draft.box_list[best], k, move, slot)
        close(grid, draft.groups, slot)


@compiled
def _cheapest(grid, clusters, owners, boxes, draft, t, rows, move, random):
    """The slot and group, one of them -1, whose loss rows of a tuple raise least; by how much, and to what."""
    groups, best, slot, group, joint = draft.groups, np.inf, -1, -1, 0.0
    for s in range(draft.numbers[0]):
        if groups.length[s] == 0 or rows * groups.loss[s] >= best:
            continue
        base, size = groups.size[s] * groups.loss[s], groups.size[s] + rows
        loss = _joined(grid, groups, s, t, (best + base) / size)
        if loss < (best + base) / size:
            best, slot, joint = size * loss - base, s, loss
    if draft.used[1] <= ALL:
        for g in range(draft.used[1]):
            if clusters.length[g] == 0 or draft.group_mark[g] == move or rows * clusters.loss[g] >= best:
                continue
            base, size = clusters.size[g] * clusters.loss[g], clusters.size[g] + rows
            most, loss = (best + base) / size, 0.0
            for j in range(len(grid.ranks)):
                rank = grid.ranks[j, t]
                if grid.is_line[j]:
                    begin = grid.begin[j]
                    low, high = min(rank, clusters.low[g, j]), max(rank, clusters.high[g, j])
                    loss += min(grid.first[begin + high] - grid.first[begin + low], grid.whole[j])
                else:
                    node = np.int64(clusters.low[g, j])
                    while rank < grid.low[node] or rank > grid.high[node]:
                        node = grid.parent[node]
                    loss += grid.loss[node]
                if loss >= most:
                    break
            if loss < most:
                best, slot, group, joint = size * loss - base, -1, g, loss
        return slot, group, best, joint
    many = boxes.first[t + 1] - boxes.first[t]
    for _ in range(min(NEAR, many)):
        box = boxes.of_tuple[boxes.first[t] + int(uniform(random) * many)]
        for i in range(boxes.end[box - 1] if box else 0, boxes.end[box]):
            u = boxes.member[i]
            for e in range(owners.begin[u], owners.begin[u] + owners.count[u]):
                g = np.int64(owners.group[e])
                if draft.group_mark[g] == move or rows * clusters.loss[g] >= best:
                    continue
                base, size = clusters.size[g] * clusters.loss[g], clusters.size[g] + rows
                loss = _joined(grid, clusters, g, t, (best + base) / size)
                if loss < (best + base) / size:
                    best, slot, group, joint = size * loss - base, -1, g, loss
    return slot, group, best, joint


@compiled
def _house(grid, clusters, owners, boxes, draft, cost, limit, move, random):
    """Put every loose row into the group whose loss it raises least; the cost then, infinite if it passes the limit."""
    groups = draft.groups
    for i in range(draft.numbers[1]):
        t = draft.loose_tuples[i]
        rows = draft.loose[t]
        if rows == 0:
            continue
        slot, group, raised, joint = _cheapest(grid, clusters, owners, boxes, draft, t, rows, move, random)
        cost += raised
        if cost > limit:
            return np.inf
        if group >= 0:
            if draft.numbers[0] >= SLOTS:
                return np.inf
            slot = _copy(clusters, draft, group, move)
        if not _give(groups, slot, t, rows):
            return np.inf
        groups.loss[slot] = joint
        for j in range(len(grid.ranks)):
            rank = grid.ranks[j, t]
            if grid.is_line[j]:
                groups.low[slot, j] = min(groups.low[slot, j], rank)
                groups.high[slot, j] = max(groups.high[slot, j], rank)
            else:
                node = np.int64(groups.low[slot, j])
                while rank < grid.low[node] or rank > grid.high[node]:
                    node = grid.parent[node]
                groups.low[slot, j] = node
    return cost


@compiled
def _commit(clusters, owners, draft):
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


@compiled
def anneal(grid, k, prices, clusters, owners, boxes, draft, heats, noise, random):
    """A move for each heat: accepted if it gains, or loses no more than an exponential draw of that mean.

    What all of them lost together, below 0 if they gained.
    """
    changed = 0.0
    for heat in heats:
        draft.numbers[2] += 1
        move = draft.numbers[2]
        limit = -heat * np.log(1 - uniform(random)) if heat > 0 else -SAME
        t, g, box = _badly_placed(clusters, owners, boxes, prices, random)
        if t < 0:
            continue
        count = _list_offers(clusters, owners, boxes, prices, draft, box, t, g, noise, random)
        if not _open(clusters, draft, boxes.loss[box], count, k, move):
            continue
        cost = 0.0
        for slot in range(1, draft.numbers[0]):
            cost -= clusters.size[draft.source[slot]] * clusters.loss[draft.source[slot]]
        if _free(grid, draft, k, move) >= k:
            _regroup(grid, boxes, prices, draft, k, noise * boxes.loss[box], move, random)
        for slot in range(draft.numbers[0]):
            if draft.groups.length[slot] > 0:
                cost += draft.groups.size[slot] * draft.groups.loss[slot]
        if cost > limit:
            continue
        cost = _house(grid, clusters, owners, boxes, draft, cost, limit, move, random)
        if cost <= limit and abs(cost) > SAME:
            _commit(clusters, owners, draft)
            changed += cost
    return changed
