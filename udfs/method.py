"""What a core declares about itself: its paper, its cost, and its parameters with types and ranges."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.errors import PolicyError, not_one_of, option_name
from sqlanon.udfs.problem import Groups
from sqlanon.udfs.space.costs import PRIVATE

Progress = Callable[..., None]
"""Called with (done, total) now and then, and with facts by name such as moves or the loss so far; raises
InterruptedRunError when the user asked to stop."""
THOUSANDTHS = 1000
MEASURES = ("cost", "objective")
"""The parameters that name what a method minimizes."""


def measure_of(parameters: Mapping[str, Any]) -> str:
    """What a method with these parameters minimizes: NCP unless they name another measure."""
    asked = [str(parameters[option]) for option in MEASURES if parameters.get(option) is not None]
    return asked[0] if asked else "ncp"


def quiet(done: int, total: int, **facts: float) -> None:
    """Progress that nobody hears of."""


def between(progress: Progress, low: int, high: int) -> Progress:
    """Progress of one part of some work, which goes from `low` to `high` thousandths of all."""
    return lambda done, total, **facts: progress(low + (high - low) * done // max(1, total), THOUSANDTHS, **facts)


@dataclass(frozen=True)
class Parameter:
    """One option of a method: a number within [low, high], or one of some words. None stands for the default."""

    name: str
    default: float | str | None
    help: str
    low: float = 0.0
    high: float = math.inf
    is_whole: bool = False
    choices: tuple[str, ...] = ()

    def check(self, value: Any) -> float | str | None:
        """The value as the core takes it, or a PolicyError that names what it may be."""
        if value is None:
            return self.default
        if self.choices:
            if not isinstance(value, str) or value.lower() not in self.choices:
                raise PolicyError(f"{option_name(self.name)} is {value!r}; it must be {self.range}")
            return value.lower()
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_inside = is_number and self.low <= value <= min(self.high, sys.float_info.max)
        if not is_inside or (self.is_whole and value != int(value)):
            raise PolicyError(f"{option_name(self.name)} is {value!r}; it must be {self.range}")
        return int(value) if self.is_whole else float(value)

    @property
    def range(self) -> str:
        """What it may be, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = "a whole number" if self.is_whole else "a number"
        return (
            f"{kind} of {self.low:g} or more" if math.isinf(self.high) else f"{kind} from {self.low:g} to {self.high:g}"
        )


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
    is_diverse: bool = False
    """Does it see sensitive values and keep all models by itself? Other methods get them by the repair step."""
    is_l_diverse: bool = False
    """Does it so for frequency l, of each column by itself, and no other model?"""
    is_homogeneous: bool = True
    """Is every released class k rows or more? Otherwise k is kept in another way, and verified so."""
    is_exact: bool = False
    """Are quasi-identifiers released unchanged, with the sensitive values of each group apart?"""
    suppresses: bool = False
    """Does it take max_suppression as a parameter? Other methods get it by a step of its own (suppress.py)."""
    is_full_domain: bool = False
    """Is every column released at one level in all rows?"""
    block_size: int | None = 20_000
    """How many tuples it clusters at a time by default; a larger table is cut into blocks. None: never cut."""
    plain_block_size: int | None = None
    """The same, if it differs, where no model is required and a row's loss is that of its box alone."""
    counts_rows: bool = False
    """Do blocks hold this many rows instead? Where time depends on rows, whether they are distinct or not."""

    is_timed: bool = False
    """Does it take `time_budget` seconds, and which `part` of the table it sees?"""

    def sees_sensitive(self, parameters: Mapping[str, Any]) -> bool:
        """Does what it is asked to keep low depend on sensitive values?"""
        return any(parameters.get(option) in PRIVATE for option in MEASURES)

    @property
    def draws_in_secret(self) -> bool:
        """Would its random numbers, if known, tell which row stands for whom? Then no seed must bring them back."""
        return not self.is_homogeneous

    def check(self, given: Mapping[str, Any]) -> dict[str, float | str | None]:
        """All parameters with their values, defaults filled in."""
        known = {parameter.name for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise PolicyError(not_one_of(f"{self.name} option", name, sorted(known)))
        return {parameter.name: parameter.check(given.get(parameter.name)) for parameter in self.parameters}
