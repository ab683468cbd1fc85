"""Arrays as compiled loops get them: bare pointers, and sheets for those of two dimensions.

An array is ten words for numba, with a count of who refers to it, and every place is looked at whether it counts from
the end. A tuple of twenty such arrays is passed from function to function as two hundred words, which takes most of the
time that the loops need to compile. Bare, an array is one word and a sheet is three. Whoever calls a loop keeps the
arrays alive.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,attr-defined"

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature


def _intrinsic(function: Any) -> Any:
    """What compiled functions call, as they see it: without the context."""
    return extending.intrinsic(function)


class Sheet(types.Type):
    """Rows of the same width, one after the other."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"sheet({dtype})")


@register_default(Sheet)
class _SheetModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), *_SIZES])


_SIZES = [("rows", types.int64), ("width", types.int64)]


def _pointed(kind: Any) -> Any:
    """The type of what is bare."""
    if isinstance(kind, types.BaseNamedTuple):
        return types.NamedTuple([_pointed(each) for each in kind.types], kind.instance_class)
    if not isinstance(kind, types.Array):
        return kind
    dtype = types.uint8 if kind.dtype == types.boolean else kind.dtype
    return types.CPointer(dtype) if kind.ndim == 1 else Sheet(dtype)


@_intrinsic
def bare(_context, given):
    """A named tuple of arrays in the order of C, numbers and such tuples, with pointers and sheets in their places."""

    def stripped(context, builder, kind, value):
        made = _pointed(kind)
        if isinstance(kind, types.BaseNamedTuple):
            parts = [
                stripped(context, builder, each, builder.extract_value(value, i)) for i, each in enumerate(kind.types)
            ]
            return context.make_tuple(builder, made, parts)
        if not isinstance(kind, types.Array):
            return value
        array = context.make_array(kind)(context, builder, value)
        data = builder.bitcast(array.data, context.get_value_type(types.CPointer(made.dtype)))
        if kind.ndim == 1:
            return data
        sheet = cgutils.create_struct_proxy(made)(context, builder)
        sheet.data = data
        sheet.rows, sheet.width = cgutils.unpack_tuple(builder, array.shape)
        return sheet._getvalue()

    def generate(context, builder, asked, given):
        return stripped(context, builder, asked.args[0], given[0])

    return _pointed(given)(given), generate


@_intrinsic
def beginning(_context, pointer, place):
    """A pointer to what begins at a place."""

    def generate(_context, builder, _asked, given):
        return builder.gep(given[0], [given[1]])

    return pointer(pointer, types.int64), generate


@_intrinsic
def columns(_context, sheet):
    """How many values a row of a sheet has."""

    def generate(context, builder, asked, given):
        return _opened(context, builder, asked.args[0], given[0]).width

    return types.int64(sheet), generate


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    """A row of a sheet as a pointer, or one of its values."""

    def generic(self, args, _kws):
        sheet, place = args
        if not isinstance(sheet, Sheet):
            return None
        if isinstance(place, types.Integer):
            return signature(types.CPointer(sheet.dtype), sheet, types.int64)
        return signature(sheet.dtype, sheet, types.UniTuple(types.int64, 2))


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    """Write a value of a sheet."""

    def generic(self, args, _kws):
        sheet = args[0]
        if not isinstance(sheet, Sheet):
            return None
        return signature(types.none, sheet, types.UniTuple(types.int64, 2), sheet.dtype)


@infer_global(len)
class _Length(AbstractTemplate):
    """How many rows a sheet has."""

    def generic(self, args, _kws):
        return signature(types.int64, args[0]) if isinstance(args[0], Sheet) else None


def _opened(context, builder, kind, value):
    return cgutils.create_struct_proxy(kind)(context, builder, value=value)


def _place(context, builder, kind, value, at):
    sheet = _opened(context, builder, kind, value)
    row, column = cgutils.unpack_tuple(builder, at, 2)
    return builder.gep(sheet.data, [builder.add(builder.mul(row, sheet.width), column)])


@lower_builtin(operator.getitem, Sheet, types.UniTuple)
def _get(context, builder, asked, given):
    return builder.load(_place(context, builder, asked.args[0], *given))


@lower_builtin(operator.getitem, Sheet, types.Integer)
def _row(context, builder, asked, given):
    zero = ir.Constant(ir.IntType(64), 0)
    at = context.make_tuple(builder, types.UniTuple(types.int64, 2), [given[1], zero])
    return _place(context, builder, asked.args[0], given[0], at)


@lower_builtin(operator.setitem, Sheet, types.UniTuple, types.Any)
def _set(context, builder, asked, given):
    builder.store(given[2], _place(context, builder, asked.args[0], *given[:2]))


@lower_builtin(len, Sheet)
def _length(context, builder, asked, given):
    return _opened(context, builder, asked.args[0], given[0]).rows
