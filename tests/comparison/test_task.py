"""sqlanon utility: what a release is still good for."""

import json
from pathlib import Path

import pytest

import sqlanon
from sqlanon.cli.main import main
from sqlanon.comparison.prediction import predict
from sqlanon.errors import PolicyError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "t.duckdb"
    with sqlanon.connect(path) as con:
        con.execute(
            "create table t as select i % 20 as a, i % 3 as b, case when i % 20 < 10 then 'low' else 'high' end as s "
            "from range(300) r(i)"
        )
        sqlanon.anonymize(con, "t", ["a", "b"], 5, sensitive=["s"], name="fine")
        sqlanon.anonymize(con, "t", ["a", "b"], 300, sensitive=["s"], name="coarse")
    return path


def test_a_fine_release_predicts_like_the_original_and_a_coarse_one_like_a_guess(database: Path) -> None:
    with sqlanon.connect(database) as con:
        fine = predict(sqlanon.open_release(con, "fine"), "s")
        coarse = predict(sqlanon.open_release(con, "coarse"), "s")
        assert fine.original == coarse.original > 0.95
        assert fine.release > 0.95
        assert coarse.release <= 0.6
        assert fine.majority == 0.5
        assert fine.nearest_original == 0
        with pytest.raises(PolicyError, match="quasi-identifier"):
            predict(sqlanon.open_release(con, "fine"), "a")
        sqlanon.anonymize(con, "t", ["a"], 5, sensitive=["s"], name="narrow")
        with pytest.raises(PolicyError, match=r"'b' is not in the release: predict one that is \(s\)"):
            predict(sqlanon.open_release(con, "narrow"), "b")


def test_the_command_prints_measures_and_task(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["utility", "fine", "--db", str(database), "--task", "s"]) == 0
    out = capsys.readouterr().out
    assert "gcp" in out
    assert "s predicted right: original" in out
    assert main(["utility", "fine", "--db", str(database), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["task"] is None
    assert 0 <= found["metrics"]["gcp"] <= 1
    assert main(["utility", "fin", "--db", str(database)]) == 2
    assert "Did you mean 'fine'?" in capsys.readouterr().err
