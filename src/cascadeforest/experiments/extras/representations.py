"""What layers of a cascade hand on, in the plane."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted
from cascadeforest.experiments.projection import draw_rows, scatter_ratio, tsne_plane

if TYPE_CHECKING:
    import numpy as np

#: The name says which layers (`cascadeforest.experiments.extras.extra_name`).
OF_LAYERS = True


def arrays(fitted: Fitted, *layers: int) -> dict[str, np.ndarray]:
    """Training rows, some of them, in the t-SNE plane of what these layers hand on; layer 0 is the input.

    Rows and classes are in `rows` (numbers of the data set) and `classes`. `layers` has those that the cascade kept,
    `n_layers` their number; `coordinates` and `feature_ratios` have an entry for each of `layers`: the plane, and the
    scatter within classes over that between them before the projection. `first_features` are
    the rows in the plane of their first two features.
    """
    import numpy as np

    y = fitted.split.y_train
    chosen, found, n_layers = of_layers(fitted, layers)
    shown = [layer for layer in layers if layer in found]
    planes = np.array([tsne_plane(found[layer], fitted.seed) for layer in shown], np.float32)
    return {
        "layers": np.array(shown, np.int64),
        "n_layers": np.array(n_layers),
        "rows": fitted.split.train_rows[chosen],
        "classes": y[chosen],
        "coordinates": planes.reshape(-1, len(chosen), 2),
        "first_features": fitted.X_train[chosen, :2],
        "feature_ratios": np.array([scatter_ratio(found[layer], y[chosen]) for layer in shown]),
    }


def of_layers(fitted: Fitted, layers: Collection[int]) -> tuple[np.ndarray, dict[int, np.ndarray], int]:
    """Return the training rows that are drawn, what the cascade hands on for them, by layer, and its number of layers.

    Parameters
    ----------
    fitted : Fitted
        The model.
    layers : collection of int
        Layers that are wanted, 0 for the input; others than the cascade has are left out.
    """
    y = fitted.split.y_train
    staged_features = fitted.attribute("representations", "staged_training_features")
    chosen = draw_rows(len(y), fitted.dataset, fitted.repeat, fitted.seed)
    found = {0: fitted.X_train[chosen]} if 0 in layers else {}
    n_layers = 0
    for features in staged_features(fitted.X_train, y):
        n_layers += 1
        if n_layers in layers:
            found[n_layers] = features[chosen]
    return chosen, found, n_layers
