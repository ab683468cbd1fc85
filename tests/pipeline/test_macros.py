"""The macros follow from tables in Python: of planners, of measures, of models."""

import re

from sqlanon.install import PLANNERS
from sqlanon.pipeline.macros import PLANNED, check_macros
from sqlanon.pipeline.metrics import MEASURES
from sqlanon.sqltext import text


def test_every_planner_has_one_macro() -> None:
    assert sorted(planned.planner for planned in PLANNED) == sorted(PLANNERS)


def test_check_macros_run_where_sqlanon_is_not_installed() -> None:
    """Published files carry them."""
    assert [macro.name for macro in check_macros() if "sqlanon_" in macro.sql] == []


def test_every_measure_is_computed_and_every_computed_one_is_described() -> None:
    queries = "".join(text(f"steps/measure/{file}.sql") for file in ("measures", "measures_of_columns"))
    computed = set(re.findall(r"^ +\{measure: '(\w+)', ", queries, re.MULTILINE))
    counted_elsewhere = {"kl_divergence", "information_distortion", "information_distortion_own", "lower_bound"}
    assert {measure.name for measure in MEASURES} == computed | counted_elsewhere
    assert len(MEASURES) == len({measure.name for measure in MEASURES})
