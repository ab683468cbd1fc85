"""The sample tables: what they hold, that a seed fixes them, and that their hierarchies cover them."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from reading import value

from sqlanon import samples
from sqlanon.errors import CatalogError, PolicyError

SIX = "age, workclass, education, marital_status, race, sex"
COLUMNS = {
    "patients": "name age* zip sex ward diagnosis",
    "problems": "gender age pcode problem",
    "microdata": "name age* zip* disease",
    "adult": "age* workclass education marital_status race sex native_country occupation salary_class",
}
HIERARCHIES = [
    (name, column, rows) for name in samples.SAMPLES for column, rows in samples.hierarchy_rows(name).items()
]


def share(con: duckdb.DuckDBPyConnection, condition: str) -> float:
    return float(str(value(con, f"select avg(({condition})::integer) from adult")))


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_a_sample_makes_its_table_and_nothing_else(plain: duckdb.DuckDBPyConnection, name: str) -> None:
    assert samples.create(plain, name) == name
    assert plain.execute("select table_name, table_type from information_schema.tables").fetchall() == [
        (name, "BASE TABLE")
    ]


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_columns_are_integers_and_varchars_without_nulls(plain: duckdb.DuckDBPyConnection, name: str) -> None:
    samples.create(plain, name)
    described = plain.execute(f"select column_name, column_type from (describe {name})").fetchall()
    expected = [(c.rstrip("*"), "INTEGER" if c.endswith("*") else "VARCHAR") for c in COLUMNS[name].split()]
    assert described == expected
    for column, _ in described:
        assert value(plain, f"select count(*) from {name} where {column} is null") == 0


def test_creating_a_sample_again_replaces_it(plain: duckdb.DuckDBPyConnection) -> None:
    samples.create(plain, "adult", rows=10)
    samples.create(plain, "adult", rows=20)
    assert value(plain, "select count(*) from adult") == 20


def test_nothing_is_printed(plain: duckdb.DuckDBPyConnection, capfd: pytest.CaptureFixture[str]) -> None:
    for name in samples.SAMPLES:
        samples.create(plain, name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("table", ['a "b" c; drop', "semi;colon", "main.patients", "select", "Zeile é"])
def test_any_table_name_is_taken_as_one_name(plain: duckdb.DuckDBPyConnection, table: str) -> None:
    assert samples.create(plain, "problems", table=table) == table
    assert plain.execute("select table_name from duckdb_tables()").fetchall() == [(table,)]


def test_an_unknown_sample_is_named_with_the_known_ones() -> None:
    with (
        duckdb.connect() as con,
        pytest.raises(CatalogError, match=r"patients, problems.*Did you mean 'adult'"),
    ):
        samples.create(con, "adults")
    with pytest.raises(CatalogError, match="Unknown sample 'nobody'"):
        samples.hierarchy_rows("nobody")


@pytest.mark.parametrize("numbers", [{"rows": -1}, {"seed": -1}])
def test_rows_and_seed_below_zero_are_refused(plain: duckdb.DuckDBPyConnection, numbers: dict[str, int]) -> None:
    with pytest.raises(PolicyError, match="-1"):
        samples.create(plain, "adult", **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_view_of_the_name_is_an_error_and_stays(plain: duckdb.DuckDBPyConnection, in_transaction: bool) -> None:
    plain.execute("create view patients as select 1 as one")
    if in_transaction:
        plain.begin()
    with pytest.raises(CatalogError, match="'patients' cannot be table 'patients'"):
        samples.create(plain, "patients")
    if in_transaction:
        plain.rollback()
    assert plain.execute("select view_name from duckdb_views() where not internal").fetchall() == [("patients",)]


def test_a_sample_made_in_a_transaction_is_rolled_back_with_it(plain: duckdb.DuckDBPyConnection) -> None:
    plain.begin()
    samples.create(plain, "patients")
    plain.rollback()
    assert value(plain, "select count(*) from information_schema.tables") == 0


def test_patients_differ_in_age_area_and_diagnosis(plain: duckdb.DuckDBPyConnection) -> None:
    samples.create(plain, "patients")
    assert 12 <= int(str(value(plain, "select count(*) from patients"))) <= 20
    assert plain.execute("select min(age) >= 20, max(age) <= 80 from patients").fetchone() == (True, True)
    assert value(plain, "select count(distinct name) = count(*) from patients") is True
    assert value(plain, "select count(distinct zip[:3]) from patients") == 4
    assert value(plain, "select count(distinct ward) from patients") == 3
    assert value(plain, "select max(n) from (select count(*) as n from patients group by diagnosis)") == 2


def test_problems_has_the_two_lone_tuples_of_the_paper(plain: duckdb.DuckDBPyConnection) -> None:
    samples.create(plain, "problems")
    alone = "select gender, age, pcode from problems group by all having count(*) = 1 order by pcode"
    assert plain.execute(alone).fetchall() == [("male", "young", "4351"), ("female", "young", "4352")]
    assert value(plain, "select count(*) from problems") == 6


def test_microdata_holds_bob_of_the_paper(plain: duckdb.DuckDBPyConnection) -> None:
    samples.create(plain, "microdata")
    assert value(plain, "select disease from microdata where age = 20 and zip = 30") == "Bronchitis"
    assert value(plain, "select count(*) from microdata") == 7


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(plain: duckdb.DuckDBPyConnection) -> None:
    def adult(seed: int) -> list[tuple[object, ...]]:
        samples.create(plain, "adult", rows=500, seed=seed)
        return plain.execute("from adult").fetchall()

    assert adult(7) == adult(7)
    assert adult(7) != adult(8)


def test_adult_of_no_rows_is_an_empty_table(plain: duckdb.DuckDBPyConnection) -> None:
    samples.create(plain, "adult", rows=0)
    assert value(plain, "select count(*) from adult") == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_adult_has_about_as_many_tuples_as_the_real_table(plain: duckdb.DuckDBPyConnection, seed: int) -> None:
    samples.create(plain, "adult", rows=30_000, seed=seed)
    assert 8_000 <= int(str(value(plain, f"select count(*) from (select distinct {SIX} from adult)"))) <= 11_000


def test_adult_is_skewed_and_dependent_like_the_real_table(plain: duckdb.DuckDBPyConnection) -> None:
    samples.create(plain, "adult", rows=30_000)
    assert share(plain, "native_country = 'United-States'") == pytest.approx(0.91, abs=0.02)
    assert share(plain, "workclass = 'Private'") == pytest.approx(0.74, abs=0.02)
    assert share(plain, "race = 'White'") == pytest.approx(0.86, abs=0.02)
    assert share(plain, "sex = 'Male'") == pytest.approx(0.67, abs=0.02)
    assert share(plain, "salary_class = '>50K'") == pytest.approx(0.25, abs=0.02)
    by_sex = dict(plain.execute("select sex, avg((salary_class = '>50K')::integer) from adult group by sex").fetchall())
    assert by_sex["Male"] > 2 * by_sex["Female"]
    ages = dict(plain.execute("select marital_status, avg(age) from adult group by all").fetchall())
    assert ages["Never-married"] < 30 < ages["Married-civ-spouse"] < 50 < ages["Widowed"]


@pytest.mark.parametrize(("name", "column", "rows"), HIERARCHIES)
def test_every_value_is_a_leaf_of_its_hierarchy(
    plain: duckdb.DuckDBPyConnection, name: str, column: str, rows: list[tuple[str, ...]]
) -> None:
    samples.create(plain, name, rows=20_000)
    values = {found for (found,) in plain.execute(f"select distinct {column} from {name}").fetchall()}
    assert values <= {row[0] for row in rows}


def test_every_category_of_adult_has_a_hierarchy() -> None:
    assert ["age*", *samples.hierarchy_rows("adult")] == COLUMNS["adult"].split()


@pytest.mark.parametrize(("name", "column", "rows"), HIERARCHIES)
def test_a_hierarchy_is_a_tree_of_even_depth_under_one_top(name: str, column: str, rows: list[tuple[str, ...]]) -> None:
    assert {row[-1] for row in rows} == {"*"}
    assert len({len(row) for row in rows}) == 1
    assert len({row[0] for row in rows}) == len(rows)
    nodes = {(level, label) for row in rows for level, label in enumerate(row)}
    edges = {(level, *row[level : level + 2]) for row in rows for level in range(len(row) - 1)}
    assert len({label for _, label in nodes}) == len(nodes), "a label names one node"
    assert len(edges) == len(nodes) - 1, "every node but the top has one parent"


def test_hierarchy_rows_are_the_callers_to_change() -> None:
    samples.hierarchy_rows("adult")["sex"].clear()
    assert samples.hierarchy_rows("adult")["sex"] == [("Female", "*"), ("Male", "*")]


def test_a_draw_follows_the_weights_of_its_line_and_never_takes_weight_zero() -> None:
    weights = np.array([[0, 3, 1, 0], [2, 0, 0, 2]], float)
    given = np.repeat([0, 1], 20_000)
    drawn = samples._draw(np.random.default_rng(1), weights, given)
    for line in (0, 1):
        found = np.bincount(drawn[given == line], minlength=4) / 20_000
        assert found == pytest.approx(weights[line] / weights[line].sum(), abs=0.02)
        assert (found[weights[line] == 0] == 0).all()
