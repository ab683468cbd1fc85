"""The method that CONTRIBUTING.md adds, and its test, are right as printed."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import test_contract

from sqlanon.cli.main import COMMANDS
from sqlanon.pipeline.macros import CHECKS
from sqlanon.pipeline.metrics import MEASURES
from sqlanon.udfs import methods
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import MODELS

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="CONTRIBUTING.md is not shipped")


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("sqlanon.udfs.methods.lines")
    exec(blocks()[0], module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(methods, "lines", module, raising=False)
    monkeypatch.setitem(METHODS, "lines", module.METHOD)
    return module


def blocks() -> list[str]:
    """The page's Python."""
    found = re.findall(r"^ *```python\n(.*?)^ *```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def test_the_printed_method_passes_the_printed_test(lines: ModuleType) -> None:
    printed: dict[str, object] = {}
    exec(blocks()[1], printed)
    (test,) = (value for name, value in printed.items() if name.startswith("test_"))
    test()


def test_the_printed_method_keeps_the_contract(lines: ModuleType) -> None:
    groups = test_contract.run("lines", {}, test_contract.lone_values(7), 3)
    assert groups.group.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert np.all(groups.rows == 1)
    test_contract.test_progress_goes_up_to_the_total("lines", {})
    test_contract.test_an_interrupt_in_progress_stops_the_run("lines", {})
    test_contract.test_fewer_rows_than_k_is_a_data_error("lines", {})
    test_contract.test_every_row_gets_a_group_and_every_group_weighs_k_or_its_rows_match_k_records("lines", {})


def test_every_method_model_command_check_and_measure_touches_what_the_table_says() -> None:
    def has(file: str, text: str) -> bool:
        return text in (PAGE.parent / file).read_text(encoding="utf-8")

    for method in METHODS:
        assert has(f"udfs/methods/{method}.py", "METHOD = Method(")
        assert has("udfs/methods/__init__.py", f"{method}.METHOD")
    for model in set(MODELS) - {"t"}:  # which has a query for each distance
        assert has("udfs/models.py", f'"{model}"')
        assert has(f"sql/steps/models/{model}.sql", "reached")
        assert has("sqlanon/policy/policy.py", f"\n    {model}: ")
    for command in COMMANDS:
        assert has(f"sqlanon/cli/commands/{command}.py", "def run(")
        assert has("sqlanon/cli/main.py", f'"{command}"')
    for check in CHECKS:
        assert has(f"sql/macros/checks/{check}.sql", f"macro anon.{check}(")
    for measure in MEASURES:
        assert has("sqlanon/pipeline/metrics.py", f'"{measure.name}"')
