"""What anon.hierarchies and anon.hierarchy_nodes hold, and a small tree to look for there."""

from __future__ import annotations

from typing import Any

import sqlanon

WORK = [
    ("Private", "Private", "*"),
    ("Federal", "Gov", "*"),
    ("State", "Gov", "*"),
]


def nodes(con: sqlanon.Connection, hierarchy: str) -> list[Any]:
    rows: list[Any] = con.execute(
        "select node, parent, label, level, lo, hi from anon.hierarchy_nodes where name = $1 order by node", [hierarchy]
    ).fetchall()
    return rows


def paths(con: sqlanon.Connection, hierarchy: str) -> dict[str, list[str]]:
    """From each leaf to the labels above it."""
    found = nodes(con, hierarchy)
    inner = {parent for _, parent, *_ in found}
    by_node = {row[0]: row for row in found}
    answer = {}
    for node, parent, label, *_ in found:
        if node not in inner:
            above = []
            while parent is not None:
                above.append(by_node[parent][2])
                parent = by_node[parent][1]
            answer[label] = above
    return answer


def catalog(con: sqlanon.Connection) -> list[Any]:
    return [
        con.execute("select name, kind, settings, height, leaves from anon.hierarchies order by all").fetchall(),
        con.execute("from anon.hierarchy_nodes order by all").fetchall(),
    ]


def released(con: sqlanon.Connection, options: str) -> list[Any]:
    return sorted(con.execute(f"from anon.anonymize('t', k := 2, {options})").fetchall(), key=str)
