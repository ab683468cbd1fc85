"""Attacks on releases: each succeeds on a release that is weak on purpose, and not on one of ours."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon import errors
from sqlanon.cli.main import main
from sqlanon.disclosure.attacks import Attack, Attacks
from sqlanon.disclosure.counting import revealed
from sqlanon.errors import CatalogError, DataError, PolicyError
from sqlanon.privacy import verdict

Con = duckdb.DuckDBPyConnection


@pytest.fixture(autouse=True)
def people(con: Con, zip_prefixes: None) -> None:
    con.execute(
        "create table people as select cast(1000 + hash(i) % 400 as varchar) as zip, "
        "cast(20 + hash(1000 + i) % 70 as integer) as age, 'i' || hash(2000 + i) % 6 as illness from range(200) r(i)"
    )


def the(found: Attacks, attack: str, column: str | None = None) -> Attack:
    (row,) = [row for row in found.rows if row.attack == attack and column in (None, row.column)]
    return row


def rows_of(con: Con, table: str, rows: list[tuple[Any, ...]], columns: str) -> None:
    con.execute(f"create or replace table {table} ({columns})")
    con.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)


def test_linkage_finds_the_one_person_whom_a_class_of_one_covers(con: Con) -> None:
    rows_of(con, "s", [(1, "x"), (2, "x"), (3, "y"), (9, "y")], "a integer, b varchar")
    rows_of(con, "weak", [("[1-3]", "*")] * 3 + [("9", "*")], "a varchar, b varchar")
    found = sqlanon.attack(con, "weak", source="s", quasi=["a", "b"], k=2)
    linkage = the(found, "linkage")
    assert (linkage.got, linkage.chance, linkage.promise, linkage.verdict) == (1, 0.25, 0.5, "BROKEN")
    assert the(found, "linkage_mean").got == pytest.approx((3 * 1 / 3 + 1) / 4)
    assert not found.holds
    assert sqlanon.attack(con, "weak", source="s", quasi=["a"], k=2).rows[0].verdict == "BROKEN"


def test_linkage_says_whom_no_row_covers(con: Con) -> None:
    rows_of(con, "s", [(1,), (2,), (3,), (4,)], "a integer")
    rows_of(con, "dropped", [("[1-2]",)] * 2, "a varchar")
    linkage = the(sqlanon.attack(con, "dropped", source="s", quasi=["a"], k=2), "linkage")
    assert (linkage.got, linkage.verdict) == (0.5, "holds")
    assert "no row covers 2 of them" in linkage.tried


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    people=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12),
    cuts=st.tuples(st.integers(0, 5), st.integers(0, 3)),
)
def test_linkage_agrees_with_a_look_at_every_pair(
    con: Con, people: list[tuple[int, int]], cuts: tuple[int, int]
) -> None:
    rows_of(con, "s", people, "a integer, b integer")
    parts = [[p for p in people if (p[0] <= cuts[0]) == below and (p[1] <= cuts[1]) == left]
             for below, left in itertools.product((True, False), repeat=2)]  # fmt: skip
    boxes = [[(min(v), max(v)) for v in zip(*part, strict=True)] for part in parts if part for _ in part]
    labels = [[f"[{lo}-{hi}]" if lo < hi else str(lo) for lo, hi in box] for box in boxes]
    rows_of(con, "printed", [tuple(row) for row in labels], "a varchar, b varchar")
    candidates = [
        sum(all(lo <= v <= hi for v, (lo, hi) in zip(person, box, strict=True)) for box in boxes) for person in people
    ]
    found = sqlanon.attack(con, "printed", source="s", quasi=["a", "b"], k=2)
    assert the(found, "linkage").got == pytest.approx(max(1 / n for n in candidates))
    assert the(found, "linkage_mean").got == pytest.approx(np.mean([1 / n for n in candidates]))


@pytest.mark.parametrize("how", [{"effort": "fast"}, {"method": "mondrian"}, {"method": "kacpc"}], ids=str)
def test_nothing_gets_further_than_promised_on_our_own_release(con: Con, how: dict[str, str]) -> None:
    con.execute("create table thirty as from people limit 30")
    sqlanon.anonymize(
        con, "thirty", ["zip", "age"], 5, sensitive=["illness"], l=2, ranges="snapped", name="ours", **how
    )
    found = sqlanon.attack(con, "ours")
    assert found.holds
    assert {row.attack for row in found.rows} >= {"linkage", "homogeneity", "background_knowledge", "row_order"}
    assert 0 < the(found, "linkage").got <= 1 / 5  # type: ignore[operator]
    assert the(found, "homogeneity").got == 0
    assert the(found, "ends_of_ranges").verdict == "holds"


def test_homogeneity_finds_classes_with_one_value(con: Con) -> None:
    rows_of(con, "s", [(1, "flu"), (2, "flu"), (3, "flu"), (4, "gout")], "a integer, s varchar")
    rows_of(
        con, "weak", [("[1-2]", "flu"), ("[1-2]", "flu"), ("[3-4]", "flu"), ("[3-4]", "gout")], "a varchar, s varchar"
    )
    options: dict[str, Any] = {"source": "s", "quasi": ["a"], "k": 2, "sensitive": ["s"]}
    found = the(sqlanon.attack(con, "weak", **options, l=2), "homogeneity", "s")
    assert (found.got, found.promise, found.verdict) == (0.5, 0, "BROKEN")
    assert found.chance == pytest.approx((3 / 4) ** 2 + (1 / 4) ** 2)
    assert the(sqlanon.attack(con, "weak", **options), "homogeneity").verdict == "holds"  # no more than chance


def test_background_knowledge_rules_out_the_rarest_values(con: Con) -> None:
    rows_of(con, "s", [(a, s) for a in (1, 2) for s in "aab"] + [(3, s) for s in "abc"], "a integer, s varchar")
    rows_of(con, "weak", [("[1-2]", s) for s in "aabaab"] + [("3", s) for s in "abc"], "a varchar, s varchar")
    options: dict[str, Any] = {"source": "s", "quasi": ["a"], "k": 3, "sensitive": ["s"], "l": 3}
    found = the(sqlanon.attack(con, "weak", **options), "background_knowledge", "s")
    assert (found.got, found.promise, found.verdict) == (1, 0.5, "BROKEN")
    assert found.chance == pytest.approx((5 / 9) / (8 / 9))
    nothing = the(sqlanon.attack(con, "weak", **options, knows=0), "background_knowledge")
    assert nothing.got == pytest.approx(2 / 3)
    assert nothing.promise == pytest.approx(1 / 3)
    con.execute("create table fifty as from people limit 50")
    sqlanon.anonymize(con, "fifty", ["zip", "age"], 6, sensitive=["illness"], l=3, name="ours", method="mondrian")
    ours = the(sqlanon.attack(con, "ours"), "background_knowledge")
    assert ours.verdict == "holds"
    assert ours.promise == 0.5


def order_of(con: Con, release: str, **more: Any) -> Attack:
    found = sqlanon.attack(con, release, source="people", quasi=["zip"], k=2, others=[], **more)
    return the(found, "row_order")


def test_the_order_of_the_source_is_recognized_both_ways_round(con: Con) -> None:
    con.execute("create table kept_order as select zip[:3] || '*' as zip, illness from people")
    con.execute("create table turned as from kept_order order by rowid desc")
    for table in ("kept_order", "turned"):
        found = order_of(con, table, sensitive=["illness"])
        assert found.got > found.chance  # type: ignore[operator]
        assert found.verdict == "BROKEN"
        assert order_of(con, table).verdict == "BROKEN"
    sqlanon.anonymize(con, "people", ["zip"], 2, sensitive=["illness"], name="ours", method="mondrian")
    assert the(sqlanon.attack(con, "ours"), "row_order").verdict == "holds"


def test_classes_in_order_tell_nothing_but_rows_in_order_within_them_do(con: Con) -> None:
    con.execute("create or replace table people as from people order by zip, hash(age)")
    con.execute(
        "create table sorted as select zip[:2] || '**' as zip, illness from people order by zip[:2], hash(illness)"
    )
    con.execute("create table stable as select zip[:2] || '**' as zip, illness from people")
    assert order_of(con, "sorted", sensitive=["illness"]).verdict == "holds"
    assert order_of(con, "stable").verdict == "holds"  # equal rows have no order
    numbered = "select *, 'i' || row_number() over () // 20 as place from people"
    con.execute(f"create or replace table people as select zip, place as illness from ({numbered})")
    con.execute("create or replace table stable as select zip[:2] || '**' as zip, illness from people")
    assert order_of(con, "stable", sensitive=["illness"]).verdict == "BROKEN"


def test_ends_of_ranges_that_one_person_has_are_counted_and_snapped_ones_are_nobodys(con: Con) -> None:
    rows_of(con, "s", [(1,), (2,), (2,), (5,), (5,), (9,)], "a integer")
    rows_of(con, "exact", [("[1-2]",)] * 3 + [("[5-9]",)] * 3, "a varchar")
    found = the(sqlanon.attack(con, "exact", source="s", quasi=["a"], k=3), "ends_of_ranges", "a")
    assert (found.got, found.verdict) == (0.5, "open")
    assert found.chance == pytest.approx(2 / 6)
    rows_of(con, "hidden", [("*",)] * 6, "a varchar")
    assert the(sqlanon.attack(con, "hidden", source="s", quasi=["a"], k=3), "ends_of_ranges").got == 0
    sqlanon.anonymize(con, "s", ["a"], 3, ranges="snapped", name="snapped")
    assert the(sqlanon.attack(con, "snapped"), "ends_of_ranges").verdict == "holds"


def test_two_releases_of_one_table_give_away_what_each_hides(con: Con) -> None:
    con.execute("create table grid as select i // 2 as a, i % 2 as b, 's' || i as s from range(4) r(i)")
    sqlanon.anonymize(con, "grid", ["a", "b"], 2, weights={"a": 100}, unsafe_keep=["s"], name="by_a")
    sqlanon.anonymize(con, "grid", ["a", "b"], 2, weights={"b": 100}, unsafe_keep=["s"], name="by_b")
    found = the(sqlanon.attack(con, "by_a"), "intersection")
    assert (found.got, found.promise, found.verdict) == (1, 0.5, "BROKEN")
    assert "4 people have fewer than k" in found.tried
    assert found.told[0] == "intersection with by_b"
    assert the(sqlanon.attack(con, "by_a", others=["by_a"]), "intersection").verdict == "holds"
    assert all(row.attack != "intersection" for row in sqlanon.attack(con, "by_a", others=[]).rows)
    sqlanon.anonymize(con, "grid", ["a", "b"], 2, weights={"b": 100}, name="without_s")
    assert the(sqlanon.attack(con, "by_a", others=["without_s"]), "intersection").verdict == "holds"


def test_a_merge_for_l_tells_which_group_would_have_broken_it(con: Con) -> None:
    values = ["hiv", "hiv", "a", "b", "c", "d", "e", "f"]
    rows_of(con, "s", [(1 if i < 2 else 9, value) for i, value in enumerate(values)], "q integer, s varchar")
    sqlanon.anonymize(con, "s", ["q"], 2, sensitive=["s"], l=2, name="merged", method="mondrian")
    found = the(sqlanon.attack(con, "merged"), "minimality", "s")
    assert found.got == pytest.approx(1)
    assert found.chance == 0.25
    assert found.verdict == "open"
    rows_of(con, "s2", [(q, s) for q in (1, 9) for s in "abc"], "q integer, s varchar")
    sqlanon.anonymize(con, "s2", ["q"], 2, sensitive=["s"], l=2, name="apart", method="mondrian")
    assert the(sqlanon.attack(con, "apart"), "minimality").verdict == "holds"


@pytest.mark.parametrize(
    ("values", "parts"),
    [("xxab", (2, 2)), ("xxabc", (2, 3)), ("xxyyab", (2, 4)), ("xxxabcd", (3, 4)), ("abcd", (2, 2))],
)
def test_what_a_merge_tells_agrees_with_all_ways_to_deal_the_values(values: str, parts: tuple[int, ...]) -> None:
    codes = np.unique(list(values), return_inverse=True)[1]
    told = revealed(codes, np.array(parts), 2)
    ends = np.cumsum((0, *parts))
    seen = []
    for dealt in itertools.permutations(codes.tolist()):
        pieces = [dealt[start:end] for start, end in itertools.pairwise(ends)]
        counts = [[piece.count(code) for code in range(codes.max() + 1)] for piece in pieces]
        breaks = sum(2 * n > len(piece) for piece, by in zip(pieces, counts, strict=True) for n in by)
        seen += [[[n / len(piece) for n in by] for piece, by in zip(pieces, counts, strict=True)]] * breaks
    if not seen:
        assert told is None
        return
    assert told is not None
    assert told[0] == pytest.approx(np.mean(seen, axis=0).max())
    assert told[1] == pytest.approx(max(map(values.count, values)) / len(values))


def test_rows_with_boxes_of_their_own_are_judged_by_the_rows_that_cover_a_person(con: Con) -> None:
    sqlanon.anonymize(con, "people", ["zip", "age"], 4, sensitive=["illness"], method="nonhomogeneous", name="loose")
    found = sqlanon.attack(con, "loose")
    assert the(found, "linkage").verdict == "holds"
    assert the(found, "homogeneity").got < 1  # type: ignore[operator]


def test_what_cannot_be_attacked_is_refused_without_showing_a_value(con: Con) -> None:
    sqlanon.anonymize(con, "people", ["zip", "age"], 5, name="ours", method="mondrian")
    older = "select * from people where age > 30"
    sqlanon.anonymize(con, older, ["zip", "age"], 5, name="elsewhere", method="mondrian")
    sqlanon.anonymize(con, "people", ["zip", "age"], 5, represent="center", name="centres", method="mondrian")
    con.execute("create table empty as from people limit 0; create table strange as select 'secret' as zip")
    for options, message in (
        ({"release": "people"}, "Unknown release 'people'"),
        ({"release": "ours", "quasi": ["zip"]}, "already has these"),
        ({"release": "people", "source": "people"}, "quasi is missing"),
        ({"release": "people", "source": "peeple", "quasi": ["zip"]}, "peeple"),
        ({"release": "ours", "knows": -1}, "knows is -1"),
        ({"release": "ours", "others": ["elsewhere"]}, "not made from the same source"),
        ({"release": "centres"}, "releases centers"),
        ({"release": "empty", "source": "people", "quasi": ["zip"]}, "no rows"),
        ({"release": "strange", "source": "people", "quasi": ["zip"]}, "has labels that are not a value"),
    ):
        with pytest.raises((PolicyError, CatalogError, DataError), match=message) as problem:
            sqlanon.attack(con, **options)  # type: ignore[arg-type]
        assert "secret" not in str(problem.value)


def test_the_command_attacks_releases_and_files_and_its_exit_code_says_what_came_of_it(
    con: Con, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    con.execute("copy people to 'people.csv'")
    with sqlanon.connect("hospital.duckdb") as hospital:
        hospital.execute("create table people as from read_csv('people.csv', types = {'zip': 'varchar'})")
        options: dict[str, Any] = {"sensitive": ["illness"], "method": "mondrian"}
        sqlanon.anonymize(hospital, "people", ["zip", "age"], 5, name="ours", **options).publish("ours.csv")
    assert main(["attack", "ours", "--db", "hospital.duckdb", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"]
    assert {row["attack"] for row in found["attacks"]} >= {"linkage", "row_order"}
    command = ["attack", "ours.csv", "--source", "people.csv", "--quasi", "zip,age", "--sensitive", "illness"]
    assert main([*command, "--k", "5"]) == 0
    out = capsys.readouterr().out
    assert "linkage_mean" in out
    assert out.strip().splitlines()[-2].startswith("holds; 2 open")
    assert out.strip().splitlines()[-1] == "next: write a report to sign: sqlanon report TABLE --quasi zip,age"
    assert main([*command, "--k", "50"]) == 1
    assert "BROKEN" in capsys.readouterr().out
    assert main(["attack", "ours", "--db", "nowhere.duckdb"]) == 2
    assert main(["attack", "theirs", "--db", "hospital.duckdb"]) == 2
    assert "Did you mean" not in capsys.readouterr().out


def test_the_verdict_has_three_states_and_names_its_warnings(con: Con) -> None:
    rows_of(
        con, "s", [(1, "flu", "w1"), (2, "flu", "w2"), (3, "flu", "w1"), (4, "gout", "w1")], "a int, s text, w text"
    )
    sqlanon.anonymize(con, "s", ["a"], 2, sensitive=["s"], keep=["w"], name="kept", method="mondrian")
    found = sqlanon.attack(con, "kept")
    assert (found.holds, found.state) == (True, "holds with warnings")
    assert [warning.kind for warning in found.warnings] == ["homogeneous classes", "unique with kept columns"]
    assert "finds 50.0% of the rows unique" in found.warnings[1].said
    assert found.next.startswith("require l=1.3 of s and name w in quasi or sensitive, or leave it out")
    assert str(found).splitlines()[-1] == f"next: {found.next}"
    rows_of(con, "equal", [(1,), (1,), (2,), (2,)], "a int")
    (lossless,) = sqlanon.attack(con, "equal", source="equal", quasi=["a"], k=2).warnings
    assert lossless.kind == "nothing lost at all"
    broken = sqlanon.attack(con, "equal", source="equal", quasi=["a"], k=3)
    assert (broken.state, broken.next) == ("BROKEN", "do not give it out; make it again from its source, with its k")
    sqlanon.anonymize(con, "people", ["zip", "age"], 5, name="clean")
    clean = sqlanon.attack(con, "clean")
    assert (clean.state, clean.next) == ("holds", "publish it: sqlanon.open_release(con, 'clean').publish('FILE')")


def test_another_release_that_could_not_be_tried_is_named(con: Con) -> None:
    sqlanon.anonymize(con, "people", ["zip", "age"], 5, name="ours")
    sqlanon.anonymize(con, "people", ["age"], 5, name="centers", represent="center")
    found = sqlanon.attack(con, "ours")
    assert (found.state, [warning.kind for warning in found.warnings]) == (
        "holds with warnings",
        ["other releases of the same people"],
    )
    assert "'centers' of the same people could not be tried" in found.warnings[0].said


def test_the_next_step_is_said_in_the_words_of_the_interface() -> None:
    warned = {}
    for interface in (errors.PYTHON, errors.SQL, errors.command_line("h.duckdb")):
        with errors.read_in(interface):
            warned[interface.name] = verdict.homogeneous("illness").mend, verdict.publishing("ours")
    assert warned == {
        "python": ("require l=2 of illness", "publish it: sqlanon.open_release(con, 'ours').publish('FILE')"),
        "sql": ("require l = 2 of illness", "publish it: PUBLISH ours TO 'FILE'"),
        "command line": ("require --l 2 of illness", "publish it: sqlanon publish ours --db h.duckdb -o FILE"),
    }
