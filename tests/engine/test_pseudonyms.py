"""pseudonymize: keyed hashes that link releases made with one key, and a key that shows nowhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import stat
import traceback
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon import keys
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError, PolicyError

Con = duckdb.DuckDBPyConnection
KEY = bytes(range(100, 132))
OTHER = bytes(range(32))
SHOWN = [KEY.hex(), KEY.hex().upper(), repr(KEY)[2:-1], KEY.decode("latin-1")]
"""How the key could show."""


@pytest.fixture(scope="module", autouse=True)
def visits(shared: Con) -> None:
    shared.execute(
        "create table visits as select 'P' || i as id, i as number, 20 + i % 7 as age, i % 2 as ill from range(30) r(i)"
    )
    shared.execute("insert into visits values (null, null, 21, 0)")


@pytest.fixture(autouse=True)
def without_key(shared: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SQLANON_KEY", raising=False)
    sqlanon.set_key(shared, None)


def expected(text: str, key: bytes = KEY) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]


def release(con: Con, **options: Any) -> sqlanon.Release:
    given = {"quasi": ["age"], "k": 3, "method": "kaca", "pseudonymize": ["id"]} | options
    return sqlanon.anonymize(con, "visits", **given)


def column(con: Con, table: str, name: str = "id") -> set[Any]:
    return {value for (value,) in con.execute(f"select {name} from {table}").fetchall()}


def test_pseudonyms_are_keyed_hashes_and_null_stays_null(shared: Con) -> None:
    made = release(shared, key=KEY)
    assert column(shared, made.table) == {expected(f"P{i}") for i in range(30)} | {None}


def test_a_value_has_one_pseudonym_in_all_releases_of_a_key_and_another_with_another(shared: Con) -> None:
    first, second = release(shared, key=KEY), release(shared, key=KEY, k=10, quasi=["ill"])
    assert column(shared, first.table) == column(shared, second.table)
    assert column(shared, first.table) & column(shared, release(shared, key=OTHER).table) == {None}


def test_numbers_are_hashed_as_their_text(shared: Con) -> None:
    made = release(shared, key=KEY, pseudonymize=["number"])
    assert column(shared, made.table, "number") == {expected(str(i)) for i in range(30)} | {None}


def test_rows_keep_their_other_values(shared: Con) -> None:
    made = release(shared, key=KEY, quasi=["ill"], keep=["age"], k=5)
    found = shared.execute(f"select id, age from {made.table} where id is not null").fetchall()
    assert sorted(found) == sorted((expected(f"P{i}"), 20 + i % 7) for i in range(30))


def test_many_rows_are_hashed_in_several_calls(shared: Con) -> None:
    shared.execute("create table many as select 'é' || i as id, i % 3 as age from range(10000) r(i)")
    made = sqlanon.anonymize(shared, "many", ["age"], 5, method="kaca", pseudonymize=["id"], key=KEY)
    assert column(shared, made.table) == {expected(f"é{i}") for i in range(10000)}


def test_sql_takes_the_key_of_the_connection_or_of_the_environment(
    shared: Con, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = (
        "select id from anon.anonymize('visits', quasi := ['age'], k := 3, pseudonymize := ['id'], method := 'kaca')"
    )
    with pytest.raises(duckdb.Error, match=r"pseudonymize needs a key: .*set_key.*SQLANON_KEY"):
        shared.execute(query)
    monkeypatch.setenv("SQLANON_KEY", OTHER.hex())
    assert (expected("P1", OTHER),) in shared.execute(query).fetchall()
    sqlanon.set_key(shared, KEY)
    assert (expected("P1"),) in shared.execute(query).fetchall()
    assert (expected("P1"),) in shared.cursor().execute(query).fetchall()
    sqlanon.set_key(shared, None)
    assert (expected("P1", OTHER),) in shared.execute(query).fetchall()


def test_a_key_belongs_to_one_database(shared: Con) -> None:
    sqlanon.set_key(shared, KEY)
    with duckdb.connect() as elsewhere:
        with pytest.raises(CatalogError, match="not loaded"):
            sqlanon.set_key(elsewhere, KEY)
        sqlanon.load(elsewhere)
        elsewhere.execute("create table visits as select 'P' || i as id, 1 as age from range(9) r(i)")
        with pytest.raises(PolicyError, match="pseudonymize needs a key"):
            release(elsewhere)


def test_a_statement_takes_the_key_of_its_connection(shared: Con) -> None:
    sqlanon.set_key(shared, KEY)
    statement = (
        "create anonymized view public as select id, age from visits options "
        "(quasi = [age], k = 3, pseudonymize = [id], method = kaca)"
    )
    sqlanon.Connection(shared).execute(statement)
    assert expected("P1") in column(shared, "public")


def test_the_key_shows_nowhere(shared: Con, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "hospital.duckdb"
    profile = tmp_path / "profile.json"
    caplog.set_level(logging.DEBUG)
    with duckdb.connect(str(path)) as file:
        sqlanon.load(file)
        file.execute("create table visits as select 'P' || i as id, i % 3 as age, from range(30) r(i)")
        file.execute("set logging_level = 'trace'; set enable_logging = true")
        file.execute(f"set enable_profiling = 'json'; set profiling_output = '{profile}'")
        made = release(file, key=KEY, name="public", kind="view")
        sqlanon.set_key(file, KEY)
        query = "from anon.anonymize('visits', quasi := ['age'], k := 3, pseudonymize := ['id'], method := 'kaca')"
        plan = repr(file.execute(f"explain analyze {query}").fetchall())
        logged = repr(file.execute("select message from duckdb_logs").fetchall())
        stored = repr(file.execute("select columns(*)::varchar from anon.releases").fetchall())
        settings = repr(file.execute("select name, value from duckdb_settings()").fetchall())
    assert "sqlanon_pseudonym" in logged
    assert '"pseudonymize"' in stored
    texts = [plan, logged, stored, settings, caplog.text, made.sql, repr(made), profile.read_text(encoding="latin-1")]
    files = [entry.read_bytes() for entry in tmp_path.iterdir()]
    for shown in SHOWN:
        assert not any(shown in text for text in texts)
        assert not any(shown.encode("latin-1") in content for content in files)
    assert not any(KEY in content for content in files)


def test_no_error_shows_a_key(shared: Con, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short, odd = "0123456789abcdef", "zz" + KEY.hex()
    for bad in (short, odd, ""):
        monkeypatch.setenv("SQLANON_KEY", bad)
        (tmp_path / "bad.key").write_text(bad)
        for attempt in (lambda: release(shared), lambda: sqlanon.read_key(tmp_path / "bad.key")):
            with pytest.raises(PolicyError, match="holds no key") as found:
                attempt()
            said = "".join(traceback.format_exception(found.value))
            assert not bad or bad not in said
            assert KEY.hex() not in said
    for key in (b"short key", KEY.hex(), 5):
        with pytest.raises(PolicyError, match="key must be 16 or more bytes") as found:
            release(shared, key=key)
        assert str(key) not in str(found.value)
        with pytest.raises(PolicyError, match="key must be 16 or more bytes"):
            sqlanon.set_key(shared, key)  # type: ignore[arg-type]


def test_a_runs_key_is_forgotten_after_it_also_when_it_fails(shared: Con) -> None:
    before = set(keys._keys)
    made = release(shared, key=KEY)
    with pytest.raises(sqlanon.SqlanonError):
        release(shared, key=KEY, k=1000)
    assert set(keys._keys) == before
    with pytest.raises(duckdb.Error, match="The key of this query is gone"):
        shared.execute(made.sql).fetchall()


def test_a_key_for_nothing_is_refused(shared: Con) -> None:
    with pytest.raises(sqlanon.SqlanonError, match="A key is given, but no column to pseudonymize"):
        release(shared, key=KEY, pseudonymize=None)


def test_a_pseudonymized_column_has_no_other_role(shared: Con) -> None:
    with pytest.raises(PolicyError, match="'ID' is both keep and pseudonymize"):
        release(shared, key=KEY, pseudonymize=["ID"], keep=["id"])
    with pytest.raises(CatalogError, match="Column 'ids' is not in 'visits'"):
        release(shared, key=KEY, pseudonymize=["ids"])


def test_a_new_key_is_random_readable_by_its_owner_only_and_never_overwritten(tmp_path: Path) -> None:
    first, second = tmp_path / "first.key", tmp_path / "second.key"
    assert main(["key", str(first)]) == 0
    sqlanon.create_key(second)
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert len(sqlanon.read_key(first)) == 32
    assert sqlanon.read_key(first) != sqlanon.read_key(second)
    before = first.read_bytes()
    assert main(["key", str(first)]) == 2
    assert first.read_bytes() == before
    with pytest.raises(CatalogError, match="Cannot write"):
        sqlanon.create_key(tmp_path / "nowhere" / "my.key")
    with pytest.raises(CatalogError, match="Cannot read key file"):
        sqlanon.read_key(tmp_path / "nowhere.key")


def test_the_command_line_reads_the_key_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SQLANON_KEY", raising=False)
    Path("my.key").write_text(KEY.hex() + "\n")
    Path("people.csv").write_text("id,age\n" + "".join(f"P{i},{i % 3}\n" for i in range(12)))
    command = ["anonymize", "people.csv", "--quasi", "age", "--k", "2", "--pseudonymize", "id", "--method", "kaca"]
    assert main([*command, "-o", "none.csv"]) == 2
    assert "pseudonymize needs a key" in capsys.readouterr().err
    assert main([*command, "-o", "file.csv", "--key-file", "my.key"]) == 0
    monkeypatch.setenv("SQLANON_KEY", OTHER.hex())
    assert main([*command, "-o", "variable.csv"]) == 0
    assert main([*command, "-o", "both.csv", "--key-file", "my.key"]) == 0
    assert expected("P1") in Path("file.csv").read_text()
    assert expected("P1", OTHER) in Path("variable.csv").read_text()
    assert expected("P1") in Path("both.csv").read_text()
    Path("policy.toml").write_text(
        'source = "people.csv"\nquasi = ["age"]\nk = 2\npseudonymize = ["id"]\nmethod = "kaca"\nname = "public"\n'
    )
    assert main(["run", "policy.toml", "--db", "people.duckdb", "--key-file", "my.key"]) == 0
    with duckdb.connect("people.duckdb") as con:
        assert expected("P1") in column(con, "public")
        ((policy,),) = con.execute("select policy from anon.releases").fetchall()
    assert json.loads(policy)["pseudonymize"] == ["id"]
    assert KEY.hex() not in capsys.readouterr().err
