"""Replace a whole folder so that a reader, or a kill, finds the old one or the new one."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `folder` when the block ends well.

    Taking the place is two renames: there is no portable way to exchange two folders in one. `recover` mends a kill
    between them.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new.", dir=folder.parent))
    new.chmod(0o755)  # mkdtemp makes it private
    try:
        yield new
        old = _old(folder)
        if old.exists():
            shutil.rmtree(old)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put the old folder back if a replacement was killed half-way, and remove what it left."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    for left in folder.parent.glob(f".{folder.name}.new.*"):
        shutil.rmtree(left, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")
