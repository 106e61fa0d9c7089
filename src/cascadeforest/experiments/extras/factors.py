"""Factors of the layers of mdDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Factor alpha of each layer that was grown, and its part in the sum of the factors up to it."""
    import numpy as np

    return {
        "alphas": np.asarray(fitted.attribute("factors", "alphas_"), np.float64),
        "shares": np.asarray(fitted.attribute("factors", "shares_"), np.float64),
    }
