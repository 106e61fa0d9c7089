"""What a classifier says of each test row."""

from __future__ import annotations

from typing import Any

from cascadeforest.experiments.extras import Fitted


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Predicted classes (and probabilities) of the test rows, with the rows' numbers and labels."""
    names = ("predicted", "probabilities", "scores")
    kept = {name: fitted.outputs[name] for name in names if name in fitted.outputs}
    return kept | {"test_rows": fitted.split.test_rows, "y_test": fitted.split.y_test}
