"""Killed in the middle, a run leaves the old state or the new one, whole; a hundred moments each: kill.py."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from kill import ACTIONS, kill_at_random, prepare


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("origin")
    prepare(folder)
    return folder


@pytest.mark.parametrize("action", ACTIONS)
def test_a_killed_run_leaves_the_old_state_or_the_new_one_and_the_next_run_works(
    action: str, origin: Path, tmp_path: Path
) -> None:
    tried = kill_at_random(origin, tmp_path, action, moments=1, rng=random.Random())
    assert [moment.outcome in ("old", "new") for moment in tried] == [True]
