"""A web server of another program, run as a child: free port, clean start, and an end that leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from cascadeforest.data.errors import UserError

START_SECONDS = 120
STOP_SECONDS = 10


def require_free_port(host: str, port: int) -> None:
    """Raise a UserError that names a free port, unless this one is free.

    Parameters
    ----------
    host : str
        Interface to listen on.
    port : int
        Port to listen on.

    Raises
    ------
    UserError
        If another program listens there.
    """
    if _is_free(host, port):
        return
    free = next((other for other in range(port + 1, port + 100) if _is_free(host, other)), None)
    hint = f"make ui PORT={free}" if free else "make ui PORT=<a free one>"
    raise UserError(f"Port {port} of {host} is taken by another program. Stop it, or choose another: {hint}.")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        if os.name == "posix":  # a port in TIME_WAIT is free; on Windows the option would share a used one
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


@contextmanager
def server(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen]:
    """Run a server; end it with all its children when the block ends, also by Ctrl-C, SIGTERM or SIGHUP.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    environment : mapping
        Its environment variables.

    Yields
    ------
    subprocess.Popen
        The server's process. Ctrl-C in the block is taken as its end.
    """
    # A session of its own: Ctrl-C reaches us alone, and we end the server.
    process = subprocess.Popen(command, env=dict(environment), start_new_session=True)

    def stop(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    polite = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in polite}
    try:
        yield process
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        _end(process)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen) -> None:
    import psutil

    try:
        parent = psutil.Process(process.pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        process.wait()
        return
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.terminate()
    _, alive = psutil.wait_procs(family, timeout=STOP_SECONDS)
    for member in alive:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait()


def wait_until_healthy(process: subprocess.Popen, base: str) -> None:
    """Return when the server answers ``<base>/health``.

    Parameters
    ----------
    process : subprocess.Popen
        The server.
    base : str
        Its address.

    Raises
    ------
    UserError
        If it ends before, or does not answer in time.
    """
    # Not through a proxy that the user's environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise UserError(f"The server did not start (status {process.returncode}); its messages are above.")
        try:
            with opener.open(f"{base}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise UserError(f"The server did not answer at {base} within {START_SECONDS} seconds.")
