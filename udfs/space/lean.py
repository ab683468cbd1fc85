"""The way from Python to machine code for loops over bare arrays: shorter than numba's own, with the same result.

numba rewrites functions in a dozen ways that such loops have no use for, and makes machine code of each function by
itself, though what the loops consist of only ever runs as a part of them. Here a part is translated, and nothing more;
the loop that it is linked into is optimized once, with all its parts. That takes half the time.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,attr-defined"

from __future__ import annotations

from numba import _dynfunc
from numba.core import ir, lowering, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass

from sqlanon.udfs.space.records import Record, field


class _Part(JITCodeLibrary):
    """The code of a function that is linked into others before it is optimized. It has no address."""

    def finalize(self):
        """Take in the parts of this part."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class _Lower(lowering.Lower):
    """Read the fields of records where a function begins, each once: LLVM cannot know that they stay the same, and
    would read them again and again."""

    def extract_function_arguments(self):
        """The arguments of the function."""
        super().extract_function_arguments()
        self.fields, self.begun = {}, self.builder.block
        return self.fnargs

    def lower_expr(self, resty, expr):
        """Translate an expression."""
        found = self._field(expr) if expr.op == "getattr" else None
        return super().lower_expr(resty, expr) if found is None else found

    def _field(self, expr):
        """A field of a record, or None if the expression is none or the record is not an argument."""
        kind = self.typeof(expr.value.name)
        pointer = self._origin(expr.value) if isinstance(kind, Record) else None
        if pointer is None:
            return None
        key = pointer, expr.attr
        if key not in self.fields:
            with self.builder.goto_block(self.begun):
                self.fields[key] = field(self.context, self.builder, kind, pointer, expr.attr)
        return self.fields[key]

    def _origin(self, value):
        """The pointer to a record that is an argument, or a field of one."""
        try:
            defined = self.func_ir.get_definition(value)
        except KeyError:
            return None
        if isinstance(defined, ir.Arg):
            return self.fnargs[defined.index]
        return self._field(defined) if isinstance(defined, ir.Expr) and defined.op == "getattr" else None


@register_pass(mutates_CFG=True, analysis_only=False)
class _AsWhole(typed_passes.NativeLowering):
    """Translate a function that Python calls."""

    _name = "whole_lowering"
    lowering_class = _Lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _AsPart(_AsWhole):
    """Translate a function into a part of others."""

    _name = "part_lowering"

    def run_pass(self, state):
        """The same as for a function of its own, but that no machine code is made, and that it stands for nothing that
        Python could call."""
        state.flags.no_compile = True
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        made, name = state.cr, state.func_id.func_name
        function = _dynfunc.make_function(made.fndesc.lookup_module(), name, "", 0, made.env, (state.library,))
        state.targetctx.insert_user_function(function, made.fndesc, [state.library])
        state.cr = made._replace(cfunc=function)
        return True


class Whole(CompilerBase):
    """From bytecode to machine code: for the functions that Python calls."""

    last = _AsWhole

    def define_pipelines(self):
        """The passes, one after the other. What numba would do after each, these do themselves where they need it."""
        passes = PassManager("lean")
        passes._ENFORCING = False
        for each in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            self.last,
            typed_passes.NoPythonBackend,
        ):
            passes.add_pass(each, each._name)
        passes.finalize()
        return [passes]


class Part(Whole):
    """The same for the functions that they call."""

    last = _AsPart
