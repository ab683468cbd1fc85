"""Tables larger than a block, and larger than the memory that DuckDB may use."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest

import sqlanon
from sqlanon import samples
from sqlanon.errors import PolicyError
from sqlanon.reporting.displays import release_facts
from sqlanon.reporting.facts import facts_of_release
from sqlanon.reporting.page import page

QUASI = ["age", "education", "race", "sex"]


@pytest.fixture(autouse=True)
def adult(con):
    samples.create(con, "adult", rows=3000)


@pytest.mark.parametrize("method", ["auto", "kaca", "mdav"])
def test_a_release_made_in_blocks_is_verified_like_any_other(con, method):
    release = sqlanon.anonymize(con, "adult", QUASI, 4, method=method, block_size=200)
    assert release.learned["blocks"] > 5
    assert release.proof.rows == 3000
    assert release.verify().k >= 4


def test_sql_takes_a_block_size_and_the_same_seed_gives_the_same_release(con):
    call = "from anon.anonymize('adult', quasi := ['age', 'education', 'sex'], k := 4, block_size := 150, seed := 3)"
    first, second = (Counter(con.execute(call).fetchall()) for _ in range(2))
    assert first == second
    assert min(first.values()) >= 4


def test_blocks_keep_l(con):
    release = sqlanon.anonymize(con, "adult", QUASI, 4, method="mdav", block_size=200, sensitive=["occupation"], l=2)
    assert release.proof.models["l"]["occupation"] >= 2


def test_refining_works_in_blocks(con):
    plain, refined = (
        sqlanon.anonymize(con, "adult", QUASI, 4, method="mondrian", refine=refine).metrics()["gcp"]
        for refine in (False, True)
    )
    assert refined < plain


def test_a_method_that_sees_the_whole_table_has_no_blocks():
    with pytest.raises(PolicyError, match="block_size does not apply to incognito, which always reads the whole table"):
        sqlanon.Policy(quasi=("age",), method="incognito", block_size=500)
    with pytest.raises(PolicyError, match="block_size is 5; it must be a whole number of 100 or more"):
        sqlanon.Policy(quasi=("age",), block_size=5)


def test_what_is_done_beyond_a_method_is_told_and_can_be_left_out(con):
    asked = {"method": "kacpc", "block_size": 200}
    release = sqlanon.anonymize(con, "adult", QUASI, 4, **asked)
    blocks = f"clustered in {release.learned['blocks']} blocks of similar tuples"
    told = f"{blocks} and groups refined across their borders by ncp"
    assert dict(release_facts(release))["in addition"] == told
    facts = facts_of_release(release, curve=False)
    assert facts.as_dict()["added"] == told
    assert f"In addition to what kacpc does: {told}." in page(facts)
    left = sqlanon.anonymize(con, "adult", QUASI, 4, **asked, polish=False)
    assert "seams_polished_by" not in left.learned
    assert dict(release_facts(left))["in addition"].endswith("blocks of similar tuples")
    whole = sqlanon.anonymize(con, "adult", QUASI, 4, method="kacpc", block_size=3000)
    assert "in addition" not in dict(release_facts(whole))
    assert facts_of_release(whole, curve=False).added == ""


def test_a_comparison_marks_what_is_done_beyond_a_method(con):
    found = sqlanon.compare(con, "adult", QUASI, 4, methods="kacpc,mdav", block_size=200, polish=False)
    assert [cell.mark for cell in found.cells] == ["‡", "‡"]
    (note,) = found.notes()
    assert note.startswith("‡ kacpc (k = 4), mdav (k = 4): clustered in ")
    again = sqlanon.compare(con, "adult", QUASI, 4, methods="kacpc,mdav", block_size=200, polish=False)
    assert again.notes() == [note]  # as it was stored
    whole = sqlanon.compare(con, "adult", QUASI, 4, methods="kacpc")
    assert whole.notes() == []


def test_a_search_is_not_asked_for_a_measure_that_it_does_not_know():
    with pytest.raises(PolicyError, match="refine cannot search for a low suppression; it knows ncp, lm"):
        sqlanon.Policy(quasi=("age",), method="sequential", parameters={"cost": "suppression"}, refine=True)
    with pytest.raises(PolicyError, match="polish is 'no'; it must be true or false"):
        sqlanon.Policy(quasi=("age",), polish="no")


@pytest.mark.parametrize("kind", ["parquet", "database"])
def test_more_rows_than_duckdb_may_hold_in_memory(tmp_path: Path, kind: str):
    rows = 1_500_000
    made = (
        "select (i * 7919) % 73 as age, 'code ' || (i * 104729) % 11 as place, "
        f"'a rather long note that takes memory, number ' || i % 1000 as note from range({rows}) as r(i)"
    )
    with duckdb.connect(tmp_path / "people.duckdb") as con:
        con.execute(f"create table people as {made}")
        con.execute(f"copy people to '{tmp_path / 'people.parquet'}'")
    with duckdb.connect(tmp_path / "people.duckdb") as con:
        con.execute("set memory_limit = '120MB'")
        con.execute("set threads = 2")
        con.execute("set preserve_insertion_order = false")
        sqlanon.load(con)
        source = "people" if kind == "database" else f"from '{tmp_path / 'people.parquet'}'"
        release = sqlanon.anonymize(con, source, ["age", "place"], 10, unsafe_keep=["note"], name="release")
        assert release.proof.rows == rows
        assert release.verify().k >= 10
