"""Signals: a row is a recording, a feature is a time step."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.archives import open_binary

NUMERIC = ("double", "single", "int", "uint")  # MATLAB's types of numbers; in cells and structs anything may nest
MAX_SAMPLES = 1_000_000  # of one array; Database 1 has 30 x 3,000

# gcForest's codes 0 to 5. A stratified split draws class after class in the order of the codes, so that its training
# and test rows depend on them, and on the order of the rows (subject, then array name).
SEMG_MOVEMENTS = ("spher", "tip", "palm", "lat", "cyl", "hook")


def semg(files: Mapping[str, Path], *, subjects: Sequence[str]) -> Parsed:
    """Parse Database 1 of sEMG for Basic Hand Movements: both channels of each trial are rows of their own.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    subjects : sequence of str
        Addresses (see `open_binary`) of the subjects' MATLAB files, in the order of the rows. Each holds the arrays
        ``<movement>_ch1`` and ``<movement>_ch2`` of shape (trials, time steps).

    Returns
    -------
    Parsed
        Features as float32: ``t1``, ``t2``, ...

    Raises
    ------
    UserError
        If a file lacks an array, or an array has more than `MAX_SAMPLES` numbers or no numbers.
    """
    from scipy.io import loadmat, whosmat

    arrays = sorted(f"{movement}_ch{channel}" for movement in SEMG_MOVEMENTS for channel in (1, 2))
    signals, labels = [], []
    for subject in subjects:
        with open_binary(files, subject) as stream:
            data = stream.read()
        # Arrays may be packed inside the file: the headers say their sizes before anything is unpacked.
        for name, shape, kind in whosmat(io.BytesIO(data)):
            if name in arrays and (math.prod(shape) > MAX_SAMPLES or not kind.startswith(NUMERIC)):
                raise UserError(
                    f"{subject}: the array '{name}' is {kind} of {' x '.join(map(str, shape))}, not a table of numbers "
                    "of Database 1. Fetch the data set again."
                )
        recorded = loadmat(io.BytesIO(data), variable_names=arrays)
        for name in arrays:
            if name not in recorded:
                raise UserError(f"{subject}: no array '{name}'. It is not a file of Database 1; fetch it again.")
            signals.append(recorded[name].astype(np.float32))
            labels += [name.partition("_")[0]] * len(recorded[name])
    X = np.ascontiguousarray(np.vstack(signals))  # MATLAB's arrays are column by column
    return Parsed(
        X=X,
        y=np.array(labels),
        feature_names=tuple(f"t{step}" for step in range(1, X.shape[1] + 1)),
        raw_features=X.shape[1],
        class_order=SEMG_MOVEMENTS,
    )
