"""Rounds: how the ascents of prices go on, chosen on Adult.

A round lists the boxes that are nearly broken, then raises all prices by a step and projects them onto these boxes,
again and again with smaller steps.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Round:
    """One ascent, in units of the mean price: which boxes are near enough to be listed, which of those listed before
    stay, and how steps fall."""

    near: float
    stay: float
    steps: int
    first: float
    last: float
    is_charging: bool = False
    """Do regions charge fees?"""


ROUND = 3
"""How many times as long as a walk a round takes, and the walk at the end."""
FIRST = Round(0.15, 0.1, 20, 0.12, 0.08)
PLENTY, CROWDED = 12, 0.5
"""Work is plenty if it suffices for this many walks like the first that lists boxes, and for more where k is above 10
or that listed more boxes than this for each tuple."""
AMPLE = (
    Round(0.3, 0.5, 40, 0.2, 0.1, is_charging=True),
    Round(0.2, 0.3, 70, 0.1, 0.04, is_charging=True),
    Round(0.1, 0.2, 140, 0.04, 0.01, is_charging=True),
    Round(0.05, 0.2, 140, 0.01, 0.001, is_charging=True),
)
"""The rounds after the first where work is plenty,"""
SCARCE = (
    Round(0.05, 0.2, 80, 0.08, 0.025),
    Round(0.05, 0.2, 150, 0.025, 0.006, is_charging=True),
    Round(0.03, 0.2, 200, 0.01, 0.003, is_charging=True),
    Round(0.03, 0.2, 300, 0.005, 0.001, is_charging=True),
    Round(0.3, 0.3, 100, 0.03, 0.01, is_charging=True),
    Round(0.05, 0.2, 300, 0.01, 0.001, is_charging=True),
)
"""and where it is not;"""
AGAIN = 3 * (
    Round(0.1, 0.5, 200, 0.05, 0.01, is_charging=True),
    Round(0.05, 0.5, 300, 0.01, 0.001, is_charging=True),
)
MOST_LEFT = 0.75
"""those that follow as long as most of the work is left, this share of it."""
SETTLED = 1.0001
"""Their prices count only if they add up to this many times as much, as by then hardly any box is broken that was not
listed; once they do not, the ascent is over."""
