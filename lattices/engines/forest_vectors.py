"""Whole vectors of gains, for kernels whose loops are too short for the compiler to make any.

Rows of a table are a few vectors long and start anywhere. The compiler cannot know that two
arrays do not overlap, and what it does to find out costs more than such a row; so these say
it in LLVM's own words. Arrays have one dimension, and indexes are neither negative nor checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from lattices.engines.forward import LANES


def _instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make an instruction for kernels of a function that types and generates it."""
    return cast(Callable[..., Any], intrinsic(function))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return where the vector at an index of an array stands."""
    data = make_array(array_type)(context, builder, array).data  # type: ignore[no-untyped-call]
    vector = ir.VectorType(context.get_data_type(array_type.dtype), LANES)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _spread(context: Any, builder: Any, number_type: Any, number: Any) -> Any:
    """Return a vector of one number."""
    vector = ir.Constant(ir.VectorType(context.get_data_type(number_type), LANES), ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
    return vector


@_instruction
def raise_vector(typing_context, into, at, source, begin, more):  # type: ignore[no-untyped-def]
    """Raise ``into[at:at + LANES]`` to ``source[begin:begin + LANES] + more``, where higher."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into_array, at_index, source_array, begin_index, number = arguments
        align = into.dtype.bitwidth // 8
        there = _pointer(context, builder, into, into_array, at_index)
        here = _pointer(context, builder, source, source_array, begin_index)
        offered = builder.fadd(
            builder.load(here, align=align), _spread(context, builder, more, number)
        )
        known = builder.load(there, align=align)
        higher = builder.select(builder.fcmp_ordered(">", offered, known), offered, known)
        builder.store(higher, there, align=align)
        return context.get_dummy_value()

    return types.void(into, types.intp, source, types.intp, into.dtype), generate


@_instruction
def step_vector(typing_context, numbers, at, begin, stay, move):  # type: ignore[no-untyped-def]
    """Set ``numbers[at:at + LANES]`` to what one step makes of ``numbers[begin:begin + LANES]``.

    Each is the higher one of the number there plus ``stay`` and of the one before it plus
    ``move``. The vectors do not overlap, and there is a number before the first.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at_index, begin_index, stay_number, move_number = arguments
        align = numbers.dtype.bitwidth // 8
        one = ir.Constant(begin_index.type, 1)
        here = _pointer(context, builder, numbers, array, begin_index)
        before = _pointer(context, builder, numbers, array, builder.sub(begin_index, one))
        staying = builder.fadd(
            builder.load(here, align=align), _spread(context, builder, stay, stay_number)
        )
        moving = builder.fadd(
            builder.load(before, align=align), _spread(context, builder, move, move_number)
        )
        higher = builder.select(builder.fcmp_ordered(">", moving, staying), moving, staying)
        there = _pointer(context, builder, numbers, array, at_index)
        builder.store(higher, there, align=align)
        return context.get_dummy_value()

    number = numbers.dtype
    return types.void(numbers, types.intp, types.intp, number, number), generate


@_instruction
def copy_vector(typing_context, into, at, source, begin):  # type: ignore[no-untyped-def]
    """Set ``into[at:at + LANES]`` to ``source[begin:begin + LANES]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into_array, at_index, source_array, begin_index = arguments
        align = into.dtype.bitwidth // 8
        here = _pointer(context, builder, source, source_array, begin_index)
        there = _pointer(context, builder, into, into_array, at_index)
        builder.store(builder.load(here, align=align), there, align=align)
        return context.get_dummy_value()

    return types.void(into, types.intp, source, types.intp), generate


@_instruction
def fill_vector(typing_context, into, at, number):  # type: ignore[no-untyped-def]
    """Set ``into[at:at + LANES]`` to one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into_array, at_index, value = arguments
        there = _pointer(context, builder, into, into_array, at_index)
        vector = _spread(context, builder, into.dtype, value)
        builder.store(vector, there, align=into.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(into, types.intp, into.dtype), generate
