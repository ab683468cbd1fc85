"""Arrays as compiled loops get them: bare pointers, and sheets for those of two or three dimensions.

An array is ten words for numba, with a count of who refers to it, and every place is looked at whether it counts from
the end. Bare, it is one word and a sheet is three, which compiles sooner. Whoever calls a loop keeps the arrays alive.
Named tuples of arrays are records (records.py).
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,attr-defined"

from __future__ import annotations

import operator
from typing import Any

from numba import extending, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.errors import TypingError
from numba.core.imputils import lower_builtin, lower_getattr
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature


class Sheet(types.Type):
    """An array of several dimensions in the order of C: `sheet[i, j]`, `sheet[i]`, `sheet.shape`."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        self.sizes = types.UniTuple(types.int64, ndim)
        super().__init__(f"sheet({dtype}, {ndim})")

    def part(self, places: int) -> Any:
        """The type of what this number of places leads to."""
        return self.dtype if places == self.ndim else bared(self.dtype, self.ndim - places)


@register_default(Sheet)
class _SheetModel(models.StructModel):
    def __init__(self, manager: Any, kind: Sheet) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), ("shape", kind.sizes)])


def bared(dtype: Any, ndim: int) -> Any:
    """The type of an array without what loops do not need."""
    dtype = types.uint8 if dtype == types.boolean else dtype
    return types.CPointer(dtype) if ndim == 1 else Sheet(dtype, ndim)


def _intrinsic(function: Any) -> Any:
    """As compiled functions call it: without the context."""
    return extending.intrinsic(function)


@_intrinsic
def bare(_context, given):
    """An array in the order of C, without what loops do not need."""
    if given.layout != "C":
        raise TypingError(f"an array of the layout {given.layout}, which a pointer does not tell")
    made = bared(given.dtype, given.ndim)

    def generate(context, builder, asked, given):
        array = context.make_array(asked.args[0])(context, builder, given[0])
        data = builder.bitcast(array.data, context.get_value_type(types.CPointer(made.dtype)))
        return data if asked.args[0].ndim == 1 else _sheet(context, builder, made, data, array.shape)

    return made(given), generate


@_intrinsic
def beginning(_context, pointer, place):
    """A pointer to what begins at a place."""

    def generate(_context, builder, _asked, given):
        return builder.gep(given[0], [given[1]])

    return pointer(pointer, types.int64), generate


def _sheet(context, builder, kind, data, shape):
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.data, made.shape = data, shape
    return made._getvalue()


def _places(place: Any) -> Any:
    """How many places, and the type that they are brought to."""
    count = 1 if isinstance(place, types.Integer) else len(place)
    return count, types.int64 if count == 1 else types.UniTuple(types.int64, count)


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    """A value of a sheet, or a part that begins at some places."""

    def generic(self, args, _kws):
        if not isinstance(args[0], Sheet):
            return None
        count, places = _places(args[1])
        return signature(args[0].part(count), args[0], places)


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    """Write a value of a sheet."""

    def generic(self, args, _kws):
        return signature(types.none, args[0], args[0].sizes, args[0].dtype) if isinstance(args[0], Sheet) else None


@infer_global(len)
class _Length(AbstractTemplate):
    """How many rows a sheet has."""

    def generic(self, args, _kws):
        return signature(types.int64, args[0]) if isinstance(args[0], Sheet) else None


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Sheet

    def resolve_shape(self, sheet):
        """The length of each dimension."""
        return sheet.sizes


def _at(context, builder, kind, value, places):
    """The pointer to some places of a sheet, and the lengths of the dimensions after them."""
    sheet = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    shape = cgutils.unpack_tuple(builder, sheet.shape)
    flat = places[0]
    for i in range(1, kind.ndim):
        flat = builder.mul(flat, shape[i])
        flat = builder.add(flat, places[i]) if i < len(places) else flat
    return builder.gep(sheet.data, [flat]), shape[len(places) :]


@lower_builtin(operator.getitem, Sheet, types.Integer)
@lower_builtin(operator.getitem, Sheet, types.UniTuple)
def _get(context, builder, asked, given):
    kind, place = asked.args
    places = [given[1]] if isinstance(place, types.Integer) else cgutils.unpack_tuple(builder, given[1])
    pointer, shape = _at(context, builder, kind, given[0], places)
    if len(places) == kind.ndim:
        return builder.load(pointer)
    made = kind.part(len(places))
    return pointer if len(shape) == 1 else _sheet(context, builder, made, pointer, cgutils.pack_array(builder, shape))


@lower_builtin(operator.setitem, Sheet, types.UniTuple, types.Any)
def _set(context, builder, asked, given):
    places = cgutils.unpack_tuple(builder, given[1])
    builder.store(given[2], _at(context, builder, asked.args[0], given[0], places)[0])


@lower_builtin(len, Sheet)
def _length(context, builder, asked, given):
    return builder.extract_value(_shape(context, builder, asked.args[0], given[0]), 0)


@lower_getattr(Sheet, "shape")
def _shape(context, builder, kind, value):
    return cgutils.create_struct_proxy(kind)(context, builder, value=value).shape
