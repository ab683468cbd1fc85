"""Some hundreds of the cases that fuzz.py runs by the ten thousand, new ones each time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fuzz import FAMILIES, afresh, run_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweeping import examples

CASES = {"statements": 100, "noise": 100, "options": 100}
"""How many of a family, of which `make test` tries a third; 25 of the slower ones."""


@pytest.fixture(scope="module", autouse=True)
def closing() -> Iterator[None]:
    yield
    afresh()


@pytest.mark.parametrize("family", FAMILIES)
def test_whatever_is_asked_there_is_an_answer_or_an_error_of_ours(family: str) -> None:
    @settings(
        max_examples=examples(CASES.get(family, 25)),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(number=st.integers(0, 2**32))
    def one_case(number: int) -> None:
        assert run_case(7, family, number) in ("answer", "refused")

    one_case()
