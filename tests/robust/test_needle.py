"""A value that makes something fail is in no error: not in its text, its context or its traceback."""

import json
import traceback

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import main

NEEDLE = "Needle"
FAILING = {
    "strptime": "strptime(n, '%d')",
    "cast": "cast(n as integer)",
    "cast to a date": "cast(n as date)",
    "cast to a decimal": "cast(n as decimal(4, 2))",
    "cast to an enum": "cast(n as enum('a', 'b'))",
    "cast to json": "cast(cast(n as json) as varchar)",
    "regexp": "regexp_matches('x', n || '(')",
    "json": "json_extract(n, '$.a')",
    "uuid": "cast(n as uuid)",
    "blob": "unhex(n)",
    "error": "error(n)::varchar",
    "python": "screams(n)",
    "list": "cast(n as integer[])",
    "out of range": "cast(170141183460469231731687303715884105727 as hugeint) + cast(length(n) as hugeint)",
}
FILES = {
    "rows.csv": "a,d\n" + "1,2\n" * 30_000 + f"3,{NEEDLE}\n",
    "torn.csv": "a,d\n" + "1,2\n" * 30_000 + f'3,"{NEEDLE}\n',
    "rows.json": '{"a": 1, "d": 2}\n' * 30_000 + f'{{"a": 1, "d": {NEEDLE}\n',
    "rows.ndjson": '{"a": 1, "d": 2}\n' * 3 + f"{NEEDLE}\n",
}
ROLES = {"quasi": ["a", "d"], "k": 3}
WAYS = {
    "anonymize": lambda con, source: sqlanon.anonymize(con, source, **ROLES),
    "sensitive": lambda con, source: sqlanon.anonymize(con, source, quasi=["a"], sensitive=["d"], k=3),
    "stored": lambda con, source: sqlanon.anonymize(con, source, name="stored", kind="view", **ROLES),
    "detect": lambda con, source: sqlanon.detect(con, source),
    "risk": lambda con, source: sqlanon.risk(con, source, ["a", "d"]),
    "check": lambda con, source: sqlanon.check(con, source, ["a", "d"], 3),
    "attack": lambda con, source: sqlanon.attack(con, source, source=source, quasi=["a", "d"], k=3),
    "hierarchy": lambda con, source: sqlanon.create_hierarchy(con, "h", query=f"select d, 'top' from ({source})"),
    "macro": lambda con, source: con.execute(
        f"from anon.anonymize({_text(source)}, quasi := ['a', 'd'], k := 3)"
    ).fetchall(),
    "macro detect": lambda con, source: con.execute(f"from anon.detect({_text(source)})").fetchall(),
    "macro measure": lambda con, source: con.execute(
        f"from anon.measure({_text(source)}, source := {_text(source)}, quasi := ['a', 'd'], k := 3)"
    ).fetchall(),
}


def _text(source):
    return "'" + source.replace("'", "''") + "'"


def screams(value: str) -> str:
    raise ValueError(value)


@pytest.fixture
def con():
    with duckdb.connect() as con:
        sqlanon.load(con)
        con.create_function("screams", screams, ["VARCHAR"], "VARCHAR")
        con.execute(f"create table t as select range % 5 as a, '{NEEDLE}' || range as n from range(30)")
        yield con


def assert_silent(problem):
    text = "".join(traceback.format_exception(problem)) + str(problem)
    while problem is not None:
        text += str(problem)
        problem = problem.__context__
    assert NEEDLE not in text


@pytest.mark.parametrize("function", FAILING)
def test_no_way_in_shows_the_value_that_a_function_fails_on(con, function):
    source = f"select a, {FAILING[function]} as d from t"
    for way, go in WAYS.items():
        try:
            go(con, source)
        except (sqlanon.SqlanonError, duckdb.Error) as problem:
            assert_silent(problem)
        else:
            raise AssertionError(f"{way} ran")


@pytest.mark.parametrize("file", FILES)
def test_no_way_in_shows_the_line_that_a_file_fails_on(con, file, tmp_path):
    path = tmp_path / file
    path.write_text(FILES[file])
    for way, go in WAYS.items():
        if way == "hierarchy":
            continue
        try:
            go(con, str(path))
        except (sqlanon.SqlanonError, duckdb.Error) as problem:
            assert_silent(problem)


@pytest.mark.parametrize("function", FAILING)
def test_the_connection_of_sqlanon_hides_the_value_in_a_check_of_a_view(function):
    with sqlanon.connect() as con:
        con.create_function("screams", screams, ["VARCHAR"], "VARCHAR")
        con.execute(f"create table t as select range % 5 as a, '{NEEDLE}' || range as n from range(30)")
        con.execute(f"create view v as select a, {FAILING[function]} as d from t")
        with pytest.raises((sqlanon.SqlanonError, duckdb.Error)) as caught:
            con.execute("select anon.k_anonymity('v', ['a', 'd'])").fetchall()
        assert_silent(caught.value)


def test_the_error_names_the_column_and_what_to_try(con):
    with pytest.raises(sqlanon.SqlanonError, match=r"in column 'd': a value cannot be converted.*try_cast"):
        sqlanon.anonymize(con, "select a, cast(n as integer) as d from t", **ROLES)


@pytest.mark.parametrize("function", [name for name in FAILING if name != "python"])
def test_the_command_line_does_not_show_it(function, tmp_path, capsys):
    database = str(tmp_path / "t.duckdb")
    with sqlanon.connect(database) as con:
        con.execute(f"create table t as select range % 5 as a, '{NEEDLE}' || range as n from range(30)")
    source = f"select a, {FAILING[function]} as d from t"
    script, policy = tmp_path / "s.sql", tmp_path / "p.toml"
    script.write_text(f"create table u as {source};")
    policy.write_text(f'source = {json.dumps(source)}\nquasi = ["a", "d"]\nk = 3\n')
    for arguments in (
        ["anonymize", source, "--quasi", "a,d", "--k", "3"],
        ["detect", source],
        ["run", str(script)],
        ["run", str(policy)],
    ):
        assert main([*arguments, "--db", database]) == 2
        shown = capsys.readouterr()
        assert NEEDLE not in shown.out + shown.err
