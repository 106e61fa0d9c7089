"""How much the t-SNE plane of what layers hand on depends on where t-SNE starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.extras.representations import of_layers
from cascadeforest.experiments.fitting import Fitted
from cascadeforest.experiments.projection import scatter_ratio, tsne_plane

if TYPE_CHECKING:
    import numpy as np

#: The name says which layers, as in `cascadeforest.experiments.extras.representations`, whose rows these are.
OF_LAYERS = True
#: Random starts beside the plane that is drawn.
N_STARTS = 5


def arrays(fitted: Fitted, *layers: int) -> dict[str, np.ndarray]:
    """Scatter within classes over that between them in the planes of `N_STARTS` random starts.

    `ratios` has a line for each of `layers`, those that the cascade kept, and a column for each start.
    """
    import numpy as np

    chosen, found, _ = of_layers(fitted, layers)
    classes = fitted.split.y_train[chosen]
    shown = [layer for layer in layers if layer in found]
    ratios = [
        [scatter_ratio(tsne_plane(found[layer], fitted.seed, start), classes) for start in range(N_STARTS)]
        for layer in shown
    ]
    return {"layers": np.array(shown, np.int64), "ratios": np.array(ratios).reshape(-1, N_STARTS)}
