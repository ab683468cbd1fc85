"""A database that was written before sqlanon had packages: everything in it is found, and goes on."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reading import rows, value

import sqlanon

OLD = Path(__file__).with_name("before_packages.duckdb.gz")
RELEASES = {
    "patients_anatomy": ("table", 2, 16),
    "patients_map": ("table", 3, 16),
    "patients_own": ("table", 2, 16),
    "patients_people": ("view", 2, 16),
    "patients_public": ("view", 2, 16),
    "patients_table": ("table", 3, 12),
}
"""Kind, k and rows: groups in two tables, a k-map, own boxes, people who are counted, a refreshed view, a snapshot."""

NEWCOMERS = """
insert into patients values
(17, 25, '4350', 'f', 'Asthma', date '2024-09-05'), (18, 26, '4351', 'm', 'Hernia', date '2024-09-06'),
(19, 70, '4427', 'f', 'Pneumonia', date '2024-09-07'), (20, 72, '4428', 'm', 'Gallstones', date '2024-09-08')
"""


@pytest.fixture
def old(tmp_path: Path) -> Iterator[sqlanon.Connection]:
    file = tmp_path / "hospital.duckdb"
    file.write_bytes(gzip.decompress(OLD.read_bytes()))
    with sqlanon.connect(file) as connection:
        yield connection


def test_every_release_is_listed_opened_and_verified(old: sqlanon.Connection) -> None:
    found = {name: tuple(rest) for name, *rest in rows(old, "select name, kind, k, rows from anon.releases")}
    assert found == RELEASES
    for name, (_, k, size) in RELEASES.items():
        release = sqlanon.open_release(old, name)
        assert release.policy.k == k
        proof = release.verify()
        assert replace(proof, property="", linked_k=None) == replace(
            release.proof, property="", linked_k=None
        )  # the words may change, the numbers not
        assert proof.rows == size
        assert release.metrics()["gcp"] == pytest.approx(value(old, f"select anon.gcp('{name}')"))


def test_the_view_takes_in_newcomers_as_its_next_version(old: sqlanon.Connection) -> None:
    before = sorted(rows(old, "from patients_public"), key=str)
    old.execute(NEWCOMERS)
    (status,) = sqlanon.status(old, "patients_public")
    assert (status.version, status.rows, status.new_rows, status.deleted_rows) == (2, 16, 4, 0)
    assert status.is_stale
    version = sqlanon.refresh(old, "patients_public")
    assert (version.version, version.held_new) == (2, 4)  # its members are cohorts now; newcomers wait for a batch
    for _ in range(3):
        old.execute(NEWCOMERS)
    version = sqlanon.refresh(old, "patients_public")
    assert (version.version, version.withdrawn, version.added) == (3, 0, 16)
    assert value(old, "select count(*) from patients_public") == version.rows == 16 + version.added
    after = rows(old, "from patients_public")
    assert all(after.count(row) >= before.count(row) for row in before)
    assert sqlanon.open_release(old, "patients_public").verify().k >= 2
    latest = "select version, added from anon.release_versions order by version desc limit 1"
    assert rows(old, latest) == [(3, version.added)]


def test_the_statement_refreshes_it_too(old: sqlanon.Connection) -> None:
    for _ in range(4):
        old.execute(NEWCOMERS)
    ((name, version, *_),) = old.execute("refresh anonymized view patients_public").fetchall()
    assert (name, version) == ("patients_public", 3)


def test_status_and_audit_answer_for_all_of_them(old: sqlanon.Connection) -> None:
    stale = {status.release: status.is_stale for status in sqlanon.status(old)}
    assert stale == dict.fromkeys(RELEASES, None) | {"patients_public": False}
    assert len(rows(old, "from anon.status()")) == len(RELEASES)
    verdicts = {frozenset(found.releases): found.verdict for found in sqlanon.audit(old, "patients").combinations}
    assert verdicts[frozenset({"patients_own", "patients_public"})] == "holds"
    assert verdicts[frozenset({"patients_public", "patients_table"})] == "BROKEN"
    assert verdicts[frozenset({"patients_map", "patients_own"})] == "not tried"


@pytest.mark.parametrize("name", ["patients_public", "patients_anatomy", "patients_map"])
def test_a_release_is_reported(old: sqlanon.Connection, name: str, tmp_path: Path) -> None:
    page = sqlanon.open_release(old, name).report(tmp_path / "report.html", curve=False).read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert name in page


def test_its_hierarchies_are_shown_and_serve_new_releases(old: sqlanon.Connection) -> None:
    found = rows(old, "select name, kind from anon.hierarchies order by name")
    assert found == [("admitted", "dates"), ("age", "intervals"), ("sex", "tree"), ("zip", "prefix")]
    assert rows(old, "from anon.hierarchy_tree('sex')") == [("*", 2), ("  f", 1), ("  m", 1)]
    made = sqlanon.anonymize(old, "patients", ["age", "zip"], 4, name="new")
    assert {zip_code.rstrip("*").isdigit() or zip_code == "*" for _, zip_code in made.relation().fetchall()} == {True}


def test_the_stored_comparison_is_found_and_nothing_is_run_again(
    old: sqlanon.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_again(*_: Any, **__: Any) -> Any:
        raise AssertionError("a stored cell was run again")

    monkeypatch.setitem(sqlanon.compare.__globals__, "anonymize", run_again)
    methods = ["auto", "kacpc", "mondrian"]
    found = sqlanon.compare(old, "patients", ["age", "zip"], [2, 3], methods=methods, ranges="text")  # then the default
    assert [(cell.k, cell.status) for k in (2, 3) for cell in found.ranked(k)] == [(2, "done")] * 3 + [(3, "done")] * 3
    assert value(old, "select count(*) from anon.comparisons") == 6


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_replaced_and_dropped_with_all_that_belongs_to_it(old: sqlanon.Connection, name: str) -> None:
    release = sqlanon.open_release(old, name)
    sqlanon.anonymize(old, "patients", ["age", "zip"], 5, name=name, kind=RELEASES[name][0], replace=True)
    assert sqlanon.open_release(old, name).policy.k == 5 > release.policy.k
    assert sqlanon.open_release(old, name).verify().k >= 5
    sqlanon.drop_release(old, name)
    assert value(old, "select count(*) from anon.releases") == len(RELEASES) - 1
    left = "select table_name from duckdb_tables() union all select view_name from duckdb_views() where not internal"
    assert not [table for (table,) in rows(old, left) if table.startswith(name)]
