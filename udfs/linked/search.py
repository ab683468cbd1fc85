"""The search for groups of people: k-member over people, then annealed moves, swaps and new groups.

Greedy k-member (Byun et al. 2007) takes the person with most rows and the k - 1 people who cost least, and so on. Then
a random person moves to the group where they cost least, changes places with somebody, or opens a new group with people
who pay much where they are; groups that fall below k are dissolved. A step that costs more is taken with a chance that
falls as the search cools. All of it is compiled.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlanon.udfs.linked.profiles import aligned, better, copy_boxes, put
from sqlanon.udfs.problem import Floats, Ints
from sqlanon.udfs.space.bare import bare
from sqlanon.udfs.space.machine import inner, loop, uniform

COMPARED = 2_000
"""People who are compared with a group before the cheapest joins it."""
SAMPLED = 300
"""People from whom a new group is opened."""
TARGETS = 60
"""Groups that a person may change places with."""
POOLED = 4
"""People of groups that a step dissolves, in k, at most."""
OPENS = 0.65
"""How often a step opens a group."""


class State(NamedTuple):
    """Groups: who is in each, how many they are, the boxes of the profile and what they lose, and what it all costs.

    `of` is the group of each person, where these are all groups there are; `at` the group that one stands for, where
    these are some groups as they would become.
    """

    who: Ints
    size: Ints
    boxes: Ints
    lo: Ints
    hi: Ints
    loss: Floats
    cost: Floats
    of: Ints
    at: Ints

    @classmethod
    def of_groups(cls, groups: int, room: int, rows: int, attributes: int, people: int) -> State:
        """Room for this many groups of at most this many people, of whom nobody has more than these rows."""
        return cls(
            np.zeros((groups, room), dtype=np.int64),
            np.zeros(groups, dtype=np.int64),
            np.zeros(groups, dtype=np.int64),
            np.zeros((groups, rows, attributes), dtype=np.int64),
            np.zeros((groups, rows, attributes), dtype=np.int64),
            np.zeros((groups, rows)),
            np.zeros(groups),
            np.full(people, -1, dtype=np.int64),
            np.full(groups, -1, dtype=np.int64),
        )


@inner
def costs(losses, people, state, g, person, limit, desk):
    """What a person would cost a group, or the limit if that is less or the group is full."""
    if state.size[g] == 0 or state.size[g] == state.who.shape[1]:
        return limit
    return aligned(
        losses, people, state.lo[g], state.hi[g], state.loss[g], state.boxes[g], state.size[g], person, limit, desk
    )


@inner
def join(losses, people, state, g, person, desk):
    """Take a person into a group."""
    added, boxes = put(
        losses, people, state.lo[g], state.hi[g], state.loss[g], state.boxes[g], state.size[g], person, desk
    )
    state.who[g, state.size[g]] = person
    state.size[g] += 1
    state.boxes[g] = boxes
    state.cost[g] += added


@inner
def rebuild(losses, people, state, g, desk):
    """The profile of a group again."""
    state.cost[g], state.boxes[g] = better(
        losses, people, state.who[g], state.size[g], state.lo[g], state.hi[g], state.loss[g], desk
    )


@loop
def greedy(losses, people, state, k, free, left, groups, wanted, desk):
    """Make more groups until there are `wanted`, of the people free[:left], those with most rows last: how many are
    left."""
    free = bare(free)
    while groups < wanted and left >= k:
        left -= 1
        state.size[groups], state.boxes[groups], state.cost[groups] = 0, 0, 0.0
        join(losses, people, state, groups, free[left], desk)
        while state.size[groups] < k:
            best, chosen = np.inf, 0
            start, step = 0, 1
            if left > COMPARED:
                step = left // COMPARED
                start = int(uniform(desk.random) * step)
            for i in range(start, left, step):
                cost = costs(losses, people, state, groups, free[i], best, desk)
                if cost < best:
                    best, chosen = cost, i
            join(losses, people, state, groups, free[chosen], desk)
            left -= 1
            for i in range(chosen, left):
                free[i] = free[i + 1]
        rebuild(losses, people, state, groups, desk)
        for i in range(k):
            state.of[state.who[groups, i]] = groups
        groups += 1
    return left


@loop
def scatter(losses, people, state, free, left, desk):
    """The people who are left join the groups where they cost least."""
    free = bare(free)
    for i in range(left):
        best, chosen = np.inf, -1
        for g in range(len(state.who)):
            cost = costs(losses, people, state, g, free[i], best, desk)
            if cost < best:
                best, chosen = cost, g
        join(losses, people, state, chosen, free[i], desk)
        state.of[free[i]] = chosen


@inner
def copy_group(one, g, other, slot):
    """Copy a group from one state to another."""
    other.size[slot], other.boxes[slot], other.cost[slot] = one.size[g], one.boxes[g], one.cost[g]
    for i in range(one.size[g]):
        other.who[slot, i] = one.who[g, i]
    copy_boxes(one.lo[g], one.hi[g], one.loss[g], other.lo[slot], other.hi[slot], other.loss[slot], one.boxes[g])


@inner
def take(state, g, new, slot):
    """Copy a group to a slot of what may become of it."""
    copy_group(state, g, new, slot)
    new.at[slot] = g


@inner
def leave(new, slot, person):
    """Take a person out of a group; its profile is that of before."""
    size = new.size[slot]
    for i in range(size):
        if new.who[slot, i] == person:
            new.who[slot, i] = new.who[slot, size - 1]
            new.size[slot] = size - 1
            return


@inner
def settle(state, new, slot, g):
    """Copy a slot to a group."""
    copy_group(new, slot, state, g)
    for i in range(new.size[slot]):
        state.of[new.who[slot, i]] = g


@inner
def accept(state, new, slots):
    """Make true what may become of some groups; one that stands for none takes an empty place."""
    for slot in range(slots):
        g = new.at[slot]
        if g >= 0:
            state.size[g], state.cost[g], state.boxes[g] = 0, 0.0, 0
    for slot in range(slots):
        if new.at[slot] >= 0 and new.size[slot] > 0:
            settle(state, new, slot, new.at[slot])
    for slot in range(slots):
        if new.at[slot] < 0:
            g = 0
            while state.size[g] > 0:
                g += 1
            settle(state, new, slot, g)


@inner
def move(losses, people, state, new, k, person, limit, desk):
    """A person goes where they cost least, or changes places with somebody there if nobody can be spared. The change,
    or 0 if it is more than the limit."""
    a = state.of[person]
    can_leave = state.size[a] > k
    groups = len(state.who)
    best, b = np.inf, -1
    for i in range(groups if can_leave else TARGETS):
        g = i if can_leave else int(uniform(desk.random) * groups)
        if g != a and state.size[g] > 0:
            cost = costs(losses, people, state, g, person, best, desk)
            if cost < best:
                best, b = cost, g
    if b < 0:
        return 0.0
    take(state, a, new, 0)
    take(state, b, new, 1)
    leave(new, 0, person)
    if not can_leave:
        other = new.who[1, int(uniform(desk.random) * new.size[1])]
        leave(new, 1, other)
        new.who[0, new.size[0]] = other
        new.size[0] += 1
    new.who[1, new.size[1]] = person
    new.size[1] += 1
    rebuild(losses, people, new, 0, desk)
    rebuild(losses, people, new, 1, desk)
    change = new.cost[0] + new.cost[1] - state.cost[a] - state.cost[b]
    if change > limit:
        return 0.0
    accept(state, new, 2)
    return change


@inner
def opened(losses, people, state, new, k, person, some, desk):
    """A new group around a person, in slot 0: of a sample and those with them, who cost little and pay much."""
    a = state.of[person]
    number = SAMPLED
    for i in range(number):
        some[i] = int(uniform(desk.random) * people.total)
    for i in range(state.size[a]):
        some[number] = state.who[a, i]
        number += 1
    new.size[0], new.boxes[0], new.cost[0], new.at[0] = 0, 0, 0.0, -1
    join(losses, people, new, 0, person, desk)
    while new.size[0] < k:
        best, chosen = np.inf, -1
        for i in range(number):
            one = some[i]
            is_in = False
            for j in range(new.size[0]):
                is_in |= new.who[0, j] == one
            if is_in:
                continue
            g = state.of[one]
            pays = 0.7 * state.cost[g] / state.size[g] * (0.8 + 0.4 * uniform(desk.random))
            cost = costs(losses, people, new, 0, one, best + pays, desk) - pays
            if cost < best:
                best, chosen = cost, one
        if chosen < 0:
            return False
        join(losses, people, new, 0, chosen, desk)
    rebuild(losses, people, new, 0, desk)
    return True


@inner
def donors(losses, people, state, new, k, pool, desk):
    """The groups that lost people to slot 0, in the slots after it: how many slots, how many people of groups that are
    dissolved are in the pool (-1 if too many), and the change so far."""
    slots, pooled, change = 1, 0, new.cost[0]
    for i in range(k):
        person = new.who[0, i]
        slot = 1
        while slot < slots and new.at[slot] != state.of[person]:
            slot += 1
        if slot == slots:
            take(state, state.of[person], new, slot)
            change -= new.cost[slot]
            slots += 1
        leave(new, slot, person)
    for slot in range(1, slots):
        if new.size[slot] >= k:
            rebuild(losses, people, new, slot, desk)
            change += new.cost[slot]
            continue
        if pooled + new.size[slot] > POOLED * k:
            return slots, -1, change
        for i in range(new.size[slot]):
            pool[pooled] = new.who[slot, i]
            pooled += 1
        new.size[slot], new.cost[slot] = 0, 0.0
    return slots, pooled, change


@inner
def place(losses, people, state, new, slots, person, limit, desk):
    """Put a person of the pool where they cost least, into a slot or a group that becomes one: slots, and the cost,
    which is the limit if there is no such place."""
    best, chosen, is_slot = limit, -1, True
    for slot in range(slots):
        cost = costs(losses, people, new, slot, person, best, desk)
        if cost < best:
            best, chosen = cost, slot
    for g in range(len(state.who)):
        is_taken = False
        for slot in range(slots):
            is_taken |= new.at[slot] == g
        if is_taken or state.size[g] == 0:
            continue
        cost = costs(losses, people, state, g, person, best, desk)
        if cost < best:
            best, chosen, is_slot = cost, g, False
    if chosen < 0 or (not is_slot and slots == len(new.who)):
        return slots, limit
    if not is_slot:
        take(state, chosen, new, slots)
        chosen = slots
        slots += 1
    join(losses, people, new, chosen, person, desk)
    return slots, best


@inner
def open_group(losses, people, state, new, k, person, limit, some, pool, desk):
    """A new group, and what becomes of those it takes people from. The change, or 0 if it is more than the limit."""
    if not opened(losses, people, state, new, k, person, some, desk):
        return 0.0
    slots, pooled, change = donors(losses, people, state, new, k, pool, desk)
    if pooled < 0 or change > limit:
        return 0.0
    if k <= pooled <= new.who.shape[1] and slots < len(new.who):
        for i in range(pooled):
            new.who[slots, i] = pool[i]
        new.size[slots], new.at[slots] = pooled, -1
        rebuild(losses, people, new, slots, desk)
        if change + new.cost[slots] <= limit:
            change += new.cost[slots]
            slots += 1
            pooled = 0
    for i in range(pooled):
        rest = limit - change
        slots, cost = place(losses, people, state, new, slots, pool[i], rest, desk)
        if cost >= rest:
            return 0.0
        change += cost
    accept(state, new, slots)
    return change


@loop
def anneal(losses, people, state, new, k, steps, warmth, some, pool, desk):
    """Some steps of the search, at one temperature: what they change."""
    some, pool, total = bare(some), bare(pool), 0.0
    for _ in range(steps):
        limit = -warmth * np.log(1e-12 + uniform(desk.random))
        person = int(uniform(desk.random) * people.total)
        if uniform(desk.random) < OPENS:
            total += open_group(losses, people, state, new, k, person, limit, some, pool, desk)
        else:
            total += move(losses, people, state, new, k, person, limit, desk)
    return total
