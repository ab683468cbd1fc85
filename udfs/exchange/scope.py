"""What the search knows: combinations of sensitive values that it can count, and objectives that are one for all."""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.problem import Ints, Problem
from sqlanon.udfs.space.costs import PRIVATE

COMBINATIONS = 1024
ROOM = 1 << 25
"""Groups times combinations, at most."""


def combinations(problem: Problem) -> Ints:
    """The combination of sensitive values of each tuple."""
    assert problem.sensitive is not None
    codes = problem.sensitive[:, problem.columns]
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)


def can_search(problem: Problem, k: int, objective: str) -> bool:
    """Does the search know what is asked?"""
    if not problem.models or problem.entity is not None or objective in PRIVATE:
        return False
    values = int(combinations(problem).max(initial=0)) + 1
    return values <= COMBINATIONS and values * (problem.rows // max(k, 1) + 1) <= ROOM
