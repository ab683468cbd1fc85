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
from llvmlite.binding import add_symbol  # type: ignore[import-untyped]

from sqlanon.udfs.space.records import Recorded

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
KNOWN = (0, 65), (0, 68)
"""The first and last version of numba whose insides lean.py was tried with."""


def _ways() -> tuple[dict[str, Any], dict[str, Any]]:
    """How numba is asked for loops and for their parts: by lean.py, or in its own way, which takes twice as long and
    leads to the same groups, where lean.py may not fit."""
    first, last = KNOWN
    if not first <= numba.version_info.short <= last:
        return {}, {}
    from sqlanon.udfs.space.lean import Part, Whole

    return {"pipeline_class": Whole}, {"pipeline_class": Part}


LOOPS, PARTS = _ways()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code, without Python's lock. The code is kept beside the file or in the user's cache."""
    try:
        return numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(nogil=True, error_model="numpy")(function)


def loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a loop over bare arrays, which sees named tuples as records (records.py). Who calls it often makes
    records of them once."""
    asked: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", **LOOPS}
    try:
        made = numba.njit(cache=True, **asked)(function)
    except RuntimeError:  # there is no folder to keep it in
        made = numba.njit(**asked)(function)

    @wraps(function)
    def call(*given: Any) -> Any:
        return made(*(Recorded(each) if isinstance(each, tuple) else each for each in given))

    return call


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in machine code for compiled functions alone, whose code then contains it. Without the code by which
    Python would call it, it is compiled in a fraction of the time."""
    made: Callable[..., Any] = numba.njit(
        nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy", **PARTS
    )(function)  # type: ignore[call-overload]
    return made


def unit(result: str, *given: str) -> Callable[[Callable[..., Any]], Any]:
    """A function of two pointers, to integers and to numbers, and of these further types ('int64' or 'float64'), which
    compiled functions call by its name. Other than that of an inner function its code is not part of theirs, to be made
    again with each of them, so that many such compile in a fraction of the time. `on_memory` lets Python call it."""

    def make(function: Callable[..., Any]) -> Any:
        asked = _signature(result, given)
        code = _kept(asked, function)
        name = f"{function.__module__}.{function.__name__}"
        add_symbol(name, code.address)
        return numba.types.ExternalFunction(name, asked)

    return make


def on_memory(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array of integers, one of numbers, a number and an integer that answers with a number, in
    machine code. It and what it calls see both arrays as pointers: one word each, and places are not looked at whether
    they count from the end. That compiles faster than anything with arrays in it, and runs faster."""
    code = _kept(_signature("float64", ("float64", "int64")), function)

    def call(m: Any, x: Any, number: float, integer: int) -> Any:
        ints, reals = code.ctypes.argtypes[:2]
        return code.ctypes(m.ctypes.data_as(ints), x.ctypes.data_as(reals), number, integer)

    return wraps(function)(call)


def _signature(result: str, given: tuple[str, ...]) -> Any:
    types = numba.types
    pointers = types.CPointer(types.int64), types.CPointer(types.float64)
    return getattr(types, result)(*pointers, *(getattr(types, each) for each in given))


def _kept(asked: Any, function: Callable[..., Any]) -> Any:
    try:
        return numba.cfunc(asked, cache=True, error_model="numpy", **LOOPS)(function)
    except RuntimeError:  # there is no folder to keep it in
        return numba.cfunc(asked, error_model="numpy", **LOOPS)(function)


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
