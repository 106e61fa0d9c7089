"""What a classifier says of each test row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Predicted classes (and probabilities) of the test rows, with the rows' numbers and labels."""
    names = ("predicted", "probabilities", "scores")
    kept = {name: fitted.outputs[name] for name in names if name in fitted.outputs}
    return kept | {"test_rows": fitted.split.test_rows, "y_test": fitted.split.y_test}
