"""The compiled kernels: functions in C that work on arrays, called without the GIL.

Each ``*.c`` file of this folder has the kernels of one subject; beside the other packages nothing else is compiled. The
compiler makes one library for each kind of processor (`build`), all with the same results to the byte: no file is
compiled with fast-math or fused multiply-adds. `function` finds the library for the processor at hand.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
#: Ends of the libraries' names, from the kind of processor that any machine has to the newest (see cpu.c).
LEVELS = ("v1", "v3", "v4")


def library_file(level: str) -> Path:
    """Return where the library for one kind of processor is."""
    return FOLDER / f"kernels-{level}.{'dll' if sys.platform == 'win32' else 'so'}"


class KernelError(ImportError):
    """The compiled kernels are missing, or made from other sources than these."""


@cache
def _library() -> ctypes.CDLL:
    """Load the library for this processor; `KernelError` if there is none, or if it is not that of these sources."""
    first = _load(LEVELS[0])
    level = first.processor_level()
    for name in reversed(LEVELS[1 : level + 1]):
        if library_file(name).exists():
            return _load(name)
    return first


def _load(level: str) -> ctypes.CDLL:
    from cascadeforest.kernels.build import source_digest

    file = library_file(level)
    remedy = "run `make setup`, or `pip install .` again in the folder of the sources"
    if not file.exists():
        raise KernelError(f"{file}: the kernels of cascadeforest are not compiled; {remedy}.")
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise KernelError(f"{file}: the kernels of cascadeforest cannot be loaded ({error}); {remedy}.") from error
    made_from = ctypes.c_char_p.in_dll(library, "source_digest").value
    if made_from != source_digest().encode():
        raise KernelError(f"{file}: the kernels of cascadeforest were compiled from other sources; {remedy}.")
    return library


def function(name: str, *arguments: Any, result: Any = None) -> Callable[..., Any]:
    """Return a kernel, which is looked up at its first call.

    Parameters
    ----------
    name : str
        Name in C.
    *arguments : type
        Types of its arguments: of ctypes, `array` or `out`.
    result : type, optional
        Type of ctypes of what it returns.

    Returns
    -------
    callable
        Takes the arguments by position. It raises MemoryError where the kernel says, by a negative number (kernels
        return no others), that there is no memory for what it needs itself.
    """
    kernel: Any = None

    def call(*values: Any) -> Any:
        nonlocal kernel
        if kernel is None:
            found = getattr(_library(), name)
            found.argtypes = [ctypes.c_void_p if isinstance(kind, Array) else kind for kind in arguments]
            found.restype = result
            kernel = found  # ready: other threads may call it from now on
        # Not by `from_param`: ctypes makes an error of its own of an interrupt that arrives there.
        returned = kernel(
            *[
                kind.address(one) if isinstance(kind, Array) else one
                for kind, one in zip(arguments, values, strict=True)
            ]
        )
        if result is ctypes.c_int32 and returned < 0:  # NO_MEMORY of export.h
            raise MemoryError(f"There is not enough memory for {name}.")
        return returned

    call.__name__ = name
    return call


#: Bits of numpy's `flags.num`.
_C_CONTIGUOUS, _WRITEABLE = 0x1, 0x400


class Array:
    """Argument type: the memory of a C-ordered array of one type.

    Parameters
    ----------
    dtype : type
        Type of the elements.
    is_written : bool
        Whether the kernel writes to it.
    """

    def __init__(self, dtype: type, is_written: bool) -> None:
        self.dtype = np.dtype(dtype)
        self.flags = _C_CONTIGUOUS | (_WRITEABLE if is_written else 0)

    def address(self, values: np.ndarray) -> int:
        """Return the address of an array's first element; `TypeError` if it is not such an array."""
        if values.dtype != self.dtype or values.flags.num & self.flags != self.flags:
            raise TypeError(
                f"A kernel was given an array of type {values.dtype} and flags {values.flags.num}; it takes a "
                f"C-ordered one of {self.dtype}{' that can be written to' if self.flags & _WRITEABLE else ''}."
            )
        return values.ctypes.data


@cache
def array(dtype: type) -> Array:
    """Argument type: a C-ordered array of `dtype` that is read."""
    return Array(dtype, False)


@cache
def out(dtype: type) -> Array:
    """Argument type: a C-ordered array of `dtype` that is written to."""
    return Array(dtype, True)
