"""The direction of imports, and agreement between the files that state the environment."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "cascadeforest"
#: A layer may import those before it, and itself.
LAYERS = ["kernels", "forest", "cascade", "explanations", "data", "baselines", "inference", "experiments", "reports"]
LIBRARY = {"kernels", "forest", "cascade", "explanations"}


def imports_of(path, nodes=ast.walk):
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
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
    # Modules beside the layers belong to the library.
    allowed = set(LAYERS[: LAYERS.index(layer) + 1]) if layer in LAYERS else LIBRARY
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "cascadeforest" and len(parts) > 1 and parts[1] in LAYERS:
            assert parts[1] in allowed, f"{path} imports {name}"
        if layer in LIBRARY:
            assert parts[0] not in {"mlflow", "snakemake"}, f"{path} imports {name}"


def without_type_checking(tree):
    """The nodes of a module, but for what stands under ``if TYPE_CHECKING:``, which no interpreter runs."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def imports_within(folder):
    """Module of a package to the modules of the same package that it imports, at its top or inside functions."""
    names = {path: ".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in folder.rglob("*.py")}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    known, graph = set(names.values()), {}
    for path, name in names.items():
        used = (found.removeprefix(f"{PACKAGE.name}.") for found in imports_of(path, without_type_checking))
        # `from a.b import c` is a.b.c where that is a module, else a.b.
        graph[name] = {found if found in known else found.rpartition(".")[0] for found in used} & known - {name}
    return graph


def circle_of(graph):
    """Some circle of imports as a list of modules, or None."""
    graph = dict(graph)
    while leaves := [name for name, used in graph.items() if not used & graph.keys()]:
        for name in leaves:
            del graph[name]
    if not graph:
        return None
    path = [min(graph)]
    while path[-1] not in path[:-1]:
        path.append(min(graph[path[-1]] & graph.keys()))
    return path[path.index(path[-1]) :]


@pytest.mark.parametrize("package", LAYERS)
def test_no_package_imports_in_a_circle(package):
    assert circle_of(imports_within(PACKAGE / package)) is None


def test_a_circle_of_imports_is_found(tmp_path):
    """Of a module at the top with one inside a function; an import for types only is none."""
    for name, text in {
        "__init__": "",
        "a": "import cascadeforest.room.b",
        "b": "def f():\n    from cascadeforest.room import a",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cascadeforest.room.d import D",
        "d": "from cascadeforest.room.c import C",
    }.items():
        (tmp_path / "room").mkdir(exist_ok=True)
        (tmp_path / "room" / f"{name}.py").write_text(text, encoding="utf-8")
    assert circle_of(imports_within(tmp_path / "room")) == ["room.a", "room.b", "room.a"]


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


def test_inference_uses_nothing_else_of_ours():
    """It is statistics of arrays, for anybody who compares models: decision 53."""
    used = {name for path in (PACKAGE / "inference").rglob("*.py") for name in imports_of(path)}
    assert all(name.startswith("cascadeforest.inference.") for name in used if name.startswith("cascadeforest"))


def test_only_tracking_imports_mlflow():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if any(n.startswith("mlflow") for n in imports_of(path))
    }
    assert users <= {"experiments/tracking.py", "experiments/tracking_store.py"}


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


@pytest.mark.parametrize("extra", ["arena", "dask", "postgres", "slurm"])
def test_the_lock_of_an_extra_satisfies_it_and_replaces_nothing(extra):
    from packaging.requirements import Requirement

    text = (ROOT / f"requirements-{extra}.lock").read_text(encoding="utf-8")
    packages = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, flags=re.MULTILINE))
    for line in project()["optional-dependencies"][extra]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(packages[requirement.name.lower()]), line
    everywhere = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    base = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", everywhere, flags=re.MULTILINE))
    assert {name: base[name] for name in packages if name in base} == {
        name: version for name, version in packages.items() if name in base
    }
    assert text.count("--hash=sha256:") >= len(packages)
    assert "://" not in text


def test_make_refuses_an_extra_without_a_lock():
    command = ["make", "--dry-run", "setup", "EXTRAS=slurm nonsense"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert process.returncode == 2
    assert "EXTRAS names 'nonsense'; there are arena dask postgres slurm" in process.stderr


def test_make_installs_an_extra_from_its_lock():
    command = ["make", "--dry-run", "setup", "EXTRAS=slurm"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    assert re.search(r"pip install .*--require-hashes .*-r requirements-slurm\.lock", process.stdout)


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
