"""Auto: the default. Peel finds the groups, refine polishes them for as long as the user wants to wait.

`objective` is the measure that both keep low; peel goes by NCP as well, and refine starts with the better of the two.
Where models are required, so does a peel that is blind to them, and all starts are repaired first.
`effort` counts in steps, so that the same seed gives the same groups: 'fast' is peel and a short polish, 'balanced'
takes about ten times as long, 'best' a minute or two on a table like Adult. `time_budget` counts in seconds instead:
peel runs to its end, and what is left of the budget goes to refine.

Time O(E (s d + r (d + log E))) and memory O(E (d + h)) for s steps of peel and r of refine over E distinct tuples with
d attributes of h levels. Above `LARGE` tuples in the table s and r fall in proportion, as each step does more work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from sqlanon.udfs.after import repair
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.exchange.deal import deal
from sqlanon.udfs.exchange.run import SEARCHED, exchanged
from sqlanon.udfs.exchange.starts import starts as others
from sqlanon.udfs.method import THOUSANDTHS, Method, Parameter, Progress, between
from sqlanon.udfs.methods import peel
from sqlanon.udfs.problem import Groups, Problem
from sqlanon.udfs.space import costs

LARGE = 50_000
ENOUGH = 50_000
"""Steps of peel that a large table has at least."""
SMALL = 20_000
"""Tables of this many tuples can afford to repair a start that breaks its models almost everywhere."""
PER_TUPLE = 20
"""Steps of peel are at most this many per tuple: a small table has few classes to find."""


@dataclass(frozen=True)
class Effort:
    """How many steps peel and refine may take, those of refine at k = 10.

    They grow with the power `longer` of k: a step takes less time where groups are fewer, and does less.
    """

    peel: int
    refine: int
    longer: float = 0.2
    heat: float = 0.0
    exchange: int = 0
    """Work of the search with models for each row."""


EFFORTS = {
    "fast": Effort(10_000, 20),
    "balanced": Effort(150_000, 400, exchange=10_000),
    "best": Effort(150_000, 6_000, longer=0.5, heat=0.5, exchange=80_000),
}


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
    """Peel, then refine. The problem is this part of a table that was cut into blocks."""
    begin = clock()
    steps = EFFORTS[effort]
    share = min(1.0, LARGE * part / len(problem.counts))
    fewer = min(steps.peel, max(ENOUGH, int(steps.peel * share)), PER_TUPLE * len(problem.counts) + 1000)
    measures = list(dict.fromkeys(("ncp", objective)))
    parts = [THOUSANDTHS // 4 * i // len(measures) for i in range(len(measures) + 1)]
    starts = [
        peel.cluster(problem, k, rng, between(progress, *part), objective=measure, steps=fewer)
        for measure, part in zip(measures, pairwise(parts), strict=True)
    ]
    if problem.models:
        pause = partial(progress, THOUSANDTHS // 4, THOUSANDTHS)
        starts = _repaired(problem, k, rng, pause, fewer, starts, objective)
    groups = min(starts, key=lambda start: costs.excess(problem, start, objective))
    if problem.models and problem.rows >= SEARCHED and steps.exchange:
        rest = between(progress, THOUSANDTHS // 4, THOUSANDTHS)
        seconds = None if time_budget is None else max(0.0, time_budget - (clock() - begin))
        work = None if seconds is not None else int(steps.exchange * problem.rows * share)
        found = exchanged(problem, groups, k, rng, rest, work=work, seconds=seconds, objective=objective, clock=clock)
        if found is not None:
            return found
    rounds: int | None = max(10, int(steps.refine * share * (k / 10) ** steps.longer))
    seconds = None
    if time_budget is not None:
        rounds, seconds = None, max(0.0, time_budget - (clock() - begin))
    rest = between(progress, THOUSANDTHS // 4, THOUSANDTHS)
    found = refine(
        problem,
        groups,
        k,
        rng,
        rest,
        steps=rounds,
        seconds=seconds,
        heat=steps.heat,
        objective=objective,
        clock=clock,
    )
    return deal(problem, found, rng) if problem.models and objective not in costs.PRIVATE else found


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
)
