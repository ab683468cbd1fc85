"""A policy file: a policy with the source it is for, the release it makes, and the hierarchies it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlanon.policy import toml
from sqlanon.policy.policy import Policy


@dataclass(frozen=True)
class Job:
    """A TOML file: a policy with the source it is for, the release's name, and the hierarchies it needs."""

    policy: Policy
    source: str | None = None
    name: str | None = None
    define: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    suggest: bool = False
    """Is a hierarchy drafted for each text column that has none?"""

    @classmethod
    def from_toml(cls, path: str | Path) -> Job:
        """Read and check a policy file."""
        own, options = toml.read(path)
        return cls(Policy.of(options), own["source"], own["name"], own["hierarchy"] or {}, bool(own["suggest"]))
