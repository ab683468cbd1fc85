"""The moves of the search in search.py, compiled: open a box, and find room for all whom that displaces.

A clustering is changed in a draft: copies of the few groups that a move touches, which take their places if the move is
accepted. All loops over groups give up as soon as the best so far cannot be reached.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

import numpy as np

from sqlanon.udfs.after.draft import close, commit, copied, give, joined, loosen, take
from sqlanon.udfs.after.shelves import shelve
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.machine import inner, loop, uniform

SLOTS = 256
"""Groups that one move touches, at most."""
SPARE = 40
"""So many of them are kept for groups that rows are put into at the end."""
OFFERS = 4096
"""Rows of tuples in groups that a box chooses from, at most."""
TRIES = 40
"""How often a badly placed row is looked for."""
DRAWN = 32
"""Boxes that displaced rows are grouped by, at most."""
TIGHT = 4
"""If more than three quarters of the displaced rows are needed for one group, few boxes hold enough of them: then boxes
are drawn around the rows that are in few boxes."""
SAME = 1e-9
FORGOTTEN = 0.98
"""What is left of a guess by which a move was given up: it may be wrong by now."""
STEP, OFFERED = 650, 5
"""The work of a move, and of a row that its box chooses from, in groups looked at."""


@inner
def _badly_placed(clusters, owners, boxes, prices, random):
    """A row that loses more than its price, its group, and a box around it that promises less; -1 if none is found."""
    for _ in range(TRIES):
        t = owners.of_row[int(uniform(random) * owners.total)]
        g = owners.group[owners.begin[t] + int(uniform(random) * owners.count[t])]
        loss = clusters.loss[g]
        many = boxes.first[t + 1] - boxes.first[t]
        if loss <= 0 or many == 0 or loss - prices[t] < 0.3 * uniform(random) * loss:
            continue
        box = boxes.of_tuple[boxes.first[t] + int(uniform(random) * many)]
        if boxes.loss[box] < loss * (0.8 + 0.4 * uniform(random)):
            return t, g, box
    return -1, -1, -1


@inner
def _list_offers(clusters, owners, boxes, prices, draft, box, t, g, noise, breadth, move, random):
    """The members of a box in their groups, in the order of how much they lose and their prices ask for.

    Those come first whose groups are in the box for the most part: then fewer groups are left with less than k rows."""
    count = 0
    breadth *= uniform(random) * boxes.loss[box]
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
            if draft.held_mark[other] != move:
                draft.held_mark[other], draft.held[other] = move, 0
            draft.held[other] += owners.rows[e]
    for i in range(count):
        other = draft.offer_group[i]
        draft.offer_key[i] -= breadth * draft.held[other] / clusters.size[other]
    draft.numbers[3] += OFFERED * count
    return count


@inner
def _sort(key, order, count):
    """The order of the first keys, ascending (Shell, CACM 1959)."""
    for i in range(count):
        order[i] = i
    gap = np.int64(1)
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            one, place = order[i], i
            while place >= gap and key[order[place - gap]] > key[one]:
                order[place] = order[place - gap]
                place -= gap
            order[place] = one
        gap //= 3


@inner
def _open(clusters, draft, loss, count, k, move):
    """Make a group of k rows in a box that loses so much, and of more where they gain and their groups keep k.

    False if the draft or the group has no room, or the box too few rows."""
    groups = draft.groups
    draft.numbers[0], draft.source[0], groups.length[0], groups.size[0] = 1, -1, 0, 0
    _sort(draft.offer_key, draft.offer_order, count)
    for place in range(count):
        i = draft.offer_order[place]
        u, g, rows = draft.offer_tuple[i], draft.offer_group[i], draft.offer_rows[i]
        if groups.size[0] >= k:
            left = groups.size[draft.slot[g]] if draft.group_mark[g] == move else clusters.size[g]
            if clusters.loss[g] <= loss or (left >= k and left - rows < k) or groups.size[0] + rows >= 2 * k:
                continue
        elif groups.size[0] + rows > k and clusters.loss[g] <= loss:
            rows = k - groups.size[0]
        if draft.numbers[0] >= SLOTS - SPARE:
            return False
        take(draft, copied(clusters, draft, g, move), u, rows)
        if not give(groups, np.int64(0), u, rows):
            return False
    return groups.size[0] >= k


@inner
def _free(grid, draft, k):
    """Groups that are left with fewer than k rows are dissolved. How many rows are loose then."""
    groups, freed = draft.groups, 0
    for i in range(draft.numbers[1]):
        draft.loose[draft.loose_tuples[i]] = 0
    draft.numbers[1] = 0
    close(grid, groups, np.int64(0))
    for slot in range(1, draft.numbers[0]):
        if groups.size[slot] >= k:
            if draft.is_changed[slot]:
                close(grid, groups, slot)
            continue
        for i in range(groups.length[slot]):
            loosen(draft, groups.tuple[slot, i], groups.rows[slot, i])
        freed += groups.size[slot]
        groups.length[slot], groups.size[slot] = 0, 0
    return freed


@inner
def _filling(boxes, prices, draft, box, k, slot):
    """What filling a box with loose rows gains in prices, for k rows; -inf if they are too few. Into a slot, if any."""
    groups, loss, rows, gain = draft.groups, boxes.loss[box], 0, 0.0
    draft.numbers[3] += boxes.end[box] - (boxes.end[box - 1] if box else 0)
    for i in range(boxes.end[box - 1] if box else 0, boxes.end[box]):
        u = np.int64(boxes.member[i])
        some = np.int64(draft.loose[u])
        if some == 0:
            continue
        if prices[u] <= loss:
            if rows >= k:
                break
            some = min(some, k - rows)
        if slot >= 0:
            if not give(groups, slot, u, some):
                break
            draft.loose[u] -= some
        rows += some
        gain += some * (prices[u] - loss)
    return gain / rows * k if rows >= k else -np.inf


@inner
def _sort_loose(draft):
    """Put the loose tuples in the order of their keys, ascending."""
    for i in range(1, draft.numbers[1]):
        t, place = draft.loose_tuples[i], i
        while place > 0 and draft.key[draft.loose_tuples[place - 1]] > draft.key[t]:
            draft.loose_tuples[place] = draft.loose_tuples[place - 1]
            place -= 1
        draft.loose_tuples[place] = t


@inner
def _sources(boxes, draft, spare):
    """Put the loose tuples of the fewest boxes first, and say how many of them suffice: every box that lacks at most
    `spare` of the loose rows holds one of these."""
    for i in range(draft.numbers[1]):
        t = draft.loose_tuples[i]
        draft.key[t] = boxes.first[t + 1] - boxes.first[t]
    _sort_loose(draft)
    count = 0
    while spare >= 0:
        spare -= draft.loose[draft.loose_tuples[count]]
        count += 1
    return count


@inner
def _regroup(grid, boxes, prices, draft, freed, k, noise, move, random):
    """Form groups of loose rows in the boxes that gain most, one after the other, of some that are drawn."""
    count, kept = 0, 0
    sources = draft.numbers[1] if TIGHT * (freed - k) >= freed else _sources(boxes, draft, freed - k)
    for _ in range(DRAWN):
        u = draft.loose_tuples[int(uniform(random) * sources)]
        many = boxes.first[u + 1] - boxes.first[u]
        box = boxes.of_tuple[boxes.first[u] + int(uniform(random) * many)] if many > 0 else -1
        if many > 0 and draft.box_mark[box] != move:
            draft.box_mark[box] = move
            draft.box_list[count] = box
            count += 1
    for i in range(count):
        gain = _filling(boxes, prices, draft, draft.box_list[i], k, np.int64(-1))
        if gain > -np.inf:
            draft.box_list[kept], draft.box_score[kept] = draft.box_list[i], gain + noise * (uniform(random) - 0.5)
            kept += 1
    while draft.numbers[0] < SLOTS - SPARE:
        best = -1
        for i in range(kept):
            if draft.box_score[i] > (draft.box_score[best] if best >= 0 else -np.inf):
                best = i
        draft.numbers[3] += kept
        if best < 0:
            break
        # What it gained when it was listed may be gone: then it waits for its turn again.
        now = _filling(boxes, prices, draft, draft.box_list[best], k, np.int64(-1))
        if now < draft.box_score[best] - noise:
            draft.box_score[best] = now
            continue
        slot = draft.numbers[0]
        draft.numbers[0] += 1
        draft.source[slot], draft.groups.length[slot], draft.groups.size[slot] = -1, 0, 0
        _filling(boxes, prices, draft, draft.box_list[best], k, slot)
        close(grid, draft.groups, slot)


@inner
def _asked(draft, prices):
    """What all loose rows cost at these prices of a row of each tuple."""
    total = 0.0
    for i in range(draft.numbers[1]):
        t = draft.loose_tuples[i]
        total += prices[t] * draft.loose[t]
    return total


@inner
def _join(grid, draft, k):
    """Make one group of all rows that are still loose, if they are k and it costs less than housing them did last."""
    groups, slot, rows = draft.groups, draft.numbers[0], 0
    for i in range(draft.numbers[1]):
        rows += draft.loose[draft.loose_tuples[i]]
    if rows < k or slot >= SLOTS - SPARE:
        return
    groups.length[slot], groups.size[slot], draft.source[slot] = 0, 0, -1
    for i in range(draft.numbers[1]):
        t = draft.loose_tuples[i]
        some = np.int64(draft.loose[t])
        if some > 0 and not give(groups, slot, t, some):
            return
    close(grid, groups, slot)
    draft.numbers[3] += groups.length[slot]
    if rows * groups.loss[slot] < _asked(draft, draft.guess):
        draft.numbers[0] += 1
        for i in range(draft.numbers[1]):
            draft.loose[draft.loose_tuples[i]] = 0


@inner
def _cheapest(grid, clusters, shelves, draft, t, rows, most, move):
    """The slot and group, one of them -1, whose loss rows of a tuple raise least; by how much, and to what.

    Both are -1 if all raise it by so much as `most`."""
    groups, best, slot, group, joint = draft.groups, most, np.int64(-1), np.int64(-1), 0.0
    draft.numbers[3] += draft.numbers[0]
    for s in range(draft.numbers[0]):
        if groups.length[s] == 0 or rows * groups.loss[s] >= best:
            continue
        base, size = groups.size[s] * groups.loss[s], groups.size[s] + rows
        loss = joined(grid, groups, s, t, (best + base) / size)
        if loss < (best + base) / size:
            best, slot, joint = size * loss - base, s, loss
    kind, seen = shelves.home[t], 0
    for place in range(shelves.first[kind], shelves.first[kind + 1]):
        g = shelves.head[shelves.shelf[place]]
        while g >= 0:
            seen += 1
            if draft.group_mark[g] != move and rows * clusters.loss[g] < best:
                base, size, loss = clusters.size[g] * clusters.loss[g], clusters.size[g] + rows, 0.0
                ceiling = (best + base) / size
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
                    if loss >= ceiling:
                        break
                if loss < ceiling:
                    best, slot, group, joint = size * loss - base, np.int64(-1), g, loss
            g = shelves.after[g]
    draft.numbers[3] += seen
    return slot, group, best, joint


@inner
def _house(grid, clusters, shelves, draft, cost, limit, move):
    """Put every loose row into the group whose loss it raises least; the cost then, infinite if it passes the limit.

    Those come first that will probably raise it most, so that a move that is too dear is given up early."""
    groups = draft.groups
    for i in range(draft.numbers[1]):
        t = draft.loose_tuples[i]
        draft.key[t] = -draft.guess[t] * draft.loose[t]
    _sort_loose(draft)
    for i in range(draft.numbers[1]):
        t = draft.loose_tuples[i]
        rows = np.int64(draft.loose[t])
        if rows == 0:
            continue
        slot, group, raised, joint = _cheapest(grid, clusters, shelves, draft, t, rows, limit - cost, move)
        if slot < 0 and group < 0:
            draft.guess[t] = max(draft.guess[t], (limit - cost) / rows)
            return np.inf
        draft.guess[t] = raised / rows
        cost += raised
        if group >= 0:
            if draft.numbers[0] >= SLOTS:
                return np.inf
            slot = copied(clusters, draft, group, move)
        if not give(groups, slot, t, rows):
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


@inner
def _kept(draft):
    """What the groups of a draft lose together."""
    total = 0.0
    for slot in range(draft.numbers[0]):
        if draft.groups.length[slot] > 0:
            total += draft.groups.size[slot] * draft.groups.loss[slot]
    return total


@loop
def anneal(grid, k, prices, clusters, owners, boxes, shelves, draft, count, heat, noise, breadth, random):
    """So many moves: accepted if they gain, or lose no more than an exponential draw of that mean.

    What all of them lost together, below 0 if they gained.
    """
    prices, random, changed = bare(prices), bare(random), 0.0
    for _ in range(count):
        draft.numbers[2] += 1
        draft.numbers[3] += STEP
        move = draft.numbers[2]
        limit = -heat * np.log(1 - uniform(random)) if heat > 0 else -SAME
        t, g, box = _badly_placed(clusters, owners, boxes, prices, random)
        if t < 0:
            continue
        offers = _list_offers(clusters, owners, boxes, prices, draft, box, t, g, noise, breadth, move, random)
        if not _open(clusters, draft, boxes.loss[box], offers, k, move):
            continue
        cost = 0.0
        for slot in range(1, draft.numbers[0]):
            cost -= clusters.size[draft.source[slot]] * clusters.loss[draft.source[slot]]
        freed = _free(grid, draft, k)
        if cost + _kept(draft) + _asked(draft, prices) > limit:
            continue
        if freed >= k:
            _regroup(grid, boxes, prices, draft, freed, k, noise * boxes.loss[box], move, random)
            _join(grid, draft, k)
        cost += _kept(draft)
        if cost + _asked(draft, draft.guess) > limit:
            for i in range(draft.numbers[1]):
                draft.guess[draft.loose_tuples[i]] *= FORGOTTEN
            continue
        cost = _house(grid, clusters, shelves, draft, cost, limit, move)
        if cost <= limit and abs(cost) > SAME:
            commit(clusters, owners, shelves, draft)
            changed += cost
    return changed


@loop
def close_all(grid, groups, shelves, count):
    """Find the boxes of the first groups, and their losses, and put them onto their shelves."""
    for g in range(count):
        close(grid, groups, g)
        shelve(shelves, groups, g)
