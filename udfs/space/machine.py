"""Loops that numba compiles to machine code, and random numbers that are the same in every one of them."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, without Python's lock. The code is kept beside the file or in the user's cache."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(nogil=True)(function)


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code for compiled functions alone, whose code then contains it. Without the code by which
    Python would call it, it is compiled in a fraction of the time."""
    made: Callable[..., Any] = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[call-overload]
    return made


@inner
def uniform(state):
    """A random number from 0 to 1, without 1: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) on a state of one word."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
