"""One contract for both engines: releases that hold, at about the same loss."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from people import people

import sqlanon
from sqlanon.udfs.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark's own

QUICK = {"k": 5, "seed": 1, "effort": "fast"}
PLAIN = {"quasi": ["age", "zip", "sex"], "hierarchies": {"zip": {"prefix": True}}, **QUICK}
ILL = {"sensitive": ["illness"]}
CASES: dict[str, dict[str, Any]] = {
    "numbers and codes": PLAIN,
    "every type": {"quasi": ["age", "smoker", "born", "seen", "weight", "fee"], **QUICK},
    "every width": {"quasi": ["tiny", "short", "long", "single", "moment", "sex"], **QUICK},
    "ranges as text": {"quasi": ["age", "born", "weight", "seen"], "ranges": "text", **QUICK},
    "nothing but NULL in a class": {"quasi": ["age", "smoker"], **(QUICK | ILL), "keep": ["smoker_too"]},
    "kept columns": PLAIN | ILL | {"keep": ["ward"]},
    "blocks": PLAIN | {"block_size": 100},
    "blocks without polish": PLAIN | {"block_size": 100, "polish": False},
    "blocks by another measure": PLAIN | {"block_size": 100, "objective": "lm"},
    "weights": PLAIN | {"weights": {"age": 3, "sex": 0.5}},
    "snapped": {"quasi": ["age", "born", "weight"], "ranges": "snapped", "grid": {"age": 5, "born": "month"}} | QUICK,
    "two columns": {"quasi": ["age", "born", "sex"], "ranges": "columns", **QUICK},
    "rules": {
        "quasi": ["age", "born", "sex"],
        "hierarchies": {"age": {"intervals": [5, 10, 20]}, "born": {"dates": True}},
        **QUICK,
    },
    "a stored tree": {
        "quasi": ["ward", "age"],
        "hierarchies": {"ward": {"rows": [[f"ward {n}", "east" if n < 3 else "west", "*"] for n in range(1, 6)]}},
        **QUICK,
    },
    "suppression": PLAIN | {"max_suppression": 0.05},
    "l": PLAIN | ILL | {"l": 2},
    "l in blocks": PLAIN | ILL | {"l": 2, "block_size": 400},
    "t of equal values": PLAIN | ILL | {"t": 0.4},
    "t of values in order": PLAIN | {"sensitive": ["days"], "t": 0.2, "block_size": 400},
    "t in a tree": {
        "quasi": ["age", "sex"],
        "sensitive": ["ward"],
        "hierarchies": {"ward": {"rows": [[f"ward {n}", "east" if n < 3 else "west", "*"] for n in range(1, 5)]}},
        "t": 0.3,
        **QUICK,
    },
    "two sensitive columns, one known": PLAIN | {"sensitive": ["smoker", "sex_too"], "distinct_l": 2},
    "two sensitive columns": PLAIN | {"sensitive": ["illness", "days"], "distinct_l": 2, "several": "separate"},
    "suppression and l": PLAIN | ILL | {"l": 3, "max_suppression": 0.1},
    "people": {"quasi": ["age", "sex"], "entity": "patient", **QUICK},
    "people and l": {"quasi": ["age", "sex"], "entity": "patient", **QUICK, **ILL, "l": 2},
    "people and suppression": {"quasi": ["age", "sex"], "entity": "patient", **QUICK, "max_suppression": 0.05},
    "people, suppression and l in blocks": {
        "quasi": ["age", "zip", "sex"],
        "hierarchies": {"zip": {"prefix": True}},
        "entity": "patient",
        **(QUICK | ILL),
        "l": 2,
        "max_suppression": 0.1,
        "block_size": 400,
    },
    "suppression in blocks": PLAIN | {"max_suppression": 0.1, "block_size": 200},
    "another measure in blocks": PLAIN | {"objective": "lm", "block_size": 200},
    "as printed, in blocks": PLAIN | {"method": "sequential", "ending": "paper", "effort": None, "block_size": 200},
}
MODELS = {
    "entropy_l": {"entropy_l": 2},
    "recursive_l": {"recursive_l": 2, "recursive_c": 2.0},
    "alpha": {"alpha": 0.6},
    "basic_beta": {"basic_beta": 2},
    "enhanced_beta": {"enhanced_beta": 1.5},
    "delta": {"delta": 2.5},
}
ON_BOTH = ("numbers and codes", "l in blocks", "two columns", "people")
"""Cases that Spark itself runs too; it takes its time."""


BLOCKED = [one.name for one in METHODS.values() if one.block_size is not None and one.is_homogeneous]
"""The methods that Spark has."""


def table_of(rows: int = 600) -> pa.Table:
    """People, with more columns: numbers of every width, a moment in a time zone, and some once more."""
    table = people(rows)
    age, weight, seen = (table[name].combine_chunks() for name in ("age", "weight", "seen"))
    more = {"tiny": age.cast(pa.int8()), "short": age.cast(pa.int16()), "long": age.cast(pa.int64())}
    more |= {"single": weight.cast(pa.float32()), "moment": seen.cast(pa.timestamp("us", "UTC"))}
    more |= {"smoker_too": table["smoker"], "sex_too": table["sex"]}
    for name, values in more.items():
        table = table.append_column(name, values)
    return table


def printed(rows: pa.Table, options: dict[str, Any]) -> list[str]:
    asked = {*options["quasi"], *(f"{c}_{end}" for c in options["quasi"] for end in ("min", "max"))}
    return [column for column in rows.column_names if column in asked]


@pytest.mark.parametrize("case", CASES)
def test_a_release_holds_and_loses_as_much_as_duckdbs(case: str, duck: Any, spark: Any, is_sail: bool) -> None:
    if not is_sail and case not in ON_BOTH:
        pytest.skip("only on Sail, to save time")
    options, table = CASES[case], table_of()
    theirs, ours = duck.release(table, **options), spark.release(table, **options)
    assert ours.rows.column_names == theirs.rows.column_names
    assert ours.metrics["gcp"] == pytest.approx(theirs.metrics["gcp"], rel=0.02, abs=0.001)
    assert set(ours.proof.models) == set(theirs.proof.models)
    kept = {m: v for m, v in options.items() if m in ("l", "t", "distinct_l", "several") and m != "t"}
    with sqlanon.connect() as con:
        check = sqlanon.check(
            con, ours.rows, printed(ours.rows, options), options["k"], sensitive=options.get("sensitive", ()), **kept
        )
    if "entity" not in options:
        assert check.holds
        assert check.k == ours.proof.k
    assert check.rows == ours.rows.num_rows == ours.proof.rows
    if "max_suppression" not in options:
        assert ours.rows.num_rows == table.num_rows
        for column in (*options.get("sensitive", ()), *options.get("keep", ())):
            assert sorted(map(str, ours.rows[column].to_pylist())) == sorted(map(str, table[column].to_pylist()))


def test_blocks_lose_next_to_nothing(duck: Any, spark: Any, is_sail: bool) -> None:
    if not is_sail:
        pytest.skip("only on Sail, to save time")
    table, options = people(4000), PLAIN | {"block_size": 1500}
    theirs, ours = duck.release(table, **options), spark.release(table, **options)
    assert ours.metrics["gcp"] == pytest.approx(theirs.metrics["gcp"], rel=0.02)


@pytest.mark.parametrize("method", BLOCKED)
def test_every_method_that_runs_in_blocks_holds_and_loses_as_much(
    method: str, duck: Any, spark: Any, is_sail: bool
) -> None:
    if not is_sail:
        pytest.skip("only on Sail, to save time")
    table, options = people(240), PLAIN | {"method": method, "effort": "fast" if method == "auto" else None}
    theirs, ours = duck.release(table, **options), spark.release(table, **options)
    assert ours.metrics["gcp"] == pytest.approx(theirs.metrics["gcp"], rel=0.02)
    in_blocks = spark.release(table, **options, block_size=100)
    assert in_blocks.proof.k >= 5
    assert in_blocks.metrics["gcp"] < 2 * theirs.metrics["gcp"]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_holds_with_the_shares_of_the_whole_table(model: str, duck: Any, spark: Any, is_sail: bool) -> None:
    if not is_sail:
        pytest.skip("only on Sail, to save time")
    options = PLAIN | ILL | MODELS[model] | {"block_size": 200}
    made = spark.release(people(), **options)
    with sqlanon.connect() as con:
        check = sqlanon.check(con, made.rows, PLAIN["quasi"], 5, **ILL, **MODELS[model])
    assert check.holds
    assert made.proof.models[model]["illness"] == pytest.approx(check.reached[model]["illness"])
    whole = PLAIN | ILL | MODELS[model]
    theirs, ours = (engine.release(people(), **whole).metrics["gcp"] for engine in (duck, spark))
    assert ours == pytest.approx(theirs, rel=0.02)


def test_the_same_seed_gives_duckdbs_own_release(duck: Any, spark: Any) -> None:
    """A table of one block is clustered alike, so that labels must be the same to the last character."""
    table = people()
    line: dict[str, Any] = {"quasi": ["age", "born", "weight"], "k": 5, "seed": 3}
    for options in (PLAIN | ILL, line | {"ranges": "snapped"}, line | {"quasi": ["weight"], "k": 2}):
        ours, theirs = (engine.release(table, **options).rows for engine in (spark, duck))
        quasi = options["quasi"]
        assert sorted(map(str, ours.select(quasi).to_pylist())) == sorted(map(str, theirs.select(quasi).to_pylist()))
        assert ours.schema.field(quasi[0]).type == pa.string()
