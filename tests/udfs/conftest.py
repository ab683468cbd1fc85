"""The table that the papers measure."""

from __future__ import annotations

import pytest
from adult import DATA, NOT_HERE, adult

from sqlanon.udfs.problem import Problem


@pytest.fixture(scope="session")
def table() -> Problem:
    """Adult as a problem."""
    if not DATA.exists():
        pytest.skip(NOT_HERE)
    return adult()
