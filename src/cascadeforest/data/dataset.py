"""A prepared data set: arrays, names, protocol, digest; stored as one ``.npz`` with equal bytes for equal content."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse

from cascadeforest.data.draws import draw_train, with_made_negatives, with_permuted_copies
from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.files import (
    atomic_path,
    canonical_json,
    parse_signed_json,
    read_signed_json,
    signed_json,
)
from cascadeforest.data.names import parse_operation
from cascadeforest.data.splits import Rows, repeats_of, split_rows

FORMAT = 2
X_DTYPE = np.float32
Y_DTYPES = {"classification": np.int64, "regression": np.float64}
# What zipfile, zlib and numpy raise where bytes of an archive were changed or are missing.
_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError, OSError, RuntimeError)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file knows
_ARRAYS = ("X", "X_data", "X_indices", "X_indptr", "y", "given_test")
_NAMED = ("name", "task", "feature_names", "class_names", "protocol", "repeat_operations")


@dataclass(frozen=True)
class Split:
    """Arrays of one repeat.

    Parameters
    ----------
    X_train, X_test : ndarray or csr_matrix
        Features; with the operation ``irrelevant`` twice as many columns as the stored table.
    y_train, y_test : ndarray
        Class codes or regression target.
    X_validation, y_validation : ndarray or None
        Validation set, if the protocol has one.
    train_rows, test_rows : ndarray of int
        Rows of the data set, in the order of the arrays.
    seed : int or None
        Seed that drew the split; None for a given split.
    """

    X_train: np.ndarray | csr_matrix
    y_train: np.ndarray
    X_validation: np.ndarray | csr_matrix | None
    y_validation: np.ndarray | None
    X_test: np.ndarray | csr_matrix
    y_test: np.ndarray
    train_rows: np.ndarray
    test_rows: np.ndarray
    seed: int | None


@dataclass(frozen=True)
class Dataset:
    """One prepared data set or variant. `build_dataset` makes and checks it.

    Parameters
    ----------
    name : str
        Variant id: name of the data set and operations.
    task : {'classification', 'regression'}
        What the target is.
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        float32 (uint8 for images); NaN means missing.
    y : ndarray of shape (n_samples,)
        int64 codes into `class_names`, or float64.
    feature_names : tuple of str
        Names of the stored columns.
    class_names : tuple of str
        Empty for regression.
    given_test : ndarray of bool or None
        True in the test rows of a given split.
    protocol : dict
        Protocol by which `split` draws rows.
    repeat_operations : tuple of str
        Operations applied in each repeat after the split.
    meta : dict
        Title, citation, licence, notes, form, files, ...; not part of the digest.
    digest : str
        SHA-256 of all content that a model can see.
    seed : int
        `seed` of ``config/config.yaml``. All draws that the protocol does not fix depend on it.
    """

    name: str
    task: str
    X: np.ndarray | csr_matrix
    y: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    given_test: np.ndarray | None
    protocol: dict
    repeat_operations: tuple[str, ...]
    meta: dict = field(repr=False)
    digest: str = field(repr=False)
    seed: int = 0

    @property
    def base_name(self) -> str:
        """Name of the data set without operations."""
        return self.name.partition("+")[0]

    @property
    def split_feature_names(self) -> tuple[str, ...]:
        """Names of the columns of a split: the stored columns, followed by permuted copies (if any)."""
        if "irrelevant" in self.repeat_operations:
            return (*self.feature_names, *(f"{name} (permuted)" for name in self.feature_names))
        return self.feature_names

    def repeats(self) -> int:
        """Return the number of repeats of the protocol."""
        return repeats_of(self.protocol)

    def rows(self, repeat: int) -> Rows:
        """Return the rows of one repeat, after the per-repeat operations, without copying arrays as `split` does.

        Parameters
        ----------
        repeat : int
            From 0.
        """
        rows = split_rows(
            self.protocol,
            self.y,
            repeat,
            dataset=self.base_name,
            task=self.task,
            given_test=self.given_test,
            class_names=self.class_names,
            seed=self.seed,
        )
        for text in self.repeat_operations:
            operation = parse_operation(text)
            train = draw_train(
                operation,
                rows.train,
                self.y,
                dataset=self.base_name,
                repeat=repeat,
                class_names=self.class_names,
                seed=self.seed,
            )
            if operation.kind == "rest":
                rows = replace(rows, test=np.setdiff1d(rows.train, train))
            rows = rows.with_train(train)
        return rows

    def split(self, repeat: int) -> Split:
        """Return the arrays of one repeat.

        Parameters
        ----------
        repeat : int
            Number of the repeat, from 0; in cross-validation, the fold.

        Returns
        -------
        Split
            The arrays are copies, so that a model that writes into its input does not affect other models.

        Raises
        ------
        UserError
            If the protocol has no such repeat or cannot be applied to these rows.
        """
        rows = self.rows(repeat)
        X = self.X
        if any(text.startswith("negatives-") for text in self.repeat_operations):
            X = with_made_negatives(
                X, self.y, self.feature_names, dataset=self.base_name, repeat=repeat, seed=self.seed
            )
        if "irrelevant" in self.repeat_operations:
            X = with_permuted_copies(X, dataset=self.base_name, repeat=repeat, seed=self.seed)
        validation = rows.validation
        return Split(
            X_train=X[rows.train],
            y_train=self.y[rows.train],
            X_validation=None if validation is None else X[validation],
            y_validation=None if validation is None else self.y[validation],
            X_test=X[rows.test],
            y_test=self.y[rows.test],
            train_rows=rows.train,
            test_rows=rows.test,
            seed=rows.seed,
        )


def build_dataset(
    *,
    name: str,
    task: str,
    X: ArrayLike | csr_matrix,
    y: ArrayLike,
    feature_names: Sequence[str],
    class_names: Sequence[str] = (),
    given_test: np.ndarray | None = None,
    protocol: dict,
    repeat_operations: Sequence[str] = (),
    meta: dict | None = None,
    seed: int = 0,
) -> Dataset:
    """Check and normalise the parts of a data set, and compute its digest.

    Parameters
    ----------
    name, task, X, y, feature_names, class_names, given_test, protocol, repeat_operations, meta, seed
        As in `Dataset`. Dense `X` may have any number type (uint8 stays, other types become float32), sparse `X` any
        format (it becomes csr, float32).

    Returns
    -------
    Dataset
        Data set with its digest.

    Raises
    ------
    UserError
        If the parts are inconsistent, or a value is infinite.
    """
    X = _sparse(X) if issparse(X) else _dense(X, name)
    y = np.ascontiguousarray(y, dtype=Y_DTYPES[task])
    feature_names, class_names = tuple(map(str, feature_names)), tuple(map(str, class_names))
    n_rows, n_features = X.shape
    if n_rows == 0 or n_features == 0:
        raise UserError(f"'{name}' has {n_rows} rows and {n_features} features; it needs at least one of each.")
    _require(y.shape == (n_rows,), f"'{name}' has {n_rows} rows but {y.size} targets.")
    _require(len(feature_names) == n_features, f"'{name}' has {n_features} columns but {len(feature_names)} names.")
    _require(len(set(feature_names)) == n_features, f"'{name}' has two features of the same name.")
    values = X.data if issparse(X) else X
    _require(
        X.dtype == np.uint8 or not np.isinf(values).any(),
        f"'{name}' has an infinite value (or one above 3.4e38, the largest of float32).",
    )
    if task == "classification":
        counts = np.bincount(y, minlength=len(class_names)) if y.min() >= 0 else np.array([])
        _require(counts.size == len(class_names) and counts.min() > 0, f"'{name}': codes and class names do not match.")
        if len(class_names) < 2:
            raise UserError(
                f"'{name}' has the single class '{class_names[0]}'; a classification needs two. "
                "Check the target column, or set task: regression."
            )
    else:
        _require(np.isfinite(y).all(), f"'{name}' has a target that is missing or infinite.")
    if given_test is not None:
        given_test = np.ascontiguousarray(given_test, dtype=bool)
        _require(given_test.shape == (n_rows,), f"'{name}' has {n_rows} rows but {given_test.size} test marks.")
        _require(0 < given_test.sum() < n_rows, f"'{name}': its given split has an empty part.")
    dataset = Dataset(
        name=name,
        task=task,
        X=X,
        y=y,
        feature_names=feature_names,
        class_names=class_names,
        given_test=given_test,
        protocol=protocol,
        repeat_operations=tuple(repeat_operations),
        meta=dict(meta or {}),
        digest="",
        seed=seed,
    )
    return replace(dataset, digest=_digest(dataset))


def save(dataset: Dataset, path: str | Path) -> None:
    """Write a data set to one ``.npz`` file, atomically; equal content gives equal bytes.

    Parameters
    ----------
    dataset : Dataset
        Data set to write.
    path : str or Path
        Usually ``data/processed/<variant id>.npz``.

    Raises
    ------
    UserError
        If the file is not named after the data set: `load` would expect another data set.
    """
    if Path(path).name != f"{dataset.name}.npz":
        raise UserError(f"The data set '{dataset.name}' cannot be written to {path}; name the file {dataset.name}.npz.")
    header = {
        "format": FORMAT,
        **{key: getattr(dataset, key) for key in _NAMED},
        "shape": dataset.X.shape,
        "meta": dataset.meta,
        "seed": dataset.seed,
        "digest": dataset.digest,
    }
    # numpy.savez stamps the time of day into the archive; the fastest compression already halves one-hot tables tenfold
    with (
        atomic_path(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(_member("header.json"), signed_json(header))
        for key, array in _arrays(dataset).items():
            with archive.open(_member(f"{key}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def load(path: str | Path) -> Dataset:
    """Read a data set that `save` wrote, and check it.

    The digest is computed again from arrays and names. It must equal the stored digest and, if there is a summary
    beside the file, the digest in the summary. The file must be named after its data set.

    Parameters
    ----------
    path : str or Path
        The ``.npz`` file.

    Returns
    -------
    Dataset
        Data set that equals the saved one.

    Raises
    ------
    DamagedFile
        If the content of the file or of its summary changed; the message says how to make it again.
    UserError
        If the file is missing.
    """
    path = Path(path)
    remedy = _remedy(path)
    try:
        with zipfile.ZipFile(path) as archive:
            header = parse_signed_json(archive.read("header.json"), path, remedy)
            arrays = {
                key: np.lib.format.read_array(io.BytesIO(archive.read(f"{key}.npy")), allow_pickle=False)
                for key in _ARRAYS
                if f"{key}.npy" in archive.namelist()
            }
        if header["format"] != FORMAT:
            raise DamagedFile(path, f"format {header['format']!r}, this version reads {FORMAT}", remedy)
        if "X" in arrays:
            X = arrays["X"]
        else:
            X = csr_matrix((arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=header["shape"])
        dataset = Dataset(
            name=header["name"],
            task=header["task"],
            X=X,
            y=arrays["y"],
            feature_names=tuple(header["feature_names"]),
            class_names=tuple(header["class_names"]),
            given_test=arrays.get("given_test"),
            protocol=header["protocol"],
            repeat_operations=tuple(header["repeat_operations"]),
            meta=header["meta"],
            digest=header["digest"],
            seed=header["seed"],
        )
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file. {remedy}") from error
    except _ARCHIVE_ERRORS as error:
        raise DamagedFile(path, f"not a prepared data set, or damaged ({error})", remedy) from error
    _check_name(path, dataset.name)
    if (found := _digest(dataset)) != dataset.digest:
        fault = f"arrays and names have the digest {found[:12]}, not {dataset.digest[:12]} as stored"
        raise DamagedFile(path, fault, remedy)
    facts_path = path.with_suffix(".json")
    if facts_path.exists() and (stored := read_summary(facts_path)["digest"]) != found:
        raise DamagedFile(path, f"the digest is {found[:12]}, but {stored[:12]} in {facts_path.name}", remedy)
    return dataset


def read_summary(path: str | Path) -> dict:
    """Read the summary beside a processed data set, and check it.

    Parameters
    ----------
    path : str or Path
        The ``.json`` file.

    Returns
    -------
    dict
        The dict that `summary` returned.

    Raises
    ------
    DamagedFile
        If the content of the file changed, or it holds the summary of another data set.
    UserError
        If the file is missing.
    """
    path = Path(path)
    remedy = _remedy(path.with_suffix(".npz"))
    try:
        facts = read_signed_json(path, remedy)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file. {remedy}") from error
    _check_name(path, facts.get("name"))
    return facts


def summary(dataset: Dataset) -> dict:
    """Return the facts about a data set that tables show.

    Parameters
    ----------
    dataset : Dataset
        Any data set or variant.

    Returns
    -------
    dict
        JSON values. `n_train`, `n_validation` and `n_test` are sizes in repeat 0. `classes` is the number of classes
        that occur (None for regression), `features` the number of columns that a model sees, `raw_features` the number
        of features as the papers count them.
    """
    rows = dataset.rows(0)
    classification = dataset.task == "classification"
    counts = np.bincount(dataset.y, minlength=len(dataset.class_names)).tolist() if classification else []
    meta = dataset.meta
    return {
        "name": dataset.name,
        "base_name": dataset.base_name,
        "title": meta.get("title", dataset.name),
        "task": dataset.task,
        "rows": int(dataset.X.shape[0]),
        "features": len(dataset.split_feature_names),
        "raw_features": meta.get("raw_features"),
        "classes": len(dataset.class_names) if classification else None,
        "class_names": list(dataset.class_names),  # in the order of their codes, which a mapping in JSON loses
        "class_counts": dict(zip(dataset.class_names, counts, strict=True)),
        "n_train": int(rows.train.size),
        "n_validation": 0 if rows.validation is None else int(rows.validation.size),
        "n_test": int(rows.test.size),
        "missing_values": int(np.isnan(dataset.X.data if issparse(dataset.X) else dataset.X).sum()),
        "repeats": dataset.repeats(),
        "repeat_operations": list(dataset.repeat_operations),
        "published_as": meta.get("published_as", dataset.base_name),
        "subset_of": meta.get("subset_of"),
        "note": meta.get("note"),
        "access": meta.get("access"),
        "form": meta.get("form"),
        "licence": meta.get("licence"),
        "citation": meta.get("citation"),
        "digest": dataset.digest,
    }


def _dense(X: ArrayLike, name: str) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2:
        raise UserError(f"'{name}': X has {X.ndim} dimensions; a table of rows and columns has 2.")
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused with a message
        return np.ascontiguousarray(X, dtype=np.uint8 if X.dtype == np.uint8 else X_DTYPE)


def _sparse(X: csr_matrix) -> csr_matrix:
    """Canonical csr: no duplicates, no stored zeros, sorted; else equal tables would have different digests."""
    X = csr_matrix(X, dtype=X_DTYPE)
    X.sum_duplicates()
    X.eliminate_zeros()
    X.sort_indices()
    return X


def _arrays(dataset: Dataset) -> dict[str, np.ndarray]:
    """The arrays by their names in the file."""
    X = dataset.X
    arrays = {"X": X} if isinstance(X, np.ndarray) else {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr}
    arrays["y"] = dataset.y
    if dataset.given_test is not None:
        arrays["given_test"] = dataset.given_test
    return arrays


def _digest(dataset: Dataset) -> str:
    """SHA-256 of all content that a model can see."""
    seen = {key: getattr(dataset, key) for key in _NAMED} | {"shape": dataset.X.shape}
    if dataset.seed:  # 0 adds nothing: digests from before there were seeds stay
        seen["seed"] = dataset.seed
    digest = hashlib.sha256(canonical_json(seen).encode("utf-8"))
    for key, array in _arrays(dataset).items():
        digest.update(f"{key}:{array.dtype.str}:{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B"))
    return digest.hexdigest()


def _remedy(path: Path) -> str:
    """Command that makes a processed file again."""
    return f"Prepare it again (python -m cascadeforest.data prepare --dataset {path.stem} --output {path})."


def _check_name(path: Path, name: object) -> None:
    """Raise an error if the file holds another data set than requested."""
    if name != path.stem:
        raise DamagedFile(path, f"it holds '{name}', not '{path.stem}'", _remedy(path.with_suffix(".npz")))


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _require(fits: bool, message: str) -> None:
    """Raise an error for inconsistent parts: a fault of a parser, or of unexpected files."""
    if not fits:
        raise UserError(f"{message} The files are not what the parser expects; check their form and options.")
