"""Growing one tree (grow.c)."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from cascadeforest.kernels import array, function

#: Bin of rows without a value; the values' bins are 0 to 254.
MISSING = 255
GINI, ENTROPY = 0, 1
BEST, RANDOM = 0, 1
#: What a leaf has in the place of a feature.
LEAF = (1 << 23) - 1
MAX_FEATURES = LEAF
#: Cut of a split that sends a set of bins left, and words of a set: the feature, and a bit for each bin.
OF_SET, SET_WORDS = 255, 5
_NUMBERS = {float: ctypes.c_double, int: ctypes.c_int64, bool: ctypes.c_int64}


class Cells(NamedTuple):
    """The binned matrix as the kernels read it: see sample.h."""

    by_feature: np.ndarray  # uint8 (n_features * n_rows)
    by_row: np.ndarray  # uint8 (n_rows * n_wide): features that are not packed; empty where it would not pay
    words: np.ndarray  # uint64 (n_rows * n_words): packed features
    place: np.ndarray  # int32 (n_features): column in `by_row`, or bit if packed
    packed: np.ndarray  # bool (n_features)
    categorical: np.ndarray | None  # bool (n_features): whether sets of bins are split; None: no feature's are
    n_rows: int  # distance of the features in `by_feature`; 1 if they overlap
    n_wide: int  # features that are not packed
    n_words: int  # 0: none is
    few: int  # nodes with fewer rows read row by row


class Centers(NamedTuple):
    """A value for each bin of each feature: see sample.h."""

    values: np.ndarray  # float64 (n_features, 255): ascending, infinite behind the last bin
    pivots: np.ndarray  # float64 (n_features, 16): every sixteenth of them, from number 15 on, and at last infinity

    @classmethod
    def of(cls, values: np.ndarray) -> "Centers":
        """Take the pivots from the values."""
        values = np.ascontiguousarray(values, np.float64)
        ends = np.full((len(values), 1), np.inf)
        return cls(values, np.ascontiguousarray(np.concatenate([values[:, 15::16], ends], axis=1)))


class Target(NamedTuple):
    """What is learned: see sample.h."""

    label: np.ndarray  # int32: class, or index of a row's target in `value` (regression)
    value: np.ndarray  # float64: the distinct targets, centred (regression); 0 and 1 (two classes); else empty
    n_classes: int  # 0: regression
    n_outputs: int  # targets of a row in regression, side by side in `value`; else 1
    whole: bool  # classification, and all weights are whole numbers whose sum fits into 31 bits


class Rules(NamedTuple):
    """How trees grow; the names are scikit-learn's."""

    splitter: int  # BEST or RANDOM
    criterion: int  # GINI (also squared error) or ENTROPY
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_leaf_nodes: int  # 0: no bound


def _structure(record: type[NamedTuple]) -> type[ctypes.Structure]:
    """Make the structure of C that has the fields of a record: pointers for arrays, eight bytes for each number."""
    kinds = record.__annotations__.items()
    fields = [(name, _NUMBERS.get(kind, ctypes.c_void_p)) for name, kind in kinds]
    return type(record.__name__, (ctypes.Structure,), {"_fields_": fields})


_STRUCTURES = {record: _structure(record) for record in (Cells, Centers, Target, Rules)}


def _in_c(record: Any) -> ctypes.Structure:
    """Return a record as a structure of C; the record must live as long."""
    values = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in record]
    return _STRUCTURES[type(record)](*values)


class _Tree(ctypes.Structure):
    """Where in a workspace the tree is that was grown last."""

    _fields_ = (
        ("n_nodes", ctypes.c_int64),
        ("n_values", ctypes.c_int64),
        ("n_sets", ctypes.c_int64),
        ("nodes", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("decreases", ctypes.c_void_p),
        ("sets", ctypes.c_void_p),
    )


class Workspace:
    """Working memory for trees that are grown one after the other, in one thread: none is taken anew for each."""

    def __init__(self) -> None:
        self.pointer = _new_workspace()
        if not self.pointer:
            raise MemoryError("There is no memory for growing a tree.")

    def __del__(self) -> None:
        _free_workspace(self.pointer)


_new_workspace = function("new_workspace", result=ctypes.c_void_p)
_free_workspace = function("free_workspace", ctypes.c_void_p)
_grow_tree = function(
    "grow_tree",
    *(
        ctypes.POINTER(_STRUCTURES[Cells]),
        ctypes.POINTER(_STRUCTURES[Centers]),
        array(np.int32),
        ctypes.c_void_p,
        ctypes.c_int64,
    ),
    *(ctypes.POINTER(_STRUCTURES[Target]), array(np.int32), ctypes.c_uint64, ctypes.POINTER(_STRUCTURES[Rules])),
    *(array(np.int32), ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(_Tree)),
    result=ctypes.c_int32,
)


def grow_tree(
    cells: Cells,
    centers: Centers,
    rows: np.ndarray,
    weights: np.ndarray | None,
    target: Target,
    counts: np.ndarray,
    seed: np.uint64,
    rules: Rules,
    features: np.ndarray,
    cumulative: np.ndarray,
    workspace: Workspace,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Grow one tree.

    Parameters
    ----------
    cells : Cells
        Bins.
    centers : Centers
        Their values.
    rows : int32 array of shape (n,)
        Rows of the binned matrix that this forest learns from.
    weights : float64 array of shape (n,) or None
        Their weights, positive; None: all are 1.
    target : Target
        Their labels.
    counts : int32 array of shape (n,)
        How often the tree's bootstrap drew each of them.
    seed : uint64
        Decides features and random thresholds.
    rules : Rules
    features : int32 array
        Features that may be looked at.
    cumulative : float64 array of shape (n_features,) or (0,)
        Running sum of feature weights over all features, or empty for equal ones.
    workspace : Workspace
        The thread's own.

    Returns
    -------
    nodes : uint64 array
        Node words: see nodes.h.
    sets : uint64 array of shape (n_sets, SET_WORDS)
        Of its categorical splits: see nodes.h.
    values : float32 array of shape (n_values, n_classes), in regression (n_values, n_outputs)
    decreases : float64 array of shape (n_features,)
        Impurity decrease by feature: Eq. 6 of the interpretation paper.
    """
    grown = _Tree()
    _grow_tree(
        _in_c(cells), _in_c(centers), rows, None if weights is None else weights.ctypes.data, len(rows),
        _in_c(target), counts, int(seed), _in_c(rules), features, len(features),
        cumulative.ctypes.data if cumulative.size else None, cells.packed.size, workspace.pointer, grown,
    )  # fmt: skip
    values = _copy(grown.values, (grown.n_values, target.n_classes or target.n_outputs), np.float32)
    decreases = _copy(grown.decreases, (cells.packed.size,), np.float64)
    sets = _copy(grown.sets, (grown.n_sets, SET_WORDS), np.uint64)
    return _copy(grown.nodes, (grown.n_nodes,), np.uint64), sets, values, decreases


def _copy(address: int, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    copied: np.ndarray = np.empty(shape, dtype)
    ctypes.memmove(copied.ctypes.data, address, copied.nbytes)
    return copied
