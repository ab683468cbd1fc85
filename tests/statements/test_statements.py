"""sqlanon's statements: what each is read as, that everything else stays as it was written, and where errors point."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sqlanon.errors import StatementError
from sqlanon.statements.parse import (
    CreateHierarchy,
    CreateRelease,
    DropHierarchy,
    DropRelease,
    Plain,
    Statement,
    parse,
    split_script,
)

VIEW = "create anonymized view v as select a from t options (quasi = [a])"

PAIRS: list[tuple[str, Statement]] = [
    (VIEW, CreateRelease("v", "view", False, "select a from t", {"quasi": ["a"]})),
    (
        "CREATE OR REPLACE ANONYMIZED TABLE s.v AS FROM t OPTIONS (K = 5);",
        CreateRelease("s.v", "table", True, "FROM t", {"k": 5}),
    ),
    (
        'create anonymized view "my view" as (select 1 as a) options (quasi := a)',
        CreateRelease('"my view"', "view", False, "(select 1 as a)", {"quasi": "a"}),
    ),
    (
        "create anonymized view v as with x as (select 1) select * from x options ()",
        CreateRelease("v", "view", False, "with x as (select 1) select * from x", {}),
    ),
    ("drop anonymized view v", DropRelease("v", "view", False)),
    ('Drop Anonymized Table If Exists s."v ""1"""', DropRelease('s."v ""1"""', "table", True)),
    ("create hierarchy h from 'dir/it''s;h.csv'", CreateHierarchy("h", False, {"csv": "dir/it's;h.csv"})),
    ("create or replace hierarchy h from table s.t", CreateHierarchy("h", True, {"table": "s.t"})),
    ('create hierarchy h from edges "e;1"', CreateHierarchy("h", False, {"edges": '"e;1"'})),
    (
        "create hierarchy h as select leaf, 'x;' -- why\n, top from t",
        CreateHierarchy("h", False, {"query": "select leaf, 'x;' -- why\n, top from t"}),
    ),
    ("create hierarchy h using intervals (5, 10, 20)", CreateHierarchy("h", False, {"intervals": [5, 10, 20]})),
    (
        "create hierarchy h using intervals (0.1) anchor -2 below -1.5 above 80 on t.c",
        CreateHierarchy("h", False, {"intervals": [0.1], "anchor": -2, "below": -1.5, "above": 80, "on": "t.c"}),
    ),
    (
        "create hierarchy h using intervals (5) above 80 below 18",
        CreateHierarchy("h", False, {"intervals": [5], "above": 80, "below": 18}),
    ),
    ("create hierarchy h using prefix", CreateHierarchy("h", False, {"prefix": True})),
    ('create hierarchy h using prefix on s."t 1".c', CreateHierarchy("h", False, {"prefix": True, "on": 's."t 1".c'})),
    ("create hierarchy h using dates", CreateHierarchy("h", False, {"dates": True})),
    ("create hierarchy h using dates on t.c", CreateHierarchy("h", False, {"dates": True, "on": "t.c"})),
    ("create hierarchy h flat on t.c", CreateHierarchy("h", False, {"flat": True, "on": "t.c"})),
    ('create hierarchy "å; drop" using prefix', CreateHierarchy("å; drop", False, {"prefix": True})),
    ("create hierarchy größe using prefix", CreateHierarchy("größe", False, {"prefix": True})),
    ("drop hierarchy h", DropHierarchy("h", False)),
    ('drop hierarchy if exists "h ""x"""', DropHierarchy('h "x"', True)),
    ("create/* */hierarchy\n\t h -- c\r\n using /* x */ prefix ;", CreateHierarchy("h", False, {"prefix": True})),
]


@pytest.mark.parametrize(("sql", "statement"), PAIRS, ids=[sql for sql, _ in PAIRS])
def test_a_statement_is_read_as(sql: str, statement: Statement) -> None:
    assert parse(sql) == [statement]


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "  \n\t ",
        "select 1",
        "-- create hierarchy h using prefix\nselect 1",
        "/* drop anonymized view v */",
        "select * from hierarchy",
        "select anonymized, hierarchy from anonymized, hierarchy;;",
        "create table hierarchy(anonymized int)",
        "create or replace view anonymized as from hierarchy",
        "drop table hierarchy ;  ",
        "drop view if exists anonymized",
        "select 'create hierarchy h using prefix; drop hierarchy h'",
        "select $$create anonymized view v$$, $x$ hierarchy; $$ ; $x$",
        'select 1 as "create hierarchy"; select 2 as "anonymized"',
        "select E'hierarchy\\'; drop hierarchy h --'",
        "\ufeffselect 'ünïcode 🦆 hierarchy'\u00a0;\r\n\f\v select  2 --end",
        "insert into hierarchy values (1, ';'), (2, '''')",
        "create macro hierarchy(x) as x + 1; select hierarchy(1)",
        "copy hierarchy to 'anonymized.csv' (delimiter ';')",
        "explain select 'hierarchy'",
        "pragma table_info('hierarchy')",
        "select 'hierarchy",
        'select "hierarchy',
        "selec hierarchy ( [ {",
        "select [x for x in [1, 2]], {'hierarchy': 1}, a::int[3], b -> 'c' ->> '$.hierarchy' from t",
    ],
)
def test_what_is_not_ours_passes_byte_for_byte(sql: str) -> None:
    assert parse(sql) == [Plain(sql)]


def test_a_script_without_our_words_passes_as_one_text_even_if_it_cannot_be_read() -> None:
    sql = "select 1; select 'unfinished; \x00 select $$"
    assert parse(sql) == [Plain(sql)]


def test_plain_statements_between_ours_keep_their_text() -> None:
    plain = ["select '🦆;', $$ ; hierarchy $$  ,\n 1 -- x;\n , 2", 'insert into "hierarchy;" values (1)']
    script = f"/* ü */ {plain[0]} ;; create hierarchy h using prefix; {plain[1]}; drop hierarchy h"
    assert parse(script) == [
        Plain(plain[0]),
        CreateHierarchy("h", False, {"prefix": True}),
        Plain(plain[1]),
        DropHierarchy("h", False),
    ]


@pytest.mark.parametrize(
    "select",
    [
        "select /* the options (k = 5) */ a from t",
        "select a -- options (k = 5)\nfrom t",
        "select 'options (k = 5)' as a from t",
        "select a from (select 1 as options) as x where x.options = 1",
        "select a, (select max(options) from t) from t",
        "select a as options from t",
        "select a from options",
        'select "options" from t',
        "select '(' as a from t",
        "select ')' as a, '[' as b, '{' as c from t",
        'select "(" from t',
        "select a from t where b = '🦆' and c = $$ ) options ( $$",
        "select {'a': [1, 2]}.a as a\n\n\tfrom t",
    ],
)
def test_the_select_survives_as_written(select: str) -> None:
    (statement,) = parse(f"create anonymized view v as {select}\n options (quasi = [a], k = 2);")
    assert statement == CreateRelease("v", "view", False, select, {"quasi": ["a"], "k": 2})


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("0.25", 0.25),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1e3", -1000.0),
        ("1.5E-2", 0.015),
        ("'it''s'", "it's"),
        ("''", ""),
        ("'[a]'", "[a]"),
        ("name", "name"),
        ('"A ""quoted"" name"', 'A "quoted" name'),
        ('"null"', "null"),
        ("'true'", "true"),
        ("å_1", "å_1"),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("[]", []),
        ("[a, 'b', \"c d\", 1]", ["a", "b", "c d", 1]),
        ("[[a], []]", [["a"], []]),
        ("{}", {}),
        ("{a: 1, 'b c': x, \"d\": null}", {"a": 1, "b c": "x", "d": None}),
        ("MAP {'zip': 'zip_prefix'}", {"zip": "zip_prefix"}),
        ("map {}", {}),
        ("{a = 0.5}", {"a": 0.5}),
        ("[map]", ["map"]),
    ],
)
def test_an_option_is_read_as_its_value(written: str, value: Any) -> None:
    (statement,) = parse(f"create anonymized view v as from t options (x = {written}, y := {written})")
    assert isinstance(statement, CreateRelease)
    assert statement.options == {"x": value, "y": value}
    assert [type(read) for read in statement.options.values()] == [type(value)] * 2


def test_option_names_fold_case() -> None:
    (statement,) = parse('create anonymized view v as from t options (K = 5, "Quasi" = [A])')
    assert isinstance(statement, CreateRelease)
    assert statement.options == {"k": 5, "quasi": ["A"]}


ERRORS = [
    ("create anonymized", 1, 18, "Expected VIEW or TABLE, found the end"),
    ("create anonymized veiw v as from t", 1, 19, "Did you mean 'VIEW'?"),
    ("create anonymized view", 1, 23, "Expected the release's name"),
    ("create anonymized view 'v' as from t options (k = 5)", 1, 24, "Expected the release's name, found 'v'"),
    ("create anonymized view a-b as from t options (k = 5)", 1, 25, "Expected AS, found '-'"),
    ("create anonymized view v select 1", 1, 26, "Expected AS"),
    ("create anonymized view v as options (k = 5)", 1, 29, "A SELECT is missing"),
    ("create anonymized view v as\nselect a\nfrom t", 3, 7, "OPTIONS (k = 5, quasi = [...]) is missing"),
    ("create anonymized view v as\nfrom t\n  options k = 5", 3, 11, "Expected (, found 'k'"),
    ("create anonymized view v as from t options (k 5)", 1, 47, "Expected = after k, found '5'"),
    ("create anonymized view v as from t options (k = )", 1, 49, "Expected a value"),
    ("create anonymized view v as from t options (k = 5, K = 6)", 1, 52, "Option k is given twice"),
    ("create anonymized view v as from t options (k = 5", 1, 50, "Expected , or ), found the end"),
    ("create anonymized view v as from t options (k = 5 l = 2)", 1, 51, "Expected , or ), found 'l'"),
    ("create anonymized view v as from t options (q = [a b])", 1, 52, "Expected , or ], found 'b'"),
    ("create anonymized view v as from t options (q = {a 1})", 1, 52, "Expected : in a map, found '1'"),
    ("create anonymized view v as from t options (k = 5) x", 1, 52, "Expected the end of the statement, found 'x'"),
    ("select '🦆🦆';\n\n create hierarchy h form 't.csv'", 3, 21, "Did you mean 'FROM'?"),
    ("create hierarchy h", 1, 19, "Expected FROM, AS, USING or FLAT, found the end"),
    ("create hierarchy", 1, 17, "Expected the hierarchy's name"),
    ("create hierarchy h from t.csv", 1, 25, "Expected 'file.csv', TABLE t or EDGES t, found 't'"),
    ("create hierarchy h as", 1, 22, "Expected a SELECT of leaf"),
    ("create hierarchy h using interval (5)", 1, 26, "Did you mean 'INTERVALS'?"),
    ("create hierarchy h using intervals (5, x)", 1, 40, "Expected a number, found 'x'"),
    ("create hierarchy h using intervals (5) anchor '0'", 1, 47, "Expected a number, found '0'"),
    ("create hierarchy h using intervals (1e3-1.5)", 1, 37, "Expected a number, found '1e3-1.5'"),
    ("create hierarchy h using prefix anchor 0", 1, 33, "Expected the end of the statement, found 'anchor'"),
    ("create hierarchy h using dates on", 1, 34, "Expected table.column"),
    ("create hierarchy h flat", 1, 24, "Expected ON, found the end"),
    ("drop hierarchy if exists", 1, 25, "Expected the hierarchy's name"),
    ("drop anonymized v", 1, 17, "Expected VIEW or TABLE, found 'v'"),
    ("drop anonymized view v cascade", 1, 24, "Expected the end of the statement, found 'cascade'"),
]


@pytest.mark.parametrize(("sql", "line", "column", "message"), ERRORS, ids=[sql for sql, *_ in ERRORS])
def test_an_error_says_what_was_expected_and_where(sql: str, line: int, column: int, message: str) -> None:
    with pytest.raises(StatementError) as caught:
        parse(sql)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"(line {line}, column {column})" in str(caught.value)


def test_a_map_that_names_a_key_twice_is_refused() -> None:
    with pytest.raises(StatementError, match="twice"):
        parse("create anonymized view v as from t options (weights = {a: 1, a: 2})")


def test_a_hierarchys_name_has_one_part() -> None:
    with pytest.raises(StatementError, match=r"hierarchy's name"):
        parse('create hierarchy "a b".c using prefix')


def test_intervals_given_an_anchor_twice_are_refused() -> None:
    with pytest.raises(StatementError, match="twice"):
        parse("create hierarchy h using intervals (5) anchor 0 anchor 1")


WORDS = (
    "create drop or replace anonymized hierarchy view table if exists as from edges using intervals prefix dates flat "
    "on anchor below above options select a t.c null map true"
)
MARKS = "'x' \"y z\" ( ) [ ] { } , ; : = := - . 5 0.5 1e3 0x1 1_0 9e999 5L -- /* */ $$ $a$ ' \" ² é 🦆 \\ @ ? ! % # `"
PIECES = st.sampled_from([*WORDS.split(), *MARKS.split(), "\n", "\t", "\x00"])


def reads_or_refuses(sql: str) -> None:
    """Parse a text that may be anything; an error points into it, and what is not ours is part of it."""
    problem = None
    statements: list[Statement] = []
    try:
        statements = parse(sql)
    except StatementError as raised:
        problem = raised
    assert all(statement.sql in sql for statement in statements if isinstance(statement, Plain))
    if problem:
        lines = sql.split("\n")
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


@given(st.lists(PIECES).map(" ".join))
@example("create hierarchy h using intervals (" + "9" * 5000 + ")")
@example("create anonymized view v as from t options (k = " + "[" * 5000)
def test_any_text_is_read_or_refused_as_a_statement(sql: str) -> None:
    reads_or_refuses(sql)


@given(st.sampled_from([sql for sql, _ in PAIRS]), st.data())
def test_any_mutated_statement_is_read_or_refused_as_a_statement(sql: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(sql)))
        end = data.draw(st.integers(begin, min(len(sql), begin + 8)))
        sql = sql[:begin] + data.draw(PIECES | st.text(max_size=3)) + sql[end:]
    reads_or_refuses(sql)


@given(st.text())
def test_text_with_one_of_our_words_in_it_is_read_or_refused(text: str) -> None:
    reads_or_refuses(f"create hierarchy {text}")
    reads_or_refuses(f"{text} hierarchy")


@given(st.text().filter(lambda text: "hierarchy" not in text.lower() and "anonymized" not in text.lower()))
def test_text_without_our_words_always_passes(text: str) -> None:
    assert parse(text) == [Plain(text)]


def test_a_script_is_split_at_its_semicolons_and_nowhere_else() -> None:
    script = "select ';' -- ;\n;; create hierarchy h using prefix; select $$ ; $$"
    statements, rest = split_script(script)
    assert statements == ["select ';' -- ;\n;", ";", " create hierarchy h using prefix;"]
    assert rest == " select $$ ; $$"


def test_an_unfinished_text_is_all_rest() -> None:
    assert split_script("select 1; select 'a; ") == ([], "select 1; select 'a; ")


@given(st.lists(PIECES).map(" ".join))
def test_splitting_a_script_loses_nothing(script: str) -> None:
    statements, rest = split_script(script)
    assert "".join(statements) + rest == script
