"""Data set files of ``config/datasets``: read them, check them, and say whether their data are available.

numpy is not imported with the module: the planner imports it before a command line has set its thread variables.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.data.names import parse_variant, seed_for
from cascadeforest.data.schemas import read_schema, validate
from cascadeforest.data.sources import Mirror, local_files, obtainable_forms

__all__ = [
    "availability",
    "dataset_file_paths",
    "dataset_schema",
    "find_dataset_file",
    "load_dataset_file",
    "load_dataset_files",
    "parse_variant",
    "resolve",
    "seed_for",
]

SCHEMA = "dataset.schema.yaml"
NAME = re.compile(r"[a-z0-9_]+")  # as in the schema: a name from a command line is part of paths, too
RESERVED_NAMES = ("all",)  # the summary rows of tables, over all data sets


def load_dataset_files(folder: str | Path) -> dict[str, dict]:
    """Read and check every data set file of a configuration.

    Parameters
    ----------
    folder : str or Path
        The folder ``config/datasets``; the schema is read from ``config/../workflow/schemas``.

    Returns
    -------
    dict
        File contents by data set name, in alphabetical order.

    Raises
    ------
    ConfigError
        Names file, key, value and what is allowed.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder. Name the config folder of the repository (--config config).")
    if stray := _visible(folder, "*.yml"):
        raise ConfigError(f"{stray[0]}: data set files end in .yaml. Rename it, or it would be overlooked.")
    schema = dataset_schema(folder.parent)
    return {path.stem: load_dataset_file(path, schema) for path in dataset_file_paths(folder)}


def dataset_file_paths(folder: str | Path) -> list[Path]:
    """Return the data set files of a folder, by name, without hidden files such as an editor's ``.#adult.yaml``."""
    return _visible(Path(folder), "*.yaml")


def dataset_schema(config: str | Path) -> dict:
    """Return the schema of data set files that belongs to a config folder."""
    return read_schema(Path(config).parent / "workflow" / "schemas" / SCHEMA)


def load_dataset_file(path: str | Path, schema: dict) -> dict:
    """Read and check one data set file.

    Parameters
    ----------
    path : str or Path
        ``<name>.yaml``.
    schema : dict
        What `dataset_schema` returned.

    Returns
    -------
    dict
        The content, as written.

    Raises
    ------
    ConfigError
        Names file, key, value and what is allowed.
    """
    path = Path(path)
    dataset = read_yaml(path)
    if not isinstance(dataset, dict):
        raise ConfigError(f"{path}: a mapping of keys to values is expected (name: ..., title: ..., ...).")
    validate(dataset, schema, path)
    if dataset["name"] != path.stem:
        raise ConfigError(f"{path}: name is '{dataset['name']}'; it must equal the file name, '{path.stem}'.")
    for fault in _faults(dataset):
        raise ConfigError(f"{path}: {fault}")
    return dataset


def find_dataset_file(name: str, config: str | Path) -> dict:
    """Read and check the file of one data set; faults in other files are ignored.

    Parameters
    ----------
    name : str
        Name of the data set.
    config : str or Path
        The config folder.

    Returns
    -------
    dict
        The content, as written.

    Raises
    ------
    ConfigError
        If there is no such data set, or its file has a fault.
    """
    folder = Path(config) / "datasets"
    path = folder / f"{name}.yaml"
    if not NAME.fullmatch(name) or not path.is_file():
        names = ", ".join(file.stem for file in dataset_file_paths(folder)) or "none"
        raise ConfigError(f"{folder}: there is no data set '{name}'; there are {names}.")
    return load_dataset_file(path, dataset_schema(config))


def availability(dataset: dict, root: str | Path, mirror: Mirror | None = None) -> str | None:
    """Return the reason why the data of a data set are not available, without network access.

    Parameters
    ----------
    dataset : dict
        A checked data set file.
    root : str or Path
        The repository root: the data lie in ``data/raw`` below it, relative `file:` entries start from it.
    mirror : Mirror, optional
        Default: what ``CASCADEFOREST_MIRROR`` names.

    Returns
    -------
    str or None
        Reason for a table, or None if the data are available. A download may still fail.
    """
    root = Path(root)
    if dataset["access"] in ("credentialed", "local"):
        if not resolve(dataset["file"], root).is_file():
            word = "needs credentialed access" if dataset["access"] == "credentialed" else "file not there"
            return f"{word}: put the file at {dataset['file']}"
        return None
    if dataset["access"] == "open":
        mirror = mirror or Mirror.from_environment()
        folder = root / "data" / "raw" / dataset["name"]
        on_disk = any(local_files(form, folder) is not None for form in dataset["forms"].values())
        if not on_disk and not obtainable_forms(dataset, mirror):
            return (
                "no official address is known: set CASCADEFOREST_MIRROR"
                if not mirror
                else "neither on the mirror nor at an official address"
            )
    return None


def resolve(file: str, root: str | Path) -> Path:
    """Return the path of a `file:` entry: absolute, or relative to the repository root."""
    return Path(root) / file


def _visible(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("."))


def _faults(dataset: dict) -> Iterator[str]:
    """Faults by rules between keys that a JSON schema cannot express, or not readably."""
    if dataset["name"] in RESERVED_NAMES:
        yield f"name is '{dataset['name']}', which is the summary row of tables; choose another name."
    protocol = dataset["protocol"]
    for key in ("test_size", "train_size", "validation_size"):
        size = protocol.get(key)
        if isinstance(size, float) and not 0 < size < 1:
            yield f"protocol.{key} is {size}; give a fraction between 0 and 1, or a whole number of rows."
    fractions = [protocol.get(key) for key in ("test_size", "train_size", "validation_size")]
    if sum(size for size in fractions if isinstance(size, float)) > 1:
        yield "the fractions test_size, train_size and validation_size of protocol exceed 1; lower one."
    if protocol["kind"] == "holdout":
        if "test_size" not in protocol and "train_size" not in protocol:
            yield "protocol has neither test_size nor train_size; add one."
        if (protocol["seed"] == "per_split") != ("splits" in protocol):
            yield "protocol.splits and seed: per_split belong together; add or remove one."
        if protocol["seed"] == "per_split" and protocol["repeats"] % protocol["splits"]:
            yield (
                f"protocol.repeats is {protocol['repeats']}; with seed: per_split it must be a multiple of splits "
                f"({protocol['splits']})."
            )
        if protocol.get("stratify") and dataset["task"] == "regression":
            yield "protocol.stratify is true, but a regression target has no classes; set it to false."
    if protocol["kind"] == "cv" and protocol.get("repeats", protocol["folds"]) != protocol["folds"]:
        yield (
            f"protocol.repeats is {protocol['repeats']}; in a cross-validation repeat r is fold r: "
            f"leave it out, or write {protocol['folds']}."
        )
    for form_name, form in dataset.get("forms", {}).items():
        place = f"forms.{form_name}"
        names = [file["file"] for file in form["files"]]
        if len(set(names)) < len(names):
            yield f"{place}.files names a file twice; keep one."
        for position, file in enumerate(form["files"]):
            if "sha256" not in file and "md5" not in file:
                yield f"{place}.files[{position}] has no sha256; add it (null only where none is published)."
            if dataset["access"] == "open" and not file.get("url") and not file.get("mirror"):
                yield f"{place}.files[{position}] has neither url nor mirror; add the place it comes from."
    if dataset["access"] == "credentialed" and "forms" not in dataset and "target" not in dataset:
        yield "target is missing; name the label column, or give forms with a parser."
    overlap = set(dataset.get("drop", [])) & {dataset.get("target"), *dataset.get("categorical", [])}
    if dataset["access"] == "local" and overlap:
        yield f"drop names {', '.join(sorted(overlap))}, which target or categorical use too; keep one."
