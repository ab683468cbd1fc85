"""Loops that numba compiles to machine code, and what they share: random numbers that are the same in every one of
them, and a sort.

The code is kept next to the files or in the user's cache folder. numba looks for changes in the file of the function
that Python calls only: whoever changes one that others call removes the kept code (`__pycache__/*.nb?`).
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numba
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, without Python's lock. The code is kept beside the file or in the user's cache."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(nogil=True)(function)


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code for compiled functions alone, whose code then contains it. Without the code by which
    Python would call it, it is compiled in a fraction of the time."""
    made: Callable[..., Any] = numba.njit(
        nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy"
    )(function)  # type: ignore[call-overload]
    return made


def on_memory(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array of integers, one of numbers, a number and an integer that answers with a number, in
    machine code. It and what it calls see both arrays as pointers: one word each, and places are not looked at whether
    they count from the end. That compiles faster than anything with arrays in it, and runs faster."""
    types = numba.types
    asked = types.float64(types.CPointer(types.int64), types.CPointer(types.float64), types.float64, types.int64)
    try:
        code = numba.cfunc(asked, cache=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        code = numba.cfunc(asked)(function)

    def call(m: Any, x: Any, number: float, integer: int) -> Any:
        ints, reals = code.ctypes.argtypes[:2]
        return code.ctypes(m.ctypes.data_as(ints), x.ctypes.data_as(reals), number, integer)

    return wraps(function)(call)


@inner
def uniform(state):
    """A random number from 0 to 1, without 1, from a state of one word."""
    state[0] += GOLDEN
    return drawn(state[0])


@inner
def drawn(bits):
    """The random number of a word: splitmix64 (Steele, Lea, Flood, OOPSLA 2014), for words that are GOLDEN apart."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
