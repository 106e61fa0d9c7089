"""Prepare a data set: read its source, code the labels, check the facts under `expected` in its file."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cascadeforest.data.dataset import Dataset, build_dataset, summary
from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.files import sha256_of
from cascadeforest.data.local import MISSING, read_csv
from cascadeforest.data.names import seed_for
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.registry import resolve
from cascadeforest.data.sources import fetched_files, user_files
from cascadeforest.data.variants import vary

Source = Callable[..., Parsed]  # a loader, generator or parser

# What a data set file says about itself, kept beside the arrays for tables and reports.
_DOCUMENTATION = ("title", "access", "licence", "citation", "references", "published_as", "subset_of")


def prepare(dataset: dict, *, raw: str | Path = "data/raw", root: str | Path = ".", seed: int = 0) -> Dataset:
    """Turn one data set file into a `Dataset`.

    Parameters
    ----------
    dataset : dict
        A checked data set file.
    raw : str or Path
        The folder ``data/raw`` that `fetch` filled; needed for open data only.
    root : str or Path
        Repository root, from which a relative `file:` starts.
    seed : int, default=0
        `seed` of ``config/config.yaml``. It determines generated data and rows that a parser draws, unless the options
        in the data set file have a seed, which means a published draw.

    Returns
    -------
    Dataset
        Data set as described in the file.

    Raises
    ------
    UserError
        If files are missing or changed, cannot be parsed, or differ from the facts under `expected`.
    """
    place = f"config/datasets/{dataset['name']}.yaml"
    parsed, origin = _read(dataset, Path(raw), Path(root), place, seed)
    y, class_names = (
        encode_labels(parsed.y, parsed.class_order, place)
        if dataset["task"] == "classification"
        else (_response(parsed.y, place), ())
    )
    notes = [text for text in (dataset.get("note"), parsed.note, _unverified(dataset, origin["form"])) if text]
    prepared = build_dataset(
        name=dataset["name"],
        task=dataset["task"],
        X=parsed.X,
        y=y,
        feature_names=parsed.feature_names,
        class_names=class_names,
        given_test=parsed.given_test if dataset["protocol"]["kind"] == "given" else None,
        protocol=dataset["protocol"],
        meta={
            **{key: dataset[key] for key in _DOCUMENTATION if key in dataset},
            "note": " ".join(notes) or None,
            "raw_features": parsed.raw_features or len(parsed.feature_names),
            **origin,
        },
        seed=seed,
    )
    for operation in dataset.get("operations", ()):
        prepared = vary(prepared, operation, dataset["name"])
    check_expected(prepared, dataset.get("expected", {}), place)
    return prepared


def encode_labels(
    labels: np.ndarray, class_order: Sequence[str] | None = None, place: str = "the data set file"
) -> tuple[np.ndarray, list[str]]:
    """Code class labels as 0, 1, ....

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Text or numbers.
    class_order : sequence of str, optional
        Names in the order of their codes; names that do not occur are left out. By default the names are sorted,
        numbers by their value.
    place : str
        Name of the file, for messages.

    Returns
    -------
    codes : ndarray of shape (n_samples,) of int64
        Position of each label in `class_names`.
    class_names : list of str
        Only classes that occur; whole numbers without ".0".

    Raises
    ------
    UserError
        If a label is missing, or not in `class_order`.
    """
    labels = np.asarray(labels)
    if labels.dtype.kind in "fiub":
        if not np.isfinite(labels).all():
            raise UserError(f"{place}: a label is missing or infinite. Remove such rows, or correct the file.")
        values, codes = np.unique(labels, return_inverse=True)
        names = [str(int(value)) if float(value).is_integer() else repr(float(value)) for value in values]
    else:
        values, codes = np.unique(labels.astype(str), return_inverse=True)
        names = values.tolist()
    codes = codes.astype(np.int64).ravel()
    if class_order is None:
        return codes, names
    order = [str(name) for name in class_order]
    if unknown := [name for name in names if name not in order]:
        raise UserError(f"{place}: the label '{unknown[0]}' is none of the classes {', '.join(order)}. Check the file.")
    class_names = [name for name in order if name in names]
    recoded = np.array([class_names.index(name) for name in names], dtype=np.int64)
    return recoded[codes], class_names


def check_expected(prepared: Dataset, expected: dict, place: str) -> None:
    """Compare a prepared data set with the facts under `expected` in its file.

    Parameters
    ----------
    prepared : Dataset
        The prepared data set.
    expected : dict
        Any of rows, features, raw_features, classes, train, validation, test, class_counts.
    place : str
        For messages.

    Raises
    ------
    UserError
        If a number differs; the message names every such number, expected and found.
    """
    facts = summary(prepared)
    found = {
        "rows": facts["rows"],
        "features": facts["features"],
        "raw_features": facts["raw_features"],
        "classes": facts["classes"],
        "train": facts["n_train"],
        "validation": facts["n_validation"],
        "test": facts["n_test"],
        "class_counts": facts["class_counts"],
    }
    wrong = [
        f"expected.{key} is {value}, but the data have {found[key]}"
        for key, value in expected.items()
        if found[key] != value
    ]
    if wrong:
        raise UserError(
            f"{place}: {'; '.join(wrong)}. The files, the parser's options or the protocol are not those that the "
            "numbers were written for; correct whichever is wrong."
        )


def _read(dataset: dict, raw: Path, root: Path, place: str, seed: int) -> tuple[Parsed, dict]:
    """Read the data as `access` says; also return facts about their origin."""
    options = dataset.get("options", {})
    access = dataset["access"]
    drawn_by = seed_for("source", dataset["name"], seed=seed) if seed else None
    if access == "embedded":
        from cascadeforest.data.embedded import load_embedded

        return _call(load_embedded, place, dataset["loader"], **options), {"form": dataset["loader"]}
    if access == "synthetic":
        from cascadeforest.data.synthetic import GENERATORS

        generator = _named(GENERATORS, dataset["generator"], "generator", place)
        origin = {"form": f"generated: {dataset['generator']}", "options": options}
        return _call(generator, place, **_with_seed(generator, options, drawn_by)), origin
    if access == "open":
        record, files = fetched_files(dataset, raw)
        form = record["form"]
    elif access == "credentialed":
        form, files = user_files(dataset, root)
    else:
        form, files = "csv", {Path(dataset["file"]).name: resolve(dataset["file"], root)}
    if form in dataset.get("forms", {}):
        return _parse(dataset["forms"][form], files, place, drawn_by), _origin(form, files)
    parsed = read_csv(
        *files.values(),
        target=dataset["target"],
        task=dataset["task"],
        categorical=dataset.get("categorical", ()),
        drop=dataset.get("drop", ()),
        missing=dataset.get("missing", MISSING),
        place=place,
    )
    return parsed, _origin(form, files)


def _unverified(dataset: dict, form: str) -> str:
    """Sentence for tables about the files that have no checksum to compare with; empty if there are none."""
    files = dataset.get("forms", {}).get(form, {}).get("files", [])
    names = [file["file"] for file in files if not file.get("sha256") and not file.get("md5")]
    return f"Digest not verified: {', '.join(names)}." if names else ""


def _origin(form: str, files: dict[str, Path]) -> dict:
    """Origin of the data, without paths of this machine, so that equal data give equal bytes."""
    return {"form": form, "files": [{"file": name, "sha256": sha256_of(path)} for name, path in files.items()]}


def _parse(form: dict, files: dict[str, Path], place: str, drawn_by: int | None) -> Parsed:
    """Call the parser of a form; an error of the parser is reported as a fault of the files."""
    from cascadeforest.data.parsers import PARSERS

    parser = _named(PARSERS, form["parser"], "parser", place)
    try:
        return _call(parser, place, files, **_with_seed(parser, form.get("options", {}), drawn_by))
    except (ValueError, KeyError, IndexError, EOFError, OSError) as error:
        raise UserError(
            f"{place}: the parser '{form['parser']}' cannot read {', '.join(map(str, files.values()))} "
            f"({type(error).__name__}: {error}). If the checksum is right, the parser or its options do not fit."
        ) from error


def _named(functions: Mapping[str, Source], name: str, key: str, place: str) -> Source:
    if name not in functions:
        raise ConfigError(f"{place}: {key} is '{name}'; choose one of {', '.join(sorted(functions))}.")
    return functions[name]


def _with_seed(function: Source, options: dict[str, Any], drawn_by: int | None) -> dict[str, Any]:
    """Add a seed to the options of a function that draws; an option `seed` of the data set file takes precedence."""
    if drawn_by is None or "seed" not in inspect.signature(function).parameters:
        return options
    return {"seed": drawn_by} | options


def _call(function: Source, place: str, *arguments: Any, **options: Any) -> Parsed:
    """Call with the options of the data set file, whose names are checked first."""
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError as error:
        name = getattr(function, "__name__", function)
        raise ConfigError(f"{place}: the options {options} do not fit {name}: {error}.") from error
    return function(*arguments, **options)


def _response(y: np.ndarray, place: str) -> np.ndarray:
    """Regression target as numbers."""
    try:
        return np.asarray(y, dtype=np.float64)
    except ValueError as error:
        raise UserError(f"{place}: task is regression, but the target has text ({error}).") from error
