"""From paths or edges to a tree with its leaves in depth-first order, or an error with the rows that do not form a
tree."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlanon.errors import HierarchyError

SHOWN = 5
"""How many offending rows an error shows."""


@dataclass(frozen=True)
class Node:
    """A node of a stored hierarchy: the leaves below it have the ranks lo to hi."""

    node: int
    parent: int | None
    label: str
    level: int
    lo: int
    hi: int


def tree_from_paths(paths: Iterable[Sequence[str | None]]) -> list[Node]:
    """The tree of rows in ARX's shape: leaf, level 1, ..., top. An empty cell skips a level."""
    rows = list(dict.fromkeys(tuple(path) for path in paths))
    rows = [row for row in rows if row]
    if not rows:
        raise HierarchyError("The hierarchy has no rows")
    width = max(map(len, rows))  # a shorter row skips the levels just below its top
    rows = [row if len(row) < 2 else (*row[:-1], *[None] * (width - len(row)), row[-1]) for row in rows]
    if any(row[0] is None for row in rows):
        raise HierarchyError("A leaf is empty (NULL): NULL always has its own place under the top. Leave that row out")
    parents: dict[Hashable, Hashable] = {}
    labels: dict[Hashable, str] = {}
    roots: dict[Hashable, tuple[str | None, ...]] = {}
    for row in rows:
        steps = [(level, label) for level, label in enumerate(row) if label is not None]
        if len(row) == 1:
            steps.append((1, "*"))
        for step, above in itertools.pairwise(steps):
            if parents.setdefault(step, above) != above:
                what = f"leaf {step[1]!r} has two parents" if step[0] == 0 else f"level {step[0]} does not nest"
                raise HierarchyError(f"{_capital(what)}: {_shown(r for r in rows if step in enumerate(r))}")
        labels.update({step: str(step[1]) for step in steps})
        roots.setdefault(steps[-1], row)
    if len(roots) > 1:
        raise HierarchyError(
            f"The rows end in {len(roots)} tops, but there must be exactly one: {_shown(roots.values())}"
        )
    return _number(parents, labels, next(iter(roots)))


def ambiguous(nodes: Iterable[Node]) -> list[str]:
    """The labels that stand for several sets of values: a value and a group, or two groups. Whoever reads one in a
    release cannot tell which is meant."""
    meant: dict[str, set[tuple[int, int]]] = {}
    for node in nodes:
        meant.setdefault(node.label, set()).add((node.lo, node.hi))
    return [label for label, ranges in meant.items() if len(ranges) > 1]


def tree_from_edges(edges: Iterable[Sequence[str | None]]) -> list[Node]:
    """The tree of (child, parent) rows; the top may be given with an empty parent or not at all."""
    parents: dict[Hashable, Hashable] = {}
    rows = list(dict.fromkeys(tuple(edge) for edge in edges))
    for child, parent in rows:
        if child is None:
            raise HierarchyError("A child is empty (NULL): NULL always has its own place under the top")
        if parent is not None and parents.setdefault(child, parent) != parent:
            raise HierarchyError(f"Node {child!r} has two parents: {_shown(row for row in rows if row[0] == child)}")
    labels: dict[Hashable, str] = {label: str(label) for row in rows for label in row if label is not None}
    if not labels:
        raise HierarchyError("The hierarchy has no rows")
    roots = [label for label in labels if label not in parents]
    if len(roots) > 1:
        raise HierarchyError(
            f"There are {len(roots)} tops, but there must be exactly one: {_shown((root,) for root in roots)}"
        )
    reached = set(roots)
    for label in labels:
        trail: dict[Hashable, None] = {}
        here: Hashable = label
        while here not in reached:
            if here in trail:
                circle = [*list(trail)[list(trail).index(here) :], here]
                raise HierarchyError(f"The rows form a cycle: {' → '.join(map(str, circle[: SHOWN + 1]))}")
            trail[here] = None
            here = parents[here]
        reached.update(trail)
    return _number(parents, labels, roots[0])


def _number(parents: dict[Hashable, Hashable], labels: dict[Hashable, str], root: Hashable) -> list[Node]:
    """Number the nodes depth first, children in the order in which they were given."""
    children: dict[Hashable, list[Hashable]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    order: list[tuple[Hashable, int | None, int]] = []
    waiting: list[tuple[Hashable, int | None, int]] = [(root, None, 0)]
    while waiting:
        key, parent_number, depth = waiting.pop()
        below = children.get(key, [])
        # `Private;Private;*` is one node, a leaf under the top, not a chain of two.
        while len(below) == 1 and labels[below[0]] == labels[key]:
            below = children.get(below[0], [])
        waiting.extend((child, len(order), depth + 1) for child in reversed(below))
        order.append((key, parent_number, depth))
    height = max(depth for _, _, depth in order) + 1
    if height == 1:
        raise HierarchyError("The hierarchy has nothing below its top")
    lo = [len(order)] * len(order)
    hi = [-1] * len(order)
    is_inner = {parent for _, parent, _ in order}
    leaf = 0
    for number in range(len(order)):
        if number not in is_inner:
            lo[number] = hi[number] = leaf
            leaf += 1
    for number in range(len(order) - 1, 0, -1):
        above = order[number][1]
        assert above is not None
        lo[above], hi[above] = min(lo[above], lo[number]), max(hi[above], hi[number])
    return [
        Node(number, parent, labels[key], height - 1 - depth, lo[number], hi[number])
        for number, (key, parent, depth) in enumerate(order)
    ]


def _shown(rows: Iterable[Sequence[object]]) -> str:
    def listed() -> Iterator[str]:
        for row in rows:
            yield "(" + ", ".join("" if cell is None else str(cell) for cell in row) + ")"

    every = list(listed())
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + more


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
