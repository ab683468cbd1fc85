"""The six screens, asked in process."""

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from asking import Client, said

import sqlanon
from sqlanon.studio.specs import rows_of

STEPS = ("data", "columns", "hierarchies", "promise", "result", "release")


def roles(client: Client, slug: str, **by_name: str) -> None:
    """Choose roles by the names of columns."""
    names = client.server.studio.profile(client.server.studio.desks[slug].source, wait=20).value.names
    client.post(f"/t/{slug}/columns", {f"role-{names.index(name)}": role for name, role in by_name.items()})


def ready(client: Client, k: str = "4", l_asked: str = "2") -> None:
    """The patients with a promise that ran."""
    client.get("/t/patients/data")
    roles(client, "patients", age="quasi", zip="quasi", sex="quasi", diagnosis="sensitive")
    client.post("/t/patients/hierarchies/2", {"way": "prefix"})
    client.post("/t/patients/run", {"k": "other", "k_other": k, "l-5": l_asked, "effort": "fast"})
    assert client.wait().problem is None


def test_without_a_file_it_says_what_to_do_and_offers_samples(opened: Callable[..., Client]) -> None:
    client = opened().enter()
    assert "No table is open" in said(client.get("/"))
    page = said(client.post("/demo"))
    assert "patients" in page
    assert "adult" in page


def test_all_tables_and_files_are_listed(opened: Callable[..., Client], hospital: Path, people: Path) -> None:
    client = opened(hospital, people).enter()
    for _ in range(50):
        page = said(client.get("/"))
        if "counting" not in page:
            break
        time.sleep(0.05)
    assert "patients table of hospital.duckdb 16 rows, 6 columns" in page
    assert "people.csv file 400 rows, 5 columns" in page


@pytest.mark.parametrize("step", STEPS)
def test_every_screen_answers_before_anything_is_chosen(clinic: Client, step: str) -> None:
    answer = clinic.get(f"/t/patients/{step}")
    assert answer.status_code == 200
    assert answer.text.count("<h1") == 1


@pytest.mark.parametrize("step", STEPS)
def test_every_screen_answers_after_a_run(clinic: Client, step: str) -> None:
    ready(clinic)
    answer = clinic.get(f"/t/patients/{step}")
    assert answer.status_code == 200
    assert "verified" in said(answer)


def test_values_are_shown_only_when_asked_for(clinic: Client) -> None:
    assert "Lindqvist" not in clinic.get("/t/patients/data").text
    shown = said(clinic.post("/t/patients/values"))
    assert sum(name in shown for name in ("Lindqvist", "Okafor", "Chen", "Romero", "Murphy", "Petrov", "Haddad")) >= 2
    assert "Lindqvist" not in clinic.get("/t/patients/data").text


def test_left_out_is_the_default_and_detect_says_why(clinic: Client) -> None:
    page = clinic.get("/t/patients/columns").text
    assert len(re.findall(r'value="out" checked', page)) == 6
    assert "Quasi-identifier?" in said(clinic.get("/t/patients/columns"))


def test_roles_are_counted_live(clinic: Client) -> None:
    clinic.get("/t/patients/columns")
    names = ["name", "age", "zip", "sex", "ward", "diagnosis"]
    fragment = clinic.post("/t/patients/columns", {f"role-{names.index('sex')}": "quasi"}, is_fragment=True)
    for _ in range(50):
        if "counting" not in fragment.text:
            break
        time.sleep(0.05)
        fragment = clinic.get("/t/patients/columns/live", headers={"hx-request": "true"})
    assert "0 of 16 rows have their own combination of sex" in said(fragment)
    assert "with it 100 % alone" in said(fragment)


def test_there_is_one_person_column(clinic: Client) -> None:
    clinic.get("/t/visits/data")
    warning = "“patient_id” has 40 values in 120 rows"
    assert warning in said(clinic.get("/t/visits/data"))
    roles(clinic, "visits", age="quasi")
    assert f"{warning}. If it is a person's number, whoever knows" in said(clinic.get("/t/visits/promise"))
    page = clinic.post("/t/visits/columns/suggest", {})
    assert "Person? the column name suggests a person's number, and it repeats" in said(page)
    assert clinic.server.studio.desks["visits"]._draft.person == "patient_id"
    assert warning not in said(clinic.get("/t/visits/promise"))
    page = clinic.post("/t/visits/person", {"person": "several", "column": "0"})
    assert "40 people in 120 rows" in said(page)
    roles(clinic, "visits", age="person")
    assert clinic.server.studio.desks["visits"]._draft.person == "age"
    page = clinic.post("/t/visits/person", {"person": "one"})
    assert clinic.server.studio.desks["visits"]._draft.person is None


def test_a_hierarchy_can_be_pasted_opened_and_edited(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    roles(clinic, "patients", ward="quasi")
    pasted = "Surgery\tOperating\t*\nMedicine\tOther\t*"
    page = clinic.post("/t/patients/hierarchies/4", {"way": "rows", "rows": pasted, "preview": "1"})
    assert "1 value in 4 rows have no place" in said(page)
    assert "Cardiology" in said(page)
    clinic.post("/t/patients/hierarchies/4", {"way": "rows", "rows": pasted})
    assert "1 value in 4 rows have no place" in said(clinic.get("/t/patients/hierarchies"))
    edited = clinic.get("/t/patients/hierarchies/4?edit=gaps").text
    rows = re.findall(r"<textarea[^>]*>(.*?)</textarea>", edited, re.DOTALL)[0]
    assert "Cardiology\t*" in rows
    clinic.post("/t/patients/hierarchies/4", {"way": "rows", "rows": rows})
    assert "Covers every value" in said(clinic.get("/t/patients/hierarchies"))


def test_an_arx_file_a_table_and_a_rule_become_hierarchies(
    opened: Callable[..., Client], hospital: Path, tmp_path: Path
) -> None:
    arx = tmp_path / "sexes.csv"
    arx.write_text("male;*\nfemale;*\n")
    with duckdb.connect(str(hospital)) as con:
        con.execute("create table wards as select distinct ward, 'any' as level1 from patients")
        con.execute("create table edges as select distinct ward as child, 'any' as parent from patients")
    client = opened(hospital, arx).enter()
    client.get("/t/patients/data")
    roles(client, "patients", sex="quasi", ward="quasi", age="quasi", zip="quasi")
    client.post("/t/patients/hierarchies/3", {"way": "file", "file": "sexes.csv"})
    client.post("/t/patients/hierarchies/4", {"way": "table", "table": "wards", "shape": "levels"})
    client.post("/t/patients/hierarchies/1", {"way": "intervals", "widths": "5 10 20", "below": "18", "above": "80"})
    client.post("/t/patients/hierarchies/2", {"way": "prefix"})
    assert said(client.get("/t/patients/hierarchies")).count("Covers every value") == 4
    client.post("/t/patients/hierarchies/4", {"way": "table", "table": "edges", "shape": "edges"})
    assert said(client.get("/t/patients/hierarchies")).count("Covers every value") == 4
    refused = client.post("/t/patients/hierarchies/3", {"way": "file", "file": "../hospital.duckdb"})
    assert "leads out of the folder" in said(refused)


def test_pasted_cells_are_found_by_their_delimiter() -> None:
    assert rows_of("a;b;*\r\nc;b;*\r\n") == (("a", "b", "*"), ("c", "b", "*"))
    assert rows_of("a\tx\nc\ty") == (("a", "x", "*"), ("c", "y", "*"))


def test_the_promise_is_said_back_and_warns(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    roles(clinic, "patients", age="quasi", zip="quasi", sex="quasi", diagnosis="sensitive")
    page = said(clinic.get("/t/patients/promise"))
    assert "Whoever knows a person's “age”, “zip” and “sex” can pick their row with a chance of 1 in 5 at best" in page
    assert "Nothing is required of diagnosis" in page
    page = said(clinic.post("/t/patients/promise", {"k": "11", "l-5": "2"}))
    assert "1 in 11 at best, and cannot be sure of their “diagnosis”" in page
    page = said(clinic.post("/t/patients/promise", {"k": "5", "l-5": "50"}))
    assert "l = 50 is impossible for diagnosis" in page


def test_each_sensitive_column_has_its_own_promise_and_a_warning_while_it_has_none(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    roles(clinic, "patients", age="quasi", ward="sensitive", diagnosis="sensitive")
    page = said(clinic.post("/t/patients/promise", {"k": "5", "l-5": "2"}))
    assert "cannot be sure of their “diagnosis”" in page
    assert "; but they may learn their “ward”" in page
    assert "Nothing is required of ward." in page
    assert "[l] diagnosis = 2" in page
    assert "l := MAP {'diagnosis': 2}" in page
    page = said(clinic.post("/t/patients/promise", {"k": "5", "l-5": "1.5", "t-4": "0.5"}))
    assert "Nothing is required" not in page
    assert "l={'diagnosis': 1.5}, t={'ward': 0.5}" in page
    clinic.post("/t/patients/run", {"k": "5", "l-5": "1.5", "t-4": "0.6", "separate": "1", "effort": "fast"})
    assert clinic.wait().problem is None
    page = said(clinic.get("/t/patients/result"))
    assert "l of diagnosis: required 1.5" in page
    assert "t of ward: required 0.6" in page
    assert "1.5 in diagnosis" in page
    assert 'several = "separate"' in page


@pytest.mark.parametrize(
    "form", [{"k": "one"}, {"k": "1"}, {"k": "5", "l-5": "x"}, {"k": "5", "t-5": "2"}, {"k": "5", "suppression": "99"}]
)
def test_a_wrong_number_is_said_and_changes_nothing(clinic: Client, form: dict[str, str]) -> None:
    clinic.get("/t/patients/data")
    roles(clinic, "patients", age="quasi", diagnosis="sensitive")
    page = clinic.post("/t/patients/promise", form)
    assert 'class="note bad"' in page.text
    assert clinic.server.studio.desks["patients"]._draft.k == 5


def test_a_result_says_what_holds_what_it_cost_and_why(clinic: Client) -> None:
    ready(clinic)
    for _ in range(200):
        page = said(clinic.get("/t/patients/result"))
        if "Quick runs go on" not in page:
            break
        time.sleep(0.1)
    assert "Every row is one of at least 4 that look the same in age, zip and sex" in page
    assert "years wide on average" in page
    assert "costs most" in page
    assert "What another k would cost" in page
    assert "The prosecutor knows that a person is in the table. The chance to pick their row is 1 in 4 at worst" in page
    assert "Lindqvist" not in page


def test_attacks_are_tried_when_asked_for(clinic: Client) -> None:
    ready(clinic)
    assert "Attack the release" in said(clinic.get("/t/patients/result"))
    clinic.post("/t/patients/result/attacks", {"run": "1"})
    for _ in range(100):
        page = said(clinic.get("/t/patients/result"))
        if "in the background" not in page:
            break
        time.sleep(0.2)
    assert "Find a person by what is known of them, the worst case 25.0 % 6.2 % 25.0 % holds" in page


def assert_shows(client: Client, path: str, text: str) -> None:
    """The page says so, at once or when what it counts in the background is there."""
    until = time.monotonic() + 30
    while text not in (page := said(client.get(path))):
        assert time.monotonic() < until, page
        time.sleep(0.1)


def test_one_can_go_back_to_an_earlier_run(clinic: Client) -> None:
    ready(clinic)
    ready(clinic, k="8")
    page = clinic.get("/t/patients/result?run=1")
    assert "The draft has changed since this run" in said(page)
    clinic.post("/t/patients/result/use", {"run": "1"})
    assert clinic.server.studio.desks["patients"]._draft.k == 4


def test_it_stores_refreshes_audits_and_drops(clinic: Client, hospital: Path) -> None:
    ready(clinic)
    clinic.post("/t/patients/release/store", {"name": "patients_public", "kind": "view"})
    assert clinic.wait().problem is None
    assert_shows(clinic, "/t/patients/release", "patients_public view, version 1 patients 16")
    assert "Are you sure?" in clinic.post("/t/patients/release/store", {"name": "Patients_Public"}).text
    clinic.post("/t/patients/release/refresh", {"name": "patients_public"})
    assert "0 rows added" in clinic.wait().result
    clinic.post("/t/patients/release/store", {"name": "second", "kind": "table"})
    assert clinic.wait().problem is None
    page = clinic.post("/t/patients/release/audit")
    job = clinic.wait()
    assert len(job.result.combinations) == 1
    page = said(clinic.get(f"/t/patients/release?job={job.number}"))
    assert "patients_public + second" in page
    assert "Are you sure?" in clinic.post("/t/patients/release/drop", {"name": "second"}).text
    clinic.post("/t/patients/release/drop", {"name": "second", "confirm": "1"})
    assert clinic.wait().problem is None
    clinic.server.studio.close()
    with sqlanon.connect(hospital) as con:
        assert [each.release for each in sqlanon.status(con)] == ["patients_public"]
        assert sqlanon.open_release(con, "patients_public").verify().k == 4


def test_a_stored_table_has_the_very_rows_of_the_run_that_was_looked_at(clinic: Client, hospital: Path) -> None:
    ready(clinic)
    ready(clinic, k="5")
    first = clinic.server.studio.desks["patients"].runs.find(1)
    assert first is not None
    shown = Counter(first.release.relation().fetchall())
    clinic.post("/t/patients/release/store", {"name": "public", "kind": "table", "run": "1"})
    assert clinic.wait().problem is None
    clinic.server.studio.close()
    with _opened_again(hospital) as con:
        assert Counter(con.execute("from public").fetchall()) == shown
        assert sqlanon.open_release(con, "public").policy.k == 4


def _opened_again(path: Path) -> sqlanon.Connection:
    """The database, once the last page that looked at it has let go."""
    for _ in range(200):
        with suppress(sqlanon.SqlanonError):
            return sqlanon.connect(path)
        time.sleep(0.1)
    return sqlanon.connect(path)


def test_a_file_can_be_stored_and_goes_stale(opened: Callable[..., Client], people: Path) -> None:
    client = opened(people).enter()
    client.get("/t/people/data")
    roles(client, "people", age="quasi", sex="quasi")
    client.post("/t/people/run", {"k": "5", "effort": "fast"})
    assert client.wait().problem is None
    client.post("/t/people/release/store", {"name": "people_public", "kind": "view"})
    assert client.wait().problem is None
    assert "up to date" in said(client.get("/t/people/release"))
    people.write_text(people.read_text() + "\n".join(["33,Private,Male,Sales,<=50K"] * 6) + "\n")
    client.server.studio.background.drop(("people", "ledger"))
    assert "stale 6 new rows" in said(client.get("/t/people/release"))


def test_it_publishes_reports_and_says_how_to_check(clinic: Client) -> None:
    ready(clinic)
    for ending in ("csv", "parquet", "duckdb"):
        clinic.post("/t/patients/release/publish", {"file": f"public.{ending}"})
        assert clinic.wait().problem is None
    clinic.post("/t/patients/release/report", {"file": "report.html"})
    assert clinic.wait().problem is None
    page = said(clinic.get("/t/patients/release"))
    assert "public.csv" in page
    assert "sqlanon check" in page
    assert clinic.get("/files/public.csv").text.startswith("age,zip,sex,diagnosis\n")
    report = clinic.get("/files/report.html")
    assert report.headers["content-disposition"].startswith("attachment")
    shown = clinic.get("/reports/report.html")
    assert shown.text == report.text
    file = clinic.server.studio.folder.path / "public.duckdb"
    assert hashlib.sha256(file.read_bytes()).hexdigest() in shown.text
    assert shown.headers["content-security-policy"].endswith("; sandbox")
    assert "script-src" not in shown.headers["content-security-policy"]
    assert clinic.get("/reports/public.csv").status_code == 404
    assert clinic.get("/reports/elsewhere.html").status_code == 404


def test_what_cannot_be_done_is_said_in_the_words_of_the_page(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    roles(clinic, "patients", name="keep", age="quasi", diagnosis="sensitive")
    clinic.post("/t/patients/run", {"k": "other", "k_other": "4", "effort": "fast"})
    problem = clinic.wait().problem
    assert problem is not None
    assert "Column 'name' is in Kept" in problem
    assert "(Pseudonym), count people by it (Person)" in problem


def test_pseudonyms_need_a_key_which_can_be_made(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    roles(clinic, "patients", age="quasi", sex="quasi", name="pseudonym")
    assert "Pseudonyms need a key" in said(clinic.post("/t/patients/run", {"k": "5", "effort": "fast"}))
    clinic.post("/t/patients/key")
    key = clinic.server.studio.folder.path / "pseudonyms.key"
    assert key.stat().st_mode & 0o077 == 0
    clinic.post("/t/patients/run", {"k": "5", "effort": "fast"})
    assert clinic.wait().problem is None
    for kind in ("table", "view"):
        clinic.post("/t/patients/release/store", {"name": f"public_{kind}", "kind": kind})
        assert clinic.wait().problem is None


def test_a_table_that_is_not_there_is_said(clinic: Client) -> None:
    for path in ("/t/nobody/data", "/t/patients/hierarchies/99", "/t/patients/result?run=9"):
        answer = clinic.get(path)
        assert answer.status_code == 404
        assert "<h1" in answer.text
