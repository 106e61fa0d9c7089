"""One type for what kernels read: numba compiles a kernel anew for arrays that may not be written to."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to, whether or not the array can (one from a memory-mapped file cannot)."""
    view = array.view(np.ndarray)  # numba recognises subclasses (memory maps) slowly
    view.flags.writeable = False
    return view
