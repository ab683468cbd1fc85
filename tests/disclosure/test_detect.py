"""Detecting what singles people out: counts, sets, kinds of identifiers, roles, and a policy from them."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon import samples
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError, PolicyError

Con = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]

SMALL = st.sampled_from([0, 1, 2, None])


def store(con: Con, rows: list[Row], columns: str) -> None:
    con.execute(f"create or replace table t ({columns})")
    con.executemany(f"insert into t values ({', '.join('?' * len(rows[0]))})", rows)


def roles(found: sqlanon.Detection) -> dict[str, str | None]:
    return {column.columns[0]: column.role for column in found.columns}


def role_of(con: Con, column: str, values: list[Any], kind: str = "varchar") -> tuple[str | None, str]:
    con.execute(f'create or replace table t ("{column}" {kind})')
    con.executemany("insert into t values (?)", [(value,) for value in values])
    (found,) = sqlanon.detect(con, "t").columns
    return found.role, found.reason


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(SMALL, SMALL, SMALL, SMALL), min_size=1, max_size=20),
    share=st.sampled_from([0.0, 0.1, 0.4]),
    size=st.integers(1, 4),
)
def test_counts_and_smallest_sets_agree_with_plain_python(
    shared: Con, rows: list[Row], share: float, size: int
) -> None:
    store(shared, rows, "a integer, b integer, c integer, d integer")
    found = sqlanon.detect(shared, "t", size=size, share=share)
    pairs = list(itertools.combinations(rows, 2))

    def unique(columns: tuple[str, ...]) -> float:
        counts = Counter(tuple(row["abcd".index(c)] for c in columns) for row in rows)
        return sum(n == 1 for n in counts.values()) / len(rows)

    for column in found.columns:
        place = "abcd".index(column.columns[0])
        assert column.distinct == len({row[place] for row in rows})
        assert column.distinction == pytest.approx(column.distinct / len(rows))
        assert column.unique_rows == pytest.approx(unique(column.columns))
        differ = [left[place] != right[place] for left, right in pairs]
        assert column.separation == (pytest.approx(sum(differ) / len(pairs)) if pairs else None)
    candidates = [c.columns[0] for c in found.columns if c.role != "identifier" and c.distinct > 1]
    identifying = [
        subset
        for width in range(1, size + 1)
        for subset in itertools.combinations(candidates, width)
        if unique(subset) > share
    ]
    smallest = {s for s in identifying if not any(set(other) < set(s) for other in identifying)}
    assert {s.columns for s in found.sets} == {s for s in smallest if len(s) > 1}
    assert all(s.unique_rows == pytest.approx(unique(s.columns)) for s in found.sets)
    assert found.untested == 0


IDENTIFIERS = {
    "e-mail addresses": ["ada@example.org", "b.c+d@mail.example.com"],
    "telephone numbers": ["+46 70 123 45 67", "(02) 5550 1234", "0046701234567", "555-010-1234"],
    "IBANs": ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "NL91ABNA0417164300"],
    "card numbers": ["4111111111111111", "5500 0000 0000 0004", "3782-822463-10005"],
    "UUIDs": ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"],
    "IP addresses": ["192.168.0.1", "10.0.255.3", "2001:db8::1", "1:2:3:4:5:6:7:8"],
    "national identity numbers": ["123-45-6789", "987-65-4321"],
}
OTHERS = {
    "dates": ["2020-01-31", "1999-12-01", "31.12.1999", "1/2/2003"],
    "times": ["12:30:45", "08:15:00"],
    "decimals": ["1234567.89", "1000000.5"],
    "postcodes": ["12345-6789", "98765-4321"],
    "numbers": ["12345678", "4111111111111112", "1234567890123456"],
    "IBANs with an error": ["DE89370400440532013001", "GB82 WEST 1234 5698 7654 33"],
    "words": ["Private", "Self-emp-not-inc", "n/a", "at @ home"],
    "no addresses": ["300.1.1.1", "1.2.3", "a.b@c"],
}


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_values_that_look_like_identifiers_are_recognized_whatever_the_column_is_called(shared: Con, kind: str) -> None:
    values = [*IDENTIFIERS[kind] * 10, None, ""]
    assert role_of(shared, "x", values) == ("identifier", f"the values look like {kind}")
    mixed = [*IDENTIFIERS[kind], *(f"word {i}" for i in range(8))] * 5
    assert role_of(shared, "x", mixed) == ("quasi", "other people may know it")


@pytest.mark.parametrize("kind", OTHERS)
def test_values_that_only_resemble_identifiers_are_not_taken_for_them(shared: Con, kind: str) -> None:
    role, reason = role_of(shared, "x", OTHERS[kind] * 10)
    said = "its text looks like dates as 2024-12-31" if kind == "dates" else "other people may know it"
    assert (role, reason[: len(said)]) == ("quasi", said)


def test_numbers_can_be_card_numbers(shared: Con) -> None:
    assert role_of(shared, "x", [4111111111111111, 5500000000000004] * 5, "bigint")[0] == "identifier"
    assert role_of(shared, "x", [4111111111111112, 5500000000000005] * 5, "bigint")[0] == "quasi"


CALLED = {
    "identifier": [
        "first_name", "LastName", "surname", "E-Mail", "home phone", "ssn", "customerIBAN", "street", "notes",
        "patient_id", "id", "name",
    ],
    "quasi": [
        "age", "dateOfBirth", "age_at_diagnosis", "zip", "post_code", "Sex", "marital-status", "native_country",
        "village", "idea", "paid", "x",
    ],
    "sensitive": ["diagnosis", "salary_class", "Religion", "ICD10"],
}  # fmt: skip


def test_names_suggest_roles(shared: Con) -> None:
    expected = {column: role for role, columns in CALLED.items() for column in columns}
    columns = ", ".join(f"'v' || i % 4 as {sqlanon.sqltext.name(column)}" for column in expected)
    shared.execute(f"create or replace table t as select {columns} from range(8) r(i)")
    assert roles(sqlanon.detect(shared, "t", size=1)) == expected


def test_counts_suggest_roles_where_names_do_not(shared: Con) -> None:
    assert role_of(shared, "x", [f"word {i}" for i in range(20)])[0] == "identifier"
    assert role_of(shared, "x", list(range(20)), "integer")[0] == "identifier"
    assert role_of(shared, "x", [i / 7 for i in range(20)], "double")[0] == "quasi"
    assert role_of(shared, "x", [1] * 20, "integer") == ("keep", "the same in every row")
    assert role_of(shared, "hospital_id", [1, 2] * 50, "integer")[0] == "identifier"
    amounts = [f"{i + 60},5" for i in range(20)]
    assert role_of(shared, "x", amounts) == (
        "quasi",
        "its text looks like numbers with a decimal comma: read the file with sqlanon.file_query(path, decimal=',')",
    )
    assert role_of(shared, "x", [f"{i + 1}.12.1980" for i in range(20)])[0] == "quasi"
    assert role_of(shared, "diagnosis", [f"a long story {i}" for i in range(20)])[0] == "identifier"
    assert role_of(shared, "x", [[1], [2], [1]], "integer[]") == ("identifier", "type INTEGER[] cannot be generalized")


def test_the_macro_answers_as_python_does(shared: Con) -> None:
    shared.execute(
        "create or replace table t as select i % 7 as a, i % 5 as b, i % 3 as c, i as id from range(60) r(i)"
    )
    found = sqlanon.detect(shared, "t", size=2, share=0.2)
    rows = shared.execute("from anon.detect('t', size := 2, share := 0.2)").fetchall()
    assert shared.execute(found.sql()).fetchall() == rows
    assert [row[0] for row in rows if row[1] is None] == [list(s.columns) for s in found.sets]
    again = shared.execute("from anon.detect('t')").fetchall()
    assert again == shared.execute(sqlanon.detect(shared, "t").sql()).fetchall()
    assert [list(s.columns) for s in sqlanon.detect(shared, "t").sets] == [["a", "b"]]


def test_mistakes_are_errors_that_say_what_to_try(shared: Con) -> None:
    shared.execute("create or replace table t as select 1 as a; create or replace temp table passing as select 1 as a")
    for options, message in (({"size": 0}, "from 1 to 4"), ({"size": 5}, "from 1 to 4"), ({"share": 1}, "less than 1")):
        with pytest.raises(PolicyError, match=message):
            sqlanon.detect(shared, "t", **options)  # type: ignore[arg-type]
        with pytest.raises(duckdb.Error, match=message):
            shared.execute("from anon.detect('t', " + ", ".join(f"{o} := {v}" for o, v in options.items()) + ")")
    with pytest.raises(CatalogError, match="Table 'tt' does not exist"):
        sqlanon.detect(shared, "tt")
    with pytest.raises(duckdb.Error, match="only committed tables"):
        shared.execute("from anon.detect('passing')")
    assert sqlanon.detect(shared, "passing").rows == 1


def test_an_empty_table_and_hostile_names_are_no_trouble(shared: Con) -> None:
    shared.execute('create or replace table t ("a ""b"" c; drop" integer, "it\'s" varchar, "{x}" date)')
    found = sqlanon.detect(shared, "t")
    assert (found.rows, found.sets, found.columns[0].distinction) == (0, (), None)
    shared.execute("insert into t values (1, 'x', '2020-01-01'), (2, 'y', null), (2, 'x', null)")
    assert [c.columns[0] for c in sqlanon.detect(shared, "t").columns] == ['a "b" c; drop', "it's", "{x}"]
    assert len(shared.execute("from anon.detect('t')").fetchall()) >= 3
    assert shared.execute("select 1 from duckdb_tables() where table_name like 'sqlanon_%'").fetchall() == []


def test_a_wide_table_is_searched_within_bounds(shared: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ", ".join(f"hash(i * 211 + {j}) % {2 + j % 9} as c{j}" for j in range(200))
    shared.execute(f"create or replace table wide as select {columns} from range(300) r(i)")
    monkeypatch.setitem(sqlanon.detect.__globals__, "MOST_SETS", 60)
    found = sqlanon.detect(shared, "wide", share=0.4)
    assert len(found.columns) == 200
    assert found.untested > 0
    assert 0 < len(found.sets) <= 120
    for found_set in found.sets:
        listed = ", ".join(found_set.columns)
        query = f"select count(*) from (select 1 from wide group by {listed} having count(*) = 1)"
        assert shared.execute(query).fetchall() == [(round((found_set.unique_rows or 0) * 300),)]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with sqlanon.connect("hospital.duckdb") as con:
        samples.create(con.duckdb, "patients")
        con.execute("alter table patients add column hospital varchar default 'St. Mary'")
    return tmp_path / "hospital.duckdb"


def test_the_command_suggests_a_policy_that_runs_and_shows_nobodys_values(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = database.read_bytes()
    assert main(["detect", "patients", "--db", "hospital.duckdb", "--toml"]) == 0
    policy = capsys.readouterr().out
    Path("policy.toml").write_text(policy, encoding="utf-8")
    assert main(["detect", "patients", "--db", "hospital.duckdb"]) == 0
    shown = capsys.readouterr().out
    assert main(["detect", "patients", "--db", "hospital.duckdb", "--json"]) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed)
    assert [(c["columns"][0], c["role"]) for c in found["columns"]] == [
        ("name", "identifier"),
        ("age", "quasi"),
        ("zip", "quasi"),
        ("sex", "quasi"),
        ("ward", "quasi"),
        ("diagnosis", "sensitive"),
        ("hospital", "keep"),
    ]
    for text in (policy, shown, printed):
        assert not [v for v in ("Lindqvist", "4427", "Surgery", "Angina", "female", "Mary") if v in text]
    assert database.read_bytes() == before
    assert main(["run", "policy.toml", "--db", "hospital.duckdb"]) == 0
    assert "k = " in capsys.readouterr().out


def test_a_hierarchy_that_is_there_is_not_defined_again(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["detect", "patients", "--db", "hospital.duckdb", "--toml"]
    assert main(command) == 0
    assert '[hierarchy."zip"]' in capsys.readouterr().out
    with sqlanon.connect(database) as con:
        sqlanon.create_hierarchy(con, "zip", flat=True, on="patients.zip")
    assert main(command) == 0
    assert "[hierarchy" not in capsys.readouterr().out


def test_the_policy_of_a_detection_is_one_to_anonymize_with(shared: Con) -> None:
    samples.create(shared, "patients")
    found = sqlanon.detect(shared, "patients")
    release = sqlanon.anonymize(shared, "patients", policy=found.policy(k=4))
    assert release.proof.k >= 4
    assert "name" not in release.relation().columns


def test_bad_input_is_one_line_and_exit_2(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["detect", "patient", "--db", "hospital.duckdb"], "Did you mean 'patients'?"),
        (["detect", "hospital.duckdb"], "sqlanon detect TABLE --db hospital.duckdb"),
        (["detect", "patients", "--db", "nowhere.duckdb"], "no database"),
        (["detect", "patients", "--db", "hospital.duckdb", "--size", "9"], "size is 9"),
        (["risk", "patients", "--db", "hospital.duckdb", "--quasi", "agee"], "Did you mean 'age'?"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("command", ["risk", "detect", "attack"])
def test_each_command_explains_itself_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert f"Example: sqlanon {command} " in capsys.readouterr().out


def test_the_risk_command_reads_tables_and_files(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["risk", "patients", "--db", "hospital.duckdb", "--quasi", "sex", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["classes"], found["smallest_class"]) == (16, 2, 8)
    with duckdb.connect("hospital.duckdb") as con:
        con.execute("copy patients to 'patients.csv'; create table few as from patients limit 2")
    assert main(["risk", "patients.csv", "--quasi", "sex,ward"]) == 0
    assert "prosecutor_max" in capsys.readouterr().out
    command = ["risk", "few", "--db", "hospital.duckdb", "--quasi", "sex", "--population", "patients", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["journalist_max"] == 1 / 8


def test_without_rows_the_names_say_what_columns_may_be(con: Con) -> None:
    con.execute("create table people (age integer, patient_id varchar, diagnosis varchar)")
    assert [found.role for found in sqlanon.detect(con, "people").columns] == ["quasi", "identifier", "sensitive"]
