"""UCI data sets whose files need more than the options of `table`."""

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Literal

import numpy as np

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.archives import open_binary
from cascadeforest.data.parsers.tables import concatenate, encode, labels_of, read_frame

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
ADULT_CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
BIKE_COLUMNS = ("yr", "workingday", "clearday", "temp", "hum", "windspeed")
BIKE_NO_FEATURES = ("instant", "casual", "registered", "cnt")  # the row's number, the target's summands, the target
DIABETES_IDS = ("encounter_id", "patient_nbr")
DIABETES_DROPPED = (
    "weight",
    "payer_code",
    "medical_specialty",
    "admission_type_id",
    "discharge_disposition_id",
    "admission_source_id",
)
DIABETES_DIAGNOSES = ("diag_1", "diag_2", "diag_3")
DIABETES_COUNTS = (
    "time_in_hospital",
    "num_lab_procedures",
    "num_procedures",
    "num_medications",
    "number_outpatient",
    "number_emergency",
    "number_inpatient",
    "number_diagnoses",
)


def adult(
    files: Mapping[str, Path],
    *,
    train: str = "adult.data",
    test: str = "adult.test",
    coding: Literal["one_hot", "integer"] = "one_hot",
    names: str = "adult.names",
) -> Parsed:
    """Parse Adult, whose test file begins with a banner line and ends its labels with a full stop.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    train, test : str
        Names of the two parts.
    coding : {"one_hot", "integer"}, default="one_hot"
        ``one_hot``: one feature a level that occurs, '?' being a level as any other, numbers as they are.
        ``integer``: 14 features; a categorical value is its position (from 1) in the list that `names` gives for the
        column, and '?' is 0. The file that the mdDF authors ship is coded so.
    names : str, default="adult.names"
        Name of the documentation file, read for ``integer`` only.

    Returns
    -------
    Parsed
        Features as float32, the given split.
    """
    frame = read_frame(files, train, columns=ADULT_COLUMNS, comment="|")
    n_train = len(frame)
    frame = concatenate(frame, read_frame(files, test, columns=ADULT_COLUMNS, comment="|"), train, test)
    labels = labels_of(frame.pop("income"), train)
    if coding == "one_hot":
        X, feature_names = encode(frame, ADULT_CATEGORICAL, where=train)
    elif coding == "integer":
        for column, levels in _adult_levels(files, names).items():
            frame[column] = frame[column].map({level: code for code, level in enumerate(["?", *levels])})
        X, feature_names = encode(frame, (), where=train)
        if np.isnan(X).any():
            column = feature_names[int(np.isnan(X).any(axis=0).argmax())]
            raise UserError(f"{names}: a value of '{column}' in {train} or {test} is not listed. Fetch Adult again.")
    else:
        raise UserError(f"The option `coding` of the parser 'adult' is {coding!r}; choose one_hot or integer.")
    return Parsed(
        X=X,
        y=np.char.rstrip(labels, "."),
        feature_names=feature_names,
        given_test=np.arange(len(frame)) >= n_train,
        raw_features=len(ADULT_COLUMNS) - 1,
    )


def _adult_levels(files: Mapping[str, Path], names: str) -> dict[str, list[str]]:
    """Levels of each categorical column, in the order of the documentation file."""
    with open_binary(files, names) as stream:
        text = stream.read().decode("ascii")
    levels = {}
    for column in ADULT_CATEGORICAL:
        found = re.search(rf"^{column}: (.*)\.$", text, flags=re.MULTILINE)
        if found is None:
            raise UserError(f"{names}: no line lists the values of '{column}'. Fetch Adult again.")
        levels[column] = found.group(1).split(", ")
    return levels


def bike(files: Mapping[str, Path], *, days: str = "Bike-Sharing-Dataset.zip::day.csv") -> Parsed:
    """Parse the daily bike rentals, with the six features of interp, section 6.5.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    days : str
        Address of day.csv.

    Returns
    -------
    Parsed
        Year (0: 2011), working day, clear day (weathersit = 1), temperature, humidity and wind speed, each as the
        file scales it; the target is the count of rentals. `raw_features` counts the columns of the file but for the
        row's number, the target and its two summands.
    """
    frame = read_frame(files, days, header=0)
    n_raw = frame.shape[1] - len(BIKE_NO_FEATURES)
    frame["clearday"] = frame["weathersit"] == 1
    X, feature_names = encode(frame[list(BIKE_COLUMNS)], (), where=days)
    return Parsed(X=X, y=labels_of(frame["cnt"], days), feature_names=feature_names, raw_features=n_raw)


def diabetes130(files: Mapping[str, Path], *, table: str = "dataset_diabetes.zip::diabetic_data.csv") -> Parsed:
    """Parse Diabetes 130-US hospitals with the steps of the released hiDF code.

    The columns weight, payer_code and medical_specialty, the two ids and the numbers of admission type, admission
    source and discharge are dropped; then the rows with a '?', of unknown gender, or with a diagnosis that is no whole
    number (V and E codes, and codes with decimals as 250.83). Diagnoses and counts are numbers, all other columns are
    one-hot. The label is whether the patient was readmitted at all.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    table : str
        Address of diabetic_data.csv.

    Returns
    -------
    Parsed
        Classes ``NO`` and ``readmitted``; `raw_features` counts the columns but for the two ids and the target.
    """
    import pandas as pd

    frame = read_frame(files, table, header=0, as_text=True)
    n_rows, n_raw = len(frame), frame.shape[1] - len(DIABETES_IDS) - 1
    frame = frame.drop(columns=[*DIABETES_IDS, *DIABETES_DROPPED])
    numbers = [*DIABETES_DIAGNOSES, *DIABETES_COUNTS]
    kept = ~(frame == "?").any(axis=1) & (frame["gender"] != "Unknown/Invalid")
    for diagnosis in DIABETES_DIAGNOSES:
        kept &= frame[diagnosis].str.isdecimal()
    frame = frame[kept]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    readmitted = frame.pop("readmitted").to_numpy(dtype=object) != "NO"
    categorical = [column for column in frame.columns if column not in numbers]
    X, feature_names = encode(frame, categorical, where=table)
    return Parsed(
        X=X,
        y=np.where(readmitted, "readmitted", "NO"),
        feature_names=feature_names,
        raw_features=n_raw,
        class_order=("NO", "readmitted"),
        note=f"{len(frame):,} of {n_rows:,} rows are kept: the others have a '?', no gender, or a diagnosis that is no "
        "whole number.",
    )


def har(files: Mapping[str, Path], *, archive: str = "UCI HAR Dataset.zip") -> Parsed:
    """Parse Human Activity Recognition Using Smartphones (561 features, given split).

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    archive : str
        Name of the zip.

    Returns
    -------
    Parsed
        Class names as activity_labels.txt gives and orders them. Feature names begin with their number, since
        features.txt gives 84 of them to more than one feature.
    """
    names = read_frame(files, f"{archive}::features.txt", separator="whitespace", columns=["number", "name"])
    activities = read_frame(files, f"{archive}::activity_labels.txt", separator="whitespace", columns=["code", "name"])
    parts, codes = [], []
    for part in ("train", "test"):
        parts.append(read_frame(files, f"{archive}::{part}/X_{part}.txt", separator="whitespace"))
        codes.append(read_frame(files, f"{archive}::{part}/y_{part}.txt", separator="whitespace", columns=["code"]))
    X = np.vstack([part.to_numpy(dtype=np.float32) for part in parts])
    if X.shape[1] != len(names):
        raise UserError(f"{archive}: rows have {X.shape[1]} cells, features.txt names {len(names)}. Fetch HAR again.")
    code = np.concatenate([column["code"].to_numpy() for column in codes])
    activity = dict(zip(activities["code"], activities["name"], strict=True))
    return Parsed(
        X=X,
        y=np.array([activity[value] for value in code.tolist()]),
        feature_names=tuple(f"{number}_{name}" for number, name in zip(names["number"], names["name"], strict=True)),
        given_test=np.arange(len(X)) >= len(parts[0]),
        raw_features=X.shape[1],
        class_order=tuple(activities["name"]),
    )


def year(
    files: Mapping[str, Path],
    *,
    songs: str = "YearPredictionMSD.txt.zip::YearPredictionMSD.txt",
    rows: int = 50_000,
    seed: int = 42,
    before: int = 2000,
) -> Parsed:
    """Parse YearPredictionMSD as hiDF uses it: a sample of the songs, labelled by whether they are older than 2000.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    songs : str
        Address of the table: the year, then 12 timbre averages and 78 timbre covariances.
    rows : int, default=50_000
        Number of songs drawn without replacement, kept in the order in which they are drawn.
    seed : int, default=42
        Seed of the draw, which is that of ``pandas.DataFrame.sample(rows, random_state=seed)`` and of
        ``numpy.random.RandomState(seed).choice``.
    before : int, default=2000
        The first class are songs of this year and later, the second are older ones.

    Returns
    -------
    Parsed
        Classes ``>=2000`` and ``<2000``.

    Raises
    ------
    UserError
        If the file has fewer songs than `rows`, or a drawn row has a cell that is not a finite number.
    """
    import pandas as pd

    # 448 MB of text in full: the first pass counts the songs, the second keeps the lines that were drawn.
    with open_binary(files, songs) as stream:
        n_songs = sum(1 for _ in _filled_lines(stream))
    if n_songs < rows:
        raise UserError(f"{songs}: {n_songs} songs, {rows} are to be drawn. Lower `rows` in the data set file.")
    drawn = np.random.RandomState(seed).choice(n_songs, size=rows, replace=False)
    wanted = set(drawn.tolist())
    with open_binary(files, songs) as stream:
        lines = [line for row, line in enumerate(_filled_lines(stream)) if row in wanted]
    frame = pd.read_csv(io.BytesIO(b"".join(lines)), header=None)
    in_drawn_order = np.argsort(np.argsort(drawn))
    values = frame.to_numpy(dtype=np.float64)[in_drawn_order]
    if not np.isfinite(values).all():
        raise UserError(f"{songs}: a cell is not a finite number. Fetch the data set again.")
    n_features = values.shape[1] - 1
    classes = (f">={before}", f"<{before}")
    return Parsed(
        X=values[:, 1:].astype(np.float32),
        y=np.where(values[:, 0] < before, classes[1], classes[0]),
        feature_names=tuple(f"timbre_{position}" for position in range(1, n_features + 1)),
        raw_features=n_features,
        class_order=classes,
        note=f"{rows:,} of {n_songs:,} songs, drawn without replacement (seed {seed}).",
    )


def _filled_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines of `stream` that are not blank."""
    return (line for line in stream if line.strip())
