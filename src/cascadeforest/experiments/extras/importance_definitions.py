"""Importance of the original features at each layer of a cascade, under several definitions of MDI."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np

#: Arguments of `Explainer.staged_importances` by the name of the array: other readings of the interpretation paper's
#: Eqs. 6 and 31 than `layer_importances`, which takes held-out rows and responses relative to their mean.
DEFINITIONS = MappingProxyType(
    {
        "uncentred": MappingProxyType({"rows": "held_out", "average": "rows", "centred": False}),
        "in_bag": MappingProxyType({"rows": "in_bag"}),
    }
)


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """MDI as if the cascade ended at each layer, for each of `DEFINITIONS`: a line a layer, a column a feature."""
    import numpy as np

    from cascadeforest.experiments.explaining import explainer_of

    explainer = explainer_of(fitted)
    found: dict[str, Any] = {name: dict(given) for name, given in DEFINITIONS.items()}
    return {name: np.array(list(explainer.staged_importances(**given))) for name, given in found.items()}
