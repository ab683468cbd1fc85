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
   (Bregman, 1967), again and again with smaller steps.
3. The walk of 1 over all boxes makes that a bound, whatever happened before. 2 and 3 are repeated.

The answer at any moment is the best of the walks that have ended; the budget is counted in tuples looked at, never in
seconds, so that it is the same on every machine. Memory is linear in tuples, times attributes, and boxes listed.

Of several lines of numbers one is exact, the others are cut into stretches (space/grid.py), which leaves it a bound;
more stretches are tried while there is work left. Without homogeneous groups, where each row is printed as a box of its
own that covers k rows, the highest price alone must not exceed L(B): then one walk finds the best bound there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlanon.udfs.evaluate import walk as walks
from sqlanon.udfs.evaluate.climb import climb, nearest
from sqlanon.udfs.evaluate.dearest import Listing, top_of
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Floats, Numbers, Problem
from sqlanon.udfs.space.grid import grid_of

WORK = {"fast": 2_000, "balanced": 8_000, "best": 40_000}
"""How often each tuple may be looked at, by effort: on a table like Adult that takes a fifth of a second, a second and
a few."""
MOST = {"fast": 100_000_000, "balanced": 500_000_000, "best": 2_000_000_000}
"""How many tuples are looked at in a large table."""
LEAST = 500_000
"""How many tuples are looked at in any table, at least."""
CAPS = 2.0 ** np.arange(-10, 1)
"""The caps on prices, as shares of what a suppressed row loses."""
LONGER = 5
"""How many times as long a walk takes under twice the cap, about."""
CHEAP = 30
"""A walk that takes less than one part in so many of the work that is left is no more than a probe."""
STRETCHES = (8, 24, 64)
"""Stretches of the lines that are not exact."""
MEMBERS = 100
"""Members that a listed box has at most, and 2 k more."""
MANY = 45
"""From this k on the budget falls in proportion: a tuple then takes longer to look at."""
QUOTA = 20_000_000
"""Work between two reports of progress."""
SAFE = 1 - 1e-9
"""Losses are rounded: a little less is still a bound."""


@dataclass(frozen=True)
class Round:
    """One ascent, in units of the mean price: which boxes are near enough to be listed, and how steps fall."""

    near: float
    steps: int
    first: float
    last: float


ROUND = 5
"""How many times as long as a walk an ascent takes at least."""
ROUNDS = (Round(1.6, 60, 0.28, 0.11), Round(1.0, 100, 0.11, 0.028), Round(0.8, 150, 0.028, 0.006))


@dataclass(frozen=True)
class Certificate:
    """Prices of a row of each tuple that no box breaks. `how` says in words how far the search for them came."""

    problem: Problem
    prices: Floats
    how: str

    @cached_property
    def bound(self) -> float:
        """What any release loses at least, as a share of the loss of everything: a GCP where the objective is NCP."""
        whole = float(self.problem.weights.sum()) * self.problem.rows
        return float(self.prices @ self.problem.counts) * SAFE / whole if whole > 0 else 0.0


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
        work = min(WORK[effort] * len(problem.counts) + LEAST, MOST[effort])
    finder = Finder(problem, k, k if is_homogeneous else 1, objective, work, progress)
    finder.pair()
    finder.rise()
    if is_homogeneous:
        finder.ascend()
    progress(1, 1)
    return Certificate(problem, finder.prices, finder.how)


def tight_boxes(problem: Problem, k: int, certificate: Certificate, objective: str, slack: float) -> Listing:
    """The boxes whose k dearest rows lack no more than this of what the box loses, on average; none if too many."""
    finder = Finder(problem, k, k, objective, MOST["balanced"], _quiet)
    return finder.listed(certificate.prices, slack) or _listing(0, 0, 0)


def _quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""


class Finder:
    """The best prices so far, and the work that is left."""

    def __init__(self, problem: Problem, k: int, q: int, objective: str, work: int, progress: Progress) -> None:
        self.problem, self.k, self.q, self.objective = problem, k, q, objective
        # To find the q dearest takes longer the more they are.
        self.work = self.left = int(work / max(1.0, q / MANY))
        self.progress = progress
        lines = sum(isinstance(attribute, Numbers) for attribute in problem.attributes)
        self.finenesses: list[int | None] = [*STRETCHES] if lines > 1 else [None]
        self.grid = grid_of(problem, objective, self.finenesses[0])
        self.whole = float(problem.weights.sum())
        self.cap = self._least()
        self.prices = np.where(problem.counts < k, self.cap, 0.0)
        self.how = "rows that no other k - 1 are equal to"
        self.top = top_of(q)
        self.walk = 0

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
                present = np.unique(ranks)
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
        """Greedy under some caps, of which those are left out that are far lower than the work allows. False if the
        last is too much work."""
        last, spent = caps[0], 0
        for cap in caps:
            expected = spent * (cap / last) ** np.log2(LONGER)
            if spent and cap < caps[-1] and expected * LONGER < self.left / CHEAP:
                continue
            left = self.left
            if expected > left or not self._greedy(cap, left):
                return False
            last, spent = cap, left - self.left
            self.walk = spent
        return True

    def pair(self) -> None:
        """Where lines are coarse: what each row loses together with its (k - 1)-th nearest other.

        A box of k rows holds one that is as far, so that no price exceeds the loss of a box. Where the work is too much
        for all tuples, some have a price, evenly drawn, and all others none.
        """
        if len(self.finenesses) == 1:
            return
        size = len(self.prices)
        many = min(size, max(1, self.left // (3 * size)))
        exact, prices = grid_of(self.problem, self.objective), np.zeros(size)
        for some in np.array_split(np.arange(many) * size // many, max(1, many * size // QUOTA)):
            nearest(exact, self.k, some, prices)
            self._spend(len(some) * size)
        if prices @ self.problem.counts > self.prices @ self.problem.counts:
            how = "nearest rows" if many == size else f"nearest rows of {many:,} tuples, nothing for the others"
            self.prices, self.how = np.minimum(prices, self.whole), how

    def _greedy(self, cap: float, most: int) -> bool:
        """Prices under this cap; False if that is too much work."""
        if not self._keep(np.full(len(self.prices), cap), "greedy prices", most):
            return False
        self.cap = max(self.cap, cap)
        return True

    def ascend(self) -> None:
        """Ascents from the best prices on, each on boxes listed anew."""
        prices = self.prices.copy()
        for each in ROUNDS:
            if self.left < ROUND * self.walk:
                return
            unit = float(self.prices @ self.problem.counts) / self.problem.rows
            listing = self.listed(prices, each.near * unit)
            if listing is None or not len(listing.loss):
                return
            steps = np.geomspace(each.first, each.last, each.steps) * unit
            mean = self._climb(prices, listing, steps)
            # The last prices are mostly better than their mean, which swings less.
            how, best = f"prices by {len(listing.loss):,} boxes", self.prices
            self._keep(np.clip(prices, 0.0, self.cap), how, self.left)
            if self.prices is best:
                self._keep(np.clip(mean, 0.0, self.cap), how, self.left)

    def _climb(self, prices: Floats, listing: Listing, steps: Floats) -> Floats:
        """Climb as far as work is left; the prices in the mean of all steps."""
        sums, due, done = np.zeros(len(prices)), np.zeros(len(listing.loss)), 0
        end = self.left // 2
        for some in np.array_split(steps, max(1, len(steps) * len(listing.member) // QUOTA)):
            self._spend(climb(self.k, self.grid.counts, prices, listing, some, sums, due, self.top))
            done += len(some)
            if self.left < end:
                break
        return sums / done

    def _keep(self, prices: Floats, how: str, most: int) -> bool:
        """Lower the prices in broken boxes, and keep them if they are the best. False if that is too much work."""
        if not self._walk(prices, 0.0, False, _listing(0, 0, 0), most):
            return False
        if prices @ self.problem.counts > self.prices @ self.problem.counts:
            self.prices, self.how = prices, how
        return True

    def listed(self, prices: Floats, slack: float) -> Listing | None:
        """The boxes that are broken at so much less loss; fewer where they are too many."""
        most = MEMBERS + 2 * self.k
        for _ in range(6):
            room = min(2_000_000 + MEMBERS * len(prices), 20_000_000)
            listing = _listing(room // 10, room, most)
            is_over = self._walk(prices, slack, True, listing, self.left // 3)
            boxes, used, _ = listing.count.tolist()
            if is_over:
                return listing._replace(
                    loss=listing.loss[:boxes], end=listing.end[:boxes], member=listing.member[:used]
                )
            slack /= 3
        return None

    def _walk(self, prices: Floats, slack: float, is_listing: bool, listing: Listing, most: int) -> bool:
        """Walk over all boxes. False if that takes more than this much work, or more room than the listing has."""
        stack, spent = walks.start(self.grid, prices), 0
        while stack.depth[0] != walks.OVER:
            if spent > most or stack.depth[0] == walks.HOPELESS or listing.count[2]:
                return False
            rest = most - spent
            quota = min(QUOTA, rest + 1)
            done = walks.walk(
                self.grid, self.k, self.q, prices, slack, is_listing, stack, self.top, listing, quota, rest
            )
            spent += done
            self._spend(done)
        return not listing.count[2]

    def _spend(self, work: int) -> None:
        self.left -= int(work)
        self.progress(min(self.work, self.work - self.left), self.work)


def _listing(boxes: int, members: int, most: int) -> Listing:
    """Room for so many boxes and members, of which a box has no more than `most`."""
    return Listing(np.empty(boxes), np.empty(boxes, np.int64), np.empty(members, np.int32), np.zeros(3, np.int64), most)
