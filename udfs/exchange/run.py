"""The search and what follows it: a short polish of the groups, and the random dealing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.exchange.deal import deal
from sqlanon.udfs.exchange.scope import can_search
from sqlanon.udfs.method import Progress, between
from sqlanon.udfs.problem import Groups, Problem

SEARCHED = 1_000
"""Rows from which on the search is worth the time that its compilation takes."""
POLISH = 20
"""Steps of refining."""
WORK = 35_000
"""Work for each row where nothing else is asked for."""


def exchanged(
    problem: Problem,
    groups: Groups,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    work: int | None,
    seconds: float | None = None,
    objective: str = "ncp",
    clock: Callable[[], float] = time.monotonic,
) -> Groups | None:
    """The groups after the search, or None where it does not know what is asked. Imported when needed: numba alone
    takes longer than many a run."""
    if not can_search(problem, k, objective):
        return None
    from sqlanon.udfs.exchange.search import search

    part = between(progress, 0, 900)
    found = search(problem, groups, k, rng, part, work=work, seconds=seconds, objective=objective, clock=clock)
    found = refine(problem, found, k, rng, between(progress, 900, 1000), steps=POLISH, objective=objective)
    found = deal(problem, found, rng)
    return replace(found, report=found.report | {"exchanged": True})
