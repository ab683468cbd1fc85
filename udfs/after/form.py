"""The groups of any method, so that they keep the models: by its own means where it has them, by repair elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sqlanon.udfs.after.repair import repair, spread
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Problem


def form(
    method: Method,
    parameters: Mapping[str, Any],
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Groups:
    """What the method makes of the problem; every group keeps all models."""
    is_plain = not problem.models or problem.l is not None
    if problem.sensitive is None or method.is_diverse:
        groups = method.cluster(problem, k, rng, progress, **parameters)
    elif method.is_l_diverse and is_plain:
        groups = method.cluster(_renumbered(problem, rng), k, rng, progress, **parameters)
    elif method.sees_sensitive(parameters):
        groups = method.cluster(replace(problem, models=()), k, rng, progress, **parameters)
    else:
        merged, place = problem.merged()
        groups = spread(method.cluster(merged, k, rng, progress, **parameters), place, problem.counts, rng)
    return repair(problem, groups, progress)


def _renumbered(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with the values of each sensitive column numbered at random: methods that deal values to groups in
    turn go by their numbers, and frequency l by how often a value occurs."""
    assert problem.sensitive is not None
    columns = [rng.permutation(int(codes.max(initial=0)) + 1)[codes] for codes in problem.sensitive.T]
    return replace(problem, sensitive=np.column_stack(columns))
