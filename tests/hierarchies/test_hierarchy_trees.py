"""The tree that rows or edges make: which are refused, its shape, and how it is numbered."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hierarchies_stored import WORK, catalog, nodes
from hypothesis import given
from hypothesis import strategies as st

import sqlanon
from sqlanon.errors import HierarchyError
from sqlanon.hierarchies.trees import Node, tree_from_edges, tree_from_paths

REFUSED = [
    ([("a", "x", "*"), ("b", "y", "*"), ("a", "y", "*")], r"Leaf 'a' has two parents: \(a, x, \*\), \(a, y, \*\)"),
    (
        [("a", "x", "1", "*"), ("b", "x", "2", "*"), ("c", "y", "1", "*")],
        r"Level 1 does not nest: \(a, x, 1, \*\), \(b, x, 2, \*\)",
    ),
    ([("a", "x", "*"), ("b", "y", "all")], r"2 tops, but there must be exactly one: \(a, x, \*\), \(b, y, all\)"),
    ([("a", "x", "*"), (None, "x", "*")], r"A leaf is empty \(NULL\)"),
    ([], "has no rows"),
    ([("*", "*")], "nothing below its top"),
    ([()], "has no rows|A leaf is empty"),
]


@pytest.mark.parametrize(("rows", "message"), REFUSED)
def test_rows_that_are_no_tree_are_refused_with_the_offending_ones(
    scratch: sqlanon.Connection, rows: list[Any], message: str
) -> None:
    sqlanon.create_hierarchy(scratch, "kept", rows=WORK)
    before = catalog(scratch)
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(scratch, "h", rows=rows)
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(scratch, "kept", rows=rows, replace=True)
    assert catalog(scratch) == before


REFUSED_EDGES = [
    ([("a", "x"), ("b", "x"), ("a", "y"), ("x", "*"), ("y", "*")], r"Node 'a' has two parents: \(a, x\), \(a, y\)"),
    ([("a", "x"), ("x", "y"), ("y", "x"), ("b", "*")], "form a cycle: x → y → x"),
    ([("a", "a"), ("b", "*")], "form a cycle: a → a"),
    ([("a", "b"), ("b", "a")], "form a cycle: a → b → a"),
    ([("*", "*"), ("a", "*")], "form a cycle"),
    ([("a", "x"), ("b", "y")], r"2 tops, but there must be exactly one: \(x\), \(y\)"),
    ([("a", None), ("b", None)], r"2 tops, but there must be exactly one: \(a\), \(b\)"),
    ([("a", "*"), (None, "*")], r"A child is empty \(NULL\)"),
    ([(None, None)], r"A child is empty \(NULL\)"),
    ([("*", None)], "nothing below its top"),
    ([], "has no rows"),
]


@pytest.mark.parametrize(("edges", "message"), REFUSED_EDGES)
def test_edges_that_are_no_tree_are_refused_with_the_offending_ones(
    scratch: sqlanon.Connection, edges: list[Any], message: str
) -> None:
    scratch.execute("create table e (child varchar, parent varchar)")
    if edges:
        scratch.executemany("insert into e values (?, ?)", edges)
    with pytest.raises(HierarchyError, match=message):
        scratch.execute("create hierarchy h from edges e")
    assert catalog(scratch) == [[], []]


def test_many_offending_rows_are_counted_not_listed() -> None:
    with pytest.raises(HierarchyError, match=r"\(a4, 4\) and 3 more$"):
        tree_from_paths([(f"a{top}", str(top)) for top in range(8)])


def test_unbalanced_trees_keep_their_shape(scratch: sqlanon.Connection) -> None:
    scratch.execute(
        "create table e as from (values ('b', '*'), ('x', '*'), ('y', 'x'), ('a', 'y'), ('c', 'x')) as e(c, p)"
    )
    scratch.execute("create hierarchy h from edges e")
    assert nodes(scratch, "h") == [
        (0, None, "*", 3, 0, 2),
        (1, 0, "b", 2, 0, 0),
        (2, 0, "x", 2, 1, 2),
        (3, 2, "y", 1, 1, 1),
        (4, 3, "a", 0, 1, 1),
        (5, 2, "c", 1, 2, 2),
    ]


def test_shorter_paths_that_end_in_the_same_top_make_an_unbalanced_tree() -> None:
    made = tree_from_paths([("a", "x", "*"), ("b", "*")])
    assert [(node.label, node.level, node.lo, node.hi) for node in made] == [
        ("*", 2, 0, 1),
        ("x", 1, 0, 0),
        ("a", 0, 0, 0),
        ("b", 1, 1, 1),
    ]


def test_a_label_repeated_up_its_path_is_one_leaf() -> None:
    made = tree_from_paths([("Private", "Private", "Private", "*"), ("a", "x", "y", "*"), ("b", "x", "y", "*")])
    assert [(node.label, node.level) for node in made if node.lo == node.hi == 0] == [("Private", 2)]


def test_a_leaf_may_be_called_as_its_parent_of_several() -> None:
    made = tree_from_paths([("x", "x", "*"), ("y", "x", "*")])
    assert [(node.label, node.level, node.lo, node.hi) for node in made] == [
        ("*", 2, 0, 1),
        ("x", 1, 0, 1),
        ("x", 0, 0, 0),
        ("y", 0, 1, 1),
    ]


@st.composite
def random_trees(draw: st.DrawFn) -> list[int]:
    """For each node from 1 on its parent, an earlier node."""
    return [draw(st.integers(0, child)) for child in range(draw(st.integers(1, 25)))]


def assert_is_numbered_depth_first(tree: list[Node]) -> None:
    assert [node.node for node in tree] == list(range(len(tree)))
    assert (tree[0].parent, tree[0].lo) == (None, 0)
    children: dict[int, list[Node]] = {}
    for node in tree[1:]:
        assert node.parent is not None
        assert node.parent < node.node
        assert tree[node.parent].level == node.level + 1
        children.setdefault(node.parent, []).append(node)
    leaves = [node for node in tree if node.node not in children]
    assert [(leaf.lo, leaf.hi) for leaf in leaves] == [(rank, rank) for rank in range(len(leaves))]
    assert min(node.level for node in tree) == 0
    assert tree[0].hi == len(leaves) - 1
    for parent, below in children.items():
        assert [below[0].lo, below[-1].hi] == [tree[parent].lo, tree[parent].hi]
        assert all(left.hi + 1 == right.lo for left, right in itertools.pairwise(below))


@given(random_trees(), st.randoms(use_true_random=False))
def test_random_edges_make_a_tree_whose_ranges_nest_and_partition(parents: list[int], random: Any) -> None:
    edges = [(f"n{child}", f"n{parent}") for child, parent in enumerate(parents, 1)]
    random.shuffle(edges)
    tree = tree_from_edges(edges)
    assert_is_numbered_depth_first(tree)
    labels = {node.node: node.label for node in tree}
    assert {(node.label, labels[node.parent]) for node in tree if node.parent is not None} == set(edges)


@given(random_trees(), st.randoms(use_true_random=False))
def test_random_paths_make_the_tree_that_their_edges_make(parents: list[int], random: Any) -> None:
    above = [None, *parents]
    depth = [0]
    for parent in parents:
        depth.append(depth[parent] + 1)
    height = max(depth)
    rows = []
    for leaf in set(range(len(above))) - set(parents):
        steps: list[int] = []
        here: int | None = leaf
        while here is not None:
            steps.append(here)
            here = above[here]
        labels = [f"n{step}" for step in steps]
        rows.append((labels[0], *[None] * (height + 1 - len(labels)), *labels[1:]))
    random.shuffle(rows)
    tree = tree_from_paths(rows)
    assert_is_numbered_depth_first(tree)
    labels_of = {node.node: node.label for node in tree}
    assert {(node.label, labels_of[node.parent]) for node in tree if node.parent is not None} == {
        (f"n{child}", f"n{parent}") for child, parent in enumerate(parents, 1)
    }


def test_the_catalog_is_readable_from_python(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "work", rows=WORK)
    (row,) = scratch.execute("from anon.hierarchies").fetchall()
    assert row[:5] == ("work", "tree", "{}", 3, 3)


def test_the_tree_is_printed_in_depth_first_order(scratch: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(scratch, "Work", rows=WORK)
    assert scratch.execute("from anon.hierarchy_tree('wORK')").fetchall() == [
        ("*", 3),
        ("  Private", 1),
        ("  Gov", 2),
        ("    Federal", 1),
        ("    State", 1),
    ]
