"""The `kernel` decorator: compiled code without the GIL, kept on disk, and thrown away when any kernel file changes.

numba's own cache looks at the file of the cached function only. A kernel that was compiled into another file's kernel
would stay there unnoticed when it changes, so every kernel here carries a digest of all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import caching

#: numba's settings, which it makes when it is imported: a type checker does not see them.
config: Any = numba.config
#: A whole number in a kernel: type checkers keep apart what is one type when it is compiled.
Int = int | np.int64
_FOLDER = Path(__file__).resolve().parent
#: Files that hold kernels, this one included: its options decide what the compiler makes of them.
KERNEL_FILES = (
    "_jit.py",
    "_bits.py",
    "_random.py",
    "binning.py",
    "_nodes.py",
    "_splits.py",
    "_search.py",
    "_grow.py",
    "_walk.py",
)


@cache
def kernel_digest() -> str:
    """SHA-256 of all files with kernels; the compiled code of another digest is never loaded."""
    digest = hashlib.sha256()
    for name in KERNEL_FILES:
        digest.update((_FOLDER / name).read_bytes())
    return digest.hexdigest()


class _KernelStamp:
    """Compiled code is fresh if no kernel file changed.

    Each state of the files has a folder of its own: numba reads what an older version left behind before it looks at
    the stamp, and stumbles over types that are no more where they were.
    """

    def get_source_stamp(self) -> str:
        return kernel_digest()

    def get_cache_path(self) -> str:
        own = super().get_cache_path()  # type: ignore[misc]  # of numba's locator, the other base class
        return str(Path(own) / f"kernels-{kernel_digest()[:16]}")


class InUserFolder(_KernelStamp, caching.UserProvidedCacheLocator):
    """The folder that NUMBA_CACHE_DIR names."""


class InTree(_KernelStamp, caching.InTreeCacheLocator):
    """``__pycache__`` beside the kernels, where it can be written."""


class InHome(_KernelStamp, caching.UserWideCacheLocator):
    """The user's cache folder otherwise."""


_LOCATORS = ",".join(f"{cls.__module__}.{cls.__qualname__}" for cls in (InUserFolder, InTree, InHome))


def kernel(function: Callable | None = None, *, inline: bool = False, allocates: bool = False) -> Any:
    """Compile a function with numba: releases the GIL, cached on disk, no fast-math, no threads of its own.

    Fast-math reorders sums and assumes that there is no NaN, so bytes would differ between machines. Numba's own
    threads die after a fork or when two threads enter; parallel work is split over threads in `growth` and `trees`.

    A kernel does not allocate arrays unless it says so. Without numba's reference counting a call with arrays costs
    2 ns instead of 20 (an atomic operation an array and call); a tree makes millions of calls.

    Parameters
    ----------
    function : callable, optional
        The function; without it, a decorator is returned.
    inline : bool
        Always copy the machine code into its callers. For one-line helpers in inner loops.
    allocates : bool
        Whether the function makes new arrays.

    Returns
    -------
    callable
        A numba dispatcher.
    """
    if function is None:
        return lambda f: kernel(f, inline=inline, allocates=allocates)
    options: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
    options |= {"_nrt": allocates, "forceinline": inline}
    before = config.CACHE_LOCATOR_CLASSES
    config.CACHE_LOCATOR_CLASSES = _LOCATORS  # read when the decorator runs
    try:
        return numba.njit(**options)(function)
    except RuntimeError:  # no folder can be written: compiled in each process, and `ensure_compiled` says so
        return numba.njit(**(options | {"cache": False}))(function)
    finally:
        config.CACHE_LOCATOR_CLASSES = before
