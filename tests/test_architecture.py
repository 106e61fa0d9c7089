"""The direction of imports, and agreement between the files that state the environment."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "cascadeforest"
#: A layer may import those before it, and itself.
LAYERS = ["forest", "cascade", "explanations", "data", "baselines", "experiments", "reports"]
LIBRARY = {"forest", "cascade", "explanations"}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_never_turn_back(path):
    layer = path.relative_to(PACKAGE).parts[0]
    if layer not in LAYERS:
        return  # the package's own __init__ and version
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "cascadeforest" and len(parts) > 1 and parts[1] in LAYERS:
            assert parts[1] in allowed, f"{path} imports {name}"
        if layer in LIBRARY:
            assert parts[0] not in {"mlflow", "snakemake"}, f"{path} imports {name}"


def test_one_module_asks_the_package_who_stands_above_it():
    """`feature_importances_` of cascades: decision 28. From the package all layers can be reached."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if path.relative_to(PACKAGE).parts[0] in LAYERS and "cascadeforest" in imports_of(path)
    }
    assert users == {"cascade/explainable.py"}


@pytest.mark.parametrize("package", ["data", "baselines", "experiments", "reports"])
def test_command_lines_can_set_threads_before_numpy_loads(package):
    """These packages import nothing by themselves; `python -m` reads their __init__ first."""
    assert not list(imports_of(PACKAGE / package / "__init__.py"))


def test_only_tracking_imports_mlflow():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if any(n.startswith("mlflow") for n in imports_of(path))
    }
    assert users <= {"experiments/tracking.py"}


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements):
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in requirements}


def locked():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return {line.split("==")[0]: line.split("==")[1].split()[0] for line in lines if re.match(r"[a-z0-9._-]+==", line)}


def test_the_lock_holds_every_declared_dependency_with_hashes_and_no_address():
    extras = project()["optional-dependencies"]
    declared = names(project()["dependencies"]).union(*(names(extras[e]) for e in ("workflow", "baselines", "dev")))
    assert declared <= set(locked())
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert text.count("--hash=sha256:") > len(locked())
    assert "://" not in text


def test_the_lock_satisfies_the_declared_versions():
    from packaging.requirements import Requirement

    extras = project()["optional-dependencies"]
    for line in [*project()["dependencies"], *extras["workflow"], *extras["baselines"], *extras["dev"]]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(locked()[requirement.name.lower()]), line


def test_the_conda_environment_agrees_with_pyproject():
    import yaml
    from packaging.specifiers import SpecifierSet

    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, pip = environment["dependencies"]
    python = next(entry for entry in packages if entry.startswith("python="))
    assert SpecifierSet(project()["requires-python"]).contains(python.split("=")[1])
    assert pip == {"pip": ["-r requirements.lock"]}, "packages come from the lock only"


def test_the_makefile_asks_for_the_python_that_pyproject_asks_for():
    assert project()["requires-python"] == ">=3.11"
    assert "sys.version_info >= (3, 11)" in (ROOT / "Makefile").read_text(encoding="utf-8")
