"""One cell of a comparison: a method at one k, what was required of it and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.catalog.comparisons import StoredCell
from sqlanon.policy.kinds import kind_of
from sqlanon.policy.policy import Policy


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

    @classmethod
    def of(cls, stored: StoredCell) -> Cell:
        """The cell as the catalog has it."""
        told = (json.loads(stored.measures), json.loads(stored.proof))
        return cls(stored.method, stored.k, stored.status, stored.message, stored.seconds, *told)

    @property
    def is_done(self) -> bool:
        """Is there a verified release that was measured?"""
        return self.status == "done"

    @property
    def has_classes(self) -> bool:
        """Does the method promise classes of k equal rows, as most do, or something else?"""
        return kind_of(self.method).has_classes

    @property
    def mark(self) -> str:
        """What its row says of itself: nothing, † where the promise is another, ‡ where something was done beyond the
        method, such as clustering in blocks, or why there are no values."""
        if not self.is_done:
            return self.status
        return ("" if self.has_classes else "†") + ("‡" if self.message else "")

    @property
    def note(self) -> str:
        """What its mark stands for."""
        if not self.is_done:
            return self.message or self.status
        promise = "" if self.has_classes else kind_of(self.method).note
        return "; ".join(part for part in (promise, self.message) if part)


@dataclass(frozen=True)
class Asked:
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
