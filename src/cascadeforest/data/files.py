"""Files: atomic writing, digests, JSON that is checked when it is read, YAML errors with file and line."""

import errno
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cascadeforest import _files
from cascadeforest.data.errors import ConfigError, DamagedFile, UserError

CONTENT_DIGEST = "content_digest"  # the key under which a signed JSON file has the digest of its other keys


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` in one step (see `cascadeforest._files.atomic_path`).

    Parameters
    ----------
    path : str or Path
        The file to write; missing folders above it are made.

    Yields
    ------
    Path
        An empty file in the same folder, with the same suffix.

    Raises
    ------
    UserError
        If the disk is full.
    """
    try:
        with _files.atomic_path(path) as temporary:
            yield temporary
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"{path}: the disk is full. Make room, and run again: what is done is kept.") from error
        raise


def atomic_write(path: str | Path, data: bytes | str) -> None:
    """Write `data` to `path` in one step (see `atomic_path`); text as UTF-8 with line ends unchanged.

    Parameters
    ----------
    path : str or Path
        The file to write.
    data : bytes or str
        Its whole content.
    """
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    return hash_of(path, "sha256")


def hash_of(path: str | Path, algorithm: str) -> str:
    """Return the hash of a file's bytes, in hexadecimal.

    Parameters
    ----------
    path : str or Path
        The file.
    algorithm : str
        A name that hashlib knows: ``sha256`` or ``md5``.
    """
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def canonical_json(obj: object) -> str:
    """Return canonical JSON of `obj`: sorted keys, no spaces, no NaN.

    Raises
    ------
    ValueError
        If a number is NaN or infinite: JSON has neither.
    """
    return _compact(obj, sort_keys=True)


def digest_of(obj: object) -> str:
    """Return the SHA-256 of the canonical JSON of `obj`, in hexadecimal."""
    return hashlib.sha256(canonical_json(obj).encode("utf-8")).hexdigest()


def read_json(path: str | Path) -> Any:
    """Read one JSON file.

    Raises
    ------
    ConfigError
        If the file is missing or malformed; the message names the file and the line.
    """
    text = _read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}, line {error.lineno}: not valid JSON ({error.msg}). "
            "Mend the file, or delete it if it was generated."
        ) from error


def signed_json(content: Mapping[str, object]) -> str:
    """Return JSON of `content`, its keys in their order, with a digest of it under the key ``content_digest``.

    Parameters
    ----------
    content : mapping
        JSON values. An existing ``content_digest`` is replaced.

    Returns
    -------
    str
        One line, for `parse_signed_json`.
    """
    # Through JSON and back, since keys that are numbers sort differently once they are text.
    plain = json.loads(_compact({key: value for key, value in content.items() if key != CONTENT_DIGEST}))
    return _compact({CONTENT_DIGEST: digest_of(plain), **plain}) + "\n"


def parse_signed_json(data: bytes | str, path: str | Path, remedy: str) -> dict[str, Any]:
    """Read what `signed_json` returned, and check its digest.

    Parameters
    ----------
    data : bytes or str
        The text.
    path : str or Path
        Where the text came from, for the message.
    remedy : str
        What to do about a damaged file, in whole sentences, for the message.

    Returns
    -------
    dict
        The content without ``content_digest``, which is `digest_of` the content.

    Raises
    ------
    DamagedFile
        If the text is not what was written. `DamagedFile.path` is the file.
    """
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or CONTENT_DIGEST not in content:
            raise DamagedFile(path, f"without {CONTENT_DIGEST}, the digest of its content", remedy)
        stored, found = content.pop(CONTENT_DIGEST), digest_of(content)
    except ValueError as error:  # not UTF-8, not JSON, or numbers that JSON does not have
        raise DamagedFile(path, f"not whole JSON ({error})" if data else "the file is empty", remedy) from error
    if stored != found:
        raise DamagedFile(path, f"its content has the digest {found[:12]}, not {str(stored)[:12]} as stored", remedy)
    return content


def write_signed_json(path: str | Path, content: Mapping[str, object]) -> None:
    """Write `signed_json` of `content` in one step (see `atomic_path`)."""
    atomic_write(path, signed_json(content))


def read_signed_json(path: str | Path, remedy: str = "Delete it and make it again.") -> dict[str, Any]:
    """Read a file that `write_signed_json` wrote; see `parse_signed_json`.

    Raises
    ------
    DamagedFile
        If the file does not hold what was written.
    FileNotFoundError
        If there is no such file; a missing file does not count as damaged.
    """
    return parse_signed_json(Path(path).read_bytes(), path, remedy)


def read_yaml(path: str | Path) -> Any:
    """Read one YAML file with plain types only; a duplicate key is an error, since the last value would win silently.

    Raises
    ------
    ConfigError
        If the file is missing, malformed or has a duplicate key; the message names the file and the line.
    """
    import yaml

    class UniqueKeyLoader(yaml.SafeLoader):
        """The safe loader, with duplicate keys as errors."""

    def construct_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict:
        first_lines: dict[str, int] = {}
        for key_node, _ in node.value:
            key, line = key_node.value, key_node.start_mark.line + 1
            if isinstance(key, str) and key != "<<":
                if key in first_lines:
                    raise ConfigError(
                        f"{path}, line {line}: the key '{key}' is written twice (first in line {first_lines[key]}). "
                        "Keep one."
                    )
                first_lines[key] = line
        loader.flatten_mapping(node)
        return yaml.SafeLoader.construct_mapping(loader, node, deep=True)

    UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)
    text = _read_text(path)
    try:
        # The loader is a SafeLoader: it builds plain Python types only.
        return yaml.load(text, Loader=UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(
            f"{path}{where}: not valid YAML ({error.problem}). Mend this line or the one above it."
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML ({error}). Mend the file.") from error


def _compact(obj: object, sort_keys: bool = False) -> str:
    return json.dumps(obj, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _read_text(path: str | Path) -> str:
    """Text of a UTF-8 file, or an error that describes the fault."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file. Check the path, and the folder that the command runs in.") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: this is a folder, not a file. Name the file.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8.") from error
