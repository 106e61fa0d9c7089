"""Single instructions that numba does not offer: the lowest set bit, and a choice without a branch.

With ``NUMBA_DISABLE_JIT=1`` (for debugging, and to measure coverage) they are plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cascadeforest.forest._jit import config


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """Position of the lowest set bit of a uint64 that is not 0, as int64 (the machine's count-trailing-zeros)."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _choose(typing_context: Any, condition: Any, a: Any, b: Any) -> Any:
    """``a if condition else b`` for uint64, told to the compiler to be unpredictable, so that it makes no branch of it.

    Without the hint a sweep took 93 instead of 32 ns per row and tree. Masks instead of it took 37 ns here, but 110 in
    the lockstep of 8 rows that took 38 with the hint: what becomes of them is the compiler's choice.
    """
    if (condition, a, b) != (types.boolean, types.uint64, types.uint64):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        selected = builder.select(*arguments)
        selected.set_metadata("unpredictable", builder.module.add_metadata([]))
        return selected

    return types.uint64(types.boolean, types.uint64, types.uint64), generate


def _plain_lowest_bit(word: np.uint64) -> int:
    return (int(word) & -int(word)).bit_length() - 1


def _plain_choose(condition: bool, a: np.uint64, b: np.uint64) -> np.uint64:
    return a if condition else b


lowest_bit: Any = _plain_lowest_bit if config.DISABLE_JIT else intrinsic(_lowest_bit)
choose: Any = _plain_choose if config.DISABLE_JIT else intrinsic(_choose)
