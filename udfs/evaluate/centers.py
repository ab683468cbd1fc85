"""The information distortion of any groups: how far rows are from the centers of their groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlanon.udfs.methods.wfcmeans import Table
from sqlanon.udfs.problem import Groups, Problem


def information_distortion(problem: Problem, groups: Groups) -> float:
    """The information distortion S of equation (4) of any groups, scaled, with the weights 1 / attributes."""
    split = replace(problem, ranks=problem.ranks[groups.tuple], counts=groups.rows, sensitive=None)
    home = np.unique(groups.group, return_inverse=True)[1].reshape(-1)
    width = len(problem.attributes)
    return Table(split, "minmax", 0.0).distortion(home, np.full(width, 1 / width))
