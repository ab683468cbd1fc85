"""The measures: the papers' worked numbers, and a slow literal evaluation of every definition on random releases."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon import samples
from sqlanon.errors import SqlanonError

Con = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]
SCALARS = [
    "ncp",
    "gcp",
    "lm",
    "dm",
    "average_class_size",
    "precision",
    "distortion",
    "distortion_ratio",
    "modification_rate",
]


@pytest.fixture(scope="module", autouse=True)
def sample_tables(shared: Con) -> None:
    samples.create(shared, "microdata")
    samples.create(shared, "problems")
    for column, paths in samples.hierarchy_rows("problems").items():
        sqlanon.create_hierarchy(shared, f"{column}s", rows=paths)


def store(con: Con, table: str, columns: str, rows: list[Row]) -> None:
    con.execute(f"create or replace table {table} ({columns})")
    con.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)


def measured(con: Con, sql: str, values: Any = None) -> dict[str, float]:
    return dict(con.execute(f"select measure, value from {sql}", values).fetchall())


def test_paper_000_table_2_loses_2_65_of_14_cells(shared: Con) -> None:
    printed = [("[20-20]", "[25-30]")] * 2 + [("[30-40]", "[25-30]")] * 2 + [("[50-60]", "[5-10]")] * 3
    store(shared, "table_2", "age varchar, zip varchar", printed)
    found = measured(shared, "anon.measure('table_2', source := 'microdata', quasi := ['age', 'zip'], k := 2)")
    assert found["ncp"] == pytest.approx(2.65)
    assert found["gcp"] == pytest.approx(2.65 / 14)
    assert round(found["gcp"], 4) == 0.1893
    assert found["dm"] == 4 + 4 + 9
    assert found["average_class_size"] == pytest.approx(7 / 3 / 2)


TABLE_1B = [
    ("male", "middle", "4350"),
    ("male", "middle", "4350"),
    ("*", "young", "435*"),
    ("*", "young", "435*"),
    ("female", "old", "4353"),
    ("female", "old", "4353"),
]
TABLE_1C = [("*", age, "435*") for age in ("middle", "middle", "young", "young", "old", "old")]


def of_paper_003(con: Con, printed: list[Row], beta: float = 0) -> dict[str, float]:
    store(con, "printed", "gender varchar, age varchar, pcode varchar", printed)
    return measured(
        con,
        "anon.measure('printed', source := 'problems', quasi := ['gender', 'age', 'pcode'], k := 2, beta := $1, "
        "hierarchies := MAP {'gender': 'genders', 'age': 'ages', 'pcode': 'pcodes'})",
        [beta],
    )


def test_paper_003_table_1b_modifies_4_of_18_cells_and_distorts_by_2_5(shared: Con) -> None:
    found = of_paper_003(shared, TABLE_1B)
    assert found["modification_rate"] == pytest.approx(4 / 18)
    assert found["distortion"] == pytest.approx(2.5)
    assert found["distortion_ratio"] == pytest.approx(2.5 / 18)


def test_paper_003_table_1c_modifies_12_of_18_cells(shared: Con) -> None:
    found = of_paper_003(shared, TABLE_1C)
    assert found["modification_rate"] == pytest.approx(12 / 18)
    assert found["distortion"] == pytest.approx(6 * 1.25)


def test_height_weights_let_the_lowest_step_cost_least(shared: Con) -> None:
    # pcode has five levels: the step from 4350 to 435* weighs 1/4 of 1 + 1/2 + 1/3 + 1/4
    assert of_paper_003(shared, TABLE_1B, beta=1)["distortion"] == pytest.approx(2 * (1 + (1 / 4) / (25 / 12)))


@pytest.mark.parametrize(
    ("label", "beta", "distance"),
    [
        ("M/Y", 0, 0.2),
        ("Y", 0, 0.4),  # WHD(6, 4) of the paper
        ("M/Y", 1, 0.08759),  # WHD(6, 5), printed 0.087
        ("*", 1, 1.0),
    ],
)
def test_paper_003_weighted_distances_of_a_birth_date(shared: Con, label: str, beta: float, distance: float) -> None:
    sqlanon.create_hierarchy(shared, "births", rows=[("D/M/Y", "M/Y", "Y", "10Y", "C/Y/M/O", "*")], replace=True)
    store(shared, "births", "birth varchar", [("D/M/Y",)])
    store(shared, "printed", "birth varchar", [(label,)])
    found = measured(
        shared,
        "anon.measure('printed', source := 'births', quasi := ['birth'], k := 2, beta := $1, "
        "hierarchies := MAP {'birth': 'births'})",
        [beta],
    )
    assert found["distortion"] == pytest.approx(distance, abs=1e-5)


@dataclass(frozen=True)
class Literal:
    """One released cell, measured as the papers write it."""

    ncp: float
    lm: float
    eloss: float
    distortion: float
    worst: float
    is_modified: bool


class LiteralTree:
    """A hierarchy as paths from leaf to top; a leaf's depth is counted in steps below the top."""

    def __init__(self, paths: list[Row], has_null: bool) -> None:
        self.path = {row[0]: [label for label in row if label is not None] for row in paths}
        self.top = paths[0][-1]
        if has_null:
            self.path[None] = [None, self.top]
        self.steps = max(len(path) for path in self.path.values()) - 1

    def cell(self, value: Any, label: Any, beta: float) -> Literal:
        path = self.path[value]
        depth = len(path) - 1 - path.index(label)
        below = sum(label in other for other in self.path.values())
        is_leaf = label == value
        weights = [1 / step**beta for step in range(1, self.steps + 1)]
        lost = sum(weights[depth : len(path) - 1]) / sum(weights)
        return Literal(
            ncp=0 if is_leaf else below / len(self.path),
            lm=(below - 1) / (len(self.path) - 1) if not is_leaf and len(self.path) > 1 else 0,
            eloss=0 if is_leaf else (self.steps - depth) / self.steps,
            distortion=lost,
            worst=sum(weights[: len(path) - 1]) / sum(weights),
            is_modified=not is_leaf,
        )


class LiteralNumbers:
    """Numbers without a hierarchy: what is lost is the share of the line."""

    def __init__(self, values: list[Any]) -> None:
        known = [value for value in values if value is not None]
        self.length = max(known) - min(known)

    def cell(self, value: Any, label: Any, beta: float) -> Literal:
        if label == "*":
            loss = 1.0
        elif label is not None and (found := re.fullmatch(r"\[(-?\d+)-(-?\d+)\]", label)):
            loss = (int(found[2]) - int(found[1])) / self.length
        else:
            loss = 0.0
        return Literal(loss, loss, loss, loss, 1, label != (None if value is None else str(value)))


def evaluate(
    source: list[Row],
    printed: list[Row],
    axes: list[LiteralTree | LiteralNumbers],
    weights: list[float],
    k: int,
    beta: float,
) -> dict[str, float]:
    cells = [
        [axis.cell(value, label, beta) for axis, value, label in zip(axes, row, labels, strict=True)]
        for row, labels in zip(source, printed, strict=True)
    ]
    flat = [cell for row in cells for cell in row]
    sizes = Counter(printed)
    suppressed = sizes.pop(("*",) * len(axes), 0)
    ncp = sum(weight * cell.ncp for row in cells for weight, cell in zip(weights, row, strict=True))
    found = {
        "ncp": ncp,
        "gcp": ncp / (sum(weights) * len(source)),
        "lm": sum(cell.lm for cell in flat) / len(flat),
        "dm": sum(size**2 for size in sizes.values()) + suppressed * len(source),
        "precision": 1 - sum(cell.eloss for cell in flat) / len(flat),
        "distortion": sum(cell.distortion for cell in flat),
        "distortion_ratio": sum(cell.distortion for cell in flat) / sum(cell.worst for cell in flat),
        "modification_rate": sum(cell.is_modified for cell in flat) / len(flat),
    }
    if sizes:
        found["average_class_size"] = sum(sizes.values()) / len(sizes) / k
    return found


@st.composite
def trees(draw: st.DrawFn) -> list[Row]:
    """Paths of leaves that stand at several depths, some in groups, some groups in groups."""
    groups = {group: draw(st.sampled_from(["S", "T", None])) for group in "GHI"}
    leaves = "abcdef"[: draw(st.integers(2, 6))]
    chosen = [draw(st.sampled_from(["G", "H", "I", None])) for _ in leaves]
    return [(leaf, group, groups[group] if group else None, "*") for leaf, group in zip(leaves, chosen, strict=True)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """A tree, and rows of (number, leaf, free text), with NULLs but not NULL alone."""
    paths = draw(trees())
    number = st.sampled_from([-20, -3, 0, 5, 5, 80, None])
    leaf = st.sampled_from([*(path[0] for path in paths), None])
    text = st.sampled_from(["x", "y", None])
    rows = draw(st.lists(st.tuples(number, leaf, text), min_size=3, max_size=14))
    return paths, [(-20, paths[0][0], "x"), (80, paths[-1][0], "y"), *rows]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=tables(),
    k=st.integers(2, 5),
    weight=st.sampled_from([1.0, 0.5, 4.0]),
    beta=st.sampled_from([0.0, 1.0, 2.0]),
    method=st.sampled_from(["kaca", "kacpc"]),
)
def test_measures_agree_with_their_definitions_on_any_release(
    shared: Con, table: tuple[list[Row], list[Row]], k: int, weight: float, beta: float, method: str
) -> None:
    paths, rows = table
    sqlanon.create_hierarchy(shared, "tree", rows=paths, replace=True)
    store(
        shared,
        "people",
        "number integer, leaf varchar, free varchar, id integer",
        [(*r, i) for i, r in enumerate(rows)],
    )
    bound = "hierarchies := MAP {'leaf': 'tree'}, weights := MAP {'number': $1}"
    shared.execute(
        "create or replace table printed as from anon.anonymize('people', quasi := ['number', 'leaf', 'free'], "
        f"k := {k}, method := '{method}', unsafe_keep := ['id'], {bound})",
        [weight],
    )
    printed = shared.execute("select number, leaf, free from printed order by id").fetchall()
    numbers, leaves, texts = zip(*rows, strict=True)
    flat = [(text, "*") for text in {text for text in texts if text is not None}]
    axes = [LiteralNumbers(list(numbers)), LiteralTree(paths, None in leaves), LiteralTree(flat, None in texts)]
    expected = evaluate(rows, printed, axes, [weight, 1.0, 1.0], k, beta)
    found = measured(
        shared,
        "anon.measure('printed', source := 'people', quasi := ['number', 'leaf', 'free'], "
        f"k := {k}, beta := {beta}, {bound})",
        [weight],
    )
    assert {measure: found[measure] for measure in expected} == pytest.approx(expected)


def test_suppressed_rows_cost_everything(shared: Con) -> None:
    store(shared, "people", "x integer, y varchar", [(1, "a"), (2, "a"), (3, "b"), (9, "c")])
    store(shared, "printed", "x varchar, y varchar", [("[1-2]", "a"), ("[1-2]", "a"), ("*", "*"), ("*", "*")])
    found = measured(shared, "anon.measure('printed', source := 'people', quasi := ['x', 'y'], k := 2)")
    assert found["ncp"] == pytest.approx(2 * 1 / 8 + 4)
    assert found["dm"] == 2 * 2 + 2 * 4
    assert found["average_class_size"] == 1


def test_a_release_that_prints_nothing_but_stars_still_has_an_average_class_size(shared: Con) -> None:
    store(shared, "people", "x varchar", [("a",), ("b",), ("c",), ("d",)])
    assert sqlanon.anonymize(shared, "people", quasi=["x"], k=4).metrics()["average_class_size"] == 1


@pytest.mark.parametrize("ranges", ["text", "columns"])
@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_stored_release_remembers_what_measuring_it_again_finds(shared: Con, kind: str, ranges: str) -> None:
    samples.create(shared, "patients")
    options = {"quasi": ["age", "zip", "sex"], "k": 3, "weights": {"age": 2}, "ranges": ranges}
    release = sqlanon.anonymize(shared, "patients", **options, name="pub", kind=kind, replace=True)
    again = measured(
        shared,
        "anon.measure('pub', source := 'patients', quasi := ['age', 'zip', 'sex'], k := 3, "
        f"weights := MAP {{'age': 2}}, ranges := '{ranges}')",
    )
    # These need to know who is in which class, or the tuples, which no released table tells.
    for measure in ("information_distortion", "lower_bound"):
        again[measure] = release.metrics()[measure]
    assert measured(shared, "anon.utility('pub')") == pytest.approx(again)
    assert release.metrics() == pytest.approx(again)
    for scalar in SCALARS:
        assert shared.execute(f"select anon.{scalar}('PUB')").fetchall() == [(pytest.approx(again[scalar]),)]
    assert set(SCALARS) <= set(again)


def test_distortion_takes_beta_as_scalar_and_as_utility(shared: Con) -> None:
    hierarchies = {"gender": "genders", "age": "ages", "pcode": "pcodes"}
    sqlanon.anonymize(shared, "problems", list(hierarchies), 2, hierarchies=hierarchies, name="pub3", replace=True)
    ((zero, one, ratio),) = shared.execute(
        "select anon.distortion('pub3'), anon.distortion('pub3', beta := 1), anon.distortion_ratio('pub3', beta := 1)"
    ).fetchall()
    assert zero == pytest.approx(2.5)
    assert one == pytest.approx(2 * (1 + (1 / 4) / (25 / 12)))
    assert ratio == pytest.approx(one / 18)
    assert measured(shared, "anon.utility('pub3', beta := 1)")["distortion"] == one


def test_the_measures_of_a_release_outlive_its_source(shared: Con) -> None:
    store(shared, "short_lived", "x integer", [(1,), (2,), (9,)])
    sqlanon.anonymize(shared, "short_lived", quasi=["x"], k=3, name="left", replace=True)
    shared.execute("drop table short_lived")
    assert measured(shared, "anon.utility('left')")["gcp"] == 1


@pytest.mark.parametrize(
    "call", ["from anon.utility('nope')", *(f"select anon.{scalar}('nope')" for scalar in SCALARS)]
)
def test_an_unknown_release_is_an_error_that_says_how_to_make_one(shared: Con, call: str) -> None:
    with pytest.raises(duckdb.Error, match="There is no stored release 'nope'"):
        shared.execute(call).fetchall()


@pytest.mark.parametrize(
    ("column", "label"),
    [("x", "[1-99]"), ("x", "nonsense"), ("x", None), ("y", "zzz"), ("y", None), ("z", "435"), ("z", None)],
)
def test_a_label_that_means_nothing_in_the_source_is_an_error_not_a_wrong_number(
    shared: Con, column: str, label: str | None
) -> None:
    sqlanon.create_hierarchy(shared, "codes", rows=[("4350", "435*", "*"), ("4351", "435*", "*")], replace=True)
    store(shared, "people", "x integer, y varchar, z varchar", [(1, "a", "4350"), (2, "b", "4351"), (9, "b", "4351")])
    store(shared, "printed", "x varchar, y varchar, z varchar", [("[1-9]", "*", "435*")] * 3)
    shared.execute(f"update printed set {column} = $1", [label])
    call = (
        "from anon.measure('printed', source := 'people', quasi := ['x', 'y', 'z'], k := 3, "
        "hierarchies := MAP {'z': 'codes'})"
    )
    with pytest.raises(duckdb.Error, match=f"'{column}'") as caught:
        shared.execute(call).fetchall()
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("anon.measure('printed', quasi := ['x'])", "source is missing"),
        ("anon.measure('printed', source := 'people')", "quasi is missing"),
        ("anon.measure('nope', source := 'people', quasi := ['x'])", "Table 'nope' does not exist"),
        ("anon.measure('printed', source := 'nope', quasi := ['x'])", "Table 'nope' does not exist"),
        ("anon.measure('printed', source := 'people', quasi := ['w'])", "Column 'w' is not in 'people'"),
        ("anon.measure('printed', source := 'people', quasi := ['x', 'v'])", "Column 'v' is not in 'printed'"),
    ],
)
def test_measuring_what_is_not_there_is_an_error_in_words(shared: Con, call: str, message: str) -> None:
    store(shared, "people", "x integer, v integer", [(1, 1), (2, 2)])
    store(shared, "printed", "x varchar", [("[1-2]",), ("[1-2]",)])
    with pytest.raises(duckdb.Error, match=re.escape(message)):
        shared.execute(f"from {call}").fetchall()


def test_a_view_whose_rows_change_at_every_look_is_measured_on_the_rows_that_were_released(shared: Con) -> None:
    shared.execute("create or replace view dice as select (random() * 1000)::integer as x from range(60)")
    for source in ("dice", "select * from dice"):
        release = sqlanon.anonymize(shared, source, quasi=["x"], k=60)
        assert release.metrics()["gcp"] == 1


def test_a_release_needs_rows_of_its_source_to_be_measured(shared: Con) -> None:
    store(shared, "nobody", "x integer", [(1,)])
    shared.execute("delete from nobody")
    with pytest.raises(SqlanonError, match="no rows"):
        sqlanon.anonymize(shared, "nobody", quasi=["x"], k=2)
