"""Auto: the default. A quick start finds groups, a search improves them for as long as the user wants to wait.

The start is peel. Where a row's loss is that of its box alone (NCP, LM, precision) and no models are required, it is
the cheapest boxes (loops/cheapest.py), unless the attributes have too many levels for that. The search then opens boxes
(after/search.py): in a table where k and the tuples are not too many, by the prices that also prove how near to the
best possible the answer is; in a block of a larger one, with 'balanced' and a small k, by what rows lose at the start,
as prices take too long. Some cuts by refine follow the search by prices. Everywhere else refine polishes the groups:
with eight columns of Adult it loses less from k = 100 on. On a single column the optimum along it, which hilbert's
dynamic program finds, is one of the starts; with several numbers, the groups of mondrian are. In a small table each
start is refined a little before one is chosen, and refining ends where prices prove that nothing loses less.

`objective` is the measure that both keep low; peel goes by NCP as well, and refine starts with the better of the two.
Where models are required, so does a peel that is blind to them, and all starts are repaired first; then rows are
exchanged between groups (exchange/search.py) or, with 'fast', in small tables and for what that search does not know,
groups are refined. The report says which.
`effort` counts in steps, so that the same seed gives the same groups: 'fast' is a start and a short search, 'balanced'
takes some seconds, 'best' half a minute or more on a table like Adult. `time_budget` counts in seconds instead:
the start runs to its end, loading compiled code included, and what is left of the budget goes to the search, or to
refine if it is short.

Time O(E (s d + r (d + log E))) and memory O(E (d + h)) for s steps of peel and r of refine over E distinct tuples with
d attributes of h levels. Above `LARGE` tuples in the table s and r fall in proportion, as each step does more work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sqlanon.udfs.after import repair
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.exchange.deal import deal
from sqlanon.udfs.exchange.run import SEARCHED, exchanged
from sqlanon.udfs.exchange.scope import can_search
from sqlanon.udfs.exchange.starts import MIDDLE, rough
from sqlanon.udfs.exchange.starts import starts as others
from sqlanon.udfs.method import THOUSANDTHS, Method, Parameter, Progress, between, quiet
from sqlanon.udfs.methods import hilbert, mondrian, peel
from sqlanon.udfs.problem import Groups, Numbers, Problem
from sqlanon.udfs.space import costs
from sqlanon.udfs.space.grid import ADDITIVE

if TYPE_CHECKING:
    from sqlanon.udfs.evaluate.prices import Certificate

LARGE = 50_000
ENOUGH = 50_000
"""Steps of peel that a large table has at least."""
SMALL = 20_000
"""Tables of this many tuples can afford to repair a start that breaks its models almost everywhere."""
LISTED = 1_000_000
"""Up to this product of k and the tuples, the search by prices loses less in the same time: of larger groups a move
displaces too many rows, and to list the boxes of more takes too long."""
FEW = 50
"""Up to this k, a search by what rows lose at its start does."""
ROOM = 100
"""The search by prices needs room for this many groups to exchange rows."""
LEAST = 12_000_000
"""The work of a search by prices in any table, at least; a twelfth of it with 'fast'."""
SHORTER = 0.15
"""The power of 10 / k by which the search is shorter where groups are larger, as its moves take more work then."""
TINY = 1_000
"""In a table of this many tuples every start is tried: each is refined a little, and the best goes on."""
TIGHT = 1e-6
"""What a bound may be rounded by, as a share of it."""
GUIDING = 0.5
"""The search follows prices that add up to this share of what its start loses, at least."""
OWN, NEAR = 0.75, 0.001
"""Where prices are what rows lose: this share of it, and boxes that lack so much of being tight are opened."""
LUKEWARM = 0.5
"""The heat of that search, which has too few moves to cool down from more."""
PACES = {"best": 1e-3, "balanced": 2e-4, "fast": 1e-4}
"""With a budget of so many seconds for each tuple, the search by prices is that of this effort; with less there is
none."""
SEARCHING = 0.8
"""The share of a budget that it has; the cuts after it have the rest."""
PER_TUPLE = 8
"""Steps of peel are at most this many per tuple: a small table has few classes to find."""


@dataclass(frozen=True)
class Effort:
    """How many steps peel and refine may take, those of refine at k = 10.

    They grow with the power `longer` of k: a step takes less time where groups are fewer, and does less. The heat is
    that of refine; see `_heat`.
    """

    peel: int
    refine: int
    longer: float = 0.2
    heat: float = 0.0
    fewer: float = 1.0
    """The share of steps with heat, which take longer."""
    exchange: int = 0
    """Work of the search with models for each row."""
    search: int = 0
    """Work of the search by prices for each tuple, up to k = 10; less of larger groups, whose moves it takes more,"""
    own: int = 0
    """and by what rows lose at its start, where there are too many tuples to find prices."""
    near: float = 0.0
    """How near to being tight boxes are that it opens, in mean prices, at k = 10, at most,"""
    boxes: float = 0.0
    """how many there are for each tuple at most, both the fewer the larger groups are, as boxes then have more rows,"""
    warmth: float = 1.5
    """and its heat at the beginning."""
    polish: int = 0
    """Steps of refine after it, at k = 10, in proportion to k: moves find less the more rows they displace,"""
    glow: float = 0.0
    """and their heat."""


EFFORTS = {
    "fast": Effort(10_000, 20, search=2_000, polish=10),
    "balanced": Effort(
        150_000,
        400,
        heat=0.1,
        fewer=0.7,
        exchange=28_000,
        search=23_000,
        own=2_500,
        near=0.5,
        boxes=5,
        warmth=4.0,
        polish=30,
        glow=0.05,
    ),
    "best": Effort(
        150_000,
        6_000,
        longer=0.5,
        heat=0.5,
        exchange=175_000,
        search=450_000,
        near=2.0,
        boxes=5,
        warmth=8.0,
        polish=400,
        glow=0.03,
    ),
}


@dataclass(frozen=True)
class Limit:
    """What is left of a budget in seconds, if there is one."""

    seconds: float | None
    clock: Callable[[], float]
    begin: float

    @property
    def left(self) -> float | None:
        """Seconds, 0 if it is used up; None if there is no budget."""
        return None if self.seconds is None else max(0.0, self.seconds - (self.clock() - self.begin))

    def effort(self, asked: str, tuples: int) -> str | None:
        """The effort of a search by prices of so many tuples; None if there is no time for one."""
        if self.seconds is None:
            return asked
        return next((effort for effort, pace in PACES.items() if self.seconds >= pace * tuples), None)


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    objective: str = "ncp",
    effort: str = "balanced",
    time_budget: float | None = None,
    part: float = 1.0,
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """Start, then search or refine. The problem is this part of a table that was cut into blocks."""
    limit, steps = Limit(time_budget, clock, begin=clock()), EFFORTS[effort]
    if problem.sensitive is not None and not problem.models and objective in ADDITIVE:
        merged, place = problem.merged()
        again = partial(cluster, objective=objective, effort=effort, time_budget=time_budget, part=part, clock=clock)
        return repair.spread(again(merged, k, rng, progress), place, problem.counts, rng)
    tuples = len(problem.counts)
    share = min(1.0, LARGE * part / tuples)
    pace = limit.effort(effort, tuples)
    is_open = objective in ADDITIVE and not problem.models and problem.rows >= ROOM * k
    is_searched = is_open and part == 1 and tuples <= SMALL and k * tuples <= LISTED and pace is not None
    fewer = min(steps.peel, max(ENOUGH, int(steps.peel * share)), PER_TUPLE * tuples + 1000)
    is_exchanged = steps.exchange > 0 and problem.rows >= SEARCHED and can_search(problem, k, objective)
    offers = _starts(problem, k, rng, progress, objective, fewer, is_exchanged)
    is_tiny = tuples <= TINY and part == 1 and objective in ADDITIVE and time_budget is None
    proof = _proof(problem, k, progress, objective, pace or effort) if is_searched or is_tiny else None
    improved = partial(refine, objective=objective, least=-np.inf if proof is None else proof.total * (1 + TIGHT))
    if tuples <= TINY and not problem.models and time_budget is None:
        unlike = {costs.excess(problem, one, objective): one for one in offers}
        if len(unlike) > 1:
            shortly = partial(improved, steps=EFFORTS["fast"].refine)
            offers = [shortly(problem, one, k, rng, quiet) for one in unlike.values()]
    start = min(offers, key=lambda one: costs.excess(problem, one, objective))
    rest = between(progress, THOUSANDTHS // (4 if proof is None else 3), THOUSANDTHS)
    if is_exchanged:
        work, left = None if time_budget is not None else int(steps.exchange * problem.rows * share), limit.left
        exchange = exchanged(problem, start, k, rng, rest, work=work, seconds=left, objective=objective, clock=clock)
        if exchange is not None:
            return exchange
    if proof is not None and pace is not None and is_searched:
        if _guides(problem, proof, start, EFFORTS[pace], objective):
            return _searched(problem, start, k, rng, rest, objective, EFFORTS[pace], proof, limit)
    elif is_open and k <= FEW and steps.own and time_budget is None and not _has_numbers(problem):
        work = int(steps.own * tuples * share)
        return _searched_by_own(problem, start, k, rng, rest, objective, work)
    heat = _heat(problem, steps)
    several = steps.refine * (steps.fewer if heat else 1) * share * (k / 10) ** steps.longer
    rounds = None if time_budget is not None else max(10, int(several))
    found = improved(problem, start, k, rng, rest, steps=rounds, seconds=limit.left, heat=heat, clock=clock)
    if not problem.models:
        return _proven(found, proof, objective)
    dealt = found if objective in costs.PRIVATE else deal(problem, found, rng)
    return replace(dealt, report=dealt.report | {"refined": True})


def _starts(
    problem: Problem, k: int, rng: np.random.Generator, progress: Progress, objective: str, steps: int, is_rough: bool
) -> list[Groups]:
    """The cheapest boxes, where their loss is all that counts, else peels by the objective and by NCP; on one column
    the optimum along it; with models, what keeps them. A search that exchanges rows is content with rough starts where
    others take long."""
    early = between(progress, 0, THOUSANDTHS // 4)
    if is_rough and len(problem.counts) > MIDDLE:
        return rough(problem, k, rng, early, objective)
    is_plain, is_tiny = objective in ADDITIVE and not problem.models, len(problem.counts) <= TINY
    measures = list(dict.fromkeys(("ncp", objective)))
    ends = [THOUSANDTHS * i // (len(measures) + 1) for i in range(len(measures) + 2)]
    first, *later = (between(early, *part) for part in pairwise(ends))
    found = _cheapest(problem, k, first if is_tiny else early, objective) if is_plain else None
    starts = [] if found is None else [found]
    if found is None or is_tiny:
        for measure, part in zip(measures, later, strict=True):
            starts.append(peel.cluster(problem, k, rng, part, objective=measure, steps=steps))
    pause = partial(progress, THOUSANDTHS // 4, THOUSANDTHS)
    if problem.models:
        return _repaired(problem, k, rng, pause, steps, starts, objective)
    if len(problem.attributes) == 1:
        starts.append(hilbert.cluster(problem, k, rng, lambda *done, **facts: pause()))
    if _has_numbers(problem):
        starts.append(mondrian.cluster(problem, k, rng, lambda *done, **facts: pause()))
    return starts


def _heat(problem: Problem, steps: Effort) -> float:
    """The heat of refine. A short search does without where its start leaves much to gain, as with several numbers,
    where a step takes long, as with models, and in a small table, where it ends when nothing more is gained."""
    is_short = steps.refine < EFFORTS["best"].refine
    is_cold = _has_numbers(problem) or bool(problem.models) or len(problem.counts) <= TINY
    return 0.0 if is_short and is_cold else steps.heat


def _has_numbers(problem: Problem) -> bool:
    """Are several columns numbers? Then boxes around a row are too many to list, and mondrian is a good start."""
    return sum(isinstance(attribute, Numbers) for attribute in problem.attributes) > 1


def _cheapest(problem: Problem, k: int, progress: Progress, objective: str) -> Groups | None:
    """Cheapest's groups. Imported when needed: numba alone takes a quarter of a second."""
    from sqlanon.udfs.loops.cheapest import cluster as cheapest

    return cheapest(problem, k, progress, objective)


def _searched_by_own(
    problem: Problem,
    start: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    objective: str,
    work: int,
) -> Groups:
    """The search with a share of what rows lose at its start for prices: boxes are opened in which they lose less. To
    find prices took 15 times as long in a block of 23,525 tuples."""
    from sqlanon.udfs.after.search import search
    from sqlanon.udfs.evaluate.prices import Certificate

    prices = OWN * costs.losses(problem, start, objective)
    proof = Certificate(problem, prices, "what rows lose at the start")
    return search(problem, start, k, rng, progress, proof, objective=objective, work=work, near=NEAR, heat=LUKEWARM)


def _proof(problem: Problem, k: int, progress: Progress, objective: str, effort: str) -> Certificate:
    """The prices that guide a search. Imported when needed: numba alone takes a quarter of a second."""
    from sqlanon.udfs.evaluate.prices import certify

    return certify(
        problem, k, between(progress, THOUSANDTHS // 4, THOUSANDTHS // 3), objective=objective, effort=effort
    )


def _guides(problem: Problem, proof: Certificate, start: Groups, steps: Effort, objective: str) -> bool:
    """Are the prices near enough to what is lost to say where to look? And are there boxes to open?"""
    if proof.is_pairwise:
        return False
    is_near = float(proof.prices @ problem.counts) >= GUIDING * costs.excess(problem, start, objective)
    return is_near and (steps.near > 0 or proof.boxes is not None)


def _searched(
    problem: Problem,
    start: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    objective: str,
    steps: Effort,
    proof: Certificate,
    limit: Limit,
) -> Groups:
    """The search that prices guide, for so long as the effort says or there is time."""
    from sqlanon.udfs.after.search import search

    share = min(1.0, (10 / k) ** SHORTER)
    work = int(share * max(steps.search * len(problem.counts), LEAST if steps.near > 0 else LEAST // 12))
    rest = between(progress, 0, THOUSANDTHS * 4 // 5)
    found = search(
        problem,
        start,
        k,
        rng,
        rest,
        proof,
        objective=objective,
        work=work,
        heat=steps.warmth,
        near=steps.near * 10 / k,
        each=steps.boxes * (10 / k) ** 0.5,
        seconds=None if limit.left is None else SEARCHING * limit.left,
        clock=limit.clock,
    )
    found = _polished(problem, found, k, rng, progress, objective, steps, limit)
    return _proven(found, proof, objective)


def _polished(
    problem: Problem,
    found: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    objective: str,
    steps: Effort,
    limit: Limit,
) -> Groups:
    """The groups of a search after some cuts of neighboring groups, which none of its moves makes."""
    last = between(progress, THOUSANDTHS * 4 // 5, THOUSANDTHS)
    cuts = None if limit.seconds is not None else max(5, steps.polish * k // 10)
    shortly = partial(refine, seconds=limit.left, heat=steps.glow, objective=objective, clock=limit.clock)
    return shortly(problem, found, k, rng, last, steps=cuts)


def _proven(groups: Groups, proof: Certificate | None, objective: str) -> Groups:
    """The groups with what is known of the best possible."""
    if proof is None or objective != "ncp":
        return groups
    return replace(groups, report=groups.report | {"proven": proof.bound, "proven_by": proof.how})


def _repaired(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    pause: Callable[[], None],
    steps: int,
    starts: list[Groups],
    objective: str,
) -> list[Groups]:
    """The starts as groups that keep all models, and those of other methods. One more peel is blind to models: it is
    nearer where they ask for little."""

    def hold(done: int, total: int, **facts: float) -> None:
        pause()

    if len(problem.counts) <= SMALL:
        merged, place = problem.merged()
        blind = peel.cluster(merged, k, rng, hold, steps=steps)
        starts = [*starts, repair.spread(blind, place, problem.counts, rng)]
    found = [repair.repair(problem, start, hold) for start in starts]
    return found + others(problem, k, rng, hold, objective)


METHOD = Method(
    name="auto",
    paper="peel, then a large-neighborhood search (Shaw, CP 1998) for the loss of He et al., PAKDD 2012",
    cost="O(E (s d + r log E)) time, O(E d) memory for s and r steps over E distinct tuples with d attributes",
    use="the default: the lowest loss in the given time",
    cluster=cluster,
    parameters=(
        peel.OBJECTIVE,
        Parameter("effort", "balanced", "how long to search", choices=tuple(EFFORTS)),
        Parameter("time_budget", None, "seconds to spend instead; the answer then depends on the machine"),
    ),
    is_diverse=True,
    is_timed=True,
    block_size=100_000,
    plain_block_size=20_000,
)
