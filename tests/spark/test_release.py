"""A release on Spark: what does not change it, how rows are dealt, and what can be done with it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from people import people

import sqlanon
from sqlanon.errors import PolicyError

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark's own

PLAIN: dict[str, Any] = {
    "quasi": ["age", "zip", "sex"],
    "k": 5,
    "hierarchies": {"zip": {"prefix": True}},
    "sensitive": ["illness"],
    "effort": "fast",
    "seed": 7,
}


def rows_of(table: pa.Table) -> Counter[str]:
    return Counter(map(str, table.to_pylist()))


@pytest.mark.parametrize(
    "more",
    [
        {"keep": ["ward"]},
        {"l": 2, "entity": "patient", "max_suppression": 0.1},
        {"sensitive": ["days"], "t": 0.4, "ranges": "columns"},
    ],
)
def test_the_same_seed_gives_the_same_release_whatever_the_partitions(
    more: dict[str, Any], spark: Any, is_sail: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The salt is secret and not the seed's, so that it is held here; order and number of partitions are not."""
    from sqlanon.spark import making

    if not is_sail and "keep" not in more:
        pytest.skip("only on Sail, to save time")
    monkeypatch.setattr(making.secrets, "token_hex", lambda length: "5a" * length)
    table = people(400)
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    options = PLAIN | {"block_size": 150} | more
    first = spark.release(spark.frame(table).coalesce(1), **options)
    second = spark.release(spark.frame(shuffled).repartition(7), **options)
    assert rows_of(first.rows) == rows_of(second.rows)
    assert first.rows.to_pylist() == second.rows.to_pylist()  # the order is the salt's, too


def test_columns_may_have_the_names_that_are_used_inside(spark: Any) -> None:
    names = {"begin": "age", "copies": "sex", "rows": "ward", "key1": "illness", "grp": "days", "sqlanon_order": "born"}
    table = (
        people(300)
        .select(list(names.values()))
        .rename_columns(list(names))
        .append_column(" a `b` c.d", people()["zip"].slice(0, 300))
    )
    options = {"quasi": ["begin", "copies"], "k": 5, "sensitive": ["rows", "key1"], "distinct_l": 1}
    made = spark.release(table, **options, unsafe_keep=["grp", "sqlanon_order", " a `b` c.d"])
    assert made.rows.column_names == table.column_names
    for name in ("rows", "key1", "grp", "sqlanon_order", " a `b` c.d"):
        assert Counter(made.rows[name].to_pylist()) == Counter(table[name].to_pylist())


def test_the_order_of_the_source_is_gone_and_another_one_each_time(spark: Any) -> None:
    table = pa.table({"age": [n // 40 for n in range(200)], "day": list(range(200)), "sex": ["f", "m"] * 100})
    made = [
        spark.release(table, quasi=["age", "sex"], k=5, unsafe_keep=["day"]).rows["day"].to_pylist() for _ in range(2)
    ]
    assert sorted(made[0]) == sorted(made[1]) == list(range(200))
    assert made[0] != made[1]
    assert made[0] != list(range(200))


def test_a_tuple_that_many_groups_share_is_dealt_in_buckets_and_by_chance(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the people are alike. mdav makes groups of about k, so that most groups have some of them."""
    from sqlanon.spark import assigning

    monkeypatch.setattr(assigning, "BUCKET", 30)
    monkeypatch.setattr(assigning, "STRETCH", 16)
    rng = np.random.default_rng(0)
    age = [50] * 400 + rng.integers(20, 80, 200).tolist()
    illness = ["flu", "none"] * 300
    table = pa.table({"age": age, "zip": [str(n % 7) for n in range(600)], "illness": illness, "n": list(range(600))})
    options = {"quasi": ["age", "zip"], "k": 5, "method": "kmember", "sensitive": ["illness"], "unsafe_keep": ["n"]}
    made = spark.release(table, **options, hierarchies={"zip": {"prefix": True}})
    assert sorted(made.rows["n"].to_pylist()) == list(range(600))
    classes: dict[tuple[Any, ...], Counter[str]] = {}
    for row in made.rows.to_pylist():
        classes.setdefault((row["age"], row["zip"]), Counter())[row["illness"]] += 1
    alike = [counts for counts in classes.values() if len(counts) == 1 and counts.total() > 10]
    assert not alike  # dealt in the order of the values, large classes would have one of them


def test_hot_tuples_are_dealt_exactly_once(spark: Any) -> None:
    """The steps of dealing alone: three groups share a tuple of 10,000 rows that are all alike but one."""
    from sqlanon.spark import assigning
    from sqlanon.spark.encoding import Encoding

    cells = spark.frame(pa.table({"key1": [7, 7, 8], "c1": ["x", "y", "z"], "rows": [9_999, 1, 3]}))
    entries = spark.frame(
        pa.table(
            {
                "key1": [7, 7, 7, 8],
                "grp": [0, 1, 2, 3],
                "rows": [9_000, 990, 10, 3],
                "first": [0, 0, 990, 0],
                "part": [0, 1, 1, 1],
                "p1": ["a", "b", "c", "d"],
            }
        )
    )
    encoding = Encoding((), (), {"key1": ((1, 9),)}, (), {}, None, 10_003)
    dealt = assigning.dealt(entries, encoding, ["p1"], is_split=True)
    found = assigning.spread_out(assigning.assign(cells, dealt, encoding, ["c1"], ["p1"], "salt")).toArrow()
    assert Counter(found["p1"].to_pylist()) == {"a": 9_000, "b": 990, "c": 10, "d": 3}
    assert Counter(found["c1"].to_pylist()) == {"x": 9_999, "y": 1, "z": 3}


@pytest.mark.parametrize("is_strict", [True, False])
@pytest.mark.parametrize("asked", [{}, {"l": 1.5}, {"l": 1.4, "distinct_l": 2}, {"alpha": 0.8, "entropy_l": 1.5}])
def test_suppressed_rows_are_released_where_the_core_would(asked: dict[str, Any], is_strict: bool, spark: Any) -> None:
    """People of all blocks are counted by Spark; the core's own answer sees all of their rows at once."""
    from sqlanon.spark.suppressing import settled
    from sqlanon.spark.workers import Book, Task
    from sqlanon.udfs.after.suppress import may_print_suppressed
    from sqlanon.udfs.problem import LEFT_OUT, SUPPRESSED, Groups
    from sqlanon.udfs.request import Request

    book = Book(2, 1.0, place=np.array([0.0, 1.0]))
    request = Request(5 if asked else 20, ("numbers",), (1.0,), models=asked, is_strict=is_strict, max_suppression=0.5)
    request = replace(request, sensitive=("illness", "ward"), distances=("equal", "equal"), entity="patient")
    said: Counter[bool] = Counter()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(4, 60))
        drawn = [rng.integers(0, values, size) for values in (2, 3, 2, int(rng.integers(3, 80)))]
        ids = np.unique(np.column_stack(drawn), axis=0)
        shares = tuple(np.full(3, 1 / 3) for _ in range(2))
        task = Task(request, (book,), {"key1": ((1, 2),)}, ("s1", "s2"), "who", shares, ("equal", "equal"))
        table = pa.table(dict(zip(("key1", "s1", "s2", "who"), ids.T, strict=True)) | {"rows": [1] * len(ids)})
        problem = task.problem(task.ranks(table), np.ones(len(ids), dtype=np.int64), table)
        every = np.arange(len(ids))
        groups = Groups(every, np.full(len(ids), SUPPRESSED), np.ones(len(ids), dtype=np.int64))
        is_fine = may_print_suppressed(problem, groups, request.k)
        entries = spark.frame(table.append_column("grp", pa.array([SUPPRESSED] * len(ids))))
        found = {row["grp"] for row in settled(entries, task).collect()}
        assert found == {SUPPRESSED if is_fine else LEFT_OUT}
        said[is_fine] += 1
    assert len(said) == 2  # else these seeds show one answer only


def test_pseudonyms_are_those_of_duckdb(spark: Any, duck: Any) -> None:
    key = bytes(range(32))
    options = {"quasi": ["age", "sex"], "k": 5, "pseudonymize": ["patient"], "key": key, "effort": "fast"}
    ours, theirs = spark.release(people(200), **options), duck.release(people(200), **options)
    assert Counter(ours.rows["patient"].to_pylist()) == Counter(theirs.rows["patient"].to_pylist())


def test_pseudonyms_need_a_key(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SQLANON_KEY", raising=False)
    with pytest.raises(PolicyError, match="needs a key"):
        spark.make(people(50), quasi=["age"], k=5, pseudonymize=["patient"])


def test_report_policy_and_staging_tables(session: Any, tmp_path: Path) -> None:
    import sqlanon.spark

    session.sql(f"create database sqlanon_staging location '{tmp_path}/tables'").collect()
    made = sqlanon.spark.anonymize(session.createDataFrame(people(200)), **PLAIN, l=2, staging_table="sqlanon_staging")
    page = made.report(tmp_path / "report.html", author="A. Smith").read_text(encoding="utf-8")
    assert "at least" in page
    assert "A. Smith" in page
    assert sqlanon.Policy.of(made.policy.options()) == made.policy
    assert "hierarchies" in made.policy.toml()
    assert set(made.metrics()) >= {"gcp", "lm", "precision", "dm", "average_class_size", "cm"}
    names = [row["tableName"] for row in session.sql("show tables in sqlanon_staging").collect()]
    assert len(names) == 1
    made.discard()
    assert not session.sql("show tables in sqlanon_staging").collect()
    assert not list((tmp_path / "tables").rglob("*.parquet"))
    session.sql("drop database sqlanon_staging").collect()


def test_measures_are_those_of_duckdb(spark: Any) -> None:
    """On the same released rows, so that nothing but the measuring can differ. A release is measured against the rows
    that it knows, so that none may be left out of this one."""
    table = people(600)
    made = spark.make(table, **PLAIN | {"max_suppression": 0.03})
    assert made.df.count() == len(table)
    with sqlanon.connect() as con:
        con.duckdb.register("given", table)
        con.duckdb.register("released", made.df.toArrow())
        con.execute("create table source as from given; create table public as from released")
        sqlanon.create_hierarchy(con, "zip", prefix=True)
        asked = "anon.measure('public', 'source', quasi := ['age', 'zip', 'sex'], sensitive := ['illness'], k := 5)"
        rows = con.sql(f"select measure, value from {asked} where value is not null").fetchall()
    theirs = dict(rows)
    for measure, value in made.metrics().items():
        assert value == pytest.approx(theirs[measure]), measure
    made.discard()


@pytest.mark.parametrize("ranges", ["text", "snapped"])
@pytest.mark.parametrize("keep", [[], ["ward"]])
def test_nothing_that_is_released_tells_the_age_of_somebody_who_was_left_out(
    ranges: str, keep: list[str], spark: Any
) -> None:
    """Worlds that differ in that age alone look the same: rows, and what was lost."""
    number = np.arange(120)
    worlds = []
    for age in (700, 9000):
        ages = pa.array([*(20 + (7 * number) % 40), age], pa.int32())
        incomes = pa.array([*(1000 + (37 * number) % 900 + 0.25), 1500.25])
        table = pa.table({"age": ages, "income": incomes, "ward": [*["a", "b", "c"] * 40, "a"]})
        made = spark.release(
            table, quasi=["age", "income"], k=5, keep=keep, max_suppression=0.02, seed=1, ranges=ranges, effort="fast"
        )
        assert (made.proof.left_out, made.proof.rows) == (1, 120)
        if keep:
            assert made.rows["ward"].to_pylist().count("a") == 40
        worlds.append((sorted(made.rows.to_pylist(), key=str), made.metrics))
    if keep:  # whose ward it is among those that are alike is drawn anew
        worlds = [(sorted((row["age"], row["income"]) for row in rows), metrics) for rows, metrics in worlds]
    (rows, metrics), (others, theirs) = worlds
    assert rows == others
    assert metrics == pytest.approx(theirs, rel=1e-12)  # sums are added up in any order


def test_a_source_that_never_reads_the_same_is_read_once(spark: Any) -> None:
    from pyspark.sql import functions as F

    changing = spark.frame(people(300)).withColumn("age", (F.rand() * 50).cast("int"))
    made = spark.release(changing, quasi=["age", "sex"], k=5, sensitive=["illness"])
    assert made.rows.num_rows == made.proof.rows == 300
    assert made.proof.k >= 5


def test_homogeneous_classes_are_warned_of_as_by_duckdb(
    spark: Any, duck: Any, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"quasi": ["age", "sex"], "k": 3, "sensitive": ["smoker"], "effort": "fast", "seed": 1}
    for engine in (spark, duck):
        engine.release(people(200), **options)
    said = (record.getMessage() for record in caplog.records if "same value" in record.getMessage())
    ours, theirs = (re.sub(r"in \d+ of|\(\d+ of", "some of", message) for message in said)
    assert ours == theirs  # but for how many: rows that groups share are dealt at random


def test_text_is_compared_by_its_bytes_whatever_the_collation(spark: Any, is_sail: bool) -> None:
    if is_sail:
        pytest.skip("Sail has no collations")
    import sqlanon.spark

    folded = spark.frame(pa.table({"sex": ["f", "F"] * 20, "age": [1, 2, 3, 4] * 10})).selectExpr(
        "collate(sex, 'UTF8_LCASE') as sex", "age"
    )
    assert folded.groupBy("sex").count().count() == 1
    assert sqlanon.spark.check(folded, ["sex"], k=21).k == 20
    made = spark.release(folded, quasi=["sex", "age"], k=5)
    assert set(made.rows["sex"].to_pylist()) == {"f", "F"}
    kept = spark.make(folded, quasi=["age"], k=5, keep=["sex"])
    assert Counter(row["sex"] for row in kept.df.collect()) == {"f": 20, "F": 20}
    assert kept.df.schema["sex"].dataType == folded.schema["sex"].dataType
    kept.discard()


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlanon.spark

    monkeypatch.setattr(sqlanon.spark, "find_spec", lambda module: None)
    with pytest.raises(sqlanon.SqlanonError, match=r"pip install 'sqlanon\[spark\]'"):
        _ = sqlanon.spark.anonymize
