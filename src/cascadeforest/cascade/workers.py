"""Fits on the workers of a joblib backend that the user chose: other processes, or other machines.

joblib decides where a task runs. It sends a large array that is an argument of several tasks of one call only once
(loky), or once to each worker (Dask). The matrix that the tasks of all calls share is sent in the first call only: a
worker keeps it under its digest, and a worker that does not have it says so and gets it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

T = TypeVar("T")

#: Matrices that a worker keeps: of the latest fit and of one beside it.
_MOST = 2
#: In a worker: matrices by their digests, the latest used at the end.
_kept: OrderedDict[str, np.ndarray] = OrderedDict()
_lock = threading.Lock()
#: In the process that fits: digests of the matrices that it sent, and whether workers kept them.
_sent: dict[str, bool] = {}


class _Lacks:
    """Answer of a worker that does not have the matrix."""


def has_own_memory() -> bool:
    """Whether the user chose a joblib backend whose workers do not share the memory of this process."""
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


def on_workers(
    function: Callable[..., T], matrix: np.ndarray, shared: tuple[Any, ...], tasks: Sequence[tuple], n_jobs: int | None
) -> Iterator[tuple[int, T]]:
    """Run ``function(matrix, *shared, *task)`` for each task on the workers of the active joblib backend.

    Parameters
    ----------
    function : callable
        A function of a module, which workers can import.
    matrix : ndarray
        Sent once to a worker, also if later calls have the same matrix.
    shared : tuple
        Arguments that all tasks share; large arrays are sent as the backend sends arguments.
    tasks : sequence of tuple
        Arguments of each task.
    n_jobs : int or None
        As in joblib; the Dask backend does not use it.

    Yields
    ------
    number : int
        Number of a task.
    result : object
        What the function returned.
    """
    digest = hashlib.blake2b(matrix.data, digest_size=16).hexdigest()
    waiting = list(range(len(tasks)))
    for sent in (None, matrix) if _sent.get(digest) else (matrix,):
        lacking: list[int] = []
        for number, result in zip(waiting, _call(function, digest, sent, shared, tasks, waiting, n_jobs), strict=True):
            if isinstance(result, _Lacks):
                lacking.append(number)
            else:
                yield number, result
            del result  # before the next one comes
        # Workers of some backends end with a call of joblib: do not ask them a second time.
        _sent[digest] = _sent.get(digest, True) and len(lacking) < len(tasks)
        if not (waiting := lacking):
            break


def _call(
    function: Callable[..., T],
    digest: str,
    matrix: np.ndarray | None,
    shared: tuple[Any, ...],
    tasks: Sequence[tuple],
    numbers: Sequence[int],
    n_jobs: int | None,
) -> Iterator[T | _Lacks]:
    """Results of some tasks, in their order; results that were taken need no memory any more, if the backend can."""
    backend, _ = get_active_backend(prefer="threads")
    return_as = "generator" if getattr(backend, "supports_return_generator", False) else "list"
    calls = (delayed(_work)(function, digest, matrix, *shared, tasks[number]) for number in numbers)
    return iter(Parallel(n_jobs=n_jobs, return_as=return_as, batch_size=1)(calls))


def _work(function: Callable[..., T], digest: str, matrix: np.ndarray | None, *arguments: Any) -> T | _Lacks:
    """Run a task in a worker; `matrix` is None if the worker may have it."""
    *shared, task = arguments
    with _lock:  # tasks may be threads of one worker
        if digest not in _kept:
            if matrix is None:
                return _Lacks()
            # joblib deletes a file that it mapped when its call ends.
            _kept[digest] = np.array(matrix) if isinstance(matrix, np.memmap) else matrix
        _kept.move_to_end(digest)
        matrix = _kept[digest]
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    return function(matrix, *shared, *task)
