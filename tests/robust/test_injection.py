"""SQL in the place of a name, an option, a label, a field of a policy file, an argument or a path does nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import SqlanonError
from sqlanon.policy.options import PARAMETERS, ROLES
from sqlanon.policy.policy import OPTIONS
from sqlanon.sqltext import literal
from sqlanon.sqltext import name as quoted

PAYLOADS = (
    "'; drop table bystander; --",
    '"; drop table bystander; --',
    "x') as t; drop table bystander; select ('",
    "]); drop table bystander; --",
    "{k}'; delete from bystander; --",
    "1); insert into bystander values (7); --",
    "$1; drop table bystander",
    "x' || (select max(answer) from bystander) || '",
)
PEOPLE = "create table people as select 20 + i % 9 as age, (i % 3)::varchar as ill from range(20) as r(i)"
PER_COLUMN = ("hierarchies", "weights", "grid")
Everything = dict[str, Any]


@pytest.fixture(scope="module")
def hospital(shared: duckdb.DuckDBPyConnection) -> sqlanon.Connection:
    shared.execute("create table bystander as select 42 as answer")
    shared.execute("create table people as select 20 + i % 9 as age, (i % 3)::varchar as ill from range(20) as r(i)")
    return sqlanon.Connection(shared)


KEPT = ("sqlanon_release", "release_history", "publications")
"""What may grow: rows of releases without a name, and what is remembered of those that are gone or published."""


def everything(con: sqlanon.Connection) -> Everything:
    found = con.execute(
        "select database_name, schema_name, table_name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views() where not internal order by all"
    ).fetchall()
    places = {".".join(map(quoted, place)) for place in found if not place[2].startswith(KEPT)}
    return {place: Counter(con.execute(f"select columns(*)::varchar from {place}").fetchall()) for place in places}


def shapes(option: str, payload: str) -> list[Any]:
    """What a text can be smuggled into as this option's value."""
    if option in ROLES:
        return [payload, [payload], ["age", payload]]
    if option in PER_COLUMN:
        return [{payload: "x"}, {payload: 1}, {"age": payload}, payload]
    return [payload, [payload], {payload: payload}]


@pytest.mark.parametrize("option", [*OPTIONS, *PARAMETERS])
def test_no_option_carries_sql(hospital: sqlanon.Connection, option: str) -> None:
    before = everything(hospital)
    # Which text goes into which shape differs from option to option: all of all would take minutes.
    first = [*OPTIONS, *PARAMETERS].index(option)
    for number in range(len(shapes(option, ""))):
        value = shapes(option, PAYLOADS[(first + number) % len(PAYLOADS)])[number]
        asked = {"quasi": ["age"], "k": 2, "sensitive": ["ill"]} | {option: value}
        with pytest.raises(SqlanonError):
            sqlanon.anonymize(hospital, "people", **asked)
        given = ", ".join(f"{key} := {literal(item)}" for key, item in asked.items())
        with pytest.raises(duckdb.Error) as caught:
            hospital.duckdb.execute(f"from anon.anonymize('people', {given})").fetchall()
        assert "Python exception" not in str(caught.value)
    assert everything(hospital) == before


def test_no_name_of_an_option_carries_sql(hospital: sqlanon.Connection) -> None:
    before = everything(hospital)
    for payload in PAYLOADS:
        with pytest.raises(SqlanonError, match="Unknown option"):
            sqlanon.anonymize(hospital, "people", ["age"], 2, **{payload: 1})
    assert everything(hospital) == before


@pytest.mark.parametrize("payload", PAYLOADS[:4])
def test_columns_tables_values_and_labels_of_any_text_are_text(hospital: sqlanon.Connection, payload: str) -> None:
    before = everything(hospital)
    table, column = quoted(f"{payload} t"), quoted(payload)
    hospital.execute(f"create table {table} ({column} varchar, {quoted(payload + ' s')} varchar)")
    hospital.executemany(f"insert into {table} values (?, ?)", [[f"{payload}{i % 4}", payload] for i in range(12)])
    leaves = [[f"{payload}{i}", f"{payload} up {i // 2}", f"{payload} top"] for i in range(4)]
    sqlanon.create_hierarchy(hospital, payload, rows=leaves)
    for kind in ("view", "table"):
        release = sqlanon.anonymize(
            hospital, table, [payload], 4, sensitive=[payload + " s"], name=quoted(f"{payload} {kind}"), kind=kind,
            hierarchies={payload: payload}, weights={payload: 2},
        )  # fmt: skip
        printed = {row[0] for row in release.relation().fetchall()}
        assert printed <= {label for leaf in leaves for label in leaf}
        assert sqlanon.open_release(hospital, release.name or "").verify() == release.proof
        assert sqlanon.check(hospital, quoted(f"{payload} {kind}"), [payload], 4).holds
    assert len(hospital.execute("from anon.hierarchy_tree($1)", [payload]).fetchall()) == 7
    if '"' not in payload or not duckdb.__version__.startswith("1."):  # whose query_table reads no name with a quote
        assert len(hospital.execute("select * from anon.hierarchy_gaps($1, $2, $2)", [table, payload]).fetchall()) == 0
        assert hospital.execute("select anon.k_anonymity($1, [$2])", [table, payload]).fetchall() == [(3,)]
    sqlanon.risk(hospital, table, [payload])
    sqlanon.detect(hospital, table)
    for kind in ("view", "table"):
        sqlanon.drop_release(hospital, quoted(f"{payload} {kind}"))
    sqlanon.drop_hierarchy(hospital, payload)
    hospital.execute(f"drop table {table}")
    assert everything(hospital) == before


@pytest.mark.parametrize("payload", PAYLOADS)
def test_names_that_are_not_there_are_refused_as_names(hospital: sqlanon.Connection, payload: str) -> None:
    before = everything(hospital)
    for use in (
        lambda: sqlanon.anonymize(hospital, payload, ["age"], 2),
        lambda: sqlanon.check(hospital, payload, ["age"], 2),
        lambda: sqlanon.check(hospital, "people", [payload], 2),
        lambda: sqlanon.risk(hospital, "people", [payload]),
        lambda: sqlanon.risk(hospital, "people", ["age"], population=payload),
        lambda: sqlanon.detect(hospital, payload),
        lambda: sqlanon.attack(hospital, payload),
        lambda: sqlanon.compare(hospital, "people", [payload], [2]),
        lambda: sqlanon.open_release(hospital, payload),
        lambda: sqlanon.drop_release(hospital, payload),
        lambda: sqlanon.drop_hierarchy(hospital, payload),
        lambda: sqlanon.create_hierarchy(hospital, "h", table=payload),
        lambda: sqlanon.create_hierarchy(hospital, "h", edges=payload),
        lambda: sqlanon.create_hierarchy(hospital, "h", query=payload),
        lambda: sqlanon.create_hierarchy(hospital, "h", csv=payload),
        lambda: sqlanon.create_hierarchy(hospital, "h", flat=True, on=payload),
        lambda: sqlanon.create_hierarchy(hospital, "h", intervals=[payload]),
        lambda: sqlanon.create_hierarchy(hospital, "h", intervals=[5], anchor=payload),
    ):
        with pytest.raises(SqlanonError):
            use()
    assert everything(hospital) == before


@pytest.mark.parametrize("payload", PAYLOADS[:2])
def test_macros_take_text_for_text(hospital: sqlanon.Connection, payload: str) -> None:
    before = everything(hospital)
    macros = hospital.execute(
        "select function_name, parameters, function_type from duckdb_functions() "
        "where schema_name = 'anon' and not internal order by all"
    ).fetchall()
    assert len(macros) > 40
    for macro, parameters, kind in macros:
        called = f"from anon.{macro}" if kind == "table_macro" else f"select anon.{macro}"
        for place in range(len(parameters)):
            texts = [literal(payload if place == other else "people") for other in range(len(parameters))]
            for values in (texts, [f"[{text}]" if number == 1 else text for number, text in enumerate(texts)]):
                try:
                    hospital.duckdb.execute(f"{called}({', '.join(values)})").fetchall()
                except duckdb.Error as problem:
                    told = str(problem)
                else:
                    told = ""
                assert "Python exception" not in told, (macro, told)
    assert everything(hospital) == before


@pytest.mark.parametrize("suffix", [".duckdb", ".parquet", ".csv"])
def test_a_path_is_a_path(hospital: sqlanon.Connection, tmp_path: Path, suffix: str) -> None:
    release = sqlanon.anonymize(hospital, "people", ["age"], 4, sensitive=["ill"], name="pub", replace=True)
    before = everything(hospital)
    for number, payload in enumerate(PAYLOADS):
        path = tmp_path / f"{payload.replace('/', '')}{suffix}"
        if number % 2:
            release.publish(path)
        else:
            hospital.execute(f"publish pub to {literal(str(path))}")
        assert path.is_file()
    assert len(list(tmp_path.iterdir())) == len(PAYLOADS)
    assert everything(hospital) == before


FIELDS = ("source", "name", "quasi", "sensitive", "method", "hierarchies", "hierarchy")


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_policy_file_and_no_argument_carries_sql(tmp_path: Path, field: str) -> None:
    database, policy = tmp_path / "people.duckdb", tmp_path / "policy.toml"
    with sqlanon.connect(database) as con:
        con.execute("create table bystander as select 42 as answer")
        con.execute(PEOPLE)
        before = everything(con)
    for payload in PAYLOADS[:2]:
        text = "'''" + payload + "'''" if not payload.startswith("'") else '"' + payload.replace('"', '\\"') + '"'
        fields = {"source": '"people"', "quasi": '["age"]', "k": "2"} | {
            "source": {"source": text},
            "name": {"name": text},
            "quasi": {"quasi": f"[{text}]"},
            "sensitive": {"sensitive": f"[{text}]"},
            "method": {"method": text},
            "hierarchies": {"hierarchies": f"{{age = {text}}}"},
            "hierarchy": {"hierarchy": f"{{h = {{table = {text}}}, g = {{on = {text}, flat = true}}}}"},
        }[field]
        policy.write_text("\n".join(f"{key} = {value}" for key, value in fields.items()))
        assert main(["run", str(policy), "--db", str(database)]) in ((0, 2) if field == "name" else (2,))
        arguments = {
            "source": [payload, "--quasi", "age"],
            "name": ["people", "--quasi", "age", "--name", payload],
            "quasi": ["people", "--quasi", payload],
            "sensitive": ["people", "--quasi", "age", "--sensitive", payload],
            "method": ["people", "--quasi", "age", "--method", payload],
            "hierarchies": ["people", "--quasi", "age", "--hierarchy", f"age={payload}"],
            "hierarchy": ["people", "--quasi", "age", "--grid", f"age={payload}", "--ranges", "snapped"],
        }[field]
        code = main(["anonymize", *arguments, "--k", "2", "--db", str(database)])
        assert code in ((0, 2) if field == "name" else (2,))
    with sqlanon.connect(database) as con:
        for (stored,) in con.execute("select name from anon.releases").fetchall():
            sqlanon.drop_release(con, stored)
        assert everything(con) == before
