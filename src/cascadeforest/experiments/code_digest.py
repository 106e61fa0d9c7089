"""Which of our modules does a piece of work use, and what do they say? A digest of that, so that edits rerun it.

Snakemake compares the text of rules and parameters; it does not see that an imported module changed. Each rule
therefore carries a digest of the modules that its job uses, found by following the import statements.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from cascadeforest.data.files import atomic_write

PACKAGE = "cascadeforest"
PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
_INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
#: What was read of the files before: parsing them all takes seconds at each start. Beside Python's own such files.
_KEPT = PACKAGE_FOLDER / "__pycache__" / f"code_digest.{sys.implementation.cache_tag}.json"


@dataclass(frozen=True)
class _Source:
    """What counts of a file: names it defines, what it imports (module, name or nothing), a digest of its meaning."""

    names: tuple[str, ...]
    imports: tuple[tuple[str, str], ...]
    meaning: str


def module_file(module: str, folder: Path = PACKAGE_FOLDER) -> Path | None:
    """File of one of our modules, or None if there is no such module (the name may be a function or a class).

    Parameters
    ----------
    module : str
        Dotted name, beginning with the package's.
    folder : Path
        Folder of the package.

    Returns
    -------
    Path or None
    """
    head, *rest = module.split(".")
    if head != PACKAGE:
        return None
    stem = folder.joinpath(*rest)
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def defines(target: str, folder: Path = PACKAGE_FOLDER) -> bool:
    """Whether ``"package.module:Name"`` names something that exists; found by reading, nothing is imported.

    Parameters
    ----------
    target : str
        Module and name, as in ``config/models.yaml``. Names outside our package count as existing.
    folder : Path
        Folder of the package.

    Returns
    -------
    bool
    """
    module, _, name = target.partition(":")
    if module.split(".")[0] != PACKAGE:
        return True
    path = module_file(module, folder)
    if path is None:
        return False
    return name in _source(path).names


def modules_used(modules: Iterable[str], folder: Path = PACKAGE_FOLDER) -> dict[str, Path]:
    """Our modules that these modules import, directly or through others, themselves included.

    Imports inside functions count, those under ``if TYPE_CHECKING`` do not. The ``__init__`` of an enclosing
    package counts only where it is imported by name: else every module would depend on all public names.

    Parameters
    ----------
    modules : iterable of str
        Dotted names; foreign ones are ignored.
    folder : Path
        Folder of the package.

    Returns
    -------
    dict
        Module name to file.
    """
    found: dict[str, Path] = {}
    pending = list(modules)
    while pending:
        module = pending.pop()
        path = None if module in found else module_file(module, folder)
        if path is not None:
            found[module] = path
            pending.extend(_imports(path, path.stat().st_mtime_ns, folder))
    return found


def code_digest(modules: Iterable[str], folder: Path = PACKAGE_FOLDER) -> str:
    """Digest of what the modules used say; comments, docstrings and layout do not count.

    A module of kernels says what the C file beside it and the headers of that file say.

    Parameters
    ----------
    modules : iterable of str
        Where the search starts.
    folder : Path
        Folder of the package.

    Returns
    -------
    str
        SHA-256, hexadecimal. It depends on the Python version too (the syntax trees of two versions may differ).
    """
    digest = hashlib.sha256()
    for module, path in sorted(modules_used(modules, folder).items()):
        digest.update(f"{module}\0{_meaning(path, path.stat().st_mtime_ns)}\0".encode())
        for source in _c_files(path.with_suffix(".c")):
            digest.update(f"{source.name}\0{_meaning_in_c(source, source.stat().st_mtime_ns)}\0".encode())
    return digest.hexdigest()


def _c_files(path: Path) -> list[Path]:
    """Return a C file and the headers of ours that it includes, themselves or through others; none if there is none."""
    found: set[Path] = set()
    pending = [path]
    while pending:
        source = pending.pop()
        if source not in found and source.is_file():
            found.add(source)
            pending += [source.with_name(name) for name in _INCLUDE.findall(source.read_text(encoding="utf-8"))]
    return sorted(found)


@cache
def _meaning_in_c(path: Path, _modified: int) -> str:
    return " ".join(_COMMENT.sub(" ", path.read_text(encoding="utf-8")).split())


@cache
def _imports(path: Path, _modified: int, folder: Path) -> list[str]:
    """Our modules that a file imports. Each digest asks again, and each name costs a look at the disk."""
    names: set[str] = set()
    for module, alias in _source(path).imports:
        submodule = f"{module}.{alias}"
        if alias and module_file(submodule, folder):
            names.add(submodule)
        # A name that the package itself defines may be that of a submodule too.
        if not alias or not module_file(submodule, folder) or defines(f"{module}:{alias}", folder):
            names.add(module)
    return sorted(name for name in names if name != PACKAGE and module_file(name, folder))


def _meaning(path: Path, modified: int) -> str:
    return _source(path).meaning


_read: dict[str, tuple[int, int, _Source]] = {}


def _source(path: Path) -> _Source:
    """Read a file, unless it was read before and has the same size and time of change."""
    state, key = path.stat(), str(path)
    _load()
    known = _read.get(key)
    if known is None or known[:2] != (state.st_mtime_ns, state.st_size):
        known = _read[key] = (state.st_mtime_ns, state.st_size, _parsed(path))
    return known[2]


def _parsed(path: Path) -> _Source:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    imports: dict[tuple[str, str], None] = {}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            imports |= {(alias.name, ""): None for alias in node.names if alias.name.split(".")[0] == PACKAGE}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE:
            imports |= {(node.module, alias.name): None for alias in node.names}
        pending.extend(ast.iter_child_nodes(node))
    return _Source(tuple(_names(tree)), tuple(imports), _meaning_of(tree))


def _names(tree: ast.Module) -> Iterable[str]:
    """Names that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _meaning_of(tree: ast.Module) -> str:
    """Digest of a module without docstrings, which are removed from the tree."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def _load() -> None:
    """Take over what an earlier process read, and keep what this one reads for the next."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        for name, (modified, size, source) in json.loads(_KEPT.read_text(encoding="utf-8")).items():
            imports = tuple((module, alias) for module, alias in source["imports"])
            kept = _Source(tuple(source["names"]), imports, source["meaning"])
            _read[str(PACKAGE_FOLDER / name)] = (modified, size, kept)
    before = dict(_read)

    def keep() -> None:
        if _read != before:
            own = {Path(key): value for key, value in _read.items() if Path(key).is_relative_to(PACKAGE_FOLDER)}
            content = {
                path.relative_to(PACKAGE_FOLDER).as_posix(): (modified, size, asdict(source))
                for path, (modified, size, source) in own.items()
            }
            with contextlib.suppress(OSError):  # a package that only others may write to
                atomic_write(_KEPT, json.dumps(content))

    atexit.register(keep)
