"""Writing a file in one step."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; if the block ends without error, the file is renamed to `path`.

    A reader sees the old file or the complete new file, and an interrupted writer leaves no file. The file is flushed
    to disk before it is renamed, and the folder afterwards: a power cut leaves no empty or half-written file.

    Parameters
    ----------
    path : str or Path
        The file to write; missing folders above it are made.

    Yields
    ------
    Path
        An empty file in the same folder (same file system, so that the rename is atomic), with the same suffix.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # not mkstemp: its files are private, and what others may read depends on the umask
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
    temporary.open("xb").close()
    try:
        yield temporary
        with temporary.open("rb+") as stream:  # Windows flushes only what is open for writing
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, if the system can.

    Windows cannot open a folder (PermissionError), and some network and FUSE file systems cannot flush a folder
    (EINVAL, ENOTSUP). The file itself is flushed and complete in these cases; only its new name may be lost in a power
    cut.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
