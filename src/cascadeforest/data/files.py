"""Files: atomic writing, digests, and YAML and JSON whose errors say where they are."""

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import ConfigError


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which takes its name when the block ends well.

    A reader sees the old file or the whole new one, and an interrupted writer leaves nothing.

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
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
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


def canonical_json(obj: Any) -> str:
    """Return the one JSON text of `obj`: keys sorted, no spaces, NaN refused.

    Raises
    ------
    ValueError
        If a number is NaN or infinite: JSON has neither.
    """
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_of(obj: Any) -> str:
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


def read_yaml(path: str | Path) -> Any:
    """Read one YAML file with plain types only; a key written twice is refused, since the last would win silently.

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


def _read_text(path: str | Path) -> str:
    """Text of a UTF-8 file, or an error that says what is wrong with it."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file. Check the path, and the folder that the command runs in.") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: this is a folder, not a file. Name the file.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8.") from error
