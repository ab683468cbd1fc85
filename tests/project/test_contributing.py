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

from sqlanon import udfs
from sqlanon.udfs.methods import METHODS

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="CONTRIBUTING.md is not shipped")


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("sqlanon.udfs.lines")
    exec(blocks()[0], module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(udfs, "lines", module, raising=False)
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
