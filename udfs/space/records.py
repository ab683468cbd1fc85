"""Named tuples of arrays as compiled loops get them: a record is a pointer to the addresses of its arrays.

Its fields are read as those of the named tuple: `record.rows[i]`. An array of one dimension is bare, one of more is a
sheet (bare.py), a named tuple in it is a record. Numbers are those of the moment in which the loop is called. What a
loop passes on to its parts is then one word, however many arrays there are, which is most of what compiling them takes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,override"

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.np.numpy_support import from_dtype

from sqlanon.udfs.space.bare import Sheet, bared

WORD = 8


class Record(types.Type):
    """What a named tuple's fields are and where they stand, in words."""

    def __init__(self, title: str, fields: tuple[tuple[str, Any, int], ...], size: int) -> None:
        self.fields = {name: (kind, place) for name, kind, place in fields}
        self.size = size
        digest = hashlib.sha256(repr(fields).encode()).hexdigest()[:12]
        super().__init__(f"{title}.{digest}")


@register_default(Record)
class _RecordModel(models.OpaqueModel):
    pass


class Recorded:
    """A named tuple for compiled loops, with its numbers as they are now. It keeps the arrays alive."""

    def __init__(self, given: Any) -> None:
        self.given = given
        forms: list[Any] = []
        words: list[int] = []
        _write(given, forms, words)
        self._numba_type_ = _record(type(given), tuple(forms))  # type: ignore[arg-type]
        self.words = np.array(words, dtype=np.int64)
        self.address = self.words.ctypes.data


def _write(given: Any, forms: list[Any], words: list[int]) -> None:
    """The words of a named tuple, and what tells the types of its fields: of an array the type of its values and how
    many dimensions it has."""
    for each in given:
        if isinstance(each, np.ndarray):
            if not each.flags.c_contiguous:
                raise TypeError("a loop needs arrays in the order of C")
            forms.append((each.dtype, each.ndim))
            words.append(each.__array_interface__["data"][0])
            words.extend(each.shape if each.ndim > 1 else ())
        elif isinstance(each, tuple):
            inner: list[Any] = []
            _write(each, inner, words)
            forms.append((type(each), tuple(inner)))
        elif isinstance(each, bool | np.bool_):
            forms.append(types.boolean)
            words.append(int(each))
        elif isinstance(each, int | np.integer):
            forms.append(types.int64)
            words.append(int(each))
        else:
            forms.append(types.float64)
            words.append(int(np.float64(each).view(np.int64)))


@cache
def _record(title: type, forms: tuple[Any, ...]) -> Record:
    """The type of a named tuple."""
    fields, place = [], 0
    for name, form in zip(title._fields, forms, strict=True):  # type: ignore[attr-defined]
        if not isinstance(form, tuple):
            kind, size = form, 1
        elif isinstance(form[0], type):
            kind = _record(*form)
            size = kind.size
        else:
            dtype, ndim = form
            kind, size = bared(from_dtype(dtype), ndim), 1 + (ndim if ndim > 1 else 0)
        fields.append((name, kind, place))
        place += size
    return Record(title.__name__, tuple(fields), place)


@extending.unbox(Record)
def _unbox(kind, value, c):
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_longlong(address), cgutils.voidptr_t)
    c.pyapi.decref(address)
    return extending.NativeValue(pointer)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Record

    def generic_resolve(self, record, name):
        """The type of a field."""
        return record.fields[name][0] if name in record.fields else None


@extending.lower_getattr_generic(Record)
def field(context, builder, record, pointer, name):
    """Read a field. It never changes while a loop runs, so that it need not be read again."""
    kind, place = record.fields[name]

    def word(number, type_):
        spot = builder.gep(pointer, [ir.Constant(ir.IntType(64), WORD * (place + number))])
        loaded = builder.load(builder.bitcast(spot, type_.as_pointer()))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if isinstance(kind, Record):
        return builder.gep(pointer, [ir.Constant(ir.IntType(64), WORD * place)])
    if isinstance(kind, Sheet):
        sheet = cgutils.create_struct_proxy(kind)(context, builder)
        sheet.data = word(0, context.get_value_type(types.CPointer(kind.dtype)))
        sheet.shape = cgutils.pack_array(builder, [word(1 + i, ir.IntType(64)) for i in range(kind.ndim)])
        return sheet._getvalue()
    if kind == types.boolean:
        return builder.icmp_unsigned("!=", word(0, ir.IntType(64)), ir.Constant(ir.IntType(64), 0))
    return word(0, context.get_value_type(kind))
