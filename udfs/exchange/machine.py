"""How the search is compiled, and the little that its parts share.

The functions take tuples of many arrays and never make one, so that numba need not count references: that would take
longer than all else, for the compiler as well.

The code is kept next to these files or in the user's cache folder. numba looks for changes in a function's own file
only: whoever changes one that others call removes the kept code (`__pycache__/*.nb?`) of this folder.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba

OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}
Function = Callable[..., Any]


def compiled(function: Function) -> Function:
    """The function in machine code, without Python's lock; it must not make arrays."""
    try:
        return cast(Function, numba.njit(cache=True, **OPTIONS)(function))
    except RuntimeError:  # there is no folder to keep it in
        return cast(Function, numba.njit(**OPTIONS)(function))


def inlined(function: Function) -> Function:
    """The same as a part of the function that calls it: what is called in one place is compiled once."""
    return cast(Function, numba.njit(inline="always", **OPTIONS)(function))


@compiled
def sort(order, key, count):
    """Fill order[:count] with the places of key[:count], the least first."""
    for i in range(count):
        order[i] = i
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            mine, j = order[i], i
            while j >= gap and key[order[j - gap]] > key[mine]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = mine
        gap //= 3
