"""What a signer must see: warnings in amber, other releases by name, the published file, a place to sign."""

import hashlib
import logging
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.errors import CatalogError, PolicyError
from sqlanon.reporting.facts import facts_of_release
from sqlanon.reporting.page import page
from sqlanon.reporting.signing import Paper

QUASI = ["age", "zip", "sex"]


@pytest.fixture
def con(hospital_file: Path, tmp_path: Path) -> sqlanon.Connection:
    return sqlanon.connect(shutil.copy(hospital_file, tmp_path))


def test_a_class_with_one_sensitive_value_makes_the_verdict_amber(con: sqlanon.Connection) -> None:
    con.execute("create table alike as select i // 2 * 10 as age, 'flu' as diagnosis from range(12) r(i)")
    release = sqlanon.anonymize(con, "alike", ["age"], 4, sensitive=["diagnosis"])
    shown = page(facts_of_release(release, curve=False))
    assert '<section class="verdict warned">' in shown
    assert "holds, with 1 warning" in shown
    assert "everybody has the same diagnosis" in shown
    assert "Next: leave out diagnosis; or accept this and say so." in shown


def test_a_release_that_lost_nothing_or_is_unique_with_what_is_kept_is_amber(con: sqlanon.Connection) -> None:
    con.execute("create table coarse as select i // 4 * 10 as age, i % 4 as ward from range(12) r(i)")
    lossless = facts_of_release(sqlanon.anonymize(con, "coarse", ["age"], 4), curve=False)
    assert ([warning.kind for warning in lossless.warned], lossless.loss) == (["nothing lost at all"], 0)
    assert lossless.state == "holds with warnings"
    kept = facts_of_release(sqlanon.anonymize(con, "coarse", ["age"], 4, keep=["ward"]), curve=False)
    assert "Whoever also knows the kept columns (ward) finds 100.0% of the rows unique." in kept.warnings
    con.execute("create table fine as select i as age from range(12) r(i)")
    clean = facts_of_release(sqlanon.anonymize(con, "fine", ["age"], 4), curve=False)
    assert (clean.state, clean.warned, clean.next) == ("holds", (), "publish it")


def test_other_releases_of_the_source_are_named_and_judged(con: sqlanon.Connection) -> None:
    sqlanon.anonymize(con, "patients", QUASI, 4, name="first", method="mondrian")
    second = sqlanon.anonymize(con, "patients", ["sex", "age"], 2, name="second", method="kaca", seed=3)
    facts = facts_of_release(second, curve=False)
    shown = page(facts)
    assert "Other releases of the same source" in shown
    assert "With &#x27;first&#x27;: " in shown
    assert any("'first'" in warning for warning in facts.warnings) == any(
        one.verdict != "holds" for one in facts.others
    )


def test_the_place_to_sign_has_the_digest_of_the_published_file(con: sqlanon.Connection, tmp_path: Path) -> None:
    release = sqlanon.anonymize(con, "patients", QUASI, 4, name="public")
    file = tmp_path / "public.csv"
    release.publish(file)
    release.report(
        tmp_path / "r.html",
        curve=False,
        author="A. Smith",
        purpose="study <7>",
        recipient="Health Board",
        source_date="2026-01-31",
        published=file,
    )
    shown = (tmp_path / "r.html").read_text(encoding="utf-8")
    for fact in ("A. Smith", "study &lt;7&gt;", "Health Board", "2026-01-31", "public.csv"):
        assert fact in shown
    assert hashlib.sha256(file.read_bytes()).hexdigest() in shown
    assert "Signature" in shown
    assert "holds no row of the source" not in shown


def test_a_release_without_a_name_goes_by_the_file_it_is_in(con: sqlanon.Connection, tmp_path: Path) -> None:
    """The paper was about "release", whichever it was."""
    release = sqlanon.anonymize(con, "patients", QUASI, 4)
    file = tmp_path / "patients public.csv"
    release.publish(file)
    page = release.report(tmp_path / "r.html", curve=False, published=file).read_text(encoding="utf-8")
    assert "<h1>patients public.csv</h1>" in page
    assert "I have read this report about patients public.csv" in page


def test_a_paper_refuses_a_file_or_a_date_that_is_none() -> None:
    with pytest.raises(CatalogError, match=r"no file 'none\.csv'"):
        Paper.of(published="none.csv")
    with pytest.raises(PolicyError, match="2026-01-31"):
        Paper.of(source_date="yesterday")


def test_the_runs_of_the_curve_warn_nobody(con: sqlanon.Connection, caplog: pytest.LogCaptureFixture) -> None:
    release = sqlanon.anonymize(con, "patients", QUASI, 4, sensitive=["diagnosis"])
    caplog.clear()
    with caplog.at_level(logging.WARNING, "sqlanon"):
        facts = facts_of_release(release, curve=True)
    assert facts.curve
    assert not caplog.records


@pytest.mark.sweep
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"l": 2, "sensitive": ["diag"]},
        {"entity": "who"},
        {"max_suppression": 0.1},
        {"population": "town"},
        {"limits": {"age": {"finest": 5, "coarsest": 40}}},
        {"method": "mondrian", "ranges": "snapped"},
    ],
    ids=str,
)
def test_the_curve_loses_what_quick_releases_lose(con: sqlanon.Connection, asked: dict[str, Any]) -> None:
    """It is drawn from one reading of the source; a release for every k took three times as long as the release."""
    con.execute(
        "create table visits as select range * 7 % 60 + 20 as age, ['F', 'M'][1 + range % 2] as sex, "
        "['a', 'b', 'c', 'd'][1 + range * 5 % 4] as diag, 'P' || range % 40 as who from range(160)"
    )
    con.execute("create table town as select age, sex from visits union all select age + 1, sex from visits")
    facts = facts_of_release(sqlanon.anonymize(con, "visits", ["age", "sex"], 4, seed=1, **asked), curve=True)
    people = 40 if "entity" in asked else 80
    assert [k for k, _, _ in facts.curve] == [k for k in (2, 4, 5, 10, 20, 50) if k <= people]
    quick = asked | {"method": "auto", "effort": "fast", "ranges": "text"}
    for k, loss, bound in facts.curve[::2]:
        made = sqlanon.anonymize(con, "visits", ["age", "sex"], k, seed=1, **quick)
        assert loss == pytest.approx(made.measured["gcp"])
        assert bound == (None if "population" in asked else pytest.approx(made.measured["lower_bound"]))


def test_the_command_line_fills_in_the_paper(
    con: sqlanon.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sqlanon.anonymize(con, "patients", QUASI, 4, name="public")
    con.close()
    database, out = str(tmp_path / "hospital.duckdb"), str(tmp_path / "r.html")
    assert main(["report", "public", "--db", database, "-o", out, "--no-curve", "--author", "A. Smith"]) == 0
    assert re.search(r"Author</th><td>A\. Smith", Path(out).read_text(encoding="utf-8"))


def digits(told: object) -> int:
    """The most digits that a number with a fraction has in facts for JSON."""
    if isinstance(told, dict):
        return max(map(digits, told.values()), default=0)
    if isinstance(told, list | tuple):
        return max(map(digits, told), default=0)
    return len(f"{told:.17g}".lstrip("0.-")) if isinstance(told, float) and told != float(f"{told:.3g}") else 0


def test_what_was_lost_leaves_the_database_with_three_digits(con: sqlanon.Connection) -> None:
    con.execute("create table paid as select (i * 7919 % 1009) / 7 as income, i % 3 as ward from range(60) r(i)")
    release = sqlanon.anonymize(con, "paid", ["income"], 7, name="public", sensitive=["ward"])
    assert digits(release.metrics()) > 3
    told = facts_of_release(release).as_dict()
    for fact in ("loss", "lower_bound", "metrics", "columns", "risks", "loss_by_k", "private"):
        assert digits(told[fact]) == 0, fact
    assert digits(release.explain().as_dict()) == 0
    assert digits(sqlanon.compare(con, "paid", ["income"], k=[7], methods=["mondrian", "kaca"]).as_dict()["cells"]) == 0
