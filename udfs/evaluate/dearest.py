"""The dearest rows of a box, compiled: whether prices break the box, lowering them, and lists of boxes.

Every tuple has a price. A box of k rows or more is broken if the q highest prices of its rows add up to more than q
times what the box loses.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlanon.udfs.problem import Bools, Floats, Ints
from sqlanon.udfs.space.grid import Small
from sqlanon.udfs.space.machine import inner

TINY = 1e-12
"""What is lost in rounding: less does not break a box."""


class Top(NamedTuple):
    """The highest prices of some rows, q of them, the highest first."""

    price: Floats
    tuple: Ints
    rows: Ints


class Listing(NamedTuple):
    """Boxes with what they lose and those of their tuples whose prices are highest."""

    loss: Floats
    end: Ints
    """Where the members of each box end."""
    member: Small
    size: Ints
    """How many tuples each box has; no more are listed where these are all."""
    count: Ints
    """How many boxes and members there are, how many boxes found no room, and how many boxes and members have room."""
    most: int
    """How many members a box has at most."""
    is_every: bool = False
    """Are all ranges of a line in a partial box listed, or of those from one value on the one that breaks most?"""

    def up_to(self, boxes: int, members: int) -> Listing:
        """The first boxes, without the room after them."""
        return self._replace(
            loss=self.loss[:boxes], end=self.end[:boxes], member=self.member[:members], size=self.size[:boxes]
        )

    def only(self, which: Bools) -> Listing:
        """Some of the boxes."""
        length = np.diff(self.end, prepend=0)
        member = self.member[np.repeat(which, length)]
        return self._replace(loss=self.loss[which], end=np.cumsum(length[which]), member=member, size=self.size[which])


def top_of(q: int) -> Top:
    """An empty list for q rows."""
    return Top(np.empty(q + 2), np.empty(q + 2, np.int64), np.empty(q + 2, np.int64))


@inner
def offer(top, entries, held, q, price, t, rows):
    """Give rows of a tuple to a list of `entries` with `held` rows; its entries, rows, and what their prices gain.

    Who asks has made sure that the list has fewer than q rows, or one of a lower price."""
    rows = min(rows, q)
    gained = price * rows
    i = entries
    while i > 0 and top.price[i - 1] < price:
        top.price[i], top.tuple[i], top.rows[i] = top.price[i - 1], top.tuple[i - 1], top.rows[i - 1]
        i -= 1
    top.price[i], top.tuple[i], top.rows[i] = price, t, rows
    held += rows
    while held - top.rows[entries] >= q:
        held -= top.rows[entries]
        gained -= top.price[entries] * top.rows[entries]
        entries -= 1
    if held > q:
        gained -= top.price[entries] * (held - q)
        top.rows[entries] -= held - q
        held = q
    return entries + 1, held, gained


@inner
def dearest(counts, prices, tuples, begin, end, q, top):
    """The list of the q dearest rows of some tuples: entries, rows and the sum of their prices."""
    entries, held, total, listed = np.int64(0), np.int64(0), 0.0, top.price
    for i in range(begin, end):
        t = tuples[i]
        if held < q or prices[t] > listed[entries - 1]:
            entries, held, gained = offer(top, entries, held, q, prices[t], t, counts[t])
            total += gained
    return entries, held, total


@inner
def rows_of(counts, tuples, begin, end, k):
    """How many rows some tuples have, or k if they are more."""
    rows = 0
    for i in range(begin, end):
        rows += counts[tuples[i]]
        if rows >= k:
            return k
    return rows


@inner
def is_broken(counts, prices, tuples, begin, end, q, loss, top):
    """Do the q dearest rows of some tuples exceed a loss? And the highest price.

    If q rows do, all together do; if none does, none; only otherwise the dearest must be found.
    """
    above, highest = 0, -np.inf
    for i in range(begin, end):
        t = tuples[i]
        highest = max(highest, prices[t])
        if prices[t] > loss:
            above += counts[t]
    if above == 0 or above >= q:
        return above > 0, highest
    _, _, total = dearest(counts, prices, tuples, begin, end, q, top)
    return total > q * loss + TINY, highest


@inner
def put(prices, tuples, begin, end, loss, lowest, slack, listing):
    """Write a box down, with those of its members that are, or are near to, the dearest, the dearest first."""
    count, most = listing.count, listing.most
    box, place = count[0], count[1]
    if box == count[3] or place + most > count[4]:
        count[2] += 1
        return
    if end - begin > most:
        near = 0
        for i in range(begin, end):
            near += prices[tuples[i]] >= lowest - slack
        lowest = lowest - slack if near <= most else lowest
    else:
        lowest = -np.inf
    size = 0
    for i in range(begin, end):
        t = tuples[i]
        if prices[t] < lowest or size == most:
            continue
        after = place + size
        while after > place and prices[listing.member[after - 1]] < prices[t]:
            listing.member[after] = listing.member[after - 1]
            after -= 1
        listing.member[after] = t
        size += 1
    listing.loss[box], listing.end[box], listing.size[box] = loss, place + size, end - begin
    count[0], count[1] = box + 1, place + size


@inner
def lower(prices, tuples, begin, end, loss, top, entries, over):
    """Lower the prices above a box's loss, all by the same share, so that those of the listed rows are so much less."""
    above = 0.0
    for i in range(entries):
        above += max(top.price[i] - loss, 0.0) * top.rows[i]
    kept = max(0.0, 1 - over / above) if above > TINY else 0.0
    for i in range(begin, end):
        t = tuples[i]
        if prices[t] > loss:
            prices[t] = loss + kept * (prices[t] - loss)
