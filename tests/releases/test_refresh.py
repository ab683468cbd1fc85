"""REFRESH ANONYMIZED VIEW: who compares two versions finds everybody among k, and nothing is lost on the way."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, CatalogError, DataError, PolicyError, SqlanonError
from sqlanon.privacy import proof
from sqlanon.releases import refresh

Con = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]
OPTIONS: dict[str, Any] = {"quasi": ["age", "zip"], "k": 3, "sensitive": ["illness"], "method": "mondrian"}


@pytest.fixture
def con() -> Iterator[Con]:
    with duckdb.connect() as connection:
        sqlanon.load(connection)
        connection.execute("create table people (age integer, zip varchar, illness varchar)")
        yield connection


def rows(con: Con, sql: str, values: Any = None) -> list[Row]:
    return con.execute(sql, values).fetchall()


def add(con: Con, people: list[Row]) -> None:
    for person in people:
        con.execute("insert into people values (?, ?, ?)", person)


def remove(con: Con, person: Row) -> None:
    """One of those who are equal."""
    where = "age is not distinct from $1 and zip is not distinct from $2 and illness is not distinct from $3"
    con.execute(f"delete from people where rowid = (select min(rowid) from people where {where})", person)


def make(con: Con, **options: Any) -> sqlanon.Release:
    return sqlanon.anonymize(con, "people", **(OPTIONS | {"name": "pub", "kind": "view"} | options))


def counts(version: sqlanon.Version) -> tuple[int, int, int, int]:
    return version.added, version.withdrawn, version.held_new, version.held_deleted


def everything(con: Con) -> dict[str, Any]:
    """All tables and views with their rows."""
    found = rows(
        con,
        "select database_name, schema_name, table_name from duckdb_tables() union all "
        "select database_name, schema_name, view_name from duckdb_views() where not internal order by all",
    )
    tables = [".".join(f'"{part}"' for part in place) for place in found]
    return {table: Counter(map(repr, rows(con, f"select columns(*)::varchar from {table}"))) for table in tables}


SIX = [(20, "a", "flu"), (21, "a", "gout"), (22, "a", "flu"), (60, "b", "gout"), (61, "b", "flu"), (62, "b", "gout")]


def test_fewer_than_k_newcomers_are_held_back_until_there_are_k(con: Con) -> None:
    add(con, SIX)
    make(con)
    before = Counter(rows(con, "from pub"))
    add(con, [(30, "a", "flu"), (31, "a", "gout")])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 2, 0)
    assert Counter(rows(con, "from pub")) == before
    add(con, [(32, "a", "flu")])
    version = sqlanon.open_release(con, "pub").refresh()
    assert counts(version) == (3, 0, 0, 0)
    assert (version.version, version.rows) == (2, 9)
    after = Counter(rows(con, "from pub"))
    assert not before - after
    assert Counter(age for age, _, _ in (after - before).elements()) == {"[30-32]": 3}


def test_a_source_that_did_not_change_leaves_version_and_rows(con: Con) -> None:
    add(con, SIX)
    make(con)
    before = rows(con, "from pub")
    assert counts(sqlanon.refresh(con, "PUB")) == (0, 0, 0, 0)
    assert rows(con, "from pub") == before
    assert rows(con, "select version, refreshed_at is not null from anon.releases") == [(1, True)]


def test_a_single_deleted_person_is_held_and_a_whole_class_withdrawn(con: Con) -> None:
    add(con, SIX)
    make(con)
    remove(con, SIX[0])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 1)
    assert rows(con, "select count(*) from pub") == [(6,)]
    for person in SIX[1:3]:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 3, 0, 0)
    assert {age for age, _, _ in rows(con, "from pub")} == {"[60-62]"}


def test_those_who_left_are_withdrawn_when_both_parts_of_a_class_hide_k(con: Con) -> None:
    people = [(20, "a", illness) for illness in ("flu", "gout") * 3]
    add(con, people)
    make(con, l=2)
    for person in [people[0], people[2], people[4], people[1]]:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 4)  # of six, four left: two stay
    con.execute("delete from people")
    add(con, people * 2)
    make(con, l=2, replace=True)
    for person in [people[0]] * 3:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 3)  # all three had flu
    for person in [people[1]] * 3:
        remove(con, person)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 6, 0, 0)


def test_deleted_hold_never_withdraws(con: Con) -> None:
    add(con, SIX)
    make(con, deleted="hold")
    con.execute("delete from people where age < 50")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 3)
    with pytest.raises(PolicyError, match="deleted is 'burn'; it must be one of withdraw, hold"):
        make(con, name="other", deleted="burn")


def test_a_person_who_comes_back_is_no_longer_held(con: Con) -> None:
    add(con, SIX)
    make(con)
    remove(con, SIX[0])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 1)
    add(con, SIX[:1])
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


def test_a_changed_row_is_a_person_who_left_and_one_who_came(con: Con) -> None:
    add(con, SIX)
    make(con)
    con.execute("update people set illness = 'cold' where age = 20")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 1, 1)


def test_newcomers_with_too_frequent_a_sensitive_value_are_held_back_no_others(con: Con) -> None:
    add(con, SIX)
    make(con, l=2)
    add(con, [(40, "c", "flu")] * 9 + [(41, "c", "gout")] * 2)
    assert counts(sqlanon.refresh(con, "pub")) == (4, 0, 7, 0)
    assert rows(con, "select anon.l_diversity('pub', ['age', 'zip'], 'illness') >= 2") == [(True,)]


def test_t_closeness_of_the_whole_holds_back_newcomers_rather_than_break(con: Con, caplog: Any) -> None:
    add(con, SIX)
    make(con, t=0.3, t_distance="equal")
    add(con, [(40, "c", "measles")] * 6)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 6, 0)
    assert "held" in caplog.text


def test_those_who_were_left_out_by_suppression_count_as_new_and_come_with_others(con: Con) -> None:
    add(con, [(age, "a", "flu") for age in (20, 21, 22)] * 10 + [(90, "q", "gout")])
    made = make(con, max_suppression=0.1)
    assert made.proof["left_out"] == 1
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 1, 0)
    add(con, [(91, "q", "gout"), (92, "q", "flu")])
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)
    assert rows(con, "select age, zip, count(*) from pub where zip <> 'a' group by all") == [("[90-92]", "q", 3)]


def test_null_is_a_value_like_any_other_even_if_all_newcomers_have_it(con: Con) -> None:
    add(con, SIX)
    make(con)
    add(con, [(None, None, None)] * 3)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)
    assert rows(con, "select count(*) from pub where age is null and zip is null and illness is null") == [(3,)]


def test_newcomers_print_on_the_grid_of_the_whole_source(con: Con) -> None:
    con.execute("insert into people select i, 'a', 'flu' from range(1000) t(i)")
    make(con, ranges="snapped")
    add(con, [(500, "z", "flu"), (501, "z", "gout"), (502, "z", "flu")])
    sqlanon.refresh(con, "pub")
    assert rows(con, "select distinct age from pub where zip = 'z'") == [("[500-549]",)]


def test_a_query_and_pseudonyms_are_refreshed_with_the_key_of_the_view(con: Con) -> None:
    add(con, SIX)
    key = os.urandom(32)
    source = "select age, zip, illness, 'p' || age as patient from people"
    options = OPTIONS | {"pseudonymize": ["patient"], "name": "pub", "kind": "view"}
    sqlanon.anonymize(con, source, key=key, **options)
    before = Counter(rows(con, "from pub"))
    add(con, [(30, "a", "flu"), (31, "a", "gout"), (32, "a", "flu")])
    with pytest.raises(PolicyError, match="needs a key"):
        sqlanon.refresh(con, "pub")
    with pytest.raises(PolicyError, match="key is another one"):
        sqlanon.refresh(con, "pub", key=os.urandom(32))
    assert counts(sqlanon.refresh(con, "pub", key=key)) == (3, 0, 0, 0)
    assert not before - Counter(rows(con, "from pub"))
    sqlanon.set_key(con, key)
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("alter table people drop column zip", "Column 'zip' is not in 'people'"),
        ("alter table people alter age type varchar", "was INTEGER when 'pub' was made and is VARCHAR now"),
        ("drop table people", "Table 'people' does not exist"),
        ("delete from people", "Nobody of 'pub' is left in its source"),
        ("update anon.release_1 set illness = 'changed'", "are not those that were released"),
        ("drop view pub; create table pub as select 1", "is not the release"),
        ("delete from anon.release_members", "made by a sqlanon that could not refresh"),
    ],
)
def test_what_cannot_be_refreshed_says_why_and_stays_as_it_is(con: Con, change: str, message: str) -> None:
    add(con, SIX)
    make(con)
    con.execute(change)
    before = everything(con)
    with pytest.raises(SqlanonError, match=message):
        sqlanon.refresh(con, "pub")
    assert everything(con) == before


def test_a_wider_type_of_the_same_kind_is_no_change(con: Con) -> None:
    add(con, SIX)
    make(con)
    con.execute("alter table people alter age type bigint")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


def test_a_newcomer_missing_in_the_hierarchy_is_an_error_that_names_the_way_to_see_it(con: Con) -> None:
    add(con, SIX)
    sqlanon.create_hierarchy(con, "zip", rows=[("a", "*"), ("b", "*")])
    make(con)
    add(con, [(30, "q", "flu")] * 3)
    with pytest.raises(DataError, match=r"not in hierarchy 'zip'.*anon.hierarchy_gaps"):
        sqlanon.refresh(con, "pub")
    sqlanon.create_hierarchy(con, "zip", rows=[("a", "*"), ("b", "*"), ("q", "*")], replace=True)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)


def test_tables_and_methods_without_classes_are_refused(con: Con) -> None:
    add(con, SIX)
    make(con, name="snapshot", kind="table")
    with pytest.raises(CatalogError, match="'snapshot' is a table, a snapshot"):
        sqlanon.refresh(con, "snapshot")
    make(con, name="own", method="nonhomogeneous", sensitive=[])
    with pytest.raises(CatalogError, match="its groups, of nonhomogeneous, cannot be added to"):
        sqlanon.refresh(con, "own")
    make(con, name="apart", method="anatomy", l=2)
    with pytest.raises(CatalogError, match="of anatomy"):
        sqlanon.refresh(con, "apart")
    make(con, name="map", population="people", sensitive=[])
    with pytest.raises(CatalogError, match="it is a k-map, whose classes may be single rows"):
        sqlanon.refresh(con, "map")
    make(con, name="counted", entity="illness", sensitive=[], k=2)
    with pytest.raises(CatalogError, match="it counts people who have several rows"):
        sqlanon.refresh(con, "counted")
    with pytest.raises(CatalogError, match=r"Unknown release 'own_'.*Did you mean 'own'"):
        sqlanon.refresh(con, "own_")
    with pytest.raises(CatalogError, match="Only a stored view"):
        make(con, name=None, kind="table").refresh()


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("in the middle")


@pytest.mark.parametrize("stage", ["plan", "prove", "measure", "add_version"])
def test_a_failure_at_any_stage_changes_nothing(con: Con, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    add(con, SIX)
    make(con)
    add(con, [(30, "a", "flu")] * 3)
    before = everything(con)
    monkeypatch.setattr(refresh, stage, fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        sqlanon.refresh(con, "pub")
    assert everything(con) == before
    monkeypatch.undo()
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)


def test_a_broken_promise_changes_nothing(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    add(con, SIX)
    make(con)
    add(con, [(30, "a", "flu")] * 3)
    before = everything(con)
    real = proof.prove

    def breaks_when_stored(con: Con, relation: str, *rest: Any) -> Any:
        if "release_1" in relation:
            raise BrokenPromiseError("A printed class holds only 1 rows, k is 3")
        return real(con, relation, *rest)

    monkeypatch.setattr(refresh, "prove", breaks_when_stored)
    with pytest.raises(BrokenPromiseError):
        sqlanon.refresh(con, "pub")
    assert everything(con) == before


def test_a_refresh_inside_the_callers_transaction_is_rolled_back_with_it(con: Con) -> None:
    add(con, SIX)
    make(con)
    before = everything(con)
    con.execute("begin")
    add(con, [(30, "a", "flu")] * 3)
    assert counts(sqlanon.refresh(con, "pub")) == (3, 0, 0, 0)
    con.execute("rollback")
    assert everything(con) == before


def test_measures_and_history_are_those_of_the_new_version(con: Con) -> None:
    add(con, SIX)
    before = make(con).metrics()
    add(con, [(30, "a", "flu"), (90, "b", "gout"), (50, "c", "flu")])
    sqlanon.refresh(con, "pub")
    after = sqlanon.open_release(con, "pub")
    assert after.metrics()["gcp"] > before["gcp"]
    assert rows(con, "select anon.gcp('pub')") == [(pytest.approx(after.metrics()["gcp"]),)]
    assert after.verify() == after.proof
    assert after.proof["rows"] == 9
    history = "select version, rows, added, withdrawn, held_new, held_deleted from anon.release_versions order by 1"
    assert rows(con, history) == [(1, 6, 6, 0, 0, 0), (2, 9, 3, 0, 0, 0)]
    sqlanon.drop_release(con, "pub")
    assert rows(con, "from anon.release_versions") == rows(con, "from anon.release_members") == []


def test_measures_need_no_end_of_a_range_to_be_somebodys_value_still(con: Con) -> None:
    add(con, SIX)
    make(con)
    con.execute("delete from people where age in (20, 62)")
    assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 2)
    assert 0 < sqlanon.open_release(con, "pub").metrics()["gcp"] < 1


def test_statement_and_command_line_refresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlanon.connect("hospital.duckdb") as con:
        con.execute("create table people (age integer, zip varchar, illness varchar)")
        add(con.duckdb, SIX)
        options = "quasi = [age, zip], k = 3, sensitive = [illness], method = mondrian"
        con.execute(f"create anonymized view pub as from people options ({options})")
        add(con.duckdb, [(30, "a", "flu"), (31, "a", "flu"), (32, "a", "flu"), (20, "a", "flu")][1:])
        answer = con.execute("refresh anonymized view pub").fetchall()
        assert answer == [("pub", 2, 9, 3, 0, 0, 0)]
        with pytest.raises(SqlanonError, match="Expected VIEW, found 'pub'"):
            con.execute("refresh anonymized pub")
        add(con.duckdb, [(70, "d", "flu")])
    assert main(["refresh", "pub", "--db", "hospital.duckdb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "release": "pub",
        "version": 2,
        "rows": 9,
        "added": 0,
        "withdrawn": 0,
        "held_new": 1,
        "held_deleted": 0,
    }
    assert main(["refresh", "pub", "--db", "hospital.duckdb"]) == 0
    assert "version 2: 9 rows, 0 added, 0 withdrawn; held: 1 new, 0 deleted" in capsys.readouterr().out
    assert main(["refresh", "pub", "--db", "nowhere.duckdb"]) == 2


def test_an_older_database_is_upgraded_and_its_views_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as con:
        sqlanon.load(con)
        con.execute("create table people (age integer, zip varchar, illness varchar)")
        add(con, SIX)
        make(con)
        con.execute("drop table anon.release_versions; drop table anon.release_members")
        con.execute("update anon.version set schema_version = 2")
        for column in ("version", "refreshed_at", "held_new", "held_deleted"):
            con.execute(f"alter table anon.releases drop column {column}")
    with duckdb.connect(str(path)) as con:
        sqlanon.load(con)
        assert sqlanon.open_release(con, "pub").verify()["k"] == 3
        with pytest.raises(CatalogError, match="could not refresh: CREATE OR REPLACE"):
            sqlanon.refresh(con, "pub")
        make(con, replace=True)
        assert counts(sqlanon.refresh(con, "pub")) == (0, 0, 0, 0)


def test_published_files_hold_no_digest(con: Con, tmp_path: Path) -> None:
    add(con, SIX)
    made = make(con)
    digests = [digest for (digest,) in rows(con, "select sqlanon_digest from anon.release_1_members")]
    ((salt,),) = rows(con, "select salt from anon.release_members")
    assert len(set(digests)) == 6
    for file in ("out.duckdb", "out.csv", "out.parquet"):
        made.publish(tmp_path / file)
        content = (tmp_path / file).read_bytes()
        assert b"sqlanon_digest" not in content
        assert salt.encode() not in content
        assert not any(digest in content or digest.hex().encode() in content.lower() for digest in digests)


PEOPLE = st.tuples(
    st.one_of(st.none(), st.integers(20, 26)), st.sampled_from(["a", "b"]), st.sampled_from(["flu", "gout", "cold"])
)
STEPS = st.lists(st.tuples(st.lists(PEOPLE, max_size=9), st.lists(st.integers(0, 99), max_size=9)), max_size=4)


def tell(old: Counter[Row], new: Counter[Row]) -> Iterator[list[str]]:
    """What a comparison of two versions shows of each class: who came and who went, by their illnesses."""
    for difference in (new - old, old - new):
        for labels in {label for label, _ in difference}:
            yield [illness for label, illness in difference.elements() if label == labels]


@settings(max_examples=12, deadline=None)
@given(
    people=st.lists(PEOPLE, min_size=6, max_size=16),
    steps=STEPS,
    method=st.sampled_from(["mondrian", "kacpc", "datafly"]),
    ranges=st.sampled_from(["text", "columns", "snapped"]),
    l=st.sampled_from([None, 1.5]),
)
def test_whoever_compares_any_two_versions_finds_everybody_among_k(
    people: list[Row],
    steps: list[tuple[list[Row], list[int]]],
    method: str,
    ranges: str,
    l: float | None,  # noqa: E741
) -> None:
    with duckdb.connect() as con:
        sqlanon.load(con)
        con.execute("create table people (age integer, zip varchar, illness varchar)")
        there = list(people)
        add(con, there)
        options = {} if l is None else {"l": l}
        try:
            make(con, method=method, ranges=ranges, **options)
        except DataError:
            return  # not even all together keep l, or a column holds nothing
        printed = sqlanon.open_release(con, "pub").printed
        columns = " || '|' || ".join(f"coalesce(cast({column} as varchar), '-')" for column in printed)
        shown = f"select {columns}, illness from pub"
        versions = [Counter(rows(con, shown))]
        for come, leave in steps:
            add(con, come)
            there += come
            for number in leave:
                if there:
                    remove(con, there.pop(number % len(there)))
            try:
                version = sqlanon.refresh(con, "pub")
            except DataError as problem:
                if "Nobody of 'pub' is left" in str(problem):
                    return
                raise
            versions.append(Counter(rows(con, shown)))
            for group in tell(versions[-2], versions[-1]):
                assert len(group) >= 3
                most = Counter(group).most_common(1)[0][1]
                assert l is None or most * l <= len(group)
            assert version.rows == versions[-1].total() == len(there) - version.held_new + version.held_deleted
            proof = sqlanon.open_release(con, "pub").verify()
            assert proof["k"] >= 3
            assert l is None or proof["l"]["illness"] >= l
            if not version.withdrawn:
                assert not versions[-2] - versions[-1]
