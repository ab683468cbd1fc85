"""One cell of a comparison: a method at one k, what was asked of it and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.policy.policy import Policy
from sqlanon.udfs.methods import METHODS


@dataclass(frozen=True)
class Cell:
    """One method at one k: what it lost and how long it took, or why it did not."""

    method: str
    k: int
    status: str
    message: str | None = None
    seconds: float | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    proof: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Is there a verified release that was measured?"""
        return self.status == "done"

    @property
    def has_classes(self) -> bool:
        """Does the method promise classes of k equal rows, as most do, or something else?"""
        return METHODS[self.method].is_homogeneous and not METHODS[self.method].is_exact

    @property
    def mark(self) -> str:
        """What its row says of itself: nothing, † where the promise is another, or why there are no values."""
        return ("" if self.has_classes else "†") if self.is_done else self.status

    @property
    def note(self) -> str:
        """What its mark stands for."""
        if not self.is_done:
            return self.message or self.status
        if self.has_classes:
            return ""
        is_exact = METHODS[self.method].is_exact
        return f"another promise: {'exact values, the sensitive ones apart' if is_exact else 'each row has k matches'}"


@dataclass(frozen=True)
class _Asked:
    """A cell of the grid before it is run: its policy, or why there can be none."""

    method: str
    k: int
    options: Mapping[str, Any]
    policy: Policy | None
    problem: str | None = None

    @property
    def key(self) -> str:
        """By what its result is found again."""
        return self.policy.json() if self.policy else json.dumps(self.options, ensure_ascii=False, default=str)
