"""Starts: groups that keep the models, made by several methods, of which the search begins with the best.

Which method does best under a model depends on the model, on k and on the table, so that all that are cheap are tried.
A table of `SMALL` tuples can afford most methods of ours. Their groups keep the models by the method's own means or by
repair, as if the method had been asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlanon.udfs.after.form import form
from sqlanon.udfs.exchange import strata
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
    sequential,
    topdown,
)
from sqlanon.udfs.problem import Groups, Problem
from sqlanon.udfs.space.costs import COSTS, PRIVATE

LARGE = 200_000
MIDDLE = 3_000
SMALL = 1_000
"""Tuples up to which some methods are tried."""
CHEAP: tuple[Method, ...] = (bisecting.METHOD,)
LONGER: tuple[Method, ...] = (sequential.METHOD, hilbert.METHOD, agglomerative.METHOD)
MANY: tuple[Method, ...] = (
    kaca.METHOD,
    kacpc.METHOD,
    kmember.METHOD,
    gaacp.METHOD,
    linkage.METHOD,
    mdav.METHOD,
    mondrian.METHOD,
    oka.METHOD,
    topdown.METHOD,
)


def starts(problem: Problem, k: int, rng: np.random.Generator, progress: Progress, objective: str) -> list[Groups]:
    """What the methods make that a table of this size can afford: groups that keep all models."""
    tuples = len(problem.counts)
    methods = [
        *(CHEAP if tuples <= LARGE else ()),
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
