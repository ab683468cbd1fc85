"""How much of a sweep runs: a part of it with `make test`, all of it with `make nightly`."""

from __future__ import annotations

import os
from itertools import groupby
from zlib import crc32

import pytest

IS_WHOLE = os.environ.get("SQLANON_SWEEP") == "whole"


def examples(whole: int) -> int:
    """How many random cases to try: a quarter of them, though never fewer than five."""
    return whole if IS_WHOLE else max(whole // 4, 5)


def drawn(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests with about a quarter of the cases of those marked as sweeps, at least one. Their names draw them: what
    several go through, such as all methods, is there with one or the other."""
    found: list[pytest.Item] = []
    for _, each in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        cases = list(each)
        if cases[0].get_closest_marker("sweep"):
            cases = [case for case in cases if _number(case) % 4 == 0] or [min(cases, key=_number)]
        found += cases
    return found


def _number(case: pytest.Item) -> int:
    return crc32(case.nodeid.encode())
