"""The folder ``data/processed``: make data sets and variants by their id, and make damaged files again."""

import logging
from pathlib import Path

from cascadeforest.data.dataset import Dataset, load, save, summary
from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.files import write_signed_json
from cascadeforest.data.names import parse_variant
from cascadeforest.data.prepare import prepare
from cascadeforest.data.registry import find_dataset_file
from cascadeforest.data.variants import vary
from cascadeforest.data.words import protocol_text

logger = logging.getLogger(__name__)


def make(identifier: str, *, config: str | Path = "config", raw: str | Path = "data/raw", seed: int = 0) -> Dataset:
    """Prepare a data set or a variant of it from its source.

    Parameters
    ----------
    identifier : str
        Variant id, for example ``adult`` or ``adult+rows-5000``.
    config : str or Path, default="config"
        The config folder; relative paths in data set files start from the folder above it.
    raw : str or Path, default="data/raw"
        Folder of the downloads.
    seed : int, default=0
        `seed` of ``config/config.yaml``.

    Returns
    -------
    Dataset

    Raises
    ------
    UserError
        If there is no such data set, its files are missing, or it cannot be varied in this way.
    """
    name, operations = parse_variant(identifier)
    dataset = prepare(find_dataset_file(name, config), raw=raw, root=Path(config).parent, seed=seed)
    for operation in operations:
        dataset = vary(dataset, operation)
    return dataset


def write(dataset: Dataset, path: str | Path) -> None:
    """Write a data set to ``<variant id>.npz``, its summary and its protocol in words to the ``.json`` beside it."""
    # Before anything is written: it draws the first split, which may fail.
    facts = summary(dataset) | {"protocol": protocol_text(dataset.protocol, dataset.task)}
    save(dataset, path)
    write_signed_json(Path(path).with_suffix(".json"), facts)


def load_or_make(
    path: str | Path, *, config: str | Path = "config", raw: str | Path = "data/raw", seed: int = 0
) -> Dataset:
    """Load a processed data set; if its file or its summary is damaged, warn and make both again in place.

    Parameters
    ----------
    path : str or Path
        ``data/processed/<variant id>.npz``.
    config, raw, seed
        As in `make`. Nothing is downloaded.

    Returns
    -------
    Dataset

    Raises
    ------
    DamagedFile
        If the file is damaged and cannot be made again; the message says why.
    UserError
        If the file is missing, or its data were drawn with another seed.
    """
    path = Path(path)
    try:
        dataset = load(path)
    except DamagedFile as damage:
        fault = damage.args[1]
        logger.warning("%s: %s. It is made again.", damage.path, fault)
        try:
            dataset = make(path.stem, config=config, raw=raw, seed=seed)
            write(dataset, path)
        except (UserError, OSError) as error:
            raise DamagedFile(damage.path, fault, f"Making it again failed: {error}") from error
    if dataset.seed != seed:
        raise UserError(
            f"{path}: drawn with seed {dataset.seed}, but seed {seed} is asked for. Prepare it again "
            f"(python -m cascadeforest.data prepare --dataset {path.stem} --seed {seed} --output {path})."
        )
    return dataset
