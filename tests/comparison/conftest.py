"""What comparisons run."""

from __future__ import annotations

from typing import Any

import pytest

import sqlanon
from sqlanon.comparison import grid


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The cells that are run rather than found."""
    cells: list[tuple[str, int]] = []
    anonymize = grid.anonymize

    def noted(con: Any, source: str, policy: sqlanon.Policy) -> sqlanon.Release:
        release: sqlanon.Release = anonymize(con, source, policy=policy)
        cells.append((policy.method, policy.k))
        return release

    monkeypatch.setattr(grid, "anonymize", noted)
    return cells
