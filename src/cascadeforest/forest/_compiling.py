"""Compiling all kernels at once, with a message, so that it happens once per machine and never as a surprise."""

from __future__ import annotations

import contextlib
import logging
import platform
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from cascadeforest.forest import _jit
from cascadeforest.forest._arrays import read_only
from cascadeforest.forest._cells import cells_for
from cascadeforest.forest._grow import grow_tree
from cascadeforest.forest._nodes import GINI, Target
from cascadeforest.forest._random import bootstrap_counts
from cascadeforest.forest._search import BEST, Rules
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.trees import Trees

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]  # a module otherwise

logger = logging.getLogger("cascadeforest")
_lock = threading.Lock()


@cache
def marker() -> Path | None:
    """A file that exists once the kernels are compiled for this processor, Python and numba; None without a folder."""
    import llvmlite
    import numba
    from llvmlite import binding

    parts = (
        _jit.kernel_digest()[:16],
        binding.get_host_cpu_name(),
        f"python-{platform.python_version()}",
        f"numba-{numba.__version__}",
        f"llvmlite-{llvmlite.__version__}",
    )
    folder = grow_tree.stats.cache_path
    if folder is None:
        return None
    return Path(folder) / f"kernels-{'-'.join(parts)}.compiled"


def ensure_compiled() -> None:
    """Compile the kernels unless this is done already, and log a warning, since it takes about half a minute.

    If several processes start on a fresh machine, one compiles and all other processes wait.
    """
    if _jit.config.DISABLE_JIT:
        return
    file = marker()
    if file is None:
        _compile_for_this_process()
        return
    if file.exists():
        return
    with _lock, _exclusive(file.with_suffix(".lock")):
        if file.exists():
            return
        logger.warning(
            "Compiling the forest kernels, once per machine and version (about half a minute); kept in %s.",
            file.parent,
        )
        compile_kernels()
        file.touch()


@cache
def _compile_for_this_process() -> None:
    """Compile without a folder to keep the result in, and log a warning once."""
    with _lock:
        logger.warning(
            "Compiling the forest kernels (about half a minute) in this and every other process: neither the package's "
            "folder nor the home folder can be written. Name one that can in the environment variable NUMBA_CACHE_DIR."
        )
        compile_kernels()


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file, which the system releases when the process ends, however it ends.

    Where the system has no such locks processes compile at the same time: slower, with the same result.
    """
    if fcntl is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        with contextlib.suppress(OSError):  # some network file systems have none either
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def compile_kernels() -> None:
    """Call every kernel that Python calls, once with each type of arguments that it meets."""
    X = np.arange(12.0).reshape(6, 2) % 5
    for dtype in (np.float32, np.float64):
        mapper = BinMapper()
        binned = mapper.fit_transform(X.astype(dtype), np.arange(1.0, 7.0))
        for order in ("C", "F"):
            mapper.transform(np.asarray(X, dtype, order=order))
    counts = np.empty(6, np.int32)
    bootstrap_counts(np.uint64(0), 6, counts)
    counts[:] = 1
    rules = Rules(BEST, GINI, 1, 9, 2, 1, 0.0, 0.0, 0)
    target = Target(np.arange(6, dtype=np.int32) % 2, np.array([0.0, 1.0]), 2, True, False)
    cells = cells_for(binned, 1)
    centers, rows = read_only(binned.known_centers), read_only(np.arange(6, dtype=np.int32))
    weights, seed = read_only(np.ones(6)), np.uint64(0)
    features = read_only(np.arange(2, dtype=np.int32))
    nodes, values, _ = grow_tree(cells, centers, rows, weights, target, counts, seed, rules, features, np.empty(0))
    trees = Trees.join([(nodes, values)], 2)
    trees.predict(binned)
    trees.apply(binned)
    trees.decision_path(binned)
    trees.node_statistics(binned, np.ones((6, 1)))
