"""A hierarchy as the rest of the package sees it: its name, and the rule that makes it if it is one."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.hierarchies.rules import Rule
from sqlanon.sqltext import fold


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy in the catalog: stored nodes, or a rule that makes them for the column it is used on."""

    name: str
    rule: Rule | None


@dataclass(frozen=True)
class Hierarchies:
    """The hierarchies at hand, and the relations that hold the entries and the nodes of those that are stored."""

    known: tuple[Hierarchy, ...] = ()
    entries: str = ""
    nodes: str = ""

    @property
    def by_name(self) -> dict[str, Hierarchy]:
        """Each by its name, whatever its case."""
        return {fold(hierarchy.name): hierarchy for hierarchy in self.known}
