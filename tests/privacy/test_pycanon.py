"""The check macros against pycanon on random tables, and where pycanon says something else than the definitions."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlanon

anonymity = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed: pip install --no-deps pycanon")

QUASI = ["age", "ward"]
Con = duckdb.DuckDBPyConnection
some = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def random_table(seed: int) -> pd.DataFrame:
    """Two quasi-identifiers, a sensitive text and a sensitive number; no NULL, whose rows pycanon leaves out."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(6, 60))
    ill = rng.choice(["flu", "gout", "mumps", "pox"][: rng.integers(2, 5)], rows)
    ill[:2] = "flu", "gout"  # with a single value, pycanon divides by 0
    pay = rng.integers(int(rng.integers(2, 8)), size=rows)
    pay[:2] = 0, 1
    return pd.DataFrame(
        {"age": rng.integers(3, size=rows), "ward": rng.choice(["x", "y"], rows), "ill": ill, "pay": pay}
    )


def reached(con: Con, table: pd.DataFrame, sensitive: list[str], model: str, several: str, **options: Any) -> float:
    """What all sensitive columns reach of a model."""
    con.register("people", table)
    asked = {model: 1, **options}
    found = sqlanon.check(con, "people", QUASI, sensitive=sensitive, several=several, **asked).reached[model].values()
    return min(found) if model.endswith("l") else max(found)


tables = st.builds(random_table, st.integers(0, 2**32))
columns = st.sampled_from([["ill"], ["pay"], ["ill", "pay"]])
readings = st.sampled_from([("separate", True), ("strict", False)])
"""Our option and pycanon's `gen`: without gen, the other sensitive columns are quasi-identifiers."""


@some
@given(table=tables, sensitive=columns, reading=readings)
def test_what_pycanon_measures_is_what_we_measure(
    shared: Con, table: pd.DataFrame, sensitive: list[str], reading: tuple[str, bool]
) -> None:
    several, gen = reading
    alpha, k = anonymity.alpha_k_anonymity(table, QUASI, sensitive, gen=gen)
    assert sqlanon.check(duckdb_of(shared, table), "people", QUASI).k == k == anonymity.k_anonymity(table, QUASI)
    assert reached(shared, table, sensitive, "alpha", several) == pytest.approx(alpha)
    assert reached(shared, table, sensitive, "distinct_l", several) == anonymity.l_diversity(
        table, QUASI, sensitive, gen=gen
    )
    for model, theirs in (("t", anonymity.t_closeness), ("basic_beta", anonymity.basic_beta_likeness)):
        # t: ordered for numbers and equal for text, in both.
        assert reached(shared, table, sensitive, model, several) == pytest.approx(
            theirs(table, QUASI, sensitive, gen=gen), abs=1e-9
        )


def duckdb_of(con: Con, table: pd.DataFrame) -> Con:
    con.register("people", table)
    return con


@some
@given(table=tables, sensitive=columns, reading=readings)
def test_pycanon_rounds_entropy_l_down(
    shared: Con, table: pd.DataFrame, sensitive: list[str], reading: tuple[str, bool]
) -> None:
    several, gen = reading
    theirs = anonymity.entropy_l_diversity(table, QUASI, sensitive, gen=gen)
    ours = reached(shared, table, sensitive, "entropy_l", several)
    assert theirs in (math.floor(ours + 1e-6), math.floor(ours - 1e-6))  # it takes 1.9999999 for 1


@some
@given(table=tables, sensitive=columns, reading=readings)
def test_pycanon_gives_an_enhanced_beta_even_where_none_is_enough(
    shared: Con, table: pd.DataFrame, sensitive: list[str], reading: tuple[str, bool]
) -> None:
    several, gen = reading
    theirs = anonymity.enhanced_beta_likeness(table, QUASI, sensitive, gen=gen)
    ours = reached(shared, table, sensitive, "enhanced_beta", several)
    if ours < math.inf:
        assert ours == pytest.approx(theirs, abs=1e-9)
    else:  # some value gains more than -ln of its share
        rarest = min(table[column].value_counts(normalize=True).min() for column in sensitive)
        assert theirs <= -math.log(rarest) + 1e-9


@some
@given(table=tables, sensitive=columns, reading=readings)
def test_pycanon_forgives_values_that_a_class_lacks_in_delta(
    shared: Con, table: pd.DataFrame, sensitive: list[str], reading: tuple[str, bool]
) -> None:
    several, gen = reading
    theirs = anonymity.delta_disclosure(table, QUASI, sensitive, gen=gen)
    ours = reached(shared, table, sensitive, "delta", several)
    if ours < math.inf:
        assert ours == pytest.approx(theirs, abs=1e-9)
    else:
        others = {column: [] if gen else [other for other in sensitive if other != column] for column in sensitive}
        held = {c: table.groupby([*QUASI, *others[c]])[c].nunique().min() for c in sensitive}
        assert any(held[column] < table[column].nunique() for column in sensitive)


def test_pycanon_takes_the_rarest_value_for_the_most_frequent_in_recursive_diversity(shared: Con) -> None:
    # Nine of one and one of another: r1 < c r2 needs c > 9, and pycanon says c = 1.
    table = pd.DataFrame({"age": 1, "ward": "x", "ill": ["flu"] * 9 + ["gout"]})
    c, l = anonymity.recursive_c_l_diversity(table, QUASI, ["ill"])  # noqa: E741
    assert (c, l) == (1, 2)
    assert [
        reached(shared, table, ["ill"], "recursive_l", "strict", recursive_c=float(tried)) for tried in (c, 9, 9.1)
    ] == [1, 1, 2]
