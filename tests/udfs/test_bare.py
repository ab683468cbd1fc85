"""Bare arrays and records: compiled loops see and change what numpy has."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from sqlanon.udfs.space.bare import bare, beginning
from sqlanon.udfs.space.machine import inner, loop
from sqlanon.udfs.space.records import Recorded


class Inner(NamedTuple):
    line: Any
    sheet: Any


class Outer(NamedTuple):
    flags: Any
    block: Any
    number: float
    is_odd: bool
    count: int
    inner: Inner


@inner
def _last(outer, rest):
    return beginning(outer.inner.line, rest - 1)


@loop
def _changed(outer, rest):
    """A checksum of everything, and changes that the caller can see."""
    total, (deep, high, wide) = outer.number, outer.block.shape
    if outer.is_odd:
        total += 1000 * outer.count
    for i in range(deep):
        total += 100.0 * outer.flags[i]
        for j in range(high):
            row, page = outer.block[i, j], outer.block[i]
            for x in range(wide):
                total += row[x] * (i + 2 * j + 3 * x) + page[j, x]
            outer.block[i, j, 0] = np.int32(-1)
    for i in range(len(outer.inner.sheet)):
        outer.inner.sheet[i][1] = i
    _last(outer, rest)[0] += 7
    return total


@loop
def _first(array):
    return bare(array)[0]


def test_loops_see_and_change_what_is_there() -> None:
    rng = np.random.default_rng(5)
    block = rng.integers(0, 9, (4, 3, 2)).astype(np.int32)
    flags = rng.integers(0, 2, 4).astype(bool)
    outer = Outer(flags, block, 0.5, True, 3, Inner(np.arange(5), np.full((3, 2), 9.0)))
    i, j, x = np.indices(block.shape)
    expected = 3000.5 + 100 * flags.sum() + (block * (i + 2 * j + 3 * x) + block).sum()
    kept = block[:, :, 1].copy()
    assert _changed(outer, 5) == expected
    assert (block[:, :, 0] == -1).all()
    assert (block[:, :, 1] == kept).all()
    assert outer.inner.line.tolist() == [0, 1, 2, 3, 11]
    assert outer.inner.sheet.tolist() == [[9, 0], [9, 1], [9, 2]]


def test_an_array_in_another_order_is_refused() -> None:
    with pytest.raises(numba.core.errors.TypingError, match="layout F"):
        _first(np.zeros((2, 3), order="F"))
    with pytest.raises(TypeError, match="order of C"):
        _changed(Inner(np.zeros(2), np.zeros((2, 3), order="F")), 2)


@loop
def _of_either(one, other, is_other):
    chosen = other if is_other else one
    return chosen.line[0] + chosen.sheet[0, 1]


def test_a_record_may_be_one_of_two() -> None:
    one, other = Inner(np.array([1]), np.full((1, 2), 0.5)), Inner(np.array([3]), np.full((1, 2), 0.25))
    assert (_of_either(one, other, False), _of_either(one, other, True)) == (1.5, 3.25)


def test_another_process_finds_the_code(tmp_path: Path) -> None:
    script = """
from numba.core import event
import test_bare
with event.install_recorder("numba:compile") as seen:
    test_bare.test_loops_see_and_change_what_is_there()
print(len(seen.buffer))
"""
    asked = {"cwd": Path(__file__).parent, "env": os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}}
    first, second = (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, **asked).stdout
        for _ in range(2)
    )
    assert int(first) > 0
    assert int(second) == 0


def test_a_record_is_of_another_type_if_a_field_is() -> None:
    one, same, other = (Recorded(Inner(np.zeros(2, dtype), np.zeros((1, 1)))) for dtype in (int, int, float))
    assert one._numba_type_ == same._numba_type_
    assert one._numba_type_ != other._numba_type_


def test_what_a_record_does_not_have_is_refused() -> None:
    @loop
    def missing(inner):
        return inner.nothing

    with pytest.raises(numba.core.errors.TypingError, match="nothing"):
        missing(Inner(np.zeros(2), np.zeros((1, 1))))


def test_with_another_numba_loops_compile_in_its_own_way(tmp_path: Path) -> None:
    script = """
import numba
numba.version_info = numba.version_info._replace(short=(99, 0))
import test_bare
from sqlanon.udfs.space import machine
test_bare.test_loops_see_and_change_what_is_there()
print(machine.LOOPS, machine.PARTS)
"""
    asked = {"cwd": Path(__file__).parent, "env": os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, **asked)
    assert done.stdout == "{} {}\n"
