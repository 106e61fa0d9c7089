"""Frozen dataclasses to JSON and back, for plans, runs, cells and options.

`to_json` writes the fields of a dataclass. `from_json` reads them by the annotations of the fields; its errors name the
place of a wrong value. JSON has no tuples and no paths, so annotations determine the type that a list becomes.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias, TypeVar

from cascadeforest.data.errors import ConfigError

T = TypeVar("T")
#: Any JSON value, before it is read into a type.
Json: TypeAlias = object


def to_json(value: object) -> Json:
    """Convert a dataclass, or a container of dataclasses, to JSON values.

    Parameters
    ----------
    value : object
        Dataclasses, mappings with text as keys, lists, tuples, text, numbers, None. Fields with default values are
        written too, so that a stored file is complete.

    Raises
    ------
    TypeError
        If the value contains another type.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written as JSON: {value!r}")


def from_json(kind: type[T], value: object, place: str) -> T:
    """Read a dataclass from JSON values.

    Parameters
    ----------
    kind : type
        The dataclass. Its fields are annotated with dataclasses, ``dict[str, X]``, ``tuple[X, ...]``, ``tuple[X, Y]``,
        ``X | None``, ``Literal``, ``bool``, ``int``, ``float``, ``str`` or ``Json``, which is anything. Where a number
        is asked for, a whole one stays an ``int``: 10 trees are not 10.0 trees.
    value : object
        Content of the JSON or YAML file.
    place : str
        Place of the value, for the message: file and keys.

    Returns
    -------
    instance of `kind`

    Raises
    ------
    ConfigError
        If a field is missing without a default, unknown, or of another type.
    """
    return typing.cast(T, _read(kind, value, place))


def _read(kind: object, value: object, place: str) -> object:
    if kind is Json:
        return value
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _read_dataclass(kind, value, place)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _read_union(kind, arguments, value, place)
    if origin is typing.Literal and value in arguments:
        return value
    if origin is dict and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _read(arguments[1], item, f"{place}/{key}") for key, item in value.items()}
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else list(arguments)
        if len(kinds) == len(value):
            return tuple(
                _read(one, item, f"{place}/{k}") for k, (one, item) in enumerate(zip(kinds, value, strict=True))
            )
    if isinstance(kind, type) and _is_scalar(kind, value):
        return value
    raise ConfigError(f"{place} is {value!r}; it must be {_words(kind)}.")


def _read_union(kind: object, arguments: tuple[object, ...], value: object, place: str) -> object:
    """The only alternative says best what is wrong with a value; of several none can."""
    if value is None and types.NoneType in arguments:
        return None
    alternatives = [one for one in arguments if one is not types.NoneType]
    if len(alternatives) == 1:
        return _read(alternatives[0], value, place)
    for one in alternatives:
        try:
            return _read(one, value, place)
        except ConfigError:
            continue
    raise ConfigError(f"{place} is {value!r}; it must be {_words(kind)}.")


def _read_dataclass(kind: type, value: object, place: str) -> object:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{place} is {value!r}; it must be a mapping of {', '.join(_hints(kind))}.")
    hints = _hints(kind)
    if unknown := [str(key) for key in value if key not in hints]:
        raise ConfigError(f"{place} has {', '.join(unknown)}; it can have {', '.join(hints) or 'nothing'}.")
    found = {name: _read(hints[name], item, f"{place}/{name}") for name, item in value.items()}
    required = [f.name for f in dataclasses.fields(kind) if f.default is f.default_factory is dataclasses.MISSING]
    if missing := [name for name in required if name not in found]:
        raise ConfigError(f"{place} lacks {', '.join(missing)}.")
    return kind(**found)


@cache
def _hints(kind: type) -> dict[str, object]:
    """Annotations of the fields, in their order, as types."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _is_scalar(kind: type, value: object) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return kind in (bool, str) and isinstance(value, kind)


def _words(kind: object) -> str:
    """Name of a type, for users of YAML."""
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", types.NoneType: "null"}
    if kind in names:
        return names[typing.cast(type, kind)]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_words(one) for one in arguments)
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is tuple:
        if arguments[1:] == (...,):
            return f"a list, each of it {_words(arguments[0])}"
        return f"a list of {len(arguments)}: {', '.join(map(_words, arguments))}"
    if origin is dict:
        return f"a mapping of names, each to {_words(arguments[1])}"
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return f"a mapping of {', '.join(_hints(kind))}"
    return str(kind)
