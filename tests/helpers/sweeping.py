"""How much of a sweep runs: a part of it with `make test`, all of it with `make nightly`."""

from __future__ import annotations

import os

IS_WHOLE = os.environ.get("SQLANON_SWEEP") == "whole"


def examples(whole: int) -> int:
    """How many random cases to try: a third of them, though never fewer than five."""
    return whole if IS_WHOLE else max(whole // 3, 5)
