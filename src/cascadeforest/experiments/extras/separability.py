"""How well a linear classifier tells classes apart by what each layer hands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Test accuracy of logistic regression on what layers 0, 1, 2, ... hand on; layer 0 is the input.

    It learns from the training rows, features standardised by their mean and deviation there. Where a layer hands
    nothing on, the most frequent class is predicted.
    """
    import numpy as np
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y_train, y_test = fitted.split.y_train, fitted.split.y_test

    def accuracy(train: np.ndarray, test: np.ndarray) -> float:
        if train.shape[1]:
            linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        else:
            linear, train, test = DummyClassifier(), np.zeros((len(train), 1)), np.zeros((len(test), 1))
        return float(linear.fit(train, y_train).score(test, y_test))

    of_layers = fitted.attribute("separability", "staged_interaction_values")
    found = [accuracy(fitted.X_train, fitted.X_test)]
    for train, test in zip(of_layers(fitted.X_train), of_layers(fitted.X_test), strict=True):
        found.append(accuracy(train, test))
    return {"accuracy": np.array(found)}
