"""How well contributions agree with planted truths, and with exact Shapley values, at each layer of a cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import parse_variant, seed_for
from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np

#: Contributions that are compared, in the order of the saved columns. The last ones are no contributions of ours.
CALIBRATED = ("partial", "additive", "multiplicative")
EXPLANATIONS = (*CALIBRATED, "shapley")
#: Test rows whose Shapley values are computed, and training rows that their backgrounds are.
N_ROWS, N_BACKGROUND = 32, 64
#: Groups of test rows with similar predictions.
N_GROUPS = 25


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Error and agreement at each layer, as if the cascade ended there, for the target or the last class.

    ``rmse`` is the error of predictions of the test rows (of the class: of its probability). ``true_*`` compare each of
    `EXPLANATIONS` with the true contributions of data with planted ones, a line a layer; our contributions on all test
    rows, Shapley values on `N_ROWS` of them. ``shapley_*`` compare each of `CALIBRATED` with the cascade's own exact
    Shapley values on these rows. Behind the underscore is a measure of `agreement`. ``known_by_prediction`` has
    `share_between` groups of test rows with similar predictions, of the first of `CALIBRATED` and of the true ones.

    Raises
    ------
    ConfigError
        If no truth is known of the data.
    """
    import numpy as np

    from cascadeforest.data.synthetic import TERMS, true_contributions
    from cascadeforest.experiments.explaining import explainer_of
    from cascadeforest.experiments.shapley import exact_shapley

    name, _ = parse_variant(fitted.dataset)
    if name not in TERMS:
        raise ConfigError(
            f"config/experiments: the extra 'attribution_quality' compares with true contributions, which are not "
            f"known of {fitted.dataset}. Take a data set of {', '.join(TERMS)}."
        )
    X, truth = fitted.X_test, true_contributions(name, fitted.X_test)
    is_regression, y = fitted.task == "regression", fitted.split.y_test
    stages = fitted.attribute("attribution_quality", "staged_predict" if is_regression else "staged_predict_proba")
    response = y if is_regression else y == fitted.estimator.classes_[-1]

    def staged(rows: np.ndarray) -> np.ndarray:
        """Predictions of the target, or probabilities of the last class, of shape (n, n_layers)."""
        return np.stack([np.reshape(one, (len(rows), -1))[:, -1] for one in stages(rows)], axis=1)

    contributions = np.stack(
        [
            [found.contributions[:, :, -1] for found in explainer_of(fitted, calibration).staged_explain(X)]
            for calibration in CALIBRATED
        ]
    )
    generator = np.random.default_rng(seed_for("shapley", fitted.dataset, fitted.repeat, seed=fitted.seed))
    some = generator.choice(len(X), min(N_ROWS, len(X)), replace=False)
    background = generator.choice(len(fitted.X_train), min(N_BACKGROUND, len(fitted.X_train)), replace=False)
    shapley = exact_shapley(staged, X[some], fitted.X_train[background])
    predicted = staged(X)
    saved = {"rmse": list(np.sqrt(np.mean((predicted - response[:, None]) ** 2, axis=0)))}
    for layer in range(shapley.shape[-1]):
        ours, exact = contributions[:, layer], shapley[..., layer]
        pairs = {
            "true": [*((one, truth) for one in ours), (exact, truth[some])],
            "shapley": [(one[some], exact) for one in ours],
        }
        for reference, compared in pairs.items():
            measured = [agreement(*pair) for pair in compared]
            for measure in measured[0]:
                saved.setdefault(f"{reference}_{measure}", []).append([one[measure] for one in measured])
        shares = [share_between(predicted[:, layer], one) for one in (ours[0], truth)]
        saved.setdefault("known_by_prediction", []).append(shares)
    return {name: np.array(values) for name, values in saved.items()}


def agreement(found: np.ndarray, expected: np.ndarray) -> dict[str, float]:
    """Compare contributions of shape (n, n_features) with those expected.

    Returns
    -------
    dict
        ``r2``: 1 minus the sum of squared differences over that of the expected contributions from each feature's mean
        (scikit-learn's `r2_score` with ``multioutput="variance_weighted"``); negative if the means alone are nearer.
        ``correlation``: Pearson's, over all rows and features. ``top``: share of the rows in which no feature is
        expected to have a larger contribution, in absolute value, than the one for which the largest is found.
    """
    import numpy as np

    centred = found - found.mean(), expected - expected.mean()
    sizes = np.abs(expected)
    top = np.take_along_axis(sizes, np.abs(found).argmax(axis=1)[:, None], axis=1)
    return {
        "r2": float(1 - np.sum((found - expected) ** 2) / np.sum((expected - expected.mean(axis=0)) ** 2)),
        "correlation": float(np.sum(centred[0] * centred[1]) / np.sqrt(np.prod([np.sum(c**2) for c in centred]))),
        "top": float(np.mean(top[:, 0] >= sizes.max(axis=1) * (1 - 1e-9))),
    }


def share_between(prediction: np.ndarray, contributions: np.ndarray) -> float:
    """Return the share of the variance of contributions that lies between groups of rows with similar predictions.

    Rows are sorted by their prediction and divided into `N_GROUPS` groups of equal size. The share is 1 if the
    contributions are equal in each group. Of true ones it is the largest R² that such contributions can have.
    """
    import numpy as np

    groups = np.array_split(contributions[np.argsort(prediction, kind="stable")], N_GROUPS)
    within = sum(np.sum((group - group.mean(axis=0)) ** 2) for group in groups)
    return float(1 - within / np.sum((contributions - contributions.mean(axis=0)) ** 2))
