"""Small models, one for each kind of estimator and for what else a file may hold; and the files that are kept of them.

``python -m tests.golden.make`` writes the files of the current format, `saving.VERSION`, that are not there yet. A file
that is there is never written again: `load` reads it for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cascadeforest as cf
from cascadeforest import saving

FOLDER = Path(__file__).parent
#: The outputs of the models of one version, by name.
EXPECTED = "expected.npz"


def numbers(first: int, last: int) -> np.ndarray:
    """Rows of five numbers, some missing, by arithmetic of whole numbers: the same on every machine and for ever."""
    i = np.arange(first, last)[:, None]
    X = (i * np.array([37, 61, 23, 89, 53]) + i * i * np.array([3, 7, 1, 5, 2])) % 101 / 8
    return np.where((i + np.arange(5)) % 17 == 0, np.nan, X)


def mixed(first: int, last: int) -> pd.DataFrame:
    """Rows with a categorical column and a column of strings."""
    table = pd.DataFrame(numbers(first, last), columns=["a", "b", "c", "d", "e"])
    i = np.arange(first, last)
    colours = np.array(["red", "green", "blue", "grey"], object)[i * 7 % 11 % 4]
    table["colour"] = pd.Categorical(colours, ["green", "grey", "red", "blue"])
    table["town"] = np.array(["Rome", "Oslo", "Köln"], object)[i * 5 % 13 % 3]
    return table


N_TRAIN = 48
X, FRAME = numbers(0, N_TRAIN), mixed(0, N_TRAIN)
SOME = X[:, :3]
NEW, NEW_FRAME = numbers(N_TRAIN, N_TRAIN + 30), mixed(N_TRAIN, N_TRAIN + 30)
_SUM = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + 3.0 * (FRAME["town"] == "Oslo").to_numpy()
CLASSES = np.digitize(_SUM + np.arange(N_TRAIN) % 5 - 2, [10.0, 16.0])
NAMES = np.array(["low", "middle", "high"], object)[CLASSES]
TARGET = _SUM * np.nan_to_num(X[:, 2])
TWO_TARGETS = np.column_stack([TARGET, _SUM - TARGET])
WEIGHTS = 1.0 + np.arange(N_TRAIN) % 3

TREES = {"n_estimators": 2, "random_state": 0}
CASCADE = {**TREES, "n_forests": 1, "n_folds": 2, "max_layers": 2, "patience": 2, "keep": "last"}
TWO_FORESTS = {**CASCADE, "n_forests": 2}
FIXED = {"gamma": 0.85, "mu": 0.05, "theta": 16}


MODELS: dict[str, Callable[[], Any]] = {
    "random_forest": lambda: cf.RandomForestClassifier(**TREES, oob_score=False).fit(FRAME, NAMES),
    "random_forest_weights": lambda: cf.RandomForestClassifier(
        **TREES, class_weight={"low": 2.0, "middle": 1.0, "high": 0.1}
    ).fit(FRAME, NAMES, WEIGHTS),
    "extra_trees": lambda: cf.ExtraTreesClassifier(**TREES).fit(X.astype(np.float32), CLASSES > 1),
    "completely_random": lambda: cf.CompletelyRandomForestClassifier(**TREES).fit(X, CLASSES),
    "enriched": lambda: cf.EnrichedRandomForestClassifier(**TREES).fit(X, NAMES.astype(str)),
    "random_forest_regressor": lambda: cf.RandomForestRegressor(**TREES).fit(FRAME, TARGET),
    "extra_trees_regressor": lambda: cf.ExtraTreesRegressor(**TREES).fit(X, TARGET),
    "completely_random_regressor": lambda: cf.CompletelyRandomForestRegressor(**TREES).fit(X, TARGET),
    "gcforest": lambda: cf.GCForestClassifier(**TWO_FORESTS).fit(FRAME, NAMES),
    "gcforest_refit": lambda: cf.GCForestClassifier(
        **TWO_FORESTS, class_vectors="k_fold_refit", estimators=["random_forest", cf.ExtraTreesClassifier(2)]
    ).fit(SOME, CLASSES, WEIGHTS),
    "gcforest_scanning": lambda: cf.GCForestClassifier(
        **CASCADE, scanning=cf.MultiGrainedScanner([3], n_estimators=1, n_folds=2)
    ).fit(X, NAMES),
    "screening": lambda: cf.GCForestCSClassifier(**CASCADE).fit(FRAME, NAMES),
    "screening_subsampled": lambda: cf.GCForestCSClassifier(
        **CASCADE, scanning={"windows": [2], "subsample": 2, "n_estimators": 1, "n_folds": 2}
    ).fit(X, CLASSES),
    "mddf": lambda: cf.MDDFClassifier(**CASCADE, **FIXED).fit(FRAME, NAMES),
    "hidf": lambda: cf.HiDFClassifier(
        **CASCADE, stability_threshold=0.1, deepest_only=False, max_new_features=8, cv_estimators=4, keep_stages=True
    ).fit(FRAME[["a", "town", "colour"]], NAMES),
    "hidf_official": lambda: cf.HiDFClassifier(**CASCADE, preset="official", keep_stages=True).fit(
        np.nan_to_num(X), CLASSES
    ),
    "ddbf": lambda: cf.DDBFClassifier(4, max_layers=2, random_state=0, calibration="isotonic", keep="last").fit(
        FRAME, NAMES
    ),
    "regression": lambda: cf.CascadeForestRegressor(**CASCADE).fit(FRAME, TARGET),
    "scanner": lambda: cf.MultiGrainedScanner([2, 3], n_estimators=1, n_folds=2, random_state=0).fit(X, CLASSES),
    "hard_examples": lambda: cf.HardExampleClassifier(cf.RandomForestClassifier(2), n_estimators=4, random_state=0).fit(
        FRAME, NAMES
    ),
    "explainer_of_forest": lambda: cf.Explainer(MODELS["random_forest_weights"](), calibration="additive"),
    "explainer_of_gcforest": lambda: cf.Explainer(cf.GCForestClassifier(**CASCADE).fit(SOME, NAMES)),
    "explainer_of_screening": lambda: cf.Explainer(cf.GCForestCSClassifier(**CASCADE).fit(SOME, CLASSES)),
    "explainer_of_mddf": lambda: cf.Explainer(cf.MDDFClassifier(**CASCADE, **FIXED).fit(SOME, CLASSES, WEIGHTS)),
    "explainer_of_hidf": lambda: cf.Explainer(
        cf.HiDFClassifier(
            **CASCADE, stability_threshold=0.1, deepest_only=False, max_new_features=5, use_class_vectors=True
        ).fit(FRAME[["a", "b", "town"]], NAMES)
    ),
    "explainer_of_ddbf": lambda: cf.Explainer(
        cf.DDBFClassifier(
            4, leaf_score="gini", vote_fraction=0.5, max_depth=3, max_layers=2, random_state=0, keep="last"
        ).fit(FRAME, NAMES, WEIGHTS)
    ),
    "explainer_of_regression": lambda: cf.Explainer(
        cf.CascadeForestRegressor(**CASCADE).fit(SOME, TARGET), SOME, TARGET
    ),
    "forest_out_of_bag": lambda: cf.RandomForestClassifier(
        12,
        criterion="entropy",
        class_weight="balanced",
        max_samples=0.8,
        max_leaf_nodes=6,
        oob_score=True,
        random_state=0,
    ).fit(X, NAMES),
    "enriched_by_weights": lambda: cf.EnrichedRandomForestClassifier(
        **TREES, feature_weights=np.array([1.0, 2.0, 0.5, 0.0, 0.0])
    ).fit(X, CLASSES),
    "forest_of_two_targets": lambda: cf.ExtraTreesRegressor(**TREES, min_samples_leaf=4).fit(X, TWO_TARGETS),
    "regression_of_two_targets": lambda: cf.CascadeForestRegressor(**CASCADE, max_depth=4).fit(X, TWO_TARGETS),
    "gcforest_out_of_bag": lambda: cf.GCForestClassifier(
        2,
        8,
        class_vectors="oob",
        vector_dtype="float16",
        class_weight="balanced",
        max_layers=2,
        keep="last",
        random_state=0,
    ).fit(X, NAMES),
    "gcforest_of_images": lambda: cf.GCForestClassifier(
        **CASCADE,
        input_shape=(2, 2),
        scanning={"windows": [(1, 2), (2, 1)], "pooling": 2, "max_samples": 100, "n_estimators": 1, "n_folds": 2},
    ).fit(X[:, :4], CLASSES),
    "screening_by_bins": lambda: cf.GCForestCSClassifier(**CASCADE, screening="bins", bin_size=4, a=0.9).fit(
        SOME, NAMES
    ),
    "screening_by_weights": lambda: cf.GCForestCSClassifier(**CASCADE, screening="weights").fit(SOME, NAMES),
    "screening_by_gates": lambda: cf.GCForestCSClassifier(**CASCADE, screening="gates", a=0.9).fit(SOME, NAMES),
    "mddf_average_vectors": lambda: cf.MDDFClassifier(
        **CASCADE, mu=0.05, theta=4, search_estimators=1, reweighting=False, average_vectors=True
    ).fit(SOME, NAMES),
    "mddf_official": lambda: cf.MDDFClassifier(**CASCADE, preset="official", ablation="no_preconc").fit(SOME, NAMES),
    "hidf_standardized": lambda: cf.HiDFClassifier(
        **CASCADE,
        resampling="subsample",
        standardize=True,
        repeated="tightest",
        merge="median",
        stability_threshold=0.1,
        max_new_features=4,
    ).fit(np.nan_to_num(X), CLASSES),
    "ddbf_by_score": lambda: cf.DDBFClassifier(
        4,
        vote="score",
        threshold="row_mean",
        leaf_rows="in_bag",
        predict_with="all",
        validation="oob",
        max_layers=2,
        random_state=0,
        keep="last",
    ).fit(FRAME, NAMES),
    "random_examples": lambda: cf.HardExampleClassifier(
        cf.ExtraTreesClassifier(2), n_estimators=4, rows="random", random_state=0
    ).fit(FRAME, NAMES),
    "explainer_of_weights": lambda: cf.Explainer(MODELS["screening_by_weights"](), calibration="multiplicative"),
    "explainer_of_bins": lambda: cf.Explainer(MODELS["screening_by_bins"](), node_rows="all"),
    "explainer_of_hidf_without_vectors": lambda: cf.Explainer(MODELS["hidf_standardized"]()),
    "explainer_of_ddbf_by_score": lambda: cf.Explainer(MODELS["ddbf_by_score"](), preset="official"),
    "explainer_of_mddf_without_features": lambda: cf.Explainer(MODELS["mddf_official"]()),
}


def new_rows(model: Any) -> Any:
    """Rows after the training rows of a model."""
    return (
        NEW_FRAME[list(model.feature_names_in_)]
        if hasattr(model, "feature_names_in_")
        else NEW[:, : model.n_features_in_]
    )


def output(model: Any) -> np.ndarray:
    """What a model says of rows that it did not learn from; of an explainer, what it says of the predictions."""
    if isinstance(model, cf.Explainer):
        new = model.explain(new_rows(model.model))
        return np.concatenate([one.ravel() for one in (new.contributions, new.bias)])
    rows = new_rows(model)
    if isinstance(model, cf.MultiGrainedScanner):
        return model.transform(rows)
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


def main() -> None:
    """Write the files that are not there yet."""
    folder = FOLDER / str(saving.VERSION)
    folder.mkdir(exist_ok=True)
    expected = {}
    if (folder / EXPECTED).exists():
        with np.load(folder / EXPECTED) as known:
            expected = dict(known)
    for name, fitted in MODELS.items():
        file = folder / f"{name}.model"
        if not file.exists():
            model = fitted()
            cf.save(model, file)
            expected[name] = output(model)
    np.savez_compressed(folder / EXPECTED, **expected)


if __name__ == "__main__":
    main()
