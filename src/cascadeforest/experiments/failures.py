"""What failed of a run: read from the files that its jobs left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cascadeforest.data.files import read_json


def failed_cells(folder: Path, preset: str) -> list[dict[str, Any]]:
    """Return the failed repeats of one model preset on one data set.

    A run split by `seeds_per_job` leaves one file a part, and one of the merging job, which tries the rest again.

    Parameters
    ----------
    folder : Path
        ``results/<suite>/failures/<dataset>``; it may be missing.
    preset : str
        Name of the model preset.

    Returns
    -------
    list of dict
        One cell for each repeat, the newest where several files have it, in the order of the repeats.

    Raises
    ------
    ConfigError
        If a file is not valid JSON.
    """
    paths = [folder / f"{preset}.json", *sorted(folder.glob(f"{preset}.part*.json"))]
    cells = [cell for path in paths if path.is_file() for cell in read_json(path)["cells"]]
    newest = {cell["repeat"]: cell for cell in sorted(cells, key=lambda cell: cell["ended_ms"])}
    return [newest[repeat] for repeat in sorted(newest)]
