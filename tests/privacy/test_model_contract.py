"""A privacy model is declared in one place; everything else follows from it."""

from __future__ import annotations

import dataclasses

import duckdb
import pytest

import sqlanon
from sqlanon.pipeline.macros import check_macros
from sqlanon.pipeline.models import Asked
from sqlanon.policy.options import ASKED
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import FOLDER
from sqlanon.udfs.models import DISTANCES, MODELS

LOOSE = {"alpha": 1.0, "t": 1.0, "basic_beta": 1e6, "enhanced_beta": 1e6, "delta": 1e6}
"""What any table keeps; 1 for the others."""


def options(model: str) -> dict[str, object]:
    more = {"recursive_c": 100.0} if model == "recursive_l" else {}
    return {"quasi": ["age"], "k": 2, "sensitive": ["ill"], model: LOOSE.get(model, 1), **more}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_an_option_of_a_policy_and_says_what_it_asks(model: str) -> None:
    assert {field.name: field.default for field in dataclasses.fields(Policy)}[model] is None
    assert model in {option.name for option in ASKED}
    policy = Policy.of(options(model))
    assert list(policy.models) == [model]
    assert any("ill" in sentence and "{" not in sentence for sentence in str(policy).splitlines()[2:])


@pytest.mark.parametrize("model", MODELS)
def test_a_model_has_its_query_and_its_macro(model: str) -> None:
    ways = [f"t_{way}" for way in DISTANCES] if model == "t" else [model]
    ways += [f"{model}_people"] if MODELS[model].counts_people else []
    for way in ways:
        assert (FOLDER / "steps" / "models" / f"{way}.sql").exists()
    assert MODELS[model].check.macro in {macro.name for macro in check_macros()}


@pytest.mark.sweep
@pytest.mark.parametrize("model", MODELS)
def test_what_a_release_proves_of_a_model_is_what_its_macro_says(con: duckdb.DuckDBPyConnection, model: str) -> None:
    con.execute("create table t as select i % 5 as age, 'd' || i % 2 as ill from range(20) as r(i)")
    release = sqlanon.anonymize(con, "t", policy=Policy.of(options(model)), name="pub")
    reached = release.proof.models[model]["ill"]
    assert Asked(model, LOOSE.get(model, 1), 100.0).holds(reached)
    more = ", 100.0" if model == "recursive_l" else ""
    macro = MODELS[model].check.macro
    assert con.execute(f"select anon.{macro}('pub', ['age'], 'ill'{more})").fetchone() == (reached,)
    assert con.execute(f"select anon.{macro}('pub', ['age'], 'ill'{more}) from (values (1))").fetchone() == (reached,)
    found = sqlanon.check(
        con,
        "pub",
        ["age"],
        2,
        sensitive=["ill"],
        **{model: LOOSE.get(model, 1)},
        **({"recursive_c": 100.0} if more else {}),
    )
    assert found.holds
    assert found.reached[model] == {"ill": reached}
