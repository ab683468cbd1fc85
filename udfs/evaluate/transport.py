"""How little a release can lose under models of a sensitive column with two values: prices by a transport problem.

Models bound the share of each value in a class (`legality.band`), and so how many rows a of the frequent value go with
b of the rare one: r1 ≤ a / b ≤ r2. In a group G spread each frequent row evenly over the rare ones. Then every rare row
has a / b of them, and a pair (i, j) that takes a share x loses no more in its own box than in that of the group:

    Σ x_ij (1 + 1/r2) L(box of i and j)  ≤  a (1 + 1/r2) L(G)  ≤  (a + b) L(G)

So the rows of a release lose at least the optimum of the transport problem with these costs c_ij, where every frequent
row is sent and every rare one receives between r1 and r2. Any dual of it is a bound: with some v_j for each rare row,
let a frequent row cost u_i = min_j (c_ij + v_j) and a rare one w_j = -max(r1 v_j, r2 v_j). Then the rows of every legal
group lose at least what they cost together. No price exceeds what a suppressed row loses. These prices are summed up as
those for k are (prices.py); `certificate.worst_pair` checks them without the code here.

The v are found by entropic steps (Cuturi, NIPS 2013): what would take too many frequent rows is charged more, and what
takes too few less. Every step gives a bound, and the best is kept. Time O(s m n) for s steps and m, n distinct tuples
of both values, and 4 m n bytes of memory; where that are more than `PAIRS`, some frequent tuples cost nothing.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.udfs.evaluate.prices import Certificate
from sqlanon.udfs.legality import band
from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Bools, Floats, Ints, Problem
from sqlanon.udfs.space.costs import Rate, rates
from sqlanon.udfs.space.machine import compiled

PAIRS = {"fast": 2_000_000, "balanced": 30_000_000, "best": 60_000_000}
"""Pairs that are looked at in a step."""
STEPS = {"fast": 40, "balanced": 80, "best": 300}
WARM, COLD = 0.03, 0.0008
"""The temperature at the first step and at the last, in units of what a row can lose."""
LANES = 16
"""Frequent tuples that a step looks at together."""
ROUNDED = 3e-6
"""Costs have seven digits: a little less is still a bound."""
CHUNK = 1 << 20
"""Pairs whose costs are found together."""


@dataclass(frozen=True)
class Ratio:
    """How many frequent rows may go with a rare one: is_rare tells the tuples apart."""

    is_rare: Bools
    least: float
    most: float


def ratio_of(problem: Problem, column: int) -> Ratio | None:
    """The ratio that models of a column allow, or None where there is no bound on it."""
    found = band(problem, column)
    if found is None or problem.sensitive is None:
        return None
    codes = problem.sensitive[:, column]
    is_second = codes == codes.max()
    is_rare = is_second if 2 * problem.counts[is_second].sum() <= problem.rows else ~is_second
    low, high = found if is_rare is is_second else (1 - found[1], 1 - found[0])
    if low <= 0 or not is_rare.any() or is_rare.all():
        return None
    return Ratio(is_rare, (1 - high) / high, (1 - low) / low)


def transported(problem: Problem, effort: str, progress: Progress) -> Certificate | None:
    """The best such prices, of all columns with two values; None if there is no such column."""
    ratios = [found for column in problem.columns if (found := ratio_of(problem, column)) is not None]
    proofs = [Transport(problem, ratio, PAIRS[effort]).certificate(STEPS[effort], progress) for ratio in ratios]
    return max(proofs, key=lambda proof: proof.bound, default=None)


class Transport:
    """The pairs of a frequent and a rare tuple, and what each costs."""

    def __init__(self, problem: Problem, ratio: Ratio, pairs: int) -> None:
        self.problem, self.ratio = problem, ratio
        self.rare = np.flatnonzero(ratio.is_rare)
        frequent = np.flatnonzero(~ratio.is_rare)
        many = max(1, pairs // len(self.rare))
        self.is_whole = len(frequent) <= many
        self.frequent = frequent if self.is_whole else frequent[np.linspace(0, len(frequent) - 1, many).astype(int)]
        self.whole = float(problem.weights.sum())

    def costs(self) -> Any:
        """What pairs cost, as parts of what a row can lose: blocks × rare tuples × lanes. The last block is filled up
        with pairs that cost nothing."""
        factor = (1 + 1 / self.ratio.most) / self.whole
        blocks = -(-len(self.frequent) // LANES)
        found = np.zeros((blocks, len(self.rare), LANES), dtype=np.float32)
        step = max(1, CHUNK // (LANES * len(self.rare)))
        measure, _ = rates(self.problem, "ncp")
        tables = [
            _loss(rate, np.arange(rate.ranks), ranks[self.rare]) if rate.ranks < len(self.frequent) // 4 else None
            for rate, ranks in zip(measure, self.problem.ranks.T, strict=True)
        ]
        for begin in range(0, blocks, step):
            mine = self.frequent[begin * LANES : (begin + step) * LANES]
            total = np.zeros((len(mine), len(self.rare)))
            for rate, table, ranks in zip(measure, tables, self.problem.ranks.T, strict=True):
                one, other = ranks[mine], ranks[self.rare]
                total += _loss(rate, one, other) if table is None else table[one]
            for lane in range(LANES):
                part = total[lane::LANES]
                found[begin : begin + len(part), :, lane] = factor * part
        return found

    def certificate(self, steps: int, progress: Progress) -> Certificate:
        """The best prices after some steps."""
        cost, (least, most) = self.costs(), (self.ratio.least, self.ratio.most)
        taking = self.problem.counts[self.rare].astype(np.float32)
        sent = np.zeros(cost.shape[::2], dtype=np.float32)
        sent.ravel()[: len(self.frequent)] = self.problem.counts[self.frequent]
        u, load = np.zeros_like(sent), np.zeros_like(cost[0])
        room, v = np.zeros((len(load) + 1, LANES), dtype=np.float32), np.zeros(len(load), dtype=np.float32)
        best, prices = -np.inf, np.zeros(len(self.problem.counts))
        for step in range(steps + 1):
            progress(step, steps + 1)
            heat = WARM * (COLD / WARM) ** (step / steps)
            balance(cost, v, taking, sent, 1 / heat, u, load, room)
            frequent = np.minimum(u.ravel()[: len(self.frequent)].astype(np.float64) - ROUNDED, 1.0)
            rare = -np.maximum(least * v.astype(np.float64), most * v.astype(np.float64))
            total = float(frequent @ self.problem.counts[self.frequent] + rare @ taking)
            if total > best:
                best = total
                prices[self.frequent], prices[self.rare] = self.whole * frequent, self.whole * rare
            taken = load.sum(axis=1) / taking + 1e-6
            more = v + heat * np.log(taken / most)
            less = v + heat * np.log(taken / least) if least > 0 else np.zeros_like(v)
            lowest = -1.0 / least if least > 0 else 0.0
            v = np.maximum(np.where(more > 0, more, np.minimum(less, 0.0)), lowest).astype(np.float32)
        some = "" if self.is_whole else f" of {len(self.frequent):,} tuples, nothing for the others"
        return Certificate(self.problem, prices, f"prices of pairs with unlike sensitive values{some}")


def _loss(rate: Rate, one: Ints, other: Ints) -> Floats:
    """What ranges from each rank of the one to each of the other lose."""
    return np.asarray(rate(np.minimum(one[:, None], other), np.maximum(one[:, None], other))[..., 0])


@compiled
def balance(cost, v, taking, sent, cold, u, load, room):
    """Spread every frequent tuple over the rare ones, the more the cheaper: u is the cheapest of each, and load what
    each rare one takes, by lanes. Lanes are looked at side by side, so that sums are the same on every machine; instead
    of exp(z) it is (1 + z / 32) ** 32."""
    blocks, rare, lanes = cost.shape
    one = np.float32(1.0)
    zero, small, cold = np.float32(0.0), np.float32(1 / 32), np.float32(cold)
    for j in range(rare):
        for lane in range(lanes):
            load[j, lane] = zero
    for b in range(blocks):
        least, total = u[b], room[0]
        for lane in range(lanes):
            least[lane] = np.float32(np.inf)
            total[lane] = zero
        for j in range(rare):
            for lane in range(lanes):
                z = cost[b, j, lane] + v[j]
                least[lane] = z if z < least[lane] else least[lane]
        for j in range(rare):
            for lane in range(lanes):
                w = one + (least[lane] - cost[b, j, lane] - v[j]) * cold * small
                w = w if w > zero else zero
                w *= w
                w *= w
                w *= w
                w *= w
                w *= w
                w *= taking[j]
                room[j + 1, lane] = w
                total[lane] += w
        for lane in range(lanes):
            total[lane] = sent[b, lane] / total[lane]
        for j in range(rare):
            for lane in range(lanes):
                load[j, lane] += total[lane] * room[j + 1, lane]
