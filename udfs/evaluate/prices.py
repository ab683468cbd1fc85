"""How little any k-anonymous release can lose: a lower bound by prices that anybody can check.

A release parts the rows into groups of k or more and prints each group as a box, in which a row loses L(B). Give every
row a price. If in every box of k rows or more the k highest prices of its rows add up to at most k · L(B), the rows of
a group lose at least the sum of their prices together, whatever the groups are; so all rows lose at least the sum of
all prices. Prices are the dual of the linear program of set partitioning (Balas, Padberg, SIAM Review 1976). Models on
top only forbid groups, and no price exceeds what a suppressed row loses, so that the bound holds with both.

1. Greedy: all prices start at a cap; a walk over all boxes (walk.py) lowers those in broken ones. Prices only fall, so
   that one walk to its end gives a bound. Under a low cap few boxes can be broken and the walk is short: where the work
   is too much without one, caps rise as far as it allows.
2. Ascent: boxes that are nearly broken are listed, all prices raised by a step and projected onto the listed boxes
   (Bregman, 1967), again and again with smaller steps. Then boxes that are broken now join those that are still near.
3. The walk of 1 over all boxes makes that a bound, whatever happened before.

Regions of few groups charge fees on top, as groups are whole (fees.py).

The answer at any moment is the best of the walks that have ended; the budget is counted in tuples looked at, never in
seconds, so that it is the same on every machine. Memory is linear in tuples, times attributes, and boxes listed.

Of several lines of numbers one is exact, the others are cut into stretches (space/grid.py), which leaves it a bound;
more stretches are tried while there is work left. Without homogeneous groups, where each row is printed as a box of its
own that covers k rows, the highest price alone must not exceed L(B): then one walk finds the best bound there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlanon.udfs.evaluate import walk as walks
from sqlanon.udfs.evaluate.climb import climb, nearest
from sqlanon.udfs.evaluate.dearest import Listing, top_of
from sqlanon.udfs.evaluate.fees import Fees, around, charged_in, no_fees, regions_of
from sqlanon.udfs.evaluate.rounds import AGAIN, AMPLE, CROWDED, FIRST, MOST_LEFT, PLENTY, ROUND, SCARCE, SETTLED, Round
from sqlanon.udfs.method import Progress, quiet
from sqlanon.udfs.problem import Bools, Floats, Ints, Numbers, Problem
from sqlanon.udfs.space.grid import Grid, grid_of

WORK = {"fast": 6_000, "balanced": 16_000, "best": 50_000}
"""How often each tuple may be looked at, by effort, at k = 10 or less; more often where groups are larger."""
MOST = {"fast": 60_000_000, "balanced": 600_000_000, "best": 2_000_000_000}
"""How many tuples are looked at in a large table."""
LEAST = {"fast": 500_000, "balanced": 8_000_000, "best": 100_000_000}
"""How many tuples are looked at in any table, at least."""
CAPS = 2.0 ** np.arange(-10, 1)
"""The caps on prices, as shares of what a suppressed row loses."""
LONGER = 5
"""How many times as long a walk takes under twice the cap, about."""
MORE = 1.1
"""Caps on prices are raised as long as each adds up to this many times the one before; ascents do the rest."""
SAMPLE = 100
"""Tuples by which one of two ways to price nearest rows is chosen."""
FEWEST = 50
"""Prices by the nearest rows are looked for only if the work allows one for every 50th tuple, or for more."""
DEAR = 20
"""A walk that takes more than a 20th of the work that is left is dear: the next one must promise enough, too."""
STRETCHES = (8, 24, 64)
"""Stretches of the lines that are not exact."""
MEMBERS = 100
"""Members that a listed box has at most, and 2 k more."""
ENDING = 4
"""The last walk may take this many times as long as the longest before, if less is left."""
QUOTA = 20_000_000
"""Work between two reports of progress."""
SAFE = 1 - 1e-9
"""Losses are rounded: a little less is still a bound."""
HEAVY, NEARER = 500_000, 0.1
"""Beyond this product of k and the tuples, boxes are listed by prices that break none and this share of the rest."""
FEWER = 5
"""If too many boxes are near, the limit of what counts as near is divided by this."""
NARROWER = 0.7
"""The same where every box is listed, for a search: it is multiplied by this."""
LOST = 0.01
"""The share of boxes that may be missing then; otherwise the walk begins anew."""
NARROWEST = 0.001
"""Below this share of it, the limit is not lowered further: too many boxes are then tight but for rounding."""
FEW = 20_000
"""This many boxes are not too many for a search in any table."""


@dataclass(frozen=True)
class Certificate:
    """Prices of a row of each tuple that no box breaks. `how` says in words how far the search for them came."""

    problem: Problem
    prices: Floats
    how: str
    is_pairwise: bool = False
    """Are they by pairs of rows? Then they tell little of boxes."""
    fees: Fees | None = None
    boxes: Listing | None = None
    """Boxes that prices nearly break, if they were listed, with their dearest rows first."""

    @cached_property
    def bound(self) -> float:
        """What any release loses at least, as a share of the loss of everything: a GCP where the objective is NCP."""
        whole = float(self.problem.weights.sum()) * self.problem.rows
        return self.total * SAFE / whole if whole > 0 else 0.0

    @property
    def regions(self) -> list[tuple[Ints, Ints, float]]:
        """The lowest and highest ranks of each region, and what it charges every group in it."""
        if self.fees is None:
            return []
        fees = self.fees.among(self.problem.ranks.T)
        return list(zip(fees.low, fees.high, fees.amount.tolist(), strict=True))

    @property
    def total(self) -> float:
        """What all rows lose at least together, but for rounding."""
        return float(self.prices @ self.problem.counts) - (0.0 if self.fees is None else self.fees.total)


def certify(
    problem: Problem,
    k: int,
    progress: Progress,
    *,
    objective: str = "ncp",
    effort: str = "best",
    work: int | None = None,
    is_homogeneous: bool = True,
) -> Certificate:
    """The best prices found with that effort, or so much work; of the tuples without their sensitive values, if they
    have any."""
    problem.need_rows(k)
    if problem.sensitive is not None:
        problem, _ = problem.merged()
    if work is None:
        more = min(max(1.0, np.sqrt(k / 10)), 3.0 if effort == "best" else 1.6)
        work = min(int(WORK[effort] * more) * len(problem.counts) + LEAST[effort], MOST[effort])
    finder = Finder(problem, k, k if is_homogeneous else 1, objective, work, progress)
    finder.pair()
    finder.rise()
    if is_homogeneous:
        finder.ascend()
    progress(1, 1)
    return Certificate(problem, finder.prices, finder.how, finder.is_pairwise, finder.fees, finder.boxes)


def near_boxes(
    problem: Problem, k: int, certificate: Certificate, objective: str, slack: float, each: float = np.inf
) -> Listing:
    """Every box whose k dearest rows lack no more than this of what the box loses, on average, or less where that were
    more than so many boxes for each tuple; at 0, or if they are too many, those that a certificate was found by."""
    if slack <= 0:
        return certificate.boxes or _listing(0, 0, 0)
    finder = Finder(problem, k, k, objective, MOST["balanced"], quiet)
    most = max(FEW, each * len(problem.counts))
    fees = finder.fees if certificate.fees is None else certificate.fees.among(finder.grid.ranks)
    return finder.listed(certificate.prices, slack, fees, most) or certificate.boxes or _listing(0, 0, 0)


class Finder:
    """The best prices so far, and the work that is left."""

    def __init__(self, problem: Problem, k: int, q: int, objective: str, work: int, progress: Progress) -> None:
        self.problem, self.k, self.q, self.objective = problem, k, q, objective
        self.work = self.left = work
        self.progress = progress
        lines = sum(isinstance(attribute, Numbers) for attribute in problem.attributes)
        self.finenesses: list[int | None] = [*STRETCHES] if lines > 1 else [None]
        self.grid = grid_of(problem, objective, self.finenesses[0])
        self.whole = float(problem.weights.sum())
        self.cap = self._least()
        self.prices = np.where(problem.counts < k, self.cap, 0.0)
        self.how, self.is_pairwise = "rows that no other k - 1 are equal to", False
        self.top = top_of(2 * k)
        self.fees = self.none = no_fees(self.grid)
        self.walk = 0
        self.boxes: Listing | None = None

    def _least(self) -> float:
        """The least that a box of different tuples loses: what those lose at least that cannot be alone.

        Where different values may lose nothing together, such as those of no weight, it is 0.
        """
        if not (self.problem.weights > 0).all():
            return 0.0
        losses = [self.grid.loss[self.grid.loss > 0]]
        for attribute, weight, ranks in zip(
            self.problem.attributes, self.problem.weights.tolist(), self.problem.ranks.T, strict=True
        ):
            if isinstance(attribute, Numbers):
                present = np.flatnonzero(np.bincount(ranks))
                losses.append(weight * attribute.loss(present[:-1], present[1:]))
        return float(np.concatenate(losses).min(initial=self.whole))

    def rise(self) -> None:
        """Greedy, under one cap after the other and with ever more stretches."""
        for fineness in self.finenesses:
            if fineness != self.finenesses[0]:
                self.grid = grid_of(self.problem, self.objective, fineness)
            if not self._rise((CAPS * self.whole).tolist()):
                return

    def _rise(self, caps: list[float]) -> bool:
        """Greedy under one cap after the other. False if the next is too much work."""
        spent, gain = 0, np.inf
        for cap in caps:
            before, left = self.total, self.left
            if spent * LONGER > left or not self._greedy(cap, left):
                return False
            spent = self.walk = left - self.left
            gain, gained = self.total / before if before > 0 else np.inf, gain
            if 1 < gain < gained < np.inf and spent > self.left / DEAR:
                gain = 1 + (gain - 1) ** 2 / (gained - 1)
            if self.q == self.k and 1 < gain < MORE and len(self.finenesses) == 1:
                self.cap = self.whole
                break
        return True

    def pair(self) -> None:
        """Where lines are coarse: what each row loses together with others that are near.

        A box of k rows holds one that is as far as the (k - 1)-th nearest other, so that no price exceeds the loss of a
        box. Or, which is more on lines, the mean for the k - 1 nearest: on a line the s (s - 1) / 2 pairs of s rows
        lose at most ⌊s² / 4⌋ times what their range does, so that pairs may count more there by the ratio of both,
        which is least for k rows. Elsewhere, also on a line with NULL, no pair loses more than all rows do. That is
        true of the rows of a group together, not of each by itself.

        Where the work is too much for all tuples, some have a price, evenly drawn, and all others none; where it is
        enough for hardly any, the bound would be next to nothing, and the work is kept for what follows.
        """
        size = len(self.prices)
        many = min(size, max(1, self.left // (3 * size)))
        if self.k == 1 or len(self.finenesses) == 1 or many * FEWEST < size:
            return
        exact = grid_of(self.problem, self.objective)
        plain, ratio = np.ones((2, len(exact.ranks)))
        for j in np.flatnonzero(exact.is_line).tolist():
            if exact.first[exact.begin[j] + exact.ranks[j]].max() <= exact.whole[j]:
                ratio[j] = self.k * (self.k - 1) / (2 * (self.k**2 // 4))
        ways = [(plain, False)]
        if self.q == self.k:
            ways = [(ratio, True)] if exact.is_line.all() else [(ratio, True), (plain, False)]
        prices = np.zeros(size)
        if len(ways) > 1:
            ways.sort(key=lambda way: -self._pair(exact, min(many, SAMPLE), prices, *way))
        total = self._pair(exact, many, prices, *ways[0])
        if total > self.prices @ self.problem.counts:
            how = "nearest rows" if many == size else f"nearest rows of {many:,} tuples, nothing for the others"
            self.prices, self.how, self.is_pairwise = np.minimum(prices, self.whole), how, True

    def _pair(self, exact: Grid, many: int, prices: Floats, ratio: Floats, is_mean: bool) -> float:
        """Write the prices of some tuples, evenly drawn, and 0 for the others; what they add up to."""
        size, prices[:] = len(prices), 0.0
        for some in np.array_split(np.arange(many) * size // many, max(1, many * size // QUOTA)):
            nearest(exact, self.k, some, prices, ratio, is_mean)
            self._spend(len(some) * size)
        return float(prices @ self.problem.counts)

    def _greedy(self, cap: float, most: int) -> bool:
        """Prices under this cap; False if that is too much work."""
        if not self._keep(np.full(len(self.prices), cap), self.none, "greedy prices", most):
            return False
        self.cap = max(self.cap, cap)
        return True

    def ascend(self) -> None:
        """Ascents from the best prices on, each also on boxes that are listed anew, then a walk over all boxes."""
        prices, fees, due, used, best = self.prices.copy(), self.none, np.zeros(0), np.zeros(0), None
        for each in self._rounds():
            unit = min(float(prices @ self.problem.counts), 2 * self.total) / self.problem.rows
            left = self.left
            near, is_kept = self._tamed(prices, fees)
            best = None if is_kept else best
            listing = self.listed(near, each.near * unit, fees)
            if listing is None:
                break
            self.walk = max(self.walk, left - self.left)
            if self.boxes is None:
                self.boxes, used = listing, np.zeros(len(listing.loss))
            else:
                stay = due <= each.stay * unit
                self.boxes, is_first = _joined(self.boxes.only(stay), listing)
                used = np.append(used[stay], np.zeros(len(listing.loss)))[is_first]
            if each.is_charging:
                fees = regions_of(self.grid, self.boxes, self.k, fees, used)
            due, used = self._climb(prices, fees, np.geomspace(each.first, each.last, each.steps) * unit)
            if best is None or each not in AGAIN or self._sum(prices, fees) > self._sum(*best) * SETTLED:
                best = prices.copy(), fees.copied()
            elif each is AGAIN[-1]:
                break
        if self.boxes is not None and best is not None:
            prices, fees = best
            self._keep(np.clip(prices, 0.0, self.cap), fees, self._how(fees), max(self.left, ENDING * self.walk))

    def _rounds(self) -> Iterator[Round]:
        """The rounds that work is left for."""
        if self.left > ROUND * self.walk:
            yield FIRST
        for rounds, least in ((AMPLE if self._has_plenty() else SCARCE, 0.0), (AGAIN, MOST_LEFT)):
            for each in rounds:
                if self.left <= max(ROUND * self.walk, least * self.work):
                    return
                yield each

    def _has_plenty(self) -> bool:
        """Does the work suffice for rounds that list many boxes?"""
        each = 0.0 if self.boxes is None else len(self.boxes.loss) / len(self.prices)
        return bool(self.left > PLENTY * max(1.0, (self.k / 10) ** 0.5) * max(1.0, each / CROWDED) * self.walk)

    def _how(self, fees: Fees) -> str:
        """What prices were found by."""
        assert self.boxes is not None
        by, charging = f"prices by {len(self.boxes.loss):,} boxes", int((fees.amount > 0).sum())
        return f"{by} and fees of {charging:,} regions" if charging else by

    def _tamed(self, prices: Floats, fees: Fees) -> tuple[Floats, bool]:
        """The prices that boxes are listed by. Where boxes are many, prices that break some of them break far too many
        to list: then they are nearer to those that break none, which are also found and kept."""
        if self.boxes is None or self.k * len(prices) <= HEAVY:
            return prices, False
        whole = np.clip(prices, 0.0, self.cap)
        sound = whole.copy()
        is_kept = self._keep(sound, fees, self._how(fees), self.left)
        return sound + NEARER * (whole - sound), is_kept

    @property
    def total(self) -> float:
        """What the best prices add up to, less the fees."""
        return self._sum(self.prices, self.fees)

    def _sum(self, prices: Floats, fees: Fees) -> float:
        return float(prices @ self.problem.counts) - fees.total

    def _climb(self, prices: Floats, fees: Fees, steps: Floats) -> tuple[Floats, Floats]:
        """Climb as far as work is left; how much each box lacks of breaking, and as how many groups it was used."""
        assert self.boxes is not None
        first, region = around(self.grid, self.boxes, fees)
        due, used = np.zeros((2, len(self.boxes.loss)))
        climbed, end = 0.0, max(self.left // 2, 2 * self.walk)
        for some in np.array_split(steps, max(1, len(steps) * len(self.boxes.member) // QUOTA)):
            self._spend(climb(self.k, self.grid.counts, prices, self.boxes, fees, first, region, some, due, used))
            climbed += float(some.sum())
            if self.left < end:
                break
        return due, used / climbed

    def _keep(self, prices: Floats, fees: Fees, how: str, most: int) -> bool:
        """Lower the prices in broken boxes, and keep them if they are the best. False if that is too much work."""
        if not self._walk(prices, 0.0, False, _listing(0, 0, 0), fees, most):
            return False
        if self._sum(prices, fees) > self.total:
            self.prices, self.fees, self.how, self.is_pairwise = prices, fees.copied(), how, False
        return True

    def listed(self, prices: Floats, slack: float, fees: Fees, every: float = 0) -> Listing | None:
        """The boxes that are broken at so much less loss; fewer, or none, where they are too many. Every such box if a
        search may have this many, else of the ranges from one value on the one that is broken most."""
        most = MEMBERS + 2 * self.k
        room = min(4_000_000 + 4 * MEMBERS * len(prices), 20_000_000)
        boxes = int(min(every or np.inf, room // 10))
        for part in (1,) if every else (1, FEWER):
            listing = _listing(boxes, room, most)._replace(is_every=every > 0)
            if self._walk(prices, slack / part, True, listing, fees, self.left // 2):
                return listing.up_to(*listing.count[:2].tolist())
        return None

    def _walk(self, prices: Floats, slack: float, is_listing: bool, listing: Listing, fees: Fees, most: int) -> bool:
        """Walk over all boxes. False if that takes more than this much work, or more room than the listing has; one of
        every box goes on with those that are nearer."""
        stack, spent, least = walks.start(self.grid, prices), 0, slack * NARROWEST
        while stack.depth[0] != walks.OVER or (listing.is_every and listing.count[2]):
            if listing.is_every and listing.count[2]:
                slack *= NARROWER
                if slack < least:
                    return False
                if listing.count[2] > LOST * len(listing.loss):
                    stack, listing.count[:3] = walks.start(self.grid, prices), 0
                self._thin(prices, slack, listing, fees)
            if spent > most or stack.depth[0] == walks.HOPELESS or listing.count[2]:
                return False
            rest = most - spent
            quota = min(QUOTA, rest + 1)
            done = walks.walk(
                self.grid, self.k, self.q, prices, slack, is_listing, stack, self.top, listing, fees, quota, rest
            )
            spent += done
            self._spend(done)
        return not listing.count[2]

    def _thin(self, prices: Floats, slack: float, listing: Listing, fees: Fees) -> None:
        """Leave those boxes in a listing that would be broken at so much less loss."""
        found, used = listing.count[:2].tolist()
        if not found:
            return
        listed = listing.up_to(found, used)
        length = np.diff(listed.end, prepend=0)
        charged = charged_in(self.grid, listed, fees)
        most = np.repeat(np.where(charged > 0, 2 * self.k - 1, self.k), length)
        rows = np.minimum(self.grid.counts[listed.member], most)
        before = np.append(0, np.cumsum(rows))[:-1]
        before -= np.repeat(before[listed.end - length], length)
        dearest = np.clip(self.k - before, 0, rows)
        more = prices[listed.member] - np.repeat(listed.loss, length)
        more = dearest * more + (np.clip(most - before, 0, rows) - dearest) * np.maximum(more, 0.0)
        kept = listed.only(np.add.reduceat(more, listed.end - length) - charged > -self.k * slack)
        count, used = len(kept.loss), len(kept.member)
        listing.loss[:count], listing.size[:count], listing.end[:count] = kept.loss, kept.size, kept.end
        listing.member[:used] = kept.member
        listing.count[:3] = count, used, 0

    def _spend(self, work: int) -> None:
        self.left -= int(work)
        self.progress(min(self.work, self.work - self.left), self.work)


def _listing(boxes: int, members: int, most: int) -> Listing:
    """Room for so many boxes and members, of which a box has no more than `most`."""
    count = np.array([0, 0, 0, boxes, members])
    ends, sizes = np.empty((2, boxes), np.int64)
    return Listing(np.empty(boxes), ends, np.empty(members, np.int32), sizes, count, most)


def _joined(old: Listing, new: Listing) -> tuple[Listing, Bools]:
    """All boxes, each once, and which of both that leaves."""
    both = old._replace(
        loss=np.append(old.loss, new.loss),
        end=np.append(old.end, len(old.member) + new.end),
        member=np.append(old.member, new.member),
        size=np.append(old.size, new.size),
    )
    # Boxes of the same members lose the same; which members these are, a sum of random numbers tells.
    words = np.random.default_rng(0).integers(1 << 63, size=int(both.member.max(initial=0)) + 1, dtype=np.uint64)
    sums = np.append(np.uint64(0), np.cumsum(words[both.member]))
    key = (sums[both.end] - sums[np.append(0, both.end[:-1])]) ^ both.loss.view(np.uint64)
    is_first = np.zeros(len(both.loss), dtype=bool)
    is_first[np.unique(key, return_index=True)[1]] = True
    return both.only(is_first), is_first
