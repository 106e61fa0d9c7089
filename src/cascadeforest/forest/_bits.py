"""Sets of bins as 256 bits, and the position of the lowest set bit, which numba does not offer."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def lowest_bit(typing_context, word):
    """Position of the lowest set bit of a uint64 that is not 0, as int64 (the machine's count-trailing-zeros)."""
    if word != types.uint64:
        return None

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
