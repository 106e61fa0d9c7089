"""Forests of layers in files, so that a cascade needs the memory of one forest: the parameter `layers_dir`."""

from __future__ import annotations

import itertools
import os
import tempfile
import weakref
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cascadeforest.saving import OnDisk

if TYPE_CHECKING:
    from cascadeforest.cascade.layer import FoldForest
    from cascadeforest.cascade.representation import Representation
    from cascadeforest.forest.trees import Trees


def check_layers_dir(layers_dir: object) -> None:
    """Check that `layers_dir` is None, or names a folder that exists or can be made.

    Raises
    ------
    ValueError
        If it does not.
    """
    if layers_dir is None:
        return
    if not isinstance(layers_dir, str | os.PathLike) or not isinstance(os.fspath(layers_dir), str):
        raise ValueError(f"layers_dir is {layers_dir!r}; give the path of a folder, or None.")
    if (path := Path(layers_dir)).exists() and not path.is_dir():
        raise ValueError(f"layers_dir is {str(layers_dir)!r}, which is a file; give the path of a folder, or None.")


class StoredForest(OnDisk):
    """A `FoldForest` in a file.

    Parameters
    ----------
    forest : FoldForest
        The forest.
    path : Path
        The file to write.
    folder : LayersFolder
        The folder of the file, which is needed as long as the file is.
    """

    def __init__(self, forest: FoldForest, path: Path, folder: LayersFolder):
        super().__init__(forest, path)
        self.n_trees, self.nbytes, self._folder = forest.n_trees, forest.nbytes, folder
        self._trees: weakref.ref[Trees] | None = None

    def opened(self) -> FoldForest:
        """As in `OnDisk`; with the trees that are in use, if there are any, so that `save` writes them once."""
        forest: FoldForest = super().opened()
        if self._trees is not None and (trees := self._trees()) is not None:
            return replace(forest, trees=trees)
        self._trees = weakref.ref(forest.trees)
        return forest

    def predict(self, representation: Representation, rows: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Vectors of `rows`, shape (n, n_outputs)."""
        return self.opened().predict(representation, rows, n_jobs)


class LayersFolder:
    """Folder for the forests of one fit, deleted with the last of them; other fits have other folders.

    Parameters
    ----------
    layers_dir : str or PathLike
        The folder to make it in; missing folders above are made.
    """

    def __init__(self, layers_dir: str | os.PathLike[str]):
        parent = Path(layers_dir).absolute()  # the process may change its folder
        parent.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="cascade-", dir=parent))
        self._numbers = itertools.count(1)
        weakref.finalize(self, _delete_empty, self.path)

    def keep(self, forest: FoldForest) -> StoredForest:
        """Write a forest."""
        return StoredForest(forest, self.path / f"{next(self._numbers):05}.forest", self)


def _delete_empty(folder: Path) -> None:
    """Delete a folder if nothing is left in it."""
    with suppress(OSError):
        folder.rmdir()
