"""People over all of their rows: what is counted, refused and enforced against whoever knows every row of a person."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import BrokenPromiseError, CatalogError, PolicyError

Con = duckdb.DuckDBPyConnection
KEY = bytes(range(32))
QUASI = ["age", "day"]
Row = tuple[int, int, int, str]


def fill(con: Con, rows: list[Row]) -> None:
    con.execute("create or replace table visits (who int, age int, day int, illness varchar)")
    con.executemany("insert into visits values (?, ?, ?, ?)", rows)


def simulated(people: int = 60, seed: int = 1) -> list[Row]:
    """Visits of people whose age and illness stay the same."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for who in range(people):
        age, illness = int(rng.integers(20, 70)), str(rng.choice(["flu", "hiv", "leg"]))
        days = rng.integers(0, 100, min(5, int(rng.geometric(0.5))))
        rows += [(who, age, int(day), illness) for day in days]
    return rows


@pytest.fixture(autouse=True)
def visits(con: Con) -> None:
    fill(con, simulated())
    sqlanon.set_key(con, KEY)


def released(con: Con, table: str, who: str = "who") -> dict[Any, list[tuple[str, ...]]]:
    """The released rows of each person."""
    sets: dict[Any, list[tuple[str, ...]]] = defaultdict(list)
    for person, *row in con.execute(f"select {who}, {', '.join(QUASI)} from {table}").fetchall():
        sets[person].append(tuple(row))
    return {person: sorted(rows) for person, rows in sets.items()}


def literal_linked_k(sets: dict[Any, list[tuple[str, ...]]]) -> int:
    return min(sum(other == rows for other in sets.values()) for rows in sets.values())


def covers(label: str, value: int) -> bool:
    lo, hi = label.strip("[]").split("-") if label.startswith("[") else (label, label)
    return label == "*" or int(lo) <= value <= int(hi)


def could_be(own: list[tuple[int, ...]], shown: list[tuple[str, ...]]) -> bool:
    """Is there a row of a person's own for every row that is shown?"""
    if not shown:
        return True
    return any(
        all(covers(label, value) for label, value in zip(shown[0], row, strict=True))
        and could_be(own[:i] + own[i + 1 :], shown[1:])
        for i, row in enumerate(own)
    )


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 9), st.sampled_from("abc")),
        min_size=15,
        max_size=40,
    ),
    k=st.integers(2, 4),
)
def test_whoever_knows_all_rows_of_a_person_finds_k_pseudonyms_that_fit(con: Con, rows: list[Row], k: int) -> None:
    fill(con, rows)
    if len({who for who, *_ in rows}) < k:
        return
    release = sqlanon.anonymize(con, "visits", QUASI, k, entity="who", linked=True, pseudonymize=["who"], key=KEY)
    shown = released(con, release.table)
    assert release.proof.k == release.proof.linked_k == release.verify().k == literal_linked_k(shown) >= k
    owned: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for who, age, day, _ in rows:
        owned[who].append((age, day))
    fitting = [sum(could_be(own, those) for those in shown.values()) for own in owned.values()]
    assert sum(number >= k for number in fitting) >= len(shown)  # all who are released
    assert release.proof.left_out == len(rows) - release.proof.rows


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.one_of(st.none(), st.integers(0, 2)), st.sampled_from(["a", "b", None])),
        min_size=1,
        max_size=15,
    )
)
def test_linked_k_is_what_a_look_at_every_pair_of_people_finds(con: Con, rows: list[tuple[Any, ...]]) -> None:
    con.execute("create or replace table t (who int, age int, day varchar)")
    con.executemany("insert into t values (?, ?, ?)", rows)
    sets: dict[int, list[Any]] = defaultdict(list)
    for who, *row in rows:
        sets[who].append(tuple(map(str, row)))
    expected = literal_linked_k({who: sorted(those) for who, those in sets.items()})
    assert con.execute("select anon.linked_k('t', ['age', 'day'], 'who')").fetchone() == (expected,)
    assert sqlanon.check(con, "t", QUASI, 2, entity="who").linked_k == expected
    assert sqlanon.risk(con, "t", QUASI, entity="who")["linked_k"] == expected


def test_a_proof_says_whether_rows_or_sets_of_rows_are_meant(con: Con) -> None:
    by_row = sqlanon.anonymize(con, "visits", QUASI, 3, entity="who")
    assert by_row.proof.property == "k-anonymity of entities, row by row"
    assert by_row.proof.k >= 3 > by_row.proof.linked_k == by_row.verify().linked_k == 1
    assert "linked k" in str(by_row)
    linked = sqlanon.anonymize(con, "visits", QUASI, 3, entity="who", linked=True)
    assert linked.proof.property == "linked k-anonymity of entities"
    assert linked.proof.linked_k == linked.verify().linked_k == linked.proof.k >= 3


def test_pseudonyms_that_tie_rows_together_are_refused_unless_the_linked_k_holds(con: Con) -> None:
    options: dict[str, Any] = {"entity": "who", "pseudonymize": ["who"], "key": KEY}
    with pytest.raises(BrokenPromiseError, match=r"share the rarest set of rows is 1; k is 3.*linked = true"):
        sqlanon.anonymize(con, "visits", QUASI, 3, **options)
    with pytest.raises(duckdb.Error, match="linked = true"):
        con.execute(
            "from anon.anonymize('visits', quasi := ['age', 'day'], k := 3, entity := 'who', pseudonymize := ['who'])"
        )
    fill(con, [(who, 20 + who // 3, day, "flu") for who in range(9) for day in (1, 2)])
    assert sqlanon.anonymize(con, "visits", QUASI, 3, **options).proof.linked_k == 3
    con.execute("create table broken as select 'x' || who as who, age::varchar as age, day::varchar as day from visits")
    con.execute("update broken set day = '3' where who = 'x1' and day = '2'")
    assert not sqlanon.check(con, "broken", QUASI, 2, entity="who", linked=True).holds


def test_attack_finds_the_pseudonyms_that_fit_one_person(con: Con) -> None:
    sqlanon.anonymize(con, "visits", QUASI, 3, entity="who", unsafe_keep=["who"], sensitive=["illness"], name="rows")
    options: dict[str, Any] = {"source": "visits", "quasi": QUASI, "k": 3, "entity": "who", "pseudonymize": ["who"]}
    by_row = sqlanon.attack(con, "(select * from rows)", sensitive=["illness"], **options)
    found = {row.attack: row for row in by_row.rows if row.column in (None, "illness")}
    assert (found["linked_rows"].got, found["linked_rows"].verdict) == (1.0, "BROKEN")
    assert found["linked_values"].verdict == "open"
    sqlanon.anonymize(
        con, "visits", QUASI, 3, entity="who", linked=True, pseudonymize=["who"], sensitive=["illness"], l=1.5,
        name="linked", key=KEY,
    )  # fmt: skip
    linked = sqlanon.attack(con, "linked", others=[])
    found = {row.attack: row for row in linked.rows if row.column in (None, "illness")}
    assert found["linked_rows"].got <= 1 / 3
    assert found["linked_rows"].verdict == found["linked_values"].verdict == "holds"


@pytest.mark.parametrize("models", [{"l": 1.5}, {"alpha": 0.7}, {"distinct_l": 2}, {"t": 0.5}, {"entropy_l": 1.3}])
def test_models_look_at_the_people_who_share_a_set_of_rows(con: Con, models: dict[str, float]) -> None:
    release = sqlanon.anonymize(
        con, "visits", QUASI, 3, entity="who", linked=True, pseudonymize=["who"], sensitive=["illness"], key=KEY,
        **models,
    )  # fmt: skip
    ((model, asked),) = models.items()
    reached = release.verify().models[model]["illness"]
    assert reached is not None
    assert (reached >= asked - 1e-9) == (model not in ("alpha", "t")) or reached == pytest.approx(asked)
    sets = released(con, release.table)
    values: dict[Any, set[str]] = defaultdict(set)
    for who, illness in con.execute(f"select who, illness from {release.table}").fetchall():
        values[who].add(illness)
    for rows in sets.values():
        group = [who for who, others in sets.items() if others == rows]
        most = max(sum(illness in values[who] for who in group) for illness in ("flu", "hiv", "leg"))
        if model == "l":
            assert len(group) / most >= asked - 1e-9
        if model == "alpha":
            assert most / len(group) <= asked + 1e-9


def test_dropped_rows_count_as_suppressed(con: Con) -> None:
    release = sqlanon.anonymize(con, "visits", QUASI, 5, entity="who", linked=True, row_price=0.3)
    left_out = release.proof.left_out
    assert left_out == len(simulated()) - release.proof.rows > 0
    assert release.suppressed == left_out
    assert release.metrics()["suppressed"] == pytest.approx(left_out / len(simulated()))
    assert release.metrics()["gcp"] >= release.metrics()["suppressed"]
    assert con.execute(f"select count(*) from {release.table} where age = '*' or day = '*'").fetchone() == (0,)


def test_statements_queries_and_the_command_line_take_it(con: Con, tmp_path: Path, capsys: Any) -> None:
    query = "from anon.anonymize('visits', quasi := ['age', 'day'], k := 3, entity := 'who', linked := true"
    assert con.sql(f"{query}, row_price := 2)").columns == QUASI
    own = sqlanon.Connection(con)
    own.execute(
        "create anonymized view public as from visits options (quasi = [age, day], k = 3, entity = who, linked = true, "
        "row_order = day, sensitive = [illness])"
    )
    with pytest.raises(CatalogError, match="it is linked"):
        own.execute("refresh anonymized view public")
    source, public = tmp_path / "visits.csv", tmp_path / "public.csv"
    con.execute(f"copy visits to '{source}'")
    shown = ["--quasi", "age,day", "--k", "3", "--entity", "who"]
    kept = ["--unsafe-keep", "who", "--max-unique", "1"]
    assert main(["anonymize", str(source), *shown, "--linked", *kept, "-o", str(public)]) == 0
    assert main(["check", str(public), *shown, "--linked"]) == 0
    assert "linked k = " in capsys.readouterr().out
    assert main(["check", str(source), *shown, "--linked", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["linked_k"] == 1
    assert main(["risk", str(public), "--quasi", "age,day", "--entity", "who", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unique_people"] == 0


def test_a_report_says_what_all_rows_of_a_person_tell(con: Con, tmp_path: Path) -> None:
    by_row = sqlanon.anonymize(con, "visits", QUASI, 3, entity="who", sensitive=["illness"])
    assert "finds 1 people or more" in by_row.report(tmp_path / "rows.html", curve=False).read_text()
    linked = sqlanon.anonymize(
        con, "visits", QUASI, 3, entity="who", linked=True, pseudonymize=["who"], name="public", key=KEY
    )
    text = linked.report(tmp_path / "linked.html", curve=False).read_text()
    assert "whose rows, all together, look the same" in text
    assert "list_sort" in text
    published = tmp_path / "public.duckdb"
    assert linked.publish(published)["property"] == "linked k-anonymity of entities"
    with duckdb.connect(str(published), read_only=True) as file:
        ((found,),) = file.execute("select anon.linked_k('public', ['age', 'day'], 'who')").fetchall()
    assert found == linked.proof.k


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entity": None}, "linked needs an entity"),
        ({"method": "kaca"}, "linked cannot be combined with method='kaca'"),
        ({"max_suppression": 0.1}, "linked cannot be combined with max_suppression"),
        ({"represent": "center"}, "linked cannot be combined with represent"),
        ({"refine": True}, "linked cannot be combined with refine"),
        ({"time_budget": 2}, "linked cannot be combined with time_budget"),
        ({"objective": "lm"}, "linked cannot be combined with objective"),
        ({"row_price": 0}, "row_price is 0; it must be a number of 0.01 or more"),
        ({"row_order": "illness"}, "row_order is 'illness'; it must be one of the quasi-identifiers"),
        ({"linked": "yes"}, "linked is 'yes'; it must be true or false"),
        ({"linked": False, "row_price": 2}, "row_price needs linked=True"),
        ({"population": "visits"}, "population cannot be combined with entity"),
    ],
)
def test_what_cannot_be_linked_is_refused(con: Con, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sqlanon.anonymize(con, "visits", QUASI, 3, **({"entity": "who", "linked": True} | options))


def test_what_not_even_everybody_together_keeps_is_refused(con: Con) -> None:
    with pytest.raises(sqlanon.SqlanonError, match="61 people"):
        sqlanon.anonymize(con, "visits", QUASI, 61, entity="who", linked=True)
    with pytest.raises(sqlanon.SqlanonError, match="it pays to drop every row"):
        sqlanon.anonymize(con, "visits", QUASI, 20, entity="who", linked=True, row_price=0.01)
    with pytest.raises(sqlanon.SqlanonError, match="l = 9"):
        sqlanon.anonymize(con, "visits", QUASI, 3, entity="who", linked=True, sensitive=["illness"], l=9)


@pytest.mark.parametrize("quasi", [["age"], ["age", "day"]])
def test_pseudonyms_of_one_class_tell_nobody_who_knows_all_rows_of_a_person(con: Con, quasi: list[str]) -> None:
    rows = simulated(90)
    fill(con, rows)
    options: dict[str, Any] = {"entity": "who", "pseudonymize": ["who"], "key": KEY, "method": "mondrian"}
    with pytest.raises(BrokenPromiseError, match="or pseudonyms = 'class'"):
        sqlanon.anonymize(con, "visits", quasi, 3, **options)
    release = sqlanon.anonymize(con, "visits", quasi, 3, **options, pseudonyms="class", ranges="columns", name="coded")
    assert release.verify().k >= 3
    listed = ", ".join(f"{column}_min, {column}_max" for column in quasi)
    seen: dict[str, list[Any]] = defaultdict(list)
    for who, *label in con.execute(f"select who, {listed} from coded").fetchall():
        seen[who].append(tuple(label))
    assert all(len(set(labels)) == 1 for labels in seen.values())  # nobody is in two classes
    tied = [labels for labels in seen.values() if len(labels) > 1]
    assert (len(tied) > 0) == (quasi == ["age"])  # where many have as many rows, a pseudonym still counts people
    shared = defaultdict(int)
    for labels in seen.values():
        shared[tuple(labels)] += 1
    assert min(shared.values()) >= 3
    asked = ", ".join(f"'{column}_min', '{column}_max'" for column in quasi)
    assert con.execute(f"select anon.linked_k('coded', [{asked}], 'who')").fetchone()[0] >= 3
    again = sqlanon.anonymize(con, "visits", quasi, 3, **options, pseudonyms="class", ranges="columns")
    assert again.proof.rows == release.proof.rows == len(rows)


def test_people_are_counted_by_who_they_are_and_not_by_fresh_pseudonyms(con: Con) -> None:
    fill(con, [(who, 20 + who, day, "flu") for who in range(6) for day in range(3 if who == 0 else 1)])
    options: dict[str, Any] = {"entity": "who", "pseudonymize": ["who"], "key": KEY, "pseudonyms": "class"}
    release = sqlanon.anonymize(con, "visits", ["age"], 3, **options, method="mondrian")
    assert (release.proof.k, release.proof.classes, release.proof.rows) == (6, 1, 8)  # six people, not eight rows
    with pytest.raises(PolicyError, match="needs an entity that is pseudonymized, and no other"):
        sqlanon.anonymize(con, "visits", ["age"], 3, entity="who", pseudonyms="class")
    with pytest.raises(PolicyError, match="no other pseudonyms"):
        sqlanon.anonymize(con, "visits", ["age"], 3, **options | {"pseudonymize": ["who", "day"]})
    sqlanon.set_key(con, KEY)
    with pytest.raises(duckdb.Error, match="pseudonyms = 'class' is for stored releases"):
        con.execute(
            "from anon.anonymize('visits', quasi := ['age'], k := 3, entity := 'who', pseudonymize := ['who'], "
            "pseudonyms := 'class')"
        )
