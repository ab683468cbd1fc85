"""Publishing: a new file that holds the release and nothing else, verified when read back, or no file at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.engine import files as written_files
from sqlanon.engine import session
from sqlanon.errors import BrokenPromiseError, CatalogError, PolicyError, StatementError
from sqlanon.releases import publishing
from sqlanon.statements.parse import Plain, Publish, Statement, parse

Con = duckdb.DuckDBPyConnection
FORMATS = ("public.duckdb", "public.parquet", "public.csv")
ABOUT = ["property", "k", "l", "method", "loss", "rows", "classes", "suppressed", "left_out", "ranges", "sqlanon"]
PEOPLE = (
    "create table hospital_people as select 'NAME-' || md5(i::varchar) as full_name, 20 + i * 17 % 61 as age, "
    "'Z' || (10000 + i * 7919 % 400) as zip, date '1950-01-01' + (i * 997 % 20000)::integer as born, "
    "'illness ' || i % 3 as diagnosis, (case when i % 2 = 0 then 'east' else 'west' end)::enum('east', 'west', "
    "'ENUM-VALUE-OF-NOBODY') as ward from range(200) r(i)"
)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Con]:
    with duckdb.connect(str(tmp_path_factory.mktemp("source") / "hospital.duckdb")) as connection:
        sqlanon.load(connection)
        connection.execute(PEOPLE)
        sqlanon.create_hierarchy(connection, "zip", prefix=True)
        yield connection


@pytest.fixture(scope="module")
def made(hospital: Con) -> sqlanon.Release:
    return make(hospital)


def database(con: Con) -> Path:
    ((path,),) = con.execute("select path from duckdb_databases() where database_name = 'hospital'").fetchall()
    return Path(path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def make(con: Con, **options: Any) -> sqlanon.Release:
    given = {"quasi": ["age", "zip"], "k": 4, "sensitive": ["diagnosis"], "l": 1.5, "keep": ["ward"]}
    return sqlanon.anonymize(
        con, "hospital_people", **given | {"method": "mondrian", "name": "public", "replace": True} | options
    )


def read(path: Path, table: str = "public") -> list[tuple[Any, ...]]:
    """The file's rows as somebody without sqlanon reads them."""
    with duckdb.connect() as con:
        if path.suffix != ".duckdb":
            return con.execute(f"from '{path}'").fetchall()
        con.execute(f"attach '{path}' as file (read_only)")
        return con.execute(f'from file."{table}"').fetchall()


def files(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


@pytest.mark.parametrize("file", FORMATS)
def test_a_published_file_holds_the_rows_of_the_release_in_another_order(
    hospital: Con, made: sqlanon.Release, out: Path, file: str
) -> None:
    made.publish(out / file)
    stored = hospital.execute(f"select * replace (ward::varchar as ward) from {made.table}").fetchall()
    found = read(out / file)
    assert Counter(found) == Counter(stored)
    assert found != stored
    assert [entry.name for entry in out.iterdir()] == [file]
    made.publish(out / f"again_{file}")
    assert read(out / f"again_{file}") != found


@pytest.mark.parametrize(("file", "kind"), [("public.duckdb", "view"), ("public.duckdb", None), ("public.csv", None)])
def test_views_and_releases_without_a_name_are_published_too(
    hospital: Con, out: Path, file: str, kind: str | None
) -> None:
    make(hospital, name="seen" if kind else None, kind=kind or "table").publish(out / file)
    assert len(read(out / file, "seen" if kind else "release")) == 200


@pytest.mark.parametrize("file", FORMATS)
def test_no_byte_of_a_source_value_that_is_not_released_is_in_the_file(
    hospital: Con, out: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    plain = "format parquet, compression uncompressed"  # so that there is something to see
    run = session.run
    monkeypatch.setattr(
        written_files,
        "run",
        lambda hospital, sql, *values: run(hospital, sql.replace("format parquet", plain), *values),
    )
    make(hospital, ranges="snapped", quasi=["age", "zip", "born"], name="snapped").publish(out / file)
    content = (out / file).read_bytes()
    released = " ".join({str(value) for row in read(out / file, "snapped") for value in row})
    texts = hospital.execute(
        "select distinct unnest([full_name, zip, born::varchar, ward::varchar]) from hospital_people"
    ).fetchall()
    hidden = [text for (text,) in texts if text not in released]
    assert len(hidden) > 500
    assert not [text for text in hidden if text.encode() in content]
    for word in ("NAME-", "ENUM-VALUE", "hospital", "people", "full_name"):
        assert word.encode() not in content
    assert b"illness 1" in content


def test_a_duckdb_file_is_checked_by_plain_duckdb(made: sqlanon.Release, out: Path) -> None:
    made.publish(out / "public.duckdb")
    code = f"""
import sys
sys.modules["sqlanon"] = None
import duckdb
with duckdb.connect({str(out / "public.duckdb")!r}, read_only=True) as con:
    print(con.execute("select anon.k_anonymity('public', ['age', 'zip']) >= 4").fetchall())
    print(con.execute("select anon.l_diversity('public', ['age', 'zip'], 'diagnosis') >= 1.5").fetchall())
    print(con.execute("select anon.distinct_l_diversity('public', ['age', 'zip'], 'diagnosis') > 1").fetchall())
    print(con.execute("select anon.entropy_l_diversity('public', ['age', 'zip'], 'diagnosis') > 1").fetchall())
    print(con.execute("select count(*) from anon.violations('public', ['age', 'zip'], k := 4)").fetchall())
    print(con.execute("select sum(class_size) from anon.equivalence_classes('public', ['age', 'zip'])").fetchall())
    print(con.execute("select table_name from duckdb_tables() union all select view_name from duckdb_views() "
        "where not internal order by all").fetchall())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[(True,)]"] * 4 + ["[(0,)]", "[(200,)]", "[('about',), ('public',)]"]


def test_a_published_database_can_be_loaded_and_checked_with_sqlanon(made: sqlanon.Release, out: Path) -> None:
    made.publish(out / "public.duckdb")
    assert main(["check", "public", "--db", str(out / "public.duckdb"), "--quasi", "age,zip", "--k", "4"]) == 0
    with sqlanon.connect(out / "public.duckdb") as again:
        assert again.execute("select count(*) from public").fetchall() == [(200,)]


def test_the_file_says_what_holds_and_nothing_else(made: sqlanon.Release, out: Path) -> None:
    said = made.publish(out / "public.duckdb")
    assert said == {
        "property": "k-anonymity, l-diversity",
        "k": 4,
        "l": 1.5,
        "method": "mondrian",
        "loss": float(f"{made.metrics()['gcp']:.3g}"),
        "rows": 200,
        "classes": made.proof.classes,
        "suppressed": 0,
        "left_out": 0,
        "ranges": "auto",
        "sqlanon": sqlanon.__version__,
    }
    assert list(said) == ABOUT
    assert read(out / "public.duckdb", "about") == [tuple(said.values())]
    made.publish(out / "public.parquet")
    with duckdb.connect() as plain:
        stored = plain.execute(
            f"select decode(key), decode(value) from parquet_kv_metadata('{out / 'public.parquet'}')"
        ).fetchall()
    assert dict(stored) == {fact: str(value) for fact, value in said.items()}


def test_what_is_not_known_is_null_or_left_out(hospital: Con, out: Path) -> None:
    made = make(hospital, sensitive=[], l=None, represent="center", keep=None, name="centers")
    said = made.publish(out / "public.duckdb")
    assert (said["property"], said["l"], said["loss"]) == ("k-anonymity", None, None)
    assert read(out / "public.duckdb", "about")[0][2] is None


@pytest.mark.parametrize("file", FORMATS)
def test_nothing_is_overwritten_unless_told(hospital: Con, made: sqlanon.Release, out: Path, file: str) -> None:
    (out / file).write_text("precious")
    with pytest.raises(CatalogError, match="already exists"):
        made.publish(out / file)
    assert files(out) == {file: b"precious"}
    made.publish(out / file, replace=True)
    assert len(read(out / file)) == 200
    assert list(files(out)) == [file]


@pytest.mark.parametrize("stage", ["_shuffled", "_types", "read", "put"])
@pytest.mark.parametrize("file", FORMATS)
def test_an_interrupt_at_any_stage_leaves_the_folder_as_it_was(
    hospital: Con,
    made: sqlanon.Release,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    stage: str,
) -> None:
    (out / file).write_text("precious")

    def fail(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing if hasattr(publishing, stage) else written_files, stage, fail)
    with pytest.raises(KeyboardInterrupt):
        made.publish(out / file, replace=True)
    assert files(out) == {file: b"precious"}
    assert hospital.execute("select database_name from duckdb_databases() where not internal").fetchall() == [
        ("hospital",)
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("(select * from {table} limit 3)", "A released class has only"),
        ("(from {table} union all from {table})", "does not read back as the release"),
    ],
)
@pytest.mark.parametrize("file", FORMATS)
def test_a_file_that_holds_something_else_is_not_kept(
    made: sqlanon.Release, out: Path, monkeypatch: pytest.MonkeyPatch, file: str, written: str, message: str
) -> None:
    shuffled = written_files._shuffled
    monkeypatch.setattr(written_files, "_shuffled", lambda con, table: shuffled(con, written.format(table=table)))
    with pytest.raises(BrokenPromiseError, match=message):
        made.publish(out / file)
    assert files(out) == {}


def test_a_changed_release_is_not_published(hospital: Con, out: Path) -> None:
    made = make(hospital, name="changed")
    hospital.execute("update changed set age = '99' where rowid = (select min(rowid) from changed)")
    with pytest.raises(BrokenPromiseError):
        made.publish(out / "public.csv")
    assert files(out) == {}


def test_a_file_that_comes_meanwhile_is_not_overwritten(
    made: sqlanon.Release, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = publishing.put

    def late(draft: Path, target: Path, replace: bool) -> None:
        target.write_text("precious")
        put(draft, target, replace)

    monkeypatch.setattr(publishing, "put", late)
    with pytest.raises(CatalogError, match="was created in the meantime"):
        made.publish(out / "public.csv")
    assert files(out) == {"public.csv": b"precious"}


def test_the_database_itself_is_never_replaced(hospital: Con, made: sqlanon.Release, out: Path) -> None:
    os.link(database(hospital), out / "linked.duckdb")
    for path in (database(hospital), out / "linked.duckdb"):
        with pytest.raises(CatalogError, match="is an open database"):
            made.publish(path, replace=True)
    (out / "crashed.duckdb.wal").write_text("what was not yet in the database")
    with pytest.raises(CatalogError, match="was not closed"):
        made.publish(out / "crashed.duckdb", replace=True)


def test_bad_places_are_refused(hospital: Con, made: sqlanon.Release, out: Path) -> None:
    for path in ("public.xlsx", "public", "duckdb"):
        with pytest.raises(PolicyError, match=r"must end in .duckdb, .csv or .parquet"):
            made.publish(out / path)
    with pytest.raises(CatalogError, match="There is no folder"):
        made.publish(out / "nowhere" / "public.csv")
    (out / "folder.csv").mkdir()
    with pytest.raises(CatalogError, match="already exists"):
        made.publish(out / "folder.csv", replace=True)
    hospital.execute("begin")
    with pytest.raises(CatalogError, match="COMMIT, then publish"):
        made.publish(out / "public.csv")
    hospital.execute("commit")
    make(hospital, name="About").publish(out / "about.csv")
    with pytest.raises(CatalogError, match="under another name"):
        sqlanon.open_release(hospital, "about").publish(out / "about.duckdb")


@pytest.mark.parametrize("file", ['it\'s; a ["file"].duckdb', "ü.parquet", "-x y.csv"])
def test_files_tables_and_columns_may_have_any_name(hospital: Con, out: Path, file: str) -> None:
    hospital.execute(
        'create or replace table odd as select i // 4 as "a ""b"" c; drop", i % 2 as "it\'s" from range(16) r(i)'
    )
    name = '"x; drop ""y"" {z}"'
    made = sqlanon.anonymize(
        hospital, "odd", ['a "b" c; drop'], 4, keep=["it's"], name=name, replace=True, method="mondrian"
    )
    made.publish(out / file)
    with duckdb.connect() as plain:
        place = "'" + str(out / file).replace("'", "''") + "'"
        if file.endswith(".duckdb"):
            plain.execute(f"attach {place} as file (read_only)")
            place = f"file.{name}"
        assert plain.execute(f'select min("it\'s"), count(*) from {place}').fetchall() == [(0, 16)]


@pytest.mark.parametrize("file", FORMATS)
def test_null_and_empty_text_are_told_apart_in_every_format(hospital: Con, out: Path, file: str) -> None:
    hospital.execute(
        "create or replace table gaps as "
        "select case i % 3 when 0 then null when 1 then '' else 'x' end as a from range(12) r(i)"
    )
    made = sqlanon.anonymize(hospital, "gaps", ["a"], 4, method="mondrian")
    assert made.proof.classes == 3
    assert made.publish(out / file)["classes"] == 3


def test_a_release_of_two_tables_goes_to_a_duckdb_file(hospital: Con, out: Path) -> None:
    made = make(hospital, method="anatomy", k=2, l=2, name="apart")
    with pytest.raises(PolicyError, match="two tables"):
        made.publish(out / "public.csv")
    assert made.publish(out / "public.duckdb")["property"] == "l-diversity of groups (anatomy)"
    assert len(read(out / "public.duckdb", "apart")) == 200
    assert sum(row[-1] for row in read(out / "public.duckdb", "apart_sensitive")) == 200


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("publish p to 'x.csv'", Publish("p", "x.csv", False)),
        ("PUBLISH s.\"p 1\" TO 'it''s.duckdb' REPLACE;", Publish('s."p 1"', "it's.duckdb", True)),
        (
            "publish p to 'x.csv' replace options (formulas = true, max_unique = 0.5)",
            Publish("p", "x.csv", True, {"formulas": True, "max_unique": 0.5}),
        ),
        ("select 1 as publish", Plain("select 1 as publish")),
    ],
)
def test_statements_are_read(text: str, statement: Statement) -> None:
    assert parse(text) == [statement]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("publish", r"Expected the release's name \(line 1, column 8\)"),
        ("publish p 'x.csv'", r"Expected TO, found 'x.csv'.* \(line 1, column 11\)"),
        ("publish p to x", r"Expected 'file.duckdb', found 'x' \(line 1, column 14\)"),
        ("publish p to 'x.csv'\nnow", r"Expected the end of the statement, found 'now' \(line 2, column 1\)"),
    ],
)
def test_a_statement_that_cannot_be_read_says_where(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(text)


@pytest.mark.usefixtures("made")
def test_publish_is_a_statement(hospital: Con, out: Path) -> None:
    both = sqlanon.Connection(hospital)
    said = both.execute(f"PUBLISH public TO '{out / 'public.parquet'}'")
    assert [entry[0] for entry in said.description] == ["published", *ABOUT]
    assert said.fetchall()[0][1:4] == ("k-anonymity, l-diversity", 4, 1.5)
    with pytest.raises(CatalogError, match="already exists"):
        both.execute(f"publish public to '{out / 'public.parquet'}'")
    both.execute(f"publish public to '{out / 'public.parquet'}' replace; select 1")
    with pytest.raises(CatalogError, match=r"Unknown release 'pubic'.*Did you mean 'public'"):
        both.execute(f"publish pubic to '{out / 'pubic.csv'}'")
    assert list(files(out)) == ["public.parquet"]


@pytest.mark.usefixtures("made")
def test_publish_is_a_command(hospital: Con, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["publish", "public", "--db", str(database(hospital)), "-o", str(out / "public.csv")]
    assert main(command) == 0
    assert "verified on the file: k-anonymity, l-diversity, 200 rows" in capsys.readouterr().err
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err
    assert main([*command, "--replace", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ABOUT
    assert len(read(out / "public.csv")) == 200


def test_anonymize_publishes_to_a_file(hospital: Con, out: Path) -> None:
    command = ["anonymize", "hospital_people", "--db", str(database(hospital)), "--quasi", "age", "--k", "3"]
    assert main([*command, "-o", str(out / "public.duckdb"), "--method", "mondrian"]) == 0
    assert len(read(out / "public.duckdb", "release")) == 200
    assert main([*command, "-o", str(out / "public.duckdb")]) == 2


@pytest.mark.parametrize("file", FORMATS)
def test_columns_of_every_type_are_written_and_read_back(hospital: Con, out: Path, file: str) -> None:
    hospital.execute(
        "create or replace table kinds as select i % 2 as a, i::double as b, [i % 2] as c, {'x': i % 2} as d, "
        "(i % 3)::decimal(5, 2) as e, timestamp '2020-01-01' + interval (i % 2) day as f, i % 2 = 0 as g, "
        "case when i % 2 = 0 then 0.0 else -0.0 end::float as h from range(12) r(i)"
    )
    made = sqlanon.anonymize(
        hospital,
        "kinds",
        ["h"],
        6,
        sensitive=["a"],
        keep=list("cdefg"),
        unsafe_keep=["b"],
        ranges="columns",
        method="mondrian",
    )
    assert made.publish(out / file, max_unique=1)["classes"] == 1
    assert {str(row[-1]) for row in read(out / file, "release")} == {"0.0"}


def test_rows_that_kept_columns_make_unique_are_not_published_unless_that_is_allowed(hospital: Con, out: Path) -> None:
    hospital.execute(
        "create table visits as select 30 + i % 4 as age, i as bed, '=' || i % 2 as slot from range(40) r(i)"
    )
    made = sqlanon.anonymize(hospital, "visits", ["age"], 5, keep=["slot"], unsafe_keep=["bed"], name="wards")
    with pytest.raises(BrokenPromiseError, match=r"\(slot, bed\) finds 100.0% of the rows unique.*max_unique=1"):
        made.publish(out / "wards.csv")
    with pytest.raises(PolicyError, match="max_unique is 2; it must be a number from 0 to 1"):
        made.publish(out / "wards.csv", max_unique=2)
    both = sqlanon.Connection(hospital)
    with pytest.raises(BrokenPromiseError, match="publish with max_unique = 1 if"):
        both.execute(f"publish wards to '{out / 'wards.csv'}'")
    assert list(files(out)) == []
    with pytest.raises(PolicyError, match=r"Unknown option 'formula'.*Did you mean 'formulas'"):
        both.execute(f"publish wards to '{out / 'wards.csv'}' options (formula = true)")
    both.execute(f"publish wards to '{out / 'wards.csv'}' options (formulas = true, max_unique = 1)")
    assert "'=" not in (out / "wards.csv").read_text()
    both.execute(f"publish wards to '{out / 'wards.csv'}' replace options (max_unique = 1)")
    assert "'=" in (out / "wards.csv").read_text()
    seldom = sqlanon.anonymize(hospital, "select age, bed // 20 as ward from visits", ["age"], 5, keep=["ward"])
    assert seldom.unique_with_kept() == 0
    seldom.publish(out / "seldom.csv")
