"""Bare arrays: compiled loops see and change what numpy has."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from sqlanon.udfs.space.bare import bare, beginning


class Inner(NamedTuple):
    line: Any
    sheet: Any


class Outer(NamedTuple):
    flags: Any
    block: Any
    number: float
    inner: Inner


@numba.njit
def _changed(outer):
    """A checksum of everything, and changes that the caller can see."""
    rest = len(outer.inner.line)
    bared = bare(outer)
    total, (deep, high, wide) = bared.number, bared.block.shape
    for i in range(deep):
        total += 100.0 * bared.flags[i]
        for j in range(high):
            row, page = bared.block[i, j], bared.block[i]
            for x in range(wide):
                total += row[x] * (i + 2 * j + 3 * x) + page[j, x]
            bared.block[i, j, 0] = np.int32(-1)
    for i in range(len(bared.inner.sheet)):
        bared.inner.sheet[i][1] = i
    last = beginning(bared.inner.line, rest - 1)
    last[0] += 7
    return total


@numba.njit
def _first(array):
    return bare(array)[0]


def test_loops_see_and_change_what_is_there() -> None:
    rng = np.random.default_rng(5)
    block = rng.integers(0, 9, (4, 3, 2)).astype(np.int32)
    flags = rng.integers(0, 2, 4).astype(bool)
    outer = Outer(flags, block, 0.5, Inner(np.arange(5), np.full((3, 2), 9.0)))
    i, j, x = np.indices(block.shape)
    expected = 0.5 + 100 * flags.sum() + (block * (i + 2 * j + 3 * x) + block).sum()
    kept = block[:, :, 1].copy()
    assert _changed(outer) == expected
    assert (block[:, :, 0] == -1).all()
    assert (block[:, :, 1] == kept).all()
    assert outer.inner.line.tolist() == [0, 1, 2, 3, 11]
    assert outer.inner.sheet.tolist() == [[9, 0], [9, 1], [9, 2]]


def test_an_array_in_another_order_is_refused() -> None:
    with pytest.raises(numba.core.errors.TypingError, match="layout F"):
        _first(np.zeros((2, 3), order="F"))
