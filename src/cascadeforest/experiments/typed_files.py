"""Dataclasses in JSON files that carry a digest of their content."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar, cast

from cascadeforest.data.errors import ConfigError, DamagedFile
from cascadeforest.data.files import read_signed_json, write_signed_json
from cascadeforest.data.typed_json import from_json, to_json

T = TypeVar("T")


def write_typed(path: Path, content: object) -> None:
    """Write a dataclass in one step, with a digest of its content.

    Parameters
    ----------
    path : Path
        The file.
    content : dataclass
        What `read_typed` returns.
    """
    write_signed_json(path, cast(dict[str, object], to_json(content)))


def read_typed(kind: type[T], path: Path, remedy: str) -> T:
    """Read what `write_typed` wrote.

    Parameters
    ----------
    kind : type
        The dataclass.
    path : Path
        The file.
    remedy : str
        What to do about a damaged file, in whole sentences, for the message.

    Returns
    -------
    instance of `kind`

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DamagedFile
        If it is not what was written, or was written by another version.
    """
    content = read_signed_json(path, remedy)
    try:
        return from_json(kind, content, path.name)
    except ConfigError as error:
        raise DamagedFile(path, f"written by another version ({error})", remedy) from error
