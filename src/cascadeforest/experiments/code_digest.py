"""Which of our modules does a piece of work use, and what do they say? A digest of that, so that edits rerun it.

Snakemake compares the text of rules and parameters; it does not see that an imported module changed. Each rule
therefore carries a digest of the modules that its job uses, found by following the import statements.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = "cascadeforest"
PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
_INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


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
    for node in _syntax(path, path.stat().st_mtime_ns).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return True
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            return True
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return True
    return False


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
        path = module_file(module, folder)
        if path is None or module in found:
            continue
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
def _syntax(path: Path, _modified: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def _imports(path: Path, modified: int, folder: Path) -> tuple[str, ...]:
    names: set[str] = set()
    pending: list[ast.AST] = [_syntax(path, modified)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                if module_file(submodule, folder):
                    names.add(submodule)
                # A name that the package itself defines may be that of a submodule too.
                if not module_file(submodule, folder) or defines(f"{node.module}:{alias.name}", folder):
                    names.add(node.module)
        pending.extend(ast.iter_child_nodes(node))
    return tuple(sorted(name for name in names if name != PACKAGE and module_file(name, folder)))


@cache
def _meaning(path: Path, modified: int) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:]
    return ast.dump(tree)
