"""The fitted model itself, as the file that `cascadeforest.save` writes, with rows to try it on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted
from cascadeforest.saving import save

if TYPE_CHECKING:
    import numpy as np

#: Test rows that are kept as an example.
EXAMPLE_ROWS = 5


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Return the bytes of the saved model, the first test rows, and what it predicts for them."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        save(fitted.estimator, file)
        content = np.fromfile(file, dtype=np.uint8)
    return {
        "file": content,
        "rows": fitted.X_test[:EXAMPLE_ROWS],
        "predicted": fitted.outputs["predicted"][:EXAMPLE_ROWS],
    }
