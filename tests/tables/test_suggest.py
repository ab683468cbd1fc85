"""Text without a hierarchy: what is said of it, and drafts of hierarchies from a column's values."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading import Con, rows

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError, HierarchyError, PolicyError
from sqlanon.hierarchies.suggest import looks_like, suggest

PEOPLE = """
create table people as select
    (20 + range % 60)::int as age,
    printf('%05d', 1000 + range * 37 % 900) as zip,
    replace(printf('%.1f', 50 + range * 13 % 400 / 10.0), '.', ',') as weight,
    date '1950-01-01' + (range * 71 % 20000)::int as day,
    case when range % 2 = 0 then strftime(day, '%d.%m.%Y') else strftime(day, '%Y-%m-%d') end as born,
    ['nurse', 'doctor', 'pilot', 'cook', 'smith'][1 + (range % 10 // 2)::int] as job,
    case when range % 10 < 4 then 'clinic' when range % 10 < 6 then 'airport' else 'town' end as place,
from range(200)
"""


@pytest.fixture
def people(con: Con) -> Con:
    con.execute(PEOPLE)
    return con


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["01067", "80331", "10115"], "codes"),
        (["E11.9", "I10.0", "J45.1"], "codes"),
        (["72,3", "81,0", "64"], "numbers with a decimal comma"),
        (["1.5", "20", "300"], "numbers"),
        (["52,123.45", "1,000", "77.20"], "numbers with commas between thousands"),
        (["52,000", "30,000", "101,500"], "numbers with commas between thousands"),
        (["72,315", "81,002", "64,118"], "numbers with a decimal comma"),
        (["1\u202f234,50", "12\u00a0000,00", "950,10"], "numbers with spaces or apostrophes between thousands"),
        (["101'989.50", "99'000.00"], "numbers with spaces or apostrophes between thousands"),
        (["046 454 286", "193 456 787"], "categories"),
        (["12 345,10 €", "9 100,00 €"], "numbers with a unit"),
        (["€12.50", "€3.00", "€120"], "numbers with a unit"),
        (["12,5 kg", "80 kg", "7 kg"], "numbers with a unit"),
        (["12 kg", "80 m", "7 kg"], "categories"),
        (["31.12.2024", "2024-01-05", "01.02.1999"], "dates"),
        (["red", "green", "blue"], "categories"),
        (
            ["The patient came in the morning and said that all was well", "He was sent home by noon, with a letter"],
            "free text",
        ),
    ],
)
def test_text_is_recognized_by_its_values(values: list[str], kind: str) -> None:
    assert looks_like(values) == kind


def test_a_text_column_released_as_stars_is_told_with_what_mends_it(
    people: Con, caplog: pytest.LogCaptureFixture
) -> None:
    sqlanon.anonymize(people, "people", ["age", "zip", "weight", "born"], 5, method="mondrian")
    said = {record.getMessage().split("'")[1]: record.getMessage() for record in caplog.records}
    assert set(said) == {"zip", "weight", "born"}
    assert "200 of 200 rows have * there. It looks like codes, such as postcodes" in said["zip"]
    assert (
        "Draft a hierarchy: sqlanon.suggest_hierarchy(con, 'people.zip'), or use one at once: suggest=True"
        in said["zip"]
    )
    assert "numbers with a decimal comma: read the file with sqlanon.file_query(path, decimal=',')" in said["weight"]
    assert "dates as " in said["born"]
    assert "31.12.2024" in said["born"]


def test_an_enum_released_as_stars_is_told_and_drafted_like_text(people: Con, caplog: pytest.LogCaptureFixture) -> None:
    """It is what a categorical column of pandas becomes."""
    people.execute("create type zips as enum (select distinct zip from people)")
    people.execute("alter table people alter zip type zips")
    sqlanon.anonymize(people, "people", ["zip"], 5, method="mondrian")
    assert "Column 'zip' is text without a hierarchy, and 200 of 200 rows have * there" in caplog.text
    drafted = sqlanon.anonymize(people, "people", ["zip"], 5, method="mondrian", suggest=True)
    assert (drafted.metrics()["gcp"] or 0) < 1


def test_a_sensitive_column_of_type_uuid_is_an_identifier_like_text_of_that_form(people: Con) -> None:
    people.execute("alter table people add column token uuid default uuid()")
    with pytest.raises(PolicyError, match="'token' is in sensitive, but its values look like UUIDs"):
        sqlanon.anonymize(people, "people", ["age"], 5, sensitive=["token"], method="mondrian")


def test_a_query_of_anon_anonymize_says_which_text_it_can_only_release_as_stars(
    people: Con, caplog: pytest.LogCaptureFixture
) -> None:
    people.execute("from anon.anonymize('people', quasi := ['age', 'zip', 'job'], k := 5, method := 'mondrian')")
    (said,) = {record.getMessage() for record in caplog.records}
    assert "Column 'zip' is text without a hierarchy, and 200 of 200 rows have * there" in said
    assert said.endswith("Draft a hierarchy: FROM anon.suggest_hierarchy('people.zip')")


def test_nothing_is_said_where_the_text_has_a_hierarchy(people: Con, caplog: pytest.LogCaptureFixture) -> None:
    sqlanon.create_hierarchy(people, "zip", prefix=True)
    sqlanon.anonymize(people, "people", ["age", "zip"], 5, method="mondrian")
    assert not caplog.records


def test_codes_become_prefixes_and_numbers_intervals_with_round_ends(people: Con) -> None:
    codes = sqlanon.suggest_hierarchy(people, "people.zip")
    assert ("01000", "0100*", "010**", "01***", "0****", "*") in codes.rows
    ages = sqlanon.suggest_hierarchy(people, "people.age")
    assert ages.rows[0] == ("20", "[20-25)", "[20-30)", "[20-40)", "[20-60)", "*")
    weights = sqlanon.suggest_hierarchy(people, "people.weight")
    assert weights.rows[0][0] == "50,0"
    assert weights.rows[0][1].startswith("[50-")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["1,050.00", "2,010.50", "9,000"], ["[1000-2000)", "[2000-9000)", "[9000-10000)"]),
        (["€10.50", "€20.25", "€90"], ["[10-20)", "[20-90)", "[90-100)"]),
        (["10,5 kg", "20,25 kg", "90 kg"], ["[10-20)", "[20-90)", "[90-100)"]),
    ],
)
def test_amounts_as_people_write_them_become_intervals(values: list[str], labels: list[str]) -> None:
    drafted = suggest("amount", dict.fromkeys(values, 1))
    assert [(row[0], row[1]) for row in drafted.rows] == list(zip(values, labels, strict=True))


def test_mixed_dates_become_months_years_and_decades(people: Con) -> None:
    drafted = {row[0]: row[1:] for row in sqlanon.suggest_hierarchy(people, "people.born").rows}
    assert drafted["01.01.1950"] == ("1950-01", "1950", "1950s", "*")


def test_categories_are_grouped_with_those_they_occur_with(people: Con) -> None:
    drafted = {row[0]: row[1] for row in sqlanon.suggest_hierarchy(people, "people.job").rows}
    assert drafted["nurse"] == drafted["doctor"]
    assert drafted["cook"] == drafted["smith"]
    assert drafted["pilot"] != drafted["nurse"]


@pytest.mark.parametrize("column", ["age", "zip", "weight", "born", "job"])
def test_every_draft_is_a_hierarchy_that_covers_its_column(people: Con, column: str, tmp_path: Path) -> None:
    draft = sqlanon.suggest_hierarchy(people, f"people.{column}")
    draft.save(tmp_path / "draft.csv")
    sqlanon.create_hierarchy(people, "drafted", csv=tmp_path / "draft.csv")
    assert rows(people, f"from anon.hierarchy_gaps('people', '{column}', 'drafted')") == []
    answered = rows(people, f"from anon.suggest_hierarchy('people.{column}')")
    assert set(answered) == set(draft.rows)


def test_a_rare_value_is_in_no_label_of_a_drafted_group(con: Con) -> None:
    """Somebody's own value was released with everybody in the group."""
    con.execute("create table people as select range % 40 as age, 'town ' || range % 7 as town from range(120)")
    con.execute(
        "insert into people values (99, 'Needleville'), (99, 'Needlewick'), (98, 'Needleby'), (98, 'Needleham')"
    )
    draft = sqlanon.suggest_hierarchy(con, "people.town")
    labels = {label for row in draft.rows for label in row[1:] if label != row[0]}
    assert not any("Needle" in label for label in labels)
    meant = {label: {row[0] for row in draft.rows if label in row} for label in labels}
    assert len(set(map(frozenset, meant.values()))) == len(meant)  # each label still has one meaning
    made = sqlanon.anonymize(con, "people", ["age", "town"], 5, method="mondrian", suggest=True)
    assert not any("Needle" in str(row) for row in made.relation().fetchall())


def test_free_text_is_not_drafted(con: Con) -> None:
    con.execute(
        "create table notes as select 'a long remark about somebody on this day, no ' || range as note from range(9)"
    )
    with pytest.raises(HierarchyError, match="free text with 9 different values: no hierarchy can be drafted"):
        sqlanon.suggest_hierarchy(con, "notes.note")


def test_suggest_uses_drafts_and_says_so(people: Con, caplog: pytest.LogCaptureFixture) -> None:
    bare = sqlanon.anonymize(people, "people", ["age", "zip", "job"], 5, method="mondrian").metrics()["gcp"]
    caplog.clear()
    made = sqlanon.anonymize(people, "people", ["age", "zip", "job"], 5, method="mondrian", suggest=True)
    assert made.metrics()["gcp"] < bare
    assert [record.getMessage() for record in caplog.records if "suggested hierarchy" in record.getMessage()]
    assert rows(people, "select name from anon.hierarchies order by name") == [("job",), ("zip",)]


def test_the_command_line_drafts_writes_and_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{20 + n % 9};{1000 + n:05d};{n % 40},5\n" for n in range(60))
    Path("people.csv").write_text(f"age;zip;size\n{lines}")
    assert main(["hierarchy", "suggest", "people.csv.zip", "-o", "zip.csv"]) == 0
    assert "01000;0100*;010**;01***;0****;*" in Path("zip.csv").read_text()
    assert main(["hierarchy", "suggest", "people.csv.zip", "-o", "zip.csv"]) == 2  # nothing is overwritten
    assert main(["hierarchy", "suggest", "people.csv.size", "--decimal", ","]) == 0
    assert "[" in capsys.readouterr().out
    arguments = ["anonymize", "people.csv", "--quasi", "age,size", "--k", "4", "--suggest"]
    assert main([*arguments, "-o", "out.csv"]) == 0
    assert "A suggested hierarchy is used for size: numbers with a decimal comma" in capsys.readouterr().err


def test_a_label_with_two_meanings_is_warned_about(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    sqlanon.create_hierarchy(con, "doubtful", rows=[("a", "a", "*"), ("b", "a", "*"), ("c", "d", "*")])
    assert "'a' stands for several sets of values" in caplog.text
    caplog.clear()
    sqlanon.create_hierarchy(con, "ragged", rows=[("x", "g", "h", "*"), ("y", "h", "*")])
    assert "'h'" in caplog.text
    caplog.clear()
    sqlanon.create_hierarchy(con, "clear", rows=[("a", "v", "*"), ("b", "v", "*"), ("c", "w", "*")])
    assert not caplog.records


def test_a_star_in_the_source_is_warned_about(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    con.execute(
        "create table t as select case when range < 4 then '*' else 'a' end as x, range % 2 as y from range(12)"
    )
    sqlanon.anonymize(con, "t", ["x", "y"], 2)
    assert "has the value '*' in 4 rows. In a release * means anything" in caplog.text


@pytest.mark.parametrize(
    "value", ["uuid()", "cast(uuid() as varchar)", "md5('a' || range)", "'p' || range || '@x.org'"]
)
def test_no_groups_are_drafted_for_what_looks_like_an_identifier(con: Con, value: str) -> None:
    con.execute(f"create table people as select {value} as token, range % 3 as ward from range(60)")
    with pytest.raises(HierarchyError, match=r"Column 'token' looks like an identifier .* Leave it out, or count"):
        sqlanon.suggest_hierarchy(con, "people.token")


def test_a_file_without_a_column_is_asked_for_one(people: Con, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,zip\n")
    with pytest.raises(CatalogError, match=r"Which column of '.*people\.csv'\? Write '.*people\.csv\.COLUMN'"):
        sqlanon.suggest_hierarchy(people, str(tmp_path / "people.csv"))


@pytest.mark.parametrize("values", [32, 33, 100, 101, 172])
def test_intervals_of_every_level_hold_about_as_many_rows(values: int) -> None:
    """An odd number of intervals leaves none of them alone at the end."""
    draft = suggest("share", {f"{number} %": 1 for number in range(values)})
    for level in zip(*draft.rows, strict=True):
        held = [level.count(label) for label in set(level)]
        assert max(held) <= 4 * min(held)


def test_amounts_with_spaces_between_thousands_become_intervals() -> None:
    draft = suggest(
        "montant", {f"{number // 1000}\u202f{number % 1000:03d},50 €": 1 for number in range(1000, 4000, 37)}
    )
    assert draft.looks_like == "numbers with a unit"
    assert draft.rows[0][:2] == ("1\u202f000,50 €", "[1000-1200)")


def test_a_draft_of_a_file_is_asked_for_with_the_flags_that_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that a warning names runs as it stands."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{20 + number % 9}\t{1000 + number:05d}\tKöln\n" for number in range(60))
    Path("leute.csv").write_text("alter\tplz\tort\n" + lines, encoding="latin-1")
    reading = ["--encoding", "latin-1", "--delimiter", "tab"]
    assert main(["anonymize", "leute.csv", *reading, "--quasi", "alter,plz", "--k", "5", "-o", "a.csv"]) == 0
    command = "sqlanon hierarchy suggest leute.csv.plz --encoding latin-1 --delimiter tab"
    assert f"Draft a hierarchy: {command}, or use one at once" in capsys.readouterr().err
    assert main(command.split()[1:]) == 0
    assert (
        main(
            ["anonymize", "FROM read_csv('leute.csv', encoding='latin-1')", "--quasi", "plz", "--k", "5", "-o", "b.csv"]
        )
        == 0
    )
    assert "generalize them by prefix. Use a drafted hierarchy: sqlanon anonymize --suggest" in capsys.readouterr().err


def test_a_used_draft_counts_people_by_the_entity(con: Con) -> None:
    """Its labels are released, and three visits of the one chancellor are not three people."""
    con.execute(
        "create table visits as select range // 3 as person, 20 + range // 3 % 50 as age, case when range < 3 then "
        "'chancellor' else ['cook', 'nurse', 'pilot', 'smith'][1 + (range // 3 % 4)::int] end as job from range(300)"
    )
    sqlanon.anonymize(con, "visits", ["age", "job"], 5, entity="person", method="mondrian", suggest=True)
    found = rows(con, "select label from anon.hierarchy_nodes where name = 'job' and level > 0")
    groups = [label for (label,) in found if label != "*"]
    assert any("1 more" in label for label in groups)
    assert not any("chancellor" in label for label in groups)


def test_of_many_text_columns_three_are_told_one_by_one(con: Con, caplog: pytest.LogCaptureFixture) -> None:
    columns = ", ".join(f"'v' || (i * {7 + number}) % 97 as c{number}" for number in range(6))
    con.execute(f"create table wide as select {columns} from range(200) r(i)")
    sqlanon.anonymize(con, "wide", [f"c{number}" for number in range(6)], 5, method="mondrian")
    said = [record.getMessage() for record in caplog.records if "hierarch" in record.getMessage()]
    assert len(said) == 4
    assert said[-1] == "So are 3 more columns: c3, c4, c5. Draft hierarchies for all of them: suggest=True"


def test_the_outer_ends_of_drafted_intervals_do_not_tell_the_largest_value() -> None:
    """The grid is as fine as most values need, and the richest person's income was told as finely."""
    incomes = {f"{30000 + 370 * number},50": 1 for number in range(99)}
    draft = suggest("income", incomes | {"987654,25": 1})
    assert draft.rows[-1][0] == "987654,25"
    assert {label.rpartition("-")[2] for label in draft.rows[-1][1:-1]} == {"1000000)"}


def test_a_used_draft_does_not_look_at_sensitive_values(con: Con) -> None:
    """Professions with the same illness became one group, and the label said so of everybody in it."""
    con.execute(
        "create table people as select i % 10 as age, ['a', 'b', 'c', 'd', 'e', 'f'][1 + i % 6] as job from range(240) "
        "r(i)"
    )
    found = []
    for ill in ("('a', 'd')", "('a', 'f')"):
        sqlanon.drop_hierarchy(con, "job", missing_ok=True)
        query = f"select age, job, job in {ill} as state from people"
        sqlanon.anonymize(con, query, ["age", "job"], 5, sensitive=["state"], method="mondrian", suggest=True)
        found.append(rows(con, "select label, lo, hi from anon.hierarchy_nodes where name = 'job' order by all"))
    assert found[0] == found[1]
    query = "select age, job, job in ('a', 'd') as state from people"
    everything = sqlanon.suggest_hierarchy(con, "job", source=query)
    asked = sqlanon.suggest_hierarchy(con, "job", source=query, quasi="age,job")
    assert asked.rows != everything.rows
    assert {label for row in asked.rows for label in row} == {label for label, _, _ in found[0]}
