"""The same errors as DuckDB's, what Spark does not have refused by name, and nothing left after a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from people import people

import sqlanon
from sqlanon.errors import BrokenPromiseError, PolicyError, ResourceError, SqlanonError

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark's own

BASE: dict[str, Any] = {"quasi": ["age", "sex"], "k": 5}
ILL = {"sensitive": ["illness"]}
ALIKE: dict[str, dict[str, Any]] = {
    "an unknown column": BASE | {"quasi": ["aeg", "sex"]},
    "an unknown option": BASE | {"kk": 3},
    "an unknown method": BASE | {"method": "kaka"},
    "too few rows": BASE | {"k": 1000},
    "a kept column that identifies": BASE | {"keep": ["born"]},
    "values that a hierarchy lacks": BASE | {"quasi": ["ward"], "hierarchies": {"ward": {"rows": [["ward 1", "*"]]}}},
    "an l that cannot be": BASE | ILL | {"l": 50},
    "a column of two roles": BASE | {"keep": ["age"]},
    "a model without a column": BASE | {"l": 2},
    "a hierarchy that does not fit": BASE | {"hierarchies": {"sex": {"dates": True}}},
    "people without a name": BASE | {"quasi": ["sex"], "entity": "age"},
    "a t that cannot be": BASE | {"sensitive": ["days"], "t": -1},
    "a weight of nobody": BASE | {"weights": {"ward": 2}},
    "an effort that there is not": BASE | {"effort": "tall"},
    "suppression of more than all": BASE | {"max_suppression": 2},
    "two columns of one name": BASE | {"quasi": ["age", "sex"], "ranges": "columns", "keep": ["age_min"]},
    "a grid without snapped ranges": BASE | {"ranges": "text", "grid": {"age": 5}},
}
ONLY_DUCKDB: dict[str, dict[str, Any]] = {
    "population": {"population": "everybody"},
    "linked": {"entity": "patient", "linked": True},
    "identity": {"identity": ["patient"]},
    "deleted": {"deleted": "hold"},
    "changed": {"changed": "keep"},
    "batch": {"batch": 10},
    "failed": {"failed": "blank", **ILL, "l": 2},
    "row_weight": {"row_weight": True},
    "strict": {"strict": True},
    "limits": {"limits": {"age": {"finest": 5}}},
    "represent": {"represent": "center"},
    "forming": {"forming": "blind", **ILL, "l": 2},
    "time_budget": {"time_budget": 5},
    "method='mondrian'": {"method": "mondrian"},
    "method='anatomy'": {"method": "anatomy", **ILL, "l": 2},
    "name": {"name": "patients_public"},
    "suggest": {"suggest": True},
}


@pytest.mark.parametrize("case", ALIKE)
def test_errors_are_those_of_duckdb(case: str, duck: Any, spark: Any) -> None:
    said = []
    table = people(200).append_column("age_min", people(200)["ward"])
    for engine in (duck, spark):
        with pytest.raises(SqlanonError) as found:
            engine.release(table, **ALIKE[case])
        said.append((type(found.value), str(found.value).split(": see them")[0].rstrip(".")))
    assert said[0] == said[1]
    assert not list(spark.folder.glob("*"))


def test_a_source_without_rows_is_refused_as_by_duckdb(duck: Any, spark: Any) -> None:
    said = []
    for engine, source in ((duck, people(50).slice(0, 0)), (spark, spark.frame(people(50)).where("false"))):
        with pytest.raises(SqlanonError) as found:
            engine.release(source, **BASE)
        said.append((type(found.value), str(found.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("option", ONLY_DUCKDB)
def test_what_spark_does_not_have_is_refused_by_name_before_anything_runs(option: str, spark: Any) -> None:
    class Untouched:
        """A frame that must not be read."""

        @property
        def sparkSession(self) -> Any:
            raise AssertionError("it was read")

    import sqlanon.spark

    with pytest.raises(PolicyError, match="not available on Spark") as found:
        sqlanon.spark.anonymize(Untouched(), **BASE, **ONLY_DUCKDB[option], staging="nowhere")
    assert option in str(found.value)


def test_a_staging_must_be_named(spark: Any) -> None:
    import sqlanon.spark

    frame = spark.frame(people(50))
    for places in ({}, {"staging": "a", "staging_table": "b"}):
        with pytest.raises(PolicyError, match="staging"):
            sqlanon.spark.anonymize(frame, **BASE, **places)


def test_a_value_that_fails_is_not_shown_and_nothing_is_left(spark: Any) -> None:
    from pyspark.sql import functions as F

    frame = spark.frame(people(100).append_column("code", pa.array([*["1"] * 99, "Smith 4711"])))
    broken = frame.withColumn("code", F.expr("cast(code as int)")).where("code is not null or true")
    spark.session.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(SqlanonError) as found:
        spark.make(broken, quasi=["code", "sex"], k=5)
    told: BaseException | None = found.value
    while told is not None:
        assert "4711" not in str(told)
        told = told.__cause__ or told.__context__
    assert not list(spark.folder.glob("*"))


def test_a_broken_promise_releases_nothing(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.spark import assigning

    found = assigning.outputs

    def lost(*arguments: Any) -> Any:
        return found(*arguments).where("age <> '*' or age is null").limit(90)

    monkeypatch.setattr(assigning, "outputs", lost)
    with pytest.raises(BrokenPromiseError):
        spark.make(people(100), **BASE)
    assert not list(spark.folder.glob("*"))


def test_classes_that_are_too_small_are_found_on_what_was_written(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    from sqlanon.spark import assigning

    found = assigning.outputs

    def wrong(*arguments: Any) -> Any:
        return found(*arguments).withColumn("age", F.concat("age", F.lit(" "), "ward"))

    monkeypatch.setattr(assigning, "outputs", wrong)
    with pytest.raises(BrokenPromiseError, match="k is 5"):
        spark.make(people(100), keep=["ward"], **BASE)
    assert not list(spark.folder.glob("*"))


def test_a_staging_that_cannot_be_written_is_an_error_in_our_words(session: Any, tmp_path: Path) -> None:
    import sqlanon.spark

    taken = tmp_path / "taken"
    taken.write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(SqlanonError, match="Nothing is released"):
        sqlanon.spark.anonymize(session.createDataFrame(people(50)), **BASE, staging=str(taken / "below"))
    assert taken.read_text(encoding="utf-8") == "a file, not a folder"


def test_a_worker_of_another_version_refuses(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.spark import making

    found = making.task_of

    def older(*arguments: Any) -> Any:
        from dataclasses import replace

        return replace(found(*arguments), version="0.0.1")

    monkeypatch.setattr(making, "task_of", older)
    with pytest.raises(SqlanonError, match=r"the driver has 0\.0\.1"):
        spark.make(people(50), **BASE)


def test_too_many_values_for_the_driver_are_refused_and_never_reach_it(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlanon.spark import encoding
    from sqlanon.spark.desk import Desk

    met: list[int] = []
    found = Desk.book
    monkeypatch.setattr(Desk, "book", lambda desk, one, values: met.append(len(values)) or found(desk, one, values))
    monkeypatch.setattr(encoding, "MOST_VALUES", 100)
    with pytest.raises(sqlanon.SqlanonError, match=r"Column 'zip' has more than 100 different values"):
        spark.make(people(500), **BASE | {"quasi": ["age", "zip"], "hierarchies": {"zip": {"prefix": True}}})
    assert not met
    assert not list(spark.folder.glob("*"))
    with pytest.raises(sqlanon.SqlanonError, match=r"Column 'seen' has more than 100 different values"):
        spark.make(people(500), **BASE | {"sensitive": ["seen"], "l": 2})
    monkeypatch.setattr(encoding, "MOST_VALUES", 73)  # 18 to 89, and NULL
    made = spark.make(people(500), **BASE)
    assert max(met) == 73
    made.discard()


def test_a_full_disk_is_a_matter_of_resources() -> None:
    pytest.importorskip("pyspark")
    from pyspark.errors import PySparkException

    from sqlanon.spark.failures import in_our_words

    def write() -> None:
        raise PySparkException("java.io.IOException: No space left on device: Smith 4711")

    with pytest.raises(ResourceError, match="no room while writing") as found:
        in_our_words("writing", write)
    assert found.value.__context__ is None
