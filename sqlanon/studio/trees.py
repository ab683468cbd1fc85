"""A hierarchy worked out for a column: what every value becomes, how many rows that are, and what it does not cover."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import sqlanon
from sqlanon.studio.facade import Session, SqlanonError, quoted
from sqlanon.studio.looking import Looked, Profile
from sqlanon.studio.specs import MOST_ROWS, Spec
from sqlanon.studio.workspace import Source, paths

VALUES = 50_000
"""Different values that are looked at."""
WORKED = 2_000
"""Different values that a rule is worked out for, to show what it does."""
EXAMPLES = 12
CHILDREN = 12
"""Branches of a node that are shown before the rest is counted."""
Path_ = tuple[str, ...]


@dataclass
class Node:
    """A node of the picture: its rows, its values, and what is below it."""

    label: str
    rows: int = 0
    leaves: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    @property
    def shown(self) -> list[Node]:
        """The branches that are shown, the largest first."""
        return sorted(self.children.values(), key=lambda node: -node.rows)[:CHILDREN]

    @property
    def hidden(self) -> int:
        return max(0, len(self.children) - CHILDREN)


@dataclass(frozen=True)
class Level:
    """One level: how many labels it has, and the rows of the smallest."""

    number: int
    labels: int
    smallest: int


@dataclass(frozen=True)
class Preview:
    """What a hierarchy does to a column."""

    spec: Spec
    examples: tuple[tuple[Path_, int], ...] = ()
    levels: tuple[Level, ...] = ()
    gaps: tuple[tuple[str, int], ...] = ()
    gap_values: int = 0
    gap_rows: int = 0
    rows: int = 0
    nulls: int = 0
    unused: int = 0
    is_partial: bool = False
    tree: Node | None = None
    paths: tuple[Path_, ...] = ()

    @property
    def height(self) -> int:
        """The most levels that a value has, itself and the top included."""
        return max((len(path) for path, _ in self.examples), default=0)

    @property
    def covers(self) -> bool:
        return not self.gap_values


@contextmanager
def _undone(con: Session) -> Iterator[None]:
    """Whatever is made meanwhile is gone afterwards."""
    con.execute("begin transaction")
    try:
        yield
    finally:
        con.execute("rollback")


def preview(con: Session, source: Source, column: str, spec: Spec) -> Preview:
    """Work a hierarchy out for the values of a column."""
    counted = _values(con, source, column)
    rows, nulls = sum(counted.values()), _nulls(con, source, column)
    if spec.kind == "none":
        return Preview(spec, rows=rows, nulls=nulls)
    paths = paths_of(con, source, column, spec, list(counted))
    by_leaf = {path[0]: path for path in paths}
    is_rule = spec.kind != "rows" and len(by_leaf) < len(counted) and len(by_leaf) >= WORKED
    missing = {} if is_rule else {value: n for value, n in counted.items() if value not in by_leaf}
    found = [(path, counted.get(leaf, 0)) for leaf, path in by_leaf.items()]
    used = [each for each in found if each[1]] or found
    step = max(1, len(used) // EXAMPLES)
    return Preview(
        spec,
        examples=tuple(used[::step][:EXAMPLES]),
        levels=_levels(found),
        gaps=tuple(sorted(missing.items(), key=lambda each: -each[1])),
        gap_values=len(missing),
        gap_rows=sum(missing.values()),
        rows=rows,
        nulls=nulls,
        unused=sum(not n for _, n in found),
        is_partial=is_rule or len(counted) >= VALUES,
        tree=_tree(found),
        paths=tuple(by_leaf.values()),
    )


def paths_of(con: Session, source: Source, column: str, spec: Spec, values: Sequence[str]) -> list[Path_]:
    """The path of each value: itself, level 1, ..., top."""
    with _undone(con):
        name, given = f"studio {uuid.uuid4()}", spec.definition() if spec.is_own else {}
        if spec.kind == "stored":
            shown = sqlanon.show_hierarchy(con, str(spec.name))
            if shown.kind == "tree":
                return paths(shown.nodes)
            given = {"prefix": True} if shown.kind == "prefix" else {"dates": True}
            if shown.kind == "intervals":
                given = {key: value for key, value in shown.settings.items() if value is not None}
                given["intervals"] = given.pop("widths")
        if "rows" not in given:
            value = quoted(column)
            some = f"select distinct {value} as value from {source.relation} where {value} is not null"
            some = f"select value from ({some}) order by hash(value) limit {WORKED}"
            con.execute(f"create temporary table studio_values as {some}")
            given["on"] = "studio_values.value"
        sqlanon.create_hierarchy(con, name, **given)
        return paths(sqlanon.show_hierarchy(con, name).nodes)


def imported(con: Session, *, csv: Path | None = None, table: str | None = None, edges: bool = False) -> Spec:
    """The rows of a file as ARX writes it, or of a table of levels or of (child, parent), to keep and to edit."""
    with _undone(con):
        name = f"studio {uuid.uuid4()}"
        if csv is not None:
            sqlanon.create_hierarchy(con, name, csv=csv)
        elif edges:
            sqlanon.create_hierarchy(con, name, edges=table)
        else:
            sqlanon.create_hierarchy(con, name, table=table)
        found = paths(sqlanon.show_hierarchy(con, name).nodes)
    if len(found) > MOST_ROWS:
        raise SqlanonError(f"The hierarchy has {len(found):,} values; a page takes {MOST_ROWS:,} at most")
    return Spec("rows", rows=tuple(found))


def editable(found: Preview, with_gaps: bool = False) -> Spec:
    """The same hierarchy as a table of levels; values that it lacks can be put below the top."""
    top = found.paths[0][-1] if found.paths else "*"
    rows = [*found.paths, *((value, top) for value, _ in found.gaps)] if with_gaps else list(found.paths)
    return Spec("rows", rows=tuple(rows))


def suggested(column: Looked, profile: Profile) -> Spec:
    """A first guess: parts of dates, prefixes of codes, ranges for numbers."""
    if column.is_date:
        return Spec("dates")
    if column.name in profile.codes:
        return Spec("prefix")
    return Spec("none")


def _values(con: Session, source: Source, column: str) -> dict[str, int]:
    text = f"cast({quoted(column)} as varchar)"
    asked = (
        f"select {text} as value, count(*) as n from {source.relation} where {quoted(column)} is not null group by 1"
    )
    return dict(con.execute(f"{asked} order by n desc, value limit {VALUES}").fetchall())


def _nulls(con: Session, source: Source, column: str) -> int:
    return int(con.execute(f"select count(*) - count({quoted(column)}) from {source.relation}").fetchall()[0][0])


def _levels(found: Sequence[tuple[Path_, int]]) -> tuple[Level, ...]:
    sizes: dict[int, dict[str, int]] = {}
    for path, rows in found:
        for number, label in enumerate(path):
            at = sizes.setdefault(number, {})
            at[label] = at.get(label, 0) + rows
    return tuple(
        Level(number, len(at), min((n for n in at.values() if n), default=0)) for number, at in sorted(sizes.items())
    )


def _tree(found: Sequence[tuple[Path_, int]]) -> Node | None:
    if not found:
        return None
    root = Node(found[0][0][-1])
    for path, rows in found:
        here = root
        here.rows, here.leaves = here.rows + rows, here.leaves + 1
        for label in reversed(path[:-1]):
            here = here.children.setdefault(label, Node(label))
            here.rows, here.leaves = here.rows + rows, here.leaves + 1
    return root


def coarser(spec: Spec, paths: Sequence[Path_]) -> Spec:
    """The hierarchy without its lowest level."""
    return replace(spec, kind="rows", rows=tuple(dict.fromkeys(path[1:] for path in paths if len(path) > 2)))
