"""Starts: groups that keep the models, made by several methods, of which the search begins with the best.

Which method does best under a model depends on the model, on k and on the table, so that all that are cheap are tried.
A table of `SMALL` tuples can afford most methods of ours, though not topdown, which takes half as long as all others
together. Their groups keep the models by the method's own means or by repair, as if the method had been asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlanon.udfs.after.form import form
from sqlanon.udfs.after.repair import repair, spread
from sqlanon.udfs.exchange import strata
from sqlanon.udfs.legality import are_legal
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.methods import (
    agglomerative,
    bisecting,
    gaacp,
    hilbert,
    kaca,
    kacpc,
    kmember,
    linkage,
    mdav,
    mondrian,
    oka,
    peel,
    sequential,
)
from sqlanon.udfs.problem import Groups, Problem
from sqlanon.udfs.space.costs import COSTS, PRIVATE

MIDDLE = 3_000
SMALL = 1_000
"""Tuples up to which some methods are tried."""
COARSE = 1_000
"""Rows from which on a stratum is cut."""
STEPS = 10_000
"""Steps of a blind peel."""
MOSTLY = 0.5
LONGER: tuple[Method, ...] = (bisecting.METHOD, sequential.METHOD, hilbert.METHOD, agglomerative.METHOD)
MANY: tuple[Method, ...] = (
    kaca.METHOD,
    kacpc.METHOD,
    kmember.METHOD,
    gaacp.METHOD,
    linkage.METHOD,
    mdav.METHOD,
    mondrian.METHOD,
    oka.METHOD,
)


def rough(problem: Problem, k: int, rng: np.random.Generator, progress: Progress, objective: str) -> list[Groups]:
    """A start for tables where others take longer than what they gain: strata that are cut no further than to some
    hundred rows; and groups that are blind to the models, if these ask for so little that most of them keep them."""
    found = [strata.cluster(problem, k, rng, progress, objective, least=COARSE)]
    merged, place = problem.merged()
    blind = spread(peel.cluster(merged, k, rng, progress, steps=STEPS), place, problem.counts, rng)
    if are_legal(problem, blind.tuple, blind.group, blind.rows).mean() >= MOSTLY:
        found.append(repair(problem, blind, progress))
    return [replace(groups, report={}) for groups in found]


def starts(problem: Problem, k: int, rng: np.random.Generator, progress: Progress, objective: str) -> list[Groups]:
    """What the methods make that a table of this size can afford: groups that keep all models."""
    tuples = len(problem.counts)
    methods = [
        *(LONGER if tuples <= MIDDLE else ()),
        *(MANY if tuples <= SMALL else ()),
    ]
    found = [strata.cluster(problem, k, rng, progress, objective)]
    for method in methods:
        given = {}
        if objective in COSTS and objective not in PRIVATE and any(each.name == "cost" for each in method.parameters):
            given = {"cost": objective}
        groups = form(method, method.check(given), problem, k, rng, progress)
        found.append(replace(groups, report={}))
    return found
