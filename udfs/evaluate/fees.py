"""Fees: what prices of rows leave out, that groups are whole.

The linear program behind the prices makes two and a half groups of a region of 2.5 k rows, which lose less than any two
do. But of the n rows of a region no more than ⌊n / k⌋ groups can be made (a rounding cut: Gomory, 1958; Chvátal,
Discrete Mathematics 1973). So a region may charge every group in it a fee: the prices in a box may exceed its loss by
the fees of all regions around it, and ⌊n / k⌋ fees of every region are taken from the sum of all prices. On Adult the
bound is 0.5 to 2.5% higher for it.

A region is a range of ranks on each attribute, and a group is in it if all its rows are. As a group of 2 k rows or more
counts as often as it could be parted, only groups of fewer have to be looked at: the k dearest rows of a box, and of
the next k - 1 those that cost more than they lose.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlanon.udfs.evaluate.dearest import Listing, dearest
from sqlanon.udfs.problem import Bools, Floats, Ints
from sqlanon.udfs.space.grid import Grid, Small
from sqlanon.udfs.space.machine import inner

WIDEST = 3.0
"""Regions have fewer rows than this times k: of more, rounding takes hardly any groups."""
PART = 0.15
"""The part of a group that rounding takes from a region, at least."""
NEARLY = 0.05
"""How many groups fewer than can be made in a region are nearly too many."""
EACH, LOOKED_AT = 1, 10
"""At most this many regions for each group that the rows could make, and this many boxes that could be regions."""


class Fees(NamedTuple):
    """Regions and what they charge a group."""

    amount: Floats
    most: Ints
    """How many groups can be made in a region."""
    low: Small
    high: Small
    """Its ranks, regions × attributes."""
    first: Ints
    """The regions of a tuple are `region[first[t] : first[t + 1]]`."""
    region: Ints
    box: Ints
    """Room for the ranks of a box."""

    @property
    def total(self) -> float:
        """What is taken from the sum of all prices."""
        return float(self.amount @ self.most)

    @property
    def tuple(self) -> Ints:
        """The tuple of each entry of `region`."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def copied(self) -> Fees:
        """The same, whatever becomes of these."""
        return self._replace(amount=self.amount.copy())

    def among(self, ranks: Ints | Small) -> Fees:
        """The regions in other ranks, attributes × tuples, such as those of coarser lines."""
        return _made(ranks, self.amount, self.most, self.tuple, self.region)

    def only(self, ranks: Ints | Small, which: Bools) -> Fees:
        """Some of the regions."""
        number, kept = np.cumsum(which) - 1, which[self.region]
        return _made(ranks, self.amount[which], self.most[which], self.tuple[kept], number[self.region[kept]])


def no_fees(grid: Grid) -> Fees:
    """No regions."""
    nothing = np.zeros(0, np.int64)
    return _made(grid.ranks, np.zeros(0), nothing, nothing, nothing)


def regions_of(grid: Grid, listing: Listing, k: int, before: Fees, used: Floats) -> Fees:
    """The regions that charge, and the listed boxes in which nearly too many groups are, if each box is used as a group
    this often; no more than there can be groups, which bounds memory: a tuple is in a few regions, on average."""
    groups = max(1, int(grid.counts.sum()) // k)
    both = _first(grid, _with_listed(grid, listing, k, before, LOOKED_AT * groups))
    active = listing.only(used > 0)
    first, inside = around(grid, active, both)
    more = np.bincount(inside, weights=np.repeat(used[used > 0], np.diff(first)), minlength=len(both.most)) - both.most
    more[both.amount > 0] += groups  # these first
    least = np.partition(more, -EACH * groups)[-EACH * groups] if len(more) > EACH * groups else -np.inf
    return both.only(grid.ranks, (more >= least) & (more > -NEARLY))


def _with_listed(grid: Grid, listing: Listing, k: int, before: Fees, most: int) -> Fees:
    """The regions that charge, and at most this many listed boxes that rounding takes a good part of a group from."""
    before = before.only(grid.ranks, before.amount > 0)
    length = np.diff(listing.end, prepend=0)
    rows = np.add.reduceat(grid.counts[listing.member], listing.end - length)
    part = np.where((listing.size == length) & (rows > k) & (rows < WIDEST * k), rows / k - rows // k, 0.0)
    least = np.partition(part, -most)[-most] if len(part) > most else 0.0
    is_new = part >= max(PART, least)
    number = np.repeat(len(before.amount) + np.cumsum(is_new) - 1, length)
    entry = np.repeat(is_new, length)
    return _made(
        grid.ranks,
        np.append(before.amount, np.zeros(is_new.sum())),
        np.append(before.most, rows[is_new] // k),
        np.append(before.tuple, listing.member[entry]),
        np.append(before.region, number[entry]),
    )


def _first(grid: Grid, fees: Fees) -> Fees:
    """Every region once: the first that has its ranks."""
    _, first, same = np.unique(np.hstack([fees.low, fees.high]), axis=0, return_index=True, return_inverse=True)
    return fees.only(grid.ranks, first[same.reshape(-1)] == np.arange(len(fees.most)))


def _made(ranks: Ints | Small, amount: Floats, most: Ints, tuples: Ints, region: Ints) -> Fees:
    by_region, by_tuple = np.argsort(region, kind="stable"), np.argsort(tuples, kind="stable")
    low, high = _ends(ranks, tuples[by_region], np.append(0, np.cumsum(np.bincount(region, minlength=len(most)))))
    first = np.append(0, np.cumsum(np.bincount(tuples, minlength=ranks.shape[1])))
    return Fees(amount, most, low, high, first, region[by_tuple], np.zeros(2 * len(ranks), np.int64))


def _ends(ranks: Ints | Small, tuples: Ints | Small, first: Ints) -> tuple[Small, Small]:
    """The lowest and highest ranks of those tuples that begin at each place, places × attributes."""
    if not len(tuples):
        return np.zeros((0, len(ranks)), np.int32), np.zeros((0, len(ranks)), np.int32)
    some = ranks[:, tuples]
    low, high = (np.ascontiguousarray(end.reduceat(some, first[:-1], axis=1).T) for end in (np.minimum, np.maximum))
    return low.astype(np.int32, copy=False), high.astype(np.int32, copy=False)


def around(grid: Grid, listing: Listing, fees: Fees) -> tuple[Ints, Ints]:
    """The regions that each listed box is in: those of box b are `region[first[b] : first[b + 1]]`.

    Boxes whose tuples are not all listed are in none: regions have fewer.
    """
    first = np.append(0, listing.end)
    one = listing.member[first[:-1]]
    many = np.where(listing.size == np.diff(first), np.diff(fees.first)[one], 0)
    box = np.repeat(np.arange(len(one)), many)
    region = fees.region[np.arange(len(box)) + np.repeat(fees.first[one] - np.cumsum(many) + many, many)]
    low, high = _ends(grid.ranks, listing.member, first)
    is_in = np.ones(len(box), bool)
    for j in range(low.shape[1]):
        is_in &= (fees.low[region, j] <= low[box, j]) & (fees.high[region, j] >= high[box, j])
    return np.append(0, np.cumsum(np.bincount(box[is_in], minlength=len(one)))), region[is_in]


def charged_in(grid: Grid, listing: Listing, fees: Fees) -> Floats:
    """What the regions around each listed box charge together."""
    first, region = around(grid, listing, fees)
    box = np.repeat(np.arange(len(listing.loss)), np.diff(first))
    charged: Floats = np.bincount(box, weights=fees.amount[region], minlength=len(listing.loss))
    return charged


@inner
def over(grid, k, q, prices, tuples, begin, end, loss, top, fees):
    """By how much the dearest rows of a box exceed its loss and the fees; how many entries their list has, and the
    lowest price of the q dearest."""
    entries, _, total = dearest(grid.counts, prices, tuples, begin, end, q, top)
    lowest, more, t = top.price[entries - 1], total - q * loss, tuples[begin]
    if fees.first[t] == fees.first[t + 1]:
        return entries, more, lowest
    allowed = _allowed(grid, tuples, begin, end, fees)
    if allowed == 0:
        return entries, more, lowest
    entries, _, _ = dearest(grid.counts, prices, tuples, begin, end, 2 * k - 1, top)
    rows, more = 0, -allowed
    for i in range(entries):
        some = min(top.rows[i], max(k - rows, 0))
        more += some * (top.price[i] - loss) + (top.rows[i] - some) * max(top.price[i] - loss, 0.0)
        rows += top.rows[i]
    return entries, more, lowest


@inner
def _allowed(grid, tuples, begin, end, fees):
    """What the regions around some tuples charge together."""
    width, box = len(grid.ranks), fees.box
    for j in range(width):
        ranks = grid.ranks[j]
        low = high = ranks[tuples[begin]]
        for i in range(begin + 1, end):
            rank = ranks[tuples[i]]
            low, high = min(low, rank), max(high, rank)
        box[j], box[width + j] = low, high
    allowed, t = 0.0, tuples[begin]
    for place in range(fees.first[t], fees.first[t + 1]):
        r, is_in = fees.region[place], True
        for j in range(width):
            is_in &= fees.low[r, j] <= box[j] and fees.high[r, j] >= box[width + j]
        if is_in:
            allowed += fees.amount[r]
    return allowed
