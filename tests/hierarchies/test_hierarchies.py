"""Hierarchies: every way of making one, the tree that is stored, what is refused, and how columns are bound to them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlanon
from sqlanon.errors import CatalogError, HierarchyError, PolicyError, SqlanonError
from sqlanon.hierarchies.trees import Node, tree_from_edges, tree_from_paths

WORK = [
    ("Private", "Private", "*"),
    ("Federal", "Gov", "*"),
    ("State", "Gov", "*"),
]
WORK_NODES = [
    (0, None, "*", 2, 0, 2),
    (1, 0, "Private", 1, 0, 0),
    (2, 0, "Gov", 1, 1, 2),
    (3, 2, "Federal", 0, 1, 1),
    (4, 2, "State", 0, 2, 2),
]


@pytest.fixture(scope="module")
def database() -> Iterator[sqlanon.Connection]:
    with sqlanon.connect() as connection:
        yield connection


@pytest.fixture
def con(database: sqlanon.Connection) -> Iterator[sqlanon.Connection]:
    """A connection whose schema and hierarchies are gone after the test."""
    database.execute("create schema scratch")
    with database.cursor() as connection:
        connection.execute("use memory.scratch")
        yield connection
    database.execute("drop schema scratch cascade; delete from anon.hierarchies; delete from anon.hierarchy_nodes")


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


def make_tables(con: sqlanon.Connection) -> None:
    con.execute("create table work (leaf varchar, level1 varchar, top varchar)")
    con.executemany("insert into work values (?, ?, ?)", WORK)
    con.execute(
        "create table edges as from (values ('Private', '*'), ('Gov', '*'), ('Federal', 'Gov'), ('State', 'Gov'))"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "create hierarchy work from table work",
        "create hierarchy work from table scratch.work",
        "create hierarchy work from edges edges",
        "create hierarchy work as select leaf, level1, top from work",
        "create hierarchy work as from work -- all of it",
        "create hierarchy work as values ('Private', 'Private', '*'), ('Federal', 'Gov', '*'), ('State', 'Gov', '*')",
    ],
)
def test_a_statement_stores_the_tree(con: sqlanon.Connection, statement: str) -> None:
    make_tables(con)
    assert con.execute(statement).fetchall() == [("work", "tree", 3, 3)]
    assert nodes(con, "work") == WORK_NODES


@pytest.mark.parametrize(
    "arguments",
    [
        {"rows": WORK},
        {"rows": [list(row) for row in WORK] * 2},
        {"table": "work"},
        {"table": '"scratch"."work"'},
        {"edges": "edges"},
        {"edges": "select * from edges union all select '*', null"},
        {"query": "select * from work;"},
        {"query": "(select * from work)"},
        {"table": "select * from work"},
    ],
)
def test_create_hierarchy_stores_the_tree(con: sqlanon.Connection, arguments: dict[str, Any]) -> None:
    make_tables(con)
    sqlanon.create_hierarchy(con, "work", **arguments)
    assert nodes(con, "work") == WORK_NODES


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("header", [[], [("workclass", "level 1", "level 2")]])
@pytest.mark.parametrize(("start", "newline"), [("", "\n"), ("\ufeff", "\r\n")])
def test_a_csv_is_read_whatever_its_delimiter_header_and_bom(
    con: sqlanon.Connection, tmp_path: Path, delimiter: str, header: list[Any], start: str, newline: str
) -> None:
    file = tmp_path / "it's work.csv"
    lines = [delimiter.join(row) for row in [*header, *WORK]]
    file.write_text(start + newline.join([*lines, "", ""]), encoding="utf-8", newline="")
    con.execute(f"create hierarchy work from '{str(file).replace(chr(39), chr(39) * 2)}'")
    assert nodes(con, "work") == WORK_NODES
    sqlanon.create_hierarchy(con, "same", csv=file)
    assert nodes(con, "same") == WORK_NODES


def test_a_csv_may_quote_cells_that_hold_its_delimiter(con: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text('"a, b",x,*\n"c ""d""",x,*\ne,y,*\n', encoding="utf-8")
    sqlanon.create_hierarchy(con, "h", csv=file)
    assert paths(con, "h") == {"a, b": ["x", "*"], 'c "d"': ["x", "*"], "e": ["y", "*"]}


def test_a_csv_with_semicolons_may_have_commas_in_its_labels(con: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("1;[0, 10[;[0, 20[;*\n12;[10, 20[;[0, 20[;*\n", encoding="utf-8")
    sqlanon.create_hierarchy(con, "h", csv=file)
    assert paths(con, "h") == {"1": ["[0, 10[", "[0, 20[", "*"], "12": ["[10, 20[", "[0, 20[", "*"]}


@pytest.mark.parametrize("leaf", ["a\nb", "a\u2028b", "a\x0cb", "a\x85b"])
def test_a_csv_cell_may_hold_any_kind_of_line_break(con: sqlanon.Connection, tmp_path: Path, leaf: str) -> None:
    file = tmp_path / "h.csv"
    file.write_text(f'"{leaf}",x,*\nc,x,*\n', encoding="utf-8", newline="")
    sqlanon.create_hierarchy(con, "h", csv=file)
    assert paths(con, "h") == {leaf: ["x", "*"], "c": ["x", "*"]}


def test_a_first_row_that_shares_a_label_with_the_others_is_no_header(con: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;X;all\nb;X;*\nc;X;*\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match=r"\(a, X, all\)"):
        sqlanon.create_hierarchy(con, "h", csv=file)


def test_an_empty_csv_cell_skips_a_level(con: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;x;*\nb;;*\n", encoding="utf-8")
    sqlanon.create_hierarchy(con, "h", csv=file)
    assert paths(con, "h") == {"a": ["x", "*"], "b": ["*"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no rows"),
        (b"\n \n", "has no rows"),
        (b"\xff\xfe;x;*", "is not UTF-8"),
        (b";x;*\nb;x;*\n", "A leaf is empty"),
    ],
)
def test_a_csv_that_makes_no_hierarchy_is_refused(
    con: sqlanon.Connection, tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "h.csv"
    file.write_bytes(content)
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(con, "h", csv=file)
    assert catalog(con) == [[], []]


def test_a_missing_csv_is_named(con: sqlanon.Connection) -> None:
    with pytest.raises(HierarchyError, match=r"Cannot read 'nowhere\.csv': No such file"):
        con.execute("create hierarchy h from 'nowhere.csv'")


def test_a_directory_is_no_csv(con: sqlanon.Connection, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="Cannot read"):
        sqlanon.create_hierarchy(con, "h", csv=tmp_path)


def test_leaves_of_any_type_are_kept_as_their_text(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h as select i, i < 2, null, '*' from range(3) as r(i)")
    assert paths(con, "h") == {"0": ["true", "*"], "1": ["true", "*"], "2": ["false", "*"]}


def test_a_single_column_is_a_flat_hierarchy(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h as values ('a'), ('b')")
    assert paths(con, "h") == {"a": ["*"], "b": ["*"]}


@pytest.mark.parametrize("arguments", [{}, {"prefix": True, "dates": True}, {"rows": WORK, "table": "work"}])
def test_exactly_one_way_must_be_given(con: sqlanon.Connection, arguments: dict[str, Any]) -> None:
    with pytest.raises(HierarchyError, match="Give exactly one of"):
        sqlanon.create_hierarchy(con, "h", **arguments)


@pytest.mark.parametrize("name", ["", " "])
def test_a_hierarchy_needs_a_name(con: sqlanon.Connection, name: str) -> None:
    with pytest.raises(HierarchyError, match="needs a name"):
        sqlanon.create_hierarchy(con, name, prefix=True)


def test_a_flat_hierarchy_needs_its_column(con: sqlanon.Connection) -> None:
    with pytest.raises(HierarchyError, match="needs its column"):
        sqlanon.create_hierarchy(con, "h", flat=True)


def test_a_tree_is_not_made_on_a_column(con: sqlanon.Connection) -> None:
    with pytest.raises(HierarchyError, match="not with rows"):
        sqlanon.create_hierarchy(con, "h", rows=WORK, on="t.c")


def test_edges_of_three_columns_are_refused(con: sqlanon.Connection) -> None:
    make_tables(con)
    with pytest.raises(HierarchyError, match="'work' has 3 columns; edges are two"):
        con.execute("create hierarchy h from edges work")


@pytest.mark.parametrize(
    "statement", ["create hierarchy h from table wrok", "create hierarchy h using prefix on wrok.leaf"]
)
def test_an_unknown_table_is_refused_with_the_nearest(con: sqlanon.Connection, statement: str) -> None:
    make_tables(con)
    with pytest.raises(CatalogError, match=r"wrok.* does not exist\. Did you mean 'work'\?"):
        con.execute(statement)


def test_an_unknown_column_is_refused_with_the_nearest(con: sqlanon.Connection) -> None:
    make_tables(con)
    with pytest.raises(CatalogError, match=r"'leafs' is not in .*\(columns: leaf, level1, top\)\. Did you mean 'leaf'"):
        con.execute("create hierarchy h flat on work.leafs")


def test_a_column_without_its_table_is_refused(con: sqlanon.Connection) -> None:
    with pytest.raises(CatalogError, match=r"write table\.column"):
        con.execute("create hierarchy h flat on leaf")


REFUSED = [
    ([("a", "x", "*"), ("b", "y", "*"), ("a", "y", "*")], r"Leaf 'a' has two parents: \(a, x, \*\), \(a, y, \*\)"),
    (
        [("a", "x", "1", "*"), ("b", "x", "2", "*"), ("c", "y", "1", "*")],
        r"Level 1 does not nest: \(a, x, 1, \*\), \(b, x, 2, \*\)",
    ),
    ([("a", "x", "*"), ("b", "y", "all")], r"2 tops, there must be one: \(a, x, \*\), \(b, y, all\)"),
    ([("a", "x", "*"), (None, "x", "*")], r"A leaf is empty \(NULL\)"),
    ([], "has no rows"),
    ([("*", "*")], "a top and nothing below it"),
    ([()], "has no rows|A leaf is empty"),
]


@pytest.mark.parametrize(("rows", "message"), REFUSED)
def test_rows_that_are_no_tree_are_refused_with_the_offending_ones(
    con: sqlanon.Connection, rows: list[Any], message: str
) -> None:
    sqlanon.create_hierarchy(con, "kept", rows=WORK)
    before = catalog(con)
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(con, "h", rows=rows)
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(con, "kept", rows=rows, replace=True)
    assert catalog(con) == before


REFUSED_EDGES = [
    ([("a", "x"), ("b", "x"), ("a", "y"), ("x", "*"), ("y", "*")], r"Node 'a' has two parents: \(a, x\), \(a, y\)"),
    ([("a", "x"), ("x", "y"), ("y", "x"), ("b", "*")], "round in a circle: x → y → x"),
    ([("a", "a"), ("b", "*")], "round in a circle: a → a"),
    ([("a", "b"), ("b", "a")], "round in a circle: a → b → a"),
    ([("*", "*"), ("a", "*")], "round in a circle"),
    ([("a", "x"), ("b", "y")], r"2 tops, there must be one: \(x\), \(y\)"),
    ([("a", None), ("b", None)], r"2 tops, there must be one: \(a\), \(b\)"),
    ([("a", "*"), (None, "*")], r"A child is empty \(NULL\)"),
    ([(None, None)], r"A child is empty \(NULL\)"),
    ([("*", None)], "a top and nothing below it"),
    ([], "has no rows"),
]


@pytest.mark.parametrize(("edges", "message"), REFUSED_EDGES)
def test_edges_that_are_no_tree_are_refused_with_the_offending_ones(
    con: sqlanon.Connection, edges: list[Any], message: str
) -> None:
    con.execute("create table e (child varchar, parent varchar)")
    if edges:
        con.executemany("insert into e values (?, ?)", edges)
    with pytest.raises(HierarchyError, match=message):
        con.execute("create hierarchy h from edges e")
    assert catalog(con) == [[], []]


def test_many_offending_rows_are_counted_not_listed() -> None:
    with pytest.raises(HierarchyError, match=r"\(a4, 4\) and 3 more$"):
        tree_from_paths([(f"a{top}", str(top)) for top in range(8)])


def test_unbalanced_trees_keep_their_shape(con: sqlanon.Connection) -> None:
    con.execute("create table e as from (values ('b', '*'), ('x', '*'), ('y', 'x'), ('a', 'y'), ('c', 'x')) as e(c, p)")
    con.execute("create hierarchy h from edges e")
    assert nodes(con, "h") == [
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


def test_the_catalog_is_readable_from_python(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    (row,) = con.execute("from anon.hierarchies").fetchall()
    assert row[:5] == ("work", "tree", "{}", 3, 3)


def test_the_tree_is_printed_in_depth_first_order(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "Work", rows=WORK)
    assert con.execute("from anon.hierarchy_tree('wORK')").fetchall() == [
        ("*", 3),
        ("  Private", 1),
        ("  Gov", 2),
        ("    Federal", 1),
        ("    State", 1),
    ]


def test_intervals_of_whole_numbers_are_printed_with_both_ends(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([17, 18, 19, 20, 25, 79, 80, 99]) as age")
    con.execute("create hierarchy age using intervals (5, 10) below 18 above 80 on t.age")
    assert paths(con, "age") == {
        "17": ["<18", "*"],
        "18": ["[18-19]", "*"],
        "19": ["[18-19]", "*"],
        "20": ["[20-24]", "[20-29]", "*"],
        "25": ["[25-29]", "[20-29]", "*"],
        "79": ["[75-79]", "[70-79]", "*"],
        "80": [">=80", "*"],
        "99": [">=80", "*"],
    }


def test_intervals_of_negative_numbers_count_from_the_anchor(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([-11, -7, -6, -2, -1, 0, 4]) as v")
    sqlanon.create_hierarchy(con, "v", intervals=[5, 10], anchor=-1, on="t.v")
    assert paths(con, "v") == {
        "-11": ["[-11--7]", "[-11--2]", "*"],
        "-7": ["[-11--7]", "[-11--2]", "*"],
        "-6": ["[-6--2]", "[-11--2]", "*"],
        "-2": ["[-6--2]", "[-11--2]", "*"],
        "-1": ["[-1-3]", "[-1-8]", "*"],
        "0": ["[-1-3]", "[-1-8]", "*"],
        "4": ["[4-8]", "[-1-8]", "*"],
    }


def test_intervals_of_decimals_are_printed_half_open(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([-0.25, 0.0, 0.5, 0.75]::decimal(4, 2)[]) as v")
    sqlanon.create_hierarchy(con, "v", intervals=[0.5, 1], on="t.v")
    assert paths(con, "v") == {
        "-0.25": ["[-0.5-0)", "[-1-0)", "*"],
        "0.00": ["[0-0.5)", "[0-1)", "*"],
        "0.50": ["[0.5-1)", "[0-1)", "*"],
        "0.75": ["[0.5-1)", "[0-1)", "*"],
    }


def test_intervals_of_one_are_the_numbers_themselves(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([1, 2]) as v")
    sqlanon.create_hierarchy(con, "v", intervals=[1, 2], on="t.v")
    assert paths(con, "v") == {"1": ["[0-1]", "*"], "2": ["[2-3]", "*"]}


NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def contains(label: str, value: Decimal) -> bool:
    """Does the interval, as it is printed, hold the value?"""
    if label == "*":
        return True
    if bounds := re.fullmatch(rf"\[({NUMBER})-({NUMBER})([\])])", label):
        low, high = Decimal(bounds[1]), Decimal(bounds[2])
        return low <= value < high or (bounds[3] == "]" and value == high)
    if coded := re.fullmatch(rf"(<|>=)({NUMBER})", label):
        return value < Decimal(coded[2]) if coded[1] == "<" else value >= Decimal(coded[2])
    return Decimal(label) == value


INTERVALS = [
    ("decimal(6,1)", "i / 10", "range(-35, 36)", {"intervals": [0.1, 0.5]}),
    ("double", "i / 10", "range(-35, 36)", {"intervals": [0.1, 0.5]}),
    ("double", "i / 100", "range(0, 200, 7)", {"intervals": [0.01, 0.07], "anchor": 0.03, "below": 0.1, "above": 1.7}),
    ("float", "i / 10", "range(-35, 36)", {"intervals": [0.1, 0.3]}),
    ("double", "1234567.5 + i", "range(0, 40)", {"intervals": [5, 10], "below": 1234570, "above": 1234599}),
    ("decimal(18,3)", "98765432.125 + i", "range(0, 40)", {"intervals": [0.5, 5]}),
    ("bigint", "9007199254740992 + i", "range(0, 30)", {"intervals": [5, 10]}),
    ("bigint", "-9007199254740992 - i", "range(0, 30)", {"intervals": [5, 10]}),
    ("integer", "999990 + i", "range(0, 30)", {"intervals": [2.5, 5], "below": 999995, "above": 1000010}),
    ("utinyint", "i", "range(0, 256)", {"intervals": [5, 10, 20], "anchor": 3, "below": 18, "above": 80}),
    ("hugeint", "i", "range(-9, 10)", {"intervals": [3], "anchor": 1}),
]


@pytest.mark.parametrize(("type_name", "value", "numbers", "arguments"), INTERVALS)
def test_every_printed_interval_contains_its_values(
    con: sqlanon.Connection, type_name: str, value: str, numbers: str, arguments: dict[str, Any]
) -> None:
    con.execute(f"create table t as select cast({value} as {type_name}) as v from {numbers} as r(i)")
    sqlanon.create_hierarchy(con, "v", **arguments, on="t.v")
    wrong = {
        leaf: above
        for leaf, above in paths(con, "v").items()
        if not all(contains(label, Decimal(leaf)) for label in above)
    }
    assert wrong == {}


@pytest.mark.parametrize(("type_name", "value", "numbers", "arguments"), INTERVALS)
def test_every_released_interval_contains_its_values(
    con: sqlanon.Connection, type_name: str, value: str, numbers: str, arguments: dict[str, Any]
) -> None:
    con.execute(f"create table t as select cast({value} as {type_name}) as v from {numbers} as r(i)")
    sqlanon.create_hierarchy(con, "v", **arguments)
    released = sqlanon.anonymize(con, "select v, v::varchar as was from t", quasi="v", unsafe_keep="was", k=2)
    wrong = [row for row in released.relation().fetchall() if not contains(row[0], Decimal(row[1]))]
    assert wrong == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intervals": []}, "at least one width"),
        ({"intervals": [0]}, "widths must be above 0"),
        ({"intervals": [-5]}, "widths must be above 0"),
        ({"intervals": [5, 12]}, "intervals of 12 do not nest over those of 5"),
        ({"intervals": [10, 5]}, "do not nest"),
        ({"intervals": [5, 5]}, "do not nest"),
        ({"intervals": [0.1, 0.25]}, "do not nest"),
        ({"intervals": [float("nan")]}, "finite number"),
        ({"intervals": [float("inf")]}, "finite number"),
        ({"intervals": ["5"]}, "must be a number"),
        ({"intervals": [True]}, "must be a number"),
        ({"intervals": [5], "anchor": float("inf")}, "anchor is inf"),
        ({"intervals": [5], "below": 80, "above": 18}, r"below \(80\) must be less than above \(18\)"),
        ({"intervals": [5], "below": 18, "above": 18}, "must be less than"),
        ({"intervals": [5], "below": float("nan")}, "below is nan"),
        ({"intervals": [5], "above": "80"}, "above is '80'"),
        ({"intervals": [5], "above": float("inf")}, "above is inf"),
    ],
)
def test_intervals_that_make_no_hierarchy_are_refused(
    con: sqlanon.Connection, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(con, "h", **arguments)
    assert catalog(con) == [[], []]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_intervals_on_a_column_that_holds_no_finite_number_somewhere_are_refused(
    con: sqlanon.Connection, value: str
) -> None:
    con.execute(f"create table t as select unnest([1.0::double, 2.0::double, '{value}'::double]) as v")
    with pytest.raises(SqlanonError, match="infinite"):
        con.execute("create hierarchy v using intervals (5) on t.v")
    assert catalog(con) == [[], []]


@pytest.mark.parametrize("extra", [{"anchor": 5}, {"below": 18}, {"above": 80}])
def test_bounds_without_intervals_are_refused(con: sqlanon.Connection, extra: dict[str, Any]) -> None:
    with pytest.raises(HierarchyError, match="intervals"):
        sqlanon.create_hierarchy(con, "h", prefix=True, **extra)


def test_widths_written_as_decimals_nest_as_written(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h using intervals (0.1, 0.3, 0.6)")
    assert con.execute("select kind, height, leaves from anon.hierarchies").fetchall() == [("intervals", None, None)]


def test_prefixes_of_codes_end_in_stars(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest(['4350', '4351', '4400']) as zip")
    con.execute("create hierarchy zip using prefix on t.zip")
    assert paths(con, "zip") == {
        "4350": ["435*", "43**", "4***", "*"],
        "4351": ["435*", "43**", "4***", "*"],
        "4400": ["440*", "44**", "4***", "*"],
    }


def starts(label: str, value: str) -> bool:
    return value.startswith(label.rstrip("*"))


def test_prefixes_of_codes_of_different_length_are_prefixes(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest(['4', '43', '4350', '5', '52', '52å0']) as zip")
    con.execute("create hierarchy zip using prefix on t.zip")
    assert all(starts(label, leaf) for leaf, above in paths(con, "zip").items() for label in above)


CODES = st.lists(st.text(alphabet="124", min_size=1, max_size=4), min_size=4)


@pytest.mark.parametrize("type_name", ["varchar", "integer"])
@given(codes=CODES)
@settings(max_examples=15, deadline=None)
def test_every_released_prefix_is_a_prefix_of_its_codes(
    database: sqlanon.Connection, type_name: str, codes: list[str]
) -> None:
    sqlanon.create_hierarchy(database, "prefixes", prefix=True, replace=True)
    listed = ", ".join(f"'{code}'" for code in codes)
    source = f"select code::{type_name} as code, code as was from (select unnest([{listed}]) as code)"
    made = sqlanon.anonymize(database, source, quasi="code", unsafe_keep="was", k=2, hierarchies={"code": "prefixes"})
    assert [row for row in made.relation().fetchall() if not starts(*row)] == []


def test_whole_numbers_of_different_length_get_prefixes_of_their_own(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([5, 43, 52, 430, 431, 52, 5, 43]) as code")
    sqlanon.create_hierarchy(con, "code", prefix=True)
    for k in (2, 3, 4):
        source = "select code, code::varchar as was from t"
        released = sqlanon.anonymize(con, source, quasi="code", unsafe_keep="was", k=k)
        assert [row for row in released.relation().fetchall() if not starts(*row)] == []


def test_enum_codes_get_prefixes_of_their_own_whatever_the_enums_order(con: sqlanon.Connection) -> None:
    con.execute("create type code as enum ('43', '52', '44', '51')")
    con.execute("create table t as select unnest(['43', '52', '44', '51'])::code as code")
    sqlanon.create_hierarchy(con, "code", prefix=True)
    source = "select code, code::varchar as was from t"
    released = sqlanon.anonymize(con, source, quasi="code", unsafe_keep="was", k=2)
    assert [row for row in released.relation().fetchall() if not starts(*row)] == []


def test_dates_rise_by_month_quarter_year_and_decade(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([date '1999-12-31', date '2000-01-01']) as born")
    con.execute("create hierarchy born using dates on t.born")
    assert paths(con, "born") == {
        "1999-12-31": ["1999-12", "1999-Q4", "1999", "1990s", "*"],
        "2000-01-01": ["2000-01", "2000-Q1", "2000", "2000s", "*"],
    }


@pytest.mark.parametrize("type_name", ["timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"])
def test_timestamps_rise_by_day_first(con: sqlanon.Connection, type_name: str) -> None:
    con.execute(f"create table t as select '2024-05-06 07:08:09'::{type_name} as seen")
    sqlanon.create_hierarchy(con, "seen", dates=True, on="t.seen")
    assert paths(con, "seen") == {"2024-05-06 07:08:09": ["2024-05-06", "2024-05", "2024-Q2", "2024", "2020s", "*"]}


def test_a_released_date_is_the_part_that_its_class_shares(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest(['2024-01-01', '2024-01-09', '1999-05-05', '1999-08-08'])::date as d")
    con.execute("create hierarchy parts using dates")
    sql = "select distinct d from anon.anonymize('t', quasi := ['d'], k := 2, hierarchies := MAP {'d': 'parts'})"
    assert sorted(con.execute(sql).fetchall()) == [("1999",), ("2024-01",)]


def test_a_flat_hierarchy_puts_every_value_under_the_top_and_leaves_null_out(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest(['a', 'b', null, 'a']) as c")
    con.execute("create hierarchy c flat on t.c")
    assert paths(con, "c") == {"a": ["*"], "b": ["*"]}


def test_a_rule_on_a_column_without_values_is_refused(con: sqlanon.Connection) -> None:
    con.execute("create table t as select null::integer as c")
    with pytest.raises(HierarchyError, match=r"Column 't\.c' holds no values"):
        con.execute("create hierarchy c using intervals (5) on t.c")


@pytest.mark.parametrize(
    ("rule", "column"),
    [("intervals (5)", "word"), ("intervals (5)", "day"), ("dates", "word"), ("dates", "number"), ("prefix", "day")],
)
def test_a_rule_that_does_not_fit_the_columns_type_is_refused(con: sqlanon.Connection, rule: str, column: str) -> None:
    con.execute("create table t as select 'x' as word, 1 as number, date '2024-01-01' as day from range(4)")
    with pytest.raises(PolicyError, match=f"does not fit column '{column}'"):
        con.execute(f"create hierarchy h using {rule} on t.{column}")
    con.execute(f"create hierarchy h using {rule}")
    with pytest.raises(PolicyError, match=f"Hierarchy 'h' .* does not fit column '{column}'"):
        sqlanon.anonymize(con, "t", quasi=column, k=2, hierarchies={column: "h"})


STRANGE = ['a "b" c; drop', "größe 🦆", "it's", "a.b", "select", "-- x", "$1", "{nodes}", "%s"]


@pytest.mark.parametrize("name", STRANGE)
def test_a_hierarchy_may_have_any_name(con: sqlanon.Connection, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    con.execute(f"create hierarchy {quoted} as values ('a', 'x', '*'), ('b', 'x', '*'), ('c', 'y', '*')")
    assert con.execute("select name from anon.hierarchies").fetchall() == [(name,)]
    con.execute(f"create table t ({quoted} varchar)")
    con.execute("insert into t values ('a'), ('b'), ('c'), ('c')")
    released = sqlanon.anonymize(con, "t", quasi=[name], k=2, hierarchies={name: name})
    assert sorted(released.relation().fetchall()) == [("c",), ("c",), ("x",), ("x",)]
    assert con.execute("from anon.hierarchy_gaps('t', $1, $1)", [name]).fetchall() == []
    con.execute(f"drop hierarchy {quoted}")
    assert catalog(con) == [[], []]


@pytest.mark.parametrize("label", [*STRANGE, "", " ", "*", "NULL", "a\nb"])
def test_a_leaf_may_have_any_label(con: sqlanon.Connection, label: str) -> None:
    sqlanon.create_hierarchy(con, "c", rows=[(label, "*"), ("other", "*")])
    con.execute("create table t (c varchar)")
    con.executemany("insert into t values (?)", [[label]] * 2)
    assert sqlanon.anonymize(con, "t", quasi="c", k=2).relation().fetchall() == [(label,)] * 2


def test_a_table_and_column_may_have_any_name(con: sqlanon.Connection) -> None:
    table, column = '"t; ""1"".x"', '"c \'ü\' ""q"" .y"'
    con.execute(f"create table {table} ({column} varchar)")
    con.execute(f"insert into {table} values ('a')")
    con.execute(f"create hierarchy h flat on {table}.{column}")
    assert paths(con, "h") == {"a": ["*"]}


def test_a_hierarchy_that_exists_is_not_overwritten(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    before = catalog(con)
    with pytest.raises(CatalogError, match="Hierarchy 'WORK' exists already"):
        con.execute("create hierarchy WORK using prefix")
    assert catalog(con) == before


def test_a_refused_duplicate_changes_nothing_in_the_callers_transaction(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    before = catalog(con)
    con.execute("begin")
    with pytest.raises(CatalogError, match="exists already"):
        sqlanon.create_hierarchy(con, "work", prefix=True)
    con.execute("commit")
    assert catalog(con) == before


def test_or_replace_replaces_whatever_the_case(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    con.execute("create or replace hierarchy WORK as values ('a', '*')")
    assert con.execute("select name, height, leaves from anon.hierarchies").fetchall() == [("WORK", 2, 1)]
    assert con.execute("select distinct name from anon.hierarchy_nodes").fetchall() == [("WORK",)]


def test_or_replace_makes_what_is_not_there(con: sqlanon.Connection) -> None:
    con.execute("create or replace hierarchy h using prefix")
    assert con.execute("select name, kind from anon.hierarchies").fetchall() == [("h", "prefix")]


def test_a_rolled_back_hierarchy_is_gone(con: sqlanon.Connection) -> None:
    con.execute("begin")
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    assert len(nodes(con, "work")) == 5
    con.execute("rollback")
    assert catalog(con) == [[], []]


def test_dropping_takes_the_nodes_along_whatever_the_case(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    sqlanon.create_hierarchy(con, "zip", prefix=True)
    assert con.execute("drop hierarchy WORK").fetchall() == [("WORK",)]
    sqlanon.drop_hierarchy(con, "Zip")
    assert catalog(con) == [[], []]


def test_dropping_what_is_not_there_is_refused_with_the_nearest(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    with pytest.raises(CatalogError, match=r"Unknown hierarchy 'wrok' \(hierarchies: work\)\. Did you mean 'work'\?"):
        con.execute("drop hierarchy wrok")
    with pytest.raises(CatalogError, match="Unknown hierarchy"):
        sqlanon.drop_hierarchy(con, "wrok")


def test_if_exists_drops_what_is_there_and_accepts_what_is_not(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h using prefix")
    con.execute("drop hierarchy if exists h")
    con.execute("drop hierarchy if exists h")
    sqlanon.drop_hierarchy(con, "h", missing_ok=True)
    assert catalog(con) == [[], []]


def test_hierarchies_are_refused_on_a_connection_without_sqlanon() -> None:
    with duckdb.connect() as plain, pytest.raises(CatalogError, match=r"call sqlanon\.load\(con\) first"):
        sqlanon.create_hierarchy(plain, "h", prefix=True)


def gaps(con: sqlanon.Connection, column: str, hierarchy: str) -> list[Any]:
    rows: list[Any] = con.execute("from anon.hierarchy_gaps('t', $1, $2)", [column, hierarchy]).fetchall()
    return rows


def test_gaps_of_a_tree_are_the_values_that_are_no_leaf_with_their_counts(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    con.execute("create table t as select unnest(['Private', 'Gov', 'x', 'x', 'State', null, '*', 'federal']) as c")
    assert gaps(con, "c", "work") == [("x", 2), ("*", 1), ("Gov", 1), ("federal", 1)]
    assert gaps(con, "C", "WORK") == gaps(con, "c", "work")


def test_gaps_of_intervals_are_what_is_no_finite_number(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h using intervals (5)")
    con.execute("create table t as select unnest(['1', '2.5', '-1e3', 'x', 'x', 'nan', 'inf', '', null]) as c")
    assert gaps(con, "c", "h") == [("x", 2), ("", 1), ("inf", 1), ("nan", 1)]


def test_gaps_of_dates_are_what_is_no_finite_date(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h using dates")
    con.execute("create table t as select unnest(['2024-01-31', '2024-01-32', 'infinity', 'x', null]) as c")
    assert gaps(con, "c", "h") == [("2024-01-32", 1), ("infinity", 1), ("x", 1)]


def test_a_prefix_has_no_gaps(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h using prefix")
    con.execute("create table t as select unnest(['4350', '', null]) as c")
    assert gaps(con, "c", "h") == []


@pytest.mark.parametrize("rows", ["select 'a' as c", "select null::varchar as c", "select 'a' as c limit 0"])
def test_gaps_of_an_unknown_hierarchy_are_an_error(con: sqlanon.Connection, rows: str) -> None:
    con.execute(f"create table t as {rows}")
    with pytest.raises(duckdb.Error, match="There is no hierarchy 'nope'"):
        gaps(con, "c", "nope")


def test_gaps_of_an_unknown_column_or_table_are_an_error(con: sqlanon.Connection) -> None:
    con.execute("create hierarchy h using prefix")
    with pytest.raises(duckdb.Error, match="does not exist"):
        gaps(con, "c", "h")
    con.execute("create table t as select 1 as a")
    with pytest.raises(duckdb.BinderException, match='"nope"'):
        gaps(con, "nope", "h")


def test_running_with_gaps_is_an_error_that_counts_them_and_changes_nothing(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    con.execute("create table t as select unnest(['Private', 'Private', 'secret1', 'secret2', 'secret2']) as job")
    before = con.execute("select database_name, table_name from duckdb_tables() order by all").fetchall()
    message = r"2 of the values of column 'job' .*'work'.*anon\.hierarchy_gaps\('.*', 'job', 'work'\)"
    with pytest.raises(SqlanonError, match=message) as caught:
        con.execute("create anonymized view v as from t options (quasi = [job], k = 2, hierarchies = {job: work})")
    assert "secret" not in str(caught.value)
    with pytest.raises(duckdb.Error, match=message):
        con.execute(
            "create table u as from anon.anonymize('t', quasi := ['job'], k := 2, hierarchies := MAP {'job': 'work'})"
        )
    assert con.execute("select database_name, table_name from duckdb_tables() order by all").fetchall() == before
    assert con.execute("from anon.releases").fetchall() == []


def released(con: sqlanon.Connection, options: str) -> list[Any]:
    return sorted(con.execute(f"from anon.anonymize('t', k := 2, {options})").fetchall(), key=str)


def test_a_column_takes_the_hierarchy_of_its_name_whatever_the_case(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([21, 24]) as Age")
    con.execute("create hierarchy aGE using intervals (5)")
    assert released(con, "quasi := ['age']") == [("[20-24]",)] * 2


def test_one_hierarchy_serves_several_columns(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([21, 24]) as a, unnest([7, 8]) as b")
    con.execute("create hierarchy fives using intervals (5)")
    options = "quasi := ['a', 'b'], hierarchies := MAP {'a': 'fives', 'B': 'FIVES'}"
    assert released(con, options) == [("[20-24]", "[5-9]")] * 2


def test_one_stored_tree_serves_several_columns(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "work", rows=WORK)
    con.execute("create table t as select unnest(['Federal', 'State']) as now, unnest(['State', 'Private']) as before")
    options = "quasi := ['now', 'before'], hierarchies := MAP {'now': 'work', 'before': 'work'}"
    assert released(con, options) == [("Gov", "*")] * 2


def test_a_hierarchy_bound_to_null_is_none(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([21, 24]) as age")
    con.execute("create hierarchy age using intervals (5)")
    assert released(con, "quasi := ['age'], hierarchies := MAP {'age': NULL}") == [("[21-24]",)] * 2
    made = sqlanon.anonymize(con, "t", quasi="age", k=2, hierarchies={"age": None})
    assert made.relation().fetchall() == [("[21-24]",)] * 2


def test_an_unknown_hierarchy_is_refused_with_the_nearest(con: sqlanon.Connection) -> None:
    con.execute("create table t as select unnest([21, 24]) as age")
    con.execute("create hierarchy fives using intervals (5)")
    with pytest.raises(PolicyError, match=r"Unknown hierarchy 'fife' \(hierarchies: fives\)\. Did you mean 'fives'\?"):
        sqlanon.anonymize(con, "t", quasi="age", k=2, hierarchies={"age": "fife"})


def test_null_has_its_own_place_under_the_top(con: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(con, "job", rows=WORK)
    con.execute("create table t as select unnest(['Federal', 'State', null, null]) as job")
    assert released(con, "quasi := ['job']") == [("Gov",), ("Gov",), (None,), (None,)]
