"""What a cell saves beyond predictions, for figures: named arrays of a fitted model.

An extra is asked for by name (``extras:`` of an experiment), which is that of a module in this package with a function
``arrays(fitted, *layers)``, or of a rule of `cascadeforest.experiments.importance_rules`. A module that is about
certain layers says so (``OF_LAYERS = True``) and has their numbers behind its name, ``representations-1-5``: the plan
puts them there (`extra_name`), so that they are part of the cell's name. One that reads what the model logged while it
was fitted says that (``NEEDS_LOG = True``). No fit imports this module, so that a new extra makes no cell stale that
does not save it.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.fitting import Fitted
from cascadeforest.experiments.importance_rules import RULES

if TYPE_CHECKING:
    import numpy as np

#: The module that computes all extras named in `RULES`.
IMPORTANCES = "importances"


def known_extras() -> list[str]:
    """Return the names of all extras."""
    return sorted({module.name for module in pkgutil.iter_modules(__path__)} - {IMPORTANCES} | set(RULES))


def module_of(extra: str) -> str:
    """Return the dotted name of the module that computes an extra, or of none if there is no such extra.

    Parameters
    ----------
    extra : str
        Its name, with or without layers.
    """
    return f"{__name__}.{IMPORTANCES if extra in RULES else extra.partition('-')[0]}"


def extra_name(extra: str, options: Mapping[str, object], place: str) -> str:
    """Return the full name of an extra: with the layers that the experiment's options ask for, if it is about layers.

    Parameters
    ----------
    extra : str
        As in the experiment's ``extras``.
    options : mapping
        The experiment's ``options``.
    place : str
        The experiment, for the message.

    Raises
    ------
    ConfigError
        If the options name no layers.
    """
    if extra not in known_extras() or not _says(extra, "OF_LAYERS"):
        return extra
    layers = options.get("layers")
    if not isinstance(layers, list | tuple) or not layers or not all(type(k) is int and k >= 0 for k in layers):
        raise ConfigError(
            f"{place}: options/layers is {layers!r}, and the extra '{extra}' saves layers; give a list of their "
            "numbers, as in 'options: {layers: [1, 5]}' (0: the input)."
        )
    return "-".join([extra, *map(str, layers)])


def needs_log(extra: str) -> bool:
    """Return whether an extra reads what the model logged while it was fitted."""
    return extra.partition("-")[0] in known_extras() and _says(extra, "NEEDS_LOG")


def arrays_of(extra: str, fitted: Fitted) -> dict[str, np.ndarray]:
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
    if (
        name in known_extras()
        and all(re.fullmatch(r"\d+", layer) for layer in layers)
        and _says(name, "OF_LAYERS") == bool(layers)
    ):
        compute: Callable[..., dict[str, np.ndarray]] = _module(name).arrays
        return compute(fitted, name) if name in RULES else compute(fitted, *map(int, layers))
    raise ConfigError(f"config/experiments: the extra '{extra}' is unknown; choose from {known_extras()}.")


def _module(extra: str) -> ModuleType:
    return importlib.import_module(module_of(extra))


def _says(extra: str, what: str) -> bool:
    return getattr(_module(extra), what, False)
