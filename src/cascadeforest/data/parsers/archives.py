"""Open one file of a data set, compressed or inside a zip, without unpacking anything to disk.

What an archive unpacks to has a bound, since half a megabyte can become half a gigabyte.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cascadeforest.data.errors import ConfigError, UserError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_OPENERS = {".gz": gzip.GzipFile, ".tgz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
# The data sets' own archives unpack to at most 13 times their size (bank-additional.zip).
MAX_RATIO, ALWAYS_ALLOWED = 50, 10_000_000
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
        A name in `files`, decompressed if it ends in .gz, .tgz, .bz2 or .xz; or ``archive.zip::member``, where
        `member` is the end of a path in the archive (whole parts of the path: ``b.csv`` does not find ``a-b.csv``).

    Yields
    ------
    file object
        A readable stream of bytes.

    Raises
    ------
    ConfigError
        If `files` has no such name.
    UserError
        If the archive is broken, does not hold exactly one such member, or unpacks to more than `MAX_RATIO` times its
        size (but 10 MB are always allowed).
    """
    name, _, member = address.partition("::")
    path = path_of(files, name)
    try:
        if member:
            with zipfile.ZipFile(path) as archive:
                entry = _find_member(archive, member, path)
                if entry.file_size > _largest(path):  # as the archive says; `_Unpacked` counts what comes
                    raise _bomb(path, f"its member {entry.filename} has {entry.file_size:,} bytes")
                # zipfile unpacks the other methods in pieces of any size.
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise _broken(path, "its member is packed with another method than deflate")
                with archive.open(entry) as stream, _bounded(stream, path) as bounded:
                    yield bounded
        elif path.suffix in _OPENERS:
            with _OPENERS[path.suffix](path, "rb") as stream, _bounded(stream, path) as bounded:
                yield bounded
        else:
            with path.open("rb") as stream:
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
        If the archive is broken, or unpacks to more than `open_binary` allows.
    """
    path = path_of(files, name)
    try:
        # "r|": one pass, whose bytes `open_binary` counts, those of the members that are skipped included
        with open_binary(files, name) as packed, tarfile.open(fileobj=packed, mode="r|") as archive:
            for member in archive:
                member_name = member.name.removeprefix("./")
                if not (member.isfile() and wanted(member_name)):
                    continue
                # A sparse member has any number of zeros that are nowhere in the archive.
                if member.issparse() or member.size > _largest(path):
                    raise _bomb(path, f"its member {member_name} has {member.size:,} bytes")
                if stream := archive.extractfile(member):
                    yield member_name, stream.read()
    except _BROKEN as error:
        raise _broken(path, error) from error


class _Unpacked(io.RawIOBase):
    """Unpacked bytes of an archive, counted, and read in pieces: an error stops them at the bound."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path, self._left = stream, path, _largest(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        piece = self._stream.read(len(view))
        self._left -= len(piece)
        if self._left < 0:
            raise _bomb(self._path, f"it unpacks to more than {_largest(self._path):,} bytes")
        view[: len(piece)] = piece
        return len(piece)


def _bounded(stream: IO[bytes], path: Path) -> io.BufferedReader:
    return io.BufferedReader(_Unpacked(stream, path), buffer_size=1 << 18)


def _largest(path: Path) -> int:
    """Largest number of bytes that an archive may unpack to."""
    return max(ALWAYS_ALLOWED, MAX_RATIO * path.stat().st_size)


def _bomb(path: Path, found: str) -> UserError:
    return UserError(
        f"{path}: {found}, which is more than {MAX_RATIO} times the archive. It was not unpacked: such an archive is "
        "made to fill a computer's memory. Delete the file and fetch the data set again, from another source."
    )


def _broken(path: Path, error: object) -> UserError:
    return UserError(f"{path}: the archive is broken ({error}). Delete the file and fetch the data set again.")


def _find_member(archive: zipfile.ZipFile, member: str, path: Path) -> zipfile.ZipInfo:
    """Entry of the one member whose path ends in `member`."""
    # macOS puts a shadow of each file under __MACOSX (seen in UCI's bank-additional.zip and UCI HAR Dataset.zip).
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    found = [name for name in names if name == member or name.endswith(f"/{member}")]
    if len(found) != 1:
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise UserError(
            f"{path}: {len(found)} members are called '{member}', one is expected; the archive holds {shown}. "
            "It is not the file that the parser was written for: fetch the data set again, or correct `options`."
        )
    return archive.getinfo(found[0])
