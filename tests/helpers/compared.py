"""Methods that fail or never end, and what a comparison stores."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sqlanon.udfs.method import Method
from sqlanon.udfs.methods import METHODS

QUASI = ["age", "zip", "sex"]


TWO = ["kacpc", "mondrian"]


def add_method(monkeypatch: pytest.MonkeyPatch, name: str, problem: Exception | None = None) -> None:
    """A method that raises, or that never ends unless it is stopped."""

    def cluster(problem_: Any, k: int, rng: Any, report: Any) -> Any:
        if problem is not None:
            raise problem
        while True:
            time.sleep(0.01)
            report(0, 1)

    monkeypatch.setitem(METHODS, name, Method(name, "", "", "", cluster))
