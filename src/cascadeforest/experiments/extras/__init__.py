"""What a cell saves beyond its metrics, for figures: named arrays of a fitted model.

An extra is asked for by name (``extras:`` of an experiment), which is that of a module in this package with a function
``arrays(fitted, *layers)``. One that is about certain layers says so (``OF_LAYERS = True``) and has their numbers
behind its name, ``representations-1-5``: the plan puts them there (`extra_name`), so that they are part of the cell's
name. Found by name, not imported here, so that a new extra makes no cell stale that does not save it.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from cascadeforest.data.errors import ConfigError


@dataclass(frozen=True)
class Fitted:
    """A fitted model with its data.

    Parameters
    ----------
    estimator : estimator
        The model.
    split : cascadeforest.data.dataset.Split
        Rows, classes or targets, row numbers.
    X_train, X_test : ndarray
        Features as the model saw them.
    outputs : mapping
        What it predicted for the test rows: ``predicted``, and ``probabilities`` or ``scores`` where it gives them.
    task : str
        ``classification`` or ``regression``.
    dataset : str
        Data set variant.
    repeat : int
        Number of the repeat.
    """

    estimator: Any
    split: Any
    X_train: Any
    X_test: Any
    outputs: Mapping[str, Any]
    task: str
    dataset: str
    repeat: int

    def attribute(self, extra: str, name: str) -> Any:
        """Attribute of the estimator that an extra needs.

        Parameters
        ----------
        extra : str
            Name of the extra, for the message.
        name : str
            The attribute.

        Returns
        -------
        object

        Raises
        ------
        ConfigError
            If the model does not have it.
        """
        if not hasattr(self.estimator, name):
            raise ConfigError(
                f"config/experiments: the extra '{extra}' needs '{name}', which {type(self.estimator).__name__} does "
                "not have. Take the model or the extra out of the experiment."
            )
        return getattr(self.estimator, name)


def known_extras() -> list[str]:
    """Names of all extras.

    Returns
    -------
    list of str
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def module_of(extra: str) -> str:
    """Module that computes an extra.

    Parameters
    ----------
    extra : str
        Its name, with or without layers; of an unknown one the module does not exist.

    Returns
    -------
    str
        Dotted name.
    """
    return f"{__name__}.{extra.partition('-')[0]}"


def extra_name(extra: str, options: Mapping[str, Any], place: str) -> str:
    """Full name of an extra: with the layers that the experiment's options ask for, if it is about layers.

    Parameters
    ----------
    extra : str
        As in the experiment's ``extras``.
    options : mapping
        The experiment's ``options``.
    place : str
        The experiment, for the message.

    Returns
    -------
    str

    Raises
    ------
    ConfigError
        If the options name no layers.
    """
    if extra not in known_extras() or not _is_of_layers(_module(extra)):
        return extra
    layers = options.get("layers")
    if not isinstance(layers, list | tuple) or not layers or not all(type(k) is int and k >= 0 for k in layers):
        raise ConfigError(
            f"{place}: options/layers is {layers!r}, and the extra '{extra}' saves layers; give a list of their "
            "numbers, as in 'options: {layers: [1, 5]}' (0: the input)."
        )
    return "-".join([extra, *map(str, layers)])


def arrays_of(extra: str, fitted: Fitted) -> dict[str, Any]:
    """Compute an extra.

    Parameters
    ----------
    extra : str
        Its full name.
    fitted : Fitted
        The model.

    Returns
    -------
    dict
        Name to array.

    Raises
    ------
    ConfigError
        If there is no such extra, or the model cannot give it.
    """
    name, *layers = extra.split("-")
    if name in known_extras() and all(re.fullmatch(r"\d+", layer) for layer in layers):
        module = _module(name)
        if _is_of_layers(module) == bool(layers):
            compute: Callable[..., dict[str, Any]] = module.arrays
            return compute(fitted, *map(int, layers))
    raise ConfigError(f"config/experiments: the extra '{extra}' is unknown; choose from {known_extras()}.")


def _module(extra: str) -> ModuleType:
    return importlib.import_module(module_of(extra))


def _is_of_layers(module: ModuleType) -> bool:
    return getattr(module, "OF_LAYERS", False)
