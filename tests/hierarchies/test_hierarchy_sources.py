"""Every way of making a hierarchy from rows: statements, tables, edges, queries and CSV files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hierarchies_stored import WORK, catalog, nodes, paths

import sqlanon
from sqlanon.errors import CatalogError, HierarchyError

WORK_NODES = [
    (0, None, "*", 2, 0, 2),
    (1, 0, "Private", 1, 0, 0),
    (2, 0, "Gov", 1, 1, 2),
    (3, 2, "Federal", 0, 1, 1),
    (4, 2, "State", 0, 2, 2),
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
def test_a_statement_stores_the_tree(scratch: sqlanon.Connection, statement: str) -> None:
    make_tables(scratch)
    assert scratch.execute(statement).fetchall() == [("work", "tree", 3, 3)]
    assert nodes(scratch, "work") == WORK_NODES


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
def test_create_hierarchy_stores_the_tree(scratch: sqlanon.Connection, arguments: dict[str, Any]) -> None:
    make_tables(scratch)
    sqlanon.create_hierarchy(scratch, "work", **arguments)
    assert nodes(scratch, "work") == WORK_NODES


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("header", [[], [("workclass", "level 1", "level 2")]])
@pytest.mark.parametrize(("start", "newline"), [("", "\n"), ("\ufeff", "\r\n")])
def test_a_csv_is_read_whatever_its_delimiter_header_and_bom(
    scratch: sqlanon.Connection, tmp_path: Path, delimiter: str, header: list[Any], start: str, newline: str
) -> None:
    file = tmp_path / "it's work.csv"
    lines = [delimiter.join(row) for row in [*header, *WORK]]
    file.write_text(start + newline.join([*lines, "", ""]), encoding="utf-8", newline="")
    scratch.execute(f"create hierarchy work from '{str(file).replace(chr(39), chr(39) * 2)}'")
    assert nodes(scratch, "work") == WORK_NODES
    sqlanon.create_hierarchy(scratch, "same", csv=file)
    assert nodes(scratch, "same") == WORK_NODES


def test_a_csv_may_quote_cells_that_hold_its_delimiter(scratch: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text('"a, b",x,*\n"c ""d""",x,*\ne,y,*\n', encoding="utf-8")
    sqlanon.create_hierarchy(scratch, "h", csv=file)
    assert paths(scratch, "h") == {"a, b": ["x", "*"], 'c "d"': ["x", "*"], "e": ["y", "*"]}


def test_a_csv_with_semicolons_may_have_commas_in_its_labels(scratch: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("1;[0, 10[;[0, 20[;*\n12;[10, 20[;[0, 20[;*\n", encoding="utf-8")
    sqlanon.create_hierarchy(scratch, "h", csv=file)
    assert paths(scratch, "h") == {"1": ["[0, 10[", "[0, 20[", "*"], "12": ["[10, 20[", "[0, 20[", "*"]}


@pytest.mark.parametrize("leaf", ["a\nb", "a\u2028b", "a\x0cb", "a\x85b"])
def test_a_csv_cell_may_hold_any_kind_of_line_break(scratch: sqlanon.Connection, tmp_path: Path, leaf: str) -> None:
    file = tmp_path / "h.csv"
    file.write_text(f'"{leaf}",x,*\nc,x,*\n', encoding="utf-8", newline="")
    sqlanon.create_hierarchy(scratch, "h", csv=file)
    assert paths(scratch, "h") == {leaf: ["x", "*"], "c": ["x", "*"]}


def test_a_first_row_that_shares_a_label_with_the_others_is_no_header(
    scratch: sqlanon.Connection, tmp_path: Path
) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;X;all\nb;X;*\nc;X;*\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match=r"\(a, X, all\)"):
        sqlanon.create_hierarchy(scratch, "h", csv=file)


def test_an_empty_csv_cell_skips_a_level(scratch: sqlanon.Connection, tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;x;*\nb;;*\n", encoding="utf-8")
    sqlanon.create_hierarchy(scratch, "h", csv=file)
    assert paths(scratch, "h") == {"a": ["x", "*"], "b": ["*"]}


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
    scratch: sqlanon.Connection, tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "h.csv"
    file.write_bytes(content)
    with pytest.raises(HierarchyError, match=message):
        sqlanon.create_hierarchy(scratch, "h", csv=file)
    assert catalog(scratch) == [[], []]


def test_a_missing_csv_is_named(scratch: sqlanon.Connection) -> None:
    with pytest.raises(HierarchyError, match=r"Cannot read 'nowhere\.csv': No such file"):
        scratch.execute("create hierarchy h from 'nowhere.csv'")


def test_a_directory_is_no_csv(scratch: sqlanon.Connection, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="Cannot read"):
        sqlanon.create_hierarchy(scratch, "h", csv=tmp_path)


def test_leaves_of_any_type_are_kept_as_their_text(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h as select i, i < 2, null, '*' from range(3) as r(i)")
    assert paths(scratch, "h") == {"0": ["true", "*"], "1": ["true", "*"], "2": ["false", "*"]}


def test_a_single_column_is_a_flat_hierarchy(scratch: sqlanon.Connection) -> None:
    scratch.execute("create hierarchy h as values ('a'), ('b')")
    assert paths(scratch, "h") == {"a": ["*"], "b": ["*"]}


@pytest.mark.parametrize("arguments", [{}, {"prefix": True, "dates": True}, {"rows": WORK, "table": "work"}])
def test_exactly_one_way_must_be_given(scratch: sqlanon.Connection, arguments: dict[str, Any]) -> None:
    with pytest.raises(HierarchyError, match="Give exactly one of"):
        sqlanon.create_hierarchy(scratch, "h", **arguments)


@pytest.mark.parametrize("name", ["", " "])
def test_a_hierarchy_needs_a_name(scratch: sqlanon.Connection, name: str) -> None:
    with pytest.raises(HierarchyError, match="needs a name"):
        sqlanon.create_hierarchy(scratch, name, prefix=True)


def test_a_flat_hierarchy_needs_its_column(scratch: sqlanon.Connection) -> None:
    with pytest.raises(HierarchyError, match="needs its column"):
        sqlanon.create_hierarchy(scratch, "h", flat=True)


def test_a_tree_is_not_made_on_a_column(scratch: sqlanon.Connection) -> None:
    with pytest.raises(HierarchyError, match="not with rows"):
        sqlanon.create_hierarchy(scratch, "h", rows=WORK, on="t.c")


def test_edges_of_three_columns_are_refused(scratch: sqlanon.Connection) -> None:
    make_tables(scratch)
    with pytest.raises(HierarchyError, match="'work' has 3 columns; a table of edges has two"):
        scratch.execute("create hierarchy h from edges work")


@pytest.mark.parametrize(
    "statement", ["create hierarchy h from table wrok", "create hierarchy h using prefix on wrok.leaf"]
)
def test_an_unknown_table_is_refused_with_the_nearest(scratch: sqlanon.Connection, statement: str) -> None:
    make_tables(scratch)
    with pytest.raises(CatalogError, match=r"wrok.* does not exist\. Did you mean 'work'\?"):
        scratch.execute(statement)


def test_an_unknown_column_is_refused_with_the_nearest(scratch: sqlanon.Connection) -> None:
    make_tables(scratch)
    with pytest.raises(CatalogError, match=r"'leafs' is not in .*\(columns: leaf, level1, top\)\. Did you mean 'leaf'"):
        scratch.execute("create hierarchy h flat on work.leafs")


def test_a_column_without_its_table_is_refused(scratch: sqlanon.Connection) -> None:
    with pytest.raises(CatalogError, match=r"write table\.column"):
        scratch.execute("create hierarchy h flat on leaf")
