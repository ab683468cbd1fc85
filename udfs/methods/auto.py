"""Auto: the default. A quick start finds groups, a search improves them for as long as the user wants to wait.

The start is peel. Where a row's loss is that of its box alone (NCP, LM, precision) and no models are required, it is
the cheapest boxes (loops/cheapest.py), unless the attributes have too many levels for that. The search then opens boxes
(after/search.py): in a table where k and the tuples are not too many, by the prices that also prove how near to the
best possible the answer is; in a block of a larger one, with 'balanced' and a small k, by what rows lose at the start,
as prices take too long. Some cuts by refine follow the search by prices. Everywhere else refine polishes the groups:
with eight columns of Adult it loses less from k = 100 on. On a single column the optimum along it, which hilbert's
dynamic program finds, is one of the starts; with several numbers, the groups of mondrian are, and the only one if most
columns are numbers. In a small table, and with several numbers, each start is refined a little before one is chosen.
Refining ends where prices prove that nothing loses less.

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
from sqlanon.udfs.after.efforts import EFFORTS, Effort, Limit
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
"""Up to this product of k and the tuples, the search by prices loses less in the same time."""
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
NUMBERS = 6
"""So many columns of numbers, and no fewer of them than others, need no start but mondrian's."""
LATER = 1.07
"""Of several columns of numbers, mondrian's groups end up the better ones if they lose no more than this many times as
much as others, once both were refined a little."""
TIGHT = 1e-6
"""What a bound may be rounded by, as a share of it."""
GUIDING = 0.5
"""The search follows prices that add up to this share of what its start loses, at least."""
OWN, NEAR = 0.75, 0.001
"""Where prices are what rows lose: this share of it, and boxes that lack so much of being tight are opened."""
LUKEWARM = 0.5
"""The heat of that search, which has too few moves to cool down from more."""
SEARCHING = 0.8
"""The share of a budget that it has; the cuts after it have the rest."""
PER_TUPLE = 8
"""Steps of peel are at most this many per tuple: a small table has few classes to find."""


@dataclass(frozen=True)
class Task:
    """What is asked, and how long it may take. The problem is this part of a table that was cut into blocks."""

    problem: Problem
    k: int
    rng: np.random.Generator
    objective: str
    effort: str
    limit: Limit
    part: float

    @property
    def steps(self) -> Effort:
        """What the effort allows."""
        return EFFORTS[self.effort]

    @property
    def tuples(self) -> int:
        """How many different tuples there are."""
        return len(self.problem.counts)

    @property
    def share(self) -> float:
        """The share of its steps that a large table has."""
        return min(1.0, LARGE * self.part / self.tuples)

    @property
    def is_plain(self) -> bool:
        """Is a row's loss that of its box alone, and nothing else required?"""
        return self.objective in ADDITIVE and not self.problem.models

    @property
    def is_tiny(self) -> bool:
        """Are the tuples so few that every start can be tried?"""
        return self.tuples <= TINY

    @property
    def numbers(self) -> int:
        """How many columns are numbers."""
        return sum(isinstance(attribute, Numbers) for attribute in self.problem.attributes)

    @property
    def has_numbers(self) -> bool:
        """Are several columns numbers? Then boxes around a row are too many to list, and mondrian is a good start."""
        return self.numbers > 1

    @property
    def is_numeric(self) -> bool:
        """Are the columns numbers for the most part? Then mondrian's groups are the best start of a search."""
        return self.numbers >= NUMBERS and 2 * self.numbers >= len(self.problem.attributes)

    @property
    def has_room(self) -> bool:
        """Can boxes be opened, and are there groups enough for those whom that displaces?"""
        return self.is_plain and self.problem.rows >= ROOM * self.k

    @property
    def pace(self) -> str | None:
        """The effort of the search by prices; None where there is none."""
        is_small = self.part == 1 and self.tuples <= SMALL and self.k * self.tuples <= LISTED
        return self.limit.effort(self.effort, self.tuples) if self.has_room and is_small else None

    @property
    def is_exchanged(self) -> bool:
        """Can rows be exchanged between groups that keep their models?"""
        is_large = self.steps.exchange > 0 and self.problem.rows >= SEARCHED
        return is_large and can_search(self.problem, self.k, self.objective)

    @property
    def heat(self) -> float:
        """That of refine. A short search does without where its start leaves much to gain, as with several numbers,
        where a step takes long, as with models, and in a tiny table, where it ends when nothing more is gained."""
        is_short = self.steps.refine < EFFORTS["best"].refine
        is_cold = self.has_numbers or bool(self.problem.models) or self.is_tiny
        return 0.0 if is_short and is_cold else self.steps.heat

    def excess(self, groups: Groups) -> float:
        """What the groups lose together, by the objective."""
        return costs.excess(self.problem, groups, self.objective)


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
    """Start, then search or refine."""
    limit = Limit(time_budget, clock, begin=clock())
    if problem.sensitive is not None and not problem.models and objective in ADDITIVE:
        merged, place = problem.merged()
        found = _clustered(Task(merged, k, rng, objective, effort, limit, part), progress)
        return repair.spread(found, place, problem.counts, rng)
    return _clustered(Task(problem, k, rng, objective, effort, limit, part), progress)


def _clustered(task: Task, progress: Progress) -> Groups:
    """The search that fits the task, from the best start."""
    offers = _starts(task, progress)
    is_proven = task.pace is not None or (task.is_tiny and task.part == 1 and task.limit.seconds is None)
    proof = _proof(task, progress) if is_proven and task.objective in ADDITIVE else None
    start = _start(task, offers, proof)
    rest = between(progress, THOUSANDTHS // (4 if proof is None else 3), THOUSANDTHS)
    if task.is_exchanged and (found := _exchanged(task, start, rest)) is not None:
        return found
    if proof is not None and task.pace is not None:
        if _guides(task, proof, start):
            return _searched(task, start, rest, proof)
    elif task.has_room and task.k <= FEW and task.limit.seconds is None and task.steps.own and not task.has_numbers:
        return _searched_by_own(task, start, rest)
    return _refined(task, start, rest, proof)


def _starts(task: Task, progress: Progress) -> list[Groups]:
    """The cheapest boxes, where their loss is all that counts, else peels by the objective and by NCP; on one column
    the optimum along it; with models, what keeps them. A search that exchanges rows is content with rough starts where
    others take long."""
    problem, k, rng = task.problem, task.k, task.rng
    early = between(progress, 0, THOUSANDTHS // 4)
    if task.is_exchanged and task.tuples > MIDDLE:
        return rough(problem, k, rng, early, task.objective)
    steps = min(task.steps.peel, max(ENOUGH, int(task.steps.peel * task.share)), PER_TUPLE * task.tuples + 1000)
    measures = list(dict.fromkeys(("ncp", task.objective)))
    ends = [THOUSANDTHS * i // (len(measures) + 1) for i in range(len(measures) + 2)]
    first, *later = (between(early, *part) for part in pairwise(ends))
    is_halved = task.is_plain and task.is_numeric and not task.is_tiny
    is_boxed = task.is_plain and (not is_halved or task.effort == "fast")
    found = _cheapest(task, first if task.is_tiny else early) if is_boxed else None
    starts = [] if found is None else [found]
    if (found is None and not is_halved) or task.is_tiny:
        for measure, part in zip(measures, later, strict=True):
            starts.append(peel.cluster(problem, k, rng, part, objective=measure, steps=steps))

    def hold(*done: int, **facts: float) -> None:
        progress(THOUSANDTHS // 4, THOUSANDTHS)

    if problem.models:
        return _repaired(task, hold, steps, starts)
    if len(problem.attributes) == 1:
        starts.append(hilbert.cluster(problem, k, rng, hold))
    if task.has_numbers:
        starts.append(mondrian.cluster(problem, k, rng, hold))
    return starts


def _repaired(task: Task, hold: Progress, steps: int, starts: list[Groups]) -> list[Groups]:
    """The starts as groups that keep all models, and those of other methods. One more peel is blind to models: it is
    nearer where they ask for little."""
    problem = task.problem
    if task.tuples <= SMALL:
        merged, place = problem.merged()
        blind = peel.cluster(merged, task.k, task.rng, hold, steps=steps)
        starts = [*starts, repair.spread(blind, place, problem.counts, task.rng)]
    found = [repair.repair(problem, start, hold) for start in starts]
    return found + others(problem, task.k, task.rng, hold, task.objective)


def _start(task: Task, offers: list[Groups], proof: Certificate | None) -> Groups:
    """The start that promises most. In a tiny table, and where mondrian's groups are one, each is refined a little
    before one is chosen; those of mondrian gain more later."""
    unlike = {task.excess(one): one for one in offers}
    is_certain = task.problem.models or task.limit.seconds is not None or len(unlike) < 2
    if is_certain or not (task.is_tiny or task.has_numbers):
        return unlike[min(unlike)]
    is_fast = task.effort == "fast"
    steps = EFFORTS["fast"].refine * task.share / (2 if is_fast and not task.is_tiny else 1)
    shortly = partial(_improved(task, proof), steps=max(5, int(steps)))
    later = 1.0 if is_fast or task.is_tiny else LATER
    found: list[tuple[float, Groups]] = []
    for _, one in sorted(unlike.items()):
        refined = shortly(task.problem, one, task.k, task.rng, quiet)
        loss = task.excess(refined)
        if proof is not None and loss <= proof.total * (1 + TIGHT):
            return refined
        found.append((loss / (later if one is offers[-1] else 1.0), refined))
    return min(found, key=lambda each: each[0])[1]


def _improved(task: Task, proof: Certificate | None) -> Callable[..., Groups]:
    """Refine, until nothing can lose less."""
    least = -np.inf if proof is None else proof.total * (1 + TIGHT)
    return partial(refine, objective=task.objective, least=least)


def _cheapest(task: Task, progress: Progress) -> Groups | None:
    """Cheapest's groups. Imported when needed: numba alone takes a quarter of a second."""
    from sqlanon.udfs.loops.cheapest import cluster as cheapest

    return cheapest(task.problem, task.k, progress, task.objective)


def _proof(task: Task, progress: Progress) -> Certificate:
    """The prices that guide a search. Imported when needed: numba alone takes a quarter of a second."""
    from sqlanon.udfs.evaluate.prices import certify

    early, effort = between(progress, THOUSANDTHS // 4, THOUSANDTHS // 3), task.pace or task.effort
    return certify(task.problem, task.k, early, objective=task.objective, effort=effort)


def _exchanged(task: Task, start: Groups, progress: Progress) -> Groups | None:
    """The search with models; None where it has nothing to exchange."""
    limit, work = task.limit, int(task.steps.exchange * task.problem.rows * task.share)
    exchange = partial(exchanged, objective=task.objective, seconds=limit.left, clock=limit.clock)
    return exchange(task.problem, start, task.k, task.rng, progress, work=work if limit.seconds is None else None)


def _guides(task: Task, proof: Certificate, start: Groups) -> bool:
    """Are the prices near enough to what is lost to say where to look? And are there boxes to open?"""
    if task.pace is None or proof.is_pairwise:
        return False
    is_near = float(proof.prices @ task.problem.counts) >= GUIDING * task.excess(start)
    return is_near and (EFFORTS[task.pace].near > 0 or proof.boxes is not None)


def _searched(task: Task, start: Groups, progress: Progress, proof: Certificate) -> Groups:
    """The search that prices guide, for so long as the effort says or there is time."""
    from sqlanon.udfs.after.search import search

    problem, k, limit = task.problem, task.k, task.limit
    steps = EFFORTS[task.pace or task.effort]
    share = min(1.0, (10 / k) ** SHORTER)
    found = search(
        problem,
        start,
        k,
        task.rng,
        between(progress, 0, THOUSANDTHS * 4 // 5),
        proof,
        objective=task.objective,
        work=int(share * max(steps.search * task.tuples, LEAST if steps.near > 0 else LEAST // 12)),
        heat=steps.warmth,
        near=steps.near * 10 / k,
        each=steps.boxes * (10 / k) ** 0.5,
        seconds=None if limit.left is None else SEARCHING * limit.left,
        clock=limit.clock,
    )
    return _proven(task, _polished(task, found, between(progress, THOUSANDTHS * 4 // 5, THOUSANDTHS), steps), proof)


def _polished(task: Task, found: Groups, progress: Progress, steps: Effort) -> Groups:
    """The groups of a search after some cuts of neighboring groups, which none of its moves makes."""
    limit = task.limit
    cuts = None if limit.seconds is not None else max(5, steps.polish * task.k // 10)
    polish = partial(refine, seconds=limit.left, heat=steps.glow, objective=task.objective, clock=limit.clock)
    return polish(task.problem, found, task.k, task.rng, progress, steps=cuts)


def _searched_by_own(task: Task, start: Groups, progress: Progress) -> Groups:
    """The search with a share of what rows lose at its start for prices: boxes are opened in which they lose less. To
    find prices took 15 times as long in a block of 23,525 tuples."""
    from sqlanon.udfs.after.search import search
    from sqlanon.udfs.evaluate.prices import Certificate

    problem, objective = task.problem, task.objective
    proof = Certificate(problem, OWN * costs.losses(problem, start, objective), "what rows lose at the start")
    opening = partial(search, objective=objective, near=NEAR, heat=LUKEWARM)
    work = int(task.steps.own * task.tuples * task.share)
    return opening(problem, start, task.k, task.rng, progress, proof, work=work)


def _refined(task: Task, start: Groups, progress: Progress, proof: Certificate | None) -> Groups:
    """The start, refined for so many steps as the effort says or as long as there is time."""
    problem, k, steps, limit = task.problem, task.k, task.steps, task.limit
    several = steps.refine * (steps.fewer if task.heat else 1) * task.share * (k / 10) ** steps.longer
    rounds = None if limit.seconds is not None else max(10, int(several))
    longer = partial(_improved(task, proof), seconds=limit.left, heat=task.heat, clock=limit.clock)
    found = longer(problem, start, k, task.rng, progress, steps=rounds)
    if not problem.models:
        return _proven(task, found, proof)
    dealt = found if task.objective in costs.PRIVATE else deal(problem, found, task.rng)
    return replace(dealt, report=dealt.report | {"refined": True})


def _proven(task: Task, groups: Groups, proof: Certificate | None) -> Groups:
    """The groups with what is known of the best possible."""
    if proof is None or task.objective != "ncp":
        return groups
    return replace(groups, report=groups.report | {"proven": proof.bound, "proven_by": proof.how})


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
