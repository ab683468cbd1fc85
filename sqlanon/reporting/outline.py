"""A stored hierarchy to look at: as a tree in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sqlanon import wording
from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.hierarchies import nodes_in_order, stored_hierarchy
from sqlanon.engine.session import unwrap

SHOWN = 12
"""Leaves below one node that are shown before the rest is counted."""


@dataclass(frozen=True)
class Outline:
    """A hierarchy to look at: a tree of labels, or the rule that makes one."""

    name: str
    kind: str
    settings: dict[str, Any]
    height: int | None
    leaves: int | None
    nodes: tuple[tuple[int, str, int, bool], ...]
    """Depth, label, leaves, and whether it is one, depth first."""

    @property
    def title(self) -> str:
        """What it is, in a line."""
        if self.kind != "tree":
            settings = ", ".join(
                f"{setting} = {value}" for setting, value in self.settings.items() if value is not None
            )
            return f"{self.name}: the rule {self.kind}{f' ({settings})' if settings else ''}, for any column that fits"
        return f"{self.name}: {wording.plural(self.leaves or 0, 'leaf', 'leaves')} in {self.height} levels"

    def __str__(self) -> str:
        return "\n".join([self.title, *self.lines()])

    __repr__ = __str__

    def lines(self, shown: int = SHOWN) -> Iterator[str]:
        """The tree, drawn with lines; of many leaves below one node, some."""
        open_at: list[bool] = []
        nodes = self._some(shown)
        lasts = _lasts([depth for depth, *_ in nodes])
        for number, (depth, label, leaves, is_leaf) in enumerate(nodes):
            del open_at[max(depth - 1, 0) :]
            if not number:
                yield f"{label}  ({leaves:,})"
                continue
            is_last = lasts[number]
            branch = "".join("│  " if is_open else "   " for is_open in open_at)
            open_at.append(not is_last)
            yield f"{branch}{'└─ ' if is_last else '├─ '}{label}{'' if is_leaf else f'  ({leaves:,})'}"

    def _some(self, shown: int) -> list[tuple[int, str, int, bool]]:
        """The nodes, with a line in the place of too many leaves below one node."""
        siblings: dict[int, int] = {}
        kept: list[tuple[int, str, int, bool]] = []
        left_out: dict[int, int] = {}
        for depth, label, leaves, is_leaf in self.nodes:
            for deeper in [d for d in siblings if d > depth]:
                self._tell(kept, left_out, deeper)
                del siblings[deeper]
            siblings[depth] = siblings.get(depth, 0) + is_leaf
            if is_leaf and siblings[depth] > shown:
                left_out[depth] = left_out.get(depth, 0) + 1
            else:
                kept.append((depth, label, leaves, is_leaf))
        for depth in sorted(left_out, reverse=True):
            self._tell(kept, left_out, depth)
        return kept

    @staticmethod
    def _tell(kept: list[tuple[int, str, int, bool]], left_out: dict[int, int], depth: int) -> None:
        if count := left_out.pop(depth, 0):
            kept.append((depth, f"… and {count:,} more", 0, True))

    def _repr_html_(self) -> str:
        if self.kind != "tree":
            return f"<div><strong>{escape(self.title)}</strong></div>"
        parts: list[str] = []
        depth = 0
        for level, label, leaves, is_leaf in self._some(SHOWN):
            parts += ["</ul></details></li>"] * (depth - level)
            depth = level
            if is_leaf:
                parts.append(f"<li>{escape(label)}</li>")
                continue
            is_open = " open" if level < 2 else ""
            parts.append(f"<li><details{is_open}><summary>{escape(label)} <small>({leaves:,})</small></summary><ul>")
            depth += 1
        parts += ["</ul></details></li>"] * depth
        return f"<div><strong>{escape(self.title)}</strong><ul>{''.join(parts)}</ul></div>"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        nodes = [{"depth": d, "label": label, "leaves": n, "is_leaf": is_leaf} for d, label, n, is_leaf in self.nodes]
        return {
            "name": self.name,
            "kind": self.kind,
            "settings": self.settings,
            "height": self.height,
            "leaves": self.leaves,
            "nodes": nodes,
        }


def _lasts(depths: Sequence[int]) -> tuple[bool, ...]:
    """For each node of a tree in depth-first order: does no sibling come after it?"""
    lasts = []
    seen: set[int] = set()
    for depth in reversed(depths):
        seen = {other for other in seen if other <= depth}
        lasts.append(depth not in seen)
        seen.add(depth)
    return tuple(reversed(lasts))


def show_hierarchy(con: Any, name: str) -> Outline:
    """A stored hierarchy to look at: as a tree in a terminal and in a notebook."""
    catalog = Catalog.of(unwrap(con))
    stored = stored_hierarchy(catalog, name)
    nodes = tuple(nodes_in_order(catalog, stored.name))
    return Outline(stored.name, stored.kind, stored.settings, stored.height, stored.leaves, nodes)
