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
from sqlanon.udfs.method import Progress, quiet
from sqlanon.udfs.problem import Bools, Floats, Numbers, Problem
from sqlanon.udfs.space.grid import grid_of

WORK = {"fast": 6_000, "balanced": 16_000, "best": 50_000}
"""How often each tuple may be looked at, by effort, at k = 10 or less; more often where groups are larger."""
MOST = {"fast": 60_000_000, "balanced": 600_000_000, "best": 2_000_000_000}
"""How many tuples are looked at in a large table."""
LEAST = 500_000
"""How many tuples are looked at in any table, at least."""
CAPS = 2.0 ** np.arange(-10, 1)
"""The caps on prices, as shares of what a suppressed row loses."""
LONGER = 5
"""How many times as long a walk takes under twice the cap, about."""
CHEAP = 30
"""A walk that takes less than one part in so many of the work that is left is no more than a probe."""
MORE = 1.1
"""Caps on prices are raised as long as each adds up to this many times the one before; ascents do the rest."""
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


@dataclass(frozen=True)
class Round:
    """One ascent, in units of the mean price: which boxes are near enough to be listed, which of those listed before
    stay, and how steps fall."""

    near: float
    stay: float
    steps: int
    first: float
    last: float


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
ROUND = 3
"""How many times as long as a walk a round takes, and the walk at the end."""
ROUNDS = (
    Round(0.15, 0.1, 20, 0.12, 0.08),
    Round(0.05, 0.2, 80, 0.08, 0.025),
    Round(0.05, 0.2, 150, 0.025, 0.006),
    Round(0.03, 0.2, 200, 0.01, 0.003),
    Round(0.03, 0.2, 300, 0.005, 0.001),
    Round(0.3, 0.3, 100, 0.03, 0.01),
    Round(0.05, 0.2, 300, 0.01, 0.001),
)
AGAIN, MOST_LEFT = 3 * ROUNDS[-2:], 0.7
"""Rounds that follow as long as most of the work is left, this share of it."""


@dataclass(frozen=True)
class Certificate:
    """Prices of a row of each tuple that no box breaks. `how` says in words how far the search for them came."""

    problem: Problem
    prices: Floats
    how: str
    boxes: Listing | None = None
    """Boxes that prices nearly break, if they were listed, with their dearest rows first."""

    @cached_property
    def bound(self) -> float:
        """What any release loses at least, as a share of the loss of everything: a GCP where the objective is NCP."""
        whole = float(self.problem.weights.sum()) * self.problem.rows
        return self.total * SAFE / whole if whole > 0 else 0.0

    @property
    def total(self) -> float:
        """What all rows lose at least together, but for rounding."""
        return float(self.prices @ self.problem.counts)


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
        work = min(int(WORK[effort] * more) * len(problem.counts) + LEAST, MOST[effort])
    finder = Finder(problem, k, k if is_homogeneous else 1, objective, work, progress)
    finder.pair()
    finder.rise()
    if is_homogeneous:
        finder.ascend()
    progress(1, 1)
    return Certificate(problem, finder.prices, finder.how, finder.boxes)


def near_boxes(
    problem: Problem, k: int, certificate: Certificate, objective: str, slack: float, each: float = np.inf
) -> Listing:
    """Every box whose k dearest rows lack no more than this of what the box loses, on average, or less where that were
    more than so many boxes for each tuple; at 0, or if they are too many, those that a certificate was found by."""
    if slack <= 0:
        return certificate.boxes or _listing(0, 0, 0)
    finder = Finder(problem, k, k, objective, MOST["balanced"], quiet)
    most = max(FEW, each * len(problem.counts))
    return finder.listed(certificate.prices, slack, most) or certificate.boxes or _listing(0, 0, 0)


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
        self.how = "rows that no other k - 1 are equal to"
        self.top = top_of(q)
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
        """Greedy under some caps, of which those are left out that are far lower than the work allows. False if the
        last is too much work."""
        last, spent, gain = caps[0], 0, np.inf
        for cap in caps:
            before = self.total
            expected = spent * (cap / last) ** np.log2(LONGER)
            if spent and cap < caps[-1] and expected * LONGER < self.left / CHEAP:
                continue
            left = self.left
            if expected > left or not self._greedy(cap, left):
                return False
            doublings = max(1.0, float(np.log2(cap / last)))
            last, spent = cap, left - self.left
            self.walk = spent
            gain, gained = (self.total / before if before > 0 else np.inf) ** (1 / doublings), gain
            if 1 < gain < gained < np.inf and spent > self.left / DEAR:
                gain = 1 + (gain - 1) ** 2 / (gained - 1)
            if self.q == self.k and 1 < gain < MORE and len(self.finenesses) == 1:
                self.cap = self.whole
                break
        return True

    def pair(self) -> None:
        """Where lines are coarse: what each row loses together with its (k - 1)-th nearest other.

        A box of k rows holds one that is as far, so that no price exceeds the loss of a box. Where the work is too much
        for all tuples, some have a price, evenly drawn, and all others none; where it is enough for hardly any, the
        bound would be next to nothing, and the work is kept for what follows.
        """
        size = len(self.prices)
        many = min(size, max(1, self.left // (3 * size)))
        if len(self.finenesses) == 1 or many * FEWEST < size:
            return
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
        """Ascents from the best prices on, each also on boxes that are listed anew, then a walk over all boxes."""
        prices, due, is_raised = self.prices.copy(), np.zeros(0), False
        for number, each in enumerate(ROUNDS + AGAIN):
            unit = min(float(prices @ self.problem.counts), 2 * self.total) / self.problem.rows
            left = self.left
            if left <= max(ROUND * self.walk, MOST_LEFT * self.work if number >= len(ROUNDS) else 0):
                break
            near, is_kept = self._tamed(prices)
            is_raised &= not is_kept
            listing = self.listed(near, each.near * unit)
            if listing is None:
                break
            self.walk = max(self.walk, left - self.left)
            self.boxes = listing if self.boxes is None else _joined(self.boxes, due <= each.stay * unit, listing)
            due, is_raised = self._climb(prices, np.geomspace(each.first, each.last, each.steps) * unit), True
        if self.boxes is not None and is_raised:
            most = max(self.left, ENDING * self.walk)
            self._keep(np.clip(prices, 0.0, self.cap), f"prices by {len(self.boxes.loss):,} boxes", most)

    def _tamed(self, prices: Floats) -> tuple[Floats, bool]:
        """The prices that boxes are listed by. Where boxes are many, prices that break some of them break far too many
        to list: then they are nearer to those that break none, which are also found and kept."""
        if self.boxes is None or self.k * len(prices) <= HEAVY:
            return prices, False
        whole = np.clip(prices, 0.0, self.cap)
        sound = whole.copy()
        is_kept = self._keep(sound, f"prices by {len(self.boxes.loss):,} boxes", self.left)
        return sound + NEARER * (whole - sound), is_kept

    @property
    def total(self) -> float:
        """What the best prices add up to."""
        return float(self.prices @ self.problem.counts)

    def _climb(self, prices: Floats, steps: Floats) -> Floats:
        """Climb as far as work is left; how much each box lacks of breaking."""
        assert self.boxes is not None
        due, end = np.zeros(len(self.boxes.loss)), max(self.left // 2, 2 * self.walk)
        for some in np.array_split(steps, max(1, len(steps) * len(self.boxes.member) // QUOTA)):
            self._spend(climb(self.k, self.grid.counts, prices, self.boxes, some, due))
            if self.left < end:
                break
        return due

    def _keep(self, prices: Floats, how: str, most: int) -> bool:
        """Lower the prices in broken boxes, and keep them if they are the best. False if that is too much work."""
        if not self._walk(prices, 0.0, False, _listing(0, 0, 0), most):
            return False
        if prices @ self.problem.counts > self.total:
            self.prices, self.how = prices, how
        return True

    def listed(self, prices: Floats, slack: float, every: float = 0) -> Listing | None:
        """The boxes that are broken at so much less loss; fewer, or none, where they are too many. Every such box if a
        search may have this many, else of the ranges from one value on the one that is broken most."""
        most = MEMBERS + 2 * self.k
        room = min(4_000_000 + 4 * MEMBERS * len(prices), 20_000_000)
        boxes = int(min(every or np.inf, room // 10))
        for part in (1,) if every else (1, FEWER):
            listing = _listing(boxes, room, most)._replace(is_every=every > 0)
            if self._walk(prices, slack / part, True, listing, self.left // 2):
                found, used = listing.count[:2].tolist()
                return listing._replace(
                    loss=listing.loss[:found], end=listing.end[:found], member=listing.member[:used]
                )
        return None

    def _walk(self, prices: Floats, slack: float, is_listing: bool, listing: Listing, most: int) -> bool:
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
                self._thin(prices, slack, listing)
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

    def _thin(self, prices: Floats, slack: float, listing: Listing) -> None:
        """Leave those boxes in a listing that would be broken at so much less loss."""
        found, used = listing.count[:2].tolist()
        if not found:
            return
        member, length = listing.member[:used], np.diff(listing.end[:found], prepend=0)
        rows = np.minimum(self.grid.counts[member], self.k)
        before = np.append(0, np.cumsum(rows))[:-1]
        first = listing.end[:found] - length
        dearest = np.clip(self.k - (before - np.repeat(before[first], length)), 0, rows) * prices[member]
        is_near = np.add.reduceat(dearest, first) > self.k * (listing.loss[:found] - slack)
        kept = member[np.repeat(is_near, length)]
        count = int(is_near.sum())
        listing.loss[:count] = listing.loss[:found][is_near]
        listing.end[:count], listing.member[: len(kept)] = np.cumsum(length[is_near]), kept
        listing.count[:3] = count, len(kept), 0

    def _spend(self, work: int) -> None:
        self.left -= int(work)
        self.progress(min(self.work, self.work - self.left), self.work)


def _listing(boxes: int, members: int, most: int) -> Listing:
    """Room for so many boxes and members, of which a box has no more than `most`."""
    count = np.array([0, 0, 0, boxes, members])
    return Listing(np.empty(boxes), np.empty(boxes, np.int64), np.empty(members, np.int32), count, most)


def _joined(old: Listing, is_kept: Bools, new: Listing) -> Listing:
    """Some of the old boxes and all new ones, each once."""
    loss = np.append(old.loss[is_kept], new.loss)
    before, after = np.diff(old.end, prepend=0), np.diff(new.end, prepend=0)
    member = np.append(old.member[np.repeat(is_kept, before)], new.member)
    end = np.cumsum(np.append(before[is_kept], after))
    # Boxes of the same members lose the same; which members these are, a sum of random numbers tells.
    words = np.random.default_rng(0).integers(1 << 63, size=int(member.max(initial=0)) + 1, dtype=np.uint64)
    sums = np.append(np.uint64(0), np.cumsum(words[member]))
    key = (sums[end] - sums[np.append(0, end[:-1])]) ^ loss.view(np.uint64)
    is_first = np.zeros(len(loss), dtype=bool)
    is_first[np.unique(key, return_index=True)[1]] = True
    length = np.diff(end, prepend=0)
    return Listing(
        loss[is_first], np.cumsum(length[is_first]), member[np.repeat(is_first, length)], new.count, new.most
    )
