"""Generalization hierarchies: kept as tables, made from tables, edges, files, queries or rules."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.names import resolve, split_column
from sqlanon.engine.session import Session, now, run, transaction, translate_errors, unwrap
from sqlanon.errors import CatalogError, HierarchyError, not_one_of, replacing
from sqlanon.families import type_family
from sqlanon.hierarchies.definition import Definition
from sqlanon.hierarchies.files import csv_rows
from sqlanon.hierarchies.rules import Rule
from sqlanon.hierarchies.trees import Node, ambiguous, tree_from_edges, tree_from_paths
from sqlanon.sqltext import name, render

log = logging.getLogger("sqlanon")


@dataclass(frozen=True)
class StoredHierarchy:
    """A hierarchy as the catalog has it: a tree with this many levels and leaves, or a rule with its settings."""

    name: str
    kind: str
    settings: dict[str, Any]
    height: int | None
    leaves: int | None


def stored_hierarchy(catalog: Catalog, name: str) -> StoredHierarchy:
    """The hierarchy of this name, or an error that lists them."""
    asked = "select name, kind, settings, height, leaves from {}.hierarchies where lower(name) = lower($1)"
    rows = catalog.run(asked.format(catalog.schema), [name])
    if not rows:
        known = [hierarchy.name for hierarchy in catalog.hierarchies().known]
        raise CatalogError(not_one_of("hierarchy", name, known, "hierarchies"))
    stored, kind, settings, height, leaves = rows[0]
    return StoredHierarchy(stored, kind, json.loads(settings), height, leaves)


def nodes_in_order(catalog: Catalog, name: str) -> list[tuple[int, str, int, bool]]:
    """The nodes of a stored hierarchy, depth first: depth, label, leaves, and whether it is one."""
    return catalog.run(render("steps/report/outline.sql", anon=catalog.schema), [name])


def create_hierarchy(
    con: Any,
    name: str,
    *,
    csv: str | Path | None = None,
    table: str | None = None,
    edges: str | None = None,
    query: str | None = None,
    rows: Sequence[Sequence[str | None]] | None = None,
    intervals: Sequence[float] | None = None,
    anchor: float | None = None,
    below: float | None = None,
    above: float | None = None,
    prefix: bool = False,
    dates: bool = False,
    flat: bool = False,
    on: str | None = None,
    replace: bool = False,
) -> None:
    """Make a hierarchy and store it in `anon.hierarchies` and `anon.hierarchy_nodes`.

    Give one of: `csv`, `table`, `query` or `rows` in ARX's shape (leaf, level 1, ..., top); `edges`, a table of
    (child, parent); `intervals`, widths over numbers, with `anchor`, `below` and `above`; `prefix` of a code;
    `dates`; `flat`. The rules intervals, prefix and dates serve any column of a fitting type; with `on="table.column"`
    they, and flat, are worked out for that column's values and stored as nodes.
    """
    given = Definition(csv, table, edges, query, rows, intervals, anchor, below, above, prefix, dates, flat, on)
    if not name or not name.strip():
        raise HierarchyError("A hierarchy needs a name")
    raw = unwrap(con)
    with translate_errors(), transaction(raw):
        nodes = _nodes(raw, given)
        if doubtful := ambiguous(nodes):
            more = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
            log.warning(
                "Hierarchy '%s': %s%s for several sets of values, such as a value and a group, so a reader cannot tell "
                "which is meant. %s",
                name,
                ", ".join(map(repr, doubtful[:3])) + more,
                " stands" if len(doubtful) == 1 else " each stand",
                "It is measured as the widest; give each set a label of its own"
                if len(doubtful) == 1
                else "Each is measured as the widest; give them labels of their own",
            )
        _store(Catalog.of(raw), name, None if nodes else given.rule, nodes, replace)


def _nodes(con: Session, given: Definition) -> list[Node]:
    """The nodes of a hierarchy; none for a rule that serves any column."""
    if given.csv is not None:
        return tree_from_paths(csv_rows(Path(given.csv)))
    if given.rows is not None:
        return tree_from_paths(given.rows)
    if given.edges is not None:
        return tree_from_edges(_table_rows(con, given.edges, columns=2))
    if given.rule is None:
        return tree_from_paths(_table_rows(con, str(given.table if given.query is None else given.query)))
    return [] if given.on is None else tree_from_paths(_rule_rows(con, given.rule, given.on))


def drop_hierarchy(con: Any, name: str, *, missing_ok: bool = False) -> None:
    """Remove a hierarchy. Releases made with it stay as they are."""
    raw = unwrap(con)
    with translate_errors(), transaction(raw):
        catalog = Catalog.of(raw)
        if not _remove(catalog, name) and not missing_ok:
            known = [hierarchy.name for hierarchy in catalog.hierarchies().known]
            raise CatalogError(not_one_of("hierarchy", name, known, "hierarchies"))


def _stored(catalog: Catalog, hierarchy: str) -> list[tuple[Any, ...]]:
    return catalog.run(f"select name from {catalog.schema}.hierarchies where lower(name) = lower($1)", [hierarchy])


def _remove(catalog: Catalog, hierarchy: str) -> bool:
    found = _stored(catalog, hierarchy)
    for row in found:
        catalog.run(f"delete from {catalog.schema}.hierarchies where name = $1", row)
        catalog.run(f"delete from {catalog.schema}.hierarchy_nodes where name = $1", row)
    return bool(found)


def _store(catalog: Catalog, hierarchy: str, rule: Rule | None, nodes: list[Node], replace: bool) -> None:
    if not replace and _stored(catalog, hierarchy):
        raise CatalogError(f"Hierarchy '{hierarchy}' already exists. To replace it, use {replacing('HIERARCHY')}")
    _remove(catalog, hierarchy)
    height = nodes[0].level + 1 if nodes else None
    leaves = nodes[0].hi + 1 if nodes else None
    catalog.run(
        f"insert into {catalog.schema}.hierarchies (name, kind, settings, height, leaves, created_at) "
        "values ($1, $2, $3, $4, $5, $6)",
        [hierarchy, rule.kind if rule else "tree", json.dumps(rule.settings if rule else {}), height, leaves, now()],
    )
    if nodes:
        catalog.run(
            f"insert into {catalog.schema}.hierarchy_nodes by name select $name as name, unnest($node) as node, "
            "unnest($parent::integer[]) as parent, unnest($label::varchar[]) as label, unnest($level) as level, "
            "unnest($lo) as lo, unnest($hi) as hi",
            {"name": hierarchy}
            | {field: [getattr(n, field) for n in nodes] for field in ("node", "parent", "label", "level", "lo", "hi")},
        )


def _table_rows(con: Session, asked: str, columns: int | None = None) -> list[tuple[str | None, ...]]:
    source = resolve(con, asked)
    if columns is not None and len(source.columns) != columns:
        raise HierarchyError(
            f"'{source.shown}' has {len(source.columns)} columns; a table of edges has two: child, parent"
        )
    cells = ", ".join(f"cast({name(column)} as varchar)" for column in source.columns)
    return run(con, f"select {cells} from {source.relation}")


def _rule_rows(con: Session, rule: Rule, on: str) -> list[tuple[str | None, ...]]:
    """The rule worked out for the values of a column, as paths."""
    table, asked = split_column(on)
    source = resolve(con, table)
    (column,) = source.resolve_names([asked])
    family = type_family(column, source.types[column])
    rule.check(column, family, rule.kind)
    endless = f"select 1 from {source.relation} where not isfinite({name(column)}) limit 1"
    if family.may_be_infinite and run(con, endless):
        raise HierarchyError(f"Column '{on}' has NaN or infinite values. Replace them, for example by NULL")
    domain = render(
        "steps/encode/domain_values.sql",
        column=name(column),
        order=rule.order,
        position=family.position,
        distance="cast(null as double)",
    )
    leaves = run(
        con,
        f"with tuples as (from {source.relation}), domain as ({domain}) select rank, label from domain "
        "where value is not null order by rank",
    )
    levels = run(
        con,
        f"with tuples as (from {source.relation}), domain as materialized ({domain}) "
        f"from ({rule.levels_sql('domain', family)}) order by rank, level",
    )
    paths: dict[int, list[str | None]] = {rank: [label] for rank, label in leaves}
    for rank, _, label in levels:
        paths[rank].append(label)
    if not paths:
        raise HierarchyError(f"Column '{on}' has no values")
    return [(*path, "*") for path in paths.values()]
