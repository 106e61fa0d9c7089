"""Open one file of a data set, compressed or inside a zip, without unpacking anything to disk."""

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cascadeforest.data.errors import ConfigError, UserError

_OPENERS = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error)


def path_of(files: Mapping[str, Path], name: str) -> Path:
    """Return where the file called `name` lies.

    Parameters
    ----------
    files : mapping of str to Path
        The files of the chosen form of a data set, by the names of its data set file.
    name : str
        One of these names, as an option of the parser gives it.

    Raises
    ------
    ConfigError
        If the form lists no such file.
    """
    if name not in files:
        raise ConfigError(
            f"A parser option names the file '{name}', but the form of the data set lists only "
            f"{', '.join(sorted(files))}. Correct `options` or `files` in the data set file."
        )
    return Path(files[name])


@contextmanager
def open_binary(files: Mapping[str, Path], address: str) -> Iterator[IO[bytes]]:
    """Open the bytes that `address` names, decompressed.

    Parameters
    ----------
    files : mapping of str to Path
        The files of the chosen form of a data set, by the names of its data set file.
    address : str
        A name in `files`, decompressed if it ends in .gz, .bz2 or .xz; or ``archive.zip::member``, where `member` is
        the end of a path in the archive (whole parts of the path: ``b.csv`` does not find ``a-b.csv``).

    Yields
    ------
    file object
        A readable stream of bytes.

    Raises
    ------
    ConfigError
        If `files` has no such name.
    UserError
        If the archive is broken, or does not hold exactly one such member.
    """
    name, _, member = address.partition("::")
    path = path_of(files, name)
    try:
        if member:
            with zipfile.ZipFile(path) as archive, archive.open(_find_member(archive, member, path)) as stream:
                yield stream
        else:
            with _OPENERS.get(path.suffix, Path.open)(path, "rb") as stream:
                yield stream
    except _BROKEN as error:
        raise _broken(path, error) from error


def read_tar(files: Mapping[str, Path], name: str, wanted: Callable[[str], object]) -> Iterator[tuple[str, bytes]]:
    """Read files out of a tar archive, in the archive's order.

    Parameters
    ----------
    files : mapping of str to Path
        The files of the chosen form of a data set, by the names of its data set file.
    name : str
        The archive, compressed or not.
    wanted : callable
        Says of a path in the archive whether to read it.

    Yields
    ------
    name : str
        Path in the archive, without a leading ``./``.
    data : bytes
        Content.

    Raises
    ------
    ConfigError
        If `files` has no such name.
    UserError
        If the archive is broken.
    """
    path = path_of(files, name)
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                member_name = member.name.removeprefix("./")
                if member.isfile() and wanted(member_name) and (stream := archive.extractfile(member)):
                    yield member_name, stream.read()
    except _BROKEN as error:
        raise _broken(path, error) from error


def _broken(path: Path, error: Exception) -> UserError:
    return UserError(f"{path}: the archive is broken ({error}). Delete the file and fetch the data set again.")


def _find_member(archive: zipfile.ZipFile, member: str, path: Path) -> str:
    """Full name of the one member whose path ends in `member`."""
    # macOS puts a shadow of each file under __MACOSX (seen in UCI's bank-additional.zip and UCI HAR Dataset.zip).
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    found = [name for name in names if name == member or name.endswith(f"/{member}")]
    if len(found) != 1:
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise UserError(
            f"{path}: {len(found)} members are called '{member}', one is expected; the archive holds {shown}. "
            "It is not the file that the parser was written for: fetch the data set again, or correct `options`."
        )
    return found[0]
