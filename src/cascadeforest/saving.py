"""Fitted models in files of arrays and JSON: `save` and `load`. Loading runs no code that a file brings.

A file has three parts. All numbers are little-endian.

1. A header of 32 bytes: 16 bytes that all such files begin with (`_MAGIC`), the version of the format (4 bytes), the
   CRC-32 of part 2 (4 bytes) and its length in bytes (8 bytes).
2. JSON, with spaces at its end up to a multiple of 64 bytes. `_Writer` says what is in it.
3. The arrays one after the other, each with zeros at its end up to a multiple of 64 bytes. Part 2 has their types,
   shapes and CRC-32. They are not compressed, so that they can be mapped into memory.

All bytes of a file are under a checksum, and the sizes that part 2 states must add up to the size of the file before
any array is made. What is not in `_HOMES` cannot be named by a file.

A new format gets a new `VERSION`, and `load` goes on reading the old ones: files of each version are in tests/golden.
"""

from __future__ import annotations

import copy
import errno
import importlib
import json
import math
import mmap as memory
import os
import re
import reprlib
import struct
import weakref
import zlib
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from cascadeforest._files import atomic_path
from cascadeforest._public import HOME
from cascadeforest._version import __version__

#: Version of the format that `save` writes, and the latest one that `load` reads.
VERSION = 1
_MAGIC = b"\x93cascadeforest\r\n"  # changes if a program takes the file for text
_HEADER = struct.Struct("<16sIIQ")
#: Arrays begin at multiples of this number of bytes, a cache line.
_STEP = 64
#: Bytes that are read at once for a checksum.
_BLOCK = 1 << 20
#: Types of arrays that are written as they are: numbers, strings of fixed width, times.
_PLAIN = re.compile(r"[<|](b1|[iu][1248]|f[248]|c8|c16|[SU][1-9]\d{0,8}|[mM]8(\[[0-9a-zA-Z]{1,9}\])?)")

#: Modules of the models that `save` takes, by the names that files give to classes.
_MODELS = {name: home for name, home in HOME.items() if name not in ("Explanation", "explain", "load", "save")}
#: Modules of all classes that a file may have objects of. A class that moves keeps its name here.
_HOMES = {
    **_MODELS,
    "BinMapper": "cascadeforest.forest.binning",
    "CascadeWalk": "cascadeforest.cascade.walks",
    "Categories": "cascadeforest.forest.categories",
    "Condition": "cascadeforest.cascade.combination",
    "FixedGrains": "cascadeforest.cascade.scanning",
    "FoldDraw": "cascadeforest.cascade.layer",
    "FoldForest": "cascadeforest.cascade.layer",
    "ForestWalk": "cascadeforest.forest.walks",
    "FreshGrains": "cascadeforest.cascade.scanning",
    "Grain": "cascadeforest.cascade.scanning",
    "HardExampleForest": "cascadeforest.cascade.hard_examples",
    "HardExampleWalk": "cascadeforest.cascade.hard_examples",
    "Interaction": "cascadeforest.cascade.combination",
    "InteractionWalk": "cascadeforest.cascade.interactions",
    "Interactions": "cascadeforest.cascade.combination",
    "IsotonicRegression": "sklearn.isotonic",
    "Layer": "cascadeforest.cascade.layer",
    "Joined": "cascadeforest.explanations._levels",
    "LeafTables": "cascadeforest.explanations._forests",
    "LearnedRows": "cascadeforest.forest.learned_rows",
    "LevelTables": "cascadeforest.explanations._levels",
    "MarginWalk": "cascadeforest.cascade.margin",
    "Options": "cascadeforest.explanations._levels",
    "Part": "cascadeforest.explanations._levels",
    "PlainFeatures": "cascadeforest.cascade.representation",
    "Progress": "cascadeforest.cascade.progress",
    "Rows": "cascadeforest.forest.learned_rows",
    "Scan": "cascadeforest.cascade.scanning",
    "ScanRules": "cascadeforest.cascade.scanning",
    "Scanning": "cascadeforest.cascade.scanning",
    "ScreeningWalk": "cascadeforest.cascade.screening",
    "SharedColumns": "cascadeforest.forest.walks",
    "Trees": "cascadeforest.forest.trees",
    "WeightingWalk": "cascadeforest.cascade.screening",
    "_Bags": "cascadeforest.forest._base",
    "_Final": "cascadeforest.cascade.interactions",
    "object": "builtins",
}
_PICKLE = "keep the model with pickle or joblib, and load such files only if you trust them"
#: Parameters that a fitted model no longer needs, and the value that takes the place of one that has no text.
_ONLY_FOR_FIT = {"oob_score": False, "random_state": None, "scoring": None}


def save(model: Any, file: str | Path) -> None:
    """Write a fitted model to a file of arrays and JSON, which `load` reads without running code of the file.

    The file is written in one step: an interrupted `save` leaves the old file, or none. Equal models give equal bytes.
    As in a pickle, there are digests in the place of the training rows that a model keeps for explanations, and leaf
    tables in the place of those of an `Explainer`, which then explains new rows only.

    Parameters
    ----------
    model : estimator or Explainer
        A fitted forest, cascade, `MultiGrainedScanner` or `HardExampleClassifier` of this package, or an `Explainer`.
    file : str or Path
        The file; missing folders above it are made. Any ending will do.

    Raises
    ------
    TypeError
        If the class of the model is another one (a subclass counts as another one), or something in the model is
        neither numbers, text nor an object of this package: an estimator of another package in a layer, a function as
        `scoring`, a ``RandomState``. The message names it.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import RandomForestClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(forest, pathlib.Path(folder) / "iris.model")
    ...     again = load(pathlib.Path(folder) / "iris.model")
    >>> bool((again.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    kind = type(model)
    if _MODELS.get(kind.__name__) != kind.__module__:
        raise TypeError(
            f"model is a {kind.__name__} of {kind.__module__}; save takes {', '.join(_MODELS)}. Of a pipeline give the "
            f"last step. Otherwise {_PICKLE}."
        )
    if kind.__name__ != "Explainer":
        check_is_fitted(model)
    write_object(model, file)


def write_object(one: Any, file: str | Path) -> None:
    """Write an object of a class in `_HOMES`, which need not be a model; see `save`."""
    writer = _Writer(one)
    text = writer.text()
    with atomic_path(file) as temporary, temporary.open("wb") as stream:
        stream.write(_HEADER.pack(_MAGIC, VERSION, zlib.crc32(text), len(text)))
        stream.write(text)
        for array in writer.arrays:
            stream.write(_bytes_of(array))
            stream.write(_padding(array))
            _let_go(array)


def load(file: str | Path, *, mmap: bool = False) -> Any:
    """Read a model that `save` wrote. No code of the file is run, so that files of other people can be read.

    Every byte is checked against the checksums of the file, and nodes and bins, which kernels follow, must lie within
    their arrays.

    Parameters
    ----------
    file : str or Path
        The file.
    mmap : bool, default=False
        Whether arrays stay on disk, mapped into memory: the system reads what is used, and processes that load the same
        file share it. The file must not be changed in place; `save` replaces it, which does no harm.

    Returns
    -------
    estimator or Explainer
        Its predictions have the same bytes as those of the model that was saved.

    Raises
    ------
    ValueError
        If the file is damaged, was not written by `save`, or has a version that this version of the package does not
        know. The message names the file and says what to do.
    FileNotFoundError
        If there is no such file.
    """
    return read_object(Path(file), mmap=mmap, kinds=_MODELS)


def read_object(path: Path, *, mmap: bool, kinds: Container[str], is_trusted: bool = False) -> Any:
    """Read an object that `save` or `write_object` wrote; see `load`.

    Parameters
    ----------
    path : Path
        The file.
    mmap : bool
        Whether arrays stay on disk.
    kinds : container of str
        Names of the classes that the object may have.
    is_trusted : bool
        Whether to leave out the checks that read whole arrays, for a file that did not change since it was written.

    Returns
    -------
    object

    Raises
    ------
    ValueError, FileNotFoundError
        As in `load`.
    """
    with path.open("rb") as stream:
        content, begin = _content(path, stream)
        try:
            places = list(_places(content["arrays"], begin))
            end, size = places[-1].end if places else begin, os.fstat(stream.fileno()).st_size
            if size != end:
                raise ValueError(f"it has {size} bytes, but its arrays end at byte {end}")
            for place in () if is_trusted else places:
                place.check(stream)
            mapped = memory.mmap(stream.fileno(), 0, access=memory.ACCESS_READ) if mmap else None
            arrays = [place.read(stream, mapped) for place in places]
            found = _Reader(arrays, is_trusted).last(content["objects"], kinds)
        except _Unknown as error:
            raise _refusal(path, error, _UPDATE) from error
        except _UNFIT as error:
            raise _refusal(path, error) from error
    _let_go(mapped)  # the checks read the nodes
    return found


def _let_go(owner: object) -> None:
    """Free the memory of a mapped file, or of the one that an array is in; the system reads it again if it is used."""
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memory.mmap) and hasattr(memory, "MADV_DONTNEED"):
        owner.madvise(memory.MADV_DONTNEED)


class OnDisk:
    """An object in a file of its own, mapped into memory while it is used. The file is deleted with this handle.

    Pickles and files of `save` hold the object itself in the place of the handle.

    Parameters
    ----------
    one : object
        An object of a class in `_HOMES`.
    path : Path
        The file to write.
    """

    def __init__(self, one: Any, path: Path):
        write_object(one, path)
        self.path, self._kind = path, type(one).__name__
        self._seen = self._state()
        weakref.finalize(self, _delete, path, os.getpid())

    def opened(self) -> Any:
        """Map the object.

        The checksums are read again only if the file changed since it was last found right.

        Raises
        ------
        FileNotFoundError
            If the file is gone.
        ValueError
            If the file is damaged.
        OSError
            If the system cannot read it, or the process has too many files open.
        """
        try:
            state = self._state()
            found = read_object(self.path, mmap=True, kinds=(self._kind,), is_trusted=state == self._seen)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.path}, a part of a fitted model, is gone. {_FIT_AGAIN}") from error
        except ValueError as error:
            raise ValueError(f"{self.path}, a part of a fitted model, cannot be used: {error} {_FIT_AGAIN}") from error
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise
            raise OSError(error.errno, f"{error.strerror}; {_MORE_FILES}", str(self.path)) from error
        self._seen = state
        return found

    def _state(self) -> tuple[int, int]:
        """Size of the file, and when it was changed."""
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # the file does not change

    def __reduce__(self) -> tuple[Any, ...]:
        return copy.copy, (self.opened(),)


_FIT_AGAIN = (
    "Files in layers_dir are needed as long as the model is: fit it again, and keep a model by cascadeforest.save."
)


_MORE_FILES = "save and explanations map all forests in layers_dir: allow the process more (ulimit -n)"


def _delete(path: Path, process: int) -> None:
    """Delete a file, but not in a process that was forked from the one that made it."""
    if os.getpid() == process:
        with suppress(OSError):  # it is gone, or (Windows) still mapped
            path.unlink()


def _load_pyfunc(data_path: str) -> Any:
    """Read a model for MLflow, which looks for this name: ``save_model(loader_module="cascadeforest.saving", ...)``."""
    return load(data_path)


_COPY = "Copy it again from where it came from, or save the model again."
_UPDATE = "Update cascadeforest, or save the model again with this version."
#: What goes wrong with parts that do not fit together.
_UNFIT = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)


class _Unknown(ValueError):
    """Something that a later version may know."""


def _refusal(path: Path, fault: object, remedy: str = _COPY) -> ValueError:
    if not isinstance(fault, ValueError | str):
        fault = f"its parts do not fit together ({fault!r})"
    return ValueError(f"{path} cannot be read: {fault}. {remedy}")


def _content(path: Path, stream: BufferedReader) -> tuple[dict[str, Any], int]:
    """Return the JSON of a file, and where its arrays begin."""
    header = stream.read(_HEADER.size)
    if not header.startswith(_MAGIC):
        raise _refusal(
            path,
            "it was not written by cascadeforest.save",
            "Name a file that was. If this one is a pickle, and comes from you, read it with pickle or joblib.",
        )
    if len(header) < _HEADER.size:
        raise _refusal(path, f"it ends after {len(header)} bytes")
    _, version, crc, length = _HEADER.unpack(header)
    if not 1 <= version <= VERSION:
        known = f"cascadeforest {__version__} knows versions up to {VERSION}"
        raise _refusal(path, f"its format has version {version}, but {known}", _UPDATE)
    end = _HEADER.size + length
    if end > (size := os.fstat(stream.fileno()).st_size):
        raise _refusal(path, f"it has {size} bytes, but its JSON ends at byte {end}")
    text = stream.read(length)
    if zlib.crc32(text) != crc:
        raise _refusal(path, "its JSON is not what was written")
    try:
        return json.loads(text), end
    except _UNFIT as error:
        raise _refusal(path, f"its JSON cannot be parsed ({error})") from error


@dataclass(frozen=True)
class _Place:
    """Where an array is in a file.

    Parameters
    ----------
    dtype : dtype
        Its type, little-endian.
    shape : tuple of int
        Its shape.
    order : {"C", "F"}
        Its order in memory, which numpy's sums depend on.
    begin : int
        Its first byte.
    crc : int
        CRC-32 of its bytes and of the zeros after them.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    begin: int
    crc: int

    @property
    def end(self) -> int:
        """Byte after the zeros that follow the array."""
        n_bytes = self.dtype.itemsize * math.prod(self.shape)
        return self.begin + n_bytes + -n_bytes % _STEP

    def check(self, stream: BufferedReader) -> None:
        """Raise a ValueError if the bytes are not those that were written."""
        stream.seek(self.begin)
        found = 0
        for first in range(self.begin, self.end, _BLOCK):
            found = zlib.crc32(stream.read(min(_BLOCK, self.end - first)), found)
        if found != self.crc:
            raise ValueError(f"the array at byte {self.begin} is not what was written")

    def read(self, stream: BufferedReader, mapped: memory.mmap | None) -> np.ndarray:
        """Return the array; in the memory of `mapped` if that is given."""
        if mapped is not None and self.end > self.begin:
            array: np.ndarray = np.ndarray(self.shape, self.dtype, mapped, self.begin, order=self.order)
        else:
            array = np.empty(self.shape, self.dtype, self.order)
            stream.seek(self.begin)
            stream.readinto(_bytes_of(array))
        return array.astype(self.dtype.newbyteorder("="), copy=False)


def _places(arrays: list[dict[str, Any]], begin: int) -> Iterator[_Place]:
    """Places of arrays, of which the first begins at byte `begin`; `arrays` is a part of a file's JSON."""
    for one in arrays:
        dtype, shape, order = one["dtype"], one["shape"], one.get("order", "C")
        if not _PLAIN.fullmatch(dtype) or order not in ("C", "F"):
            raise ValueError(f"it has an array of type {dtype!r} and order {order!r}")
        if not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"it has an array of shape {shape!r}")
        place = _Place(np.dtype(dtype), tuple(shape), order, begin, one["crc32"])
        yield place
        begin = place.end


def _bytes_of(array: np.ndarray) -> memoryview:
    """Memory of an array in C or Fortran order."""
    if not array.nbytes:
        return memoryview(bytearray())
    return (array if array.flags.c_contiguous else array.T).reshape(-1).view(np.uint8).data


class _Writer:
    """Takes a model apart.

    The JSON of a file has three keys. "library" is the version of cascadeforest. "arrays" has the types, shapes, orders
    and CRC-32 of the arrays. "objects" has the class and the attributes of each object, after those of the objects in
    its attributes; the last one is the model. Arrays and objects that are used twice are written once.

    Values are written as in JSON, but for these, which are in a JSON object with one key: ``{"array": 3}`` and
    ``{"object": 3}`` are counted from 0; ``{"scalar": 3}`` is the number in an array without dimensions; ``{"float":
    "nan"}``, ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``; ``{"objects": [shape, [...]]}`` is an array of
    Python objects, such as strings.

    Parameters
    ----------
    model : object
        The model.
    """

    def __init__(self, model: Any):
        self.arrays: list[np.ndarray] = []
        self._objects: list[dict[str, Any]] = []
        #: Numbers of arrays and objects by their addresses; with them, since an address lives as long as its object.
        self._known: dict[int, tuple[Any, int]] = {}
        self._object(model, "model")

    def text(self) -> bytes:
        """The JSON, up to where arrays begin."""
        arrays = [
            {"dtype": one.dtype.str, "shape": one.shape, "crc32": _checksum(one)}
            | ({} if one.flags.c_contiguous else {"order": "F"})
            for one in self.arrays
        ]
        content = {"library": __version__, "arrays": arrays, "objects": self._objects}
        text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
        return text + b" " * (-(_HEADER.size + len(text)) % _STEP)

    def _value(self, value: Any, path: str) -> Any:
        """What JSON says for a value; `path` leads to it from the model, for messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self._value(one, f"{path}[{k}]") for k, one in enumerate(value)]
        if kind is tuple:
            return {"tuple": [self._value(one, f"{path}[{k}]") for k, one in enumerate(value)]}
        if kind is dict:
            pairs = [
                [self._value(key, f"a key of {path}"), self._value(value[key], f"{path}[{key!r}]")] for key in value
            ]
            return {"dict": pairs}
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), path)}
        if kind in (np.ndarray, np.memmap) and value.dtype.kind == "O":
            values = [self._value(one, f"{path}[{k}]") for k, one in enumerate(value.reshape(-1))]
            return {"objects": [value.shape, values]}
        if kind in (np.ndarray, np.memmap):
            return {"array": self._array(value, path)}
        return {"object": self._object(value, path)}

    def _array(self, array: np.ndarray, path: str) -> int:
        if id(array) not in self._known:
            little = array.dtype.newbyteorder("<")
            if not _PLAIN.fullmatch(little.str):
                raise TypeError(f"{path} is an array of type {array.dtype}, which files do not hold; {_PICKLE}.")
            own = array.astype(little, copy=False)
            if not (own.flags.c_contiguous or own.flags.f_contiguous):
                own = np.ascontiguousarray(own)
            self._known[id(array)] = array, len(self.arrays)
            self.arrays.append(own)
        return self._known[id(array)][1]

    def _object(self, one: Any, path: str) -> int:
        if isinstance(one, OnDisk) and id(one) not in self._known:
            self._known[id(one)] = one, self._object(one.opened(), path)
        if id(one) not in self._known:
            kind = type(one)
            if _HOMES.get(kind.__name__) != kind.__module__:
                raise TypeError(_not_written(one, path))
            state = dict((one._asdict() if hasattr(one, "_asdict") else one.__getstate__()) or {})
            state.pop("_sklearn_version", None)  # in objects of scikit-learn; `_Reader` puts back the one that it runs
            state.pop("layers_dir", None)  # the file holds the layers
            own = {name: self._value(value, f"{path}.{name}") for name, value in state.items()}
            self._known[id(one)] = one, len(self._objects)
            self._objects.append({"class": kind.__name__, "state": own})
        return self._known[id(one)][1]


def _checksum(array: np.ndarray) -> int:
    """CRC-32 of an array and of the zeros after it."""
    found = zlib.crc32(_padding(array), zlib.crc32(_bytes_of(array)))
    _let_go(array)
    return found


def _padding(array: np.ndarray) -> bytes:
    """The zeros that follow an array."""
    return bytes(-array.nbytes % _STEP)


def _not_written(one: Any, path: str) -> str:
    """Message about an object that files do not hold."""
    owner, _, name = path.rpartition(".")
    if name in _ONLY_FOR_FIT:
        remedy = f"A fitted model does not need it: call {owner}.set_params({name}={_ONLY_FOR_FIT[name]}) before."
    else:
        remedy = f"Fit without it, or {_PICKLE}."
    return (
        f"{path} is {reprlib.repr(one)}, a {type(one).__name__} of {type(one).__module__}; files hold numbers, text "
        f"and objects of cascadeforest only. {remedy}"
    )


class _Reader:
    """Puts a model together from what `_Writer` wrote.

    Parameters
    ----------
    arrays : list of ndarray
        The arrays of the file.
    is_trusted : bool
        Whether to leave out the checks of nodes and bins.
    """

    def __init__(self, arrays: list[np.ndarray], is_trusted: bool = False):
        self._arrays, self._is_trusted = arrays, is_trusted
        self._objects: list[Any] = []

    def last(self, objects: list[dict[str, Any]], kinds: Container[str]) -> Any:
        """Make all objects, and return the last one, which is of one of the classes `kinds`."""
        for one in objects:
            self._objects.append(self._object(one["class"], one["state"]))
        if objects[-1]["class"] not in kinds:
            raise ValueError(f"it holds a {objects[-1]['class']}, which is no model")
        return self._objects[-1]

    def _object(self, name: str, state: dict[str, Any]) -> Any:
        if name not in _HOMES:
            raise _Unknown(f"it has an object of the class {name!r}, which cascadeforest {__version__} does not know")
        kind = getattr(importlib.import_module(_HOMES[name]), name)
        state = {str(key): self._value(value) for key, value in state.items()}
        if issubclass(kind, tuple):
            return kind(**state)
        if name == "IsotonicRegression":
            state["_sklearn_version"] = sklearn.__version__  # an older one would be a warning
        found = object.__new__(kind)
        if hasattr(found, "__setstate__"):
            found.__setstate__(state)
        elif state:
            found.__dict__.update(state)
        if name in ("BinMapper", "LevelTables", "Trees") and not self._is_trusted:
            found.check()
        return found

    def _value(self, written: Any) -> Any:
        if isinstance(written, list):
            return [self._value(one) for one in written]
        if not isinstance(written, dict):
            return written
        [(kind, content)] = written.items()
        match kind:
            case "array":
                return self._arrays[content]
            case "object":
                return self._objects[content]
            case "scalar":
                return self._arrays[content][()]
            case "float":
                return float(content)
            case "tuple":
                return tuple(self._value(one) for one in content)
            case "dict":
                return {self._value(key): self._value(value) for key, value in content}
            case "objects":
                shape, values = content
                array = np.empty(len(values), object)
                for k, one in enumerate(values):
                    array[k] = self._value(one)
                return array.reshape(shape)
        raise _Unknown(f"it has a value of the kind {kind!r}, which cascadeforest {__version__} does not know")
