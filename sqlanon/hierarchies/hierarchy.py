"""A hierarchy as the rest of the package sees it: its name, and the rule that makes it if it is one."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.hierarchies.rules import Rule


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy in the catalog: stored nodes, or a rule that makes them for the column it is used on."""

    name: str
    rule: Rule | None
