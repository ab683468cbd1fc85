"""Efforts: how long `auto` searches, in steps and work, or in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

PACES = {"best": 1e-3, "balanced": 2e-4, "fast": 1e-4}
"""The search by prices is that of the first effort for which the budget has this many seconds for each tuple."""


@dataclass(frozen=True)
class Effort:
    """How many steps peel and refine may take, those of refine at k = 10.

    They grow with the power `longer` of k: a step takes less time where groups are fewer, and does less. The heat is
    that of refine.
    """

    peel: int
    refine: int
    longer: float = 0.2
    heat: float = 0.0
    fewer: float = 1.0
    """The share of steps with heat, which take longer."""
    exchange: int = 0
    """Work of the search with models for each row."""
    search: int = 0
    """Work of the search by prices for each tuple, up to k = 10; less of larger groups, whose moves it takes more,"""
    own: int = 0
    """and by what rows lose at its start, where there are too many tuples to find prices."""
    near: float = 0.0
    """How near to being tight boxes are that it opens, in mean prices, at k = 10, at most,"""
    boxes: float = 0.0
    """how many there are for each tuple at most, both the fewer the larger groups are, as boxes then have more rows,"""
    warmth: float = 1.5
    """and its heat at the beginning."""
    polish: int = 0
    """Steps of refine after it, at k = 10, in proportion to k: moves find less the more rows they displace,"""
    glow: float = 0.0
    """and their heat."""


EFFORTS = {
    "fast": Effort(10_000, 20, search=2_000, polish=10),
    "balanced": Effort(
        150_000,
        400,
        heat=0.1,
        fewer=0.7,
        exchange=28_000,
        search=23_000,
        own=2_500,
        near=0.5,
        boxes=5,
        warmth=4.0,
        polish=30,
        glow=0.05,
    ),
    "best": Effort(
        150_000,
        6_000,
        longer=0.5,
        heat=0.5,
        exchange=175_000,
        search=450_000,
        near=1.0,
        boxes=5,
        warmth=8.0,
        polish=400,
        glow=0.03,
    ),
}


@dataclass(frozen=True)
class Limit:
    """What is left of a budget in seconds, if there is one."""

    seconds: float | None
    clock: Callable[[], float]
    begin: float

    @property
    def left(self) -> float | None:
        """Seconds, 0 if it is used up; None if there is no budget."""
        return None if self.seconds is None else max(0.0, self.seconds - (self.clock() - self.begin))

    def effort(self, asked: str, tuples: int) -> str | None:
        """The effort of a search by prices, if there is time for one in a table of this many tuples."""
        if self.seconds is None:
            return asked
        return next((effort for effort, pace in PACES.items() if self.seconds >= pace * tuples), None)
