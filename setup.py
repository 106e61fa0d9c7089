"""Compiles the kernels when the package is installed or its wheel is made; pyproject.toml has everything else."""

import importlib.util
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

KERNELS = Path("src/cascadeforest/kernels")


class BuildWithKernels(build_py):
    """Python files, and the libraries made from the C files: beside these in an editable installation."""

    def run(self) -> None:
        """Copy the Python files, then compile."""
        super().run()
        spec = importlib.util.spec_from_file_location("build", KERNELS / "build.py")  # the package needs numpy
        assert spec is not None
        assert spec.loader is not None
        build = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(build)
        build.compile_kernels(KERNELS if self.editable_mode else Path(self.build_lib, "cascadeforest", "kernels"))


class Wheel(bdist_wheel):
    """The libraries are of one system, but of no version of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return Python, its binary interface, and the system."""
        return "py3", "none", super().get_tag()[2]


class WithLibraries(Distribution):
    """Not of Python alone."""

    def has_ext_modules(self) -> bool:
        """Return whether there is compiled code."""
        return True


setup(cmdclass={"build_py": BuildWithKernels, "bdist_wheel": Wheel}, distclass=WithLibraries)
