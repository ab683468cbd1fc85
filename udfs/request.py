"""What a run is asked to do: the one value that every engine hands to `solve`, as JSON where it passes through SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlanon.udfs.method import Method, measure_of
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.space.grid import ADDITIVE

LINKED = ("is_linked", "row_price", "row_order")
"""What is only told where people are grouped by all of their rows."""
LISTS = ("kinds", "weights", "sensitive", "distances", "names")
"""What JSON has as lists."""


@dataclass(frozen=True)
class Request:
    """A method with its parameters, what every group must keep, and how the problem's arrays are to be read.

    `kinds` says of each attribute whether it is 'numbers' or a 'tree'. `distances` holds, for each sensitive column,
    how far its values are apart for t: 'equal', 'ordered', or the number of the attribute of whose tree they are
    leaves. If it `is_linked`, people are grouped by all of their rows, in the order of the attribute `row_order`, and
    dropping a row has the `row_price`. Without a `seed`, random numbers are secret where the core sees sensitive
    values, and those of seed 0 elsewhere. `models` maps options to what they require of all `sensitive` columns, or of
    those that are named. `run` is the id of the run that wants to hear of it.
    """

    k: int
    kinds: tuple[str, ...]
    weights: tuple[float, ...]
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    models: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)
    recursive_c: float | None = None
    is_strict: bool = True
    sensitive: tuple[str, ...] = ()
    distances: tuple[str | int, ...] = ()
    entity: str | None = None
    is_linked: bool = False
    row_price: float = 1.0
    row_order: int | None = None
    has_population: bool = False
    max_suppression: float | None = None
    refine: bool = False
    forming: str = "free"
    block_size: int | None = None
    polish: bool = True
    """Are groups refined across the borders of blocks?"""
    limits: tuple[tuple[int | None, int | None] | None, ...] = ()
    """For each attribute the finest and the coarsest level that may be released; empty where there is no limit."""
    names: tuple[str, ...] = ()
    """What the attributes are called, for messages; empty where there is no limit."""
    run: str | None = None

    @property
    def core(self) -> Method:
        """The method that is required."""
        return METHODS[self.method]

    @property
    def tuples_at_once(self) -> int | None:
        """How many tuples are clustered at a time; None: all of them."""
        method = self.core
        is_plain = not self.models and self.entity is None and measure_of(self.parameters) in ADDITIVE
        return self.block_size or (is_plain and method.plain_block_size) or method.block_size

    def json(self) -> str:
        """As text that SQL carries to the function that runs it."""
        given = asdict(self)
        hidden = () if self.is_linked else LINKED
        usual = {"limits": (), "names": (), "polish": True}
        plain = {
            name: value
            for name, value in given.items()
            if name not in hidden and (name not in usual or value != usual[name])
        }
        return json.dumps(plain)

    @classmethod
    def of_json(cls, text: str) -> Request:
        """The request that `json` wrote."""
        given: dict[str, Any] = json.loads(text)
        limits = tuple(None if limit is None else (limit[0], limit[1]) for limit in given.pop("limits", ()))
        lists = {name: tuple(given[name]) for name in LISTS if name in given}
        return cls(**(given | lists), limits=limits)
