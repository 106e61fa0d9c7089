"""What features add to the predictions of the test rows, at the first and at the last layer of a cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np

#: Contributions of all features are saved up to this number; of more features `N_FIRST`, and the sum of the others.
N_ALL, N_FIRST = 12, 2


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Bias, contributions and predictions of the test rows as if the cascade ended at `layers`, and the rows.

    `contributions` has the shape (layers, rows, columns, outputs). Columns are all features; of more than `N_ALL` the
    first `N_FIRST`, and the sum of the others in one more column. `rows` are the rows' numbers in the data set.

    In single precision but for the bias, the targets and the sum over features before it is rounded.
    """
    import numpy as np

    from cascadeforest.experiments.explaining import explainer_of

    split, explainer = fitted.split, explainer_of(fitted)
    layers = sorted({1, explainer.n_layers})
    staged = enumerate(explainer.staged_explain(fitted.X_test), start=1)
    found = [explanation for layer, explanation in staged if layer in layers]
    n_features = fitted.X_train.shape[1]
    n_shown = n_features if n_features <= N_ALL else N_FIRST

    def columns(contributions: np.ndarray) -> np.ndarray:
        if n_shown == n_features:
            return contributions
        others = contributions[:, n_shown:].sum(axis=1, keepdims=True)
        return np.concatenate([contributions[:, :n_shown], others], axis=1)

    return {
        "layers": np.array(layers, np.int64),
        "n_features": np.array(n_features),
        "bias": np.array([one.bias for one in found]),
        "contributions": np.array([columns(one.contributions) for one in found], np.float32),
        "predictions": np.array([one.prediction for one in found], np.float32),
        "X_train": np.asarray(fitted.X_train[:, :n_shown], np.float32),
        "y_train": split.y_train,
        "X_test": np.asarray(fitted.X_test[:, :n_shown], np.float32),
        "y_test": split.y_test,
        "rows": split.test_rows,
    }
