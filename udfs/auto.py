"""Auto: the default. Peel finds the groups, refine polishes them for as long as the user wants to wait.

`effort` counts in steps, so that the same seed gives the same groups: 'fast' is peel and a short polish, 'balanced'
takes about ten times as long, 'best' a minute or two on a table like Adult. `time_budget` counts in seconds instead:
peel runs to its end, and what is left of the budget goes to refine.

Time O(E (s d + r (d + log E))) and memory O(E (d + h)) for s steps of peel and r of refine over E distinct tuples with
d attributes of h levels. Above `LARGE` tuples r falls in proportion, as each step does more work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Groups, Problem
from sqlanon.udfs.refine import refine

from sqlanon.udfs import peel

LARGE = 50_000
PER_TUPLE = 20
"""Steps of peel are at most so many per tuple: a small table has few classes to find."""
TENTHS = 1000


@dataclass(frozen=True)
class Effort:
    """How many steps peel and refine may take."""

    peel: int
    refine: int
    heat: float = 0.0


EFFORTS = {"fast": Effort(20_000, 10), "balanced": Effort(70_000, 300), "best": Effort(150_000, 6_000, heat=0.03)}


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    effort: str = "balanced",
    time_budget: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Groups:
    """Peel, then refine."""
    begin = clock()
    steps = EFFORTS[effort]
    fewer = min(steps.peel, PER_TUPLE * len(problem.counts) + 1000)
    groups = peel.cluster(problem, k, rng, _between(progress, 0, TENTHS // 4), steps=fewer)
    rounds: int | None = max(steps.refine * LARGE // max(LARGE, len(problem.counts)), min(10, steps.refine))
    seconds = None
    if time_budget is not None:
        rounds, seconds = None, max(0.0, time_budget - (clock() - begin))
    rest = _between(progress, TENTHS // 4, TENTHS)
    return refine(problem, groups, k, rng, rest, steps=rounds, seconds=seconds, heat=steps.heat, clock=clock)


def _between(progress: Progress, low: int, high: int) -> Progress:
    """Progress of one of several parts of the work."""
    return lambda done, total, **facts: progress(low + (high - low) * done // max(1, total), TENTHS)


METHOD = Method(
    name="auto",
    paper="peel, then a large-neighbourhood search (Shaw, CP 1998) for the loss of He et al., PAKDD 2012",
    cost="O(E (s d + r log E)) time, O(E d) memory for s and r steps over E distinct tuples with d attributes",
    use="the default: the least loss in the time given",
    cluster=cluster,
    parameters=(
        Parameter("effort", "balanced", "how long to search", choices=tuple(EFFORTS)),
        Parameter("time_budget", None, "seconds to spend instead; the answer then depends on the machine"),
    ),
    is_diverse=True,
)
