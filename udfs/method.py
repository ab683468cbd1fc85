"""What a core declares about itself: its paper, its cost, and its parameters with types and ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.udfs.problem import Groups

from sqlanon.errors import PolicyError, not_one_of

Progress = Callable[[int, int], None]
"""Called with (done, total) now and then; raises InterruptedRunError when the user asked to stop."""


@dataclass(frozen=True)
class Parameter:
    """One option of a method: a number within [low, high], or None where the default is None."""

    name: str
    default: float | None
    low: float
    high: float
    help: str

    def check(self, value: Any) -> float | None:
        """The value as a number in range, or a PolicyError that names the range."""
        if value is None:
            return self.default
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or math.isnan(value) or not self.low <= value <= self.high:
            raise PolicyError(f"{self.name} is {value!r}; it must be a number from {self.low:g} to {self.high:g}")
        return float(value)


Cluster = Callable[..., Groups]
"""A core, `cluster(problem, k, rng, progress, **parameters)`: arrays in, groups out.

It touches no connection, file or clock and leaves its input alone."""


@dataclass(frozen=True)
class Method:
    """A clustering method as users see it."""

    name: str
    paper: str
    cost: str
    use: str
    cluster: Cluster
    parameters: tuple[Parameter, ...] = ()

    def check(self, given: Mapping[str, Any]) -> dict[str, float | None]:
        """All parameters with their values, defaults filled in."""
        known = {parameter.name for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise PolicyError(not_one_of(f"{self.name} option", name, sorted(known)))
        return {parameter.name: parameter.check(given.get(parameter.name)) for parameter in self.parameters}
