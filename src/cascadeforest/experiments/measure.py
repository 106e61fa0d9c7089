"""CPU seconds and peak memory of one call, measured in its own process.

The peak is the kernel's own high-water mark where there is one (Linux, ``VmHWM``): exact, without sampling and
without cost. It can be set back, so that what happened before the call does not count. Elsewhere a thread samples
the resident size. memory-profiler's reading, the papers' kind of figure, is kept beside it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MIB = 2**20
PROFILER_INTERVAL_SECONDS = 0.01
SAMPLING_INTERVAL_SECONDS = 0.005
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Measurement:
    """What one call cost.

    Parameters
    ----------
    cpu_seconds : float
        User and system time of this process, all threads.
    wall_seconds : float
        Elapsed time.
    peak_mib : float or None
        Highest resident memory during the call minus the resident memory just before it, in MiB; None where memory was
        not measured.
    method : str or None
        ``"VmHWM"`` (Linux) or ``"psutil samples"``.
    profiler_peak_mib : float or None
        The same increment as memory-profiler saw it, None where it was not asked.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_mib: float | None
    method: str | None
    profiler_peak_mib: float | None


def release_memory() -> None:
    """Give freed memory back to the system, so that its reuse does not hide what a call needs."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl has not
        if trim is not None:
            trim(0)


def resident_bytes() -> int:
    """Resident memory of this process, in bytes."""
    if _STATUS.exists():
        return _status_bytes("VmRSS")
    import psutil

    return psutil.Process().memory_info().rss


def measure(
    function: Callable[[], T], *, memory: bool = True, profiler: Connection | None = None
) -> tuple[T, Measurement]:
    """Call a function once and measure what it cost.

    Call it after a small warm-up of the same code, since lazily imported libraries would be counted otherwise; for
    memory in a fresh process, since pages that earlier work freed would not be.

    Parameters
    ----------
    function : callable
        Called exactly once, without arguments.
    memory : bool
        Also measure memory.
    profiler : Connection, optional
        Of a process that runs `read_by_profiler`: also ask memory-profiler.

    Returns
    -------
    value : object
        What the function returned.
    measurement : Measurement
        Its cost.
    """
    if not memory:
        cpu, wall = time.process_time(), time.perf_counter()
        value = function()
        return value, Measurement(time.process_time() - cpu, time.perf_counter() - wall, None, None, None)
    release_memory()
    if profiler is not None:  # after that: its first reading counts
        profiler.send(os.getpid())
        profiler.recv()
    exact = _reset_high_water_mark()
    before = resident_bytes()
    sampler = None if exact else _PeakSampler()
    cpu, wall = time.process_time(), time.perf_counter()
    value = function()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = _status_bytes("VmHWM") if sampler is None else sampler.stop()
    profiler_peak = None
    if profiler is not None:
        profiler.send(None)
        profiler_peak = profiler.recv() - before / MIB
    method = "VmHWM" if sampler is None else "psutil samples"
    return value, Measurement(cpu, wall, max(peak - before, 0) / MIB, method, profiler_peak)


def read_by_profiler(connection: Connection) -> None:
    """Read the memory of another process by memory-profiler, every 0.01 s, from when it asks until it says stop.

    The body of a process. memory-profiler would start one itself in the process that is measured, and within the time
    that is measured.

    Parameters
    ----------
    connection : Connection
        Receives the number of the process, and anything when it has finished; sends None when the first reading was
        made, and the highest, in MiB, at the end.
    """
    from memory_profiler import memory_usage

    with suppress(EOFError):  # the other process has ended
        while True:
            process = connection.recv()
            readings = memory_usage(process, interval=0)
            connection.send(None)
            while not connection.poll():
                readings += memory_usage(process, interval=PROFILER_INTERVAL_SECONDS)
            connection.recv()
            connection.send(max(readings))


def _status_bytes(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{_STATUS} has no field {field}.")


def _reset_high_water_mark() -> bool:
    """Set the kernel's high-water mark back to the present size; False where the system has none."""
    if sys.platform != "linux":
        return False
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:  # some containers mount /proc read-only
        return False
    return True


class _PeakSampler:
    """A thread that keeps the largest resident size it saw; peaks shorter than its interval escape it."""

    def __init__(self) -> None:
        self._peak = resident_bytes()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(SAMPLING_INTERVAL_SECONDS):
            self._peak = max(self._peak, resident_bytes())

    def stop(self) -> int:
        self._stopped.set()
        self._thread.join()
        return max(self._peak, resident_bytes())
