"""The wheel, built from the sources and installed where nothing else of this project is."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import cascadeforest
from cascadeforest import GCForestClassifier

ROOT = Path(__file__).resolve().parents[1]
#: Not downloaded: libraries and build tools are those of the environment that runs the tests.
GIVEN = ("numpy", "scipy", "pandas", "sklearn", "joblib", "threadpoolctl", "setuptools", "ziglang")
PARAMETERS = {"n_forests": 2, "n_estimators": 5, "max_layers": 2, "keep": "last", "random_state": 0}
USE = """
import hashlib, importlib.metadata, json, sys
from sklearn.datasets import load_iris
import cascadeforest
from cascadeforest import kernels
X, y = load_iris(return_X_y=True)
model = cascadeforest.GCForestClassifier(**json.loads(sys.argv[1])).fit(X, y)
print(json.dumps({
    "package": cascadeforest.__file__,
    "kernels": kernels._library()._name,
    "version": importlib.metadata.version("cascadeforest"),
    "probabilities": hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest(),
    "classes": model.predict(X).tolist(),
}))
"""


def run(*command, **options):
    """Run a command and return what it prints; what it says is in the error if it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def site_packages():
    folders = {str(Path(importlib.util.find_spec(name).origin).parent.parent) for name in GIVEN}
    return sorted(folders - {str(ROOT / "src")})


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A Python with the wheel, built from the files that are in the sources, and with the libraries it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    compiled = shutil.ignore_patterns("*.so", "*.dll", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "src", sources / "src", ignore=compiled)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    is_windows = os.name == "nt"
    venv.create(folder / "venv", symlinks=not is_windows, with_pip=True)
    python = folder / "venv" / ("Scripts/python.exe" if is_windows else "bin/python")
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--no-input")
    offline = ("--no-deps", "--no-index", "--quiet")
    build = {**os.environ, "PYTHONPATH": os.pathsep.join(site_packages())}
    run(*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", folder, ".", cwd=sources, env=build)
    (wheel,) = folder.glob("*.whl")
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run(*pip, "install", *offline, wheel, cwd=folder, env=alone)
    (own,) = run(python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").split()
    Path(own, "libraries.pth").write_text("\n".join(site_packages()), encoding="utf-8")
    return python, Path(own), wheel


def test_the_wheel_fits_and_predicts_outside_the_checkout(installed, tmp_path):
    python, own, _ = installed
    said = json.loads(run(python, "-I", "-c", USE, json.dumps(PARAMETERS), cwd=tmp_path))
    assert Path(said["package"]) == own / "cascadeforest" / "__init__.py"
    assert Path(said["kernels"]).parent == own / "cascadeforest" / "kernels"
    assert said["version"] == cascadeforest.__version__
    X, y = load_iris(return_X_y=True)
    model = GCForestClassifier(**PARAMETERS).fit(X, y)
    assert said["classes"] == model.predict(X).tolist()
    assert said["probabilities"] == hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest()
    assert np.mean(np.array(said["classes"]) == y) > 0.9


def test_the_wheel_holds_what_the_package_reads(installed):
    _, own, wheel = installed
    assert wheel.name.startswith(f"cascadeforest-{cascadeforest.__version__}-py3-none-")
    package = ROOT / "src" / "cascadeforest"
    wanted = {path.relative_to(package) for end in ("py", "c", "h", "j2") for path in package.rglob(f"*.{end}")}
    found = {path.relative_to(own / "cascadeforest") for path in (own / "cascadeforest").rglob("*") if path.is_file()}
    assert wanted <= found
    others = {path.name for path in found - wanted if path.suffix != ".pyc"}
    assert others == {path.name for path in (package / "kernels").glob("kernels-v?.*")} > set()
