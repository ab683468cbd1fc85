"""The report: what it tells is verified when it is made, and nobody's value is in it."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon import samples
from sqlanon.catalog.catalog import Catalog
from sqlanon.cli.main import main
from sqlanon.drawing import theme
from sqlanon.errors import BrokenPromiseError, SqlanonError
from sqlanon.policy.policy import Policy
from sqlanon.reporting import figures
from sqlanon.reporting.columns import Bars, column_of
from sqlanon.reporting.facts import facts_of_release, facts_of_table
from sqlanon.reporting.page import page as html_page
from sqlanon.udfs.methods import METHODS

QUASI = ["age", "zip", "sex"]

pytestmark = pytest.mark.usefixtures("patients", "zip_prefixes")


def public(con: duckdb.DuckDBPyConnection, **options: object) -> sqlanon.Release:
    given = {"quasi": QUASI, "k": 4, "sensitive": ["diagnosis"], "name": "public"} | options
    return sqlanon.anonymize(con, "patients", **given)


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))


def test_the_report_is_one_small_file_that_names_what_holds(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = public(con, l=2).report(tmp_path / "report.html", curve=False)
    page = path.read_text(encoding="utf-8")
    text = text_of(page)
    assert "Every row is one of at least 4 that look the same in age, zip and sex." in text
    assert "Also required, and satisfied: l = 2 in diagnosis." in text
    for title in ("What survived", "Who could be found again", "What this does not protect from", "The policy"):
        assert f"<h2>{title}</h2>" in page
    assert len(page) < 300_000
    assert not re.search(r"(?:src|href)=[\"'](?!#)|url\((?!#)|@import|<script", page)


def test_the_sql_of_the_report_answers_what_the_report_says(con: duckdb.DuckDBPyConnection) -> None:
    facts = facts_of_release(public(con, t=0.9), curve=False)
    assert [(p.model, p.column) for p in facts.proofs] == [("k", None), ("l", "diagnosis"), ("t", "diagnosis")]
    for proof in facts.proofs:
        assert proof.sql is not None
        ((answer,),) = con.execute(proof.sql).fetchall()
        assert answer == pytest.approx(proof.reached), proof.sql


def test_several_sensitive_columns_are_checked_as_they_were_promised(con: duckdb.DuckDBPyConnection) -> None:
    facts = facts_of_release(
        public(con, sensitive=["diagnosis", "ward"], several="separate", l=1.2, alpha=0.9), curve=False
    )
    assert {proof.model for proof in facts.proofs} == {"k", "l", "t", "alpha"}
    for proof in facts.proofs:
        assert con.execute(proof.sql or "").fetchall()[0][0] == pytest.approx(proof.reached), proof.sql


def test_nobodys_own_value_is_in_the_report(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table people as select *, 70003 + 137 * row_number() over () as salary from patients")
    snapped = {"ranges": "snapped", "grid": {"salary": 1000}}
    release = sqlanon.anonymize(con, "people", ["age", "salary"], 8, sensitive=["diagnosis"], **snapped)
    page = html_page(facts_of_release(release, curve=False))
    for column in ("name", "salary"):
        for (value,) in con.execute(f"select {column}::varchar from people").fetchall():
            assert value not in text_of(page)


def test_a_release_that_was_tampered_with_gets_no_report(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    release = public(con)
    con.execute("delete from public where rowid = 0")
    with pytest.raises(BrokenPromiseError, match="k is 4"):
        release.report(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_source_that_is_not_as_it_was_is_not_shown(con: duckdb.DuckDBPyConnection) -> None:
    release = public(con)
    con.execute("delete from patients where age < 30")
    changed = facts_of_release(release)
    assert (changed.columns, changed.curve, changed.rows_in) == ((), (), None)
    assert "The source has changed since" in html_page(changed)
    con.execute("drop table patients")
    assert "The source no longer exists" in html_page(facts_of_release(release))


def test_a_source_that_is_a_query_is_not_told(con: duckdb.DuckDBPyConnection) -> None:
    query = "select * from patients where name <> 'Ada Lindqvist'"
    page = html_page(facts_of_release(sqlanon.anonymize(con, query, QUASI, 3), curve=False))
    assert "Lindqvist" not in page


@pytest.mark.parametrize(
    "options",
    [
        {"method": "nonhomogeneous", "sensitive": []},
        {"method": "anatomy", "l": 2},
        {"method": "anatomy", "l": 2, "name": None},
        {"method": "kacpc", "represent": "center"},
        {"ranges": "columns"},
        {"ranges": "snapped", "keep": ["ward"]},
        {"quasi": ["zip"], "sensitive": [], "hierarchies": {"zip": None}},
        {"k": 16},
    ],
    ids=str,
)
def test_every_kind_of_release_has_a_report(con: duckdb.DuckDBPyConnection, options: dict[str, object]) -> None:
    release = public(con, **options)
    facts = facts_of_release(release, curve=False)
    page = html_page(facts)
    assert facts.holds
    assert facts.rows == 16
    assert facts.policy.toml().splitlines()[0] in text_of(page).replace("&quot;", '"')
    assert json.loads(json.dumps(facts.as_dict()))["k"] == facts.k
    if METHODS[release.policy.method].is_homogeneous:
        assert release.plot().axes


def test_nulls_dates_and_strange_names_are_shown(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """create table "a <b> & c" as select case when i % 9 = 0 then null else date '2024-01-01' + (i * 11)::int end
        as "born <i>", case when i % 4 = 0 then null else 'x$y_' || (i % 3) end as "q""1", 1.5 * i as x, i % 2 as s
        from range(72) r(i)"""
    )
    release = sqlanon.anonymize(con, '"a <b> & c"', ["born <i>", 'q"1', "x"], 6, sensitive=["s"], name="r <s>")
    facts = facts_of_release(release, curve=False)
    page = html_page(facts)
    assert "r &lt;s&gt;" in page
    assert "<i>" not in page
    assert "<s>" not in page
    assert con.execute(facts.proofs[0].sql or "").fetchall() == [(facts.k,)]


def test_a_table_that_breaks_its_promise_is_said_to(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = sqlanon.report(con, "patients", QUASI, tmp_path / "raw.html", 4, sensitive=["diagnosis"])
    text = text_of(path.read_text(encoding="utf-8"))
    assert "This table does not satisfy what was required: k is 1, required was 4." in text
    assert "16 rows are in classes of fewer than 4." in text
    assert "Some released rows" not in text
    assert "FROM patients GROUP BY age, zip, sex" in text
    assert "all others" not in text
    for (value,) in con.execute("select diagnosis from patients").fetchall():
        assert value not in text


def test_with_its_source_a_table_made_elsewhere_is_measured(con: duckdb.DuckDBPyConnection) -> None:
    release = public(con)
    con.execute("create table other as from public")
    facts = facts_of_table(con, "other", QUASI, 4, source="patients", hierarchies={"zip": "zip"})
    assert facts.loss == pytest.approx(release.measured["gcp"])
    assert facts.lower_bound is not None
    assert facts.lower_bound <= facts.loss
    assert facts_of_table(con, "other", QUASI, 4).loss is None


def test_another_k_is_drawn_when_wanted_and_for_small_tables(con: duckdb.DuckDBPyConnection) -> None:
    release = public(con)
    assert facts_of_release(release, curve=False).curve == ()
    curve = facts_of_release(release).curve
    assert [k for k, _, _ in curve] == [2, 4, 5]
    assert all(bound is not None and bound <= loss for _, loss, bound in curve)
    left = con.execute("select count(*) from duckdb_tables() where starts_with(table_name, 'sqlanon_')").fetchall()
    assert left == [(0,)]


def test_a_comparison_that_was_run_is_shown(con: duckdb.DuckDBPyConnection) -> None:
    release = public(con)
    assert "Risk and utility of other methods" not in html_page(facts_of_release(release, curve=False))
    sqlanon.compare(con, "patients", QUASI, [4], methods="kacpc,bisecting")
    assert "From the stored comparison of 2 methods" in html_page(facts_of_release(release, curve=False))


@settings(max_examples=examples(30), deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(-30, 300)), min_size=4, max_size=40),
    least=st.integers(2, 6),
    is_text=st.booleans(),
)
def test_every_bar_of_the_source_holds_k_rows_or_none(
    shared: duckdb.DuckDBPyConnection, values: list[int | None], least: int, is_text: bool
) -> None:
    if all(value is None for value in values):
        values[0] = 1
    con = shared
    kind = "varchar" if is_text else "integer"
    con.execute(f"create or replace table t as select unnest($1::integer[])::{kind} as q", [values])
    reading = Catalog.of(con).read("t", Policy(quasi=("q",), k=least))
    column = column_of(con, reading, reading.attributes[0], None)
    if column.bars is not None and column.bars.before is not None:
        known = [value for value in values if value is not None or is_text]
        for share in column.bars.before:
            rows = share * len(known)
            assert rows == 0 or rows > least - 0.6
        assert sum(column.bars.before) == pytest.approx(1, abs=0.005 * len(column.bars.before))


def test_a_release_reads_as_its_ranges_spread_evenly(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table ages as select unnest([20, 20, 20, 20, 39, 39, 39, 39]) as age")
    con.execute("create table wide as select '[20-39]' as age from range(8)")
    (column,) = facts_of_table(con, "wide", ["age"], 4, source="ages").columns
    assert column.bars is not None
    assert column.bars.after is not None
    names = tuple(f"{age}–{age + 1}" for age in range(20, 40, 2))
    assert column.bars == Bars(names, (0.5, *[0.0] * 8, 0.5), (0.1,) * 10)
    assert column.loss == 1


def test_classes_are_counted_by_rows_in_bins_from_k_up() -> None:
    assert figures.size_bins([(2, 3), (5, 4), (7, 1), (30, 2)], 5) == [
        ("1–4", 6, True),
        ("5", 20, False),
        ("6–9", 7, False),
        ("10–19", 0, False),
        ("20–49", 60, False),
    ]


def test_without_matplotlib_the_error_says_what_to_install(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing() -> None:
        raise SqlanonError("Pictures need matplotlib: pip install matplotlib")

    release = public(con)
    monkeypatch.setattr(theme, "require_matplotlib", missing)
    with pytest.raises(SqlanonError, match="pip install matplotlib"):
        release.report(tmp_path / "report.html")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database that holds a release, and with one that was published: copy it, do not change it."""
    folder = tmp_path_factory.mktemp("made")
    with sqlanon.connect(folder / "hospital.duckdb") as con:
        samples.create(con.duckdb, "patients")
        public(con.duckdb)
        public(con.duckdb, name=None).publish(folder / "public.csv")
    return folder


@pytest.fixture
def database(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "hospital.duckdb"


def test_the_command_reports_a_release_and_any_file(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "public", "--db", str(database), "-o", "release.html", "--no-curve"]) == 0
    assert "wrote release.html: Every row is one of at least 4" in capsys.readouterr().err
    assert "Some released rows" in Path("release.html").read_text(encoding="utf-8")
    assert main(["report", "public.csv", "--quasi", "age,zip,sex", "--k", "4"]) == 0
    assert "FROM &#x27;public.csv&#x27;" in Path("report.html").read_text(encoding="utf-8")
    command = ["report", "public", "--db", str(database), "--quasi", "age,zip,sex", "--sensitive", "diagnosis"]
    assert main([*command, "--k", "4", "--source", "patients", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["k"], found["holds"], found["rows_in"]) == (4, True, 16)
    before = database.read_bytes()
    assert main([*command, "--k", "5", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nothing", "--db", "hospital.duckdb"], "nothing"),
        (["report", "public"], "--quasi"),
        (["report", "public", "--db", "nowhere.duckdb"], "no database 'nowhere.duckdb'"),
        (["report", "public", "--db", "hospital.duckdb", "--k", "5"], "--quasi"),
        (["report", "public", "--db", "hospital.duckdb", "-o", "report.pdf"], "must end in .html"),
        (["report", "public", "--db", "hospital.duckdb", "-o", "nowhere/report.html"], "no folder 'nowhere'"),
        (["report", "public.csv", "--quasi", "agee"], "Did you mean 'age'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_report_that_cannot_be_made_is_one_line(
    arguments: list[str], message: str, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_people_are_counted_where_the_policy_counts_them(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table visits as select age, zip, sex, diagnosis, name as who from patients")
    con.execute("insert into visits from visits")
    options = {"quasi": QUASI, "k": 4, "sensitive": ["diagnosis"], "entity": "who", "l": 1.5}
    hidden = facts_of_release(sqlanon.anonymize(con, "visits", **options), curve=False)
    assert "every class had at least 4 people" in hidden.notes[0]
    assert hidden.entity is None
    shown = facts_of_release(sqlanon.anonymize(con, "visits", unsafe_keep=["who"], name="v", **options), curve=False)
    assert shown.claim.startswith("Every row is one of those of at least 4 people that look the same")
    assert shown.sizes[0][0] == 4
    assert shown.risks["prosecutor_max"] == 0.25
    for proof in shown.proofs:
        assert con.execute(proof.sql or "").fetchall()[0][0] == pytest.approx(proof.reached), proof.sql
    assert "people in the class" in html_page(shown)
    assert facts_of_table(con, "v", QUASI, 4, entity="who").k == 4


def test_a_bar_of_the_source_is_of_k_people_where_people_have_several_rows(con: duckdb.DuckDBPyConnection) -> None:
    """Twenty visits of one person were a bar of their own, under the name of the profession that only she has."""
    con.execute(
        "create table visits as select if(i < 20, 0, i // 2) as who, if(i < 20, 99, 20 + i % 40) as age, "
        "if(i < 20, 'chancellor', ['cook', 'nurse', 'pilot'][1 + i // 2 % 3]) as job from range(400) r(i)"
    )
    release = sqlanon.anonymize(con, "visits", ["age", "job"], 5, entity="who", method="mondrian")
    page = html_page(facts_of_release(release, curve=False))
    assert "chancellor" not in page
    assert "Source bars for fewer than 5 people are merged or left out" in page
    assert "nurse" in html_page(facts_of_release(sqlanon.anonymize(con, "visits", ["age", "job"], 5), curve=False))


def test_rows_that_were_left_out_count_as_suppressed(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table few as select i // 10 as a, 'x' as b from range(40) r(i) union all select 999, 'y'")
    release = sqlanon.anonymize(con, "few", ["a", "b"], 5, max_suppression=0.1, name="most")
    facts = facts_of_release(release, curve=False)
    assert (facts.rows, facts.rows_in, facts.suppressed, facts.left_out) == (40, 41, 0, 1)
    assert "1 left out" in html_page(facts)
    assert sum(column.loss or 0 for column in facts.columns) / 2 == pytest.approx(release.measured["gcp"])


def test_a_k_map_is_told_by_its_population(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("create table town as select age, zip, sex from patients, range(3)")
    release = sqlanon.anonymize(con, "patients", QUASI, 6, population="town", name="mapped")
    facts = facts_of_release(release, curve=False)
    assert facts.claim.endswith("covers at least 6 people of the population.")
    assert facts.risks["journalist_max"] == pytest.approx(1 / facts.k)
    page = html_page(facts)
    assert "sqlanon.open_release(con, &#x27;mapped&#x27;).verify()" in page
    assert "Knowing who is in the table" in page
    assert all(column.loss is not None for column in facts.columns)


def test_a_frame_has_a_report_without_a_name(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    frame = con.sql("select * exclude name from patients").df()
    release = sqlanon.anonymize(con, frame, QUASI, 4)
    assert all(column.loss is not None for column in facts_of_release(release, curve=False).columns)
    path = sqlanon.report(con, release.df(), QUASI, tmp_path / "frame.html", 4)
    assert "<h1>a frame</h1>" in path.read_text(encoding="utf-8")
