"""What was proved of a release, as a value: the catalog keeps it as JSON, files and reports repeat it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Proof:
    """The property that holds and how much of it.

    `k` is the smallest class, or what its kind of release counts instead. `models` holds what sensitive columns reach:
    model → column → value. `left_out` counts rows of the source that are not released where some may be suppressed, and
    `outside_population` rows of the source that the population has no people for. `linked_k` is how many people share
    the rarest set of rows, where people could be counted: whoever knows all rows of a person finds this many.
    """

    property: str
    k: int
    classes: int
    rows: int
    models: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    left_out: int | None = None
    outside_population: int | None = None
    linked_k: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Flat, as the catalog and JSON have it: models by their names, and nothing that does not apply."""
        plain: dict[str, Any] = {"property": self.property, "k": self.k, "classes": self.classes, "rows": self.rows}
        plain |= {model: dict(reached) for model, reached in self.models.items()}
        counts = {"left_out": self.left_out, "outside_population": self.outside_population}
        counts |= {"linked_k": self.linked_k}
        return plain | {count: rows for count, rows in counts.items() if rows is not None}

    def json(self) -> str:
        """As text, for the catalog."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> Proof:
        """The proof that `json` wrote."""
        given = json.loads(text)
        own = ("property", "k", "classes", "rows", "left_out", "outside_population", "linked_k")
        return cls(
            **{fact: given[fact] for fact in own if fact in given},
            models={model: reached for model, reached in given.items() if model not in own},
        )
